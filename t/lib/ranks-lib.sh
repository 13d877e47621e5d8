# ranks-lib - what the tests of many processes share; sourced, in the folder
# where the programs were built.  Makes a folder of its own and goes there.
#
#   here        the folder of the tests
#   gtrain      the program
#   c.ini       a small model on train_0.bin, 12 micro-batches a step

# shellcheck shell=sh disable=SC2034,SC2154
here=$(cd "$(dirname "$0")" && pwd)
gtrain=$PWD/gtrain
test -x "$gtrain" || { echo "1..0 # SKIP no gtrain"; exit 0; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
export OMP_NUM_THREADS OMP_WAIT_POLICY

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
device = cpu
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
# result WHAT BAD: fails with the words of BAD, if there are any
result() {
    n=$((n + 1))
    if test -z "$2"; then echo "ok $n - $1"; else
        echo "not ok $n - $1"
        printf '%s\n' "$2" | sed 's/^/# /'
    fi
}

# the bits of the weights and moments in a folder of checkpoints after step 3
sums() { cat "$1"/step-00000003/model.safetensors \
    "$1"/step-00000003/optim.safetensors 2>/dev/null | sha256sum; }

# children PID: the processes that PID has started; others may end meanwhile, at
# which cat goes on
children() { cat /proc/[0-9]*/stat 2>/dev/null |
    sed -n "s/^\([0-9]*\) (.*) [A-Z] $1 .*/\1/p"; }

# alive PID...: those that still are
alive() {
    for pid in "$@"; do
        grep -q '^State:[[:space:]]*[^ZX]' "/proc/$pid/status" 2>/dev/null &&
            echo "$pid"
    done
}

# left PID...: those that are still alive after ten seconds
left() {
    tries=0
    while test -n "$(alive "$@")" && test $tries -lt 100; do
        tries=$((tries + 1))
        sleep 0.1
    done
    alive "$@"
}

# started FOLDER PID: until PID has saved a checkpoint there, or is gone
started() {
    until ls "$1"/step-*/state.json >/dev/null 2>&1; do
        kill -0 "$2" 2>/dev/null || return
    done
}

# free_port: one that nobody listens on
free_port() { perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(
    Listen => 1, LocalAddr => "127.0.0.1")->sockport'; }

# endless FOLDER COMMAND...: start it as a training that would not end and saves
# into FOLDER; its process in parent, its ranks in ranks, the last in victim
endless() {
    folder=$1
    shift
    "$@" --config c.ini --set schedule.steps=1000000 --set eval.every=0 \
        --set checkpoint.every=2 --set checkpoint.folder="$folder" >log 2>&1 &
    parent=$!
    started "$folder" $parent
    ranks=$(children $parent)
    victim=$(echo "$ranks" | tail -n 1)
}

# over STATUS: it ends with it, and leaves nobody behind; else why not, in bad
over() {
    wait $parent
    status=$?
    bad=
    test $status -eq "$1" || bad="status $status: $(tail -n 5 log)"
    # shellcheck disable=SC2086
    alive=$(left $ranks)
    test -z "$alive" || bad="$bad ranks are left: $alive"
}
