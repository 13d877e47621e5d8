#!/usr/bin/env python3
"""Tokenizers as SentencePiece makes them, beside Hugging Face's tokenizers.

usage: sentencepiece.py GDATA COUNT       (by t9021-sentencepiece.t)

Prints TAP.  Trains small tokenizers with the rules of Llama 2, Mistral, Gemma
and others, and compares ids and text for COUNT random texts with each.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

from tokenizers import (Tokenizer, decoders, models, normalizers,
                        pre_tokenizers, trainers)

MARK = "\u2581"
BYTES = [f"<0x{i:02X}>" for i in range(256)]
WORDS = ("the of and to in a is that for it was on as with be by at from 's "
         "don't we'll naïve Straße 東京 привет мир 漢字 1999 3.14 x=y; (a) "
         "http://a.b/c \n \n\n \t  ... --- 🎉 ﬁ é e\u0301 "
         "<s> </s> <unk> <0x0A> <mask> [X] wordy tok ").split(" ")
SIZE = 600  # tokens besides those of bytes
count = 0


def ok(good, what):
    global count
    count += 1
    print(("ok" if good else "not ok"), count, "-", what, flush=True)


def letter(rng):
    kind = rng.random()
    if kind < 0.5:
        return chr(rng.randint(0x20, 0x7E))
    if kind < 0.8:
        return rng.choice(" \n\t\u2581\u00a0\u3000éñ²½漢字한اthe of")
    while True:
        c = rng.randint(0x80, 0x2FFFF if kind < 0.97 else 0x10FFFF)
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def make_texts(rng, n):
    texts = []
    for i in range(n):
        if i % 2:
            text = "".join(letter(rng) for _ in range(rng.randint(0, 40)))
        else:
            text = rng.choice([" ", "", "  ", MARK]).join(
                rng.choice(WORDS) for _ in range(rng.randint(0, 15)))
        texts.append(text)
    return texts + ["x" * 3000, " " * 2000, "ab" * 2000, "漢" * 1000,
                    "\U0001F600" * 500, "the " * 1000, MARK * 100]


def corpus(rng):
    common = [w for w in WORDS if w.isascii() and w.isalpha()] + ["é", "мир"]
    return [" ".join(rng.choice(common) for _ in range(30)) for _ in range(300)]


def learn(docs, normalizer, pre_tokenizer, fallback=True):
    """The file of a tokenizer, trained with these rules."""
    first = ["<unk>", "<s>", "</s>"] + (BYTES if fallback else [])
    tok = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True,
                               byte_fallback=fallback))
    if normalizer:
        tok.normalizer = normalizer
    if pre_tokenizer:
        tok.pre_tokenizer = pre_tokenizer
    tok.train_from_iterator(docs, trainers.BpeTrainer(
        vocab_size=len(first) + SIZE, special_tokens=first,
        show_progress=False, initial_alphabet=[MARK], max_token_length=16))
    tok.decoder = decoders.Sequence([
        decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse()])
    form = json.loads(tok.to_str())
    form["added_tokens"] = [a for a in form["added_tokens"]
                            if a["content"] not in BYTES]
    return form


def all_pairs(form):
    """Every pair that makes a token, as converters from SentencePiece write."""
    vocab = form["model"]["vocab"]
    made = list(dict.fromkeys("".join(m) for m in form["model"]["merges"]))
    merges = []
    for name in made:
        pairs = [(name[:i], name[i:]) for i in range(1, len(name))
                 if name[:i] in vocab and name[i:] in vocab]
        merges += sorted(pairs, key=lambda p: (vocab[p[0]], vocab[p[1]]))
    model = {**form["model"], "merges": [list(m) for m in merges]}
    return {**form, "model": model}


def strip(form):
    """A decoder that takes the first space away."""
    chain = form["decoder"]["decoders"] + [
        {"type": "Strip", "content": " ", "start": 1, "stop": 0}]
    return {**form, "decoder": {"type": "Sequence", "decoders": chain}}


def model(form, **how):
    return {**form, "model": {**form["model"], **how}}


def added(form, *tokens):
    """With more added tokens: (content, flags that are true)."""
    vocab = dict(form["model"]["vocab"])
    more = [{"id": vocab.setdefault(content, len(vocab)),
             "content": content, "single_word": "word" in flags,
             "lstrip": "left" in flags, "rstrip": "right" in flags,
             "normalized": "normalized" in flags,
             "special": "special" in flags} for content, flags in tokens]
    return {**form, "added_tokens": form["added_tokens"] + more}


def make_forms(rng):
    docs = corpus(rng)
    replace = normalizers.Replace(" ", MARK)
    llama = normalizers.Sequence([normalizers.Prepend(MARK), replace])

    def metaspace(scheme, split):
        return pre_tokenizers.Metaspace(MARK, scheme, split)

    words = learn(docs, None, metaspace("always", True))
    rules = {"normalizer": json.loads(learn_rules(llama)),
             "pre_tokenizer": None}
    forms = {
        "Llama 2": strip(all_pairs({**words, **rules})),
        "Llama 2 with merges over spaces": strip(learn(docs, llama, None)),
        "Mistral": strip(all_pairs(
            {**words, "pre_tokenizer": json.loads(
                metaspace("first", False).__getstate__())})),
        "Metaspace that divides": strip(words),
        "Metaspace without a first space": learn(
            docs, None, metaspace("never", True)),
        "Gemma": learn(docs, replace, pre_tokenizers.Split(
            " ", "merged_with_previous")),
        "unknown characters, joined": strip(learn(docs, llama, None, False)),
        "Llama 2 with NFC": strip(learn(
            docs, normalizers.Sequence([normalizers.NFC(), llama]), None)),
    }
    forms["unknown characters, each"] = model(
        forms["unknown characters, joined"], fuse_unk=False)
    forms["whole pieces"] = model(forms["Metaspace that divides"],
                                  ignore_merges=True)
    forms["whole texts"] = model(forms["Llama 2"], ignore_merges=True)
    many = (("<mask>", "special left"), ("tok", "word"), ("[X]", "right"),
            (MARK * 2, ""), ("wordy", "normalized"), ("\n\n", ""),
            ("é", "word"), ("of it", "special normalized right"),
            ("2\u2581", "left right"), ("<0x0A>", ""))
    for name in ("Llama 2", "Mistral", "Gemma", "Llama 2 with NFC",
                 "unknown characters, joined"):
        usable = [a for a in many if a[0] not in BYTES
                  or forms[name]["model"]["byte_fallback"]]
        forms[name + ", added tokens"] = added(forms[name], *usable)
    return forms


def learn_rules(normalizer):
    tok = Tokenizer(models.BPE())
    tok.normalizer = normalizer
    return json.dumps(json.loads(tok.to_str())["normalizer"])


def run(gdata, *args):
    done = subprocess.run([gdata, *args], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode:
        sys.stderr.write(done.stderr.decode())
    return done


def encode(gdata, folder, path, texts, *options):
    """The ids of each text."""
    docs = os.path.join(folder, "docs.jsonl")
    with open(docs, "w", encoding="utf-8") as f:
        for text in texts:
            f.write(json.dumps({"text": text}) + "\n")
    out = os.path.join(folder, "ids")
    done = run(gdata, "encode", "-q", "-T", path, "--eot", "last", "-o", out,
               "--format", "npy", *options, docs)
    if done.returncode:
        return None
    with open(out + "_000000.npy", "rb") as f:
        data = f.read()[128:]
    return [int.from_bytes(data[i:i + 2], "little")
            for i in range(0, len(data), 2)]


def same(name, ours, theirs, texts, eot):
    want = [i for ids in theirs for i in (*ids, eot)]
    if ours != want:
        at = 0
        for text, ids in zip(texts, theirs):
            part = (ours or [])[at:at + len(ids) + 1]
            if part != [*ids, eot]:
                print("#", name, ascii(text)[:300], "\n# ours", part[:60],
                      "\n# want", ids[:60])
                break
            at += len(ids) + 1
    return ours == want


def check(gdata, folder, name, form, texts):
    path = os.path.join(folder, "tokenizer.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(form, f)
    theirs = Tokenizer.from_file(path)
    eot = theirs.token_to_id("</s>")
    theirs.encode_special_tokens = True
    plain = [theirs.encode(t, add_special_tokens=False).ids for t in texts]
    ok(same(name, encode(gdata, folder, path, texts), plain, texts, eot),
       f"{name}: Hugging Face gives our ids")
    theirs.encode_special_tokens = False
    special = [theirs.encode(t, add_special_tokens=False).ids for t in texts]
    ok(same(name, encode(gdata, folder, path, texts, "--special"), special,
            texts, eot),
       f"{name}: Hugging Face gives our ids with special tokens")
    again = os.path.join(folder, "again")
    run(gdata, "vocab", path, "-o", again)
    written = Tokenizer.from_file(os.path.join(again, "tokenizer.json"))
    ok([written.encode(t, add_special_tokens=False).ids for t in texts]
       == special, f"{name}: the tokenizer that vocab writes gives the same ids")
    encode(gdata, folder, path, texts)
    done = run(gdata, "decode", "--jsonl", "-T", path,
               os.path.join(folder, "ids_000000.npy"))
    ours = [json.loads(line)["text"] for line in done.stdout.splitlines()]
    want = [theirs.decode(ids, skip_special_tokens=False) for ids in plain]
    bad = [(o, w) for o, w in zip(ours, want) if o != w]
    if bad:
        print("#", ascii(bad[0])[:400])
    ok(len(ours) == len(want) and not bad, f"{name}: Hugging Face decodes to our text")


def main(gdata, number):
    rng = random.Random(5)
    forms = make_forms(rng)
    with tempfile.TemporaryDirectory() as folder:
        for name, form in forms.items():
            check(gdata, folder, name, form, make_texts(rng, int(number)))
    print(f"1..{count}")


if __name__ == "__main__":
    main(*sys.argv[1:])
