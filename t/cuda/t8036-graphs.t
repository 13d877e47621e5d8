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
        --set schedule.steps=2 "$@"
    status=$?
    test $status = 0 || return $status
    grep -c -E 'gemm_plain|flash_|head_products' launched >count
    gtrack metrics -r "$name.runs" run1 --tsv --no-header >metrics
    grep perf/sent_bytes metrics | cut -f5 >sent # in the last step
    grep -E 'train/(loss|grad_norm)|val/loss' metrics | cut -f1-10
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

# Ranks record micro-steps with the sums that are sent while they run.
# shellcheck disable=SC2086 # CC may hold options
${CC:-cc} -shared -fPIC -O1 -I"$top/src" -I"$top" -o nccl.so \
    "$top/t/emu/nccl_emu.c" -ldl -lrt 2>log &&
    export GTRAIN_NCCL_LIB="$dir/nccl.so"
# ranks N MODE NAME SETTING...: losses of N ranks, in three steps
ranks() {
    n=$1
    mode=$2
    name=$3
    shift 3
    losses "$name" --ranks "$n" --set parallel.mode="$mode" \
        --set train.tokens_per_step=$((64 * n)) --set schedule.steps=3 "$@"
}
graphs() { grep -c '^graph$' launched; }
for n in 2 3; do
    for mode in ddp zero1 zero2 fsdp; do
        want=$((4 * n)) # two micro-steps in each step after the first
        test $mode != fsdp || want=0
        ranks $n $mode $n-$mode --set train.cuda_graphs=no >want
        mv sent sent-without
        for overlap in on off; do
            GT_OVERLAP=$overlap ranks $n $mode $n-$mode-$overlap \
                --set train.cuda_graphs=yes >is
            cmp -s is want && test -s want && test "$(graphs)" = $want &&
                paste sent sent-without | awk '!($1 > 0.99 * $2 && $1 < 1.01 * $2) { exit 1 }' &&
                ! grep -q 'without CUDA graphs' log
            ok $? "$n ranks of $mode compute the same from graphs, overlap $overlap" \
                "$(graphs) graphs; $(diff want is; tail -n 5 log)"
        done
    done
done
# what a graph has is recorded again when the loss scale changes; the scratch
# memory of an evaluation does not move that of a graph
more="--set train.precision=fp16 --set train.loss_scale_window=1 --set eval.every=1
--set parallel.sum_type=bf16 --set schedule.steps=4"
for mode in ddp zero2; do
    # shellcheck disable=SC2086 # several options
    ranks 2 $mode scale-$mode --set train.cuda_graphs=no $more >want
    for late in '' 1 2; do
        # the emulated device computes only when its own host waits, so ranks
        # of zero2, which wait for each other, cannot be late
        test -z "$late" -o $mode = ddp || continue
        test -z "$late" || export GT_EMU_STREAMS=$late
        # shellcheck disable=SC2086
        ranks 2 $mode scale-$mode-late$late --set train.cuda_graphs=yes $more >is
        cmp -s is want && test "$(graphs)" = 12 && ! grep -q 'without CUDA graphs' log
        ok $? "ranks of $mode compute the same from graphs while the loss scale changes${late:+, late streams $late}" \
            "$(graphs) graphs; $(diff want is; tail -n 5 log)"
    done
    unset GT_EMU_STREAMS
done
losses one-in-order --set train.deterministic=yes --set train.cuda_graphs=no >want
losses one-in-order-graphs --set train.deterministic=yes --set train.cuda_graphs=yes >is
cmp -s is want && test "$(graphs)" = 4
ok $? "a micro-step that adds to sums in order runs from a graph" \
    "$(graphs) graphs; $(diff want is; tail -n 5 log)"

# The library fails in a graph: calls 5 to 8 are those of the first one.
hang="--set parallel.timeout=2s --set train.cuda_graphs=yes"
# shellcheck disable=SC2086
NCCL_SHIM_STUCK=1:6 ranks 2 ddp stuck $hang
is "$? $(grep -c 'NCCL: a rank did not respond to rank [01] for 2 s' log)" "6 1" \
    "a rank that hangs in a graph ends the job"
# shellcheck disable=SC2086
NCCL_SHIM_FAIL=6 ranks 2 ddp fails $hang
is "$? $(grep -c 'asked to fail; this call was to be part of a CUDA graph, which train.cuda_graphs = no prevents' log)" "6 1" \
    "a call that NCCL refuses while it is recorded ends the job and says what prevents that"

# Failed captures, also when sums have been captured before, on all ranks or one:
# then nobody runs a graph with sums.
ranks 2 zero1 2-plain --set train.cuda_graphs=no >want
while read -r no told want; do
    GT_EMU_NO_CAPTURE=$no ranks 2 zero1 "no-$no" --set train.cuda_graphs=yes >is
    cmp -s is want && test "$(graphs)" = "$want" &&
        test "$(grep -c 'cannot be recorded as a CUDA graph.*without CUDA graphs' log)" = "$told"
    ok $? "two ranks whose captures fail compute the same ($no)" \
        "$(graphs) graphs; $(diff want is; cat log)"
done <<END
begin 2 0
launches 2 0
60 2 0
120 2 2
120:1 1 3
END
done_testing
