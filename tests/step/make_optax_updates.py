#!/usr/bin/env python3
"""Makes golden/optax_updates.json: parameters after three updates by optax's optimizers, in f64 on the CPU.

Needs optax (pip install optax==0.2.6). Usage: make_optax_updates.py. Parameters and gradients are those of formula.py.
A stack of layers is given to optax as one matrix a layer: that is how our optimizers see it.
"""

import json
import pathlib
import sys

import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402
from optax import contrib  # noqa: E402

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "parity"))
import formula  # noqa: E402

STEPS, RATE, DECAY = 3, 0.01, 0.1
# path -> shape, how many of the first dimensions count layers, how many after them are rows
PARAMS = {
    "embedding.table": ((8, 4), 0, 1),
    "layers.attention.out.kernel": ((2, 2, 3, 4), 1, 2),
    "layers.mlp.up.kernel": ((2, 4, 6), 1, 1),
    "norm.scale": ((5,), 0, 1),
}


def as_matrices(path, value):
    """[(key, matrix or vector)] for optax"""
    shape, batch, rows = PARAMS[path]
    if len(shape) == 1:
        return [(path, value)]
    size = int(np.prod(shape[batch:batch + rows]))
    layers = value.reshape((-1, size, value.size // size // int(np.prod(shape[:batch]))))
    return [(f"{path}/{i}", layer) for i, layer in enumerate(layers)]


def tree(values):
    return {key: jnp.asarray(part, jnp.float64) for path in PARAMS for key, part in as_matrices(path, values[path])}


def mask(decayed):
    return lambda params: {key: decayed(key) for key in params}


def optimizers():
    decays = mask(lambda key: "norm" not in key)
    is_matrix = lambda key: key.startswith("layers.")  # what muon orthogonalizes
    chain, decay, rate = optax.chain, optax.add_decayed_weights(DECAY, decays), optax.scale_by_learning_rate(RATE)
    adamw = optax.adamw(RATE, b1=0.9, b2=0.95, eps=1e-8, weight_decay=DECAY, mask=decays)

    def muon(**options):
        rms = options.pop("rms", None)
        all_matrices = lambda updates: jax.tree.map(lambda _: contrib.MuonDimensionNumbers(0, 1), updates)
        steps = [contrib.scale_by_muon(eps=1e-8, weight_dimension_numbers=all_matrices, **options)]
        if rms:
            def rescale(updates, state, params=None):
                factor = lambda x: rms * np.sqrt(max(x.shape)) / np.sqrt(max(1, x.shape[1] / x.shape[0]))
                return {k: x if isinstance(x, optax.MaskedNode) else x * factor(x) for k, x in updates.items()}, state
            steps.append(optax.GradientTransformation(lambda params: optax.EmptyState(), rescale))
        matrices = chain(*steps, optax.add_decayed_weights(DECAY), rate)
        return optax.partition({"muon": matrices, "adamw": adamw},
                               lambda params: {k: "muon" if is_matrix(k) else "adamw" for k in params})

    return {
        "adamw": adamw,
        "lion": optax.lion(RATE, b1=0.9, b2=0.99, weight_decay=DECAY, mask=decays),
        "sgd": chain(optax.trace(0.9), decay, rate),
        "sgd_nesterov": chain(optax.trace(0.9, nesterov=True), decay, rate),
        "adafactor": optax.adafactor(RATE, min_dim_size_to_factor=4, decay_rate=0.8, weight_decay_rate=RATE * DECAY,
                                     weight_decay_mask=decays, multiply_by_parameter_scale=True),
        "adafactor_whole": optax.adafactor(RATE, min_dim_size_to_factor=128, decay_rate=0.8,
                                           weight_decay_rate=RATE * DECAY, weight_decay_mask=decays),
        "muon": muon(beta=0.95),
        "muon_plain": muon(beta=0.95, nesterov=False),
        "muon_rms": muon(beta=0.95, rms=0.2),
    }


def run(optimizer):
    values = {path: formula.weights(i, *shape) for i, (path, (shape, _, _)) in enumerate(PARAMS.items())}
    params = tree(values)
    state = optimizer.init(params)
    for step in range(STEPS):
        grads = {path: formula.weights(10 * (step + 1) + i, *shape) for i, (path, (shape, _, _)) in enumerate(PARAMS.items())}
        updates, state = optimizer.update(tree(grads), state, params)
        params = optax.apply_updates(params, updates)
    result = {}
    for path in PARAMS:
        parts = [np.asarray(v).ravel() for k, v in params.items() if k == path or k.startswith(path + "/")]
        result[path] = [round(float(x), 10) for x in np.concatenate(parts)]
    return result


def main():
    golden = {"optax": optax.__version__, "learning_rate": RATE, "weight_decay": DECAY, "steps": STEPS,
              "params": {name: run(optimizer) for name, optimizer in optimizers().items()}}
    (HERE / "golden").mkdir(exist_ok=True)
    (HERE / "golden" / "optax_updates.json").write_text(json.dumps(golden, indent=0) + "\n")


main()
