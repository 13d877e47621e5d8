#!/bin/sh
# A training step asks for no memory: fifty steps more ask fewer than fifty times
# more.  The few are the store's thread's, which wakes by the clock.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
so=$build/t/lib/shim.so
if ! LD_PRELOAD=$so SHIM_COUNTS=$dir/any gtrain --version >/dev/null 2>&1 ||
    ! test -s "$dir/any"; then
    skip_all "malloc cannot be stood in for here"
fi
rhythm 6000 >train.bin
small_ini model.layers=2 model.vocab=32 model.vocab_multiple=1 \
    model.dropout=0.1 data.train=train.bin train.micro_batch=2 train.batch=4 \
    train.threads=2 schedule.steps=100 checkpoint.last=no >tiny.ini
# calls of a run of $1 steps in $2
calls() {
    LD_PRELOAD=$so SHIM_COUNTS=$dir/calls gtrain -q --config tiny.ini \
        --root "r$1" --set train.stop_at="$1" --set train.precision="$2" \
        >out 2>&1 &&
        cut -d ' ' -f 1 calls
}
for kind in fp32 bf16; do
    # the thread only adds to what the steps ask for, the more the longer they
    # take: of three tries, the least counts
    for _ in 1 2 3; do
        few=$(calls 10 $kind)
        many=$(calls 60 $kind)
        rm -rf r10 r60
        test -n "$few" && test $((many - few)) -lt 50 && break
    done
    test -n "$few" && test $((many - few)) -lt 50
    ok $? "50 more steps in $kind allocate no memory" \
        "$few calls in 10 steps, $many in 60: $(cat out)"
done
done_testing
