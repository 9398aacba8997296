"""Constants, fills and counters. The functions have no inputs; the keys say what they make."""

import numpy as np
from make_golden import DTYPES, array

INTEGERS = ["s4", "s8", "s16", "s32", "s64", "u4", "u8", "u16", "u32", "u64"]
FLOATS = ["f8e4m3fn", "f8e5m2", "bf16", "f16", "f32", "f64"]


def cases(golden):
    for dtype in DTYPES:
        one = array(1, dtype)
        golden.add(f"full_{dtype}", [], np.broadcast_to(one, (2, 3)))
        golden.add(f"scalar_{dtype}", [], one)
        golden.add(f"constant_{dtype}", [], array([[0, 1, 1], [1, 0, 0]], dtype))
        golden.add("like", [array([[1, 0]], dtype)],
                   [array([[0, 0]], dtype), array([[1, 1]], dtype), array(1, dtype)])
    for dtype in INTEGERS + FLOATS:
        rows, columns = np.indices((2, 3))
        golden.add(f"iota_{dtype}", [], [array(rows, dtype), array(columns, dtype)])
    golden.add("full_special", [], [array(v, "f32") for v in (np.inf, -np.inf, np.nan, 0.1, -0.0)]
               + [array(v, "bf16") for v in (np.inf, np.nan, 0.1)] + [array(np.nan, "f8e4m3fn")]
               + [array(0.1, "f64"), array(-2.5e-300, "f64")])
    golden.add("large_f32", [], array(np.arange(200).reshape(2, 100) / 7, "f32"))
    golden.add("large_bool", [], np.arange(100) % 3 == 0)
    golden.add("large_s4", [], array(np.arange(100) % 16 - 8, "s4"))
    golden.add("extremes_64", [], [np.array([-2**63, 2**63 - 1], np.int64),
                                   np.array([0, 2**64 - 1], np.uint64)])
    golden.add("empty", [], [array(np.zeros((0, 3)), "f32"), array(np.zeros((2, 0)), "s32")])
