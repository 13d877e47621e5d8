#!/bin/sh
# What was forged in a run is found by name; what was computed is certified.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands
unset GTRAIN_ISA
encode_letters tokens/data
for i in 1 2 3 4 5 6 7 8; do
    echo '{"ctx": "abc", "endings": ["def", "ghi jkl", "x"], "label": '$((i % 3))'}'
done >questions.jsonl
small_ini data.tokenizer=tok "data.train=tokens/data_*.bin" \
    "data.val=tokens/data_*.bin" eval.every=10 eval.sequences=2 \
    eval.at_start=yes eval.tasks=questions eval.tasks_data=. eval.tasks_every=10 \
    sample.every=10 sample.tokens=8 sample.count=2 train.micro_batch=2 \
    train.batch=4 schedule.steps=40 checkpoint.every=10 checkpoint.keep_last=9 \
    >c.ini
gtrain --config c.ini --name honest -q --set train.stop_at=17 >out 2>&1 &&
    gtrain --config c.ini --name honest -q --resume honest >>out 2>&1
ok $? "a model is trained, validated, asked and sampled in two attempts" "$(cat out)"
run=$(gtrack where honest)

# replay NAME STATUS [ARGUMENT]...: what it prints is in out and err
replay() {
    name=$1 status=$2
    shift 2
    gtrain replay honest "$@" --tsv --no-header >out 2>err
    is $? "$status" "$name" "$(cat out err)"
}
replay "all that training did is certified" 0 --steps 1:40
is "$(cut -f1,3,4,6 out)" "1-40${tab}329${tab}5${tab}equal" \
    "validation, answers and samples are counted with the steps"
unlike err "not computed again" "nothing of it is left out"

# forge NAME FILE SED STATUS PATTERN ARGUMENT...: replay finds the changed file
forge() {
    forged=$1 file=$run/$2 status=$4 pattern=$5
    cp "$file" kept
    sed "$3" kept >"$file"
    shift 5
    cmp -s kept "$file" && echo "nothing was changed" >&2
    replay "replay finds $forged" "$status" "$@"
    like err "$pattern" "replay names $forged"
    cp kept "$file"
}
forge "a loss" metrics/train/loss '/ 15$/s/ [0-9]/ 1/' 1 \
    "differs at step 15: train/loss is" --steps 11:20
forge "a noise scale" metrics/train/noise_scale '/ 15$/s/ [0-9]/ 1/' 1 \
    "differs at step 15: train/noise_scale is" --steps 11:20
forge "a number of tokens" metrics/train/tokens '/ 15$/s/ [0-9]/ 1/' 1 \
    "differs at step 15: train/tokens is" --steps 11:20
forge "a number of operations" metrics/train/total_flops '/ 15$/s/ [0-9]/ 1/' 1 \
    "differs at step 15: train/total_flops is" --steps 11:20
forge "a validation loss before the first step" metrics/val/loss \
    '1s/ [0-9.]* / 9.5 /' 1 "differs at step 0: val/loss is" --steps 1:3
forge "a validation loss" metrics/val/loss '/ 20$/s/ [0-9.]* / 1.5 /' 1 \
    "differs at step 20: val/loss is" --steps 11:20
forge "an accuracy" metrics/task/questions/acc '/ 20$/s/ [0-9.]* / 0.91 /' 1 \
    "differs at step 20: task/questions/acc is .*, but the run recorded 0.91" \
    --steps 11:20
forge "a sample" artifacts/samples/step-00000020.txt 's/of step 20/of step 20\
better/' 1 "differs at step 20: samples/step-00000020.txt is not what the model writes" \
    --steps 11:20
forge "a setting" params/optim.lr 's/.*/0.5/' 1 "the parameter optim.lr of honest is 0.5"
forge "a number of parameters" params/derived.parameters 's/$/0/' 1 \
    "the parameter derived.parameters is [0-9]*, but the settings give [0-9]*"
forge "the operations of a token" params/derived.flops_per_token 's/$/0/' 1 \
    "the parameter derived.flops_per_token is [0-9]*, but the settings give [0-9]*"
forge "a number of steps" params/derived.steps 's/.*/41/' 1 \
    "the parameter derived.steps is 41, but the settings give 40"
forge "the hash of the tokenizer" params/derived.tokenizer 's/^./x/' 1 \
    "the tokenizer is not that of the run"
forge "the hash of the data" params/derived.data.train 's/^./x/' 1 \
    "data.train is not what the run had"
cp "$run/params/derived.instructions" kept
echo other >"$run/params/derived.instructions"
replay "a false claim of other instructions changes no verdict" 0
is "$(cut -f6 out)" equal "what is equal to the last bit needs no excuse"
cp kept "$run/params/derived.instructions"

cp tokens/data.tokens.lock lock
sed 's/^tokens ......../tokens deadbeef/' lock >tokens/data.tokens.lock
replay "replay finds a lock that was changed" 1
like err "the content differs from tokens/data.tokens.lock" "the lock is named"
mv lock tokens/data.tokens.lock

# verify FILE SED: the chain of the store finds the changed file without
# computing anything
verify() {
    cp "$run/$1" kept
    sed "$2" kept >"$run/$1"
    gtrack verify mlruns --tsv --no-header >out 2>err
    is "$? $(awk -F '\t' '$3 == "failed" { print $2 }' out)" "1 $1 of honest" \
        "gtrack verify names $1"
    cp kept "$run/$1"
}
gtrack verify mlruns >out 2>&1
ok $? "the chain of an honest run holds" "$(cat out)"
verify metrics/task/questions/acc '1s/ [0-9.]* / 0.91 /'
verify params/optim.lr 's/.*/0.5/'
verify params/derived.parameters 's/$/0/'
verify tags/gtrack.host 's/$/x/'
verify tags/attempt.2.first_step 's/.*/19/'
cp "$run/artifacts/checkpoints/step-00000030/state.json" kept
echo >>"$run/artifacts/checkpoints/step-00000030/state.json"
gtrack verify mlruns --tsv --no-header >out 2>err
like out "step-00000030/state.json of honest${tab}failed" \
    "gtrack verify names the state of a checkpoint"
cp kept "$run/artifacts/checkpoints/step-00000030/state.json"
gtrack tag honest note=better >out 2>&1 && gtrack verify mlruns >out 2>&1
ok $? "a note may be added to an honest run" "$(cat out)"

# What is not here is named, and nobody is called false for it.
mv questions.jsonl away
replay "a run without its questions is certified" 0 --steps 11:20
like err "equal to the last bit; not computed again: task/questions/acc, .*task/questions/acc_stderr, tasks.tsv$" \
    "the answers are named as not computed again"
mv away questions.jsonl
mkdir "$run/artifacts/documents"
replay "a run with losses of documents is certified" 0 --steps 11:20
like err "not computed again: documents$" \
    "the losses of documents are named as not computed again"
rmdir "$run/artifacts/documents"

# Ranks validate, ask and sample together.
gtrain --config c.ini --name pair -q --ranks 2 >out 2>&1
gtrain replay pair --steps 1:40 --tsv --no-header >out 2>err
is "$? $(cut -f3,4,6 out)" "0 320${tab}4${tab}equal" \
    "two ranks certify what two ranks did" "$(cat err)"
metrics=$(gtrack where pair)/metrics
cp "$metrics/val/loss" kept
sed '1s/ [0-9.]* / 9.5 /' kept >"$metrics/val/loss"
gtrain replay pair --steps 1:3 >out 2>err
like err "pair differs at step 0: val/loss" "two ranks find a false validation loss"
cp kept "$metrics/val/loss"

# Another commit that changes documents only is the same build.
mkdir other
commit=$(gtrain --version | sed -n 's/.*(commit \([0-9a-f]*\).*/\1/p')
build_of() { cat "$(gtrack where "$1")/params/derived.build"; }
cp "$build/gtrain" other
if test -n "$commit"; then
    LC_ALL=C sed "s/$commit/fedcba987654/" "$build/gtrain" >other/gtrain
    echo >>other/gtrain
    other/gtrain --version >out
    like out '(commit fedcba987654' "a program has another commit"
    other/gtrain --config c.ini --name commit -q --set train.stop_at=1
    is "$(build_of commit)" "$(build_of honest)" "another commit is the same build"
else
    skip "another commit is the same build" "the commit of this tree is not known"
fi

# Another program, and another library.
LC_ALL=C sed 's/train a model/TRAIN a model/' "$build/gtrain" >other/gtrain
other/gtrain --config c.ini --name other -q --set train.stop_at=1
test -s "$(gtrack where other)/params/derived.build" &&
    test "$(build_of other)" != "$(build_of honest)"
ok $? "other constants are another build"
other/gtrain replay honest --steps 1:40 --tsv --no-header >out 2>err
is "$? $(cut -f6 out)" "0 equal" "another build that computes the same is no difference"
cat >libm-next.c <<END
#include <math.h>
float logf(float x) { return nextafterf((float)log(x), 9); }
END
if ${CC:-cc} -shared -fPIC -O1 -o libm-next.so libm-next.c -lm >out 2>&1 &&
    LD_PRELOAD=$PWD/libm-next.so gtrain --version >out 2>&1; then
    LD_PRELOAD=$PWD/libm-next.so gtrain --config c.ini --name library -q >out 2>&1
    gtrain replay library --steps 1:40 --tsv --no-header >out 2>err
    is "$? $(cut -f6 out)" "0 equal up to rounding" \
        "a run with another library is certified up to rounding" "$(cat err)"
    like out "derived.libraries was .*libm-next.so.*, here it is glibc" \
        "the libraries are named"
    like err "not computed again: task/questions/acc, .*, samples" \
        "answers and samples are named that rounding may turn"
    gtrain --config c.ini --name mixed -q --set train.stop_at=20 >out 2>&1 &&
        LD_PRELOAD=$PWD/libm-next.so other/gtrain --config c.ini --name mixed -q \
            --resume mixed >out 2>&1
    ok $? "a run is resumed by another build with another library" "$(cat out)"
    gtrain replay mixed --steps 1:40 --tsv --no-header >out 2>err
    is "$? $(cut -f1,6 out | tr '\t\n' ' ;')" "0 1-20 equal;21-40 equal up to rounding;" \
        "only the attempt with another library is certified up to rounding" "$(cat err)"
    sed -n 2p out >second
    like second "derived.libraries was .*libm-next.so.*, here it is glibc" \
        "the library that was changed at a resume is named"
    like second "derived.build was .*, here it is " \
        "the build that was changed at a resume is named"
else
    skip "a run with another library" "gtrain cannot be given another library here"
fi

# Each set of instructions certifies what any other has computed.
for then in c avx2 avx512; do
    GTRAIN_ISA=$then gtrain --config c.ini --name $then -q >out 2>&1 || continue
    for now in c avx2 avx512; do
        GTRAIN_ISA=$now gtrain replay $then --steps 1:40 --tsv --no-header >out 2>err
        status=$?
        grep -q "this CPU does not have it" err && continue
        if test $then = $now; then want=equal; else want="equal up to rounding"; fi
        is "$status $(cut -f6 out)" "0 $want" "$now certifies what $then computed" \
            "$(cat err)"
    done
    loss=$(gtrack where $then)/metrics/train/loss
    cp "$loss" kept
    sed '/ 15$/s/ [0-9.]* / 1.5 /' kept >"$loss"
    for now in c avx2 avx512; do
        GTRAIN_ISA=$now gtrain replay $then --steps 11:20 --tsv --no-header >out 2>err
        grep -q "this CPU does not have it" err && continue
        like out "differs at step 15" "$now finds a false loss of $then"
    done
    cp kept "$loss"
done

# Where training explodes, so do differences of rounding: of the honest numbers
# of such a run, some cannot be told, but none is called false.
verdicts=
for then in c avx2; do
    GTRAIN_ISA=$then gtrain --config c.ini --name wild-$then -q --set optim.lr=1 \
        >out 2>&1 || continue
    for now in c avx2 avx512; do
        for steps in 1:40 5 12 15 20 27 40; do
            GTRAIN_ISA=$now gtrain replay wild-$then --steps $steps --tsv --no-header \
                >out 2>err
            status=$?
            grep -q "this CPU does not have it" err ||
                verdicts="$verdicts $status:$(cut -f6 out | tr ' ' _)"
        done
    done
done
is "$(printf '%s\n' $verdicts | sort -u | tr '\n' ' ')" \
    "0:equal 0:equal_up_to_rounding 3:cannot_tell " \
    "no number of an honest run that explodes is called false"

# Elsewhere, a false number is found however far from a checkpoint.
GTRAIN_ISA=c gtrain --config c.ini --name far -q --set checkpoint.every=40 >out 2>&1
run=$(gtrack where far)
far() {
    cp "$run/metrics/$1" kept
    awk -v step="$2" '$3 == step { $2 *= 1.02 } { print }' kept >"$run/metrics/$1"
    GTRAIN_ISA=avx2 gtrain replay far --steps 35:40 >out 2>err
    is $? 1 "$1 of step $2, far from a checkpoint, is found on another CPU"
    like err "differs at step $2: $1 is" "$1 of step $2 is named"
    cp kept "$run/metrics/$1"
}
if GTRAIN_ISA=avx2 gtrain devices >out 2>&1; then
    far train/loss 35
    far train/grad_norm 38
    far train/lr 39
    far val/loss 40
else
    skip "false numbers far from a checkpoint" "this CPU does not have AVX2"
fi

# numbers of answers in a report
cat >r.md <<'END'
<!-- gtrack: honest | task/questions/acc | .4f -->0<!-- /gtrack -->
<!-- gtrack: honest | task/questions/acc_norm | .4f -->0<!-- /gtrack -->
END
gtrack claims --fill r.md >out 2>err
gtrack claims --tsv --no-header r.md >out 2>err
is "$? $(cut -f3,6 out | tr '\t\n' ' ;')" \
    "0 task/questions/acc equal;task/questions/acc_norm equal;" \
    "claims on answers hold, and are of numbers that are computed again"
sed 's/-->[0-9]/-->9/' r.md >wrong.md
gtrack claims --tsv --no-header wrong.md >out 2>err
is "$? $(cut -f6 out | sort -u)" "1 differs" "a false claim on answers is found"
done_testing
