#!/bin/sh
# The scratch memory and the workspaces that gtrain plan counts for a GPU are
# those that the device allocates.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
GT_TRAIN_STEPS=1
make_device_case
"$gtrain" devices | grep -q 'emulated GPU' || skip_all "the device is a GPU"
export GT_EMU_CUDNN=1 GT_EMU_TIMELESS=1 GT_DEVICE_CHECK=off
export GT_EMU_MEMORY_MB=144384 # an H200's: the room for logits depends on it

# compare NAME SETTING...
compare() {
    name=$1
    shift
    options=
    for setting; do
        options="$options --set $setting"
    done
    # shellcheck disable=SC2086
    train "$name" $options --set train.device=cuda --set run.system_every=1s \
        --set eval.every=0
    is=$(for use in scratch workspace; do
        tail -n 1 "$name"/0/*/metrics/system/mem_${use}_bytes
    done | awk '{ sum += $2 } END { printf "%.0f\n", sum }')
    # shellcheck disable=SC2086
    want=$("$gtrain" plan --config base.ini $options --device h200 \
        --only memory --tsv --no-header | cut -f 7)
    is "$is" "$want" "the plan counts the scratch memory for $name" \
        "$(tail -n 1 log)"
}
compare logits-of-16-bits train.precision=bf16 model.vocab=50257 \
    train.micro_batch=1 model.context=32 train.tokens_per_step=64
compare logits-of-32-bits model.vocab=50257 train.micro_batch=1 \
    model.context=32 train.tokens_per_step=64
compare logits-in-fp8 train.precision=bf16 train.fp8=head model.vocab=50256 \
    train.micro_batch=1 model.context=32 train.tokens_per_step=64
# just more than the 2 MiB that any model has
compare gradients-of-attention train.precision=bf16 model.width=128 \
    model.layers=1 model.d_ff=16 model.context=64 train.micro_batch=64 \
    train.tokens_per_step=4096

# a GPU of 150 MiB, of which workspaces take 128
GT_EMU_MEMORY_MB=150
! train large --set train.device=cuda --set eval.every=0 \
    --set train.micro_batch=320 --set train.tokens_per_step=5120
ok $? "a training that exceeds the memory of the GPU fails"
fits=$(sed -n 's/.*cannot allocate.*train.micro_batch = \([0-9]*\) should fit$/\1/p' log)
train fits --set train.device=cuda --set eval.every=0 \
    --set train.micro_batch="${fits:-none}" \
    --set train.tokens_per_step=$((16 * ${fits:-1}))
ok $? "the micro-batch that the message names fits" "$(tail -n 3 log)"
done_testing
