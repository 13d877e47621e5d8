#!/bin/sh
# numpy reads the token files that gdata writes, gdata the Parquet of pyarrow.
# Part of `make check-peers`; skipped without it.
. "$(dirname "$0")/../lib/tap.sh"
python=${GT_PYTHON:-python3}
test -n "${GT_PEERS:-}" ||
    skip_all "make check-peers asks the peers"
"$python" -c 'import numpy, pyarrow' 2>/dev/null ||
    skip_all "no numpy and pyarrow in $python; set GT_PYTHON"

awk 'BEGIN { for (i = 0; i < 3000; i++)
                 printf "{\"text\":\"line %d, %d\"}\n", i, i * i }' >d.jsonl
gdata bpe -q -n 400 -o tok d.jsonl 2>err
for format in llmc raw npy; do
    gdata encode -q -T tok --format $format -o $format/d d.jsonl >out 2>err
    ok $? "encode --format $format writes tokens"
done
"$python" >out 2>err <<'END'
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
ok $? "numpy reads equal tokens from all three formats"
cmp -s theirs.npy npy/*.npy
ok $? "encode writes the bytes of numpy's .npy"
gdata decode -q -T tok theirs.npy >a 2>err
gdata decode -q -T tok wide.npy >b 2>err
gdata decode -q -T tok signed.npy >c 2>err
test -s a && cmp -s a b && cmp -s a c
ok $? "decode reads numpy's uint16, uint32 and int32"
gdata verify float.npy >out 2>err
test $? = 1
ok $? "verify refuses numpy's floats"

"$python" >out 2>err <<'END'
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
    for codec in "NONE", "SNAPPY", "GZIP", "ZSTD", "BROTLI", "LZ4":
        for coding in ("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY",
                       None):
            # a dictionary that is full soon: the other pages are plain
            kind = {"dictionary_pagesize_limit": 100000} if not coding else {
                "use_dictionary": False, "column_encoding": {"text": coding}}
            pq.write_table(table, f"{version}-{codec}-{coding}.parquet",
                           compression=codec, data_page_version=version,
                           row_group_size=700, data_page_size=9000, **kind)
END
ok $? "pyarrow writes Parquet in every encoding"
# lines of JSON keep their form, which is not ours
texts() {
    gdata dedup -q "$1" 2>err | "$python" -c '
import json, sys
for line in sys.stdin:
    print(json.dumps(json.loads(line)["text"]))'
}
texts want.jsonl >want
for file in *.parquet; do
    texts "$file" >got && test -s got && cmp -s got want
    ok $? "the text of $file is read"
    gdata info --tsv --no-header "$file" >out 2>err
    test "$(cut -f5 out)" = "$(wc -l <want.jsonl)"
    ok $? "info counts the rows of $file"
done
done_testing
