"""Elementwise ops: computed in float64 from inputs of the dtype, then rounded to it."""

import math

import ml_dtypes
import numpy as np
from make_golden import array, is_float, rounded

INTEGERS = ["s4", "s8", "s16", "s32", "s64", "u4", "u8", "u16", "u32", "u64"]
SIGNED = ["s8", "s32", "s64"]
SOME_FLOATS = ["bf16", "f16", "f32", "f64"]
EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan]
# Away from where single ops lose accuracy, and with halves for rounding.
SPREAD = [-3.7, -2.5, -1.5, -1.0, -0.5, -0.3, 0.01, 0.5, 1.0, 1.5, 2.5, 3.2, 7.75]
POSITIVE = [0.01, 0.2, 0.5, 1.0, 1.5, 2.0, 3.2, 7.75, 40.0]

erf = np.vectorize(math.erf, otypes=[np.float64])


def logistic(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-x)), np.exp(x) / (1 + np.exp(x)))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def wide(x):
    return x.astype(np.float64)


def numpy_sign(x):
    return np.where(np.isnan(x) | (x == 0), x, np.sign(x))


# key: function, ordinary inputs, edge inputs, ulps allowed by dtype (default, and for f64)
UNARY = {
    "abs": (np.abs, SPREAD, EDGES, 0, 0),
    "neg": (np.negative, SPREAD, EDGES, 0, 0),
    "sign": (numpy_sign, SPREAD, EDGES, 0, 0),
    "floor": (np.floor, SPREAD, EDGES, 0, 0),
    "ceil": (np.ceil, SPREAD, EDGES, 0, 0),
    "round": (np.rint, SPREAD, EDGES, 0, 0),
    "exp": (np.exp, SPREAD, EDGES, 4, 4),
    "expm1": (np.expm1, SPREAD + [1e-3, -1e-3], EDGES, 4, 4),
    "log": (np.log, POSITIVE, EDGES + [-1.0], 4, 4),
    "log1p": (np.log1p, POSITIVE + [-0.5, 1e-3], EDGES + [-1.0, -2.0], 4, 4),
    "sqrt": (np.sqrt, POSITIVE, EDGES + [-1.0], 1, 1),
    "rsqrt": (lambda x: 1 / np.sqrt(x), POSITIVE, EDGES + [-1.0], 2, 2),
    "sin": (np.sin, SPREAD, EDGES, 4, 4),
    "cos": (np.cos, SPREAD, EDGES, 4, 4),
    "tanh": (np.tanh, SPREAD, EDGES, 4, 8),
    "logistic": (logistic, SPREAD, EDGES, 4, 4),
    "erf": (erf, SPREAD, EDGES, 4, 4),
    "relu": (lambda x: np.where(x <= 0, 0, x), SPREAD, EDGES, 0, 0),
    "square": (np.square, SPREAD, EDGES, 1, 1),
}
# Compositions round in between, each time to the dtype.
COMPOSED = {
    "silu": (lambda x: x * logistic(x), SPREAD, 8),
    "gelu": (lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))), [-0.5, -0.3, 0.01, 0.5, 1, 2.5], 8),
    "gelu_tanh": (gelu_tanh, [-0.5, -0.3, 0.01, 0.5, 1, 2.5], 8),
    "softplus": (softplus, SPREAD, 8),
}

BINARY = {
    "add": (np.add, 0),
    "subtract": (np.subtract, 0),
    "multiply": (np.multiply, 0),
    "divide": (np.divide, 1),
    "remainder": (np.fmod, 0),
    "maximum": (np.maximum, 0),
    "minimum": (np.minimum, 0),
}
COMPARE = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}
BITS = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor}


def unary_cases(golden):
    for op, (fn, values, edges, ulps, ulps_f64) in UNARY.items():
        for dtype in SOME_FLOATS:
            x = array(np.reshape(values, (1, -1)), dtype)
            allowed = ulps_f64 if dtype == "f64" else ulps
            golden.add(op, [x], rounded(fn(wide(x)), dtype), allowed)
            x = array(edges, dtype)
            golden.add(op, [x], rounded(fn(wide(x)), dtype), allowed)
        golden.add(op, [array(0.5, "f32")], rounded(fn(np.float64(0.5)), "f32"), ulps)
    for op, (fn, values, ulps) in COMPOSED.items():
        for dtype in SOME_FLOATS:
            x = array(values, dtype)
            golden.add(op, [x], rounded(fn(wide(x)), dtype), ulps)
    for dtype in SIGNED:
        x = array([-128, -7, -1, 0, 1, 5, 127], dtype)
        golden.add("neg", [x], -x)
        golden.add("abs", [x], np.abs(x))
        golden.add("sign", [x], np.sign(x))
    x = array([0, 1, 7, 255], "u8")
    golden.add("neg", [x], np.negative(x))
    for dtype in SOME_FLOATS:
        x = array(SPREAD + EDGES, dtype)
        golden.add("is_finite", [x], np.isfinite(wide(x)))
        golden.add("stop_gradient", [x], x)
    for dtype in ["f8e4m3fn", "f8e5m2"]:
        x = array([-2.5, -0.5, 0.0, 0.25, 1.0, 3.5, np.nan], dtype)
        golden.add("neg", [x], rounded(-wide(x), dtype))
        golden.add("exp", [x], rounded(np.exp(wide(x)), dtype), 1)


def bit_cases(golden):
    x = array([True, False], "bool")
    golden.add("bitwise_not", [x], ~x)
    golden.add("logical_not", [x], ~x)
    for dtype in ["s8", "s32", "s64", "u8", "u16", "u32", "u64"]:
        x = array([0, 1, 5, 100, 127], dtype)
        bits = x.dtype.itemsize * 8
        golden.add("bitwise_not", [x], ~x)
        golden.add("popcount", [x], array([bin(int(v)).count("1") for v in x], dtype))
        zeros = [bits - int(v).bit_length() for v in x]
        golden.add("count_leading_zeros", [x], array(zeros, dtype))
    for op, fn in BITS.items():
        for dtype in ["s8", "s32", "s64", "u8", "u32", "u64"]:
            a = array([[0b1100, 0b1010, 127]], dtype)
            b = array([[0b1010], [0b0110]], dtype)
            golden.add(op, [a, b], fn(a, b))
        a = array([True, True, False, False], "bool")
        b = array([True, False, True, False], "bool")
        golden.add(op, [a, b], fn(a, b))
        golden.add(op.replace("bitwise", "logical"), [a, b], fn(a, b))
    shift_cases(golden)


def shift_cases(golden):
    for dtype in ["s8", "s32", "s64", "u8", "u32", "u64"]:
        x = array([1, 5, 100, 127], dtype)
        if dtype.startswith("s"):
            x = np.concatenate([x, array([-1, -8, -100], dtype)])
        width = x.dtype.itemsize * 8
        unsigned = x.view(f"u{x.dtype.itemsize}")
        for by in [0, 1, 3, width - 1, width, width + 1]:
            b = np.full_like(x, by)
            left = [(int(v) << by) & (2**width - 1) for v in unsigned]
            right = [int(v) >> by for v in unsigned]
            signed = [int(v) >> by for v in unsigned.view(f"i{x.dtype.itemsize}")]
            same = lambda values: np.array(values, dtype=unsigned.dtype).view(x.dtype)
            golden.add("shift_left", [x, b], same(left))
            golden.add("shift_right_logical", [x, b], same(right))
            arithmetic = np.array(signed, dtype=f"i{x.dtype.itemsize}").view(x.dtype)
            golden.add("shift_right_arithmetic", [x, b], arithmetic)


def binary_cases(golden):
    shapes = [((2, 3), (2, 3)), ((2, 1, 3), (4, 1)), ((), (3,)), ((2, 3), ()), ((0, 3), (1,))]
    rng = np.random.default_rng(7)
    for op, (fn, ulps) in BINARY.items():
        for dtype in SOME_FLOATS:
            for sa, sb in shapes:
                a = array(rng.uniform(-4, 4, sa), dtype)
                b = array(rng.uniform(0.5, 3, sb), dtype)
                golden.add(op, [a, b], rounded(fn(wide(a), wide(b)), dtype), max(ulps, 0.5))
        for dtype in SOME_FLOATS:
            a = array(np.repeat(EDGES + [1.5, -2.0], 7), dtype)
            b = array(np.tile(EDGES + [1.5, -2.0], 7), dtype)
            if op in ("maximum", "minimum"):  # which zero of two wins is nobody's promise
                keep = ~((wide(a) == 0) & (wide(b) == 0))
                a, b = a[keep], b[keep]
            golden.add(op, [a, b], rounded(fn(wide(a), wide(b)), dtype), max(ulps, 0.5))
        for dtype in INTEGERS:
            low, high = (0, 7) if dtype.startswith("u") else (-8, 7)
            a = array(rng.integers(low, high + 1, (3, 4)), dtype)
            b = array(rng.integers(1, high + 1, (4,)), dtype)
            golden.add(op, [a, b], integer_result(op, a, b, dtype))
    for dtype in ["s32", "u32"]:  # integers wrap
        top = 2**31 - 1 if dtype == "s32" else 2**32 - 1
        a, b = array([top, top, top], dtype), array([1, 2, 3], dtype)
        with np.errstate(over="ignore"):
            golden.add("add", [a, b], a + b)
            golden.add("multiply", [a, b], a * b)
    for op, value in [("add_number", 1.5), ("number_minus", 2.0), ("number_over", 2.0)]:
        fn = {"add_number": lambda x: x + value, "number_minus": lambda x: value - x,
              "number_over": lambda x: value / x}[op]
        for dtype in SOME_FLOATS:
            x = array([0.5, 1.25, -3.0], dtype)
            golden.add(op, [x], rounded(fn(wide(x)), dtype), 1)


def integer_result(op, a, b, dtype):
    x, y = a.astype(object), np.broadcast_to(b, a.shape).astype(object)
    divide = lambda p, q: abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1)
    exact = {
        "add": lambda p, q: p + q,
        "subtract": lambda p, q: p - q,
        "multiply": lambda p, q: p * q,
        "divide": divide,
        "remainder": lambda p, q: p - q * divide(p, q),
        "maximum": max,
        "minimum": min,
    }[op]
    bits = int(dtype[1:])
    flat = [exact(int(p), int(q)) % 2**bits for p, q in zip(x.reshape(-1), y.reshape(-1))]
    if dtype.startswith("s"):
        flat = [v - 2**bits if v >= 2 ** (bits - 1) else v for v in flat]
    return array(np.array(flat, dtype=object).reshape(a.shape), dtype)


def power_cases(golden):
    for dtype in SOME_FLOATS:
        a = array([0.5, 1.5, 2.0, 3.0, -2.0, -1.5, 0.0, 0.0, 4.0], dtype)
        b = array([2.0, -1.5, 0.5, 3.0, 3.0, 2.0, 2.0, 0.0, -0.5], dtype)
        golden.add("pow", [a, b], rounded(wide(a) ** wide(b), dtype), 4)
        a = array([-2.0, np.nan, 1.0, 0.0, np.inf, -np.inf], dtype)
        b = array([0.5, 0.0, np.nan, -1.0, -1.0, 3.0], dtype)
        with np.errstate(all="ignore"):
            golden.add("pow", [a, b], rounded(wide(a) ** wide(b), dtype), 4)
        x = array([0.5, 2.0, 3.5], dtype)
        for key, p in [("pow_2", 2), ("pow_half", 0.5), ("pow_minus_half", -0.5),
                       ("pow_minus_1", -1), ("pow_3", 3)]:
            golden.add(key, [x], rounded(wide(x) ** p, dtype), 4)
        y = array([1.0, -1.0, 1.0, -1.0, 0.0, -0.0, 2.0, np.inf, np.nan], dtype)
        x = array([1.0, 1.0, -1.0, -1.0, -1.0, -1.0, 0.0, np.inf, 1.0], dtype)
        golden.add("atan2", [y, x], rounded(np.arctan2(wide(y), wide(x)), dtype), 4)
    a, b = array([2, -3, 5, 7], "s32"), array([5, 3, 0, 2], "s32")
    golden.add("pow", [a, b], a**b)


def compare_cases(golden):
    for op, fn in COMPARE.items():
        for dtype in SOME_FLOATS:
            a = array(np.repeat(EDGES + [1.5, -2.0], 7), dtype)
            b = array(np.tile(EDGES + [1.5, -2.0], 7), dtype)
            golden.add(op, [a, b], fn(wide(a), wide(b)))
        for dtype in INTEGERS:
            a, b = array([[0, 3, 7]], dtype), array([[3], [7]], dtype)
            golden.add(op, [a, b], fn(a.astype(np.int64), b.astype(np.int64)))
        a, b = array([-1, -1, 5], "s32"), array([0, -1, -9], "s32")
        golden.add(op, [a, b], fn(a, b))
        a, b = array([2**32 - 1, 1], "u32"), array([1, 2**32 - 1], "u32")
        golden.add(op, [a, b], fn(a, b))
        a, b = array([True, True, False, False], "bool"), array([True, False, True, False], "bool")
        golden.add(op, [a, b], fn(a, b))


def choice_cases(golden):
    c = array([[True], [False]], "bool")
    for dtype in SOME_FLOATS + INTEGERS + ["bool", "f8e4m3fn", "f8e5m2"]:
        a, b = array([0, 1, 1], dtype), array([[1, 0, 1]], dtype)
        golden.add("select", [c, a, b], np.where(c, a, b))
    x = array([1.0, np.nan, -2.0], "f32")
    golden.add("select_number", [array([True, False, False], "bool"), x],
               np.where([True, False, False], x, np.float32(-1)))
    for dtype in SOME_FLOATS:
        x = array([-2.0, -0.5, 0.25, 1.0, 3.0, np.inf, -np.inf, np.nan], dtype)
        low, high = array(-1.0, dtype), array(1.5, dtype)
        expected = rounded(np.minimum(np.maximum(wide(x), -1), 1.5), dtype)
        golden.add("clamp", [x, low, high], expected)
        golden.add("clamp_numbers", [x], expected)
    x = array([-9, 0, 9], "s32")
    golden.add("clamp", [x, array(-3, "s32"), array(4, "s32")], np.clip(x, -3, 4))


def convert_cases(golden):
    x = array([-7.5, -1.0, 0.0, 0.3, 1.0, 2.7, 100.25], "f32")
    for to in SOME_FLOATS + ["f8e4m3fn", "f8e5m2"]:
        golden.add(f"convert_to_{to}", [x], x.astype(array(0, to).dtype))
    special = array(EDGES, "f32")
    for to in SOME_FLOATS + ["f8e5m2"]:
        golden.add(f"convert_to_{to}", [special], special.astype(array(0, to).dtype))
    for to in ["s8", "s16", "s32", "s64"]:
        golden.add(f"convert_to_{to}", [x], np.trunc(x).astype(array(0, to).dtype))
    positive = array([0.0, 0.3, 1.0, 2.7, 100.25], "f32")
    for to in ["u8", "u16", "u32", "u64"]:
        golden.add(f"convert_to_{to}", [positive], np.trunc(positive).astype(array(0, to).dtype))
    small = array([0, 1, 5, 7], "s32")
    for to in INTEGERS + SOME_FLOATS + ["f8e4m3fn", "f8e5m2"]:
        golden.add(f"convert_to_{to}", [small], array(small, to))
    for source in INTEGERS + SOME_FLOATS:
        golden.add("convert_to_bool", [array([0, 1, 3], source)], array([False, True, True], "bool"))
        golden.add("convert_to_f32", [array([0, 1, 3], source)], array([0, 1, 3], "f32"))
    golden.add("convert_to_bool", [array([0.25, -0.0, np.nan], "f32")],
               array([True, False, True], "bool"))
    for to in ["s32", "u8", "f32", "bf16"]:
        golden.add(f"convert_to_{to}", [array([True, False], "bool")], array([1, 0], to))
    golden.add("convert_to_s8", [array([300, -300, 127], "s32")],
               array([300, -300, 127], "s32").astype(np.int8))
    ties = array([1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-8], "f32")  # halves go to the even one
    golden.add("convert_to_bf16", [ties], ties.astype(ml_dtypes.bfloat16))


def bitcast_cases(golden):
    x = array([[1.0, -2.5, np.inf]], "f32")
    golden.add("bitcast_to_u32", [x], x.view(np.uint32))
    golden.add("bitcast_to_f32", [x.view(np.uint32)], x)
    golden.add("bitcast_to_u8", [x], x.view(np.uint8).reshape(1, 3, 4))
    golden.add("bitcast_to_f32", [x.view(np.uint8).reshape(1, 3, 4)], x)
    golden.add("bitcast_to_u16", [array([1.0, -2.0], "bf16")], np.array([0x3F80, 0xC000], np.uint16))
    d = array([1.0, -3.25], "f64")
    golden.add("bitcast_to_u32", [d], d.view(np.uint32).reshape(2, 2))


def cases(golden):
    with np.errstate(all="ignore"):
        unary_cases(golden)
        bit_cases(golden)
        binary_cases(golden)
        power_cases(golden)
        compare_cases(golden)
        choice_cases(golden)
        convert_cases(golden)
        bitcast_cases(golden)
