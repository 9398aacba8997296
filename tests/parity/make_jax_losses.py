#!/usr/bin/env python3
"""Makes golden/jax_losses_<size>.json: the losses of 20 AdamW steps of a Llama-style decoder in JAX, in f32 on the CPU.

Needs jax (pip install jax). Usage: make_jax_losses.py [small|full ...]. `full` is the model that bench_step measures.
"""

import json
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np

import formula

EPSILON, THETA, STEPS = 1e-6, 10000.0, 20
LEARNING_RATE, BETA1, BETA2, ADAM_EPSILON, DECAY = 1e-3, 0.9, 0.95, 1e-8, 0.1
SIZES = {
    "small": dict(layers=2, embed=64, heads=4, mlp=160, vocabulary=256, batch=2, length=32),
    "full": dict(layers=6, embed=512, heads=8, mlp=1536, vocabulary=8192, batch=8, length=256),
}


def initial_params(c):
    layers, embed, mlp, vocabulary = c["layers"], c["embed"], c["mlp"], c["vocabulary"]
    square = (layers, embed, embed)
    return {
        "embedding": formula.weights(0, vocabulary, embed),
        "query": formula.weights(1, *square),
        "key": formula.weights(2, *square),
        "value": formula.weights(3, *square),
        "out": formula.weights(4, *square),
        "gate": formula.weights(5, layers, embed, mlp),
        "up": formula.weights(6, layers, embed, mlp),
        "down": formula.weights(7, layers, mlp, embed),
        "attention_norm": np.ones((layers, embed), np.float32),
        "mlp_norm": np.ones((layers, embed), np.float32),
        "norm": np.ones((embed,), np.float32),
        "head": formula.weights(8, embed, vocabulary),
    }


def rms_norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + EPSILON) * scale


def rotate(x):
    """x: [batch, length, heads, width]; pairs are (i, i + width / 2)."""
    length, width = x.shape[1], x.shape[3]
    frequencies = 1.0 / THETA ** (jnp.arange(0, width, 2) / width)
    angles = (jnp.arange(length)[:, None] * frequencies)[None, :, None, :]
    first, second = jnp.split(x, 2, axis=-1)
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def attention(x, p, heads):
    batch, length, embed = x.shape
    width = embed // heads
    query, key, value = ((x @ p[name]).reshape(batch, length, heads, width) for name in ("query", "key", "value"))
    scores = jnp.einsum("bthc,bshc->bhts", rotate(query), rotate(key)) / jnp.sqrt(jnp.float32(width))
    visible = jnp.tril(jnp.ones((length, length), bool))
    probabilities = jax.nn.softmax(jnp.where(visible, scores, -1e30), axis=-1)
    return jnp.einsum("bhts,bshc->bthc", probabilities, value).reshape(batch, length, embed) @ p["out"]


def block(x, p, heads):
    x = x + attention(rms_norm(x, p["attention_norm"]), p, heads)
    h = rms_norm(x, p["mlp_norm"])
    return x + (jax.nn.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"]


def loss(params, tokens, targets, heads):
    stacked = {k: v for k, v in params.items() if k not in ("embedding", "norm", "head")}
    x = params["embedding"][tokens]
    x, _ = jax.lax.scan(lambda x, p: (block(x, p, heads), None), x, stacked)
    logits = rms_norm(x, params["norm"]) @ params["head"]
    picked = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - picked)


def update(state, tokens, targets, heads):
    params, mean, square, count = state
    value, grads = jax.value_and_grad(loss)(params, tokens, targets, heads)
    count = count + 1
    mean = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, mean, grads)
    square = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, square, grads)

    def step(p, m, v):
        direction = m / (1 - BETA1**count) / (jnp.sqrt(v / (1 - BETA2**count)) + ADAM_EPSILON)
        return p - LEARNING_RATE * (direction + DECAY * p)

    return (jax.tree.map(step, params, mean, square), mean, square, count), value


def run(c, nudge=0.0):
    """The losses; with a nudge, of a model whose last norm differs by that part: how far rounding alone carries JAX from JAX."""
    params = jax.tree.map(jnp.asarray, initial_params(c))
    params["norm"] = params["norm"] * jnp.float32(1 + nudge)
    zeros = jax.tree.map(jnp.zeros_like, params)
    state = (params, zeros, zeros, jnp.float32(0))
    shape = (c["batch"], c["length"])
    tokens = jnp.asarray(formula.tokens(100, c["vocabulary"], *shape))
    targets = jnp.asarray(formula.tokens(101, c["vocabulary"], *shape))
    jitted = jax.jit(update, static_argnums=3)
    losses = []
    for _ in range(STEPS):
        state, value = jitted(state, tokens, targets, c["heads"])
        losses.append(float(value))
    return losses


def main():
    folder = pathlib.Path(__file__).resolve().parent / "golden"
    for size in sys.argv[1:] or SIZES:
        golden = {"made_by": f"tests/parity/make_jax_losses.py, jax {jax.__version__}", **SIZES[size],
                  "losses": run(SIZES[size]), "losses_nudged": run(SIZES[size], 1.2e-7)}
        path = folder / f"jax_losses_{size}.json"
        path.write_text(json.dumps(golden, indent=1) + "\n")
        print(path, golden["losses"][0], golden["losses"][-1])


if __name__ == "__main__":
    main()
