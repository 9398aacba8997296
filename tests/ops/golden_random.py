"""Random numbers: Random123's published vectors, and SciPy's erfinv.

Needs scipy besides NumPy.
"""

import numpy as np
import scipy.special
from make_golden import array, rounded

# From kat_vectors of Random123 1.09, "threefry2x32 20": counter, key, result.
KNOWN_ANSWERS = [
    ([0, 0], [0, 0], [0x6B200159, 0x99BA4EFE]),
    ([0xFFFFFFFF, 0xFFFFFFFF], [0xFFFFFFFF, 0xFFFFFFFF], [0x1CB996FC, 0xBB002BE7]),
    ([0x243F6A88, 0x85A308D3], [0x13198A2E, 0x03707344], [0xC4923A9C, 0x483DF7A0]),
]


def cases(golden):
    counters, keys, results = [np.array(v).T for v in zip(*KNOWN_ANSWERS)]
    golden.add("threefry2x32", [array(v, "u32") for v in (*keys, *counters)],
               [array(v, "u32") for v in results])
    central = np.concatenate([np.linspace(-0.999, 0.999, 41), [1e-30, 0.0, 1.0, -1.0, np.nan]])
    tail = 1 - 2.0 ** -np.arange(10, 24)
    for dtype, x, ulps in [("f32", central, 6), ("f32", tail, 64), ("f64", central, 100), ("f64", tail, 1e5)]:
        x = array(x, dtype)
        golden.add("erf_inv", [x], rounded(scipy.special.erfinv(x.astype(np.float64)), dtype), ulps)
