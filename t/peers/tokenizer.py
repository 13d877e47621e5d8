#!/usr/bin/env python3
"""Ids, files and text beside Hugging Face's tokenizers and tiktoken.

usage: peers-tokenizer.py GDATA GPT2 SPLIT...     (by t9020-peers-tokenizer.t)

Prints TAP.  GPT2 is a folder with GPT-2's vocab.bpe, tokenizer.json and
r50k_base.tiktoken, or empty.
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import unicodedata

count = 0


def ok(good, what):
    global count
    count += 1
    print(("ok" if good else "not ok"), count, "-", what, flush=True)


def skip(what, why):
    global count
    count += 1
    print("ok", count, "-", what, "# SKIP", why)


def run(gdata, *args):
    done = subprocess.run([gdata, *args], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode:
        sys.stderr.write(done.stderr.decode())
    return done


def encode(gdata, folder, tokenizer, texts, *options):
    """The ids of each text; <|endoftext|> divides them."""
    path = os.path.join(folder, "docs.jsonl")
    with open(path, "w", encoding="utf-8") as f:
        for text in texts:
            f.write(json.dumps({"text": text}) + "\n")
    done = run(gdata, "encode", "-q", "-T", tokenizer, "--eot", "last", "-o",
               os.path.join(folder, "ids"), "--format", "npy", *options, path)
    if done.returncode:
        return None
    with open(os.path.join(folder, "ids_000000.npy"), "rb") as f:
        data = f.read()
    width = 2 if b"<u2" in data[:128] else 4
    ids = struct.unpack(f"<{(len(data) - 128) // width}"
                        f"{'H' if width == 2 else 'I'}", data[128:])
    return list(ids)


def flat(lists, eot):
    return [i for ids in lists for i in (*ids, eot)]


def letters(rng):
    """A code point, more often of a script that is written much."""
    kind = rng.random()
    if kind < 0.5:
        return chr(rng.randint(0x20, 0x7E))
    if kind < 0.7:
        return rng.choice(" \n\t\r  '’s1\u00a0\u3000éñ²½漢字한ا")
    while True:
        c = rng.randint(0x80, 0x2FFFF if kind < 0.97 else 0x10FFFF)
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def make_texts(rng, n):
    words = ("the of don't we'll I'VE 's they're x=1; http://a.b/c?d=e 2024 "
             "3.14159 ... --- <|endoftext|> naïve Straße 東京 привет 🎉 👩‍👩‍👧 "
             "\n\n\n \t\t é̀ ١٢٣ Ⅷ HTTPServer camelCase ǅ漢A I'LL\n/ "
             "a/b//\n ʰB").split(" ")
    texts = []
    for i in range(n):
        if i % 2:
            text = "".join(letters(rng) for _ in range(rng.randint(0, 60)))
        else:
            text = rng.choice([" ", "", "  "]).join(
                rng.choice(words) for _ in range(rng.randint(0, 30)))
        texts.append(text)
    return texts + ["x" * 3000, " " * 2000, "ab" * 2000, "漢" * 1000]


def gpt2(gdata, gpt2_folder, folder, texts):
    for name in ("tokenizer.json", "vocab.bpe", "r50k_base.tiktoken"):
        ours = encode(gdata, folder, os.path.join(gpt2_folder, name), texts)
        try:
            import tiktoken
            import tiktoken.load
            enc = tiktoken.Encoding(
                "gpt2", pat_str=r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++|"
                r" ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
                mergeable_ranks=tiktoken.load.load_tiktoken_bpe(
                    os.path.join(gpt2_folder, "r50k_base.tiktoken")),
                special_tokens={"<|endoftext|>": 50256})
            theirs = [enc.encode_ordinary(t) for t in texts]
            ok(ours == flat(theirs, 50256),
               f"{name}: tiktoken gives our ids for {len(texts)} texts")
        except ImportError:
            skip(f"{name}: tiktoken gives our ids", "tiktoken is not installed")


def learnt(gdata, folder, split, texts):
    """A tokenizer of our own, opened by Hugging Face's library."""
    from tokenizers import Tokenizer
    corpus, tok = os.path.join(folder, "corpus.jsonl"), os.path.join(folder,
                                                                     split)
    with open(corpus, "w", encoding="utf-8") as f:
        for text in texts[: len(texts) // 2] * 3:
            f.write(json.dumps({"text": text}) + "\n")
    run(gdata, "bpe", "-q", "-n", "3000", "--split", split, "--special",
        "<|x|>", "-o", tok, corpus)
    theirs = Tokenizer.from_file(os.path.join(tok, "tokenizer.json"))
    eot = theirs.token_to_id("<|endoftext|>")
    plain = [t.replace("<|", "< |") for t in texts]
    ours = encode(gdata, folder, tok, plain)
    want = [theirs.encode(t).ids for t in plain]
    ok(ours == flat(want, eot),
       f"{split}: Hugging Face gives our ids for {len(texts)} texts")
    ours = encode(gdata, folder, tok, texts, "--special")
    want = [theirs.encode(t).ids for t in texts]
    ok(ours == flat(want, eot), f"{split}: Hugging Face gives our ids with special tokens")
    for path in ("merges.txt", "tokenizer.json"):
        if split == "gpt2":
            again = encode(gdata, folder, os.path.join(tok, path), texts,
                           "--special")
            ok(again == ours, f"{split}: {path} alone gives the same ids")
    if split == "o200k":
        in_tiktoken(gdata, tok, plain, eot,
                    encode(gdata, folder, tok, plain))
    ok(all(theirs.decode(w, skip_special_tokens=False) == t
           for w, t in zip(want, texts)), f"{split}: Hugging Face decodes our ids to the text")


def in_tiktoken(gdata, tok, texts, eot, ours):
    """The same tokenizer as a file of ranks, with o200k_base's pattern."""
    try:
        import tiktoken
        import tiktoken.load
    except ImportError:
        skip("o200k: tiktoken gives our ids", "tiktoken is not installed")
        return
    run(gdata, "vocab", tok, "-w", "tiktoken", "-o", tok)
    end = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    enc = tiktoken.Encoding("o200k", special_tokens={}, pat_str="|".join((
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*"
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + end,
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + end,
        r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+",
        r"\s+(?!\S)", r"\s+")),
        mergeable_ranks=tiktoken.load.load_tiktoken_bpe(
            os.path.join(tok, "tokenizer.tiktoken")))
    ok(ours == flat([enc.encode_ordinary(t) for t in texts], eot),
       f"o200k: tiktoken gives our ids for {len(texts)} texts")


def same_training(gdata, folder, texts):
    """Merges as Hugging Face's trainer learns them, on many small corpora."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    rng, bad = random.Random(3), 0
    for _ in range(25):
        docs = ["".join(rng.choice("aab b cc\n1é") for _ in range(200))
                for _ in range(8)] + rng.sample(texts, 5)
        docs = [d.replace("<|endoftext|>", "") for d in docs]
        path, out = os.path.join(folder, "c.jsonl"), os.path.join(folder, "c")
        with open(path, "w", encoding="utf-8") as f:
            for d in docs:
                f.write(json.dumps({"text": d}) + "\n")
        run(gdata, "bpe", "-q", "-n", "357", "-o", out, path)
        tok = Tokenizer(models.BPE())
        tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tok.train_from_iterator(docs, trainers.BpeTrainer(
            vocab_size=356, show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        want = json.loads(tok.to_str())["model"]["merges"]
        with open(os.path.join(out, "tokenizer.json"), encoding="utf-8") as f:
            got = json.load(f)["model"]["merges"]
        bad += got != want
    ok(bad == 0, "Hugging Face's trainer learns our merges from 25 small corpora")


def split_by(pattern, behavior, invert):
    return {"type": "Split", "pattern": {"Regex": pattern},
            "behavior": behavior, "invert": invert}


def shapes(gdata, folder, texts):
    """One tokenizer in forms that its file may have: our ids, or none."""
    from tokenizers import Tokenizer
    with open(os.path.join(folder, "llama3", "tokenizer.json"),
              encoding="utf-8") as f:
        base = json.load(f)
    split, tail = base["pre_tokenizer"]["pretokenizers"]
    pattern = split["pattern"]["Regex"]
    path, next_id = os.path.join(folder, "shape.json"), 1 + max(
        a["id"] for a in base["added_tokens"])

    def sequence(*parts):
        return {"pre_tokenizer": {"type": "Sequence",
                                  "pretokenizers": list(parts)}}

    def added(content, number=next_id, **how):
        token = {**base["added_tokens"][0], "id": number, "content": content}
        return {"added_tokens": base["added_tokens"] + [{**token, **how}]}

    def model(**how):
        return {"model": {**base["model"], **how}}

    merges = base["model"]["merges"]
    forms = {
        "as it is": {},
        "nested": sequence(sequence(split)["pre_tokenizer"], tail),
        "removed": sequence(split_by(pattern, "Removed", False), tail),
        "removed, inverted": sequence(split_by(pattern, "Removed", True),
                                      tail),
        "contiguous": sequence(split_by(pattern, "Contiguous", False), tail),
        "no bytes": sequence(split),
        "bytes first": sequence(tail, split),
        "bytes twice": sequence(split, tail, tail),
        "not special": added("e t", special=False),
        "blanks, not special": added("  ", special=False),
        "normalized": added("<s>", normalized=True),
        "lstrip": added("<s>", lstrip=True),
        "rstrip": added("x=1;", rstrip=True, special=False),
        "single_word": added("the", single_word=True, special=False),
        "normalized beside others": added("<|", special=False,
                                          normalized=True),
        "all of these": {"normalizer": {"type": "NFC"}, **added(
            "\u00e9", base["model"]["vocab"]["\u00c3\u00a9"], lstrip=True,
            rstrip=True, single_word=True, normalized=True)},
        "a gap": added("<s>", next_id + 7),
        "a name that has an id": added("\u00e9"),
        "merges as text": model(merges=[" ".join(m) for m in merges]),
        "merges twice": model(merges=merges + merges[:200]),
        "whole": model(ignore_merges=True),
    }
    for name, form in forms.items():
        with open(path, "w", encoding="utf-8") as f:
            json.dump({**base, **form}, f)
        theirs = Tokenizer.from_file(path)
        eot = theirs.token_to_id("<|endoftext|>")
        done = subprocess.run([gdata, "vocab", path], capture_output=True,
                              check=False)
        if done.returncode:
            ok(done.stderr.count(b"\n") == 1, f"{name}: the tokenizer is refused in one line")
            continue
        bad = 0
        for special in (False, True):
            theirs.encode_special_tokens = not special
            mine = [t.replace("<|endoftext|>", "") for t in texts]
            ours = encode(gdata, folder, path, mine,
                          *(["--special"] if special else []))
            bad += ours != flat([theirs.encode(t).ids for t in mine], eot)
        ok(bad == 0, f"{name}: Hugging Face gives our ids")


def composing(rng, n):
    """Texts that Unicode's normalization changes in every way it can."""
    all_c = [chr(c) for c in range(0x80, 0x30000) if not 0xD800 <= c < 0xE000]
    marks = [c for c in all_c if unicodedata.combining(c)]
    apart = [unicodedata.normalize("NFD", c) for c in all_c
             if unicodedata.normalize("NFD", c) != c]
    kinds = [marks, marks, apart, apart, all_c[0x1080:0x1180],
             all_c[0xA380:0xF780], list("aeiouAEIOU <=>19\n")]
    return ["".join(letters(rng) if rng.random() < 0.3 else
                    rng.choice(rng.choice(kinds))
                    for _ in range(rng.randint(0, 40))) for _ in range(n)]


def models(gdata, folder, texts):
    """What the files of well-known models say about text before BPE."""
    from tokenizers import Tokenizer
    nfc = {"type": "NFC"}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False,
                  "trim_offsets": True}
    digits = {"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": True},
        {**byte_level, "use_regex": True}]}
    path = os.path.join(folder, "model.json")
    for name, split, form in (
            ("Qwen", "qwen2", {"normalizer": nfc}),
            ("GPT-NeoX", "gpt2", {"normalizer": nfc,
                                  "pre_tokenizer": byte_level}),
            ("SmolLM", "digits", {"pre_tokenizer": digits}),
            ("a Sequence of NFC", "llama3", {"normalizer": {
                "type": "Sequence", "normalizers": [nfc]}})):
        with open(os.path.join(folder, split, "tokenizer.json"),
                  encoding="utf-8") as f:
            whole = {**json.load(f), **form}
        with open(path, "w", encoding="utf-8") as f:
            json.dump(whole, f)
        theirs = Tokenizer.from_file(path)
        eot = theirs.token_to_id("<|endoftext|>")
        want = flat([theirs.encode(t).ids for t in texts], eot)
        ok(encode(gdata, folder, path, texts, "--special") == want,
           f"{name}: Hugging Face gives our ids for {len(texts)} texts")
        again = os.path.join(folder, "again")
        run(gdata, "vocab", path, "-o", again, "-w", "hf")
        theirs = Tokenizer.from_file(os.path.join(again, "tokenizer.json"))
        ok(flat([theirs.encode(t).ids for t in texts], eot) == want,
           f"{name}: the tokenizer that vocab writes gives the same ids")


def main(gdata, gpt2_folder, *splits):
    rng = random.Random(1)
    texts = make_texts(rng, 4000)
    assert unicodedata.unidata_version
    with tempfile.TemporaryDirectory() as folder:
        if gpt2_folder:
            gpt2(gdata, gpt2_folder, folder, texts)
        else:
            skip("gpt2: tiktoken gives our ids", "its files are not there")
        try:
            import tokenizers  # noqa: F401
        except ImportError:
            skip("all: Hugging Face gives our ids", "tokenizers is not installed")
        else:
            for split in splits:
                learnt(gdata, folder, split, texts)
            models(gdata, folder, texts + composing(rng, 6000))
            shapes(gdata, folder, texts[:800])
            same_training(gdata, folder, texts)
    print(f"1..{count}")


if __name__ == "__main__":
    main(*sys.argv[1:])
