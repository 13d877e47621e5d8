#!/usr/bin/env python3
"""Compare the ids by a GGUF file of kind "llama" with those of tokenizers.

usage: gguf_tokens.py FILE TOKENIZER

Merges as llama.cpp does: of all neighbours that make a token, the first pair
whose token has the highest score.
"""
import random
import sys

import gguf
from tokenizers import Tokenizer

fields = gguf.GGUFReader(sys.argv[1]).fields
names = fields["tokenizer.ggml.tokens"].contents()
scores = fields["tokenizer.ggml.scores"].contents()
kinds = fields["tokenizer.ggml.token_type"].contents()
ids = {name: i for i, name in enumerate(names)}
theirs = Tokenizer.from_file(sys.argv[2])
assert fields["tokenizer.ggml.model"].contents() == "llama"
assert fields["tokenizer.ggml.add_space_prefix"].contents() is True
assert fields["tokenizer.ggml.add_bos_token"].contents() is False
assert kinds[ids["<unk>"]] == 2 and kinds[ids["</s>"]] == 3
assert all(kinds[ids[f"<0x{i:02X}>"]] == 6 for i in range(256))


def encode(text):
    parts = list("\u2581" + text.replace(" ", "\u2581"))
    while True:
        pairs = [(-scores[ids[a + b]], i)
                 for i, (a, b) in enumerate(zip(parts, parts[1:]))
                 if a + b in ids]
        if not pairs:
            break
        _, i = min(pairs)
        parts[i:i + 2] = ["".join(parts[i:i + 2])]
    out = []
    for part in parts:
        out += [ids[part]] if part in ids else [
            ids[f"<0x{b:02X}>"] for b in part.encode()]
    return out


rng = random.Random(1)
for _ in range(2000):
    text = "".join(rng.choice(["the", " of", " ", "wor", "d", "fr", "om", "a",
                               "\u00fc", "\U0001F600", "wi", "th", "th", "at"])
                   for _ in range(rng.randint(1, 12)))
    want = theirs.encode(text, add_special_tokens=False).ids
    assert encode(text) == want, (text, encode(text), want)
print("same ids")
