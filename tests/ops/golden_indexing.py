"""Reads and writes at computed places, inside and outside of the range."""

import numpy as np
from make_golden import array

DTYPES = ["f32", "bf16", "f64", "s32", "s8", "u8", "bool"]


def numbers(shape, dtype):
    return array(np.arange(np.prod(shape)).reshape(shape) % 2 if dtype == "bool" else
                 np.arange(1, np.prod(shape) + 1).reshape(shape), dtype)


def fill_value(dtype):
    return array({"f": np.nan, "b": np.nan, "s": -1, "u": 255}[dtype[0]] if dtype != "bool" else 0, dtype)


def filled(taken, valid, dtype):
    return np.where(valid, taken, fill_value(dtype)).astype(taken.dtype)


def cases(golden):
    ids = array([[0, 4], [-1, 3], [5, 1]], "s32")
    valid = (ids >= 0) & (ids < 5)
    near = np.clip(ids, 0, 4)
    for dtype in DTYPES:
        x = numbers((5, 2), dtype)
        golden.add("take", [x, ids], filled(x[near], valid[..., None], dtype))
        golden.add("take_clip", [x, ids], x[near])
    x = numbers((2, 5, 3), "f32")
    golden.add("take_dim_1", [x, ids],
               filled(np.take(x, near, axis=1), valid[None, ..., None], "f32"))
    golden.add("take", [numbers((5, 2), "f32"), array(2, "s64")], numbers((5, 2), "f32")[2])
    golden.add("take", [numbers((300,), "f32"), array([0, 127, 255], "u8")],
               numbers((300,), "f32")[[0, 127, 255]])
    golden.add("take", [numbers((5,), "f32"), array([4, 2**32 - 1], "u32")],
               array([5, np.nan], "f32"))

    along = array([[[0, 1, 4], [5, -1, 2]], [[3, 3, 3], [0, 2, 9]]], "s32")
    inside = (along >= 0) & (along < 5)
    taken = np.take_along_axis(x, np.clip(along, 0, 4), axis=1)
    golden.add("take_along_dim_1", [x, along], filled(taken, inside, "f32"))
    golden.add("take_along_dim_1_clip", [x, along], taken)

    for dtype in ["f32", "f64", "s32"]:
        x, updates = numbers((5, 2), dtype), numbers((3, 2, 2), dtype)
        result = x.copy()
        for place in np.ndindex(ids.shape):
            if valid[place]:
                result[ids[place]] += updates[place]
        golden.add("scatter_add", [x, ids, updates], result)
    x, updates = numbers((2, 5, 3), "f32"), numbers((2, 2, 3), "f32")
    result = x.copy()
    for b, i, c in np.ndindex(along.shape):
        if inside[b, i, c]:
            result[b, along[b, i, c], c] += updates[b, i, c]
    golden.add("scatter_add_along_dim_1", [x, along, updates], result)

    x, update = numbers((4, 5), "f32"), -numbers((2, 3), "f32")
    for row, column in [(0, 0), (1, 2), (9, 9), (-3, 1)]:
        starts = [array(row, "s32"), array(column, "s32")]
        r, c = np.clip(row, 0, 2), np.clip(column, 0, 2)
        golden.add("dynamic_slice", [x] + starts, x[r:r + 2, c:c + 3])
        result = x.copy()
        result[r:r + 2, c:c + 3] = update
        golden.add("dynamic_update_slice", [x, update] + starts, result)
        golden.add("dynamic_index_dim_1", [x, array(column, "s64")], x[:, np.clip(column, 0, 4)])

    golden.add("one_hot", [ids], array(ids[..., None] == np.arange(4), "f32"))
    golden.add("one_hot_of_300_bf16", [array([255, 7], "u8")],
               array(np.array([[255], [7]]) == np.arange(300), "bf16"))
