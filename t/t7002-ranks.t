#!/bin/sh
# However a training is spread over processes, the weights and the moments
# after some steps are the same to the bit: each step's 12 micro-batches are
# shared by 1, 2, 3 or 4 ranks, each of which keeps all or its part.
gtrain=$PWD/gtrain
test -x "$gtrain" || { echo "1..0 # SKIP no gtrain"; exit 0; }
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
OMP_NUM_THREADS=1
export OMP_NUM_THREADS
perl -e 'binmode STDOUT; my ($n, $s) = (5000, 7);
    print pack("l<256", 20240520, 1, $n, (0) x 253);
    for (1 .. $n) { $s = ($s * 1103515245 + 12345) % 2147483648;
        print pack("S<", ($s >> 16) % ($_ % 3 ? 97 : 23)) }' >train_0.bin
cat >c.ini <<'END'
[data]
train = train_0.bin
val = train_0.bin
[model]
layers = 3
heads = 2
width = 128
context = 8
vocab = 97
[train]
micro_batch = 1
batch = 12
deterministic = yes
[schedule]
steps = 3
[eval]
every = 2
sequences = 7
[sample]
every = 0
[run]
system_every = 0s
END
n=0
result() {
    n=$((n + 1))
    if test -z "$2"; then echo "ok $n - $1"; else
        echo "not ok $n - $1"
        printf '%s\n' "$2" | sed 's/^/# /'
    fi
}
sums() { cat "$1"/step-00000003/model.safetensors \
    "$1"/step-00000003/optim.safetensors 2>/dev/null | sha256sum; }
"$gtrain" -q --config c.ini --set checkpoint.folder=one >one.log 2>&1
result "one process trains" "$(test -d one/step-00000003 || cat one.log)"
want=$(sums one)
for job in "ddp 2" "ddp 3" "zero1 2" "zero1 4" "zero2 3" "zero2 4" \
    "fsdp 2" "fsdp 3" "fsdp 4"; do
    # shellcheck disable=SC2086
    set -- $job
    "$gtrain" -q --config c.ini --ranks "$2" --set parallel.mode="$1" \
        --set checkpoint.folder="$1$2" >log 2>&1
    bad=
    test "$(sums "$1$2")" = "$want" || bad="other weights: $(tail -n 3 log)"
    result "$1 with $2 ranks: the bits of one process" "$bad"
done

# what some ranks saved, others go on from, to the bits of an unbroken run
"$gtrain" -q --config c.ini --ranks 3 --set parallel.mode=fsdp \
    --set train.stop_at=2 --set checkpoint.folder=part >log 2>&1
"$gtrain" -q --config c.ini --ranks 2 --set parallel.mode=zero1 \
    --set checkpoint.folder=part --resume part >>log 2>&1
bad=
test "$(sums part)" = "$want" || bad="other weights: $(tail -n 3 log)"
result "fsdp of 3 ranks, resumed by zero1 of 2" "$bad"

# sums of what each rank has accumulated differ by rounding alone
"$gtrain" -q --config c.ini --set train.deterministic=no --ranks 2 \
    --set run.name=native --set checkpoint.last=no >log 2>&1
runs=$(ls -d mlruns/0/*/metrics/train | wc -l)
bad=$(for run in mlruns/0/*; do
    test -f "$run/metrics/train/loss" &&
        awk '$3 == 3 { print $2 }' "$run/metrics/train/loss"; done |
    awk 'NR == 1 { low = high = $1 } { if ($1 < low) low = $1
        if ($1 > high) high = $1 }
        END { if (!NR || high - low > 1e-5 * high) print low, high }')
result "native sums lie within 1e-5 ($runs runs)" "$bad"

# wait until it has saved a checkpoint, or is gone
started() {
    until ls "$1"/step-*/state.json >/dev/null 2>&1; do
        kill -0 "$2" 2>/dev/null || return
    done
}

children() { # PARENT
    grep -ls "^PPid:[[:space:]]*$1\$" /proc/[0-9]*/status |
        sed 's|/proc/\([0-9]*\)/.*|\1|'
}

# a rank that is killed is named, and nobody is left behind
"$gtrain" --config c.ini --ranks 3 --set schedule.steps=100000 \
    --set eval.every=0 --set checkpoint.folder=killed \
    --set checkpoint.every=2 >log 2>&1 &
parent=$!
victim=
started killed $parent
for pid in $(children $parent); do victim=$pid; done
kill -9 "$victim"
wait $parent
status=$?
bad=
test $status -eq 6 || bad="status $status"
grep -q "pid $victim) died" log || bad="$bad, the dead rank is not named"
grep -qs folder=killed /proc/[0-9]*/cmdline && bad="$bad, ranks are left"
test -z "$bad" || bad="$bad: $(tail -n 3 log)"
result "kill -9 of one rank ends the job, by name" "$bad"

# SIGTERM stops all at the same step, with a checkpoint
"$gtrain" --config c.ini --ranks 2 --set schedule.steps=100000 \
    --set eval.every=0 --set checkpoint.folder=stopped \
    --set checkpoint.every=2 >log 2>&1 &
parent=$!
started stopped $parent
kill -TERM $parent
wait $parent
status=$?
bad=
test $status -eq 75 || bad="status $status"
ls stopped/step-*/state.json >/dev/null 2>&1 || bad="$bad, no checkpoint"
test -z "$bad" || bad="$bad: $(tail -n 3 log)"
result "SIGTERM: a checkpoint, and status 75" "$bad"

bad=$("$gtrain" --config c.ini --ranks 2 --set parallel.mode=fsdp \
    --set optim.name=muon 2>&1)
test $? -eq 2 && bad=
result "muon with shared matrices is refused" "$bad"
echo "1..$n"
