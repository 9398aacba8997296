#!/usr/bin/env python3
"""Peer: one AdamW step of a Llama-style model in JAX, on the CPU. pip install jax

The same work as torch_step.py and as bench_step:
28.84 M parameters = 6 layers x (d 512, 8 heads, ff 1536) + untied 8192-word embedding and head, batch 8 x 256 tokens.
Prints one JSON line: median seconds a step, tokens/s, and model TFLOP/s by 6*N*T + causal attention.
"""
import argparse, json, resource, statistics, time
import jax, jax.numpy as jnp, numpy as np

ap = argparse.ArgumentParser()
ap.add_argument("--dtype", choices=["f32", "bf16"], default="bf16")  # compute type; weights and moments stay f32
ap.add_argument("--steps", type=int, default=8)
ap.add_argument("--mlir", help="also write the lowered step (StableHLO text) here")
ap.add_argument("--sizes", default="512,6,8,1536,8192,8,256", help="embed, layers, heads, mlp, vocabulary, batch, length")
ap.add_argument("--nudge", type=float, default=0.0, help="the last norm's scale is off by this: where rounding alone leads")
ap.add_argument("--losses", help="also write the loss of every step, steps + 2 of them, here")
a = ap.parse_args()
D, L, H, F, V, B, S = map(int, a.sizes.split(","))
dt = jnp.float32 if a.dtype == "f32" else jnp.bfloat16


def init(key):
    ks = jax.random.split(key, 9)
    n = lambda k, *s: jax.random.normal(k, s, jnp.float32) * 0.02
    return dict(emb=n(ks[0], V, D), wq=n(ks[1], L, D, D), wk=n(ks[2], L, D, D), wv=n(ks[3], L, D, D), wo=n(ks[4], L, D, D),
                w1=n(ks[5], L, D, F), w3=n(ks[6], L, D, F), w2=n(ks[7], L, F, D), n1=jnp.ones((L, D)), n2=jnp.ones((L, D)),
                nf=jnp.ones((D,)), out=n(ks[8], D, V))


def rms(x, w):
    x32 = x.astype(jnp.float32)
    return (x32 * jax.lax.rsqrt(jnp.mean(x32 * x32, -1, keepdims=True) + 1e-6)).astype(x.dtype) * w


def rope(x):
    s, h = x.shape[1], x.shape[-1]
    f = 1.0 / (10000 ** (jnp.arange(0, h, 2) / h))
    ang = jnp.arange(s)[:, None] * f[None]
    c, sn = [t(ang)[None, :, None, :].astype(x.dtype) for t in (jnp.cos, jnp.sin)]
    x1, x2 = x[..., : h // 2], x[..., h // 2:]
    return jnp.concatenate([x1 * c - x2 * sn, x2 * c + x1 * sn], -1)


def layer(x, p):
    wq, wk, wv, wo, w1, w3, w2, n1, n2 = [w.astype(dt) for w in p]
    h = rms(x, n1)
    q, k, v = [(h @ w).reshape(B, S, H, D // H) for w in (wq, wk, wv)]
    s = jnp.einsum("bqhd,bkhd->bhqk", rope(q), rope(k)).astype(jnp.float32) * (D // H) ** -0.5
    i, j = [jax.lax.broadcasted_iota(jnp.int32, (S, S), d) for d in (0, 1)]
    s = jax.nn.softmax(jnp.where(i >= j, s, -1e30), -1).astype(dt)
    x = x + jnp.einsum("bhqk,bkhd->bqhd", s, v).reshape(B, S, D) @ wo
    h = rms(x, n2)
    return x + (jax.nn.silu(h @ w1) * (h @ w3)) @ w2, None


def loss(p, t, y):
    x = p["emb"][t].astype(dt)
    x, _ = jax.lax.scan(layer, x, tuple(p[k] for k in ("wq", "wk", "wv", "wo", "w1", "w3", "w2", "n1", "n2")))
    lg = (rms(x, p["nf"].astype(dt)) @ p["out"].astype(dt)).astype(jnp.float32)
    return jnp.mean(jax.nn.logsumexp(lg, -1) - jnp.take_along_axis(lg, y[..., None], -1)[..., 0])


def step(st, t, y):
    p, m, v, c = st
    l, g = jax.value_and_grad(loss)(p, t, y)
    c = c + 1
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, v, g)
    up = lambda p, m, v: p - 1e-3 * (m / (1 - 0.9**c) / (jnp.sqrt(v / (1 - 0.95**c)) + 1e-8) + 0.1 * p)
    return (jax.tree.map(up, p, m, v), m, v, c), l


p = init(jax.random.key(0))
p["nf"] = p["nf"] * jnp.float32(1 + a.nudge)
st = (p, jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p), jnp.float32(0))
r = np.random.RandomState(0)
t, y = [jnp.asarray(r.randint(0, V, (B, S)), jnp.int32) for _ in range(2)]
f = jax.jit(step, donate_argnums=0)
if a.mlir:
    open(a.mlir, "w").write(f.lower(st, t, y).as_text())
ts, losses = [], []
for i in range(a.steps + 2):
    if i == 2:
        cpu = time.process_time()
    t0 = time.perf_counter()
    st, l = f(st, t, y)
    l = float(l)
    losses.append(l)
    ts.append(time.perf_counter() - t0)
cpu = (time.process_time() - cpu) / a.steps
if a.losses:
    open(a.losses, "w").write(json.dumps(losses) + "\n")
n = sum(x.size for x in jax.tree.leaves(p))
flop = 6 * (n - V * D) * B * S + 6 * L * D * S * B * S
med = statistics.median(ts[2:])
print(json.dumps(dict(peer="jax " + jax.__version__, dtype=a.dtype, params=n, step_s=round(med, 4), tokens_per_s=round(B * S / med, 1),
                      tflops=round(flop / med / 1e12, 4), first_step_s=round(ts[0], 2), loss=l,
                      min_step_s=round(min(ts[2:]), 4), cpu_step_s=round(cpu, 4), peak_rss_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))))
