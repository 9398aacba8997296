#!/usr/bin/env python3
"""Makes golden/hf_llama_<case>.json: logits of Hugging Face's LlamaForCausalLM, or, with a window, MistralForCausalLM,
with weights by formula.py, in f32 on the CPU.

Needs torch and transformers (pip install torch transformers). Usage: make_hf_logits.py [CASE ...]
"""

import json
import pathlib
import sys

import torch
import transformers

import formula

COMMON = dict(vocabulary=96, embed=32, mlp=80, layers=2, heads=4, kv_heads=2, head_dim=8, theta=500.0, epsilon=1e-5,
              batch=2, length=12)
CASES = {
    "untied": dict(COMMON, tied=False),
    "tied": dict(COMMON, tied=True),
    "wide_heads": dict(COMMON, tied=False, head_dim=16, kv_heads=1),
    "window": dict(COMMON, tied=False, sliding_window=5),
    "gelu": dict(COMMON, tied=False, activation="gelu"),
}

# What each parameter of Hugging Face is called here, with its stream of numbers: layer l of several takes the stream
# of the whole stack. Theirs are [out, in], the stacks here [layers, in, out].
LAYER = {
    "self_attn.q_proj.weight": 1,
    "self_attn.k_proj.weight": 2,
    "self_attn.v_proj.weight": 3,
    "self_attn.o_proj.weight": 4,
    "mlp.gate_proj.weight": 5,
    "mlp.up_proj.weight": 6,
    "mlp.down_proj.weight": 7,
    "input_layernorm.weight": 9,
    "post_attention_layernorm.weight": 10,
}
GAIN = 8  # makes the weights large enough that attention is far from uniform


def stack(stream, layers, weight):
    if weight.dim() == 1:
        return formula.scales(stream, layers, *weight.shape)
    return formula.weights(stream, layers, *reversed(weight.shape)) * GAIN


def fill(model, c):
    state = model.state_dict()
    for name, weight in state.items():
        if name == "model.embed_tokens.weight":
            value = formula.weights(0, *weight.shape) * GAIN
        elif name == "lm_head.weight":
            value = formula.weights(0, *weight.shape) * GAIN if c["tied"] else formula.weights(8, *reversed(weight.shape)).T * GAIN
        elif name == "model.norm.weight":
            value = formula.scales(11, *weight.shape)
        else:
            _, _, layer, rest = name.split(".", 3)
            value = stack(LAYER[rest], c["layers"], weight)[int(layer)]
            value = value if weight.dim() == 1 else value.T
        state[name].copy_(torch.from_numpy(value.copy()))


def logits(c):
    has_window = "sliding_window" in c
    make_config = transformers.MistralConfig if has_window else transformers.LlamaConfig
    more = dict(sliding_window=c["sliding_window"]) if has_window else {}
    activation = {"silu": "silu", "gelu": "gelu_pytorch_tanh"}[c.get("activation", "silu")]
    config = make_config(
        vocab_size=c["vocabulary"], hidden_size=c["embed"], intermediate_size=c["mlp"], num_hidden_layers=c["layers"],
        num_attention_heads=c["heads"], num_key_value_heads=c["kv_heads"], head_dim=c["head_dim"],
        rope_theta=c["theta"], rms_norm_eps=c["epsilon"], tie_word_embeddings=c["tied"],
        max_position_embeddings=64, attn_implementation="eager", hidden_act=activation, **more)
    make_model = transformers.MistralForCausalLM if has_window else transformers.LlamaForCausalLM
    model = make_model(config).float().eval()
    with torch.no_grad():
        fill(model, c)
        tokens = torch.from_numpy(formula.tokens(100, c["vocabulary"], c["batch"], c["length"])).long()
        return model(tokens).logits


def main():
    folder = pathlib.Path(__file__).resolve().parent / "golden"
    for case in sys.argv[1:] or CASES:
        c = CASES[case]
        result = logits(c)
        golden = {"made_by": f"tests/parity/make_hf_logits.py, transformers {transformers.__version__}, "
                             f"torch {torch.__version__}", **c,
                  "logits": [float(f"{x:.9g}") for x in result.flatten().tolist()]}
        path = folder / f"hf_llama_{case}.json"
        path.write_text(json.dumps(golden) + "\n")
        print(path, float(result.min()), float(result.max()))


if __name__ == "__main__":
    main()
