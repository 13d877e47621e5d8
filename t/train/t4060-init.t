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
grep '^\$' out >commands
is "$(cat commands)" "\$ gdata bpe --vocab 512 -o 'the fox-data/tok' 'texts/the fox.txt'
\$ gdata encode -T 'the fox-data/tok' --val 10% --split tail -o 'the fox-data/text' 'texts/the fox.txt'
\$ gtrain --config 'the fox.ini'" "init prints each command it runs"
gtrack ls --csv -c status 2>&1 | grep -q FINISHED
ok $? "the training of init is a finished run"
gtrain sample --prompt "the " --tokens 5 >sample 2>err
ok $? "the model of init can be sampled from" "$(cat err)"

cp "the fox.ini" before
gtrain init "texts/the fox.txt" >out 2>err
is $? 2 "settings that exist are a usage error of init"
cmp before "the fox.ini"
ok $? "init does not replace settings"
like err "the fox.ini exists.*gtrain --config.*-o" \
    "init says how to use existing settings"

gtrain init texts --output long --hours 1000 --ranks 3 --no-train >out 2>err
ok $? "init prepares a folder of texts without training" "$(tail -n 5 err)"
is "$(tail -n 1 out)" "\$ gtrain --config long.ini --ranks 3" \
    "init prints the command of a training with ranks"
like long.ini "^dropout = 0.2" "a text that is read often needs dropout"
width=$(sed -n 's/^width = //p' long.ini)
test "$width" -gt 128
ok $? "more time makes a larger model" "width $width"
gtrain plan long.ini >plan 2>&1
ok $? "gtrain plan understands the settings of init" "$(cat plan)"

: >empty.txt
gtrain init empty.txt >out 2>err
is $? 1 "an empty text is an error of init"
gtrain init missing.txt >out 2>err
is $? 3 "a missing text is not found"
gtrain init texts --hours 0 >out 2>err
is $? 2 "a training of no time is a usage error"
done_testing
