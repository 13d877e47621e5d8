#!/bin/sh
# gdata encode --join: the shards of the parts of a corpus are copied to those
# that one encode of the whole corpus writes.
. "$(dirname "$0")/../lib/tap.sh"

# Nine files of conversations with a text, of different sizes, some compressed.
mkdir corpus
for f in 1 2 3 4 5 6 7 8 9; do
    awk -v f=$f 'BEGIN { for (i = 0; i < 9 + f * f; i++) {
        t = f " begins "
        for (k = 0; k < i * 7 % 50; k++) t = t " word" (k * i) % 97 " of"
        printf "{\"messages\": [{\"role\": \"user\", \"content\": \"%s\"}, " \
            "{\"role\": \"assistant\", \"content\": \"No.\"}], ", t
        print "\"text\": \"" t ".\", \"n\": " i "}" } }' >corpus/$f.jsonl
done
gzip corpus/2.jsonl corpus/8.jsonl
{
    gdata bpe --vocab 400 -o plain corpus
    gdata vocab plain --add '<|im_start|>' --add '<|im_end|>' -o tok
    perl -M-warnings=utf8 -C -e 'print map { chr } 32 .. 126, 0x10000 .. 0x20000' >wide.txt
    gdata bpe --chars -o wide wide.txt
} >out 2>&1

# encoded FOLDER OPTION...
encoded() {
    into=$1
    shift
    gdata encode -q -o "$into" --shard-tokens 3000 -T tok "$@" corpus >out 2>err
}
# parts N OPTION...
parts() {
    of=$1
    shift
    rm -rf parts joined
    for i in $(seq "$of"); do
        encoded "parts/$i" --part "$i/$of" "$@" || return 1
    done
}
# joins OPTION...: as with 1, 2, 3 and 7 parts?
joins() {
    rm -rf whole
    encoded whole/x "$@" || return 1
    for n in 1 2 3 7; do
        parts $n "$@" && encoded joined/x --join parts/ "$@" &&
            diff -r whole joined || return 1
    done
    test "$(ls whole/*0001.* | wc -l)" -gt 0
}
check "the shards and the lock of parts are joined to those of the whole" joins
check "what the parts hold out is joined" joins --val 10% --test 0.1
check "parts in nanoGPT's format are joined" joins --format raw --val 0.2
check "parts in NumPy's format are joined" joins --format npy
check "ids of four bytes are joined" joins -T wide --eot none
check "conversations are joined with their marks" joins --chat chatml --val 0.2
check "documents that a filter chooses are joined" joins --where 'n > 30'
check "shards of one file are joined" sh -c '
    for n in 1 2; do
        gdata encode -q -T tok -o "one/$n" --format raw --val 0.1 \
            --part $n/2 corpus || exit
    done
    gdata encode -q -T tok -o joined1/ --format raw --val 0.1 --join one/ corpus &&
    gdata encode -q -T tok -o whole1/ --format raw --val 0.1 corpus &&
    diff -r whole1 joined1 && test "$(ls whole1 | tr "\n" " ")" = \
        "tokens.lock train.bin val.bin "'
cat >rules.ini <<'END'
[length]
words_min = 20
words_max = 70
END
check "what the rules drop from parts is added up" joins --clean rules.ini
is "$(grep -c '^dropped .* [1-9][0-9]*$' joined/x.tokens.lock)" 2 \
    "the joined lock has the counts of two rules"
printf '[length]\nwords_min = 98\nwords_max = 98\n' >few.ini
check "parts of which nothing is left are joined" joins --clean few.ini \
    --shard-tokens 500
like parts/1.tokens.lock "^dropped" "a part without a document has its counts"
encoded x --clean few.ini --val 0.1 --part 1/7
is "$?$(cat err)" 0 "a part may have no document, of training and of validation"

# Each file of plain text is a document: what is held out is chosen by hash.
mkdir texts
for i in 1 2 3 4 5 6; do seq $i $((i * 40)) >texts/$i.txt; done
check "the tail of a part with one file of text is not held out" sh -c '
    for n in 1 2 3 4 5 6; do
        gdata encode -q -T tok -o text/$n --val 0.5 --part $n/6 texts || exit
    done
    gdata encode -q -T tok -o joined6/x --val 0.5 --join text/ texts &&
    gdata encode -q -T tok -o whole6/x --val 0.5 texts && diff -r whole6 joined6'

for option in "--part 1/2 -o n/1" "--part 2/2 -o n/2" "-o n/whole" "--join n/ -o n/x"; do
    # shellcheck disable=SC2086 # options and their values
    gdata encode -T tok --format raw $option corpus 2>err >out
    sed -n 's/.* \([0-9]*\) documents, .* of text, \([0-9,]*\) tokens.*/\1 \2/p' err
done | tr -d , >counts
is "$(awk '{ print documents += $1, tokens += $2 }' counts | sed -n 2p)" \
    "$(sed -n 4p counts)" "documents and tokens of the parts are added up"
gdata encode -T tok --format raw -o n/w corpus 2>err >out
text=$(sed -n 's/.*documents, \(.*\) of text.*/\1/p' err)
gdata encode -T tok --format raw -o n/j --join n/ corpus 2>err >out
like err ", $text of text, " "the text of the parts is added up"

# refused WHAT [OPTION]...: joining is, with a message, and writes nothing
refused() {
    what=$1
    shift
    rm -rf joined && mkdir joined
    if encoded joined/x --join parts/ "$@"; then
        return 1
    fi
    grep -q -e "$what" err && test -z "$(ls joined 2>&1)"
}
parts 3
mv parts/2.tokens.lock kept
check "a part that is missing is named" refused "parts/2.tokens.lock"
cp parts/1.tokens.lock parts/2.tokens.lock
check "a part that is given twice is refused" refused \
    "parts/2.tokens.lock: this is not part 2"
mv kept parts/2.tokens.lock
for f in parts/2*; do mv "$f" "parts/4${f#parts/2}"; done
for f in parts/3*; do mv "$f" "parts/2${f#parts/3}"; done
for f in parts/4*; do mv "$f" "parts/3${f#parts/4}"; done
check "parts in another order are refused" refused \
    "parts/2.tokens.lock: this is not part 2"
parts 3 && encoded parts/2 -T plain --part 2/3
check "a part that was encoded with another tokenizer is refused" refused \
    "parts/2.tokens.lock: .*not part 2 .*this tokenizer"
parts 3 && encoded parts/3 --eot last --part 3/3
check "a part that was encoded with other options is refused" refused \
    "parts/3.tokens.lock: .*not part 3 .*these options"
parts 3 && encoded parts/2 --part 2/4
check "a part of another number of parts is refused" refused \
    "parts/2.tokens.lock: this is not part 2"
parts 3 && cp corpus/9.jsonl . && head -n 5 9.jsonl >corpus/9.jsonl
check "parts are refused if a file has another size now" refused \
    "parts/1.tokens.lock: .*not part 1 of these files"
cp 9.jsonl corpus
touch -d 2001-01-01 corpus/9.jsonl
check "the time of a file does not matter" encoded again/x --join parts/
check "parts are refused if there is another file now" sh -c '
    cp corpus/1.jsonl corpus/11.jsonl
    gdata encode -q -T tok --shard-tokens 3000 -o new/x --join parts/ corpus 2>err
    got=$?; rm corpus/11.jsonl; test $got = 1 && grep "not part 1 of these files" err'
rm parts/2_000001.bin
check "a shard that is missing is an error before anything is written" refused \
    "parts/2.tokens.lock lists shards that do not exist"
parts 3 && printf x | dd of=parts/3_000001.bin bs=1 seek=2000 conv=notrunc 2>err
encoded joined/x --join parts/
is $? 1 "a shard that was changed is refused"
like err "parts/3_000001.bin differs from its lock; encode this part again" \
    "the shard that was changed is named"
is "$(find joined -type f ! -name 'x_0000??.bin')" "" "a failed join leaves no lock"
parts 3 && : >parts/2.state.lock
check "a part that is being written is refused" refused "parts/2.*to its end"
parts 3 && cp -r parts as-they-were && encoded ./parts/2 --join parts/
is $? 1 "the output must not be a part"
check "parts are not changed" diff -r parts as-they-were
wrong=
for option in "--shuffle 1" "--tokens 9" "--split shard" "--split tail --val 0.1"; do
    # shellcheck disable=SC2086 # an option and its value
    if ! parts 2 $option || grep '^command' parts/1.tokens.lock ||
        ! refused "--join excludes" $option; then
        wrong="$wrong $option"
    fi
done
is "$wrong" "" "options with which parts cannot be joined are refused"
refused "--join excludes" --part 1/2
ok $? "--part cannot be joined"

unfinished() {
    parts 3 && rm parts/2* || return 1
    strace -f -qq -e trace=write -e inject=write:signal=KILL:when=3 -o /dev/null \
        gdata encode -q -T tok -o parts/2 --shard-tokens 3000 --part 2/3 \
        --mark-every 0 corpus >out 2>&1
    refused "parts/2.tokens.lock" && encoded parts/2 --part 2/3 &&
        encoded joined/x --join parts/ && diff -r whole joined
}

# Killed at any moment, and with a full disk, the same command comes to the same.
parts 3 && rm -rf whole && encoded whole/x
killed() {
    for at in 1 2 3 5 8 13 21; do
        rm -rf joined
        strace -f -qq -e trace=write -e inject=write:signal=KILL:when=$at \
            -o /dev/null gdata encode -q -T tok -o joined/x \
            --shard-tokens 3000 --join parts/ corpus >out 2>&1
        encoded joined/x --join parts/ && diff -r whole joined || return 1
    done
}
stopped() {
    rm -rf joined
    strace -f -qq -e trace=write -e inject=write:signal=INT:when=2 \
        -o /dev/null gdata encode -q -T tok -o joined/x \
        --shard-tokens 3000 --join parts/ corpus >out 2>err
    test $? = 75 && grep "the same command joins" err &&
        test -z "$(find joined -name '*.part' -o -name '*.lock')" &&
        encoded joined/x --join parts/ && diff -r whole joined
}
full() {
    rm -rf joined
    (trap '' XFSZ; ulimit -f 4; encoded joined/x --join parts/)
    test $? = 1 && grep "cannot write joined/x" err && test -z "$(ls joined 2>&1)"
}
if strace -o /dev/null true 2>/dev/null; then
    check "a part is joined when it has been resumed to its end" unfinished
    check "a join that was killed comes to the same files" killed
    check "a signal ends a join, and the same command joins again" stopped
else
    skip "a join that was killed comes to the same files" "no strace"
fi
check "a full disk leaves nothing under the name of a shard" full
done_testing
