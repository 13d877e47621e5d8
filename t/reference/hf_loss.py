#!/usr/bin/env python3
"""Print the mean loss of a Hugging Face model over windows of a token file.

usage: hf_loss.py FOLDER FILE CONTEXT

The loss is in float64.  The number of tokens follows, and how far from this
loss a float32 result may be: 4 times the furthest of RUNS models in float32,
one with the weights of FOLDER, the others with weights that differ by at most
one unit in the last place, plus that of the loss (doc/numerics.md).
"""
import sys

import numpy as np
import torch
from transformers import AutoModelForCausalLM

RUNS, FACTOR, EPS = 5, 4, 2.0 ** -23

folder, path, context = sys.argv[1], sys.argv[2], int(sys.argv[3])
ids = torch.tensor(np.fromfile(path, dtype=np.uint16).astype(np.int64))
starts = range(0, len(ids) - context, context)


@torch.no_grad()
def loss(dtype, moved=False):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype,
                                                 trust_remote_code=True)
    model.eval()
    if moved:
        for p in model.parameters():
            r = 2 * torch.rand(p.shape, dtype=torch.float64) - 1
            p.mul_(1 + EPS * r)
    total = 0
    for at in starts:
        x, y = ids[at:at + context], ids[at + 1:at + context + 1]
        logits = model(x[None]).logits[0].double()
        total += torch.nn.functional.cross_entropy(logits, y,
                                                   reduction="sum").item()
    return total / (len(starts) * context)


torch.manual_seed(0)
exact = loss(torch.float64)
far = max(abs(loss(torch.float32, run > 0) - exact) for run in range(RUNS))
print(f"{exact:.12g} {len(starts) * context} {FACTOR * far + EPS * exact:.3g}")
