#!/bin/sh
# gpu.sh - what training costs on this GPU, beside PyTorch in the same run
#
# usage: gpu.sh [BUILD]         make bench-gpu runs it in the build folder
#
# Prints a table, one line a model and batch: ours, PyTorch eager and compiled
# (bench/gpu_torch.py; $GT_PYTHON or python3, left out if it has no torch with
# CUDA); then operations one by one.  ROWS="124M-B64 124M-B4" in the
# environment chooses lines, STEPS=30 the number of steps.  Times are medians of
# the last two thirds of the steps; the first step is told apart.
set -eu
bench=$(cd "$(dirname "$0")" && pwd)
build=${1:-.}
gtrain=$build/gtrain
python=${GT_PYTHON:-python3}
steps=${STEPS:-30}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$gtrain" devices || true
if ! "$gtrain" devices 2>/dev/null | grep -q '^cuda'; then
    echo "gpu.sh: no CUDA device here; nothing was measured" >&2
    exit 1
fi
"$python" -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' \
    2>/dev/null || python=

# Random tokens: the time does not depend on what they say.
perl -e 'binmode STDOUT; my $n = 8 << 20; srand 1;
    print pack("l<256", 20240520, 1, $n, (0) x 253);
    print pack("S<*", map { int rand 50257 } 1 .. 65536) for 1 .. $n / 65536' \
    >"$dir/train.bin"

# Median of the last two thirds of a metric's values.
median() {
    awk '{ print $2 }' "$1" | tail -n "$((steps - steps / 3))" | sort -g |
        awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# name layers heads width batch micro-steps, and settings of the model
row() {
    name=$1 layers=$2 heads=$3 width=$4 batch=$5 micro=$6
    shift 6
    case " ${ROWS:-$name} " in *" $name "*) ;; *) return 0 ;; esac
    root=$dir/$name
    context=1024
    case " $* " in *model.context=256*) context=256 ;; esac
    set -- --set "data.train=$dir/train.bin" --set "run.root=$root" \
        --set train.device=cuda --set train.precision=bf16 \
        --set "model.layers=$layers" --set "model.heads=$heads" \
        --set "model.width=$width" --set "model.context=$context" \
        --set model.vocab=50257 --set "train.micro_batch=$batch" \
        --set "train.tokens_per_step=$((batch * micro * context))" \
        --set "schedule.steps=$steps" --set eval.every=0 \
        --set checkpoint.last=no "$@"
    if ! "$gtrain" train "$@" >"$dir/log" 2>&1; then
        printf '%-12s failed: %s\n' "$name" "$(tail -n 1 "$dir/log")"
        return 0
    fi
    perf=$(dirname "$(find "$root" -path '*metrics/perf/step_ms' | head -n 1)")
    ms=$(median "$perf/step_ms")
    first=$(awk 'NR == 1 { print $2 }' "$perf/step_ms")
    rate=$(median "$perf/tokens_per_s")
    mfu=$(median "$perf/mfu" 2>/dev/null || echo nan)
    memory=$(awk '{ print $2 / 2^30 }' "$perf/../system/mem_reserved_bytes" \
        2>/dev/null | sort -g | tail -n 1)
    eager=- compiled=-
    if test -n "$python" && test "$context" = 1024; then
        eager=$("$python" "$bench/gpu_torch.py" "$layers" "$heads" "$width" \
            "$batch" "$micro" "$steps" eager 2>/dev/null || echo '- - -')
        compiled=$("$python" "$bench/gpu_torch.py" "$layers" "$heads" \
            "$width" "$batch" "$micro" "$steps" compile 2>/dev/null ||
            echo '- - -')
    fi
    echo "$name $ms $rate $mfu ${memory:--} $first $eager $compiled" | awk '{
        printf "%-12s %9.1f %9.0f %5.1f%% %7.2f %8.0f | %9s %9s %7s | " \
            "%9s %9s %7s | %5.2f\n", $1, $2, $3, 100 * $4, $5, $6, $7, $8,
            $9, $10, $11, $12, $11 + 0 ? $3 / $11 : 0 }'
}

printf '%-12s %9s %9s %6s %7s %8s | %9s %9s %7s | %9s %9s %7s | %5s\n' \
    model ms tokens/s MFU GiB first-ms eager-ms tokens/s GiB compiled \
    tokens/s GiB ratio
row 124M-B64 12 12 768 64 8
row 124M-B16 12 12 768 16 8
row 124M-B4 12 12 768 4 8
row 350M-B32 24 16 1024 32 4
row 774M-B16 36 20 1280 16 4
row 1558M-B8 48 25 1600 8 4
row c4-30M 4 4 256 128 4 --set model.context=256 --set model.mlp=swiglu \
    --set model.d_ff=1024 --set model.tied=no --set model.final_norm=no \
    --set model.linear_bias=no

echo
echo "operations, bf16"
GT_TEST_DEVICE=cuda KERNELS_TYPE=bf16 "$build/t/kernels.t" --bench
