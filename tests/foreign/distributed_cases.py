"""One process of several, or the only one: distributed_cases.py OUT.npz [COORDINATOR PROCESSES PROCESS].

Every process saves what it computes; the results are replicated, so that each holds them all.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

DEVICES = 8


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def put(array, mesh, *spec):
    """A global array of which this process fills its own shards."""
    return jax.make_array_from_callback(array.shape, NamedSharding(mesh, P(*spec)), lambda index: array[index])


def whole(x, mesh):
    return np.asarray(jax.jit(lambda v: v, out_shardings=NamedSharding(mesh, P()))(x).addressable_data(0))


def sharded_matmul():
    """Both operands split over a 4 x 2 mesh, so that products are gathered and summed across processes."""
    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
    x, w1, w2 = put(normal(1, 64, 32), mesh, "data"), put(normal(2, 32, 48), mesh, None, "model"), put(normal(3, 48, 16), mesh, "model")

    @jax.jit
    def f(x, w1, w2):
        loss = lambda w1, w2: jnp.sum(jnp.tanh(x @ w1) @ w2) / 64
        return jax.value_and_grad(loss, argnums=(0, 1))(w1, w2)

    loss, (g1, g2) = f(x, w1, w2)
    out = {"matmul_loss": whole(loss, mesh), "matmul_g1": whole(g1, mesh), "matmul_g2": whole(g2, mesh)}
    other = jax.jit(lambda a, b: a @ b, out_shardings=NamedSharding(mesh, P("model", "data")))
    return out | {"matmul_resharded": whole(other(x, w1), mesh)}


def sum_of_sines():
    mesh = Mesh(np.array(jax.devices()), ("x",))
    x = put(np.arange(32, dtype=np.float32), mesh, "x")
    return {"sum_of_sines": whole(jax.jit(lambda v: jnp.sum(jnp.sin(v)))(x), mesh)}


def collectives():
    mesh, x = Mesh(np.array(jax.devices()), ("x",)), normal(4, DEVICES * 8, 6)
    ring = [(i, (i + 1) % DEVICES) for i in range(DEVICES)]
    bodies = {
        "psum": lambda v: lax.psum(v, "x"),
        "pmax": lambda v: lax.pmax(v, "x"),
        "pmin": lambda v: lax.pmin(v, "x"),
        "pmean": lambda v: lax.pmean(v, "x"),
        "all_gather": lambda v: lax.all_gather(v, "x", tiled=True)[::3] * (1 + lax.axis_index("x")),
        "psum_scatter": lambda v: lax.psum_scatter(v, "x", scatter_dimension=0, tiled=True),
        "all_to_all": lambda v: lax.all_to_all(v, "x", split_axis=0, concat_axis=1, tiled=True),
        "ppermute": lambda v: lax.ppermute(v, "x", ring),
        "ppermute_partial": lambda v: lax.ppermute(v, "x", [(0, 7), (6, 1)]),
        "psum_of_halves": lambda v: lax.psum(v, "x", axis_index_groups=[[0, 2, 4, 6], [1, 3, 5, 7]]),
        "psum_of_pairs": lambda v: lax.psum(v, "x", axis_index_groups=[[0, 7], [1, 6], [2, 5], [3, 4]]),
    }
    run = lambda body: jax.jit(jax.shard_map(body, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False))(put(x, mesh, "x"))
    return {f"collective_{name}": whole(run(body), mesh) for name, body in bodies.items()}


def element_types():
    """Every type that can be summed; and and or of truth values."""
    mesh, out = Mesh(np.array(jax.devices()), ("x",)), {}
    reduce = lambda op: jax.jit(jax.shard_map(lambda v: op(v, "x"), mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False))
    names = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64 complex64 complex128"
    for name in names.split():
        x = put(np.asarray(normal(5, DEVICES * 16) * 4).astype(jnp.dtype(name)), mesh, "x")
        wide = lambda v: np.asarray(v).astype(np.complex128)
        out[f"type_sum_{name}"] = wide(whole(reduce(lax.psum)(x), mesh))
        if not name.startswith("complex"):
            out[f"type_max_{name}"] = wide(whole(reduce(lax.pmax)(x), mesh))
            out[f"type_min_{name}"] = wide(whole(reduce(lax.pmin)(x), mesh))
    truth = put(normal(6, DEVICES, 32) > 1, mesh, "x")
    out["type_any"] = whole(jax.jit(lambda v: jnp.any(v, axis=0))(truth), mesh)
    out["type_all"] = whole(jax.jit(lambda v: jnp.all(~v, axis=0))(truth), mesh)
    product = put(np.arange(1, DEVICES + 1, dtype=np.float32).reshape(DEVICES, 1) * np.ones((1, 3), np.float32), mesh, "x")
    out["type_product"] = whole(jax.jit(lambda v: jnp.prod(v, axis=0))(product), mesh)
    return out


def subset():
    """A mesh of the last devices of each half; processes without any of them skip the computation."""
    chosen = [d for i, d in enumerate(sorted(jax.devices(), key=lambda d: d.id)) if i % 4 == 3]
    if all(d.process_index != jax.process_index() for d in chosen):
        return {}
    mesh = Mesh(np.array(chosen), ("x",))
    x = put(normal(7, 6, 5), mesh, "x")
    return {"subset": whole(jax.jit(lambda v: v @ v.T)(x), mesh)}


def helpers():
    from jax.experimental import multihost_utils

    gathered = multihost_utils.process_allgather(np.array([jax.process_index(), 7], np.int32))
    multihost_utils.sync_global_devices("done")
    return {"helper_gathered": np.asarray(gathered).reshape(-1, 2)[:, 1], "helper_from_first": multihost_utils.broadcast_one_to_all(np.array(5 + jax.process_index()))}


def main():
    jax.config.update("jax_enable_x64", True)
    if len(sys.argv) > 2:
        coordinator, processes, process = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
        jax.distributed.initialize(coordinator, processes, process, partition_index=process // 2)
        assert (jax.process_count(), jax.process_index()) == (processes, process)
        assert len(jax.local_devices()) == DEVICES // processes, jax.local_devices()
        assert all(d.slice_index == d.process_index // 2 for d in jax.devices())
    assert jax.device_count() == DEVICES, jax.devices()
    results = {"platform_version": np.array(jax.devices()[0].client.platform_version)}
    for case in (sharded_matmul, sum_of_sines, collectives, element_types, subset, helpers):
        results |= {name: np.asarray(value) for name, value in case().items()}
    np.savez(sys.argv[1], **results)


if __name__ == "__main__":
    main()
