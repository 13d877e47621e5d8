#!/bin/sh
# gdata leak: what is compared of a benchmark, and what cannot be checked.
. "$(dirname "$0")/../lib/tap.sh"
show_commands
words() {       # WORDS FROM COUNT: $3 different words
    awk -v name="$1" -v from="$2" -v n="$3" \
        'BEGIN { for (i = 0; i < n; i++) printf "%s%d ", name, from + i }'
}
line() {        # TEXT: a line of JSON
    printf '{"text":"%s"}\n' "$1"
}

# --- the words of a sequence: the fifth percentile of the lengths, 8 to 13
for case in 7:8 8:8 9:9 12:12 13:13 14:13; do
    length=${case%:*}
    {
        line "$(words a 0 "$length")"
        for i in $(seq 19); do line "$(words b "$i" 40)"; done
    } >twenty.jsonl
    { cat twenty.jsonl; line "$(words c 0 40)"; } >more.jsonl
    line nothing >train.jsonl
    gdata leak --train train.jsonl --eval twenty.jsonl --eval more.jsonl \
        --benchmarks --tsv >out 2>err
    test "$(cut -f1,6 out | tail -n +2 | tr '\t\n' '  ')" = \
        "twenty.jsonl ${case#*:} more.jsonl 13 "
    ok $? "the least of 20 lengths, $length, is the fifth percentile; of 21 not"
done

# --- what cannot be checked
{ line "$(words a 0 7)"; line "$(words a 10 8)"; line "$(words a 30 30)"
  line ภาษาไทยไม่มีช่องว่างระหว่างคำในประโยคเดียวกันเลย
  line 吾輩は猫である名前はまだ無い; line 吾輩は猫であ; } >eval.jsonl
line "$(words z 0 30)" >train.jsonl
gdata leak --train train.jsonl --eval eval.jsonl --benchmarks --tsv >out 2>err
test "$(tail -n +2 out | cut -f2-5)" = "6	0	0	3"
ok $? "short questions and Thai are counted as not checked, Japanese is checked"
grep -q "3 documents could not be checked" err
ok $? "a warning tells how many could not be checked"
sed -n '1p;4p' eval.jsonl >train.jsonl
gdata leak --train train.jsonl --eval eval.jsonl --benchmarks --tsv >out 2>err
test $? = 1 && test "$(tail -n +2 out | cut -f2-5)" = "6	2	0	1"
ok $? "a short question that equals a training document is found"

# --- fields of published benchmarks
printf '%s\n' '{"goal":"g","sol1":"s","label":1}' \
    '{"question":"q","answer":"a","context":"c"}' >published.jsonl
for field in question context; do
    sed "s/.*\"$field\":\"\(.\)\".*/{\"text\":\"\1\"}/;1d" published.jsonl \
        >train.jsonl
    gdata leak --train train.jsonl --eval published.jsonl >out 2>err
    echo $? >>status
done
test "$(tr '\n' ' ' <status)" = "1 0 "
ok $? "leak reads the question of a published benchmark, not its context"
seeds=$top/t/fuzz/corpus/parquet
line first >train.jsonl
gdata leak --train train.jsonl --eval "$seeds/plain.parquet" >out 2>err
test $? = 1 && grep -q "contains 2 evaluation documents" err
ok $? "a benchmark may be Parquet"

copies() {      # COUNT: documents of their own, each with the question twice
    for i in $(seq "$1"); do
        line "$(words "w$i-" 0 50)$question$question$(words "v$i-" 0 50)"
    done
}
question=$(words q 0 13)
line "$question" >eval.jsonl
for n in 10 11; do
    copies "$n" >train.jsonl
    gdata leak --train train.jsonl --eval eval.jsonl --benchmarks --tsv \
        --no-header >out 2>err
    is "$(cut -f7-9 out)" "1	1	$((n == 11))" \
        "a sequence in $n documents is $(test "$n" = 11 || echo not) common"
done
done_testing
