#!/usr/bin/env python3
"""Peer: one AdamW step of a Llama-style model in JAX, on the CPU. pip install jax

The same works as torch_step.py and as bench_step, by name; base is 28.84 M parameters = 6 layers x (d 512, 8 heads, ff 1536) + untied
8192-word embedding and head, batch 8 x 256 tokens. Prints one JSON line: median seconds a step, tokens/s, and model TFLOP/s.
"""
import json, time
import jax, jax.numpy as jnp, numpy as np
import work

ap = work.parser(__doc__)
ap.add_argument("--mlir", help="also write the lowered step (StableHLO text) here")
ap.add_argument("--sizes", help="instead of a work's: embed, layers, heads, mlp, vocabulary, batch, length")
ap.add_argument("--nudge", type=float, default=0.0, help="the last norm's scale is off by this: where rounding alone leads")
ap.add_argument("--losses", help="also write the loss of every step, steps + 2 of them, here")
ap.add_argument("--experts", choices=["ragged", "all", "blocks"], default="blocks", help="how experts are computed")
ap.add_argument("--scan", action="store_true", help="layers as a scan, which on the CPU takes a tenth longer")
a = ap.parse_args()
sizes = work.WORKS[a.work]
if a.sizes:
    D, L, H, F, V, B, S = map(int, a.sizes.split(","))
    sizes = work.Work(D, L, H, H, F, 0, V, B, S)
D, L, H, K, F, E, V, B, S = sizes
HD, KD, TOP = D // H, D // H * K, work.EXPERTS_PER_TOKEN
dt = jnp.float32 if a.dtype == "f32" else jnp.bfloat16


def init(key):
    ks = jax.random.split(key, 9)
    n = lambda k, *s: jax.random.normal(k, s, jnp.float32) * 0.02
    e = (L, E) if E else (L,)
    p = dict(emb=n(ks[0], V, D), wq=n(ks[1], L, D, D), wk=n(ks[2], L, D, KD), wv=n(ks[3], L, D, KD), wo=n(ks[4], L, D, D),
             w1=n(ks[5], *e, D, F), w3=n(ks[6], *e, D, F), w2=n(ks[7], *e, F, D), n1=jnp.ones((L, D)), n2=jnp.ones((L, D)),
             nf=jnp.ones((D,)), out=n(ks[8], D, V))
    return p | (dict(router=n(jax.random.fold_in(key, 9), L, D, E)) if E else {})


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


def attend(q, k, v):
    q = q.reshape(B, S, K, H // K, HD)
    s = jnp.einsum("bqkgd,bskd->bkgqs", q, k).astype(jnp.float32) * HD ** -0.5
    i, j = [jax.lax.broadcasted_iota(jnp.int32, (S, S), d) for d in (0, 1)]
    s = jax.nn.softmax(jnp.where(i >= j, s, -1e30), -1).astype(dt)
    return jnp.einsum("bkgqs,bskd->bqkgd", s, v).reshape(B, S, D)


def experts_of(h, router):
    p = jax.nn.softmax(jnp.einsum("bsd,de->bse", h, router, preferred_element_type=jnp.float32).reshape(-1, E), -1)
    weight, expert = jax.lax.top_k(p, TOP)
    return weight / weight.sum(-1, keepdims=True), expert


def mixture_all(h, router, w1, w3, w2):
    """Every expert for every token, most with weight 0."""
    weight, expert = experts_of(h, router)
    gate = jnp.einsum("tk,tke->te", weight, jax.nn.one_hot(expert, E)).astype(dt)
    x = h.reshape(-1, D)
    y = jax.nn.silu(jnp.einsum("td,edf->tef", x, w1)) * jnp.einsum("td,edf->tef", x, w3)
    return jnp.einsum("tef,efd->td", y * gate[..., None], w2).reshape(h.shape)


def mixture_ragged(h, router, w1, w3, w2):
    """Tokens sorted by expert, and products over the groups."""
    weight, expert = experts_of(h, router)
    order = jnp.argsort(expert.reshape(-1))
    sizes = jnp.bincount(expert.reshape(-1), length=E)
    x = h.reshape(-1, D)[order // TOP]
    y = jax.nn.silu(jax.lax.ragged_dot(x, w1, sizes)) * jax.lax.ragged_dot(x, w3, sizes)
    y = jax.lax.ragged_dot(y, w2, sizes)[jnp.argsort(order)].reshape(-1, TOP, D)
    return jnp.einsum("tkd,tk->td", y.astype(jnp.float32), weight).astype(dt).reshape(h.shape)


def mixture_blocks(h, router, w1, w3, w2):
    """Tokens sorted by expert, each expert's filled up to whole blocks, of which there are a known number."""
    weight, expert = experts_of(h, router)
    flat, n = expert.reshape(-1), B * S * TOP
    block = min(256, n)  # of 64 to 512 what is fastest on base's sizes
    blocks = n // block + E  # each expert fills one in part at most
    sizes = jnp.bincount(flat, length=E)
    ends = jnp.cumsum((sizes + block - 1) // block)
    order = jnp.argsort(flat)
    begin = (jnp.cumsum(sizes) - sizes)[flat[order]]
    slot = (ends - (sizes + block - 1) // block)[flat[order]] * block + jnp.arange(n) - begin
    slots = jnp.zeros(n, jnp.int32).at[order].set(slot.astype(jnp.int32))
    source = jnp.full(blocks * block, B * S, jnp.int32).at[slot].set(order // TOP)
    x = h.reshape(-1, D).at[source].get(mode="fill", fill_value=0).reshape(blocks, block, D)
    owner = jnp.minimum(jnp.searchsorted(ends, jnp.arange(blocks), side="right"), E - 1)
    y = jax.nn.silu(jnp.einsum("nbd,ndf->nbf", x, w1[owner])) * jnp.einsum("nbd,ndf->nbf", x, w3[owner])
    y = jnp.einsum("nbf,nfd->nbd", y, w2[owner]).reshape(-1, D)[slots].reshape(-1, TOP, D)
    return jnp.einsum("tkd,tk->td", y.astype(jnp.float32), weight).astype(dt).reshape(h.shape)


mixture = dict(all=mixture_all, ragged=mixture_ragged, blocks=mixture_blocks)[a.experts]
LAYER = ("wq", "wk", "wv", "wo", "w1", "w3", "w2", "n1", "n2") + (("router",) if E else ())


def layer(x, p):
    wq, wk, wv, wo, w1, w3, w2, n1, n2, *router = [w.astype(dt) for w in p]
    h = rms(x, n1)
    q, k, v = [(h @ w).reshape(B, S, -1, HD) for w in (wq, wk, wv)]
    x = x + attend(rope(q), rope(k), v) @ wo
    h = rms(x, n2)
    if E:
        return x + mixture(h, *router, w1, w3, w2), None
    return x + (jax.nn.silu(h @ w1) * (h @ w3)) @ w2, None


def loss(p, t, y):
    x = p["emb"][t].astype(dt)
    x, _ = jax.lax.scan(layer, x, tuple(p[k] for k in LAYER), unroll=1 if a.scan else L)
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
params = sum(x.size for x in jax.tree.leaves(p))
del p
r = np.random.RandomState(0)
t, y = [jnp.asarray(r.randint(0, V, (B, S)), jnp.int32) for _ in range(2)]
lowered = jax.jit(step, donate_argnums=0).lower(st, t, y)
if a.mlir:
    open(a.mlir, "w").write(lowered.as_text())
start = time.perf_counter()
f = lowered.compile()
compile_s = time.perf_counter() - start
need = f.memory_analysis()


def one():
    global st
    st, l = f(st, t, y)
    return float(l)


losses = work.run("jax " + jax.__version__, a, sizes, one, params=params, compile_s=round(compile_s, 2),
                  compiled_peak_mb=round((need.argument_size_in_bytes + need.output_size_in_bytes - need.alias_size_in_bytes +
                                          need.temp_size_in_bytes) / 1e6))
if a.losses:
    open(a.losses, "w").write(json.dumps(losses) + "\n")
