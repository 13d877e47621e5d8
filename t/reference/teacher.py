#!/usr/bin/env python3
"""Make t/reference/teacher.txt: the loss with a teacher, by PyTorch.

usage: teacher.py > teacher.txt

A line has N, C, V, K, the cap and the weight of a case, the sum of the losses,
and of the gradients of x and w the norm and the product with a fixed vector,
all in float64.  The loss is (1 - weight) times F.cross_entropy plus weight times
F.kl_div from the K ids of a teacher, renormalised, to the student.  Numbers are
a hash of their place, the same in t/unit/teacher.c.
"""
import numpy as np
import torch
import torch.nn.functional as F

CASES = [(5, 7, 31, 4, 0, 0.5), (9, 16, 64, 8, 0.4, 0.25), (3, 5, 40, 1, 0, 1),
         (6, 12, 100, 64, 0, 0.9), (4, 8, 33, 33, 0.7, 1)]


def hashed(n, salt):
    """n numbers in [-0.5, 0.5): integers mixed as in t/unit/model.c"""
    x = np.arange(n, dtype=np.uint64) + np.uint64(salt) * np.uint64(1000003)
    x = (x * np.uint64(2654435761)) & np.uint64(0xffffffff)
    x ^= x >> np.uint64(15)
    x = (x * np.uint64(2246822519)) & np.uint64(0xffffffff)
    x ^= x >> np.uint64(13)
    return torch.from_numpy(x.astype(np.float64) / 4294967296.0 - 0.5)


def summary(grad, salt):
    flat = grad.reshape(-1)
    return flat.norm().item(), (flat * hashed(len(flat), salt)).sum().item()


for N, C, V, K, cap, weight in CASES:
    x = hashed(N * C, 1).reshape(N, C).requires_grad_()
    w = hashed(V * C, 2).reshape(V, C).requires_grad_()
    target = torch.arange(N) * 7 % V
    ids = (torch.arange(N)[:, None] + 3 * torch.arange(K)) % V
    units = torch.floor((hashed(N * K, 3).reshape(N, K) + 0.5) * 4000)
    teacher = torch.softmax(-units / 1024, 1)
    logits = x @ w.T
    if cap:
        logits = cap * torch.tanh(logits / cap)
    chosen = F.log_softmax(logits, 1).gather(1, ids)
    loss = ((1 - weight) * F.cross_entropy(logits, target, reduction="sum") +
            weight * F.kl_div(chosen, teacher, reduction="sum"))
    loss.backward()
    print(N, C, V, K, cap, weight, *(repr(v) for v in (
        loss.item(), *summary(x.grad, 4), *summary(w.grad, 5))))
