#!/bin/sh
# A whole training on the emulated CUDA device goes as on the CPU, in every
# type, and resumes to the same bits.
gtrain=${GT_TRAIN:-${top_builddir:-.}/t/gtrain-emu}
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
steps = 6
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
        --set "checkpoint.folder=$folder/ck" "$@" >log 2>&1
}

# Do two lists of 6 numbers agree to so many parts?
near() {
    paste "$1" "$2" | awk -v tol="$3" '
        function abs(x) { return x < 0 ? -x : x }
        NF != 2 || abs($1 - $2) > tol * abs($2) { bad = 1 }
        END { exit bad || NR != 6 }'
}

# The losses of a training in this type agree on both devices.
both() {
    type=$1 tol=$2
    shift 2
    train "cpu-$type" --set train.device=cpu --set "train.precision=$type" \
        "$@" && losses "cpu-$type" >want
    train "cuda-$type" --set train.device=cuda --set "train.precision=$type" \
        "$@" && losses "cuda-$type" >is
    near is want "$tol"
    say $? "6 steps in $type go as on the CPU, to $tol"
}

both fp32 1e-5
both bf16 1e-2
both fp16 2e-3 --set model.dropout=0.1

# Micro-steps given one kernel at a time, and as CUDA graphs.
train single --set train.device=cuda --set train.cuda_graphs=no &&
    losses single >want
train graphs --set train.device=cuda --set train.cuda_graphs=yes &&
    losses graphs >is && ! grep -q 'no CUDA graphs' log && cmp -s is want
say $? "replayed as CUDA graphs, micro-steps give the same bits"
GT_CUDA_CAREFUL=1
export GT_CUDA_CAREFUL
train careful --set train.device=cuda --set train.cuda_graphs=yes &&
    losses careful >is && grep -q 'no CUDA graphs' log && cmp -s is want
say $? "and go on as before where the device cannot keep them"
unset GT_CUDA_CAREFUL
# Times by the device's clock, a step late: of 6 steps, 5.
count() {
    cat "$(find "$1" -path "*metrics/perf/$2")" 2>/dev/null | wc -l
}
test "$(count single forward_ms) $(count single head_ms)" = "5 5" &&
    test "$(count single backward_ms) $(count single update_ms)" = "5 5" &&
    test "$(count graphs micro_ms) $(count graphs forward_ms)" = "5 1"
say $? "the device tells the time of each phase"

# Interrupted at step 3 and gone on with: the same bits, also of the weights.
sums() {
    find "$1" -name '*.safetensors' -exec cksum {} + | cut -d' ' -f1,2
}
train whole --set train.device=cuda --set model.mlp=swiglu \
    --set model.position=rope --set model.norm=rmsnorm
train part --set train.device=cuda --set model.mlp=swiglu \
    --set model.position=rope --set model.norm=rmsnorm --set train.stop_at=3
train part --set train.device=cuda --set model.mlp=swiglu \
    --set model.position=rope --set model.norm=rmsnorm --resume auto
losses whole >want
losses part >is
cmp -s is want && test -s is
say $? "a resumed training has the losses of an unbroken one, bit for bit"
sums whole/ck/*6 >want
sums part/ck/*6 >is
cmp -s is want && test -s is
say $? "and its weights"
echo "1..$n"
