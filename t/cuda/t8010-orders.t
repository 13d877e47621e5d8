#!/bin/sh
# The judge of the operations passes on the emulated device in any order of
# threads, with streams that run late, without cuBLASLt, and with cuDNN, well or
# broken.
. "$(dirname "$0")/../lib/tap.sh"
judge=$build/t/cuda/kernels-emu.t

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
try "operations pass with attention by cuDNN's graphs" GT_EMU_CUDNN=1 \
    GT_EMU_STREAMS=5
done_testing
