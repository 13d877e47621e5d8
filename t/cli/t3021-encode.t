#!/bin/sh
# encode, decode - text to files of tokens and back
# shellcheck disable=SC2016 # it is the inner shell that expands
. "$(dirname "$0")/../lib/tap.sh"
set -u
data=$testdata

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
    check "encode makes the tokens of nanoGPT's shakespeare" \
        gdata encode -T "$gpt2" -o shake/ \
        --format raw --eot none --split tail --val 0.1 "$tiny"
    check "train.bin is that of nanoGPT's shakespeare" \
        sum 502a2bdc8210d1ac5d5674867cb74467dd31db575d25cf6dbb08c8bdbea8680f shake/train.bin
    check "val.bin is that of nanoGPT's shakespeare" \
        sum 68a53422394c26a655ebe641f5c6f49888e8f4e45fe5d6f02abda63ba3ebd65b shake/val.bin
    gdata bpe -q --chars -o char "$tiny"
    check "encode makes the tokens of nanoGPT's shakespeare_char" \
        gdata encode -T char -o char/ \
        --format raw --eot none --split tail --val 0.1 "$tiny"
    check "train.bin is that of nanoGPT's shakespeare_char" \
        sum 6ec305602a99ac2802745a134e1f5e33e2231b4855525b00b9aebb730ac2626f char/train.bin
    check "val.bin is that of nanoGPT's shakespeare_char" \
        sum d37d30cc0c8327c270d493299c3dca54135f6d5f1c9ef60cda78076e311204b1 char/val.bin
    check "vocab writes GPT-2's tokenizer in other formats" \
        gdata vocab "$gpt2" -o forms \
        -w llmc -w tiktoken -w gpt2 -w hf
    check "the tokenizer for llm.c has llm.c's bytes" \
        sum 6f3abc21e444e4e8300e225f4e03da48ea121cf17e30f67009b8dad7a66c2f13 forms/gpt2_tokenizer.bin
    check "the tokenizer for tiktoken has tiktoken's bytes" \
        cmp forms/tokenizer.tiktoken "$gpt2/r50k_base.tiktoken"
    check "the tokenizer for GPT-2 has GPT-2's bytes" \
        cmp forms/vocab.bpe "$gpt2/vocab.bpe"
    check "decode gives back the text that encode read" sh -c \
        'gdata encode -q -T "$1" -o back "$2" &&
        gdata decode -T "$1" back_000000.bin | cmp - "$2"' - "$gpt2" "$tiny"
else
    skip "encode makes the files of other programs" "no $gpt2 or $tiny"
fi
if test -f "$data/c4/c4-train.00001-of-00004.json.gz"; then
    check "encode reads JSON Lines in gzip" \
        gdata encode -q -T "$gpt2" -o c4 --format raw \
        "$data/c4/c4-train.00001-of-00004.json.gz"
    check "the tokens of JSON Lines are those of tiktoken" \
        sum 07fd1857c581ba19199eb1c648c9a095adaffc50879a984d433da4ce5873d564 c4.bin
    rm c4.bin
else
    skip "encode reads JSON Lines in gzip" "no $data/c4"
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
check "encode works with one thread" \
    enc one -j1 --shard-tokens 7000 --val 0.1 docs.jsonl
check "encode works with seven threads" \
    enc seven -j7 --shard-tokens 7000 --val 0.1 docs.jsonl
check "one and seven threads write the same files" same_files one seven
check "a shard has the size of --shard-tokens" sh -c \
    'test "$(wc -c <one/x_train_000000.bin)" -eq $((1024 + 14000))'
enc whole --shard-tokens 10M docs.jsonl
check "no token is lost between shards" sh -c '
    enc() { gdata encode -q -T tok -o "$1" --format raw "$2" docs.jsonl; }
    enc parts --shard-tokens=999 >/dev/null && enc all --shard-tokens=9M >/dev/null
    cat parts_*.bin | cmp - all_000000.bin'
check "every document begins with the end-of-text token" sh -c '
    gdata decode -T tok --special whole/x_000000.bin | head -c 13 |
    grep "^<|endoftext|>$"'
check "decode --jsonl loses nothing" sh -c '
    gdata decode -T tok --jsonl whole/x_000000.bin >back.jsonl
    gdata encode -q -T tok -o again/x back.jsonl >/dev/null
    cmp whole/x_000000.bin again/x_000000.bin'
printf '{"text":"%s"}\n' '' a '' '' b '' >gaps.jsonl
for eot in first last; do
    gdata encode -q -T tok --eot $eot -o gaps gaps.jsonl
    check "decode --jsonl gives back empty documents with --eot $eot" sh -c '
        gdata decode -T tok --jsonl gaps_000000.bin | cmp - gaps.jsonl'
done
printf '{"text":"a"}\n{"text":""}\n' >gap.jsonl
gdata encode -q -T tok -o gaps gap.jsonl
check "decode --jsonl gives back an empty document at the end" sh -c '
    gdata decode -T tok --jsonl gaps_000000.bin | cmp - gap.jsonl'
check "encode -q prints nothing" sh -c '
    gdata encode -q -T tok -o gaps gap.jsonl >got 2>&1 && ! test -s got'
check "verify -q prints only what differs" sh -c '
    gdata verify -q gaps_000000.bin >got 2>&1 && ! test -s got &&
    ! gdata verify -q --vocab 9 gaps_000000.bin whole/x_000000.bin >got 2>err &&
    grep -c . got | grep -x 3'
check "info --json -T is JSON with the decoded text" sh -c '
    gdata info --json -T tok gaps_000000.bin docs.jsonl >got &&
    head -c 1 got | grep "{" && grep "\"head\": *\"<|endoftext|>a<|endoftext|>\"" got &&
    grep "\"head\": *null" got'
check "decode reports a full disk behind standard output" sh -c '
    for i in 1 2 3 4; do cat docs.jsonl docs.jsonl; done >many.jsonl
    gdata encode -q -T tok -o many many.jsonl >/dev/null
    ! gdata decode -T tok many_000000.bin >/dev/full 2>err &&
    grep "cannot write standard output" err'
check "decode succeeds when its reader stops early" sh -c '
    (gdata decode -T tok many_000000.bin; echo $? >status) | head -c 3 >out3 &&
    grep -x 0 status'
check "decode -n stops after that many tokens" sh -c '
    gdata decode -T tok --special whole/x_000000.bin >all.txt
    gdata decode -T tok --special -n 500 whole/x_000000.bin >part.txt
    ! cmp -s part.txt all.txt &&
    head -c "$(wc -c <part.txt)" all.txt | cmp - part.txt'

check "decode -o writes to a named pipe" sh -c '
    mkfifo pipe && { timeout 20 cat pipe >got & } &&
    gdata decode -T tok --special -o pipe whole/x_000000.bin && wait &&
    test -p pipe && cmp got all.txt'
check "decode -o writes through a symbolic link" sh -c '
    echo old >file && ln -s file link &&
    gdata decode -T tok --special -o link whole/x_000000.bin &&
    test -h link && cmp file all.txt'

check "the hash of a document decides whether it is held out" sh -c '
    sort -r docs.jsonl >rev.jsonl
    gdata encode -q -T tok -o rev --val 0.1 rev.jsonl >/dev/null
    gdata encode -q -T tok -o fwd --val 0.1 docs.jsonl >/dev/null
    gdata decode -T tok --jsonl fwd_val_000000.bin | sort >a
    gdata decode -T tok --jsonl rev_val_000000.bin | sort >b
    test -s a && cmp a b'
check "encode holds out two splits" enc three --val 0.2 --test 0.2 docs.jsonl
check "encode with two splits held out writes three files" \
    test -s three/x_train_000000.bin -a \
    -s three/x_val_000000.bin -a -s three/x_test_000000.bin
check "--split shard holds out the first shard" sh -c '
    gdata encode -q -T tok -o sh/x --split shard --shard-tokens 9000 \
        docs.jsonl >/dev/null && ls sh/*.bin | xargs -n1 basename | head -2 | tr "\n" " " |
    grep "x_train_000001.bin x_train_000002.bin" && test -s sh/x_val_000000.bin'
check "--split knows each way by one word" sh -c '
    for word in first fraction; do
        gdata encode -q -T tok -o no/x --split $word docs.jsonl 2>err
        test $? -eq 2 && grep "hash.*tail.*shard" err || exit 1
    done'
head -c 9000 docs.jsonl >one.txt
check "the tail of a single text is held out without --split" sh -c '
    gdata encode -T tok -o alone/x --val 10% one.txt >got 2>err &&
    grep "one.txt is one document, so its end is held out" err &&
    gdata encode -q -T tok -o asked/x --val 10% --split tail one.txt &&
    cmp alone/x_val_000000.bin asked/x_val_000000.bin &&
    cmp alone/x_train_000000.bin asked/x_train_000000.bin'
check "--split hash does not divide a single text" sh -c '
    gdata encode -q -T tok -o hash/x --val 10% --split hash one.txt 2>err
    grep "is empty, because the hashes chose" err'
check "encode warns of a split without documents" sh -c '
    head -1 docs.jsonl >one.jsonl
    gdata encode -q -T tok -o lone --val 0.3 one.jsonl 2>err >/dev/null &&
    grep ".train. is empty.*--split tail" err'
check "--split tail holds out the end" \
    enc tail --split tail --val 0.25 docs.jsonl
check "--split tail refuses standard input" sh -c '
    gdata encode -q -T tok -o no/x --split tail --val 0.1 - <docs.jsonl 2>err
    test $? = 2 && grep "split tail reads its input several times" err'
check "encode -n stops after that many tokens" sh -c '
    gdata encode -q -T tok -o few -n 1234 docs.jsonl >/dev/null &&
    test "$(wc -c <few_000000.bin)" -eq $((1024 + 2 * 1234))'
check "encode reads standard input" sh -c '
    gdata encode -q -T tok -o in/x --input jsonl - <docs.jsonl >/dev/null &&
    cmp in/x_000000.bin whole/x_000000.bin'

printf 'a<|endoftext|>b' >special.txt
check "special tokens in text are encoded as text" sh -c '
    gdata encode -q -T tok -o sp1 special.txt >/dev/null &&
    test "$(wc -c <sp1_000000.bin)" -gt 1032'
check "--special encodes special tokens as such" sh -c '
    gdata encode -q -T tok --special -o sp2 special.txt >/dev/null &&
    test "$(wc -c <sp2_000000.bin)" -eq 1032'
awk 'BEGIN { for (i = 0; i < 60000; i++) printf "<end of text>" }' >ends.txt
check "--special works in a long text that is read in parts" sh -c '
    gdata bpe -q -n 300 --special "<end of text>" -o ends ends.txt 2>/dev/null
    gdata encode -q -T ends --special --eot none --format raw -o sp3 ends.txt \
        >/dev/null && test "$(wc -c <sp3.bin)" -eq 120000'
printf 'ok \377\303 end' >broken.txt
check "decode gives back bytes that are not UTF-8" sh -c '
    gdata encode -q -T tok -o br broken.txt >/dev/null &&
    gdata decode -T tok br_000000.bin | cmp - broken.txt'
check "--invalid replace replaces bytes that are not UTF-8" sh -c '
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
idle() {
    rm -rf idle && mkfifo never || return 1
    gdata encode -T tok --input jsonl -o idle/x never >/dev/null 2>err &
    exec 3>never
    cat docs.jsonl >&3
    kill -TERM $!
    wait $!
    test $? -eq 130 && grep "this input cannot be read again" err &&
        test -z "$(ls idle)"
}
check "a signal ends encode of an idle pipe, which cannot be resumed" idle
exec 3>&-
if strace -o /dev/null true 2>/dev/null; then
    check "encode killed five times resumes to the same files" killed
    check "encode ends with status 75 on SIGINT and resumes" interrupted
else
    skip "encode killed five times resumes to the same files" "no strace"
fi
# The pipe is opened for reading when the first encode has its lock.
together() {    # together SECOND [OPTION OF THE FIRST]...
    second=$1
    shift
    rm -rf both slow && mkfifo slow || return 1
    gdata encode -q -T tok --input jsonl -o both/x "$@" slow >/dev/null 2>err1 &
    exec 3>slow
    gdata encode -q -T tok -o "$second" long.jsonl >/dev/null 2>err
    refused=$?
    cat docs.jsonl >&3
    exec 3>&-
    wait $! || return 1
    test $refused -eq 7 && grep "another gdata encode is writing to $second" err
}
check "encode to the files of another one's hold-out is refused" \
    together both/x_val --val 0.5
check "a second encode with the same prefix is refused" together both/x
check "the first encode is not disturbed by a second one" \
    cmp both/x_000000.bin whole/x_000000.bin
check "no temporary files are left" sh -c \
    '! ls -R | grep -e "[.]part" -e "[.]state" -e "[.]tmp"'

check "encode records the tokenizer and the shards in a lock" sh -c '
    test "$(sed -n "s/ .*//p" one/x.tokens.lock | uniq | tr "\n" " ")" = \
        "# vocabulary eot tokens " &&
    gdata verify one/x.tokens.lock && gdata verify -T tok one/x.tokens.lock'
gdata bpe -q -n 300 -o tok300 docs.jsonl
gdata decode -T tok300 -n 3 one/x_val_000000.bin >got 2>err
is $? 1 "decode refuses the tokens of another tokenizer"
like err "another tokenizer, according to one/x.tokens.lock; if this is intended" \
    "decode says which file tells the tokenizer, and what to do"
test ! -s got
ok $? "decode writes no text with another tokenizer"
check "info warns of the tokens of another tokenizer" sh -c '
    gdata info -T tok300 one/x_val_000000.bin >got 2>err &&
    grep "encoded with another tokenizer, according to one/x.tokens.lock" err'
check "verify -T refuses the tokens of another tokenizer" sh -c '
    ! gdata verify -T tok300 one/x.tokens.lock >got 2>err &&
    grep "tok300.*vocabulary.*another content" got &&
    ! gdata verify -T tok300 one/x_val_000000.bin >got 2>err &&
    grep "another tokenizer" got'
# a character vocabulary may have more than 65,536 ids
perl -M-warnings=utf8 -C -e 'for (1 .. 66000) { print chr($_ + 0x10000) }' \
    >wide.txt
gdata bpe -q --chars -o wide wide.txt
gdata encode -q -T wide --eot none --format raw -o wide/w wide.txt >/dev/null
check "decode and verify know raw files of four bytes per id" sh -c '
    gdata decode -T wide wide/w.bin | cmp - wide.txt &&
    gdata info --tsv wide/w.bin | grep "raw uint32.*	66000	" &&
    mv wide/w.tokens.lock away && gdata decode -T wide wide/w.bin | cmp - wide.txt'
check "encode warns of shards from an earlier run" sh -c '
    gdata encode -q -T tok -o one/x --val 0.1 docs.jsonl 2>err >/dev/null &&
    test ! -e one/x_train_000001.bin && grep "earlier run" err'
printf 'z\n' >letters.txt
gdata bpe -q --chars -o letters letters.txt
check "a character without an id is an error" fails 1 "has no id" \
    gdata encode -T letters --eot none -o bad docs.jsonl
check "a tokenizer without an end-of-text token is refused" fails 2 "eot none" \
    gdata encode -T letters -o bad docs.jsonl
check "encode leaves no files after an error" sh -c '! ls bad*'
check "encode without a tokenizer is refused" \
    fails 2 "name the tokenizer" gdata encode -o x docs.jsonl
check "a missing tokenizer is refused" fails 3 "no tokenizer" \
    gdata encode -T nowhere -o x docs.jsonl
check "encode without -o is refused" \
    fails 2 "-o PREFIX" gdata encode -T tok docs.jsonl
check "encode with an empty prefix is refused" \
    fails 2 "-o PREFIX" gdata encode -T tok -o "" docs.jsonl
check "encode to a device is refused" \
    fails 2 "/dev/null is a device" gdata encode -T tok -o /dev/null docs.jsonl
check "encode of no tokens is refused" \
    fails 2 "--tokens expects 1 or more" gdata encode -T tok -n 0 -o x docs.jsonl
check "shares that add up to more than 1 are refused" fails 2 "below 1" \
    gdata encode -T tok -o x --val 0.7 --test 0.4 docs.jsonl
mkdir bare && cp whole/x_000000.bin bare # without the lock
check "decode refuses ids beyond the vocabulary" \
    fails 1 "token 0 .* ids below" \
    gdata decode -T letters bare/x_000000.bin
check "decode refuses a text file" fails 1 "name of a text file, not of a shard" \
    gdata decode -T tok docs.jsonl
check "vocab describes a tokenizer" sh -c \
    'gdata vocab tok | grep "^bpe	gpt2	400	143	1	399	"'
check "characters cannot be written in a format of BPE" \
    fails 2 "cannot be written" \
    gdata vocab letters -o x -w hf
check "an unknown format of tokenizers is refused" \
    fails 2 "not a form" gdata vocab tok -o x -w y
printf 'BZh91AY&SY....' >a.bz2
printf '\3757zXZ\000....' >a.xz
printf 'PK\003\004....' >a.zip
printf '%%PDF-1.7\n' >a.pdf
printf 'PAR1\025....' >a.column
cp /bin/true a.elf
tar cf - docs.jsonl 2>/dev/null | gzip >a.tar.gz
printf '\377\376h\000i\000' >a.u16
printf '\376\377\000h\000i' >b.u16
printf '\211PNG\r\n\032\n..' >a.png
printf '\377\330\377\340' >a.jpg
printf 'GIF89a..' >a.gif
printf 'SQLite format 3\000..' >a.db
printf '\037\235..' >a.Z
printf ']\000\000\200\000' >a.lzma
printf '\200\004\225.' >a.pickle
printf '\n<!DOCTYPE html>\n<p>' >a.html
gdata encode -q -T tok --format npy -o a docs.jsonl >/dev/null
cp whole/x_000000.bin a.shard
for f in a.bz2 a.xz a.zip a.pdf a.column a.elf a.tar.gz a.u16 b.u16 a.png a.jpg \
    a.gif a.db a.Z a.lzma a.pickle a.html a_000000.npy a.shard; do
    check "encode refuses the file $f, which is not text" \
        fails 1 "$f:1: this is .*, which cannot be read as text" \
        gdata encode -T tok -o bad "$f"
done
check "the refusal of UTF-16 names the command that converts it" fails 1 \
    "'iconv -f utf-16 -t utf-8' converts it" gdata encode -T tok -o bad a.u16
check "--input text reads the source of an HTML page" \
    gdata encode -q -T tok -o html --input text a.html
check "bytes that are not UTF-8 are counted at the end" sh -c "
    printf 'caf\\351 na\\357ve \\303\\251\\n' >latin.txt &&
    gdata encode -T tok -o latin latin.txt 2>err >out &&
    grep 'found 2 bytes of invalid UTF-8' err &&
    printf 'na\\303\\257ve\\n' >utf8.txt &&
    gdata encode -T tok -o latin utf8.txt 2>err >out && ! grep invalid err"
check "--bad files skips an archive among the files" sh -c '
    gdata encode -q -T tok -o skip/x --bad files a.xz docs.jsonl >out 2>err &&
    grep "skipped the rest of this file" err &&
    cmp skip/x_000000.bin whole/x_000000.bin'
check "encode warns of JSON that is read as plain text" sh -c '
    gdata encode -q -T tok -o json - <docs.jsonl 2>err >out &&
    grep "standard input is read as plain text, but looks like JSON" err'
check "--input text reads JSON as text without a warning" sh -c '
    gdata encode -q -T tok -o json --input text docs.jsonl 2>err >out &&
    ! grep JSON err'
{ cat docs.jsonl; for i in 1 2 3 4 5 6; do echo bad; done; } >six.jsonl
check "encode fails if more than 1% of the lines are bad" \
    fails 1 "6 of 506 lines are bad; --max-bad allows 1%" \
    gdata encode -T tok -o bad -j3 six.jsonl
check "--max-bad allows a larger share of bad lines" sh -c '
    gdata encode -q -T tok -o skip/y --max-bad 2% six.jsonl >out 2>err &&
    cmp skip/y_000000.bin whole/x_000000.bin'
check "--max-bad 0 allows no bad line" sh -c '
    { cat docs.jsonl; echo bad; } >bad.jsonl
    ! gdata encode -q -T tok -o bad --max-bad 0 bad.jsonl >out 2>err &&
    grep "1 of 501 lines are bad; --max-bad allows 0%" err'
check "encode counts bad lines from before an interruption" sh -c '
    for i in 1 2 3 4 5 6 7 8; do echo bad; done >first.jsonl
    ! gdata encode -q -j1 -T tok -o mark --mark-every 0 first.jsonl docs.jsonl \
        >out 2>err &&
    ! gdata encode -T tok -o mark --mark-every 0 first.jsonl docs.jsonl \
        >out 2>err &&
    grep "resuming after" err && grep "8 of 508 lines are bad" err'
rm -f mark*
printf '\357\273\277text' >bom.txt; printf text >plain.txt
check "a byte order mark before plain text is left out" sh -c '
    gdata encode -q -T tok -o bom bom.txt && gdata encode -q -T tok -o plain plain.txt &&
    cmp bom_000000.bin plain_000000.bin'
mkdir -p tree/a && cp docs.jsonl tree/a/ && ln -s ../.. tree/a/up &&
    ln -s nowhere tree/a/other
check "links that lead upwards are skipped with a warning" sh -c '
    gdata encode -q -T tok -o trees/x tree/ 2>err && grep "tree/a/up leads to" err &&
    cmp trees/x_000000.bin whole/x_000000.bin'
ln -s nowhere tree/a/gone.txt
check "a link to a text that does not exist is an error" \
    fails 1 "cannot read tree/a/gone.txt" gdata encode -T tok -o bad tree
check "encode says what to do if an incomplete shard is too short" sh -c '
    work="gdata encode -q -j1 -T tok -o part/x --mark-every 0 first.jsonl docs.jsonl"
    ! $work 2>err && : >part/x_000000.bin.part && ! $work 2>err &&
    grep "part/x.state does not fit its files; delete it" err'
check "encode notices that an incomplete shard has other tokens than it wrote" sh -c '
    work="gdata encode -q -j1 -T tok -o flip/x --mark-every 0 first.jsonl docs.jsonl"
    ! $work 2>err && printf "\\377\\001" |
    dd of=flip/x_000000.bin.part bs=1 seek=1040 conv=notrunc 2>err && ! $work 2>err &&
    grep "x_000000.bin.part: the file has other tokens than were written" err'
check "encode writes of one document in the singular" sh -c '
    gdata encode -T tok -o plain plain.txt 2>err && grep "1 document, " err'
printf 'some text\n' >hole.txt && truncate -s 1T hole.txt
for command in "bpe --vocab 300 -o holes" "encode -T tok -o holes" info lock; do
    # shellcheck disable=SC2086 # a command and its options
    check "gdata ${command%% *} refuses a text of a terabyte that is a hole" \
        fails 1 "is not read: it has 1.00 TiB, and almost all of it is a hole" \
        gdata $command hole.txt
done
rm hole.txt
check "encode of an empty file is an error" sh -c \
    ': >empty && ! gdata encode -q -T tok -o x empty 2>err && grep "no text" err'

done_testing
