#!/bin/sh
# Token files, a lock, a tokenizer, a checkpoint and a store that an earlier
# version wrote can be read.  t/formats has an archive for each version.
. "$(dirname "$0")/../lib/tap.sh"
xz --version >/dev/null 2>&1 || skip_all "no xz"

for archive in "$top"/t/formats/*.tar.xz; do
    v=$(basename "$archive" .tar.xz)
    xz -dc "$archive" | tar -xf - && cd "$v"
    ok $? "the archive of $v unpacks"
    gdata verify -T tok data.lock >out 2>err
    ok $? "the token files of $v fit their lock and their tokenizer"
    { gdata decode -q -T tok text_train_000000.bin &&
        gdata decode -q -T tok text_val_000000.bin; } >out 2>err
    cmp -s out text.txt
    ok $? "the token files of $v decode to their text"

    gtrack fsck --repair --moved >out 2>err && gtrack fsck >out 2>err
    ok $? "nothing but its place is wrong with the store of $v" "$(cat out err)"
    is "$(gtrack ls --tsv --no-header -c name,status,steps)" \
        "old${tab}FINISHED${tab}6" "the run of $v is listed"
    gtrack metrics --tsv old val/loss >out 2>err
    like out '6.5\.5544' "the loss of $v is read"

    gtrain eval --tsv ck/step-00000006 >out 2>err
    like out '^5\.554' "the checkpoint of $v evaluates to the loss in its run"
    gtrain -q -c c.ini --resume auto -n old -s schedule.steps=8 >out 2>err
    ok $? "training goes on from the checkpoint of $v"
    is "$(gtrack ls --tsv --no-header -c name,status,attempts,steps)" \
        "old${tab}FINISHED${tab}2${tab}8" "the run of $v has two more steps"
    cd "$dir" || exit 1
done
done_testing
