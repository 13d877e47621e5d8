#!/usr/bin/env python3
"""gpu_torch.py - train a GPT-2 on random tokens with PyTorch, for bench/gpu.sh

usage: gpu_torch.py LAYERS HEADS WIDTH BATCH MICRO_STEPS STEPS eager|compile

Prints one line: milliseconds per step (median), tokens per second, peak GiB.
bf16 autocast over F32 weights, scaled_dot_product_attention, tanh GELU, tied
head, fused AdamW, the norm of the gradient clipped at 1.
"""
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

T, V = 1024, 50304


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.fc = nn.Linear(width, 4 * width)
        self.out = nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (
            p.view(b, t, self.heads, -1).transpose(1, 2)
            for p in self.qkv(self.ln1(x)).split(c, 2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        h = F.gelu(self.fc(self.ln2(x)), approximate="tanh")
        return x + self.out(h)


class Gpt(nn.Module):
    def __init__(self, layers, heads, width):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(V, width), nn.Embedding(T, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, 0.0, 0.02)

    def forward(self, x, y):
        h = self.wte(x) + self.wpe(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks:
            h = block(h)
        logits = F.linear(self.norm(h), self.wte.weight)
        return F.cross_entropy(logits.view(-1, V), y.view(-1))


def main():
    layers, heads, width, batch, micro, steps = map(int, sys.argv[1:7])
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    model = Gpt(layers, heads, width).cuda()
    run = torch.compile(model) if sys.argv[7] == "compile" else model
    optimizer = torch.optim.AdamW(
        model.parameters(), 6e-4, (0.9, 0.95), weight_decay=0.1, fused=True
    )
    tokens = torch.randint(0, 50257, (micro, batch, T + 1)).pin_memory()
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        for i in range(micro):
            t = tokens[i].cuda(non_blocking=True)
            with torch.autocast("cuda", torch.bfloat16):
                loss = run(t[:, :-1], t[:, 1:]) / micro
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    ms = sorted(times[steps // 3 :])[len(times[steps // 3 :]) // 2] * 1e3
    peak = torch.cuda.max_memory_reserved() / 2**30
    print(f"{ms:.1f} {micro * batch * T / ms * 1e3:.0f} {peak:.2f}")


main()
