"""Computes every case on whatever JAX backend this process has, and saves the results: cases.py OUT.npz."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

DEVICES = 8


def mesh(shape=(DEVICES,), names=("x",)):
    return Mesh(np.array(jax.devices()).reshape(shape), names)


def normal(seed, *shape):
    """The same numbers in both processes, from NumPy and not from what is being tested."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def matmul():
    out = {}
    for dtype in (jnp.float32, jnp.bfloat16):
        a, b = jnp.asarray(normal(0, 128, 96), dtype), jnp.asarray(normal(1, 96, 64), dtype)
        out[f"matmul_{dtype.__name__}"] = jax.jit(jnp.matmul)(a, b).astype(jnp.float32)
    return out


def mlp_loss(params, x, y):
    for w, b in params[:-1]:
        x = jax.nn.gelu(x @ w + b)
    w, b = params[-1]
    return jnp.mean(jnp.square(x @ w + b - y))


def mlp_params():
    sizes = [16, 32, 32, 4]
    return [(normal(i, n, m) / np.sqrt(n), np.zeros(m, np.float32)) for i, (n, m) in enumerate(zip(sizes, sizes[1:]))]


def grad_of_mlp():
    loss, grads = jax.jit(jax.value_and_grad(mlp_loss))(mlp_params(), normal(10, 64, 16), normal(11, 64, 4))
    return {"mlp_loss": loss} | {f"mlp_grad_{i}": g for i, g in enumerate(jax.tree.leaves(grads))}


def donated_step():
    """20 steps of gradient descent that give their state away; then the old state is used, which must fail."""

    def step(params, x, y):
        loss, grads = jax.value_and_grad(mlp_loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.05 * g, params, grads), loss

    step = jax.jit(step, donate_argnums=0)
    params = jax.tree.map(jnp.array, mlp_params())
    first, losses = params, []
    for i in range(20):
        params, loss = step(params, normal(100 + i, 64, 16), normal(200 + i, 64, 4))
        losses.append(loss)
    deleted = [p.is_deleted() for p in jax.tree.leaves(first)]
    reuse = "no error"
    try:
        step(first, normal(0, 64, 16), normal(0, 64, 4))
    except (RuntimeError, ValueError) as error:
        reuse = "deleted" if "deleted" in str(error) or "donated" in str(error) else f"other: {error}"
    return {"donated_losses": jnp.stack(losses), "donated_deleted": np.array(deleted), "donated_reuse": np.array(reuse)} | {
        f"donated_params_{i}": p for i, p in enumerate(jax.tree.leaves(params))
    }


def sharded_jit():
    """A two-layer network over a 4 x 2 mesh: batch over data, hidden over model."""
    m = mesh((4, 2), ("data", "model"))
    put = lambda x, *spec: jax.device_put(x, NamedSharding(m, P(*spec)))
    x, w1, w2 = put(normal(1, 64, 32), "data"), put(normal(2, 32, 48), None, "model"), put(normal(3, 48, 16), "model")

    @jax.jit
    def f(x, w1, w2):
        loss = lambda w1, w2: jnp.sum(jnp.tanh(x @ w1) @ w2) / 64
        return jax.value_and_grad(loss, argnums=(0, 1))(w1, w2)

    loss, (g1, g2) = f(x, w1, w2)
    return {"sharded_loss": loss, "sharded_g1": g1, "sharded_g2": g2, "sharded_devices": np.array(len(g1.sharding.device_set))}


def collectives():
    m, x = mesh(), normal(4, DEVICES * 8, 6)
    ring = [(i, (i + 1) % DEVICES) for i in range(DEVICES)]
    bodies = {
        "psum": (lambda v: lax.psum(v, "x"), P()),
        "pmax": (lambda v: lax.pmax(v, "x"), P()),
        "all_gather": (lambda v: lax.all_gather(v, "x", tiled=True) * (1 + lax.axis_index("x")), P("x")),
        "psum_scatter": (lambda v: lax.psum_scatter(v, "x", scatter_dimension=0, tiled=True), P("x")),
        "all_to_all": (lambda v: lax.all_to_all(v, "x", split_axis=0, concat_axis=1, tiled=True), P("x")),
        "ppermute": (lambda v: lax.ppermute(v, "x", ring), P("x")),
    }
    run = lambda body, out: jax.jit(jax.shard_map(body, mesh=m, in_specs=P("x"), out_specs=out))(x)
    return {name: run(*case) for name, case in bodies.items()}


def random():
    key = jax.random.key(1234)
    keys = jax.random.split(key, 5)
    return {
        "random_bits": jax.random.bits(keys[0], (257,)),
        "random_uniform": jax.random.uniform(keys[1], (33, 7)),
        "random_normal": jax.random.normal(keys[2], (1000,)),
        "random_randint": jax.random.randint(keys[3], (64,), -5, 17),
        "random_permutation": jax.random.permutation(keys[4], 100),
    }


def dtypes():
    """Host to device, a computation, and back."""
    names = "bool int4 uint4 int8 uint8 int16 uint16 int32 uint32 float16 bfloat16 float32 float8_e4m3fn float8_e5m2 complex64"
    out = {}
    for name in names.split():
        x = jnp.asarray(np.arange(24).reshape(2, 3, 4) % 2, dtype=name)
        out[f"dtype_{name}"] = np.asarray(jax.jit(lambda v: jnp.flip(v.transpose(2, 0, 1), 0))(x)).astype(np.complex64)
    return out


def main():
    assert jax.device_count() == DEVICES, jax.devices()
    results = {"platform_version": np.array(jax.devices()[0].client.platform_version)}
    for case in (matmul, grad_of_mlp, donated_step, sharded_jit, collectives, random, dtypes):
        results |= {name: np.asarray(value) for name, value in case().items()}
    np.savez(sys.argv[1], **results)


if __name__ == "__main__":
    main()
