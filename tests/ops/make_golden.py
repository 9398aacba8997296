#!/usr/bin/env python3
"""Makes golden/<family>.json from golden_<family>.py: what NumPy says that ops give.

Needs numpy and ml_dtypes (pip install numpy ml_dtypes). Usage: make_golden.py [family ...]

Each golden_<family>.py has a function cases(golden), which calls golden.add() for every example.
"""

import importlib
import json
import math
import pathlib
import sys

import ml_dtypes
import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent

DTYPES = {
    "bool": np.dtype(bool),
    "s4": np.dtype(ml_dtypes.int4),
    "s8": np.dtype(np.int8),
    "s16": np.dtype(np.int16),
    "s32": np.dtype(np.int32),
    "s64": np.dtype(np.int64),
    "u4": np.dtype(ml_dtypes.uint4),
    "u8": np.dtype(np.uint8),
    "u16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64),
    "f8e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
FLOATS = ["f8e4m3fn", "f8e5m2", "bf16", "f16", "f32", "f64"]


def is_float(name):
    return name.startswith(("f", "bf"))


def array(values, dtype):
    """values as a NumPy array of the dtype that has our name `dtype`, rounded to nearest even."""
    return np.asarray(values).astype(DTYPES[dtype])


def rounded(values, dtype):
    """float64 results as `dtype`: what an exact op would give."""
    with np.errstate(all="ignore"):
        return np.asarray(values, dtype=np.float64).astype(DTYPES[dtype])


def to_json_number(value, name):
    if not is_float(name):
        return int(value)
    value = float(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def to_json(value):
    value = np.asarray(value)
    name = NAMES[value.dtype]
    return {
        "dtype": name,
        "dims": list(value.shape),
        "values": [to_json_number(v, name) for v in value.reshape(-1)],
    }


class Golden:
    """Collects the cases of a family."""

    def __init__(self):
        self.cases = []

    def add(self, op, inputs, outputs, ulps=0):
        """One example of `op`, the key under which the C++ test files its function.

        inputs, outputs: NumPy arrays. ulps: how far floats may be off, in units of the dtype's
        epsilon at the expected value.
        """
        if not isinstance(outputs, (list, tuple)):
            outputs = [outputs]
        self.cases.append({
            "op": op,
            "ulps": ulps,
            "inputs": [to_json(x) for x in inputs],
            "outputs": [to_json(y) for y in outputs],
        })


def main():
    sys.path.insert(0, str(FOLDER))
    known = sorted(p.stem[len("golden_"):] for p in FOLDER.glob("golden_*.py"))
    for family in sys.argv[1:] or known:
        golden = Golden()
        importlib.import_module(f"golden_{family}").cases(golden)
        lines = ",\n".join("  " + json.dumps(case) for case in golden.cases)
        path = FOLDER / "golden" / f"{family}.json"
        path.write_text(
            f'{{"made_by": "tests/ops/make_golden.py, numpy {np.__version__}", "cases": [\n{lines}\n]}}\n')
        print(f"{path.relative_to(FOLDER)}: {len(golden.cases)} cases")


if __name__ == "__main__":
    main()
