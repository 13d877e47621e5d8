#!/bin/sh
# gdata info, verify, lock, dedup, leak: what the data are, and what they share.
. "$(dirname "$0")/../lib/tap.sh"
shown="out words"
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
run() {         # run STATUS COMMAND...: out, words
    want=$1
    shift
    "$@" >out 2>words
    test $? = "$want"
}
words() {       # $2 words that begin with number $1
    awk -v from="$1" -v n="$2" \
        'BEGIN { for (i = 0; i < n; i++) printf "w%d ", (from + i) * 7 }'
}

# --- dedup
{ printf '{"text":"one"}\n{"text":"two"}\n{"text":"one"}\n'
  printf '{"text":"One!"}\n{"text":"t\\u0077o"}\n'; } >a.jsonl
printf 'one' >b.txt
run 0 gdata dedup a.jsonl b.txt -o d.jsonl
result $? "dedup succeeds"
printf '{"text":"one"}\n{"text":"two"}\n{"text":"One!"}\n' >want
cmp -s d.jsonl want; result $? "the first of equal documents stays"
grep -q "3 documents kept, 3 dropped" words; result $? "and the rest is counted"
gdata dedup -q --loose a.jsonl b.txt >out 2>words
printf '{"text":"one"}\n{"text":"two"}\n' | cmp -s - out
result $? "--loose looks at letters and digits"
{ printf '{"text":"He \\u201csaid\\u201d:\\u00a0wait\\u2014\\u00c9TAT"}\n'
  printf '{"text":"he said: wait - \\u00e9tat"}\n{"text":"he said etat"}\n'; } \
    >typo.jsonl
gdata dedup -q --loose typo.jsonl >out 2>words
test "$(wc -l <out)" = 2
result $? "in whatever typography, and alphabet"
printf 'a\tb"\\\303\251\377' >c.txt
gdata dedup -q c.txt >out 2>words
printf '{"text":"a\\tb\\"\\\\\303\251\\ufffd"}\n' | cmp -s - out
result $? "the output is JSON, whatever the input"
awk 'BEGIN { for (i = 0; i < 400000; i++) print i, i * i }' >long.txt
cp long.txt long2.txt
gdata dedup -q long.txt long2.txt >out 2>words
test "$(wc -l <out)" = 1
result $? "documents of several blocks are compared whole"
cp out one.jsonl
test "$(gdata info --json one.jsonl 2>words | tr -d ' \n' |
    sed 's/.*"bytes":\([0-9]*\).*/\1/')" = "$(wc -c <long.txt | tr -d ' ')"
result $? "and written whole"
gdata dedup -q --input jsonl - <a.jsonl >out 2>words
test "$(wc -l <out)" = 3; result $? "JSON from standard input, when told"
run 3 gdata dedup nowhere; result $? "no such file is status 3"
run 2 gdata dedup a.jsonl --bad nonsense; result $? "a wrong --bad is status 2"
printf '{"text":"one"}\nbad\n' >e.jsonl
run 1 gdata dedup e.jsonl --bad stop -o f.jsonl
grep -q 'e.jsonl:2: column 1' words && test ! -e f.jsonl
result $? "--bad stop ends at a bad line, and leaves no file"

# --- what input may have around it
{ printf '\357\273\277{"text":"one","score":NaN}\n'
  printf '{"a":[-Infinity,Infinity],"text":"two"}\n'; } >g.jsonl
gdata dedup -q g.jsonl >out 2>words
printf '{"text":"one"}\n{"text":"two"}\n' | cmp -s - out && ! test -s words
result $? "a byte order mark, and the numbers of Python that JSON has not"
awk 'BEGIN { for (i = 0; i < 1234; i++) print "bad" }' >h.jsonl
run 0 gdata dedup h.jsonl
grep -q 'skipped 1,234 bad lines and the rest of 0 damaged' words
result $? "all bad lines are counted"
{ gzip -c a.jsonl; gzip -c e.jsonl; head -c 1000 /dev/zero; } >i.jsonl.gz
run 0 gdata dedup i.jsonl.gz && grep -q '3 documents kept' words
result $? "zeros may fill up a gzip file"
{ gzip -c a.jsonl; gzip -c e.jsonl | tail -c +2; } >k.jsonl.gz
run 1 gdata dedup k.jsonl.gz
grep -q 'k.jsonl.gz.*something else follows the gzip data' words &&
    test "$(wc -l <out)" -gt 2
result $? "anything else behind it is damage, and what was before is there"
# a frame to be skipped, as pzstd writes one first; "ab\n" as a raw block
printf '\120\052\115\030\003\000\000\000xyz' >l.txt.zst
printf '\050\265\057\375\040\003\031\000\000ab\n' >>l.txt.zst
run 0 gdata dedup l.txt.zst
if grep -q "without libzstd" words; then
    n=$((n + 1)); echo "ok $n - Zstandard # SKIP no libzstd"
else
    test "$(cat out)" = '{"text":"ab\n"}'
    result $? "Zstandard may begin with a frame to be skipped"
fi

# --- leak
sed -n 1p typo.jsonl >eval.jsonl; sed -n 2,3p typo.jsonl >train.jsonl
run 1 gdata leak --train train.jsonl --eval eval.jsonl
result $? "typography hides no leak"
{ printf '{"text":"%s"}\n' "$(words 0 40)"
  printf '{"text":"%s"}\n' "$(words 1000 40)"
  printf '{"text":"few words"}\n{"text":"not there"}\n{"text":""}\n'; } \
    >eval.jsonl
printf '{"text":"%s; %s"}\n' "$(words 5000 30)" "$(words 1010 13)" >train.jsonl
run 0 gdata leak --train train.jsonl --eval eval.jsonl --tsv
result $? "a run of 13 words alone is told"
sed 1d out | grep -q "^eval.jsonl	2	28	1	in part$"
result $? "with its document and its number"
grep -q "0 of 4 evaluation documents .* 1 share a run" words
result $? "and the sums"
run 0 gdata leak --train train.jsonl --eval eval.jsonl --words 14
grep -q ", 0 share a run of 14 words" words; result $? "but no run of 14"
printf '{"text":"FEW: words."}\n' >>train.jsonl
run 1 gdata leak --train train.jsonl --eval eval.jsonl --tsv
grep -q "^eval.jsonl	3	0	0	whole$" out
result $? "a document that is there whole is an error, case and dots aside"
run 1 timeout 60 gdata leak --train long.txt --train long2.txt \
    --train long.txt --eval one.jsonl --tsv
grep -q "	whole$" out && grep -q "399,988 of 399,988 runs\|(100%)" words
result $? "so is a long one, of which several threads read parts"
run 0 gdata leak --train b.txt --eval eval.jsonl; result $? "no leak, no error"
run 2 gdata leak --train b.txt; result $? "one side alone is status 2"

# --- lock and verify
mkdir corpus tok data
cp a.jsonl corpus/train.jsonl
cp eval.jsonl corpus/val.jsonl
printf '\001\000\002\000\377\377' >data/x_000000.bin
echo merges >tok/merges.txt
run 0 gdata lock -o data.lock --text corpus/train.jsonl \
    --eval corpus/val.jsonl --fit corpus --tokenizer tok \
    --command 'gdata encode' data/x_000000.bin
result $? "lock succeeds"
sum=$(sha256sum tok/merges.txt | cut -d' ' -f1)
test "$(sed -n 1,2p data.lock)" = "# data.lock 1
command gdata encode" && grep -q "^tokenizer $sum 7 tok/merges.txt$" data.lock
result $? "it has role, hash, size and path"
run 0 gdata verify data.lock data/x_000000.bin
result $? "nothing changed"
cp data.lock first
gdata lock -q --tokenizer tok --fit corpus/val.jsonl --fit corpus/train.jsonl \
    --eval corpus/val.jsonl --text corpus/train.jsonl \
    --command 'gdata encode' data/x_000000.bin 2>words
cmp -s first data.lock; result $? "the same data give the same lock"
(cd tok && gdata lock -q -o ../tok/x.lock ../data/x_000000.bin merges.txt)
grep -q ' \.\./data/x_000000.bin$' tok/x.lock && grep -q ' merges.txt$' tok/x.lock
result $? "paths are seen from the lock's folder"
run 0 gdata verify tok/x.lock; result $? "and found from anywhere"
run 1 gdata leak --lock data.lock
grep -q "tokenizer was trained on the evaluation text corpus/val.jsonl" words
result $? "a tokenizer trained on evaluation text is flagged"

printf x >>corpus/train.jsonl
echo MERGES >tok/merges.txt
rm data/x_000000.bin
run 1 gdata verify data.lock --tsv; result $? "differences are status 1"
grep -q "^corpus/train.jsonl	text	another size$" out &&
    grep -q "^tok/merges.txt	tokenizer	another content$" out &&
    grep -q "^data/x_000000.bin	tokens	missing$" out &&
    grep -q "^corpus/val.jsonl	eval	same$" out
result $? "and each is told"
grep -q "4 files are not as they should be" words; result $? "and counted"
echo hello >bad.lock
run 1 gdata verify bad.lock; result $? "what is no lock is refused"
printf '# data.lock 1\ntokens abc 1 x\n' >bad.lock
run 1 gdata verify bad.lock; grep -q "bad.lock:2: a line is" words
result $? "with the number of the line"
run 3 gdata verify nothing.lock; result $? "no such file is status 3"

# --- token files
printf '\001\000\002\000\377\377' >x.bin
run 0 gdata info --tsv x.bin
sed 1d out | cut -f1-7 | grep -q "^x.bin	raw uint16	6	3		3	65535$"
result $? "info counts tokens"
run 0 gdata verify --vocab 65536 x.bin; result $? "within the vocabulary"
run 1 gdata verify --vocab 50257 x.bin
grep -q "x.bin: token 2 is id 65535" words; result $? "beyond the vocabulary"
printf '\210\330\064\001\001\000\000\000\005\000\000\000' >y.bin
run 1 gdata verify y.bin; grep -q "header alone" words
result $? "a token file cut short"
run 1 gdata info y.bin; result $? "info of it is an error"
run 0 gdata info --tsv a.jsonl
sed 1d out | cut -f1-5 | grep -q "^a.jsonl	JSON Lines	16		5$"
result $? "info counts documents"
echo "1..$n"
