#!/bin/sh
# The check of a device finds what was planted: a kernel that does nothing, a
# library that computes wrong numbers, graphs that lose work, and sums of ranks
# that lose a rank; and it is remembered.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
make_device_case
XDG_CACHE_HOME=$dir/cache
export XDG_CACHE_HOME
"$gtrain" devices | grep -q 'emulated GPU' ||
    skip_all "faults can only be planted in the emulated device"

try_device() {
    "$gtrain" devices --check --tsv --set model.width=32 --set model.heads=2 \
        --set model.context=32 --set model.vocab=61 "$@" >out 2>log
}

try_device && test "$(grep -c passed out)" = 4
ok $? "a device that computes as the CPU passes in each precision" "$(cat out log)"
try_device --set train.precision=bf16 && test "$(grep -c passed out)" = 1
ok $? "a device is checked in the precision of the settings only"
try_device --set model.norm=rmsnorm --set model.mlp=swiglu \
    --set model.position=rope --set model.qk_norm=yes --set model.heads=4 \
    --set model.kv_heads=2 --set model.tied=no --set model.dropout=0.1
ok $? "a device that computes as the CPU passes with other operations" \
    "$(cat out log)"

# left_out KERNEL OPERATION SETTING...
left_out() {
    kernel=$1 op=$2
    shift 2
    GT_EMU_LEAVE_OUT=$kernel try_device --set train.precision=bf16 "$@"
    test $? = 1 && grep -q "wrong .* in $op" out
    ok $? "the check finds that the kernel $kernel does nothing" "$(cat out log)"
}
left_out embed_fwd embed
left_out norm_fwd '[a-z_]*norm'
left_out flash_fwd attention
left_out flash_bwd_keys attention_bwd
left_out flash_bwd_queries attention_bwd
left_out head_products attention_bwd
left_out cross_entropy head
left_out norm_bwd norm_bwd
left_out segments embed_bwd
left_out position_bwd embed_bwd
left_out rope rope --set model.position=rope
left_out qknorm_fwd qknorm --set model.qk_norm=yes
left_out update_weights 'the optimiser'
left_out chunk_squares 'the optimiser'
left_out normalise 'the optimiser' --set optim.name=muon
left_out act_fwd glu --set model.mlp=swiglu
left_out act_bwd glu_bwd --set model.mlp=swiglu
left_out find_largest linear_act --set train.fp8=mlp
left_out convert head --set train.fp8=head
try_device --set model.width=30 && test "$(grep -c passed out)" = 3
ok $? "fp8 is left out of the check if the model's sizes do not allow it" \
    "$(cat out log)"
GT_EMU_CAPABILITY=80 try_device && test "$(grep -c passed out)" = 3
ok $? "fp8 is left out of the check if the GPU cannot multiply it" \
    "$(cat out log)"
GT_EMU_CAPABILITY=80 try_device --set train.precision=bf16 \
    --set train.fp8=head
test $? = 1 && grep -q 'cannot multiply fp8, which needs 8.9' out
ok $? "the check says that a GPU cannot multiply fp8" "$(cat out log)"

GT_EMU_LT=first try_device --set train.precision=bf16 &&
    grep -q 'passed$' out && grep -q 'of cuBLASLt compute a product .* wrongly' log
ok $? "algorithms of cuBLASLt that leave out a row are not used in the check" \
    "$(cat out log)"
GT_EMU_SHORT_GRAPHS=1 try_device --set train.precision=bf16
test $? = 1 && grep -q 'when a micro-step is replayed as a graph' out
ok $? "the check finds that a CUDA graph loses work" "$(cat out log)"
GT_EMU_EARLY=norm_bwd try_device --set train.precision=bf16 &&
    grep -q 'passed, without overlap' out &&
    grep -q 'other gradients when kernels overlap' log
ok $? "the check finds that kernels overlap wrongly, and stops that" \
    "$(cat out log)"
GT_EMU_EARLY=norm_bwd GT_OVERLAP=off try_device --set train.precision=bf16 &&
    grep -q 'passed$' out
ok $? "no kernels overlap if that is switched off" "$(cat out log)"
GT_EMU_EARLY=norm_bwd GT_EMU_CAPABILITY=89 try_device \
    --set train.precision=bf16 && grep -q 'passed$' out
ok $? "no kernels overlap on GPUs that are older than 9.0" "$(cat out log)"
GT_EMU_EARLY=norm_bwd GT_EMU_DRIVER=12020 try_device \
    --set train.precision=bf16 && grep -q 'passed$' out
ok $? "no kernels overlap with drivers that are older than CUDA 12.3" \
    "$(cat out log)"
GT_EMU_NO_CAPTURE=launches try_device --set train.precision=bf16 &&
    grep -q 'passed, without CUDA graphs$' out &&
    grep -q 'cannot be recorded as a CUDA graph (cuda: .*invalid resource' log
ok $? "the check says that a micro-step cannot be recorded" "$(cat out log)"
GT_EMU_NO_CAPTURE=overlap try_device --set train.precision=bf16 &&
    grep -q 'passed, without overlap$' out &&
    grep -q 'whose kernels overlap cannot be recorded' log
ok $? "the check finds that kernels that overlap cannot be recorded" \
    "$(cat out log)"
GT_EMU_LT=unsteady try_device --set train.precision=bf16 &&
    GT_EMU_LT=unsteady try_device --set train.precision=bf16 \
        --set train.deterministic=yes
test $? = 1 && grep -q 'other bits when a micro-step is repeated' out
ok $? "the check finds that a deterministic device computes other bits" \
    "$(cat out log)"
if GT_EMU_CUDNN=1 "$gtrain" devices | grep -q 'cuDNN [0-9]'; then
    GT_EMU_CUDNN=1 try_device --set train.precision=bf16
    ok $? "cuDNN's attention passes the check" "$(cat out log)"
    GT_EMU_CUDNN=wrong try_device --set train.precision=bf16 &&
        grep -q 'passed, without cuDNN' out &&
        grep -q 'wrong numbers in attention .*using a slower kernel' log
    ok $? "cuDNN's attention is switched off if it is wrong" "$(cat out log)"
    GT_EMU_CUDNN=first try_device --set train.precision=bf16 &&
        grep -q 'passed, without cuDNN' out
    ok $? "the check finds that cuDNN computes the first sequence only" \
        "$(cat out log)"
    GT_EMU_CUDNN=two try_device --set train.precision=bf16 \
        --set train.micro_batch=3 && grep -q 'passed, without cuDNN' out &&
        grep -q 'attention of 3 sequences of 32 positions (sequence 3)' log
    ok $? "the check finds that cuDNN leaves out a sequence of a micro-batch" \
        "$(cat out log)"
fi

# Before a training, once.
rm -rf cache
GT_DEVICE_CHECK=off train off --set train.device=cuda
ok $? "a training begins without the check if that is switched off"
grep -q 'this device has not been checked with this model' log
ok $? "one line says that a device has not been checked"
train one --set train.device=cuda && grep -q 'as the CPU does (checked in' log
ok $? "the first training on a device checks it" "$(tail -n 3 log)"
train two --set train.device=cuda && ! grep -q 'checked' log
ok $? "a device that has passed is not checked again"
train three --set train.device=cuda --set model.mlp=relu &&
    grep -q 'as the CPU does (checked in' log
ok $? "another kind of model is checked again"
GT_EMU_DRIVER=12080 train driver --set train.device=cuda &&
    grep -q 'as the CPU does (checked in' log
ok $? "a device is checked again with another driver"
GT_EMU_DEVICES=2 GT_EMU_LEAVE_OUT=norm_bwd train second \
    --set train.device=cuda:1
test $? = 1 && grep -q 'cuda computes wrong numbers in norm_bwd' log
ok $? "a second GPU of a model that has passed is checked" "$(tail -n 3 log)"
GT_EMU_NO_CAPTURE=launches train uncaptured --set train.device=cuda \
    --set model.mlp=relu2 && grep -q 'as the CPU does (checked in' log &&
    GT_EMU_NO_CAPTURE=launches train uncaptured2 --set train.device=cuda \
        --set model.mlp=relu2 && ! grep -q 'checked' log
ok $? "a device that cannot record work is checked once" "$(tail -n 3 log)"
GT_EMU_LEAVE_OUT=cross_entropy train bad --set train.device=cuda \
    --set model.mlp=swiglu
test $? = 1 && grep -q 'cuda computes wrong numbers in head' log
ok $? "a training on a device that fails the check ends with status 1" \
    "$(tail -n 3 log)"
done_testing
