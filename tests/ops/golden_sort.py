"""Sorting: floats with NaN greatest and the zeros equal, as NumPy does it, and stable."""

import numpy as np
from make_golden import array


def descending(x, axis=-1):
    """Indices of a stable descending sort: NaN first, then from the greatest."""
    flipped = np.flip(x, axis)
    order = np.argsort(flipped, axis=axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - order, axis)


def values(shape, dtype, seed):
    return array(np.random.default_rng(seed).integers(-4, 5, shape) if not dtype.startswith("u") and
                 dtype != "bool" else np.random.default_rng(seed).integers(0, 2 if dtype == "bool" else 200, shape),
                 dtype)


def cases(golden):
    inputs = [values((3, 6), dtype, i)
              for i, dtype in enumerate(["f32", "f64", "bf16", "f16", "s32", "s8", "u8", "bool"])]
    inputs.append(array([[0.0, np.nan, -np.inf, 3, -0.0, -np.nan, np.inf, 0.0]], "f32"))
    for x in inputs:
        ascending = np.argsort(x, axis=-1, kind="stable")
        golden.add("sort", [x], np.take_along_axis(x, ascending, -1))
        golden.add("argsort", [x], array(ascending, "s32"))
        golden.add("sort_descending", [x], np.take_along_axis(x, descending(x), -1))
        golden.add("argsort_descending", [x], array(descending(x), "s32"))
        columns = np.argsort(x, axis=0, kind="stable")
        golden.add("sort_dim_0", [x], np.take_along_axis(x, columns, 0))

    keys, more, data = values((2, 7), "s32", 20), values((2, 7), "f32", 21), values((2, 7), "bf16", 22)
    order = np.argsort(keys, axis=-1, kind="stable")
    golden.add("sort_by_key", [keys, data],
               [np.take_along_axis(a, order, -1) for a in (keys, data)])
    order = np.lexsort((more.astype(np.float64), keys), axis=-1)
    golden.add("sort_by_two_keys", [keys, more, data],
               [np.take_along_axis(a, order, -1) for a in (keys, more, data)])

    for dtype in ["f32", "bf16", "s32"]:
        x = values((2, 3, 8), dtype, 30)
        order = descending(x)[..., :3]
        golden.add("top_k_3", [x], [np.take_along_axis(x, order, -1), array(order, "s32")])
