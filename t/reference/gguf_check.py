#!/usr/bin/env python3
"""Compare a GGUF file with the Hugging Face export of the same model.

usage: gguf_check.py FILE FOLDER [STEPS]

With STEPS, numbers may differ by 1 / STEPS of the largest in their tensor.
"""
import sys

import gguf
import numpy as np
from safetensors.numpy import load_file

reader = gguf.GGUFReader(sys.argv[1])
theirs = load_file(sys.argv[2] + "/model.safetensors")
fields = {k: v for k, v in reader.fields.items()}
arch = fields["general.architecture"].contents()
heads = int(fields[arch + ".attention.head_count"].contents())
kv = fields.get(arch + ".attention.head_count_kv")
kv = int(kv.contents()) if kv else heads
names = gguf.get_tensor_name_map(gguf.MODEL_ARCH[arch.upper()], 64)
vocab = len(fields["tokenizer.ggml.tokens"].data)
steps = float(sys.argv[3]) if len(sys.argv) > 3 else 0
types = set()
found = 0
for name, want in theirs.items():
    base, _, kind = name.rpartition(".")
    ours = names.get_name(base)
    assert ours, f"llama.cpp does not know {name}"
    got = [t for t in reader.tensors if t.name == f"{ours}.{kind}"]
    assert got, f"no {ours}.{kind} for {name}"
    types.add(got[0].tensor_type.name)
    got = gguf.quants.dequantize(got[0].data, got[0].tensor_type)
    if arch == "gpt2" and want.ndim == 2 and "h." in name:
        want = want.T
    if arch == "llama" and ("q_proj" in name or "k_proj" in name):
        n = heads if "q_proj" in name else kv   # as their converter permutes
        want = want.reshape(n, 2, want.shape[0] // n // 2, *want.shape[1:])
        want = want.swapaxes(1, 2).reshape(got.shape)
    off = np.abs(want).max() / steps if steps else 0
    assert got.shape == want.shape, name
    assert np.abs(got - want).max() <= off, name
    found += 1
assert found == len(reader.tensors), "more tensors than there should be"
assert vocab == theirs[next(k for k in theirs if "wte" in k or
                            "embed_tokens" in k)].shape[0]
print(arch, found, vocab, *sorted(types))
