# train-lib.sh - small trainings on the cuda device, emulated or not, and on the
# CPU; sourced by the tests that compare them.  GT_TRAIN is the program,
# GT_TRAIN_STEPS the number of steps.
gtrain=${GT_TRAIN:-${top_builddir:-.}/t/cuda/gtrain-emu}
case $gtrain in /*) ;; *) gtrain=$PWD/$gtrain ;; esac
steps=${GT_TRAIN_STEPS:-6} half=$((${GT_TRAIN_STEPS:-6} / 2))
n=0
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export XDG_CACHE_HOME="$dir/cache" GTRACK_ROOT="$dir/mlruns"

say() {
    n=$((n + 1))
    if test "$1" = 0; then echo "ok $n - $2"; else
        echo "not ok $n - $2"
        sed 's/^/# /' log | tail -5
    fi
}

# Tokens with something to learn: each follows from the one before.
tokens() {
    perl -e 'binmode STDOUT; my ($n, $x, $s) = (shift, 5, shift);
        print pack("l<256", 20240520, 1, $n, (0) x 253);
        for (1 .. $n) { $s = ($s * 1103515245 + 12345) & 0x7fffffff;
            $x = ($x * 7 + ($s >> 16) % 3) % 61; print pack("S<", $x) }' "$@"
}
tokens 20000 1 >train.bin
tokens 2000 2 >val.bin
cat >base.ini <<EOF
[data]
train = train.bin
val = val.bin
[model]
layers = 2
heads = 2
width = 32
context = 16
vocab = 61
[train]
micro_batch = 2
tokens_per_step = 64
[optim]
lr = 3e-3
[schedule]
steps = $steps
warmup = 1
[eval]
every = 3
sequences = 2
EOF

# The metric train/loss of the run under a root, one value a line.
losses() {
    awk '{ print $2 }' "$(find "$1" -path '*metrics/train/loss' | head -n 1)"
}

# A training whose store is the first argument.
train() {
    folder=$1
    shift
    timeout 200 "$gtrain" train --config base.ini --set "run.root=$folder" \
        --set "checkpoint.folder=$folder/ck" "$@" >log 2>&1 &&
        ! grep 'cuBLASLt refuses' log   # what it offered, and we took
}

# Do two lists of numbers agree to so many parts?
near() {
    paste "$1" "$2" | awk -v tol="$3" -v steps="$steps" '
        function abs(x) { return x < 0 ? -x : x }
        NF != 2 || abs($1 - $2) > tol * abs($2) { bad = 1 }
        END { exit bad || NR != steps }'
}
