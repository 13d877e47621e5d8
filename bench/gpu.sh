#!/bin/sh
# gpu.sh - measure training on this GPU, and compare it with PyTorch
#
# usage: gpu.sh [BUILD]         make bench-gpu runs it in the build folder
#
# Prints the rates of a matrix product and of a copy, and the result of the check
# of the device, which must be passed; then a table with a row
# for each model and batch: gtrain, with the phases of a micro-step by the
# device's clock, and PyTorch, eager and compiled (bench/gpu_torch.py with
# $GT_PYTHON or python3; left out if it has no torch with CUDA); then, for the
# first row, the time of every operation with its floor, the memory by purpose,
# and the time of a step without overlapping kernels, without CUDA graphs,
# without cuDNN, and with train.deterministic.
#
# Times are medians of the last two thirds of the steps; the first step has a
# column of its own.  In the environment: ROWS="124M-B64 124M-B4" selects rows,
# STEPS=12 sets the number of steps, TORCH=no leaves out PyTorch, and LIMIT=240
# is the limit of one training run in seconds.  All rows should take about ten
# minutes on an H100; this was not measured.
set -u
bench=$(cd "$(dirname "$0")" && pwd)
build=${1:-.}
gtrain=$build/gtrain
python=${GT_PYTHON:-python3}
steps=${STEPS:-12} limit=${LIMIT:-240}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$gtrain" devices --measure --aligned >"$dir/devices" 2>&1
if ! grep -q '^cuda.*compute capability' "$dir/devices"; then
    echo "gpu.sh: no CUDA device here; nothing is measured:" >&2
    cat "$dir/devices" >&2
    exit 1
fi
date -u '+%Y-%m-%d %H:%M UTC'
cat "$dir/devices"
small=
test "${ROWS:-}" != tiny ||
    small='--set model.width=32 --set model.heads=1 --set model.context=16 --set model.vocab=61'
# shellcheck disable=SC2086
if ! timeout "$limit" "$gtrain" devices --check --aligned $small; then
    echo "gpu.sh: the device computes wrong numbers; nothing is measured" >&2
    exit 1
fi
if test "${TORCH:-yes}" = no; then
    python=
elif ! "$python" -c 'import torch, sys
print("PyTorch", torch.__version__)
sys.exit(not torch.cuda.is_available())' 2>"$dir/torch"; then
    echo "PyTorch is left out: $(tail -n 1 "$dir/torch" | grep . ||
        echo "it cannot use CUDA")"
    python=
fi

# Random tokens: the time does not depend on their values.
perl -e 'binmode STDOUT; my $n = 8 << 20; srand 1;
    print pack("l<256", 20240520, 1, $n, (0) x 253);
    print pack("S<*", map { int rand 50257 } 1 .. 65536) for 1 .. $n / 65536' \
    >"$dir/train.bin" || exit 1

printf '[data]\ntrain = %s\n' "$dir/train.bin" >"$dir/base.ini"

# The median of the last two thirds of a metric's values, or "-" if most steps
# have no value: a micro-step that is replayed as a CUDA graph has no phases.
median() {
    test -f "$1" || { echo -; return; }
    awk '{ print $2 }' "$1" | tail -n "$((steps - steps / 3))" | sort -g |
        awk -v least="$((steps / 2))" '{ v[NR] = $1 }
            END { print (NR >= least) ? v[int((NR + 1) / 2)] : "-" }'
}

# eager or compile: tokens/s and GiB, or two dashes
torch() {
    if test -z "$python" || test "$context" != 1024; then
        echo '- -'
        return
    fi
    if ! timeout "$limit" "$python" "$bench/gpu_torch.py" "$layers" "$heads" \
        "$width" "$batch" "$micro" "$steps" "$1" >"$dir/out" 2>"$dir/torch"
    then
        echo "# $name, PyTorch $1: $(tail -n 1 "$dir/torch")" >&2
        echo '- -'
        return
    fi
    awk 'END { print $2, $3 }' "$dir/out"
}

# without CHANGE OPTION...: print the time of a step with a variable or a setting
without() {
    change=$1 variable=GT_NONE=
    shift
    case $change in
    GT_*) variable=$change ;;
    *) set -- "$@" --set "$change" ;;
    esac
    env "$variable" timeout "$limit" "$gtrain" train "$@" \
        --set "run.root=$dir/$change" >"$dir/log" 2>&1
    printf '%-28s %s\n' "$change" \
        "$(median "$(find "$dir/$change" -path '*metrics/perf/step_ms')")"
}

# name layers heads width context batch micro-steps, and other settings
row() {
    name=$1 layers=$2 heads=$3 width=$4 context=$5 batch=$6 micro=$7
    shift 7
    case " ${ROWS:-$name} " in *" $name "*) ;; *) return 0 ;; esac
    test -n "${ROWS:-}" || test "$name" != tiny || return 0
    root=$dir/$name
    set -- --config "$dir/base.ini" --set "run.root=$root" \
        --set train.device=cuda --set train.precision=bf16 \
        --set "model.layers=$layers" --set "model.heads=$heads" \
        --set "model.width=$width" --set "model.context=$context" \
        --set model.vocab=50257 --set "train.micro_batch=$batch" \
        --set "train.tokens_per_step=$((batch * micro * context))" \
        --set "schedule.steps=$steps" --set eval.every=0 \
        --set run.log_every=1 --set run.system_every=1s \
        --set checkpoint.last=no "$@"
    before=$(date +%s)
    if ! timeout "$limit" "$gtrain" train "$@" >"$dir/log" 2>&1; then
        printf '%-10s failed: %s\n' "$name" "$(tail -n 1 "$dir/log")"
        return 0
    fi
    seconds=$(($(date +%s) - before))
    perf=$(dirname "$(find "$root" -path '*metrics/perf/step_ms' | head -n 1)")
    memory=$(awk '{ print $2 / 2^30 }' "$perf/../system/mem_reserved_bytes" \
        2>/dev/null | sort -g | tail -n 1)
    first=$(awk 'NR == 1 { print $2 / 1e3 }' "$perf/step_ms")
    echo "$name $(median "$perf/tokens_per_s") $(median "$perf/mfu")" \
        "$(median "$perf/step_ms") $(median "$perf/micro_ms")" \
        "$(median "$perf/forward_ms") $(median "$perf/head_ms")" \
        "$(median "$perf/backward_ms") $(median "$perf/update_ms")" \
        "${memory:--} $first $seconds $(torch eager) $(torch compile)" | awk '
        function f(x, form) { return x == "-" ? x : sprintf(form, x) }
        { printf "%-10s %8s %5s %8s | %7s %6s %6s %6s %6s | %6s %5s %4s | " \
            "%8s %6s %8s %6s %5s\n", $1, f($2, "%.0f"),
            f($3 == "-" ? $3 : 100 * $3, "%.1f"), f($4, "%.1f"),
            f($5, "%.1f"), f($6, "%.1f"), f($7, "%.1f"), f($8, "%.1f"),
            f($9, "%.2f"), f($10, "%.2f"), f($11, "%.2f"), $12,
            f($13, "%.0f"), f($14, "%.2f"), f($15, "%.0f"), f($16, "%.2f"),
            $15 + 0 ? sprintf("%.2f", $2 / $15) : "-" }'
    test -n "${profiled:-}" || {
        profiled=$name
        sed -n 's/.*memory: /memory, at most: /p' "$dir/log" >"$dir/memory"
        timeout "$limit" "$gtrain" bench --profile --steps 3 --aligned "$@" \
            >"$dir/profile" 2>&1
        for change in GT_OVERLAP=off train.cuda_graphs=no GT_CUDNN=off \
            train.deterministic=yes; do
            without "$change" "$@"
        done >"$dir/without"
    }
}

printf '\n%-10s %8s %5s %8s | %7s %6s %6s %6s %6s | %6s %5s %4s | %8s %6s %8s %6s %5s\n' \
    model tokens/s 'MFU%' step-ms micro-ms fwd head bwd update GiB 1st-s all-s \
    eager GiB compile GiB ratio
row 124M-B64 12 12 768 1024 64 8
row 124M-B16 12 12 768 1024 16 8
row 124M-B4 12 12 768 1024 4 8
row 350M-B32 24 16 1024 1024 32 4
row 774M-B16 36 20 1280 1024 16 4
row 1558M-B8 48 25 1600 1024 8 4
row c4-30M 4 4 256 256 128 4 --set model.mlp=swiglu --set model.d_ff=1024 --set model.tied=no --set model.final_norm=no \
    --set model.linear_bias=no
row tiny 1 1 32 16 1 2

if test -n "${profiled:-}"; then
    echo
    echo "$profiled, waiting after each operation: ms per micro-step, and floor"
    cat "$dir/profile" "$dir/memory"
    echo
    echo "$profiled with other settings: ms of a step"
    cat "$dir/without"
fi
