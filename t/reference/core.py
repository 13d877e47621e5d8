#!/usr/bin/env python3
"""Print CORE of a small GPT-2 in Hugging Face's format, in plain float64.

usage: core.py MODEL FOLDER [LIMIT]

FOLDER has a file of each kind of task, see TASKS.  A line for each choice has
the task and the loss of the tokens that are scored; one for each task has its
accuracy and centred accuracy, and the last one the means of both.  The rules
are those of nanochat's core_eval.py and base_eval.py; tokenizer and model are
written here, so that only Python is needed.
"""
import json
import math
import pathlib
import random
import re
import struct
import sys

# name, file, kind, shots, delimiter, baseline
TASKS = [
    ("copa", "commonsense_reasoning/copa", "choice", 0, " ", 0.5),
    ("piqa", "commonsense_reasoning/piqa", "choice", 10, "\nAnswer: ", 0.5),
    ("agi_eval_lsat_ar", "symbolic_problem_solving/agi_eval_lsat_ar",
     "choice", 3, " ", 0.2),
    ("winograd", "language_understanding/winograd_wsc", "schema", 0, " ", 0.5),
    ("jeopardy", "world_knowledge/jeopardy_all", "language", 10,
     "\nAnswer: ", 0),
    ("coqa", "reading_comprehension/coqa", "language", 0, " ", 0),
]
PIECE = re.compile(r"'(?:[sdmt]|ll|ve|re)| ?[^\W\d_]+| ?\d+"
                   r"| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")

model, folder, *limit = sys.argv[1:]
model = pathlib.Path(model)
limit = int(limit[0]) if limit else None
config = json.loads((model / "config.json").read_text())
heads, layers = config["n_head"], config["n_layer"]
width, context = config["n_embd"], config["n_positions"]


# ---- the tokenizer: byte-level BPE

def letters_of_bytes():
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in shown]
    return {b: chr(b) if b in shown else chr(256 + others.index(b))
            for b in range(256)}


tokenizer = json.loads((model / "tokenizer.json").read_text())["model"]
rank = {tuple(m): i for i, m in enumerate(tokenizer["merges"])}
letter = letters_of_bytes()


def encode(text):
    ids = []
    for piece in PIECE.findall(text):
        parts = [letter[b] for b in piece.encode()]
        while len(parts) > 1:
            least = min(zip(parts, parts[1:]),
                        key=lambda p: rank.get(p, math.inf))
            if least not in rank:
                break
            at = 0
            while at < len(parts) - 1:
                if (parts[at], parts[at + 1]) == least:
                    parts[at:at + 2] = ["".join(least)]
                at += 1
        ids += [tokenizer["vocab"][p] for p in parts]
    return ids


# ---- the model

def load():
    data = (model / "model.safetensors").read_bytes()
    n, = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, t in json.loads(data[8:8 + n]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + n + at for at in t["data_offsets"])
        flat = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
        cols = t["shape"][-1]
        rows = [flat[i:i + cols] for i in range(0, len(flat), cols)]
        tensors[name[len("transformer."):]] = (
            rows if len(t["shape"]) == 2 else rows[0])
    return tensors


weight = load()


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def linear(x, name):
    columns = list(zip(*weight[name + ".weight"]))
    return [[dot(row, c) + b for c, b in zip(columns, weight[name + ".bias"])]
            for row in x]


def norm(x, name):
    out = []
    for row in x:
        mean = sum(row) / width
        scale = 1 / math.sqrt(sum((v - mean) ** 2 for v in row) / width
                              + config["layer_norm_epsilon"])
        out.append([(v - mean) * scale * w + b
                    for v, w, b in zip(row, weight[name + ".weight"],
                                       weight[name + ".bias"])])
    return out


def softmax(x):
    top = max(x)
    p = [math.exp(v - top) for v in x]
    total = sum(p)
    return [v / total for v in p]


def gelu(v):
    inner = math.sqrt(2 / math.pi) * (v + 0.044715 * v ** 3)
    return 0.5 * v * (1 + math.tanh(inner))


def attention(qkv):
    size = width // heads
    out = []
    for t in range(len(qkv)):
        row = []
        for h in range(heads):
            q, k, v = (slice(part * width + h * size,
                             part * width + (h + 1) * size)
                       for part in range(3))
            p = softmax([dot(qkv[t][q], past[k]) / math.sqrt(size)
                         for past in qkv[:t + 1]])
            row += [dot(p, column)
                    for column in zip(*(past[v] for past in qkv[:t + 1]))]
        out.append(row)
    return out


def add(x, y):
    return [[a + b for a, b in zip(*rows)] for rows in zip(x, y)]


def hidden(ids):
    x = add([weight["wte.weight"][i] for i in ids], weight["wpe.weight"])
    for i in range(layers):
        at = attention(linear(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn"))
        x = add(x, linear(at, f"h.{i}.attn.c_proj"))
        up = linear(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc")
        x = add(x, linear([[gelu(v) for v in row] for row in up],
                          f"h.{i}.mlp.c_proj"))
    return norm(x, "ln_f")


def score(ids, start):
    """The losses of the tokens from start on, and whether all are likeliest."""
    losses, likeliest = [], True
    states = hidden(ids)
    for at in range(start, len(ids)):
        p = softmax([dot(states[at - 1], row) for row in weight["wte.weight"]])
        losses.append(-math.log(p[ids[at]]))
        likeliest = likeliest and p[ids[at]] == max(p)
    return losses, likeliest


# ---- CORE

def render(kind, delimiter, item, choice=None):
    """The text of an item with a choice; with its answer if that is None."""
    gold = item.get("gold") if choice is None else choice
    if kind == "choice":
        return item["query"] + delimiter + item["choices"][gold]
    if kind == "schema":
        return item["context_options"][gold] + delimiter + item["continuation"]
    return item["context"].strip() + delimiter + item["continuation"]


def common(rows):
    n = 0
    while n < min(map(len, rows)) and len({row[n] for row in rows}) == 1:
        n += 1
    return n


def ask(items, index, kind, shots, delimiter):
    """The losses of the choices of an item, and whether it is right."""
    item, before = items[index], ""
    if shots:
        others = [i for i in range(len(items)) if i != index]
        for i in random.Random(1234 + index).sample(others, shots):
            before += render(kind, delimiter, items[i]) + "\n\n"
    bos = config["bos_token_id"]
    if kind == "language":
        without = (before + item["context"].strip() + delimiter).strip()
        rows = [[bos] + encode(before + render(kind, delimiter, item))]
        starts = [1 + len(encode(without))]
        assert rows[0][:starts[0]] == [bos] + encode(without)
    else:
        count = len(item["choices" if kind == "choice" else "context_options"])
        rows = [[bos] + encode(before + render(kind, delimiter, item, choice))
                for choice in range(count)]
        if kind == "choice":
            starts = [common(rows)] * count
        else:
            same = common([row[::-1] for row in rows])
            starts = [len(row) - same for row in rows]
    cuts = [max(0, len(row) - context) for row in rows]
    scores = [score(row[cut:], start - cut)
              for row, start, cut in zip(rows, starts, cuts)]
    if kind == "language":
        right = scores[0][1]
    else:
        means = [sum(s) / len(s) if s else math.nan for s, _ in scores]
        right = means.index(min(means)) == item["gold"]
    return [sum(s) for s, _ in scores], right


results = []
for name, file, kind, shots, delimiter, baseline in TASKS:
    path = pathlib.Path(folder) / f"{file}.jsonl"
    items = [json.loads(line) for line in path.read_text().splitlines()]
    random.Random(1337).shuffle(items)
    items, rights = items[:limit], []
    for index in range(len(items)):
        losses, right = ask(items, index, kind, shots, delimiter)
        rights.append(right)
        for loss in losses:
            print(name, "%.5f" % loss)
    acc = sum(rights) / len(rights)
    results.append((acc, (acc - baseline) / (1 - baseline)))
    print(name, *("%.6f" % r for r in results[-1]))
print("core", *("%.6f" % (sum(r) / len(results)) for r in zip(*results)))
