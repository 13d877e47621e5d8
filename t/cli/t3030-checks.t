#!/bin/sh
# gdata info, verify, lock, dedup, leak: what the data are, and what they share.
. "$(dirname "$0")/../lib/tap.sh"
show_commands
run() {         # run STATUS COMMAND...: out, err
    want=$1
    shift
    "$@" >out 2>err
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
ok $? "dedup of two files succeeds"
printf '{"text":"one"}\n{"text":"two"}\n{"text":"One!"}\n' >want
cmp -s d.jsonl want; ok $? "dedup keeps the first of equal documents"
grep -q "3 documents kept, 3 left out" err; ok $? \
    "dedup counts the documents that it drops"
{ printf '\357\273\277 {"id": 1, "text": "\\u0061", "url": ["x"]} \r\n'
  printf '{"text":"a","id":2}\n{"id":3,"text":"b\\ud83d"}'; } >fields.jsonl
gdata dedup -q fields.jsonl >out 2>err
{ printf '{"id": 1, "text": "\\u0061", "url": ["x"]}\n'
  printf '{"id":3,"text":"b\\ud83d"}\n'; } | cmp -s - out
ok $? "dedup keeps all fields of a line as they are"
printf 'a\tb"\\\303\251\377' >c.txt
gdata dedup -q c.txt >out 2>err
printf '{"text":"a\\tb\\"\\\\\303\251\\ufffd"}\n' | cmp -s - out
ok $? "dedup writes JSON whatever the input is"
awk 'BEGIN { for (i = 0; i < 400000; i++) print i, i * i }' >long.txt
cp long.txt long2.txt
gdata dedup -q long.txt long2.txt >out 2>err
test "$(wc -l <out)" = 1
ok $? "dedup compares documents of several blocks whole"
cp out one.jsonl
test "$(gdata info --json one.jsonl 2>err | tr -d ' \n' |
    sed 's/.*"bytes":\([0-9]*\).*/\1/')" = "$(wc -c <long.txt | tr -d ' ')"
ok $? "dedup writes documents of several blocks whole"
gdata dedup -q --input jsonl - <a.jsonl >out 2>err
test "$(wc -l <out)" = 3; ok $? \
    "dedup reads JSON from standard input with --input jsonl"
printf '{"text":"two"}\n{"text":"three"}\n' >old.jsonl
printf '{"text":"one"}\n{"text":"One!"}\n' >want
run 0 gdata dedup --against old.jsonl --against c.txt a.jsonl b.txt c.txt &&
    cmp -s out want && grep -q "2 documents kept, 5 left out" err
ok $? "dedup --against leaves out what the other texts have"
run 2 gdata dedup --against old.jsonl && grep -q "name the text" err
ok $? "dedup --against needs a text beside the other one"
run 0 gdata dedup --against a.jsonl --where 'text = "two"' old.jsonl &&
    test ! -s out
ok $? "the options of the input apply to --against, too"
run 3 gdata dedup nowhere; ok $? "dedup of a missing file ends with status 3"
run 2 gdata dedup a.jsonl --bad nonsense; ok $? \
    "dedup with a wrong --bad ends with status 2"
printf '{"text":"one"}\nbad\n' >e.jsonl
run 1 gdata dedup e.jsonl --bad stop -o f.jsonl
grep -q 'e.jsonl:2: column 1' err && test ! -e f.jsonl
ok $? "dedup --bad stop ends at a bad line and leaves no file"

# --- what input may have around it
{ printf '\357\273\277{"text":"one","score":NaN}\n'
  printf '{"a":[-Infinity,Infinity],"text":"two"}\n'; } >g.jsonl
gdata dedup -q g.jsonl >out 2>err
tail -c +4 g.jsonl | cmp -s - out && ! test -s err
ok $? "a byte order mark and Python's NaN and Infinity are read"
printf '%s\n' '{"goal":"a","sol1":"x","label":1}' \
    '{"ctx":"a","question":"c"}' '{"question":"c","ctx":"b"}' >several.jsonl
run 0 gdata dedup --field 'ctx|question|goal' several.jsonl
sed -n '1p;3p' several.jsonl | cmp - out
ok $? "--field reads the first field that a line has of several"
run 0 gdata dedup --field 'ctx|question|goal' --where "ctx = 'b'" several.jsonl
sed -n 3p several.jsonl | cmp - out
ok $? "--where knows the field that is read by its own name"
awk 'BEGIN { for (i = 0; i < 1234; i++) print "bad" }' >h.jsonl
run 1 gdata dedup h.jsonl &&
    grep -q '1,234 of 1,234 lines are bad' err &&
    grep -q 'skipped 1,234 bad lines' err
ok $? "dedup counts all bad lines, and fails if there are too many"
{ cat a.jsonl; echo bad; } >closed.jsonl
gdata dedup -q --max-bad 50% closed.jsonl >want 2>err && test -s err
gdata dedup -q --max-bad 50% closed.jsonl -o closed.out 2>&- &&
    cmp closed.out want
ok $? "no message goes into a file that is written while standard error is closed"
{ gzip -c a.jsonl; gzip -c e.jsonl; head -c 1000 /dev/zero; } >i.jsonl.gz
run 0 gdata dedup --max-bad 20% i.jsonl.gz && grep -q '3 documents kept' err
ok $? "a gzip file may end in zeros"
{ gzip -c a.jsonl; gzip -c e.jsonl | tail -c +2; } >k.jsonl.gz
run 1 gdata dedup k.jsonl.gz
grep -q 'k.jsonl.gz.*damaged gzip data: other data follows' err &&
    test "$(wc -l <out)" -gt 2
ok $? "other bytes after gzip data are damage, reported after the data"
# a frame to be skipped, as pzstd writes one first; "ab\n" as a raw block
printf '\120\052\115\030\003\000\000\000xyz' >l.txt.zst
printf '\050\265\057\375\040\003\031\000\000ab\n' >>l.txt.zst
run 0 gdata dedup l.txt.zst
if grep -q "without libzstd" err; then
    skip "Zstandard may begin with a frame to be skipped" "no libzstd"
else
    test "$(cat out)" = '{"text":"ab\n"}'
    ok $? "Zstandard may begin with a frame to be skipped"
fi

# --- leak
{ printf '{"text":"He \\u201csaid\\u201d:\\u00a0wait\\u2014\\u00c9TAT"}\n'
  printf '{"text":"he said: wait - \\u00e9tat"}\n{"text":"he said etat"}\n'; } \
    >typo.jsonl
sed -n 1p typo.jsonl >eval.jsonl; sed -n 2,3p typo.jsonl >train.jsonl
run 1 gdata leak --train train.jsonl --eval eval.jsonl
ok $? "leak ignores typography"
{ printf '{"text":"%s"}\n' "$(words 0 40)"
  printf '{"text":"%s"}\n' "$(words 1000 40)"
  printf '{"text":"few words"}\n{"text":"not there"}\n{"text":""}\n'; } \
    >eval.jsonl
printf '{"text":"%s; %s"}\n' "$(words 5000 30)" "$(words 1010 13)" >train.jsonl
run 0 gdata leak --train train.jsonl --eval eval.jsonl --words 13 --tsv
ok $? "leak reports a common run of 13 words with status 0"
sed 1d out | grep -q "^eval.jsonl	2	28	1	in part$"
ok $? "leak names the document and the number of runs"
grep -q "0 of 4 evaluation documents .*, from 1 document$" err
ok $? "leak prints the total of documents that share a run"
run 0 gdata leak --train train.jsonl --eval eval.jsonl --words 14
grep -q "sequences of 14 words.*, from 0 documents" err; ok $? \
    "leak --words 14 finds no run of 13 words"
printf '{"text":"FEW: words."}\n' >>train.jsonl
run 1 gdata leak --train train.jsonl --eval eval.jsonl --tsv
grep -q "^eval.jsonl	3	0	0	whole$" out
ok $? "a leaked document is an error whatever its case and punctuation"
{ printf '{"text":"%s"}\n' "$(words 40 8)" "$(words 60 7)"
  printf '{"text":"%s"}\n' 吾輩は猫である名前はまだ無い; } >brief.jsonl
printf '{"text":"%s %s, and %s"}\n' "$(words 39 13)" "$(words 59 9)" \
    ある本は「吾輩は猫である。名前はまだ無い。」と始まる >train.jsonl
run 1 gdata leak --train train.jsonl --eval brief.jsonl --words 13 --tsv
sed 1d out | cut -f2- >got
printf '1\t1\t1\twhole\n3\t2\t2\twhole\n' | cmp -s - got
ok $? "a question of eight words, and one in Japanese, is found in a document"
grep -q "1 document could not be checked: fewer than 8 words" err
ok $? "leak says how many documents are too short to be looked for"
run 1 timeout 60 gdata leak --train long.txt --train long2.txt \
    --train long.txt --eval one.jsonl --tsv
grep -q "	whole$" out && grep -q "399,988 of 399,988 runs\|(100%)" err
ok $? "a long document read by several threads is found whole"
run 0 gdata leak --train b.txt --eval eval.jsonl; ok $? \
    "leak without common text ends with status 0"
run 2 gdata leak --train b.txt; ok $? "leak without --eval ends with status 2"

# --- lock and verify
mkdir corpus tok data
cp a.jsonl corpus/train.jsonl
cp eval.jsonl corpus/val.jsonl
printf '\001\000\002\000\377\377' >data/x_000000.bin
echo merges >tok/merges.txt
run 0 gdata lock -o data.lock --text corpus/train.jsonl \
    --eval corpus/val.jsonl --fit corpus --tokenizer tok \
    --command 'gdata encode' data/x_000000.bin
ok $? "gdata lock writes a lock"
sum=$(sha256sum tok/merges.txt | cut -d' ' -f1)
test "$(sed -n 1,2p data.lock)" = "# data.lock 1
command gdata encode" && grep -q "^tokenizer $sum 7 tok/merges.txt$" data.lock
ok $? "a lock has role, hash, size and path of each file"
run 0 gdata verify data.lock data/x_000000.bin
ok $? "verify accepts a lock when nothing has changed"
cp data.lock first
gdata lock -q --tokenizer tok --fit corpus/val.jsonl --fit corpus/train.jsonl \
    --eval corpus/val.jsonl --text corpus/train.jsonl \
    --command 'gdata encode' data/x_000000.bin 2>err
cmp -s first data.lock; ok $? \
    "a lock does not depend on the order of the options"
cp data/x_000000.bin data/y_000000.bin
run 0 gdata verify data.lock && grep -q "data/y_000000.bin.*not listed" out
ok $? "verify lists shards that are not in the lock"
rm data/y_000000.bin
cp first data/z.tokens.lock
gdata lock -q -o folder.lock data && ! grep -q "z.tokens.lock" folder.lock &&
    grep -q " data/x_000000.bin" folder.lock
ok $? "a lock of a folder leaves out other locks"
run 1 gdata info data/z.tokens.lock && grep -q "is a lock, not a shard" err
ok $? "a lock is not read as a shard"
rm data/z.tokens.lock
(cd tok && gdata lock -q -o ../tok/x.lock ../data/x_000000.bin merges.txt)
grep -q ' \.\./data/x_000000.bin$' tok/x.lock && grep -q ' merges.txt$' tok/x.lock
ok $? "paths in a lock are relative to its folder"
run 0 gdata verify tok/x.lock && ! grep -q "[.][.]/" out; ok $? \
    "verify finds the files of a lock from any folder"
run 1 gdata leak --lock data.lock
grep -q "tokenizer was trained on the evaluation text corpus/val.jsonl" err
ok $? "a tokenizer trained on evaluation text is flagged"

mkdir older && cp data.lock older
run 0 gdata verify -q --against older/data.lock data.lock && ! test -s out
ok $? "verify --against finds no difference in an equal lock"
sed "s/^eval [0-9a-f]\{4\}/eval 0000/; s/^\(tokens .*\)x_0/\1y_0/
    s/^\(tokenizer [0-9a-f]*\) 7/\1 8/" data.lock >older/data.lock
run 1 gdata verify --against older/data.lock data.lock --tsv
sort out | grep -v same >got
printf '%s\t%s\t%s\n' corpus/val.jsonl eval 'another content' \
    data/x_000000.bin tokens added data/y_000000.bin tokens removed \
    file role state tok/merges.txt tokenizer 'another size' | cmp - got
ok $? "verify --against lists what differs between two locks"
grep -q "4 files are not as expected" err
ok $? "verify --against counts the differences"

printf x >>corpus/train.jsonl
echo MERGES >tok/merges.txt
rm data/x_000000.bin
run 1 gdata verify data.lock --tsv; ok $? \
    "verify ends with status 1 when files differ"
grep -q "^corpus/train.jsonl	text	another size$" out &&
    grep -q "^tok/merges.txt	tokenizer	another content$" out &&
    grep -q "^data/x_000000.bin	tokens	missing$" out &&
    grep -q "^corpus/val.jsonl	eval	same$" out
ok $? "verify reports each file that differs"
grep -q "4 files are not as expected" err; ok $? \
    "verify counts the files that differ"
echo hello >bad.lock
run 1 gdata verify bad.lock; ok $? "verify refuses a file that is no lock"
printf '# data.lock 1\ntokens abc 1 x\n' >bad.lock
run 1 gdata verify bad.lock; grep -q "bad.lock:2: expected role" err
ok $? "verify names the line of a lock that is wrong"
run 3 gdata verify nothing.lock; ok $? \
    "verify of a missing lock ends with status 3"

# --- token files
printf '\001\000\002\000\377\377' >x.bin
run 0 gdata info --tsv x.bin
sed 1d out | cut -f1-7 | grep -q "^x.bin	raw uint16	6	3		3	65535$"
ok $? "info counts the tokens of a raw file"
run 0 gdata verify --vocab 65536 x.bin; ok $? \
    "verify accepts ids within the vocabulary"
run 1 gdata verify --vocab 50257 x.bin
grep -q "x.bin: token 2 has id 65535" err; ok $? \
    "verify refuses an id beyond the vocabulary"
printf '\210\330\064\001\001\000\000\000\005\000\000\000' >y.bin
run 1 gdata verify y.bin; grep -q "the header has 1024" err
ok $? "verify refuses a token file that was cut short"
run 1 gdata info y.bin; ok $? "info refuses a token file that was cut short"
run 0 gdata info --tsv a.jsonl
sed 1d out | cut -f1-5 | grep -q "^a.jsonl	JSON Lines	16		5$"
ok $? "info counts the documents of JSON Lines"
printf '{"text":"%s"}\n' aa b aa aaaaaaaaaaaa aaaa >lengths.jsonl
gdata bpe --vocab 258 -o pairs lengths.jsonl >out 2>&1
run 0 gdata info --stats --tsv lengths.jsonl && sed 1d out | cut -f9- >got
run 0 gdata info --stats --tsv -T pairs lengths.jsonl x.bin &&
    sed 1d out | cut -f10- >>got
{ printf '1\t1\t2\t12\t%s\n' '' 1.9090909090909092
  printf '\t\t\t\t\n'; } | cmp - got
ok $? "info --stats prints repetitions, lengths and bytes per token"
gdata encode -q -T pairs -o numbered lengths.jsonl >out 2>&1
gdata decode --jsonl -T pairs numbered_*.bin 2>err | sed -n 4p >out
is "$(cat out)" '{"text":"aaaaaaaaaaaa"}' \
    "line 4 of what decode --jsonl writes is document 4"

# --- values of a field
while read -r url text; do
    echo "{\"url\":\"$url\",\"text\":\"$text\",\"language\":\"en\"}"
done >urls.jsonl <<'END'
https://b.example/1 one
http://a.example two
https://b.example:80/2?c=d#e three
https://b.example?d four
https://c.example/3 five
plain six
END
gdata info --top url --tsv --no-header urls.jsonl >out 2>err
is "$(cut -f1,2 out | tr '\t\n' ' |')" \
    "b.example 3|a.example 1|c.example 1|plain 1|" \
    "info --top lists hosts, the most frequent first"
is "$(head -n 1 out | cut -f3)" 0.5 "a value has its share of the documents"
is "$(gdata info --top language --where 'text != one' --tsv --no-header \
    urls.jsonl urls.jsonl | cut -f1,2)" "en	10" \
    "info --top counts the documents of all files that --where chooses"
cat >parts.jsonl <<'EOF'
{"text": "Menu | Home\n\nA text of\none kind.\n  Menu | Home "}
{"text": "Menu | Home\r\nA  text\tof another kind."}
{"text": "menu | home"}
{"text": ""}
EOF
printf '{"text": "%s"}\n' "$(head -c 17000 /dev/zero | tr '\0' x)" >>parts.jsonl
is "$(gdata info --top-lines --tsv --no-header parts.jsonl)" \
    "Menu | Home	2	0.4
A  text\tof another kind.	1	0.2
A text of	1	0.2
menu | home	1	0.2
one kind.	1	0.2" "info --top-lines counts a line once in a document"
is "$(gdata info --top-words 3 -n 3 --tsv --no-header parts.jsonl)" \
    "A text of	2	0.4
Home A text	2	0.4
Menu | Home	2	0.4" "info --top-words counts sequences across white space"
is "$(gdata info --top-words 64 --tsv --no-header parts.jsonl)" "" \
    "info --top-words lists nothing if all texts are shorter"
run 2 gdata info --top-words 65 parts.jsonl
ok $? "info --top-words takes at most 64"
is "$(gdata info --top url -n 2 --tsv --no-header urls.jsonl | wc -l)" 2 \
    "info --top -n lists so many values"
run 1 gdata info --top missing urls.jsonl && grep -q 'no field "missing"' err
ok $? "info --top of a field that is missing fails"
done_testing
