#!/usr/bin/env python3
"""Makes golden/jax_random.json: draws of jax.random, to which ops/random.h claims to be equal.

Needs jax (pip install jax). Usage: make_jax_random.py
"""

import json
import pathlib

import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_threefry_partitionable", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

SEEDS = [0, 42, 0x123456789ABCDEF]


def numbers(x):
    """Integers and bool as they are, floats as the integers that have their bits."""
    x = np.asarray(x)
    if np.issubdtype(x.dtype, np.integer) or x.dtype == bool:
        return [int(v) for v in x.flatten()]
    return [int(v) for v in x.flatten().view(f"u{x.dtype.itemsize}")]


def draws(seed):
    key = jax.random.key(seed)
    data = jax.random.key_data
    logits = jnp.linspace(-2, 2, 7, dtype=jnp.float32) * jnp.ones((9, 1), jnp.float32)
    # Name: values. What ends in _bits must be equal; the others pass through log or erf_inv.
    result = {
        "key": data(key),
        "split": data(jax.random.split(key, 3)),
        "fold_in": data(jax.random.fold_in(key, 77)),
        "u8_bits": jax.random.bits(key, (5, 3), "uint8"),
        "u16_bits": jax.random.bits(key, (5, 3), "uint16"),
        "u32_bits": jax.random.bits(key, (5, 3), "uint32"),
        "u64_bits": jax.random.bits(key, (5, 3), "uint64"),
        "scalar_bits": jax.random.bits(key, (), "uint32"),
        "bernoulli": jax.random.bernoulli(key, np.float32(0.3), (4, 9)),
        "randint": jax.random.randint(key, (6, 5), -7, 1000, "int32"),
        "categorical": jax.random.categorical(key, logits),
    }
    for name, dtype in [("f32", jnp.float32), ("f64", jnp.float64), ("bf16", jnp.bfloat16), ("f16", jnp.float16)]:
        result[f"uniform_{name}"] = jax.random.uniform(key, (4, 6), dtype)
        result[f"uniform_range_{name}"] = jax.random.uniform(key, (4, 6), dtype, -0.5, 2.25)
    for name, dtype in [("f32", jnp.float32), ("f64", jnp.float64)]:
        result[f"normal_{name}"] = jax.random.normal(key, (8, 8), dtype)
        result[f"truncated_normal_{name}"] = jax.random.truncated_normal(key, -2, 2, (8, 8), dtype)
        result[f"gumbel_{name}"] = jax.random.gumbel(key, (8, 8), dtype)
    return {name: numbers(value) for name, value in result.items()}


def main():
    path = pathlib.Path(__file__).resolve().parent / "golden" / "jax_random.json"
    golden = {"made_by": f"tests/parity/make_jax_random.py, jax {jax.__version__}",
              "cases": [{"seed": seed, **draws(seed)} for seed in SEEDS]}
    path.write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
