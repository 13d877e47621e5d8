#!/usr/bin/env python3
"""Print the mean loss of a Hugging Face model over windows of a token file.

usage: hf_loss.py FOLDER FILE CONTEXT
"""
import sys

import numpy as np
import torch
from transformers import AutoModelForCausalLM

folder, path, context = sys.argv[1], sys.argv[2], int(sys.argv[3])
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
model.eval()
ids = torch.tensor(np.fromfile(path, dtype=np.uint16).astype(np.int64))
total = count = 0
with torch.no_grad():
    for at in range(0, len(ids) - context, context):
        x, y = ids[at:at + context], ids[at + 1:at + context + 1]
        logits = model(x[None]).logits[0].double()
        total += torch.nn.functional.cross_entropy(logits, y,
                                                   reduction="sum").item()
        count += context
print(f"{total / count:.7f} {count}")
