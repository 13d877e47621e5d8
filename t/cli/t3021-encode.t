#!/bin/sh
# encode, decode - text to files of tokens and back
# shellcheck disable=SC2016 # it is the inner shell that expands
set -u
: "${top_srcdir:=.}"
data=${GT_TESTDATA:-$top_srcdir/../shared/data}
data=$(cd "$data" 2>/dev/null && pwd) || data=/nonexistent
dir=$(mktemp -d "${TMPDIR:-/tmp}/encode.XXXXXX") && cd "$dir" || exit 1
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

fails() {               # fails STATUS WORDS COMMAND...
    status=$1 words=$2
    shift 2
    "$@" 2>err
    test $? -eq "$status" && grep -q -e "$words" err
}

sum() {                 # sum HEX FILE
    test "$(sha256sum <"$2" | cut -c1-64)" = "$1"
}

same_files() {          # same_files FOLDER FOLDER
    diff -r "$1" "$2"
}

gpt2=$data/gpt2
tiny=$data/tinyshakespeare.txt
if test -f "$gpt2/vocab.bpe" && test -f "$tiny"; then
    check "nanoGPT's shakespeare" gdata encode -T "$gpt2" -o shake/ \
        --format raw --eot none --split tail --val 0.1 "$tiny"
    check "its train.bin" sum 502a2bdc8210d1ac5d5674867cb74467dd31db575d25cf6dbb08c8bdbea8680f shake/train.bin
    check "its val.bin" sum 68a53422394c26a655ebe641f5c6f49888e8f4e45fe5d6f02abda63ba3ebd65b shake/val.bin
    gdata bpe -q --chars -o char "$tiny"
    check "nanoGPT's characters" gdata encode -T char -o char/ \
        --format raw --eot none --split tail --val 0.1 "$tiny"
    check "their train.bin" sum 6ec305602a99ac2802745a134e1f5e33e2231b4855525b00b9aebb730ac2626f char/train.bin
    check "their val.bin" sum d37d30cc0c8327c270d493299c3dca54135f6d5f1c9ef60cda78076e311204b1 char/val.bin
    check "a tokenizer in other forms" gdata vocab "$gpt2" -o forms \
        -w llmc -w tiktoken -w gpt2 -w hf
    check "llm.c's" sum 6f3abc21e444e4e8300e225f4e03da48ea121cf17e30f67009b8dad7a66c2f13 forms/gpt2_tokenizer.bin
    check "tiktoken's" cmp forms/tokenizer.tiktoken "$gpt2/r50k_base.tiktoken"
    check "GPT-2's" cmp forms/vocab.bpe "$gpt2/vocab.bpe"
    check "text and back" sh -c \
        'gdata encode -q -T "$1" -o back "$2" &&
        gdata decode -T "$1" back_000000.bin | cmp - "$2"' - "$gpt2" "$tiny"
else
    n=$((n + 1))
    echo "ok $n - files of others # SKIP no $gpt2 or $tiny"
fi
if test -f "$data/c4/c4-train.00001-of-00004.json.gz"; then
    check "JSON in gzip" gdata encode -q -T "$gpt2" -o c4 --format raw \
        "$data/c4/c4-train.00001-of-00004.json.gz"
    check "is what tiktoken makes of it" sum 07fd1857c581ba19199eb1c648c9a095adaffc50879a984d433da4ce5873d564 c4.bin
    rm c4.bin
else
    n=$((n + 1))
    echo "ok $n - JSON in gzip # SKIP no $data/c4"
fi

# A tokenizer and a corpus of our own.
awk 'BEGIN {
    for (i = 0; i < 20000; i++) {
        x = (x * 1103515245 + 12345) % 2147483648
        w = substr("the cat sat on a mat 1234 x--y <|endoftext|> caf\303\251 " \
            "don'"'"'t  stop\t now ", x % 50 + 1, 11)
        gsub(/[\t\\"]/, " ", w)
        t = t w
        if (i % 40 == 39) {
            printf "{\"id\": %d, \"text\": \"%s\\n\\u00e9\"}\n", i, t
            t = ""
        }
    }
}' >docs.jsonl
gdata bpe -q -n 400 -o tok docs.jsonl
enc() {                 # enc FOLDER OPTION...
    rm -rf "$1"
    into=$1
    shift
    gdata encode -q -T tok -o "$into/x" "$@" >/dev/null
}
check "one thread" enc one -j1 --shard-tokens 7000 --val 0.1 docs.jsonl
check "seven threads" enc seven -j7 --shard-tokens 7000 --val 0.1 docs.jsonl
check "write the same files" same_files one seven
check "of the size that was asked for" sh -c \
    'test "$(wc -c <one/x_train_000000.bin)" -eq $((1024 + 14000))'
enc whole --shard-tokens 10M docs.jsonl
check "nothing is lost between shards" sh -c '
    enc() { gdata encode -q -T tok -o "$1" --format raw "$2" docs.jsonl; }
    enc parts --shard-tokens=999 >/dev/null && enc all --shard-tokens=9M >/dev/null
    cat parts_*.bin | cmp - all_000000.bin'
check "every document begins with the end of text" sh -c '
    gdata decode -T tok --special whole/x_000000.bin | head -c 13 |
    grep "^<|endoftext|>$"'
check "in JSON Lines nothing is lost" sh -c '
    gdata decode -T tok --jsonl whole/x_000000.bin >back.jsonl
    gdata encode -q -T tok -o again/x back.jsonl >/dev/null
    cmp whole/x_000000.bin again/x_000000.bin'
check "a full disk behind standard output" sh -c '
    for i in 1 2 3 4; do cat docs.jsonl docs.jsonl; done >many.jsonl
    gdata encode -q -T tok -o many many.jsonl >/dev/null
    ! gdata decode -T tok many_000000.bin >/dev/full 2>err &&
    grep "cannot write standard output" err'
check "but nobody who reads on is no failure" sh -c '
    (gdata decode -T tok many_000000.bin; echo $? >status) | head -c 3 >out3 &&
    grep -x 0 status'
check "first and count" sh -c '
    gdata decode -T tok --special whole/x_000000.bin >all.txt
    { gdata decode -T tok --special -n 500 whole/x_000000.bin
      gdata decode -T tok --special --first 500 whole/x_000000.bin
    } | cmp - all.txt'

check "into a pipe that has a name" sh -c '
    mkfifo pipe && { timeout 20 cat pipe >got & } &&
    gdata decode -T tok --special -o pipe whole/x_000000.bin && wait &&
    test -p pipe && cmp got all.txt'
check "through a symbolic link" sh -c '
    echo old >file && ln -s file link &&
    gdata decode -T tok --special -o link whole/x_000000.bin &&
    test -h link && cmp file all.txt'

check "the hash of a document decides, wherever it is" sh -c '
    sort -r docs.jsonl >rev.jsonl
    gdata encode -q -T tok -o rev --val 0.1 rev.jsonl >/dev/null
    gdata encode -q -T tok -o fwd --val 0.1 docs.jsonl >/dev/null
    gdata decode -T tok --jsonl fwd_val_000000.bin | sort >a
    gdata decode -T tok --jsonl rev_val_000000.bin | sort >b
    test -s a && cmp a b'
check "three splits" enc three --val 0.2 --test 0.2 docs.jsonl
check "have three files" test -s three/x_train_000000.bin -a \
    -s three/x_val_000000.bin -a -s three/x_test_000000.bin
check "the first shard is held out" sh -c '
    gdata encode -q -T tok -o sh/x --split shard --shard-tokens 9000 \
        docs.jsonl >/dev/null && ls sh | head -2 | tr "\n" " " |
    grep "x_train_000001.bin x_train_000002.bin" && test -s sh/x_val_000000.bin'
check "a split that gets nothing is told of" sh -c '
    head -1 docs.jsonl >one.jsonl
    gdata encode -q -T tok -o lone --val 0.3 one.jsonl 2>err >/dev/null &&
    grep "no document was chosen for .train. (of 1).*--split tail" err'
check "a share of the end" enc tail --split tail --val 0.25 docs.jsonl
check "enough is enough" sh -c '
    gdata encode -q -T tok -o few -n 1234 docs.jsonl >/dev/null &&
    test "$(wc -c <few_000000.bin)" -eq $((1024 + 2 * 1234))'
check "standard input" sh -c '
    gdata encode -q -T tok -o in/x --input jsonl - <docs.jsonl >/dev/null &&
    cmp in/x_000000.bin whole/x_000000.bin'

printf 'a<|endoftext|>b' >special.txt
check "special tokens are text" sh -c '
    gdata encode -q -T tok -o sp1 special.txt >/dev/null &&
    test "$(wc -c <sp1_000000.bin)" -gt 1032'
check "unless they are meant" sh -c '
    gdata encode -q -T tok --special -o sp2 special.txt >/dev/null &&
    test "$(wc -c <sp2_000000.bin)" -eq 1032'
awk 'BEGIN { for (i = 0; i < 60000; i++) printf "<end of text>" }' >ends.txt
check "also where a long text is read in parts" sh -c '
    gdata bpe -q -n 300 --special "<end of text>" -o ends ends.txt 2>/dev/null
    gdata encode -q -T ends --special --eot none --format raw -o sp3 ends.txt \
        >/dev/null && test "$(wc -c <sp3.bin)" -eq 120000'
printf 'ok \377\303 end' >broken.txt
check "bytes that are no UTF-8 come back" sh -c '
    gdata encode -q -T tok -o br broken.txt >/dev/null &&
    gdata decode -T tok br_000000.bin | cmp - broken.txt'
check "or are replaced" sh -c '
    gdata encode -q -T tok --invalid replace -o br broken.txt >/dev/null &&
    printf "ok \357\277\275\357\277\275 end" >want &&
    gdata decode -T tok br_000000.bin | cmp - want'

# Killed at any moment, it goes on and comes to the same.
cat docs.jsonl docs.jsonl docs.jsonl docs.jsonl >long.jsonl
enc unbroken -j2 --shard-tokens 20000 --val 0.1 long.jsonl
killed() {
    rm -rf broken
    for at in 1 3 8 20 45; do
        strace -f -qq -e trace=write -e inject=write:signal=KILL:when=$at \
            -o /dev/null gdata encode -q -j2 -T tok -o broken/x \
            --mark-every 0 --shard-tokens 20000 --val 0.1 long.jsonl \
            >/dev/null 2>&1
    done
    gdata encode -q -j3 -T tok -o broken/x --mark-every 0 \
        --shard-tokens 20000 --val 0.1 long.jsonl >/dev/null &&
        diff -r unbroken broken
}
interrupted() {
    rm -rf broken
    strace -f -qq -e trace=write -e inject=write:signal=INT:when=3 \
        -o /dev/null gdata encode -q -j1 -T tok -o broken/x \
        --shard-tokens 20000 --val 0.1 long.jsonl >/dev/null
    test $? -eq 75 && test -f broken/x.state &&
        gdata encode -q -j3 -T tok -o broken/x --shard-tokens 20000 \
            --val 0.1 long.jsonl >/dev/null && diff -r unbroken broken
}
if strace -o /dev/null true 2>/dev/null; then
    check "killed five times" killed
    check "interrupted: status 75, and it goes on" interrupted
else
    n=$((n + 1))
    echo "ok $n - killed five times # SKIP no strace"
fi
check "nothing but files of tokens is left" sh -c \
    '! ls -R | grep -e "[.]part" -e "[.]state" -e "[.]tmp"'

check "a run with fewer files" sh -c '
    gdata encode -q -T tok -o one/x --val 0.1 docs.jsonl 2>err >/dev/null &&
    test ! -e one/x_train_000001.bin && grep "earlier run" err'
printf 'z\n' >letters.txt
gdata bpe -q --chars -o letters letters.txt
check "a character without id" fails 1 "has no id" \
    gdata encode -T letters --eot none -o bad docs.jsonl
check "a tokenizer without end of text" fails 2 "eot none" \
    gdata encode -T letters -o bad docs.jsonl
check "leave no files" sh -c '! ls bad*'
check "no tokenizer" fails 2 "name the tokenizer" gdata encode -o x docs.jsonl
check "one that is not there" fails 3 "no tokenizer" \
    gdata encode -T nowhere -o x docs.jsonl
check "no prefix" fails 2 "-o PREFIX" gdata encode -T tok docs.jsonl
check "shares above 1" fails 2 "below 1" \
    gdata encode -T tok -o x --val 0.7 --test 0.4 docs.jsonl
check "another tokenizer's ids" fails 1 "token 0 .* ids below" \
    gdata decode -T letters whole/x_000000.bin
check "text where tokens should be" fails 1 "name is that of a text" \
    gdata decode -T tok docs.jsonl
check "what a tokenizer is" sh -c \
    'gdata vocab tok | grep "^bpe	gpt2	400	143	1	399	"'
check "every token of it" sh -c 'gdata vocab -l tok | grep -c . | grep "^401$"'
check "characters in BPE's form" fails 2 "cannot be written" \
    gdata vocab letters -o x -w hf
check "a form nobody has" fails 2 "not a form" gdata vocab tok -o x -w y
check "an empty file" sh -c \
    ': >empty && ! gdata encode -q -T tok -o x empty 2>err && grep "no text" err'

echo "1..$n"
