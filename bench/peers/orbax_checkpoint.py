#!/usr/bin/env python3
"""Peer of bench_checkpoint: the same state saved and restored by Orbax, over the same four CPU devices.

usage: orbax_checkpoint.py FOLDER [SAVES]      prints one JSON line

After each save a step runs that donates the state, as steps of training do: who returns from save() before the state is
copied pays there.
"""
import functools, json, os, pathlib, resource, shutil, statistics, sys, time

import jax

jax.config.update("jax_num_cpu_devices", 4)
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

STEPS_BEFORE, RESTORES = 3, 5
LARGE, SMALL = 12, 12  # arrays of f32[4,1024,2048], split over four devices; of f32[2048], one copy on each


def make_state(mesh):
    split = NamedSharding(mesh, PartitionSpec(None, "fsdp", None))
    whole = NamedSharding(mesh, PartitionSpec())
    random = np.random.default_rng(0)
    state = {f"large{i:02d}": jax.device_put(random.standard_normal((4, 1024, 2048), np.float32), split) for i in range(LARGE)}
    state |= {f"small{i:02d}": jax.device_put(random.standard_normal(2048).astype(np.float32), whole) for i in range(SMALL)}
    return jax.block_until_ready(state)


@functools.partial(jax.jit, donate_argnums=0)
def step(state):
    return jax.tree.map(lambda x: x * 1.0001, state)


def run_step(state):
    """The next state, and the seconds until it is there."""
    start = time.perf_counter()
    state = jax.block_until_ready(step(state))
    return state, time.perf_counter() - start


def forget(folder):
    """Drops the files of a folder from the page cache, so that reading them is reading the disk."""
    for path in pathlib.Path(folder).rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def rss_mb():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main():
    folder = pathlib.Path(sys.argv[1]).absolute() / "orbax"
    saves = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    shutil.rmtree(folder, ignore_errors=True)
    mesh = Mesh(np.array(jax.devices()), ("fsdp",))
    state = make_state(mesh)
    state_bytes = sum(array.nbytes for array in state.values())
    for _ in range(STEPS_BEFORE):
        state, _ = run_step(state)
    before_mb = rss_mb()
    checkpointer = ocp.AsyncCheckpointer(ocp.StandardCheckpointHandler())
    steps, stalls, stalls_with_step, totals, restores = [], [], [], [], []
    abstract = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding), state)
    for i in range(saves + 1):
        state, undisturbed = run_step(state)
        start = time.perf_counter()
        checkpointer.save(folder / str(i), args=ocp.args.StandardSave(state))
        stall = time.perf_counter() - start
        if i < saves:  # the last one is what is restored: no step follows
            state, seconds = run_step(state)
            stalls_with_step.append(stall + seconds - undisturbed)
            steps.append(undisturbed)
        checkpointer.wait_until_finished()
        if i < saves:
            stalls.append(stall)
            totals.append(time.perf_counter() - start)
        if i > 0:
            shutil.rmtree(folder / str(i - 1))
    saved_peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    for _ in range(RESTORES):
        forget(folder)
        start = time.perf_counter()
        restored = jax.block_until_ready(checkpointer.restore(folder / str(saves), args=ocp.args.StandardRestore(abstract)))
        restores.append(time.perf_counter() - start)
    same = all(bool(jnp.array_equal(restored[name], state[name])) for name in state)
    shutil.rmtree(folder)
    print(json.dumps(dict(bench="checkpoint", program="orbax " + ocp.__version__, state_mb=round(state_bytes / 1e6, 1), saves=saves,
                          stall_s=round(statistics.median(stalls), 4),
                          stall_with_step_s=round(statistics.median(stalls_with_step), 4), step_s=round(statistics.median(steps), 4),
                          save_s=round(statistics.median(totals), 3),
                          restore_s=round(statistics.median(restores), 3), same=same,
                          save_memory_mb=round(saved_peak_mb - before_mb, 1))))


if __name__ == "__main__":
    main()
