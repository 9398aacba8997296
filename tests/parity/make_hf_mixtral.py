#!/usr/bin/env python3
"""Makes golden/hf_mixtral_<case>.json: logits and the router's balance loss of Hugging Face's MixtralForCausalLM with weights by
formula.py, in f32 on the CPU.

Needs torch and transformers (pip install torch transformers). Usage: make_hf_mixtral.py
"""

import json
import pathlib

import numpy as np
import torch
import transformers

import formula
from make_hf_logits import COMMON, GAIN, LAYER, stack

CASES = {
    "two_of_eight": dict(COMMON, tied=False, experts=8, experts_per_token=2, length=24),
    "three_of_four": dict(COMMON, tied=True, experts=4, experts_per_token=3),
    # One layer and one row: what theirs and ours call balance loss is then the same number.
    "one_row": dict(COMMON, tied=False, experts=8, experts_per_token=2, layers=1, batch=1, length=40),
}


def expert_stack(stream, c, *dims):
    return formula.weights(stream, c["layers"], *dims) * GAIN


def fill(model, c):
    embed, mlp, experts = c["embed"], c["mlp"], c["experts"]
    router = expert_stack(12, c, embed, experts)
    gate, up = expert_stack(13, c, experts, embed, mlp), expert_stack(14, c, experts, embed, mlp)
    down = expert_stack(15, c, experts, mlp, embed)
    state = model.state_dict()
    for name, weight in state.items():
        layer = int(name.split(".")[2]) if ".layers." in name else 0
        if name == "model.embed_tokens.weight":
            value = formula.weights(0, *weight.shape) * GAIN
        elif name == "lm_head.weight":
            value = formula.weights(0, *weight.shape) if c["tied"] else formula.weights(8, *reversed(weight.shape)).T
            value = value * GAIN
        elif name == "model.norm.weight":
            value = formula.scales(11, *weight.shape)
        elif name.endswith("mlp.gate.weight"):
            value = router[layer].T
        elif name.endswith("experts.gate_up_proj"):
            value = np.concatenate([gate[layer], up[layer]], axis=2).transpose(0, 2, 1)
        elif name.endswith("experts.down_proj"):
            value = down[layer].transpose(0, 2, 1)
        else:
            value = stack(LAYER[name.split(".", 3)[3]], c["layers"], weight)[layer]
            value = value if weight.dim() == 1 else value.T
        assert value.shape == tuple(weight.shape), name
        weight.copy_(torch.from_numpy(value.copy()))


def run(c):
    config = transformers.MixtralConfig(
        vocab_size=c["vocabulary"], hidden_size=c["embed"], intermediate_size=c["mlp"], num_hidden_layers=c["layers"],
        num_attention_heads=c["heads"], num_key_value_heads=c["kv_heads"], head_dim=c["head_dim"],
        rope_parameters={"rope_type": "default", "rope_theta": c["theta"]}, rms_norm_eps=c["epsilon"],
        tie_word_embeddings=c["tied"], max_position_embeddings=64, num_local_experts=c["experts"],
        num_experts_per_tok=c["experts_per_token"], sliding_window=None, attn_implementation="eager",
        output_router_logits=True)
    model = transformers.MixtralForCausalLM(config).float().eval()
    with torch.no_grad():
        fill(model, c)
        tokens = torch.from_numpy(formula.tokens(100, c["vocabulary"], c["batch"], c["length"])).long()
        result = model(tokens)
        return result.logits, float(result.aux_loss)


def main():
    folder = pathlib.Path(__file__).resolve().parent / "golden"
    for case, c in CASES.items():
        logits, balance_loss = run(c)
        golden = {"made_by": f"tests/parity/make_hf_mixtral.py, transformers {transformers.__version__}, "
                             f"torch {torch.__version__}", **c, "balance_loss": balance_loss,
                  "logits": [float(f"{x:.9g}") for x in logits.flatten().tolist()]}
        path = folder / f"hf_mixtral_{case}.json"
        path.write_text(json.dumps(golden) + "\n")
        print(path, float(logits.min()), float(logits.max()), balance_loss)


if __name__ == "__main__":
    main()
