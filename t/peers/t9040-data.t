#!/bin/sh
# numpy reads the token files that gdata writes, gdata the Parquet of pyarrow.
# Part of `make check-peers`; skipped without it.
python=${GT_PYTHON:-python3}
test -n "${GT_PEERS:-}" || {
    echo "1..0 # SKIP make check-peers asks the peers"
    exit 0
}
"$python" -c 'import numpy, pyarrow' 2>/dev/null || {
    echo "1..0 # SKIP no numpy and pyarrow in $python; set GT_PYTHON"
    exit 0
}
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
n=0
ok() {
    n=$((n + 1))
    if test "$1" -eq 0; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2"
        sed 's/^/# /' words | tail
    fi
}

awk 'BEGIN { for (i = 0; i < 3000; i++)
                 printf "{\"text\":\"line %d, %d\"}\n", i, i * i }' >d.jsonl
gdata bpe -q -n 400 -o tok d.jsonl 2>words
for format in llmc raw npy; do
    gdata encode -q -T tok --format $format -o $format/d d.jsonl >out 2>words
    ok $? "$format is written"
done
"$python" >out 2>words <<'END'
import glob
import numpy as np
npy = np.load(glob.glob("npy/*.npy")[0])
raw = np.fromfile(glob.glob("raw/*.bin")[0], dtype="<u2")
llmc = glob.glob("llmc/*.bin")[0]
head = np.fromfile(llmc, dtype="<i4", count=256)
body = np.fromfile(llmc, dtype="<u2", offset=1024)
assert npy.dtype == np.uint16 and npy.ndim == 1 and len(npy) > 3000
assert (npy == raw).all() and (raw == body).all()
assert head[0] == 20240520 and head[1] == 1 and head[2] == len(body)
np.save("theirs.npy", npy)
np.save("wide.npy", npy.astype("<u4"))
np.save("signed.npy", npy.astype("<i4"))
np.save("float.npy", npy.astype("<f4"))
END
ok $? "numpy reads all three, and they are the same tokens"
cmp -s theirs.npy npy/*.npy
ok $? "numpy would write the same .npy, byte by byte"
gdata decode -q -T tok theirs.npy >a 2>words
gdata decode -q -T tok wide.npy >b 2>words
gdata decode -q -T tok signed.npy >c 2>words
test -s a && cmp -s a b && cmp -s a c
ok $? "gdata reads numpy's uint16, uint32 and int32"
gdata verify float.npy >out 2>words
test $? = 1
ok $? "but no floats"

"$python" >out 2>words <<'END'
import json, random
import pyarrow as pa
import pyarrow.parquet as pq
random.seed(7)
words = [str(random.random()) for _ in range(500)]
texts = [" ".join(random.choices(words, k=random.randint(0, 200)))
         for _ in range(2000)] + ["\u00e9\u4e2d\U0001f600", "end"]
texts += [texts[0][:40] + str(i) for i in range(300)] + [None, None]
random.shuffle(texts)
n = len(texts)
# FineWeb-Edu's columns, and nested ones before and behind
table = pa.table({
    "meta": [{"text": "no", "tags": ["a"] * (i % 3)} for i in range(n)],
    "text": texts, "id": [f"<urn:{i}>" for i in range(n)],
    "language_score": [random.random() for _ in range(n)],
    "token_count": range(n), "tags": [["a", "b"]] * n})
with open("want.jsonl", "w") as f:
    for text in texts:
        f.write(json.dumps({"text": text or ""}) + "\n")
for version in "1.0", "2.0":
    for codec in "NONE", "SNAPPY", "GZIP", "ZSTD":
        for coding in ("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY",
                       None):
            # a dictionary that is full soon: the other pages are plain
            kind = {"dictionary_pagesize_limit": 100000} if not coding else {
                "use_dictionary": False, "column_encoding": {"text": coding}}
            pq.write_table(table, f"{version}-{codec}-{coding}.parquet",
                           compression=codec, data_page_version=version,
                           row_group_size=700, data_page_size=9000, **kind)
for codec in "BROTLI", "LZ4":
    pq.write_table(table, codec + ".other", compression=codec)
END
ok $? "pyarrow writes Parquet"
gdata dedup -q want.jsonl >want 2>words
for file in *.parquet; do
    gdata dedup -q "$file" >got 2>words && cmp -s got want
    ok $? "$file"
    gdata info --tsv --no-header "$file" >out 2>words
    test "$(cut -f5 out)" = "$(wc -l <want.jsonl)"
    ok $? "and all its rows are counted"
done
for file in *.other; do
    gdata dedup -q --input parquet "$file" >out 2>words
    test $? = 1 && test "$(wc -l <words)" = 1 &&
        grep -q 'compressed by .* is not read' words
    ok $? "$file is refused in one line"
done
echo "1..$n"
