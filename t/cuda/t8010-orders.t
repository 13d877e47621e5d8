#!/bin/sh
# The judge of the operations passes on the emulated device in any order of
# threads, with streams that run late, without cuBLASLt, and with cuDNN, well or
# broken.
judge=${top_builddir:-.}/t/cuda/kernels-emu.t
n=0
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

try() {
    what=$1
    shift
    n=$((n + 1))
    if env GT_TEST_DEVICE=cuda XDG_CACHE_HOME="$dir" "$@" "$judge" \
        >"$dir/out" 2>&1 && grep -q '^1\.\.[1-9]' "$dir/out"; then
        echo "ok $n - $what"
    else
        echo "not ok $n - $what"
        grep -B3 '^not ok' "$dir/out" | sed 's/^/# /'
        tail -2 "$dir/out" | sed 's/^/# /'
    fi
}
echo 1..3
try "threads backwards, without cuBLASLt, on a GPU with less shared memory" \
    GT_EMU_ORDER=rev GT_CUBLASLT=off GT_EMU_CAPABILITY=89
try "threads shuffled, streams late" GT_EMU_ORDER=7 GT_EMU_STREAMS=7
try "attention by cuDNN's graphs, streams late" GT_EMU_CUDNN=1 \
    GT_EMU_STREAMS=5
