#!/usr/bin/env python3
"""Makes golden/jax_losses_<size>.json: the losses of 20 AdamW steps of bench/peers/jax_step.py, in f32 on the CPU.

Needs jax (pip install jax). Usage: make_jax_losses.py [small|full ...]. `full` is what bench_step measures, with
jax_step.py's own weights and tokens; `small` has sizes of its own. Beside them the losses of a model whose last norm
differs by one part in 2^23: how far rounding alone carries JAX from JAX.
"""

import importlib.metadata
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PEER = HERE.parent.parent / "bench" / "peers" / "jax_step.py"
STEPS, NUDGE = 20, 1.2e-7
SIZES = {
    "small": dict(embed=64, layers=2, heads=4, mlp=160, vocabulary=256, batch=2, length=32),
    "full": dict(embed=512, layers=6, heads=8, mlp=1536, vocabulary=8192, batch=8, length=256),
}


def losses(size, nudge):
    numbers = [size[name] for name in ("embed", "layers", "heads", "mlp", "vocabulary", "batch", "length")]
    with tempfile.NamedTemporaryFile() as file:
        command = [sys.executable, PEER, "--dtype", "f32", "--steps", str(STEPS - 2), "--nudge", str(nudge),
                   "--sizes", ",".join(map(str, numbers)), "--losses", file.name]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return json.load(open(file.name))


def main():
    for name in sys.argv[1:] or SIZES:
        size = SIZES[name]
        golden = {"made_by": f"tests/parity/make_jax_losses.py, jax {importlib.metadata.version('jax')}", **size,
                  "losses": losses(size, 0.0), "losses_nudged": losses(size, NUDGE)}
        path = HERE / "golden" / f"jax_losses_{name}.json"
        path.write_text(json.dumps(golden, indent=1) + "\n")
        print(path, golden["losses"][0], golden["losses"][-1])


if __name__ == "__main__":
    main()
