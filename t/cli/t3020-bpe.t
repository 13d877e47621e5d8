#!/bin/sh
# bpe - tokenizers are learnt as others learn them
. "$(dirname "$0")/../lib/tap.sh"
set -u
data=$testdata

same_merges() {         # same_merges REFERENCE VOCAB OPTION... INPUT
    want=$1 ids=$2
    shift 2
    rm -rf tok
    gdata bpe -q -n "$ids" -o tok "$@" || return 1
    grep -v '^#version' tok/merges.txt >got
    grep -v '^#version' "$want" | cmp got -
}

fails() {               # fails STATUS WORDS COMMAND...
    status=$1 words=$2
    shift 2
    "$@" 2>err
    test $? -eq "$status" && grep -q -e "$words" err
}

if test -f "$data/tinyshakespeare.txt"; then
    text=$data/tinyshakespeare.txt
    for vocab in 512 1000; do
        check "bpe learns the $vocab ids of Hugging Face" same_merges \
            "$data/bpe/tiny_hf_$vocab.merges.txt" $((vocab + 1)) "$text"
        check "bpe learns those $vocab ids with three threads" same_merges \
            "$data/bpe/tiny_hf_$vocab.merges.txt" $((vocab + 1)) \
            --threads 3 "$text"
        check "bpe --ties cs336 learns the $vocab ids of CS336" same_merges \
            "$data/bpe/tiny_cs336_$vocab.merges.txt" $((vocab + 1)) \
            --ties cs336 "$text"
    done
    check "bpe --ties cs336 learns the example of CS336" same_merges \
        "$data/bpe/cs336/train-bpe-reference-merges.txt" 500 --ties cs336 \
        "$data/bpe/cs336/corpus.en"
else
    skip "bpe learns the merges of other programs" "no $data"
fi

# A text with runs, ties, numbers and letters of several alphabets.
awk 'BEGIN {
    for (i = 0; i < 3000; i++) {
        x = (x * 1103515245 + 12345) % 2147483648
        printf "%s%s", substr("the cat sat onn aaaa 1234 x--y " \
            "\303\251t\303\251 \346\274\242\345\255\227 ", x % 40 + 1, 9),
            i % 17 ? " " : "\n"
    }
}' >text

check "bpe learns with one thread" gdata bpe -q -j1 -n 600 -o one text
check "bpe learns with five threads" gdata bpe -q -j5 -n 600 -o five text
check "one and five threads give the same tokenizer" \
    cmp one/tokenizer.json five/tokenizer.json

i=0
while test $i -lt 3000; do
    printf '{"text": "w%d a%db%d zz<|endoftext|>zz"}\n' $i $((i * 7)) $((i % 9))
    i=$((i + 1))
done >many.jsonl
check "bpe learns from JSON Lines" gdata bpe -q -n 300 -o json many.jsonl
check "bpe does not learn from special tokens" \
    sh -c '! grep -e "<" -e "|" json/merges.txt'

split_merges() {
    gdata bpe -q -n 400 --split "$1" -o "$1" text && grep -q '.' "$1"/merges.txt
}
check "bpe --split cl100k learns a tokenizer" split_merges cl100k
check "the merges with cl100k's pieces differ from GPT-2's" \
    sh -c '! cmp -s cl100k/merges.txt one/merges.txt'
check "the tokenizer.json of cl100k has its pattern" grep -q 'N}{1,3}' \
    cl100k/tokenizer.json

printf 'ab\303\251\nba' >letters
check "bpe --chars makes a vocabulary of characters" \
    gdata bpe -q --chars -o chars letters
check "bpe --chars writes meta.pkl" test -s chars/meta.pkl
check "a vocabulary that cannot be filled is a warning" sh -c \
    'gdata bpe -n 5000 -o few letters 2>err && grep "instead of 5000" err'

awk 'BEGIN { for (i = 0; i < 150000; i++) print "w" (i * 7919) % 1000003 }' \
    >distinct
check "bpe -m leaves rare words out" sh -c \
    'gdata bpe -j1 -m 16MiB -n 500 -o little distinct 2>err &&
    grep "rare pieces were left out" err'
check "bpe -m works with four threads" \
    gdata bpe -q -j4 -m 16MiB -n 500 -o little4 \
    distinct
check "bpe -m gives one result with any number of threads" \
    cmp little/merges.txt \
    little4/merges.txt

check "a missing folder for temporary files is an error" fails 1 \
    "temporary file in /nowhere" env TMPDIR=/nowhere \
    gdata bpe -j1 -m 16MiB -n 500 -o x distinct
small_files() {
    (trap '' XFSZ; ulimit -f 64
     fails 1 "cannot write a temporary file in .*: File too large" env \
         TMPDIR="$dir" gdata bpe -j1 -m 16MiB -n 500 -o x distinct)
}
check "a full disk for temporary files is an error" small_files

check "an unknown rule for ties is refused" fails 2 "hf or cs336" \
    gdata bpe --ties x -o x text
printf 'some words are enough' >few.txt
check "vocab warns of what a tokenizer's format cannot express" sh -c '
    gdata bpe -q -n 270 --split o200k -o few few.txt 2>/dev/null &&
    gdata vocab few -w hf -o few >/dev/null 2>quiet && ! test -s quiet &&
    for kind in merges gpt2 tiktoken; do
        gdata vocab few -w $kind -o few >/dev/null 2>words &&
        grep -q "$kind: this form does not name the pre-tokenizer o200k" words || exit 1
    done
    gdata bpe -q -n 270 -o plain few.txt 2>/dev/null &&
    gdata vocab plain -w merges -o plain >/dev/null 2>quiet &&
    ! test -s quiet'
check "vocab reads a list of tokens with the pre-tokenizer of --split" sh -c '
    gdata vocab few --tsv | cut -f8 >want && test -s want &&
    ! gdata vocab few/tokenizer.tiktoken 2>err && grep -q "vocab --split" err &&
    gdata vocab --tsv --split o200k few/tokenizer.tiktoken | cut -f8 >got &&
    cmp want got'
check "a vocabulary that is too large is refused" fails 2 "to 65536" \
    gdata bpe -n 65537 -o x text
check "bpe without -o is refused" fails 2 "-o FOLDER" gdata bpe text
check "bpe without files is refused" fails 2 "name the text" gdata bpe -o x
check "bpe of a missing file is refused" fails 3 "missing.txt" \
    gdata bpe -o x missing.txt
check "bpe leaves no file after an error" test ! -e x

done_testing
