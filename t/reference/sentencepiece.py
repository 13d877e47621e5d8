#!/usr/bin/env python3
"""Make sentencepiece.json: small tokenizers, texts and their ids.

usage: sentencepiece.py > sentencepiece.json

Each line has the name and the tokenizer.json of a tokenizer, and rows of a
text, its ids, its ids with special tokens, and the text of the former, all by
Hugging Face's tokenizers.  The tokens of bytes, from id 3 on, are left out of
the vocabularies.
"""
import importlib.util
import json
import os
import random

here = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location(
    "peers", os.path.join(here, "..", "peers", "sentencepiece.py"))
peers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(peers)
peers.SIZE = 60
rng = random.Random(7)
forms = peers.make_forms(rng)
for name in ("Llama 2, added tokens", "Mistral, added tokens",
             "Llama 2 with merges over spaces", "Gemma, added tokens",
             "unknown characters, each", "whole pieces"):
    form = forms[name]
    tok = peers.Tokenizer.from_str(json.dumps(form))
    rows = []
    for text in [t for t in peers.make_texts(rng, 24) if len(t) < 120]:
        ids = []
        for special in (False, True):
            tok.encode_special_tokens = not special
            ids.append(tok.encode(text, add_special_tokens=False).ids)
        rows.append([text, *ids, tok.decode(ids[0], skip_special_tokens=False)])
    form["model"]["vocab"] = {name: i for name, i in
                              form["model"]["vocab"].items()
                              if name not in peers.BYTES}
    print(json.dumps({"name": name, "tokenizer": form, "rows": rows},
                     separators=(",", ":")))
