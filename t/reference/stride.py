#!/usr/bin/env python3
"""Make t/reference/stride.txt: the losses of a text that is longer than the
context, by the sliding window of transformers' documentation ("Perplexity of
fixed-length models").

usage: stride.py FOLDER >stride.txt

FOLDER is a model of t/reference/biases.  The first N tokens are those that
rhythm prints.  A window of gtrain's context has one token more, since its
target is the next token; each token but the first is scored once.  The recipe
weights the mean of a window with one token too few; here the losses of all
tokens are summed.  Prints N, context, stride, scored tokens and loss.
"""
import sys

import torch
from transformers import AutoModelForCausalLM


def mean_loss(model, ids, length, stride):
    total = count = last_end = 0
    for begin in range(0, ids.size(1), stride):
        end = min(begin + length, ids.size(1))
        window = ids[:, begin:end]
        target = window.clone()
        target[:, :-(end - last_end)] = -100
        with torch.no_grad():
            logits = model(window).logits[:, :-1]
        target = target[:, 1:]
        total += torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), target.flatten(), reduction="sum").item()
        count += (target != -100).sum().item()
        last_end = end
        if end == ids.size(1):
            break
    return count, total / count


def main():
    model = AutoModelForCausalLM.from_pretrained(sys.argv[1],
                                                 dtype=torch.float64)
    for n in 50, 100, 309:
        ids = torch.tensor([[(i * i + i // 7) % 31 for i in range(n)]])
        for context in 8, 13:
            for stride in 1, 3, 5, 8:
                print(n, context, stride, "%d %.9f" % mean_loss(
                    model, ids, context + 1, stride))


if __name__ == "__main__":
    main()
