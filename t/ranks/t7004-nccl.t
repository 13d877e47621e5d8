#!/bin/sh
# Several ranks on the emulated CUDA device, summed by NCCL's calls (a shim of
# them) and through the host, learn what one process on the CPU learns.
. "$(dirname "$0")/../lib/tap.sh"
takes_minutes
. "$top/t/lib/fixtures.sh"
emu=$build/gtrain-emulated
make_ranks_case
# shellcheck disable=SC2086 # CC may hold options
${CC:-cc} -shared -fPIC -O1 -I"$top/src" -I"$top" -o shim.so \
    "$top/t/emu/nccl_emu.c" -ldl -lrt 2>log ||
    skip_all "no shared library: $(head -1 log)"

# what we say of NCCL is what its header says, where there is one
cat >abi.c <<'END'
#include <nccl.h>
#include <stddef.h>
#include "trainer/ranks/coll_nccl.h"
#define SAME(x, y) _Static_assert((int)(x) == (int)(y), #y)
SAME(NCCL_OK, ncclSuccess);
SAME(NCCL_INTERNAL, ncclInternalError);
SAME(NCCL_IN_PROGRESS, ncclInProgress);
SAME(NCCL_U8, ncclUint8);
SAME(NCCL_F32, ncclFloat32);
SAME(NCCL_BF16, ncclBfloat16);
SAME(NCCL_SUM, ncclSum);
SAME(sizeof(struct nccl_id), sizeof(ncclUniqueId));
SAME(offsetof(struct nccl_config, magic), offsetof(ncclConfig_t, magic));
SAME(offsetof(struct nccl_config, version), offsetof(ncclConfig_t, version));
SAME(offsetof(struct nccl_config, blocking), offsetof(ncclConfig_t, blocking));
int main(void) {
    const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
    const struct nccl_config ours = NCCL_CONFIG;
    return theirs.magic != ours.magic || theirs.version < ours.version;
}
END
cuda=${CUDA_HOME:-/usr/local/cuda}/include
# shellcheck disable=SC2086
if echo '#include <nccl.h>' | ${CC:-cc} -I"$cuda" -fsyntax-only -x c - \
    2>/dev/null; then
    # shellcheck disable=SC2086
    ${CC:-cc} -I"$cuda" -I"$top/src" -I"$top" -o abi abi.c >log 2>&1 && ./abi
    ok $? "our declarations agree with nccl.h"
else
    skip "our declarations agree with nccl.h" "no nccl.h"
fi
small="--set model.layers=2 --set model.width=32 --set train.batch=8"

# train NAME ARG...: a training of its own
train() {
    name=$1
    shift
    # shellcheck disable=SC2086
    timeout "${patience:-100}" "$emu" --config c.ini $small --root "$name" \
        --set checkpoint.folder="$name/ck" "$@" >log 2>&1
}
losses() { awk '{ print $2 }' "$1"/*/*/metrics/train/loss \
    "$1"/*/*/metrics/val/loss; }
# near NAME NAME PART: the losses of both agree to so many parts
near() {
    losses "$1" >is
    losses "$2" >want
    paste is want | awk -v tol="$3" '
        function abs(x) { return x < 0 ? -x : x }
        NF != 2 || abs($1 - $2) > tol * abs($2) { print "is " $1 ", want " $2 }
        END { if (NR < 4) print NR " losses" }'
}
cuda="--set train.device=cuda --set train.deterministic=no"
train cpu --set train.deterministic=no || sed "s/^/# /" log
export GTRAIN_NCCL_LIB="$dir/shim.so"
for mode in ddp zero1 zero2 fsdp; do
    # shellcheck disable=SC2086
    train $mode $cuda --ranks 2 --set parallel.mode=$mode -v
    bad="$(near $mode cpu 1e-5)"
    grep -q 'device sums: nccl' log || bad="$bad not by NCCL"
    is "${bad:+$bad: $(tail -n 3 log)}" "" \
        "$mode on 2 emulated GPUs with NCCL has the losses of the CPU"
done
# shellcheck disable=SC2086
train three $cuda --ranks 4 --set parallel.mode=fsdp --set train.precision=bf16
bad=$(near three cpu 1e-2)
is "${bad:+$bad: $(tail -n 3 log)}" "" \
    "fsdp in bf16 on 4 emulated GPUs has the losses of the CPU"

# shellcheck disable=SC2086
NCCL_SHIM_EVEN=1 train even $cuda --ranks 3 --set parallel.mode=fsdp \
    --set train.batch=6
# shellcheck disable=SC2086
train six $cuda --set train.batch=6
bad=$(near even six 1e-5)
is "${bad:+$bad: $(tail -n 3 log)}" "" \
    "fsdp reduces and gathers the equal parts of a unit by one call"

for mode in ddp zero2 fsdp; do
    # shellcheck disable=SC2086
    train half-$mode $cuda --ranks 3 --set train.batch=6 \
        --set parallel.mode=$mode --set parallel.sum_type=bf16 -v
    bad=$(near half-$mode six 1e-3)
    grep -q 'device sums: nccl' log || bad="$bad not by NCCL"
    test "$(losses half-$mode)" != "$(losses six)" || bad="$bad no rounding"
    is "${bad:+$bad: $(tail -n 3 log)}" "" \
        "$mode with sums of NCCL in bf16 has nearly the losses of one process"
done

# work of streams as late as their events allow, in an order drawn by lot: a
# forgotten event shows
for seed in 1 2 3; do
    # shellcheck disable=SC2086
    GT_EMU_STREAMS=$seed train late$seed $cuda --ranks 2 \
        --set parallel.mode=fsdp
    bad=$(near late$seed cpu 1e-5)
    is "${bad:+$bad: $(tail -n 3 log)}" "" \
        "fsdp with late streams, seed $seed, has the losses of the CPU"
done
# shellcheck disable=SC2086
GT_EMU_STREAMS=1 train half-late $cuda --ranks 3 --set train.batch=6 \
    --set parallel.mode=fsdp --set parallel.sum_type=bf16
bad=$(near half-late half-fsdp 1e-6)
is "${bad:+$bad: $(tail -n 3 log)}" "" \
    "with late streams, sums in bf16 are the same"

# deterministic: in the order of the ranks, through the host
train alone --set train.device=cuda
want=$(sums alone/ck)
for mode in ddp fsdp; do
    train same-$mode --set train.device=cuda --ranks 2 \
        --set parallel.mode=$mode -v
    bad=
    test "$(sums same-$mode/ck)" = "$want" || bad="other weights"
    grep -q 'device sums: host' log || bad="$bad not through the host"
    is "${bad:+$bad: $(tail -n 3 log)}" "" \
        "deterministic $mode gives the bits of one process"
done
# shellcheck disable=SC2086
GTRAIN_NCCL_LIB=/nonexistent.so train none $cuda --ranks 2
bad=$(near none cpu 1e-5)
grep -q 'go through the host, which is slow: cannot load NCCL .*: .*nonexistent' log ||
    bad="$bad not said"
is "${bad:+$bad: $(tail -n 3 log)}" "" \
    "without NCCL sums go through the host with a warning"

# shellcheck disable=SC2086
train busy $cuda --ranks 2 --set parallel.mode=zero1 --set eval.every=3 \
    --set eval.sequences=400 --set parallel.timeout=1s
bad=$(test $? = 0 || tail -n 3 log)
is "$bad" "" "a validation may take longer than parallel.timeout"

# shellcheck disable=SC2086
GT_EMU_DEVICES=2 GT_EMU_BUSY=1 train one-busy $cuda --ranks 2
status=$?
bad=
test $status -ne 0 && grep -q 'train.device: cannot use cuda:1: .*busy' log ||
    bad="status $status"
is "${bad:+$bad: $(tail -n 3 log)}" "" \
    "a GPU that cannot be used is not passed over for another rank's"

# shellcheck disable=SC2086
NCCL_SHIM_FAIL=9 train fails $cuda --ranks 2
status=$?
bad=
test $status -eq 6 || bad="status $status"
grep -q 'NCCL: .*: unhandled system error: the shim was asked to' log ||
    bad="$bad not said"
is "${bad:+$bad: $(tail -n 3 log)}" "" \
    "an error of NCCL is reported with NCCL's words"
# shellcheck disable=SC2086
NCCL_SHIM_WRONG=1 train wrong $cuda --ranks 2
status=$?
bad=
test $status -ne 0 && grep -q 'GPUs of 2 ranks add numbers wrongly over nccl' log ||
    bad="status $status"
is "${bad:+$bad: $(tail -n 3 log)}" "" \
    "sums of NCCL that leave out a rank are found before training"
# shellcheck disable=SC2086
NCCL_SHIM_STUCK=1:12 train stuck $cuda --ranks 2 --set parallel.timeout=2s \
    --set train.cuda_graphs=no
status=$?
bad=
test $status -eq 6 || bad="status $status"
grep -q 'NCCL: a rank did not respond to rank [01] for 2 s' log ||
    bad="$bad not said"
is "${bad:+$bad: $(tail -n 5 log)}" "" \
    "a rank that hangs in NCCL ends the job after parallel.timeout"
# the limit of a connection, and that it is five minutes unless told otherwise
patience=400
for limit in 1 ${GT_LONG:+300}; do
    test "$limit" = 300 || export GTRAIN_NCCL_CONNECT=1s
    # shellcheck disable=SC2086
    NCCL_SHIM_NEVER=1 train "never$limit" $cuda --ranks 2
    status=$?
    unset GTRAIN_NCCL_CONNECT
    bad=
    test $status -eq 6 || bad="status $status"
    grep -q "NCCL: rank [01] on host .* did not connect to all ranks within $limit s; .*NCCL_DEBUG=INFO.*NCCL_SOCKET_IFNAME.*firewall" log ||
        bad="$bad not said"
    is "${bad:+$bad: $(tail -n 5 log)}" "" \
        "ranks that NCCL cannot connect within $limit s end the job and say what to look at"
done
done_testing
