#!/bin/sh
# Algorithms that compute the products of a training wrongly are not used,
# though those of the check, whose sums are short, are right.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
make_device_case
"$gtrain" devices | grep -q 'emulated GPU' || skip_all "the device is a GPU"
export GT_EMU_TIMELESS=1
steps=2
XDG_CACHE_HOME=$dir/cache
export XDG_CACHE_HOME

# wrong FAULT PRODUCT: a training whose sums have 128 numbers warns, and learns
# what one without the fault does
wrong() {
    GT_EMU_LT=$1 timeout 200 "$gtrain" train --config base.ini \
        --set "run.root=$1.runs" --set train.precision=bf16 \
        --set train.device=cuda --set train.micro_batch=8 \
        --set train.tokens_per_step=128 --set eval.every=0 \
        --set schedule.steps=$steps >log 2>&1 &&
        grep -q 'as the CPU does (checked in' log &&
        losses "$1.runs" >"$1"
}
wrong none-of-these && cp none-of-these want
ok $? "a training without faults ends" "$(tail -n 5 log)"
cp -r cache chosen
for fault in half half-sums; do
    rm -rf cache
    wrong $fault && near $fault want 1e-2 &&
        grep -q 'algorithms of cuBLASLt compute a product .* wrongly' log
    ok $? "a product that leaves out a half is not used ($fault)" \
        "$(paste "$fault" want; tail -n 5 log)"
done
rm -rf cache half.runs
cp -r chosen cache
rm cache/gtrain/checked
wrong half && near half want 1e-2 &&
    grep -q '1 of 1 algorithms of cuBLASLt compute a product .* wrongly' log
ok $? "an algorithm that was chosen before is tried once more" \
    "$(paste half want; tail -n 5 log)"
done_testing
