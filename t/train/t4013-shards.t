#!/bin/sh
# Shards that are cut or overwritten while training reads them end it with their
# name, not with a wrong loss.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
small_ini model.vocab=32 model.vocab_multiple=1 data.train=train.bin \
    data.val=val.bin train.micro_batch=2 train.batch=2 sample.every=0 \
    schedule.steps=1000000 eval.every=100 checkpoint.every=100 \
    checkpoint.keep_last=9999 >tiny.ini

# spoil NAME SHARD COMMAND: begin a run, and spoil the shard after the first
# checkpoint; the steps would take hours
spoil() {
    rhythm 20000 >train.bin
    rhythm 20000 >val.bin
    gtrain -q --config tiny.ini -n "$1" -s checkpoint.folder="$1" >out 2>&1 &
    pid=$!
    await_file "$1/step-00000100/state.json"
    ls "$1" >seen
    sh -c "$3"
    wait $pid
    is $? 1 "training ends with status 1 when $2 is $1"
    like out "$2 was changed while it was in use" "the message names $2, $1"
    gtrack ls --csv -c status -w "name = '$1'" >status
    like status FAILED "the run is FAILED when $2 is $1"
    like seen step- "a checkpoint was there before $2 was $1"
}
spoil cut train.bin 'truncate -s 5000 train.bin'
spoil overwritten train.bin \
    'head -c 4000 val.bin | dd of=train.bin bs=1000 seek=5 conv=notrunc 2>/dev/null'
spoil trimmed val.bin 'truncate -s 39000 val.bin'

# cut while it is opened: its header tells of tokens that are not there any more
encode_letters whole
mv whole_*.bin whole.bin
small_ini model.vocab=260 data.train=short.bin data.tokenizer=tok \
    train.micro_batch=2 train.batch=2 sample.every=0 schedule.steps=2 \
    eval.every=0 >short.ini
while read -r command; do
    cp whole.bin short.bin
    # shellcheck disable=SC2086 # words
    DISK_CUT=short.bin LD_PRELOAD=$build/t/lib/disk.so $command >out 2>err
    is $? 1 "$command ends with status 1 when its shard is cut"
    like err 'short.bin was changed while it was in use' \
        "$command names the shard that is cut"
done <<'END'
gtrain --config short.ini
gtrain --config short.ini --set data.order=documents
gtrain --config short.ini --set data.order=bestfit
gdata info -T tok short.bin
gdata verify --vocab 260 short.bin
gdata decode -T tok short.bin
END
done_testing
