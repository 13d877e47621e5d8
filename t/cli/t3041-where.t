#!/bin/sh
# --where chooses documents by the fields of JSON Lines and the columns of
# Parquet.
. "$(dirname "$0")/../lib/tap.sh"
cat >w.jsonl <<'END'
{"text": "a", "score": 3, "meta": {"lang": "en", "x": {"y": 2.5}}, "ok": true}
{"text": "b", "score": 2.9, "meta": {"lang": "de"}, "ok": false, "a.b": 1}
{"meta": {"la\u006eg": "en"}, "score": null, "text": "c", "it's": "o'clock"}
{"text": "d", "score": "4", "tags": ["u", "v"], "meta": [1], "score": 1e1}
{"text": "e\u0041", "meta": "none", "ok": "true"}
END
# texts FILTER FILE: the first letters of the documents that it chooses
texts() {
    gdata dedup -q --where "$1" "$2" 2>err |
        sed 's/.*"text": *"\([a-z]*\).*/\1/' | tr -d '\n'
}
while IFS='|' read -r filter want; do
    is "$(texts "$filter" w.jsonl)" "$want" "documents are chosen: $filter"
done <<'END'
score >= 3|ad
score < 3|b
score != 3|bd
score = 10|d
meta.lang = 'en'|ac
meta.lang = en and score >= 3|a
meta.x.y > 2 or meta.lang = de|ab
meta.x.y <= 2|
meta = 'none'|e
meta = '[1]'|d
ok = true|ae
not ok = true|bcd
score is null|ce
score is not null|abd
score is finite|abd
tags like '%"v"%'|d
text in ('b', 'eA', "z")|be
text ilike 'EA'|e
a.b = 1|b
`it's` = 'o''clock'|c
|abcde
END
gdata dedup -q --where 'meta.lang = en' w.jsonl >out 2>err
is "$(cat out)" "$(sed -n '1p;3p' w.jsonl)" \
    "a document that is chosen keeps all of its fields"
gdata dedup --where 'score > 2 and scroe > 1' w.jsonl >out 2>err
like err "where leaves out 5 of 5 documents" "what is left out is counted"
like err 'warning: no document has the field "scroe" of --where' \
    "a field that no document has is named"

gdata dedup --where 'score >' w.jsonl >out 2>err
is $? 2 "a filter that is none is refused"
like err "filter: a value is expected at the end of: score >" \
    "the error quotes the filter"
echo plain >plain.txt
gdata dedup --where 'score > 1' plain.txt >out 2>err
is $? 2 "plain text cannot be filtered"
like err "plain.txt is plain text, which has no fields for --where" \
    "the file without fields is named"
printf '{"text": "x", "score": 3\n{"text": "y", "score": 3}\n' >bad.jsonl
gdata dedup --max-bad 100% --where 'score = 3' bad.jsonl >out 2>err
is "$(cat out)" '{"text": "y", "score": 3}' "a bad line is skipped as ever"

# Encoding is the same with any number of threads, and knows its filter.
awk 'BEGIN { for (i = 0; i < 30000; i++)
    printf "{\"text\": \"word %d\", \"score\": %d}\n", i, i % 7 }' >many.jsonl
awk 'NR % 7 == 0 || NR % 7 == 6' many.jsonl >few.jsonl
gdata bpe --vocab 300 -o tok few.jsonl >out 2>&1
gdata encode -q -T tok -o few few.jsonl >out 2>err
for threads in 1 4; do
    gdata encode -q -j $threads -T tok -o many --where 'score >= 5' \
        many.jsonl >out 2>err
    ok "$(cmp few_000000.bin many_000000.bin; echo $?)" \
        "$threads threads encode the documents that are chosen"
done
seeds=$top/t/fuzz/corpus/parquet
while IFS='|' read -r filter want; do
    is "$(texts "$filter" "$seeds/scalars.parquet")" "$want" \
        "rows are chosen: $filter"
done <<'END'
int > 0|ac
int is null|
long = 5|c
unsigned = 18446744073709551615|a
real < 0 and truth = false|c
real >= 1e300|b
half is not null|ac
truth = true and int = 1|a
label = 'x'|a
label is null|b
text = 'a' or label = '中'|ac
none = 1|
END
gdata dedup -q --where 'int > 0' "$seeds/scalars2.parquet" >out 2>err
gdata dedup -q "$seeds/scalars2.parquet" 2>err | sed -n '1p;4p' >want
ok "$(cmp want out; echo $?)" "rows that are chosen keep their columns"
gdata dedup -q --where 'list > 0' "$seeds/scalars.parquet" >out 2>err
is $? 2 "a column of lists cannot be compared"
like err 'needs columns of texts, numbers or truth values, and "list" is none' \
    "the column of lists is named"

# --part chooses files
mkdir files
for i in 1 2 3 4 5; do echo "{\"text\":\"$i\"}" >files/$i.jsonl; done
parts() {
    gdata dedup -q "$@" files 2>err | tr -dc '0-9'
}
is "$(parts --part 1/2) $(parts --part 2/2)" "12 345" \
    "two parts have all files, each once, in their order"
is "$(parts --part 5/5)$(parts --part 1/1)" "512345" \
    "a part may have one file, and all of them"
is "$(parts --part 2/3 --where 'text > 2')" 3 "--where chooses within a part"
for part in 0/2 3/2 2 1/2x '1/ 2' a/b 6/9; do
    gdata dedup -q --part "$part" files >out 2>err
    test $? = 2 && grep -q -- --part err || break
done
is "$part" 6/9 "what is no part of the files is refused"
like err "needs 9 files or more, not 5" "a part without a file says how many there are"
printf '[length]\nwords_min = 1\n' >rules.ini
gdata clean -q -r rules.ini -o whole.jsonl files >out 2>&1
for i in 1 2 3; do
    gdata clean -q -r rules.ini --part $i/3 -o $i.jsonl files >out 2>&1
done
cat 1.jsonl 2.jsonl 3.jsonl | cmp - whole.jsonl && test -s whole.jsonl
ok $? "what the parts give, one after the other, is what one job writes"
gdata bpe -q -n 300 -o tok files
gdata encode -q -T tok --part 2/2 -o part/x files >out 2>err &&
    gdata encode -q -T tok -o same/x files/3.jsonl files/4.jsonl files/5.jsonl >out 2>err &&
    cmp part/x_000000.bin same/x_000000.bin
ok $? "encode encodes a part of the files"
gdata encode -q -T tok --part 1/5 --where 'text > 1' --val 0.1 -o none/x files >out 2>err
is "$?$(cat err)" 0 "a part of which no document is left is encoded"
gdata verify -q none/x.tokens.lock >out 2>err
ok $? "the lock of such a part is valid"
mkdir texts
for i in 1 2 3; do seq $i $((i * 90)) >texts/$i.txt; done
for i in 1 2 3; do
    gdata encode -q -T tok --val 0.5 --part $i/3 -o text/$i texts >out 2>err
done
gdata encode -q -T tok --val 0.5 -o text/all texts >out 2>err
differs=
for set in train val; do
    cat text/all_$set*.bin | tail -c +1025 >all
    for i in 1 2 3; do
        test ! -f text/${i}_${set}_000000.bin || tail -c +1025 text/${i}_${set}_000000.bin
    done >parts
    if ! cmp parts all || ! test -s all; then differs="$differs $set"; fi
done >out 2>&1
is "$differs" "" "what a part holds out of its file of text is what the whole holds out"
gdata dedup --against files --part 1/2 files >out 2>err
is $? 2 "dedup --against reads all of its files"
done_testing
