#!/bin/sh
# gdata dedup in parts, and with indexes: the bytes are those of one job.
. "$(dirname "$0")/../lib/tap.sh"
show_commands

# Documents in nine files, of which some are equal, similar or without words,
# within files and in several; one file is empty.
mkdir files
awk '
    function word() {
        state = (state * 1103515245 + 12345) % 2147483648
        return "w" int(state / 65536) % 3000
    }
    function draw(n) { word(); return int(state / 65536) % n }
    BEGIN {
        for (f = 1; f <= 9; f++) {
            file = "files/" f ".jsonl"
            printf "" >file
            for (i = f == 4 ? 0 : 60 + 13 * f; i > 0; i--) {
                kind = n ? draw(20) : 19
                if (kind < 3)
                    text = old[draw(n)]
                else if (kind < 8) {
                    text = old[draw(n)]
                    sub(/w[0-9]+ /, word() " ", text)
                } else if (kind == 8)
                    text = draw(2) ? "" : "... " draw(2) "!"
                else {
                    text = ""
                    for (k = draw(80); k >= 0; k--)
                        text = text word() " "
                }
                old[n++] = text
                printf "{\"text\":\"%s\",\"id\":%d}\n", text, n >file
            }
        }
    }'
index() {       # FILE OPTIONS PATH...
    out=$1
    shift
    gdata dedup -q --near --write-index -o "$out" "$@" 2>err
}
indexes() {     # COUNT: write those of all parts, and set $options
    options=
    for i in $(seq "$1"); do
        index "$i.near" --part "$i/$1" files || return
        options="$options --index $i.near"
    done
}

# --- without --near
gdata dedup -q -o want.jsonl files
test "$(cat files/*.jsonl | wc -l)" -gt $(($(wc -l <want.jsonl) + 50))
ok $? "the files have duplicates"
for parts in 1 2 3 7; do
    list=
    for i in $(seq $parts); do
        gdata dedup -q --part "$i/$parts" -o "$i.jsonl" files || break 2
        list="$list $i.jsonl"
    done
    gdata dedup -q -o out.jsonl $list && cmp out.jsonl want.jsonl
    ok $? "dedup of what it wrote for $parts parts is what one job writes"
done

# --- with --near
gdata dedup --near -o near.jsonl files 2>said
test "$(wc -l <near.jsonl)" -lt $(($(wc -l <want.jsonl) - 50))
ok $? "the files have documents that are similar"
for parts in 1 2 3 7; do
    indexes $parts &&
        gdata dedup --near $options -j3 -o out.jsonl files 2>err &&
        cmp out.jsonl near.jsonl && cmp err said
    ok $? "indexes of $parts parts give the bytes and counts of one job"
done
index all.near -j1 files && index all7.near -j7 files && cmp all.near all7.near
ok $? "an index does not depend on the number of threads"
test "$(wc -c <all.near)" = $((120 * (1 + $(cat files/*.jsonl | wc -l)) + 8))
ok $? "an index takes 120 bytes for each document"
index joined.near $options files && cmp joined.near all.near
ok $? "an index that is written from those of parts is that of one job"
gdata dedup -q --near --index all.near --similarity 0.5 -o half.jsonl files &&
    gdata dedup -q --near --similarity 0.5 files | cmp - half.jsonl &&
    ! cmp -s half.jsonl near.jsonl
ok $? "--similarity is chosen when an index is used"
gdata dedup -q --near --index 1.near -o out.jsonl files && cmp out.jsonl near.jsonl
ok $? "files after those of the indexes are read"
printf '{"text":"one two three four five"}\n' >fixed.jsonl
index fixed.near fixed.jsonl
is "$(sha256sum <fixed.near | cut -c-16)" 8bc6c7a32857765b \
    "the keys of a text are those for which version 1 of an index stands"

# a corpus that grows
cat files/[1-5].jsonl >corpus.jsonl
cat files/[6-9].jsonl >new.jsonl
gdata dedup -q --near --against corpus.jsonl -o want2.jsonl new.jsonl
index corpus.near corpus.jsonl
gdata dedup -q --near --against corpus.jsonl --index corpus.near -o out.jsonl \
    new.jsonl && cmp out.jsonl want2.jsonl && test -s out.jsonl
ok $? "the index of --against gives the same bytes as its text"
index new.near new.jsonl
gdata dedup -q --near --against corpus.jsonl --index corpus.near \
    --index new.near -o out.jsonl new.jsonl && cmp out.jsonl want2.jsonl
ok $? "--against and the text may both have an index"
{ echo bad; head -3 new.jsonl; } >few.jsonl
gdata dedup --near -o want2.jsonl corpus.jsonl few.jsonl 2>said
gdata dedup --near --index corpus.near -o out.jsonl corpus.jsonl few.jsonl \
    2>err && cmp out.jsonl want2.jsonl && cmp err said &&
    grep -q 'skipped 1 bad line' err
ok $? "--max-bad is a share of all lines, with and without an index"
index where.near --where 'id > 50' files
gdata dedup --near --where 'id > 50' --index where.near -o out.jsonl files 2>err &&
    gdata dedup -q --near --where 'id > 50' files 2>said | cmp - out.jsonl &&
    ! grep -q 'no document has\|0 of 0' err
ok $? "an index is of the documents that --where chooses"

# --- indexes of something else
indexes 7
refused() {     # NAME PATTERN COMMAND...: one line, which has the pattern
    name=$1 pattern=$2
    shift 2
    rm -f none.jsonl
    gdata dedup -q --near "$@" -o none.jsonl >out 2>err
    test $? = 1 && test "$(wc -l <err)" = 1 && grep -q "$pattern" err &&
        ! ls | grep -q 'none\|saving'
    ok $? "$name"
}
other() {       # INDEX FILE
    echo "$1 is not an index of the input from $2 on, or was written with "
}
refused "indexes in another order are refused" "$(other 3.near files/2.jsonl)" \
    --index 1.near --index 3.near --index 2.near files
refused "a part that is missing is an error" "$(other 4.near files/3.jsonl)" \
    --index 1.near --index 2.near --index 4.near files
refused "an index too many is an error" "$(other 1.near 'its end')" \
    --index all.near --index 1.near files
refused "an index of more files than there are is an error" \
    "$(other all.near files/1.jsonl)" --index all.near files/[1-8].jsonl
for option in '--where id>1' '--field text|content' '--separator x' \
    '--input jsonl'; do
    refused "an index that was written without $option is refused" \
        "$(other all.near files/1.jsonl)" --index all.near $option files
done
cp -R files changed
echo '{"text":"x"}' >>changed/9.jsonl
refused "an index of files with another size is refused" \
    "$(other all.near changed/1.jsonl)" --index all.near changed
rm -r changed && cp -R files changed
sed -i '1s/w[0-9]/w_/' changed/9.jsonl
test "$(wc -c <changed/9.jsonl)" = "$(wc -c <files/9.jsonl)"
refused "an index of other documents of the same size is refused" \
    "an index was written for other documents" --index all.near changed

# --- damaged indexes
not_index="is not an index of gdata dedup, or is damaged"
wrong=0 tried=0 size=$(wc -c <1.near)
damage() {      # AT: another byte there
    cp 1.near bad.near
    byte=$(tail -c "+$(($1 + 1))" 1.near | head -c 1 | od -An -tu1)
    printf "\\$(printf %o $(((byte + 1) % 256)))" |
        dd of=bad.near bs=1 seek="$1" conv=notrunc 2>dd.err
    tried=$((tried + 1))
    gdata dedup -q --near --index bad.near -o none.jsonl files >out 2>err
    test $? = 1 && test "$(wc -l <err)" = 1 &&
        grep -q "bad.near $not_index" err && ! test -e none.jsonl ||
        wrong=$((wrong + 1))
}
# of the first record, of one within, and of the last: the hash, the first and
# last keys; and the sum
for at in 0 7 8 16 119 120 4800 4808 $((size - 128)) $((size - 121)) \
    $((size - 120)) $((size - 113)) $((size - 112)) $((size - 104)) \
    $((size - 9)) $((size - 8)) $((size - 1)); do
    damage "$at"
done
is "$tried $wrong" "17 0" "an index with another byte is refused"
wrong=0
for n in 0 1 8 119 120 128 1200 1208 $((size - 120)) $((size - 8)) $((size - 1)); do
    head -c "$n" 1.near >bad.near
    gdata dedup -q --near --index bad.near -o none.jsonl files >out 2>err
    test $? = 1 && grep -q "bad.near $not_index" err || wrong=$((wrong + 1))
done
is "$wrong" 0 "an index that is cut is refused"
{ cat 1.near; echo; } >bad.near
refused "an index with something after it is refused" "bad.near $not_index" \
    --index bad.near files
refused "a text is no index" "files/1.jsonl $not_index" --index files/1.jsonl files
gdata dedup -q --near --index no.near files >out 2>err
test $? = 3 && grep -q "cannot open no.near" err
ok $? "an index that does not exist is named"

# --- options
for option in '--index 1.near' '--write-index -o x.near'; do
    gdata dedup $option files >out 2>err
    test $? = 2 && grep -q "index need --near" err || break
done
ok $? "indexes need --near"
gdata dedup --near --part 1/7 --index 1.near files >out 2>err
test $? = 2 && grep -q -- "--part excludes" err
ok $? "--index is for all files"
gdata dedup --near --write-index files >out 2>err
test $? = 2 && grep -q "name the index to write by -o" err && ! test -s out
ok $? "an index is not written to standard output"

# --- output
(trap '' XFSZ; ulimit -f 20
 gdata dedup -q --near --write-index -o none.near files >out 2>err
 test $? = 1) && grep -q "cannot write none.near.*: File too large" err &&
    ! ls | grep -q 'none\|saving'
ok $? "a full disk for an index is an error that leaves no file"
disturb=$build/t/lib/disturb
count=$("$disturb" -c write "$build/gdata" dedup -q --near --write-index -j2 \
    -o killed.near files 2>&1 | tail -n 1 | tr -dc 0-9)
rm -f killed.near
if test -z "$count"; then
    skip "an index is whole or not there after a kill" "no seccomp"
else
    at=0
    while test $at -lt "$count"; do
        at=$((at + 1 + count / 10))
        "$disturb" -c write -n "$at" "$build/gdata" dedup -q --near \
            --write-index -j2 -o killed.near files 2>/dev/null
        ! test -e killed.near || cmp killed.near all.near || break
        rm -f killed.near
    done
    index killed.near files && cmp killed.near all.near &&
        ! ls | grep -q saving && test "$at" -ge "$count"
    ok $? "an index is whole or not there after a kill"
fi
done_testing
