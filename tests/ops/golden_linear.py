"""Products: of small whole numbers, which every float format holds, so that results are exact."""

import numpy as np
from make_golden import array, rounded

EINSUMS = {  # key: equation, shapes of the operands
    "einsum_project": ("btd,df->btf", [(2, 3, 4), (4, 5)]),
    "einsum_operands_change_places": ("df,btd->btf", [(4, 5), (2, 3, 4)]),
    "einsum_scores": ("bthd,bshd->bhts", [(2, 3, 2, 4), (2, 5, 2, 4)]),
    "einsum_values": ("bhts,bshd->bthd", [(2, 2, 3, 5), (2, 5, 2, 4)]),
    "einsum_transpose": ("ijk->kij", [(2, 3, 4)]),
    "einsum_sum": ("ij->", [(2, 3)]),
    "einsum_trace": ("ii->", [(3, 3)]),
    "einsum_diagonal": ("iji->ji", [(3, 2, 3)]),
    "einsum_outer": ("i,j->ij", [(2,), (3,)]),
    "einsum_elementwise": ("ij,ij->ij", [(2, 3), (2, 3)]),
    "einsum_sum_of_one": ("ijx,jk->ik", [(2, 3, 2), (3, 4)]),
    "einsum_three": ("ij,jk,kl->li", [(2, 3), (3, 4), (4, 2)]),
    "einsum_four": ("ab,bc,cd,a->d", [(2, 3), (3, 2), (2, 4), (2,)]),
    "einsum_ellipsis": ("...ij,...jk->...ik", [(2, 1, 2, 3), (4, 3, 2)]),
    "einsum_scalar": (",ij->ij", [(), (2, 3)]),
}
MATMULS = [
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((2, 2, 3), (3, 4)),
    ((2, 2, 3), (2, 3, 4)),
    ((2, 3), (2, 3, 4)),
    ((3,), (2, 3, 4)),
    ((2, 1, 2, 3), (3, 3, 2)),
    ((1, 2, 3), (1, 3, 2)),
    ((2, 0), (0, 3)),
]
DTYPES = ["f64", "f32", "bf16", "f16", "s32"]


def whole(shape, dtype, seed):
    return array(np.random.default_rng(seed).integers(-3, 4, shape), dtype)


def wide(x):
    return x.astype(np.float64)


def cases(golden):
    for i, (x_shape, w_shape) in enumerate(MATMULS):
        for dtype in DTYPES:
            x, w = whole(x_shape, dtype, i), whole(w_shape, dtype, i + 100)
            golden.add("matmul", [x, w], rounded(np.matmul(wide(x), wide(w)), dtype))
    for i, (key, (equation, shapes)) in enumerate(EINSUMS.items()):
        for dtype in ["f32", "bf16"]:
            operands = [whole(s, dtype, 10 * i + j) for j, s in enumerate(shapes)]
            result = np.einsum(equation, *[wide(x) for x in operands])
            golden.add(key, operands, rounded(result, dtype))
    # Batch dims crossed, a contracted dim in the middle.
    lhs, rhs = whole((2, 3, 4, 2), "f32", 1), whole((4, 5, 2, 2), "f32", 2)
    result = np.einsum("pcqr,qfrp->rpcf", wide(lhs), wide(rhs))
    golden.add("dot_general", [lhs, rhs], rounded(result, "f32"))
    # Sums that bf16 does not hold: the f32 result is exact.
    x, w = whole((2, 300), "bf16", 3), whole((300, 2), "bf16", 4)
    golden.add("matmul_to_f32", [x, w], rounded(wide(x) @ wide(w), "f32"))
