#!/bin/sh
# gdata encode --shuffle: the documents of all files in another order.
. "$(dirname "$0")/../lib/tap.sh"

for f in a b c; do
    awk -v f=$f 'BEGIN { for (i = 0; i < 120; i++) {
        t = ""
        for (k = 0; k < i % 40; k++) t = t " word" (k * i) % 97
        print "{\"text\": \"" f i t "\"}" } }' >$f.jsonl
done
cat a.jsonl b.jsonl c.jsonl >all.jsonl
gdata bpe --vocab 300 -o tok all.jsonl >out 2>&1

# enc FOLDER [OPTION]...: encode the three files
enc() {
    folder=$1
    shift
    gdata encode -q -T tok -o "$folder/x" --shard-tokens 2000 "$@" \
        a.jsonl b.jsonl c.jsonl >out 2>err
}
# documents FOLDER [SUBSET]: one on each line
documents() {
    gdata decode --special -T tok "$1"/x_"${2-}"*.bin |
        sed 's/<|endoftext|>/\n/g' | sed 1d
}

enc plain && enc one --shuffle 1 -j1
is $? 0 "documents are shuffled"
documents plain >plain.txt
documents one >one.txt
ok "$(sort plain.txt >p; sort one.txt >o; test "$(wc -l <p)" -eq 360 &&
    cmp -s p o; echo $?)" "a shuffled corpus has the same documents"
is "$(cut -c1 one.txt | head -n 60 | sort -u | tr -d '\n')" abc \
    "the documents of all files are mixed"
ok "$(test "$(cut -c1 one.txt | uniq | wc -l)" -gt 180; echo $?)" \
    "a document rarely follows one of its file"
enc four --shuffle 1 -j4
ok "$(diff -r one four >diff; echo $?)" \
    "a seed gives the same shards with any number of threads" "$(cat diff)"
enc two --shuffle 2
ok "$(cmp -s one/x_000000.bin two/x_000000.bin; test $? -eq 1; echo $?)" \
    "another seed gives another order"
is "$(ls -A one | tr '\n' ' ' | sed 's/x_00000[0-9].bin //g')" \
    "x.tokens.lock " "only shards and their lock are left"
gdata verify one/x.tokens.lock >out 2>err
ok $? "the lock lists the shuffled shards"

enc held --val 0.2 && enc shuffled --val 0.2 --shuffle 3
documents held val | sort >h
documents shuffled val | sort >s
ok "$(test -s h && cmp -s h s; echo $?)" \
    "the documents that are held out do not depend on the order"
enc first --split shard --shuffle 3
is "$(documents first val_000000 | cut -c1 | sort -u | tr -d '\n')" abc \
    "the first shard is one of shuffled documents"
enc some --shuffle 4 --tokens 900
ok "$(gdata info --tsv --no-header some/x_000000.bin >out 2>err &&
    grep -q 900 out; echo $?)" "as many tokens are shuffled as were asked for"

gdata encode -T tok -o e/x --shuffle 1 --eot last a.jsonl >out 2>err
is $? 2 "documents that end with their end-of-text token are refused"
like err "shuffle needs --eot first" "the error says what is needed"
gdata encode -T tok -o e/x --shuffle -5 a.jsonl >out 2>err
is $? 2 "a negative seed is refused"
cat all.jsonl | gdata encode -q -T tok --input jsonl -o piped/x --shuffle 1 \
    --shard-tokens 2000 - >out 2>err
is $? 0 "what a pipe has is shuffled"
ok "$(documents piped | sort | cmp -s - p &&
    test -z "$(find piped -name '*unshuffled*')"; echo $?)" \
    "a pipe leaves nothing but the shards"

# Killed at any moment, the same command comes to the same shards.
killed() {
    for at in 1 2 3 5 8 13 21 34 55 89; do
        rm -rf broken
        strace -f -qq -e trace=write -e inject=write:signal=KILL:when=$at \
            -o /dev/null gdata encode -q -j2 -T tok -o broken/x --shuffle 1 \
            --mark-every 0 --shard-tokens 2000 a.jsonl b.jsonl c.jsonl \
            >/dev/null 2>&1
        gdata encode -q -j3 -T tok -o broken/x --shuffle 1 --mark-every 0 \
            --shard-tokens 2000 a.jsonl b.jsonl c.jsonl >/dev/null &&
            diff -r one broken || return
    done
}
if strace -o /dev/null true 2>/dev/null; then
    check "a shuffle that was killed comes to the same shards" killed
else
    skip "a shuffle that was killed comes to the same shards" "no strace"
fi
# What was encoded is not encoded again when writing the shards has failed.
mkdir -p again/x_000000.bin.part
enc again --shuffle 1
is $? 1 "a shard that cannot be written is an error"
like err "x_000000.bin" "the shard is named"
rmdir again/x_000000.bin.part
gdata encode -T tok -o again/x --shuffle 1 --shard-tokens 2000 a.jsonl b.jsonl \
    c.jsonl >out 2>err
ok "$(diff -r one again >diff; echo $?)" "a second try writes the shards" \
    "$(cat diff)"
unlike err "360 documents" "the text is not encoded again"
done_testing
