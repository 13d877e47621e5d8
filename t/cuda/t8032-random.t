#!/bin/sh
# Trainings of models drawn by lot, of every option and size, odd ones too, in
# every type, by one process or two, whole or resumed, on an emulated GPU that
# is drawn by lot as well, go as they do on the CPU.
#
# GT_RANDOM is how many are drawn, GT_RANDOM_SEED the first of their numbers: a
# number makes one training.  make check-long draws a hundred.
GT_TRAIN_STEPS=${GT_TRAIN_STEPS:-4}
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
make_device_case
test -z "${GT_LONG:-}" || : "${GT_RANDOM:=100}"
first=${GT_RANDOM_SEED:-1} count=${GT_RANDOM:-4}
OMP_NUM_THREADS=1
export OMP_NUM_THREADS half

# shellcheck disable=SC2086 # CC may hold options
${CC:-cc} -shared -fPIC -O1 -I"$top/src" -I"$top" -o shim.so \
    "$top/t/emu/nccl_emu.c" -ldl -lrt 2>log &&
    export GTRAIN_NCCL_LIB="$dir/shim.so"

# The settings of training $1, then the environment of its device, its
# processes and a tolerance, each on a line.
cat >draw.pl <<'END'
use Digest::MD5 'md5_hex';
srand(hex substr(md5_hex(shift), 0, 8));
sub one { $_[int rand @_] }
my %s = map { $_->[0] => one(@{$_}[1 .. $#$_]) } (
    [ 'model.layers', 1 .. 3 ],
    [ 'model.norm', 'layernorm', 'rmsnorm' ],
    [ 'model.norm_bias', 'yes', 'no' ],
    [ 'model.linear_bias', 'yes', 'no' ],
    [ 'model.qkv_bias', 'auto', 'auto', 'yes', 'no' ],
    [ 'model.output_bias', 'auto', 'auto', 'yes', 'no' ],
    [ 'model.mlp_bias', 'auto', 'auto', 'yes', 'no' ],
    [ 'model.final_norm', 'yes', 'yes', 'no' ],
    [ 'model.mlp', 'gelu_tanh', 'gelu_tanh', 'gelu', 'relu', 'relu2',
      'swiglu', 'geglu' ],
    [ 'model.position', 'learned', 'rope', 'none' ],
    [ 'model.tied', 'yes', 'no' ],
    [ 'model.qk_norm', 'yes', 'no' ],
    [ 'model.dropout', 0, 0, 0.1 ],
    [ 'model.context', 1, 3, 8, 16, 17, 33, 66 ],
    [ 'model.init_std', 0.02, 0.1 ],
    [ 'model.vocab_multiple', 1, 8, 64, 128 ],
    [ 'train.precision', 'fp32', 'bf16', 'fp16' ],
    [ 'train.recompute', 'none', 'pointwise', 'layer' ],
    [ 'train.deterministic', 'no', 'no', 'yes' ],
    [ 'train.cuda_graphs', 'auto', 'yes', 'no' ],
    [ 'train.tf32', 'yes', 'no' ],
    [ 'train.stochastic_rounding', 'no', 'no', 'yes' ],
    [ 'train.micro_batch', 1 .. 4 ],
    [ 'optim.name', 'adamw', 'adamw', 'adam', 'sgd', 'lion', 'muon' ],
    [ 'optim.clip', 0, 0.5, 1 ],
    [ 'data.order', 'epoch', 'random', 'sequential' ],
    [ 'train.seed', 1 .. 9 ],
    [ 'eval.every', $ENV{half} ]);
my $heads = one(1, 2, 3, 4, 6);
my $size = one(2, 4, 6, 8, 10, 16, 24, 32, 40, 64);
$size = one(4, 5, 7, 9) if $s{'model.position'} ne 'rope' && rand() < 0.2;
$size = one(72, 96, 128, 136) if rand() < 0.1;
$heads = one(1, 2) if $heads * $size > 128;
my $width = $heads * $size;
$s{'model.heads'} = $heads;
$s{'model.kv_heads'} = one(grep { $heads % $_ == 0 } 1 .. $heads);
$s{'model.width'} = $width;
$s{'model.d_ff'} = one(0, 0, 2 * $width, 8 * int(rand(12) + 1), 37);
my $ranks = one(1, 1, 1, 2);
if ($ranks > 1) {
    $s{'parallel.mode'} = one('ddp', 'zero1', 'zero2', 'fsdp');
    $s{'parallel.reshard'} = one('yes', 'no');
}
$s{'train.batch'} = $s{'train.micro_batch'} * $ranks * one(1, 2, 3);
my $fp8 = $s{'train.precision'} eq 'bf16' && rand() < 0.5;
if ($fp8) {    # sizes are multiples of 16
    $s{'train.fp8'} = one('head', 'mlp');
    $s{'model.vocab_multiple'} = 16;
    $s{'model.heads'} = one(1, 2, 4);
    $s{'model.kv_heads'} = one(1, $s{'model.heads'});
    $s{'model.width'} = 16 * one(1 .. 8);
    $s{'model.d_ff'} = 16 * one(0 .. 12);
}
my %loose = (sgd => 0, adam => 0, adamw => 0, lion => 1, muon => 1);
my %tolerance = (fp32 => [ 1e-4, 1e-3 ], fp16 => [ 5e-3, 1e-2 ],
    bf16 => [ 1e-2, 2e-2 ]);    # of the first step; differences grow
$s{'optim.lr'} = $s{'optim.name'} eq 'sgd' ? 0.1 : one(1e-3, 3e-3);
$s{'optim.lr'} = 3e-4 if $s{'optim.name'} eq 'lion';
if ($s{'optim.name'} =~ /^adam/) {
    $s{'optim.moments'} = one('fp32', 'bf16');
    $s{'optim.masters'} = one('fp32', 'bf16')
        if $s{'train.precision'} eq 'bf16';
}
print join(' ', map { "--set $_=$s{$_}" } sort keys %s), "\n";
my @env = ('GT_EMU_CAPABILITY=' .
    one($fp8 ? () : 80, 89, 90, 90, 100));
push @env, 'GT_EMU_ORDER=' . one('rev', 1 .. 9) if rand() < 0.5;
# Ranks would wait for each other on the host, late work or not.
push @env, 'GT_EMU_STREAMS=' . one(1 .. 9) if $ranks == 1 && rand() < 0.5;
push @env, one('GT_EMU_LT=plain', 'GT_CUBLASLT=off')
    if !$fp8 && rand() < 0.3;
push @env, 'GT_EMU_CUDNN=1' if rand() < 0.4;
print "@env\n$ranks\n",
    $tolerance{ $s{'train.precision'} }[ $loose{ $s{'optim.name'} } ], "\n",
    one(0, 0, 1), "\n";
END

# The norms of the gradients, the losses of training and of validation.
numbers() {
    for what in train/grad_norm train/loss val/loss; do
        awk -v what=$what '{ print $2, what, $3 }' \
            "$(find "$1" -path "*metrics/$what")"
    done
}

# train_both SEED: on the CPU, then on the device
train_both() {
    perl draw.pl "$1" >drawn
    { read -r set; read -r env; read -r ranks; read -r tol; read -r resumed; } \
        <drawn
    # shellcheck disable=SC2086 # words
    train cpu --set train.device=cpu $set &&
        numbers cpu >want || return 1
    # shellcheck disable=SC2086
    set -- --set train.device=cuda $set --ranks "$ranks"
    # shellcheck disable=SC2086
    (
        for word in $env; do export "${word?}"; done
        if test "$resumed" = 1; then
            train cuda "$@" --set train.stop_at="$half" &&
                train cuda "$@" --resume auto
        else
            train cuda "$@"
        fi
    ) && numbers cuda >is &&
        paste is want | awk -v tol="$tol" '
            function abs(x) { return x < 0 ? -x : x }
            NF != 6 || !(abs($1 - $4) <= tol * $3 * abs($4)) {
                print $2, $3 ": " $1 ", not " $4; bad = 1 }
            END { exit bad || NR < 10 }' >>log
}

seed=$first
while test "$seed" -lt $((first + count)); do
    train_both "$seed"
    failed=$?
    test $failed = 0 || echo "$env $set --ranks $ranks resumed=$resumed" |
        sed 's/--set //g' >>log
    ok $failed "random training $seed has the losses of the CPU, to $tol"
    rm -rf cpu cuda
    seed=$((seed + 1))
done
done_testing
