#!/bin/sh
# bpe - tokenizers are learnt as others learn them
set -u
: "${top_srcdir:=.}"
data=${GT_TESTDATA:-$top_srcdir/../shared/data}
data=$(cd "$data" 2>/dev/null && pwd) || data=/nonexistent
dir=$(mktemp -d "${TMPDIR:-/tmp}/bpe.XXXXXX") && cd "$dir" || exit 1
trap 'rm -rf "$dir"' 0
n=0

check() {               # check WHAT COMMAND...
    what=$1 n=$((n + 1))
    shift
    if "$@" >out 2>err; then
        echo "ok $n - $what"
    else
        echo "not ok $n - $what"
        sed 's/^/# /' out err
    fi
}

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
        check "Hugging Face's $vocab ids" same_merges \
            "$data/bpe/tiny_hf_$vocab.merges.txt" $((vocab + 1)) "$text"
        check "the same $vocab with three threads" same_merges \
            "$data/bpe/tiny_hf_$vocab.merges.txt" $((vocab + 1)) \
            --threads 3 "$text"
        check "CS336's $vocab ids" same_merges \
            "$data/bpe/tiny_cs336_$vocab.merges.txt" $((vocab + 1)) \
            --ties cs336 "$text"
    done
    check "CS336's own example" same_merges \
        "$data/bpe/cs336/train-bpe-reference-merges.txt" 500 --ties cs336 \
        "$data/bpe/cs336/corpus.en"
else
    n=$((n + 1))
    echo "ok $n - merges of others # SKIP no $data"
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

check "one thread" gdata bpe -q -j1 -n 600 -o one text
check "five threads" gdata bpe -q -j5 -n 600 -o five text
check "they learn the same" cmp one/tokenizer.json five/tokenizer.json

i=0
while test $i -lt 3000; do
    printf '{"text": "w%d a%db%d zz<|endoftext|>zz"}\n' $i $((i * 7)) $((i % 9))
    i=$((i + 1))
done >many.jsonl
check "pieces of JSON Lines" gdata bpe -q -n 300 -o json many.jsonl
check "special tokens are never learnt from" \
    sh -c '! grep -e "<" -e "|" json/merges.txt'

split_merges() {
    gdata bpe -q -n 400 --split "$1" -o "$1" text && grep -q '.' "$1"/merges.txt
}
check "with cl100k's pieces" split_merges cl100k
check "which are not GPT-2's" sh -c '! cmp -s cl100k/merges.txt one/merges.txt'
check "its tokenizer.json names the pattern" grep -q 'N}{1,3}' \
    cl100k/tokenizer.json

printf 'ab\303\251\nba' >letters
check "characters" gdata bpe -q --chars -o chars letters
check "which meta.pkl holds" test -s chars/meta.pkl
check "too few pairs is said, and is no error" sh -c \
    'gdata bpe -n 5000 -o few letters 2>err && grep "instead of 5000" err'

awk 'BEGIN { for (i = 0; i < 150000; i++) print "w" (i * 7919) % 1000003 }' \
    >distinct
check "little memory" sh -c \
    'gdata bpe -j1 -m 16MiB -n 500 -o little distinct 2>err &&
    grep "rare pieces were left out" err'
check "little memory, more threads" gdata bpe -q -j4 -m 16MiB -n 500 -o little4 \
    distinct
check "the limit decides, not the threads" cmp little/merges.txt \
    little4/merges.txt

check "a folder for temporary files that is not there" fails 1 \
    "temporary file in /nowhere" env TMPDIR=/nowhere \
    gdata bpe -j1 -m 16MiB -n 500 -o x distinct
small_files() {
    (trap '' XFSZ; ulimit -f 64
     fails 1 "cannot write a temporary file in .*: File too large" env \
         TMPDIR="$dir" gdata bpe -j1 -m 16MiB -n 500 -o x distinct)
}
check "one that is full" small_files

check "a tie rule nobody has" fails 2 "hf or cs336" \
    gdata bpe --ties x -o x text
printf 'some words are enough' >few.txt
check "what a form of tokenizer cannot say is said" sh -c '
    gdata bpe -q -n 270 --split o200k -o few few.txt 2>/dev/null &&
    gdata vocab few -w hf -o few >/dev/null 2>quiet && ! test -s quiet &&
    for kind in merges gpt2 tiktoken; do
        gdata vocab few -w $kind -o few >/dev/null 2>words &&
        grep -q "$kind: this form does not name the pre-tokenizer o200k" words || exit 1
    done
    gdata bpe -q -n 270 -o plain few.txt 2>/dev/null &&
    gdata vocab plain -w merges -w tiktoken -o plain >/dev/null 2>quiet &&
    ! test -s quiet'
check "a vocabulary that is too large" fails 2 "to 65536" \
    gdata bpe -n 65537 -o x text
check "no output" fails 2 "-o FOLDER" gdata bpe text
check "no input" fails 2 "name the text" gdata bpe -o x
check "a file that is not there" fails 3 "missing.txt" \
    gdata bpe -o x missing.txt
check "nothing was left behind" test ! -e x

echo "1..$n"
