#!/bin/sh
# gdata dedup --near: which documents are similar, and which of them stays.
. "$(dirname "$0")/../lib/tap.sh"
show_commands
run() {         # run STATUS COMMAND...: out, err
    want=$1
    shift
    "$@" >out 2>err
    test $? = "$want"
}
# PAIRS SAME WORDS: pairs of documents of WORDS words, of which the first SAME
# are equal, so they have SAME - 4 sequences of five words in common, of
# 2 * WORDS - SAME - 4 in all
pairs() {
    awk -v pairs="$1" -v same="$2" -v words="$3" -v from="${4:-0}" '
        function text(common,    s, i) {
            for (i = 0; i < words; i++)
                s = s " w" (i < same ? common "x" i : next_word++)
            return "{\"text\":\"" s "\"}"
        }
        BEGIN {
            next_word = from
            for (p = 0; p < pairs; p++)
                print text(p + from) "\n" text(p + from)
        }'
}
numbers() {     # FROM TO: as words
    awk -v i="$1" -v to="$2" 'BEGIN { for (; i < to; i++) printf "n%d ", i }'
}
doc() {         # TEXT
    printf '{"text":"%s"}\n' "$1"
}

# --- recall: 1,000 pairs of each similarity
for percent in 75 80 85 90; do
    same=$(awk -v s="$percent" 'BEGIN {
        s /= 100; printf "%.0f", 4 + 2 * 250 * s / (1 + s) }')
    pairs 1000 "$same" 254 >planted.jsonl
    run 0 gdata dedup --near --similarity 0.5 planted.jsonl -o found.jsonl
    awk -v same="$same" -v got="$((2000 - $(wc -l <found.jsonl)))" 'BEGIN {
        s = (same - 4) / (500 - same + 4)
        p = 1 - (1 - s ^ 8) ^ 14
        sigma = sqrt(1000 * p * (1 - p))
        print "# " got " of 1000 found, expected " 1000 * p " +- " sigma
        exit !(got >= 1000 * p - 3 * sigma && got <= 1000 * p + 3 * sigma)
    }'
    ok $? "as many pairs of similarity 0.$percent are found as MinHash promises"
done

# --- precision: candidates are compared
pairs 500 172 200 >three.jsonl           # 168 of 224: 0.75
pairs 500 171 200 >less.jsonl            # 167 of 225
run 0 gdata dedup --near less.jsonl && cmp -s out less.jsonl
ok $? "documents of less than the similarity stay"
run 0 gdata dedup -v --near three.jsonl
grep -c ' is similar to .*(0\.7500)$' err >many
test "$(cat many)" -gt 300 && test "$(wc -l <out)" = "$((1000 - $(cat many)))"
ok $? "dedup -v names each pair with its exact similarity"
run 0 gdata dedup --near --similarity 0.76 three.jsonl && cmp -s out three.jsonl
ok $? "--similarity tells how similar the documents must be"

# --- which document stays
a=$(numbers 0 400) b=$(numbers 20 420) c=$(numbers 40 440)
doc "$c" >1.jsonl
{ doc "other words that nothing else here has"; doc "$a"; doc "$b"; } >2.jsonl
run 0 gdata dedup -v --near --similarity 0.9 1.jsonl 2.jsonl
{ cat 1.jsonl; sed -n 1p 2.jsonl; } | cmp -s - out
ok $? "of documents that others connect, the first of the input stays"
grep -q "2.jsonl:3 is similar to 1.jsonl:1 (0.9038)" err &&
    grep -q "2.jsonl:3 is similar to 2.jsonl:2 (0.9038)" err
ok $? "pairs are named by files and lines"
grep -q "2 documents kept, 2 left out" err &&
    grep -q "2 of those left out are similar" err
ok $? "dedup counts the documents that are similar"
sed -n 3p 2.jsonl >3.jsonl
run 0 gdata dedup -v --near --similarity 0.9 --against 1.jsonl \
    --against 3.jsonl 2.jsonl
sed -n 1p 2.jsonl | cmp -s - out && grep -q "1 document kept, 2 left out" err
ok $? "documents that are similar to those of --against are left out"
printf '{"id":1,"text":"%s"}\n{"text":"%s","id":2}\n{"id":3,"text":"%s!"}\n' \
    "$a" "$a" "$a" >fields.jsonl
run 0 gdata dedup --near fields.jsonl && sed 1q fields.jsonl | cmp -s - out
ok $? "documents with other fields are similar if their texts are"
grep -q "1 documents* kept, 2 left out" err &&
    grep -q "1 of those left out are similar" err
ok $? "equal documents are not counted as similar"
{ doc 'Hello, world!'; doc 'hello world'; doc 'hello'; doc '...'; doc '!!!'
  doc ''; } >short.jsonl
run 0 gdata dedup --near short.jsonl
sed 2d short.jsonl | cmp -s - out
ok $? "letter case and punctuation do not count, and texts without words differ"
awk 'BEGIN { for (i = 0; i < 60000; i++) print "line " i * 7 }' >long.txt
sed 's/^line 700$/another/' long.txt >long2.txt
run 0 gdata dedup --near long.txt long2.txt && test "$(wc -l <out)" = 1
ok $? "documents of several blocks are compared whole"

# --- any number of threads, little memory
{ cat three.jsonl; pairs 300 240 300 1000000; cat 1.jsonl 2.jsonl; } >mix.jsonl
gdata dedup -v --near -j1 mix.jsonl >want 2>pairs
test "$(wc -l <want)" -lt "$(wc -l <mix.jsonl)"
for how in -j2 -j7 '-j3 -m 16MiB' '-j1 -m 8GiB'; do
    gdata dedup -v --near $how mix.jsonl >out 2>err
    grep similar pairs >pairs.want
    grep similar err | cmp - pairs.want && cmp out want || break
done
ok $? "the result of dedup --near depends on no threads and no memory"
awk 'BEGIN { for (i = 0; i < 500000; i++) print "{\"text\":\"" i "\"}" }' \
    >many.jsonl
run 2 gdata dedup --near -m 16MiB many.jsonl -o none.jsonl
grep -q "documents are the most .* 16.0 MiB of --memory" err &&
    ! test -e none.jsonl
ok $? "documents that need more than --memory are an error"

# --- input and output
run 2 gdata dedup --near --input jsonl - <mix.jsonl &&
    grep -q "reads its input several times, so .* no pipes" err
ok $? "--near refuses standard input"
mkfifo pipe
run 2 gdata dedup --near --input jsonl pipe && grep -q "no pipes" err
ok $? "--near refuses a pipe without waiting for it"
for option in '--similarity 0' '--similarity 1.5' '-m 1MiB' '-j 2000'; do
    run 2 gdata dedup --near $option mix.jsonl || break
done
ok $? "values that make no sense are refused"
(trap '' XFSZ; ulimit -f 20
 run 1 env TMPDIR="$dir" gdata dedup --near mix.jsonl -o none.jsonl) &&
    grep -q "cannot write temporary files in .*: File too large" err &&
    ! test -e none.jsonl && ! ls | grep -q saving
ok $? "a full disk for temporary files is an error that leaves no file"
run 1 env TMPDIR=/nowhere gdata dedup --near mix.jsonl -o none.jsonl
grep -q "temporary file in /nowhere" err && ! test -e none.jsonl
ok $? "a missing folder for temporary files is an error"

disturb=$build/t/lib/disturb
mkdir tmp
count=$(TMPDIR=$dir/tmp "$disturb" -c write \
    "$build/gdata" dedup -q --near -j2 mix.jsonl -o killed.jsonl 2>&1 |
    tail -n 1 | tr -dc 0-9)
rm -f killed.jsonl
if test -z "$count"; then
    skip "dedup --near that is killed leaves no output" "no seccomp"
else
    for part in 1 2 3 4 5 6 7 8 9; do
        TMPDIR=$dir/tmp "$disturb" -c write -n $((count * part / 10 + 1)) \
            "$build/gdata" dedup -q --near -j2 mix.jsonl -o killed.jsonl \
            2>/dev/null
        test $? = 137 && ! test -e killed.jsonl &&
            test -z "$(find tmp -size +0)" || break
    done && gdata dedup -q --near mix.jsonl -o killed.jsonl 2>err &&
        cmp killed.jsonl want && ! ls | grep -q saving
    ok $? "dedup --near that is killed leaves no output"
fi
done_testing
