"""Moving elements about: NumPy's functions of the same names, for a few dtypes."""

import numpy as np
from make_golden import array

DTYPES = ["bool", "s4", "s8", "s32", "u64", "f8e5m2", "bf16", "f32", "f64"]


def numbers(shape, dtype):
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    if dtype == "bool":
        return values % 3 == 0
    return array(values % 8, dtype)


def padded(x, value, dims):
    """Padding as XLA has it: low, high (negative takes away), interior."""
    for axis, (low, high, interior) in enumerate(dims):
        n = x.shape[axis]
        size = list(x.shape)
        size[axis] = max(n + (n - 1) * interior, 0)
        spread = np.full(size, value, x.dtype)
        index = [slice(None)] * x.ndim
        index[axis] = slice(None, None, interior + 1)
        spread[tuple(index)] = x
        edges = [(0, 0)] * x.ndim
        edges[axis] = (max(low, 0), max(high, 0))
        spread = np.pad(spread, edges, constant_values=value)
        index[axis] = slice(max(-low, 0), spread.shape[axis] - max(-high, 0))
        x = spread[tuple(index)]
    return x


def cases(golden):
    for dtype in DTYPES:
        x = numbers((2, 3, 4), dtype)
        golden.add("reshape_6_minus1", [x], x.reshape(6, -1))
        golden.add("reshape_flat", [x], x.reshape(-1))
        golden.add("transpose_201", [x], x.transpose(2, 0, 1))
        golden.add("transpose", [x], x.T)
        golden.add("swap_dims_0_minus1", [x], np.swapaxes(x, 0, -1))
        golden.add("expand_dims_minus1", [x], x[..., None])
        golden.add("expand_dims_1", [x], x[:, None])
        golden.add("slice_strided", [x], x[0:2, 1:3, 0:4:3])
        golden.add("slice_in_dim_from_end", [x], x[:, -2:, :])
        golden.add("slice_nothing", [x], x[:, 1:1, :])
        golden.add("reverse_0_2", [x], x[::-1, :, ::-1])
        golden.add("split_3", [x], [x[:, i:i + 1] for i in range(3)])
        golden.add("split_sizes", [x], [x[..., :1], x[..., 1:4], x[..., 4:]])
        y = numbers((2, 2, 4), dtype)
        golden.add("concatenate_1", [x, y, x], np.concatenate([x, y, x], 1))
        golden.add("stack_minus1", [x, x], np.stack([x, x], -1))
        golden.add("stack_0", [x, x], np.stack([x, x], 0))
        row = numbers((1, 4), dtype)
        golden.add("broadcast_to_2_3_4", [row], np.broadcast_to(row, (2, 3, 4)))
        golden.add("broadcast_to_2_3_4", [numbers((), dtype)],
                   np.broadcast_to(numbers((), dtype), (2, 3, 4)))
        column = numbers((3,), dtype)
        golden.add("broadcast_in_dim_1", [column], np.broadcast_to(column[None, :, None], (2, 3, 4)))
        thin = numbers((1, 3, 1), dtype)
        golden.add("squeeze_0_minus1", [thin], thin[0, :, 0])
        m = numbers((2, 3), dtype)
        value = array(1, dtype)
        golden.add("pad_edges", [m, value], padded(m, value, [(1, 0, 0), (0, 2, 0)]))
        golden.add("pad_interior", [m, value], padded(m, value, [(0, 1, 2), (1, 0, 1)]))
        golden.add("pad_negative", [m, value], padded(m, value, [(-1, 1, 0), (2, -1, 1)]))
        golden.add("pad_number", [m], padded(m, array(0, dtype), [(1, 1, 0), (0, 0, 0)]))
