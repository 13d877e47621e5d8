#!/bin/sh
# The likeliest ids after each token, in a file: gtrain eval --top-logits.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
awk 'BEGIN { for (i = 1; i <= 60; i++) {
    printf "{\"text\": \""
    for (k = 0; k < 40 + i * 7 % 30; k++) printf "%c", 97 + (k * k + i) % 26
    print "\"}" } }' >text.jsonl
{
    gdata bpe --vocab 270 -o tok text.jsonl &&
        gdata encode --tokenizer tok --format raw -o train text.jsonl
} >out 2>&1 || { cat out; skip_all "gdata failed"; }
small_ini data.tokenizer=tok data.train=train.bin train.micro_batch=1 \
    train.batch=4 schedule.steps=40 sample.every=0 eval.every=0 \
    optim.lr=1e-2 >tiny.ini
gtrain --config tiny.ini -q -n teacher >out 2>&1
ok $? "a model is trained" "$(cat out)"

# likeliest K FILE: the number of rows, the loss and the mass are in out
likeliest() {
    gtrain eval teacher --data train.bin --top-logits "$1" -o "$2" --tsv \
        --no-header >out 2>err
}
# numbers FILE K: after the header of NumPy, a row a line
numbers() {
    od -An -v -t u4 -w4 -j 128 "$1" | awk -v k="$2" 'NR <= 2 { next }
        { printf "%s%s", $1 + 0, (NR - 2) % (k + 1) ? " " : "\n" }'
}
likeliest 8 few.npy
ok $? "the likeliest ids are written" "$(cat err)"
od -An -v -t u2 -w2 train.bin | awk '{ print $1 }' | sed '$d' >ids
numbers few.npy 8 >rows
is "$(cut -f1 out) $(wc -l <rows | tr -d ' ') $(cut -d' ' -f1 rows | diff - ids)" \
    "$(wc -l <ids | tr -d ' ') $(wc -l <ids | tr -d ' ') " \
    "every token but the last has a row, which begins with it"
is "$(od -An -v -t u4 -j 128 -N 8 few.npy | awk '{ print $1, $2 }')" "270 8" \
    "the file has the size of the vocabulary and K before the rows"
awk -v mass="$(cut -f3 out)" '{
    split("", seen)
    for (i = 2; i <= 9; i++) {
        id = $i % 262144
        bad += id >= 270 || id in seen
        seen[id]
        sum += exp(-($i - id) / 262144 / 1024)
    } } END { d = sum / NR - mass; exit bad || NR == 0 || d * d > 1e-6 }' rows
ok $? "eight different ids have the probability that the table says" "$(cat out)"
loss=$(cut -f2 out)
gtrain eval teacher --data train.bin --stride 16 --tsv --no-header >eval 2>err
echo "$loss $(cut -f1 eval)" | awk '{ exit !(NF == 2 && ($1 - $2) ^ 2 < 1e-8) }'
ok $? "the loss is that of gtrain eval" "$(cat out eval err)"
likeliest 270 all.npy
cut -f3 out | awk '{ exit !(($1 - 1) ^ 2 < 1e-8) }'
ok $? "all ids have the probability 1" "$(cat out)"
numbers all.npy 270 >rows
gtrain eval teacher --data train.bin --weights int8 --top-logits 2 -o int8.npy \
    >out 2>err
ok $? "weights of 8 bits have likeliest ids, too" "$(cat err)"

# refused STATUS NAME MESSAGE ARGUMENT...
refused() {
    status=$1 name=$2 message=$3
    shift 3
    gtrain eval teacher "$@" >out 2>&1
    is "$? $(grep -c -e "$message" out)" "$status 1" "$name" "$(cat out)"
}
refused 2 "--top-logits without -o is refused" "needs -o" \
    --data train.bin --top-logits 8
refused 2 "-o without --top-logits is refused" "needs -o" --data train.bin -o x
refused 2 "more ids than the vocabulary has are refused" \
    "a vocabulary of 271 to 262144 ids; the model has 270" \
    --data train.bin --top-logits 271 -o x
refused 2 "two sources are refused" "needs one process, one source" \
    --data 'a:train.bin, b:train.bin' --top-logits 8 -o x
refused 1 "a file in no folder is an error" "no/x" \
    --data train.bin --top-logits 8 -o no/x
is "$(ls x* 2>/dev/null)" "" "nothing is left of what was refused"
done_testing
