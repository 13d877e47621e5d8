#!/usr/bin/env python3
"""torch_gpt.py - the training run of bench-cpu in PyTorch

A GPT-2 (pre-norm, learned positions, biases, tied head) with fused AdamW and
clipping at 1.0, as gtrain trains it with the settings of bench-cpu.  Prints one
line of JSON: wall milliseconds of each step after the first and their median
processor time, the seconds of the first step, and the peak of memory.
"""
import argparse
import json
import math
import resource
import statistics
import time

START = time.perf_counter()

ap = argparse.ArgumentParser()
for name, default in dict(layers=12, heads=12, width=768, vocab=50304,
                          context=1024, time=64, batch=4, steps=5,
                          threads=2).items():
    ap.add_argument("--" + name, type=int, default=default)
ap.add_argument("--compile", action="store_true")
ap.add_argument("--bf16", action="store_true", help="train with autocast")
ap.add_argument("--gelu", default="tanh", choices=["tanh", "none"])
a = ap.parse_args()

import torch                        # noqa: E402  its import is part of the start
from torch import nn                # noqa: E402
import torch.nn.functional as F     # noqa: E402

torch.set_num_threads(a.threads)
torch.manual_seed(1337)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2)
                   for t in self.qkv(self.norm1(x)).split(C, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(B, T, C))
        h = F.gelu(self.up(self.norm2(x)), approximate=a.gelu)
        return x + self.down(h)


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(a.vocab, a.width)
        self.pos = nn.Embedding(a.context, a.width)
        self.blocks = nn.ModuleList(Block(a.width, a.heads)
                                    for _ in range(a.layers))
        self.norm = nn.LayerNorm(a.width)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                deep = name.endswith(("out.weight", "down.weight"))
                nn.init.normal_(p, std=0.02 / (math.sqrt(2 * a.layers)
                                               if deep else 1))
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def forward(self, x, y):
        h = self.tok(x) + self.pos.weight[:x.shape[1]]
        for block in self.blocks:
            h = block(h)
        logits = F.linear(self.norm(h), self.tok.weight)
        return F.cross_entropy(logits.view(-1, a.vocab), y.view(-1))


model = GPT()
params = list(model.parameters())
optim = torch.optim.AdamW(
    [{"params": [p for p in params if p.dim() > 1], "weight_decay": 0.1},
     {"params": [p for p in params if p.dim() < 2], "weight_decay": 0.0}],
    lr=6e-4, betas=(0.9, 0.95), fused=True)
run = torch.compile(model) if a.compile else model
generator = torch.Generator().manual_seed(1)


def step():
    ids = torch.randint(0, min(a.vocab, 50257), (a.batch, a.time + 1),
                        generator=generator)
    with torch.autocast("cpu", torch.bfloat16, enabled=a.bf16):
        loss = run(ids[:, :-1].contiguous(), ids[:, 1:].contiguous())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(params, 1.0)
    optim.step()
    optim.zero_grad(set_to_none=True)
    return loss.item()


wall, cpu = [], []
for i in range(a.steps + 1):
    w, c = time.perf_counter(), time.process_time()
    step()
    wall.append((time.perf_counter() - w) * 1e3)
    cpu.append((time.process_time() - c) * 1e3)
    if i == 0:
        first = time.perf_counter() - START
print(json.dumps({
    "ms": wall[1:], "cpu_ms": statistics.median(cpu[1:]), "first_s": first,
    "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    "torch": torch.__version__}))
