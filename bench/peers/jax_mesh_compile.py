#!/usr/bin/env python3
"""Peer of bench_mesh_compile: the same train step in JAX, compiled for 256 virtual CPU devices and not run. pip install jax

Llama 3 70B, AdamW, layers scanned and rematerialized, weights sharded over fsdp 64 x tensor 4. Prints one JSON line; importing is
not counted.
"""
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=256"
import json, resource, time
import jax, jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P

V, L, D, F, H, K, C, B, S = 128256, 80, 8192, 28672, 64, 8, 128, 256, 8192
start = time.perf_counter()
mesh = jax.make_mesh((64, 4), ("fsdp", "tensor"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
client_s = time.perf_counter() - start
shapes = dict(
    embedding=((V, D), P("tensor", "fsdp")), head=((D, V), P("fsdp", "tensor")), norm=((D,), P("tensor")),
    n1=((L, D), P(None, "tensor")), n2=((L, D), P(None, "tensor")),
    wq=((L, D, H, C), P(None, "fsdp", "tensor")), wk=((L, D, K, C), P(None, "fsdp", "tensor")),
    wv=((L, D, K, C), P(None, "fsdp", "tensor")), wo=((L, H, C, D), P(None, "tensor", None, "fsdp")),
    w1=((L, D, F), P(None, "fsdp", "tensor")), w3=((L, D, F), P(None, "fsdp", "tensor")),
    w2=((L, F, D), P(None, "tensor", "fsdp")))
STREAM, HEADS = P("fsdp", None, "tensor"), P("fsdp", None, "tensor", None)
bf16 = jnp.bfloat16


def lay(x, spec):
    return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, spec))


def rms(x, w):
    x32 = x.astype(jnp.float32)
    return (x32 * jax.lax.rsqrt(jnp.mean(x32 * x32, -1, keepdims=True) + 1e-5)).astype(x.dtype) * w


def rope(x):
    f = 1.0 / (500000 ** (jnp.arange(0, C, 2) / C))
    ang = jnp.arange(S)[:, None] * f[None]
    c, s = [t(ang)[None, :, None, :].astype(x.dtype) for t in (jnp.cos, jnp.sin)]
    x1, x2 = x[..., : C // 2], x[..., C // 2:]
    return jnp.concatenate([x1 * c - x2 * s, x2 * c + x1 * s], -1)


def layer(x, p):
    p = {k: v.astype(bf16) for k, v in p.items()}
    h = lay(rms(x, p["n1"]), STREAM)
    q = lay(rope(jnp.einsum("btd,dhc->bthc", h, p["wq"])), HEADS)
    k = lay(rope(jnp.einsum("btd,dkc->btkc", h, p["wk"])), HEADS)
    v = lay(jnp.einsum("btd,dkc->btkc", h, p["wv"]), HEADS)
    s = jnp.einsum("btkgc,bskc->bkgts", q.reshape(B, S, K, H // K, C), k).astype(jnp.float32) * C ** -0.5
    i, j = [jax.lax.broadcasted_iota(jnp.int32, (S, S), d) for d in (0, 1)]
    s = jax.nn.softmax(jnp.where(i >= j, s, -1e30), -1).astype(bf16)
    o = lay(jnp.einsum("bkgts,bskc->btkgc", s, v).reshape(B, S, H, C), HEADS)
    x = lay(x + jnp.einsum("bthc,hcd->btd", o, p["wo"]), STREAM)
    h = rms(x, p["n2"])
    h = lay(jax.nn.silu(h @ p["w1"]) * (h @ p["w3"]), STREAM)
    return lay(x + h @ p["w2"], STREAM), None


def loss(p, tokens, targets):
    x = lay(lay(p["embedding"].astype(bf16), P("tensor"))[tokens], STREAM)
    names = ("n1", "n2", "wq", "wk", "wv", "wo", "w1", "w3", "w2")
    x, _ = jax.lax.scan(jax.checkpoint(layer, prevent_cse=False), x, {k: p[k] for k in names})
    logits = lay(rms(x, p["norm"].astype(bf16)) @ p["head"].astype(bf16), STREAM).astype(jnp.float32)
    hit = jax.lax.broadcasted_iota(jnp.int32, logits.shape, 2) == targets[..., None]
    return jnp.mean(jax.nn.logsumexp(logits, -1) - jnp.sum(jnp.where(hit, logits, 0), -1))


def step(p, mu, nu, count, tokens, targets, rate):
    value, g = jax.value_and_grad(loss)(p, tokens, targets)
    norm = jnp.sqrt(sum(jnp.sum(x * x) for x in jax.tree.leaves(g)))
    g = jax.tree.map(lambda x: x * jnp.minimum(1.0, 1.0 / norm), g)
    count = count + 1
    mu = jax.tree.map(lambda m, x: 0.9 * m + 0.1 * x, mu, g)
    nu = jax.tree.map(lambda n, x: 0.95 * n + 0.05 * x * x, nu, g)
    new = lambda w, m, n: w - rate * (m / (1 - 0.9 ** count) / (jnp.sqrt(n / (1 - 0.95 ** count)) + 1e-8) + 0.1 * w)
    return jax.tree.map(new, p, mu, nu), mu, nu, count, value, norm


def of(shape, dtype, spec=P()):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))


params = {k: of(s, jnp.float32, spec) for k, (s, spec) in shapes.items()}
batch = of((B, S), jnp.int32, P("fsdp"))
scalar = of((), jnp.float32)
out = jax.tree.map(lambda x: x.sharding, (params, params, params, scalar, scalar, scalar))
start = time.perf_counter()
lowered = jax.jit(step, donate_argnums=(0, 1, 2, 3), out_shardings=out).lower(params, params, params, scalar, batch, batch, scalar)
trace_s = time.perf_counter() - start
start = time.perf_counter()
compiled = lowered.compile()
compile_s = time.perf_counter() - start
memory = compiled.memory_analysis()
print(json.dumps(dict(
    bench="mesh_compile", program=f"jax {jax.__version__}", devices=256, client_s=round(client_s, 2), trace_s=round(trace_s, 2),
    compile_s=round(compile_s, 2), total_s=round(client_s + trace_s + compile_s, 2),
    peak_rss_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    argument_gb=round(memory.argument_size_in_bytes / 1e9, 2), temp_gb=round(memory.temp_size_in_bytes / 1e9, 2))))
