"""Labels and probabilities that fastText gives texts.

    classify.py models          train models of each kind: NAME.bin, docs.jsonl,
                                and quantised.ftz, vectors.bin and each.bin
    classify.py fixture FOLDER  the same, but small, and what is expected
    classify.py labels MODEL DOCS
                                print the lines that gdata classify writes
    classify.py compare A B     exit 1 unless their labels are equal, and their
                                scores but for 0.000001; print how many scores
                                are equal in all digits
"""
import json
import random
import sys

LETTERS = {"en": "abcdefghijklmnop", "ru": "абвгдежзиклмноп", "zh": "中文字符漢語日本",
           "fr": "éèüößñçåøæ", "xx": "𝒳𝒴😀🎉ab"}
MODELS = {
    "plain": {},
    "words": {"wordNgrams": 2, "dim": 10, "bucket": 5000},
    "characters": {"minn": 3, "maxn": 6, "bucket": 200000, "dim": 16},
    "tree": {"loss": "hs", "minn": 2, "maxn": 4, "dim": 16, "bucket": 20000},
    "tree_words": {"loss": "hs", "dim": 33, "minCount": 3, "wordNgrams": 3,
                   "bucket": 3001},
    "both": {"minn": 1, "maxn": 3, "wordNgrams": 2, "bucket": 1000},
}
SMALL = {
    "words": {"wordNgrams": 2, "dim": 5, "bucket": 40},
    "tree": {"loss": "hs", "minn": 2, "maxn": 4, "dim": 4, "bucket": 60},
    "both": {"minn": 1, "maxn": 2, "wordNgrams": 2, "dim": 3, "bucket": 30},
}
WELL = {"epoch": 30, "lr": 0.8}
ODD = ["", "  ", "\n\n", "</s> a b", "a b </s> c d", "__label__en a b",
       "__label__none a b", "__label__", "a\vb\fc\td\re", "a\0b", "</s", "<s>",
       "a" * 500, "é" * 70 + " b", "\u00a0a\u3000b\u2028c", "-", "<", "< >",
       "ab c d " * 3000]


def texts(rng, n, vocabulary):
    known = {label: ["".join(rng.choices(letters, k=rng.randint(1, 8)))
                     for _ in range(vocabulary)]
             for label, letters in LETTERS.items()}
    for i in range(n):
        label = rng.choice(list(known))
        words = rng.choices(known[label], k=rng.randint(1, 40))
        for k in range(len(words)):
            if rng.random() < 0.1:
                words[k] = rng.choice(known[rng.choice(list(known))])
            elif rng.random() < 0.1:
                words[k] += rng.choice(LETTERS[label])
        yield label, rng.choice([" ", " ", "\n", " , "]).join(words)


def write(path, rows):
    with open(path, "w", encoding="utf-8") as f:
        for row in rows:
            json.dump(row, f, ensure_ascii=False, separators=(",", ":"))
            f.write("\n")


def train(models, folder, n, vocabulary):
    import fasttext

    rng = random.Random(3)
    rows = list(texts(rng, n, vocabulary))
    with open("train.txt", "w", encoding="utf-8") as f:
        f.writelines(f"__label__{label} {' '.join(text.split())}\n"
                     for label, text in rows)
    docs = [text for _, text in rows[:n // 2]] + ODD
    docs += [text for _, text in texts(rng, n // 4, vocabulary)]
    docs += ["".join(rng.sample(d, len(d))) for d in docs[:n // 4]]
    write(f"{folder}/docs.jsonl", ({"text": d} for d in docs))
    for name, options in models.items():
        model = fasttext.train_supervised("train.txt", thread=1, verbose=0,
                                          **{"epoch": 2, **options})
        model.save_model(f"{folder}/{name}.bin")
    return model


def labels(path, docs, name="label"):
    import fasttext

    fasttext.FastText.eprint = lambda *_: None
    model = fasttext.load_model(path)
    for row in docs:
        text = row["text"].replace("\n", " ") + "\n"
        found = model.f.predict(text, 1, 0.0, "strict")
        p, label = found[0] if found else (0, None)
        yield row | {name: label and label.removeprefix("__label__"),
                     name + "_score": float(f"{p:.9g}") or 0}


def read(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def fixture(folder):
    train({name: o | WELL for name, o in SMALL.items()}, folder, 60, 12)
    docs = read(f"{folder}/docs.jsonl")
    for name in SMALL:
        docs = labels(f"{folder}/{name}.bin", docs, name=name)
    write(f"{folder}/expected.jsonl", docs)


def compare(ours, theirs):
    ours, theirs, equal = read(ours), read(theirs), 0
    if len(ours) != len(theirs):
        sys.exit(f"{len(ours)} and {len(theirs)} documents")
    for a, b in zip(ours, theirs):
        if a["text"] != b["text"] or a["label"] != b["label"] or abs(
                a["label_score"] - b["label_score"]) > 1e-6:
            sys.exit(f"{a} is not {b}")
        equal += a["label_score"] == b["label_score"]
    print(f"# {equal} of {len(ours)} scores are equal in all digits")


def main():
    command, *rest = sys.argv[1:]
    if command == "models":
        model = train(MODELS, ".", 4000, 400)
        model.quantize()
        model.save_model("quantised.ftz")
        import fasttext
        fasttext.train_unsupervised("train.txt", dim=4, epoch=1, bucket=100,
                                    verbose=0).save_model("vectors.bin")
        fasttext.train_supervised("train.txt", loss="ova", epoch=1, dim=2,
                                  verbose=0).save_model("each.bin")
    elif command == "fixture":
        fixture(*rest)
    elif command == "labels":
        write("/dev/stdout", labels(rest[0], read(rest[1])))
    elif command == "compare":
        compare(*rest)


if __name__ == "__main__":
    main()
