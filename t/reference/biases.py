#!/usr/bin/env python3
"""Make t/reference/biases/: small Hugging Face models with some of the biases,
or with scaled rotary angles, and what transformers and PyTorch compute when they are trained further.

usage: biases.py FOLDER

For each model its folder, with weights in bf16, and in the file NAME.txt the
loss and the gradient norm of STEPS steps of AdamW, in float64.  Windows are
BATCH a step, in order, from tokens (i * i + i / 7) % 31, as rhythm prints them.
"""
import math
import pathlib
import sys

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

CONTEXT, BATCH, STEPS = 8, 4, 10
SIZES = dict(vocab_size=31, hidden_size=8, intermediate_size=12,
             num_hidden_layers=2, num_attention_heads=2,
             num_key_value_heads=1, max_position_embeddings=CONTEXT,
             tie_word_embeddings=True, bos_token_id=0, eos_token_id=0)
MODELS = {
    "qwen2": dict(model_type="qwen2"),
    "attention": dict(model_type="llama", attention_bias=True),
    "mlp": dict(model_type="llama", mlp_bias=True),
    "qwen3": dict(model_type="qwen3", attention_bias=True, head_dim=4),
    "wide": dict(model_type="qwen3", head_dim=6),
    "llama3": dict(model_type="llama", head_dim=8, rope_parameters=dict(
        rope_type="llama3", rope_theta=100.0, factor=4.0, low_freq_factor=1.0,
        high_freq_factor=4.0, original_max_position_embeddings=32)),
    "yarn": dict(model_type="qwen2", head_dim=8, rope_parameters=dict(
        rope_type="yarn", rope_theta=100.0, factor=2.0,
        original_max_position_embeddings=4)),
    "smollm3": dict(model_type="smollm3", pad_token_id=None,
                    no_rope_layer_interval=2, num_hidden_layers=3),
}


def windows(step):
    ids = [(i * i + i // 7) % 31 for i in range(1000)]
    at = [(step * BATCH + b) * CONTEXT for b in range(BATCH)]
    take = torch.tensor([ids[a:a + CONTEXT + 1] for a in at])
    return take[:, :-1], take[:, 1:]


def make(name, change, folder):
    sizes = {**SIZES, **change}
    config = AutoConfig.for_model(**sizes)
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for key, p in model.named_parameters():
            p.copy_(torch.randn_like(p) * 0.3 + (".norm" in key or
                                                 "norm." in key))
    model.to(torch.bfloat16).save_pretrained(folder / name)
    (folder / name / "generation_config.json").unlink(missing_ok=True)
    # not model.to(), which leaves the angles in bf16
    model = AutoModelForCausalLM.from_pretrained(folder / name,
                                                 dtype=torch.float64)
    params = list(model.parameters())
    opt = torch.optim.AdamW(
        [{"params": [p for p in params if p.dim() > 1], "weight_decay": 0.1},
         {"params": [p for p in params if p.dim() < 2], "weight_decay": 0}],
        lr=3e-3, betas=(0.9, 0.95), eps=1e-8)
    with open(folder / (name + ".txt"), "w") as out:
        for step in range(STEPS):
            x, y = windows(step)
            opt.zero_grad()
            logits = model(x).logits
            loss = torch.nn.functional.cross_entropy(
                logits.flatten(0, 1).double(), y.flatten())
            loss.backward()
            norm = math.sqrt(sum((p.grad ** 2).sum().item() for p in params))
            for p in params:
                p.grad.mul_(min(1.0, 1.0 / norm))
            opt.step()
            print(f"{loss.item():.9e} {norm:.9e}", file=out)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    print("PyTorch", torch.__version__, "transformers",
          transformers.__version__)
    for name, change in MODELS.items():
        make(name, change, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
