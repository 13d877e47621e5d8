#!/bin/sh
# The judge of the operations passes on the emulated device in any order of
# threads, with streams that run late, without cuBLASLt, and with cuDNN, well or
# broken.
. "$(dirname "$0")/../lib/tap.sh"
takes_minutes
judge=$build/t/cuda/kernels_emu.t

try() {
    what=$1
    shift
    env GT_TEST_DEVICE=cuda "$@" "$judge" >out 2>&1 &&
        grep -q '^1\.\.[1-9]' out
    ok $? "$what" "$(grep -B3 '^not ok' out; tail -n 2 out)"
}
try "operations pass with threads backwards, less memory, no cuBLASLt" \
    GT_EMU_ORDER=rev GT_CUBLASLT=off GT_EMU_CAPABILITY=89
try \
    "operations pass with threads shuffled and streams late" GT_EMU_ORDER=7 GT_EMU_STREAMS=7
# what cuDNN computes; the others are as before
for op in attn_fwd attn_bwd; do
    try "$op passes by cuDNN's graphs" GT_EMU_CUDNN=1 GT_EMU_STREAMS=5 \
        KERNELS_ONLY=$op
done
# Of two streams, one forgets to wait for the other: which one, and what for.
misses() {
    env GT_TEST_DEVICE=cuda KERNELS_ONLY=linear_bwd GT_EMU_STREAMS=7 \
        GT_EMU_NO_WAITS="$1" "$judge" >out 2>&1
    test $? = 1 && grep -q '^not ok .* linear_bwd' out
    ok $? "$2" "$(tail -n 2 out)"
}
misses 0 "the judge finds an input's gradient that does not wait for a weight's"
misses 1 "the judge finds a weight's gradient that does not wait for its input"
done_testing
