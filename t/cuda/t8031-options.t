#!/bin/sh
# Trainings with each option of the model, each optimiser and each way to save
# memory go on the emulated CUDA device as they do on the CPU.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
# the third loss is that of two updates
test -n "${GT_LONG:-}" || : "${GT_TRAIN_STEPS:=3}"
make_device_case

# try NAME TOLERANCE SETTING=VALUE ...
try() {
    name=$1 tol=$2
    shift 2
    for pair; do
        shift
        set -- "$@" --set "$pair"
    done
    rm -f is want
    train "cpu-$name" --set train.device=cpu "$@" && losses "cpu-$name" >want
    train "cuda-$name" --set train.device=cuda "$@" &&
        losses "cuda-$name" >is
    near is want "$tol"
    ok $? "a training with $name has the losses of the CPU, to $tol"
}

try llama 1e-5 model.norm=rmsnorm model.mlp=swiglu model.position=rope \
    model.linear_bias=no model.tied=no
try gqa-qk-norm 1e-5 model.heads=4 model.kv_heads=2 model.qk_norm=yes \
    model.position=rope
try gqa-bf16 1e-2 model.heads=4 model.kv_heads=1 model.position=rope \
    model.qk_norm=yes train.precision=bf16
try dropout 1e-5 model.dropout=0.2
try dropout-bf16 1e-2 model.dropout=0.1 train.precision=bf16
try gelu 1e-5 model.mlp=gelu model.norm_bias=no
try geglu-fp16 2e-3 model.mlp=geglu train.precision=fp16
try relu 1e-5 model.mlp=relu model.final_norm=no
try relu2-bf16 1e-2 model.mlp=relu2 train.precision=bf16
try no-position 1e-5 model.position=none model.width=30 model.heads=3
try recompute-pointwise 1e-5 train.recompute=pointwise
try recompute-layer-bf16 1e-2 train.recompute=layer train.precision=bf16
try adam 1e-5 optim.name=adam
try sgd 1e-5 optim.name=sgd
try lion 1e-4 optim.name=lion optim.lr=3e-4
try muon 1e-4 optim.name=muon
try muon-bf16 1e-2 optim.name=muon train.precision=bf16
try ramp 1e-5 train.ramp=50% train.ramp_from=2
try untied-vocabulary 1e-5 model.tied=no model.vocab_multiple=1
try moments-in-bf16 1e-3 optim.moments=bf16
try masters-in-bf16 1e-2 train.precision=bf16 optim.moments=bf16 \
    optim.masters=bf16
try stochastic-rounding-bf16 1e-2 train.stochastic_rounding=yes \
    train.precision=bf16
try deterministic-bf16 1e-2 train.deterministic=yes train.precision=bf16
try fp8-head 1e-2 train.fp8=head train.precision=bf16
try fp8-mlp 1e-2 train.fp8=mlp train.precision=bf16
try fp8-llama 1e-2 train.fp8=mlp train.precision=bf16 model.mlp=swiglu \
    model.tied=no train.recompute=layer
# What the parameters of a training say about its precision.
precision_of() { # FOLDER OPTION...
    folder=$1
    shift
    train "$folder" --set train.precision=auto "$@" &&
        cat "$folder"/*/*/params/train.precision
}
is "$(precision_of auto-cpu --set train.device=cpu --set train.stop_at=2)" fp32 \
    "a CPU trains in fp32 by default"
is "$(precision_of auto-cuda --set train.device=cuda \
    --set train.stop_at=2)" bf16 "a GPU trains in bf16 by default"
is "$(precision_of auto-cuda --set train.device=cpu --resume auto)" bf16 \
    "a resumed training stays in the precision that it began with"

if "$gtrain" devices | grep -q 'emulated GPU'; then
    GT_EMU_CAPABILITY=80 train old --set train.device=cuda \
        --set train.precision=bf16 --set train.fp8=head
    test $? = 2 && grep -q 'train.device: cuda:0, .*, cannot multiply fp8' log
    ok $? "a GPU that cannot multiply fp8 is refused" "$(cat log)"
fi
GT_EMU_LT=plain
export GT_EMU_LT
try no-endings-bf16 1e-2 train.precision=bf16
unset GT_EMU_LT
GT_EMU_STREAMS=3
export GT_EMU_STREAMS
try late-streams-bf16 1e-2 train.precision=bf16
# The emulation has cuDNN only if built with its header.
if GT_EMU_CUDNN=1 "$gtrain" --version -v 2>&1 |
    grep -q '^cuda: emulated GPU.*cuDNN [0-9]'
then
    GT_EMU_CUDNN=1
    export GT_EMU_CUDNN
    try cudnn-bf16 1e-2 train.precision=bf16 train.cuda_graphs=yes
    grep -q "cuDNN's kernel for the gradient of attention: emulated" log
    ok $? "the kernel that cuDNN chooses for attention is named in the log"
    try cudnn-gqa-fp16 2e-3 model.heads=4 model.kv_heads=2 \
        model.position=rope train.precision=fp16
    GT_EMU_CUDNN=refuse
    try cudnn-refuses-bf16 1e-2 train.precision=bf16
    grep -q 'is not used for the gradient of attention (libnvrtc-builtins' log
    ok $? "a graph that cuDNN cannot compile falls back with cuDNN's reason"
    GT_EMU_CUDNN=broken
    try cudnn-broken-bf16 1e-2 train.precision=bf16 train.cuda_graphs=yes
    grep -q '(this library is broken); using another one' log
    ok $? "a graph that cuDNN cannot run falls back with a warning"
fi
done_testing
