#!/bin/sh
# Learning from a teacher on the emulated CUDA device goes as on the CPU, by
# launches and as CUDA graphs, with several ranks, and resumes to the same bits.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
make_device_case
unset GTRACK_ROOT

train large --set train.device=cpu --set schedule.steps=20 \
    --set model.width=48 --set checkpoint.every=20 &&
    "$gtrain" eval "$(echo large/ck/*20)" --data train.bin --top-logits 8 \
        -o t.logits >log 2>&1
ok $? "a teacher writes its file" "$(cat log)"

# The losses with this teacher of a training with these settings.
taught() { # FOLDER SETTING...
    rm -f is
    train "$@" --set train.teacher=t.logits && losses "$1" >is
}
# both NAME TOLERANCE SETTING...
both() {
    name=$1 tol=$2
    shift 2
    rm -f want
    taught "cpu-$name" --set train.device=cpu "$@" && mv is want &&
        taught "cuda-$name" --set train.device=cuda "$@" &&
        near is want "$tol"
    ok $? "$steps steps ($name) have the losses of the CPU, to $tol" \
        "$(paste is want; cat log)"
}

train alone --set train.device=cuda && losses alone >none
both fp32 1e-5
! cmp -s is none
ok $? "a teacher changes what a GPU learns"
both bf16 1e-2 --set train.precision=bf16
both fp16-cap 2e-3 --set train.precision=fp16 --set model.softcap=2
both fp8 1e-2 --set train.precision=bf16 --set train.fp8=head
both weight-1 1e-5 --set train.teacher_weight=1 --set optim.name=sgd
both long-row 1e-2 --set train.precision=bf16 --set model.vocab_multiple=9000

taught unheard --set train.device=cuda --set train.teacher_weight=0 &&
    cmp -s is none
ok $? "a teacher without weight changes nothing" "$(diff is none)"

for type in fp32 bf16; do
    taught "single-$type" --set train.device=cuda \
        --set "train.precision=$type" --set train.cuda_graphs=no && mv is want
    taught "graphs-$type" --set train.device=cuda \
        --set "train.precision=$type" --set train.cuda_graphs=yes &&
        ! grep -q 'without CUDA graphs' log && cmp -s is want
    ok $? "micro-steps replayed as CUDA graphs read each row ($type)" \
        "$(diff is want; cat log)"
done
# val/loss is the cross-entropy, on both devices
validation() {
    awk '{ print $2 }' "$(find "$1" -path '*metrics/val/loss' | head -n 1)"
}
validation cpu-fp32 >want
validation cuda-fp32 >is
steps=$(wc -l <want) near is want 1e-5
ok $? "validation has no teacher on a GPU" "$(paste is want)"

if "$gtrain" devices | grep -q 'emulated GPU'; then
    GT_EMU_STREAMS=5
    export GT_EMU_STREAMS
    taught late --set train.device=cuda --set train.cuda_graphs=yes &&
        losses graphs-fp32 >want && cmp -s is want
    ok $? "streams that are late give the same bits" "$(diff is want; cat log)"
    unset GT_EMU_STREAMS

    # shellcheck disable=SC2086 # CC may hold options
    ${CC:-cc} -shared -fPIC -O1 -I"$top/src" -I"$top" -o nccl.so \
        "$top/t/emu/nccl_emu.c" -ldl -lrt 2>log &&
        export GTRAIN_NCCL_LIB="$dir/nccl.so"
    taught two-single --ranks 2 --set train.device=cuda \
        --set train.cuda_graphs=no && mv is want
    taught two-graphs --ranks 2 --set train.device=cuda \
        --set train.cuda_graphs=yes && ! grep -q 'without CUDA graphs' log &&
        cmp -s is want && losses cuda-fp32 >want && near is want 1e-5
    ok $? "two ranks have the losses of one, also as CUDA graphs" \
        "$(paste is want; cat log)"
    unset GTRAIN_NCCL_LIB
    GT_EMU_DEVICES=2
    export GT_EMU_DEVICES
    taught two --ranks 2 --set train.device=cuda \
        --set train.deterministic=yes && mv is ranks
    unset GT_EMU_DEVICES
    taught one --set train.device=cuda --set train.deterministic=yes &&
        cmp -s is ranks
    ok $? "two ranks that add through the host have the bits of one" \
        "$(diff is ranks; cat log)"
fi

taught part --set train.device=cuda --set train.stop_at="$half" &&
    taught part --set train.device=cuda --resume auto &&
    losses cuda-fp32 >want && cmp -s is want
ok $? "a resumed training has the losses of an unbroken one" \
    "$(diff is want; cat log)"
sums() {
    find "$1" -name '*.safetensors' -exec cksum {} + | cut -d' ' -f1,2
}
sums "cuda-fp32/ck/"*"$steps" >want
sums "part/ck/"*"$steps" >is
test -s is && cmp -s is want
ok $? "a resumed training has the weights of an unbroken one"
done_testing
