#!/bin/sh
# gtrain init goes from a text to a model.
. "$(dirname "$0")/../lib/tap.sh"
show_commands

mkdir texts
awk 'BEGIN {
    srand(1)
    split("the quick brown fox jumps over a lazy dog and runs home", w)
    for (i = 0; i < 40000; i++)
        printf "%s%s", w[int(rand() * 12) + 1], i % 11 ? " " : ".\n"
}' >"texts/the fox.txt"

gtrain init "texts/the fox.txt" --hours 0.0003 >out 2>err
ok $? "init trains a model on a text" "$(tail -n 5 err)"
grep -a '^\$ g' out >commands
is "$(cat commands)" "\$ gdata bpe --vocab 1024 -o 'the fox-data/tok' 'texts/the fox.txt'
\$ gdata encode -T 'the fox-data/tok' --val 10% --split tail -o 'the fox-data/text' 'texts/the fox.txt'
\$ gtrain --config 'the fox.ini'
\$ gplot loss @latest
\$ gtrain sample --tokens 150" "init prints each command it runs"
like "the fox.ini" "^name = fast" "init uses the recipe"
gtrain plan --config "the fox.ini" --ranks 2 --only training --tsv >plan 2>err3
is "$(sed -n 's/^tokens of a step	//p' plan)" 2048 \
    "each rank has a micro-batch" "$(cat err3)"
tail -n 1 out | grep -aq "gtrain --config 'the fox.ini'" &&
    test "$(grep -an '^Next:' out | cut -d: -f1)" -gt \
        "$(grep -an 'gtrain sample --tokens' out | cut -d: -f1)" &&
    grep -aq "step$" out
ok $? "init ends with the loss, a sample and what to do next" "$(tail out)"
gtrain --config "the fox.ini" --set schedule.steps=2 --name "two words" >out2 2>err2
like err2 "see 'gtrack show 'two words''" "a message quotes the name of a run"
like err "has .* of text: a vocabulary of 1024; .* tokens in 1.1s; the steps" \
    "init says what fits into the time"
gtrack ls --csv -c status 2>&1 | grep -q FINISHED
ok $? "the training of init is a finished run"
gtrain sample --prompt "the " --tokens 5 >sample 2>err
ok $? "the model of init can be sampled from" "$(cat err)"

gtrain --config "the fox.ini" --root drawn --set train.max_time=0s \
    --set schedule.steps=2 --set sample.every=2 --set sample.tokens=5 \
    --set sample.temperature=0 >out 2>err
cat drawn/*/*/artifacts/samples/step-00000002.txt >sample
test "$(wc -l <sample)" -ge 2 && ! grep -q "endoftext" sample
ok $? "a sample does not begin with the end-of-text token" "$(cat sample err)"

cp "texts/the fox.txt" 'texts/fox ; [1].txt'
gtrain init 'texts/fox ; [1].txt' --hours 0.0001 --no-train >out 2>err &&
    gtrain plan 'fox _ _1_.ini' >out 2>err
ok $? "a name that settings cannot hold becomes one that they can" "$(tail -n 5 err)"
gtrain init "texts/the fox.txt" -o 'a;b' >out 2>err
test $? -eq 2 && grep -q "';\*" err
ok $? "init refuses a name that settings cannot hold"

rm -f err
gtrain init "texts/the fox.txt" -o cut --hours 1 >out 2>err &
pid=$!
until grep -q "step 1/" err 2>/dev/null || ! kill -0 $pid 2>/dev/null; do
    perl -e 'select undef, undef, undef, 0.02'
done
kill -TERM $pid
wait $pid
test $? -eq 75 && ! grep -q "^Next" out &&
    grep -q "after step .*; 'gtrain --config cut.ini --resume auto' resumes" err
ok $? "init passes a signal on to its training, which ends with a checkpoint"
limit=$(sed -n 's/^max_time = \(.*\)s$/\1/p' cut.ini)
left=$(sed -n '/: step 1\// { s/.* left //; s/m/*60+/; s/s$//; s/+0/+/; p; }' err)
test $((${left%.*})) -le "$limit" && test "$left"
ok $? "the time that is left after the first step is within the limit" "$left"

cp "the fox.ini" before
gtrain init "texts/the fox.txt" >out 2>err
is $? 2 "settings that exist are a usage error of init"
cmp before "the fox.ini"
ok $? "init does not replace settings"
like err "the fox.ini exists.*gtrain --config.*--resume auto.*-o" \
    "init says how to use existing settings"

mkdir more
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    cat "texts/the fox.txt" "texts/the fox.txt"
done >more/fox.md
gtrain init more --output long --hours 1000 --ranks 3 --no-train >out 2>err
ok $? "init prepares a folder of texts without training" "$(tail -n 5 err)"
is "$(tail -n 1 out)" "\$ gtrain --config long.ini --ranks 3" \
    "init prints the command of a training with ranks"
like long.ini "^dropout = 0.2" "a text that is read often needs dropout"
like long.ini "^patience = 5" "a model that becomes worse ends its training"
test "$(sed -n 's/^max_time = \(.*\)s$/\1/p' long.ini)" -lt 3600000 &&
    grep -q "are enough for this text, which is read about 20 times" err
ok $? "a training of many epochs ends before its time"
head -c 3000000 /dev/zero >more/fox.png
gzip -c more/fox.md >fox.txt.gz
for text in more fox.txt.gz; do
    gtrain init $text -o same --no-train >out 2>err
    like out "bpe --vocab 4096 " "the text that is read decides, not the files: $text"
    rm -f same.ini
done
width=$(sed -n 's/^width = //p' long.ini)
test "$width" -gt 128
ok $? "more time makes a larger model" "width $width"
gtrain plan long.ini >plan 2>&1
ok $? "gtrain plan understands the settings of init" "$(cat plan)"

: >empty.txt
gtrain init empty.txt >out 2>err
is $? 1 "an empty text is an error of init"
head -c 2000 "texts/the fox.txt" >tiny.txt
gtrain init tiny.txt >out 2>err
test $? -eq 1 && test ! -e tiny.ini && test ! -e tiny-data &&
    grep -q "1.95 KiB of text; a model needs 20 kB at least" err
ok $? "a text that is too short is refused before anything is written"
awk '{ gsub("\"", ""); printf "{\"body\":\"%s\"}\n", $0 }' \
    "texts/the fox.txt" >fox.jsonl
gtrain init - --input jsonl --field body -o piped --no-train <fox.jsonl \
    >out 2>err
test $? -eq 0 && cmp -s piped-data/text.jsonl fox.jsonl &&
    grep -q "encode .* --input jsonl --field body piped-data/text.jsonl" out
ok $? "init reads standard input, and passes options on to gdata" "$(cat err)"
sed '3s/.*/{/; 5s/"}$/\xf6"}/' fox.jsonl >odd.jsonl
gtrain init odd.jsonl --field body --no-train >out 2>err
is "$?$(grep -c 'odd.jsonl:3: ' err)$(grep -c 'skipped 1 bad line' err)$(
    grep -c 'invalid UTF-8' err)" 0111 \
    "init says once what is wrong with a text that it reads several times" \
    "$(cat err)"
gtrain init fox.jsonl >out 2>err
test $? -eq 1 && grep -q 'no field "text"' err && test ! -e fox.ini
ok $? "a wrong field is refused before anything is written"
gtrain init ftp://127.0.0.1/fox.txt >out 2>err
test $? -eq 1 && grep -q "gdata fetch -o fox-data ftp://127.0.0.1/fox.txt" out
ok $? "init fetches a URL"
if unshare -rm true 2>/dev/null; then
    mkdir small
    unshare -rm sh -c 'mount -t tmpfs -o size=2m none small &&
        gtrain init "texts/the fox.txt" -o small/fox' >out 2>err
    test $? -eq 1 && grep -q "the disk of small has .* left, but .* need" err
    ok $? "a disk that will be full is noticed before the training" "$(cat err)"
else
    skip "a disk that will be full is noticed before the training" "no unshare"
fi
gtrain init missing.txt >out 2>err
is $? 3 "a missing text is not found"
gtrain init texts --hours 0 >out 2>err
is $? 2 "a training of no time is a usage error"
done_testing
