"""Reductions: in float64 (or exact integers) from inputs of the dtype, then rounded to it."""

import numpy as np
from make_golden import array, rounded

FLOATS = ["bf16", "f16", "f32", "f64"]
INTEGERS = ["s8", "s32", "s64", "u8", "u32"]
DIMS = {"all": None, "dim_1": 1, "dims_0_minus1": (0, -1), "none": ()}


def wide(x):
    return x.astype(np.float64)


def logsumexp(x, axis, keepdims=False):
    greatest = np.max(x, axis=axis, keepdims=True)
    shift = np.where(np.isfinite(greatest), greatest, 0)
    y = np.log(np.sum(np.exp(x - shift), axis=axis, keepdims=True)) + shift
    return y if keepdims else np.squeeze(y, axis=axis)


def softmax(x, axis):
    y = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return y / np.sum(y, axis=axis, keepdims=True)


def plain_cases(golden, rng):
    functions = {"sum": (np.sum, 2), "prod": (np.prod, 4), "max": (np.max, 0), "min": (np.min, 0)}
    for name, (fn, ulps) in functions.items():
        for suffix, axis in DIMS.items():
            for dtype in FLOATS:
                x = array(rng.uniform(0.5, 1.5, (2, 3, 4)), dtype)
                golden.add(f"{name}_{suffix}", [x], rounded(fn(wide(x), axis=axis), dtype), ulps)
            for dtype in INTEGERS:
                x = array(rng.integers(0, 3, (2, 3, 4)), dtype)
                if dtype.startswith("s"):
                    x = array(x.astype(np.int64) - 1, dtype)
                y = fn(x.astype(np.int64), axis=axis)
                golden.add(f"{name}_{suffix}", [x], np.asarray(y).astype(x.dtype))
        x = array(rng.uniform(0.5, 1.5, (2, 3)), "f32")
        golden.add(f"{name}_keepdims", [x],
                   rounded(fn(wide(x), axis=1, keepdims=True), "f32"), ulps)
    for name, fn in {"max": np.max, "min": np.min}.items():
        for dtype in FLOATS:
            x = array([[1.0, np.nan, 3.0], [np.inf, 1.0, -np.inf], [-np.inf, -np.inf, -np.inf]],
                      dtype)[None]
            golden.add(f"{name}_dims_0_minus1", [x], rounded(fn(wide(x), axis=(0, 2)), dtype))
        for dtype in ["f8e4m3fn", "f8e5m2"]:
            x = array([[-2.0, 0.5], [-3.0, -4.0]], dtype)
            golden.add(f"{name}_dim_1", [x], rounded(fn(wide(x), axis=1), dtype))
    x = array(np.zeros((2, 0)), "f32")
    golden.add("sum_dim_1", [x], np.sum(x, axis=1))
    golden.add("prod_dim_1", [x], np.prod(x, axis=1))


def narrow_cases(golden, rng):
    # 3000 ones: a sum kept in bf16 would stop at 256, one kept in f16 at 2048.
    for dtype in ["bf16", "f16"]:
        x = array(np.ones((2, 3000)), dtype)
        golden.add("sum_dim_1", [x], rounded(np.sum(wide(x), axis=1), dtype))
        golden.add("mean_dim_1", [x], rounded(np.mean(wide(x), axis=1), dtype))
        golden.add("cumsum_1", [x], rounded(np.cumsum(wide(x), axis=1), dtype))
    for dtype in FLOATS:
        x = array(rng.uniform(-1, 1, (2, 3, 4)) + 2, dtype)
        for suffix, axis in DIMS.items():
            golden.add(f"mean_{suffix}", [x], rounded(np.mean(wide(x), axis=axis), dtype), 2)
            key = f"logsumexp_{suffix}"
            golden.add(key, [x], rounded(logsumexp(wide(x), axis), dtype), 6)
        golden.add("mean_keepdims", [x], rounded(np.mean(wide(x), axis=1, keepdims=True), dtype), 2)
        golden.add("logsumexp_keepdims", [x],
                   rounded(logsumexp(wide(x), 1, keepdims=True), dtype), 6)


def bool_cases(golden):
    x = array([[True, True, False], [True, True, True], [False, False, False]], "bool")
    for name, fn in {"all": np.all, "any": np.any}.items():
        golden.add(f"{name}_dim_1", [x], fn(x, axis=1))
        golden.add(f"{name}_all", [x], np.asarray(fn(x)))
        golden.add(f"{name}_keepdims", [x], fn(x, axis=1, keepdims=True))
    for dtype in ["s8", "s32", "u8", "u64"]:
        x = array([[0b1100, 0b0110], [0b0111, 0b0011]], dtype)
        golden.add("reduce_and_1", [x], np.bitwise_and.reduce(x, axis=1))
        golden.add("reduce_or_1", [x], np.bitwise_or.reduce(x, axis=1))
    golden.add("reduce_and_1", [array([[True, False]], "bool")], array([False], "bool"))
    golden.add("reduce_or_1", [array([[True, False]], "bool")], array([True], "bool"))


def arg_cases(golden, rng):
    rows = [[1.0, 3.0, 3.0, 2.0], [np.nan, 5.0, np.nan, 1.0], [2.0, np.nan, 9.0, np.nan],
            [-np.inf] * 4, [np.inf] * 4, [0.0, -0.0, 0.0, -0.0], [4.0, 4.0, 4.0, 4.0]]
    for name, fn in {"argmax": np.argmax, "argmin": np.argmin}.items():
        for dtype in FLOATS + ["f8e5m2"]:
            x = array(rows, dtype)
            golden.add(f"{name}_1", [x], fn(wide(x), axis=1).astype(np.int32))
        for dtype in INTEGERS:
            x = array(rng.integers(0, 4, (5, 6)), dtype)
            golden.add(f"{name}_1", [x], fn(x, axis=1).astype(np.int32))
        low = array([[-128, -128], [127, 127]], "s8")
        golden.add(f"{name}_1", [low], fn(low, axis=1).astype(np.int32))
        x = array(rng.uniform(-1, 1, (7, 3)), "f32")
        golden.add(f"{name}_0_keepdims_u8", [x], fn(x, axis=0, keepdims=True).astype(np.uint8))
        long = array(rng.uniform(-1, 1, (3, 1000)), "f32")
        golden.add(f"{name}_1", [long], fn(long, axis=1).astype(np.int32))


def along_cases(golden, rng):
    for dtype in FLOATS:
        x = array(rng.uniform(0.5, 1.5, (3, 7)), dtype)
        y = wide(x)
        golden.add("cumsum_1", [x], rounded(np.cumsum(y, axis=1), dtype), 2)
        golden.add("cumsum_0", [x], rounded(np.cumsum(y, axis=0), dtype), 2)
        golden.add("cumsum_1_reverse", [x],
                   rounded(np.cumsum(y[:, ::-1], axis=1)[:, ::-1], dtype), 2)
        x = array(rng.uniform(-4, 4, (3, 7)), dtype)
        golden.add("softmax", [x], rounded(softmax(wide(x), -1), dtype), 4)
        golden.add("softmax_0", [x], rounded(softmax(wide(x), 0), dtype), 4)
    for dtype in ["f32", "f64"]:
        x = array([[1000.0, 1000.0, -1000.0], [-np.inf, 0.0, 1.0]], dtype)
        golden.add("softmax", [x], rounded(softmax(wide(x), -1), dtype), 4)
        x = array([[1000.0, 1000.0], [-np.inf, 0.0], [-np.inf, -np.inf], [np.inf, 0.0]], dtype)
        golden.add("logsumexp_dim_1", [x], rounded(logsumexp(wide(x), 1), dtype), 6)
        x = array(rng.uniform(1, 2, (2, 5)) * [[1.0], [100.0]], dtype)
        shifted = wide(x) - np.max(wide(x), axis=1, keepdims=True)
        golden.add("log_softmax", [x],
                   rounded(shifted - logsumexp(shifted, 1, keepdims=True), dtype), 8)
    for dtype in INTEGERS:
        x = array(rng.integers(0, 5, (2, 9)), dtype)
        golden.add("cumsum_1", [x], np.cumsum(x, axis=1, dtype=x.dtype))
    golden.add("cumsum_1", [array([[3]], "s32")], array([[3]], "s32"))


def cases(golden):
    rng = np.random.default_rng(11)
    with np.errstate(all="ignore"):
        plain_cases(golden, rng)
        narrow_cases(golden, rng)
        bool_cases(golden)
        arg_cases(golden, rng)
        along_cases(golden, rng)
