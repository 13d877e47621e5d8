#!/bin/sh
# A whole training on the emulated CUDA device goes as on the CPU, in every
# type, and resumes to the same bits.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
make_device_case

# The losses of a training in this type agree on both devices.
both() {
    type=$1 tol=$2
    shift 2
    rm -f is want
    train "cpu-$type" --set train.device=cpu --set "train.precision=$type" \
        "$@" && losses "cpu-$type" >want
    train "cuda-$type" --set train.device=cuda --set "train.precision=$type" \
        "$@" && losses "cuda-$type" >is
    near is want "$tol"
    ok $? "$steps steps in $type have the losses of the CPU, to $tol"
}

"$gtrain" --version -v >log && grep -q '^cuda: .*GPU\|^cuda: .*NVIDIA' log &&
    grep -q '^cpu: ' log
ok $? "--version -v names the devices"

if "$gtrain" devices | grep -q 'emulated GPU'; then
    GT_EMU_DEVICES=3 "$gtrain" devices --tsv >log
    test "$(cut -f1 log | paste -sd' ' -)" = 'device cpu cuda cuda:1 cuda:2'
    ok $? "gtrain devices lists each GPU"
    GT_EMU_CAPABILITY=75 "$gtrain" devices >log
    grep -q '^cuda.*has compute capability 7.5, and 8.0 is needed' log
    ok $? "a GPU that is too old for the kernels is listed as that"
fi

tight=1e-5
test "$steps" -le 10 || tight=1e-4      # differences grow
both fp32 "$tight"
both bf16 1e-2
both fp16 2e-3 --set model.dropout=0.1

# The memory that was taken for a part of the model is what was planned for it.
as_planned() {
    for what in weights gradients moments; do
        planned=$(cat "$(find "$1" -path "*params/derived.bytes.$what")")
        awk -v planned="$planned" 'END { exit $2 != planned || planned == 0 }' \
            "$(find "$1" -path "*system/mem_${what}_bytes")" || return 1
    done
}
as_planned cpu-bf16 && as_planned cuda-bf16 &&
    grep -q 'memory: weights .*, gradients .*scratch' log
ok $? "both devices use the memory that was planned by purpose"

# Whether the device decides about an update, or the host, which looks for
# spikes.
train by-host --set train.device=cuda --set train.on_spike=skip \
    --set train.spike_loss=1e6 --set train.spike_norm=1e6 &&
    losses by-host >want && train by-device --set train.device=cuda &&
    losses by-device >is && test -s is && cmp -s is want
ok $? "an update that is given before the loss is read gives the same bits"

# Micro-steps given one kernel at a time, and as CUDA graphs.
train single --set train.device=cuda --set train.cuda_graphs=no &&
    losses single >want
train graphs --set train.device=cuda --set train.cuda_graphs=yes &&
    losses graphs >is && ! grep -q 'without CUDA graphs' log && cmp -s is want
ok $? "micro-steps replayed as CUDA graphs give the same bits"
if "$gtrain" devices | grep -q 'emulated GPU'; then
    GT_EMU_STREAMS=5
    export GT_EMU_STREAMS
    train late --set train.device=cuda --set train.cuda_graphs=yes &&
        losses late >is && ! grep -q 'without CUDA graphs' log &&
        cmp -s is want
    ok $? "CUDA graphs of two streams give the same bits with streams late"
    unset GT_EMU_STREAMS
fi
# Times by the device's clock: of all steps, the last before its checkpoint.
count() {
    find "$1" -path "*metrics/perf/$2" -exec cat {} + | wc -l
}
test "$(count single forward_ms) $(count single head_ms)" = "$steps $steps" &&
    test "$(count single backward_ms) $(count single update_ms)" = \
        "$steps $steps" &&
    test "$(count graphs micro_ms) $(count graphs forward_ms)" = "$steps 1"
ok $? "the device measures the time of each phase"

if "$gtrain" devices | grep -q 'emulated GPU'; then
    GT_EMU_MEMORY_MB=192 "$gtrain" train --config base.ini \
        --set run.root=full --set train.device=cuda \
        --set train.micro_batch=2048 --set train.tokens_per_step=0 >log 2>&1
    grep -q 'activations: .* are free: .*; reduce train.micro_batch' log
    ok $? "the message when memory is short says what needs less"
fi

# A file of algorithms that the library no longer has.
if "$gtrain" devices | grep -q 'emulated GPU'; then
    sed -i 's/ 67656d6d / 1 /' cache/gtrain/matmul-*
    GT_EMU_LT=blind
    export GT_EMU_LT
    train stale --set train.device=cuda && losses stale >is &&
        losses single >want && near is want 1e-5 &&
        grep -q 'cuBLASLt does not accept a stored algorithm' log &&
        ! grep -q 'a product .* wrongly' log
    ok $? "stored algorithms that cuBLASLt rejects are replaced"
    unset GT_EMU_LT
    rm -r cache
fi

# Interrupted half way and resumed: the same bits, also of the weights.
sums() {
    find "$1" -name '*.safetensors' -exec cksum {} + | cut -d' ' -f1,2
}
# again NAME SETTINGS
again() {
    name=$1
    shift
    train "whole-$name" --set train.device=cuda "$@"
    train "part-$name" --set train.device=cuda "$@" \
        --set train.stop_at="$half"
    train "part-$name" --set train.device=cuda "$@" --resume auto
    losses "whole-$name" >want
    losses "part-$name" >is
    cmp -s is want && test -s is
    ok $? "a resumed training ($name) has the losses of an unbroken one"
    sums "whole-$name/ck/"*"$steps" >want
    sums "part-$name/ck/"*"$steps" >is
    cmp -s is want && test -s is
    ok $? "a resumed training ($name) has the weights of an unbroken one"
}
again llama --set model.mlp=swiglu --set model.position=rope \
    --set model.norm=rmsnorm
# deterministic: cuDNN adds its gradient up in any order
again rounded --set train.precision=bf16 --set train.deterministic=yes \
    --set train.stochastic_rounding=yes
again masters --set train.precision=bf16 --set train.deterministic=yes \
    --set optim.moments=bf16 --set optim.masters=bf16
again fp8 --set train.precision=bf16 --set train.deterministic=yes \
    --set train.fp8=mlp
train one-by-one --set train.device=cuda --set train.precision=bf16 \
    --set train.fp8=mlp --set train.cuda_graphs=no &&
    losses one-by-one >want
train recorded --set train.device=cuda --set train.precision=bf16 \
    --set train.fp8=mlp --set train.cuda_graphs=yes &&
    losses recorded >is && ! grep -q 'without CUDA graphs' log && cmp -s is want
ok $? "products in fp8 are part of CUDA graphs, with the same bits"
train nearest --set train.device=cuda --set train.precision=bf16 \
    --set train.deterministic=yes && losses nearest >want &&
    losses whole-rounded >is && test -s is && ! cmp -s is want
ok $? "stochastic rounding differs from rounding to the nearest"
again fp16-muon --set train.precision=fp16 --set optim.name=muon \
    --set model.dropout=0.1
done_testing
