#!/bin/sh
# A capture that fails costs only the graph: the products and the attention of
# the libraries are used as before, and nothing is computed twice.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
make_device_case
"$gtrain" devices | grep -q 'emulated GPU' || skip_all "the device is a GPU"
export GT_EMU_CUDNN=1 GT_EMU_TIMELESS=1 GT_DEVICE_CHECK=off

# losses RUN SETTING...: train four micro-batches a step in bf16, and print what
# was computed; the file count has how many kernels of our own replaced those of
# a library
losses() {
    rm -f launched
    name=$1
    shift
    GT_EMU_LAUNCHES=$dir/launched train "$name.runs" \
        --set train.precision=bf16 --set train.device=cuda \
        --set train.tokens_per_step=128 --set eval.every=0 \
        --set schedule.steps=2 "$@" || return
    grep -c -E 'gemm_plain|flash_|head_products' launched >count
    gtrack metrics -r "$name.runs" run1 --tsv --no-header |
        grep -E 'train/(loss|grad_norm)' | cut -f1-10
}

losses warm >warm
losses never --set train.cuda_graphs=no >want && mv count wanted
ok $? "a training without CUDA graphs ends" "$(tail -n 5 log)"
losses always --set train.cuda_graphs=yes >is && cmp -s is want &&
    ! grep -q 'without CUDA graphs' log
ok $? "a training with CUDA graphs computes the same" "$(diff want is; cat log)"
for no in launches begin; do
    GT_EMU_NO_CAPTURE=$no losses "$no" --set train.cuda_graphs=yes >is &&
        cmp -s is want && cmp -s count wanted &&
        ! grep -q 'slower kernel' log && test "$(grep -c 'cannot be recorded as a CUDA graph (cuda: [a-z_]*: [io].*training without CUDA graphs' log)" = 1
    ok $? "a training whose captures fail computes the same ($no)" \
        "$(diff want is; cat log)"
done
GT_EMU_NO_CAPTURE=overlap losses overlap --set train.cuda_graphs=yes >is &&
    cmp -s is want && grep -q 'whose kernels overlap cannot be recorded' log &&
    ! grep -q 'slower kernel\|without CUDA graphs' log
ok $? "a capture that fails with kernels that overlap is made without" \
    "$(diff want is; cat log)"
GT_CUDA_CAREFUL=1 losses careful --set train.cuda_graphs=yes >is &&
    cmp -s is want && ! grep -q 'without CUDA graphs' log
ok $? "a device that waits after each launch records micro-steps" \
    "$(diff want is; cat log)"

# Ranks record the micro-steps before the last of a step, whose sums are sent
# while it runs.
# shellcheck disable=SC2086 # CC may hold options
${CC:-cc} -shared -fPIC -O1 -I"$top/src" -I"$top" -o nccl.so \
    "$top/t/emu/nccl_emu.c" -ldl -lrt 2>log &&
    export GTRAIN_NCCL_LIB="$dir/nccl.so"
for mode in ddp zero1 fsdp; do
    for set in no yes; do
        GT_EMU_NO_CAPTURE=$([ $set = no ] && echo begin) losses $mode-$set \
            --ranks 2 --set parallel.mode=$mode \
            --set train.cuda_graphs=yes >$set
        grep -c 'cannot be recorded as a CUDA graph' log >told-$set
    done
    tries=2 # one for each rank
    test $mode != fsdp || tries=0
    is "$(cat told-no told-yes | tr '\n' ' ')" "$tries 0 " \
        "micro-steps of two ranks are recorded if they are alone ($mode)"
    cmp -s no yes
    ok $? "recorded micro-steps of two ranks compute the same ($mode)" \
        "$(diff no yes; tail -n 5 log)"
done
done_testing
