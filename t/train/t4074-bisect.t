#!/bin/sh
# gtrain bisect: it names the step, the tensor and the cause at which runs diverge.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
unset GTRAIN_ISA
awk 'BEGIN { for (i = 0; i < 9000; i++)
    printf "%c", i % 300 == 299 ? 10 : 97 + (i * i + i / 7) % 26 }' >text.txt
gdata bpe --vocab 260 -o tok text.txt >out 2>&1 &&
    gdata encode --tokenizer tok -o data text.txt >>out 2>&1 &&
    awk 'NR == 17 { $0 = "zzzzzzzzzz" substr($0, 11) } { print }' text.txt \
        >other.txt &&
    gdata encode --tokenizer tok -o other/data other.txt >>out 2>&1
ok $? "two texts that differ in one document are encoded"
small_ini data.tokenizer=tok "data.train=data_*.bin" train.micro_batch=2 \
    train.batch=4 optim.lr=1e-2 schedule.steps=40 schedule.kind=constant \
    checkpoint.every=10 checkpoint.keep_last=9 >c.ini

# train NAME [ARGUMENT]...
train() {
    name=$1
    shift
    gtrain --config c.ini --name "$name" -q "$@" >out 2>&1
    ok $? "the run $name is trained"
}

# bisect NAME [ARGUMENT]...: compare the run `one`; rows are in out
bisect() {
    name=$1
    shift
    gtrain bisect "$@" --tsv --no-header >out 2>err
    ok $? "$name"
}
row() { awk -F '\t' -v what="$1" '$1 == what { print $2; exit }' out; }

train one
train again
bisect "equal runs are compared" one again
like err "one and again do not diverge: all .* up to step 40 is equal" \
    "equal runs do not diverge"
is "$(wc -c <out)" 0 "equal runs have no rows"

train seed --set train.seed=7
bisect "another seed is searched for" one seed
is "$(row "diverge at")" "step 0: weights, wte.weight" \
    "runs with other seeds diverge at the initial weights"
like err "the likeliest cause: seed, train.seed" "the seed is the cause"

train rate --set optim.lr=2e-2
bisect "another setting is searched for" one rate
is "$(row recorded)" "train/loss of step 2" "the recorded loss differs first at step 2"
is "$(row "diverge at")" "step 1: step, learning rate" \
    "runs with other rates diverge at the rate of the step before"
like err "the likeliest cause: setting, optim.lr" "the setting is the cause"

train document --set 'data.train=other/data_*.bin'
bisect "another document is searched for" one document
like out "^diverge at${tab}step [0-9]*, micro-batch [0-9]*: input, tokens of sequence" \
    "runs with other data diverge at the ids of a sequence"
step=$(row "diverge at" | sed 's/step \([0-9]*\).*/\1/')
is "$(row recorded)" "train/loss of step $step" \
    "the step is that of the first loss that differs"
like out "^data${tab}data_000000.bin$tab" "the shard that differs is named"
like out "^data${tab}document at position [0-9]* of sequence [0-9]*${tab}[^${tab}]*${tab}.*zzz" \
    "the document that differs is shown"
like err "the likeliest cause: data, " "the data are the cause"

# A bit of a weight flips in a checkpoint, whose sums are made to fit.
cp -r mlruns saved
train flipped --set train.stop_at=20
at=$(dirname "$(find mlruns -newer saved -path '*/checkpoints/step-00000020/state.json')")
cp "$at/model.safetensors" before
printf '\001' | dd of="$at/model.safetensors" bs=1 seek=30000 conv=notrunc 2>/dev/null
cmp -s before "$at/model.safetensors"
is $? 1 "a byte of the weights is changed"
resum "$at"
train flipped --resume "$at" --set train.stop_at=0
bisect "a flipped bit is searched for" one flipped
is "$(row recorded)" "train/loss of step 21" \
    "the run parts after the checkpoint with the flipped bit"
like out "^diverge at${tab}step 20: weights, [a-z]" \
    "the parameter with the flipped bit is named"
like out "^checkpoint${tab}files of step 20${tab}as written${tab}changed since" \
    "the checkpoint that was changed is named"

# Kernels that round otherwise.
if test "$(gtrack show one --tsv | awk '$2 == "derived.instructions" { print $3 }')" = c; then
    skip "another kernel is searched for" "the CPU has one set of instructions"
else
    GTRAIN_ISA=c train plain
    bisect "another kernel is searched for" one plain
    like out "^diverge at${tab}step 0: weights, [a-z]" \
        "the first random numbers with other bits are named"
    is "$(row kernel)" derived.instructions "the instructions are the cause"
    printf '#!/bin/sh\nGTRAIN_ISA=c exec gtrain "$@"\n' >build
    chmod +x build
    bisect "two builds are compared" one again --build-b ./build
    like out "^diverge at${tab}step 31, micro-batch 0: [a-z_]*, [a-z]" \
        "the first operation with other bits is named"
    like err "they diverge at step 31, micro-batch 0: [a-z_]*, [a-z]" \
        "a message says where they diverge, however narrow the table is"
    like out "^build${tab}computed with" "the builds are the cause"
    like out "^size${tab}root mean square${tab}[0-9]" \
        "the size of the tensor in both builds is shown"
    bisect "a build is compared with itself" one again --build-b gtrain
    like err "recomputed, the two runs agree" "equal builds do not diverge"
    train unknown
    rm "$(gtrack where unknown)/params/derived.instructions"
    printf '#!/bin/sh\necho "${GTRAIN_ISA-none}" >>isa\nexec gtrain "$@"\n' >build
    bisect "a run without recorded instructions is compared" one unknown \
        --build-b ./build
    is "$(sort -u isa)" none \
        "a run is not computed with the instructions of another"
fi

# Another commit: the program has one coefficient of GELU changed.  And another
# library, in which a logarithm is rounded otherwise.
repository() {
    git init -q . && git config user.email a@example.org &&
        git config user.name a && git add c.ini && git commit -q -m one
}
repository >out 2>&1
ok $? "the settings are kept in a repository"
train early
git commit -q --allow-empty -m two
mkdir later
perl -0777 -pe 's/\x2a\x42\xcc\x3f/\x2a\x43\xcc\x3f/g' "$build/gtrain" \
    >later/gtrain
chmod +x later/gtrain
if cmp -s later/gtrain "$build/gtrain"; then
    skip "another commit is searched for" "the coefficient is not in gtrain"
else
    later/gtrain --config c.ini --name later -q >out 2>&1
    ok $? "a run is trained by another commit"
    bisect "another commit is searched for" early later --build-b later/gtrain
    like out "^diverge at${tab}step 1, micro-batch 0: [a-z_]*, h\.0\.act" \
        "the operation that was changed is named"
    is "$(awk -F '\t' '$1 == "code" { print $2, $3, $4 }' out)" \
        "mlflow.source.git.commit $(git rev-parse HEAD~) $(git rev-parse HEAD)" \
        "both commits are shown"
    like err "the likeliest cause: code, mlflow.source.git.commit" \
        "the commit is the cause"
    like out "^build${tab}derived.build${tab}" "the builds are shown, too"
fi
cat >libm-next.c <<END
#include <math.h>
float logf(float x) { return nextafterf((float)log(x), 9); }
END
if ${CC:-cc} -shared -fPIC -O1 -o libm-next.so libm-next.c -lm >out 2>&1 &&
    LD_PRELOAD=$PWD/libm-next.so gtrain --version >out 2>&1; then
    LD_PRELOAD=$PWD/libm-next.so train library
    printf '#!/bin/sh\nLD_PRELOAD=%s exec gtrain "$@"\n' "$PWD/libm-next.so" \
        >next
    chmod +x next
    bisect "another library is searched for" early library --build-b ./next
    like out "^diverge at${tab}step 1, micro-batch 0: " \
        "the first operation that uses the library is named"
    is "$(awk -F '\t' '$1 == "library" { print $2, $3, $4 }' out)" \
        "gtrack.libraries  libm-next.so" "the library that differs is named"
    like err "the likeliest cause: library, gtrack.libraries" \
        "the library is the cause, and the commit of the same program is not"
else
    skip "another library is searched for" \
        "gtrain cannot be given another library here"
fi

# A shard that is lost before training, and one that is lost after it.
gdata encode --tokenizer tok --shard-tokens 4000 -o parts/data text.txt >out 2>&1
ok $? "a text is encoded into several shards"
train shards --set 'data.train=parts/data_*.bin'
mkdir lost
cp parts/data_00000[02]* lost
train lost --set 'data.train=lost/data_*.bin'
bisect "a lost shard is searched for" shards lost
like out "^data${tab}data_000001.bin${tab}[0-9a-f]*${tab}\$" "the lost shard is named"
rm parts/data_000001.bin
gtrain replay shards --last 1 >out 2>err
is $? 1 "a run that has lost a shard cannot be replayed"
like err "cannot replay shards: the data lack the shard parts/data_000001.bin" \
    "replay names the shard that is missing"
gtrain bisect lost shards --tsv --no-header >out 2>err
is $? 1 "a run without its data cannot be computed again"
like err "cannot compute shards again: .*lack the shard parts/data_000001.bin" \
    "bisect names the shard that is missing"
like out "^recorded${tab}train/loss of step" \
    "the first step that differs is found without computing"

# A checkpoint that differs, and the ends of the command.
gtrain bisect one >out 2>err
is $? 2 "one run alone is refused"
like err "expected two runs" "two runs are asked for"
gtrain bisect one nobody >out 2>err
is $? 3 "a run that does not exist is not found"
gtrain bisect one rate --build-a ./nowhere >out 2>err
is $? 3 "a build that does not exist is not found"
gtrain replay one --trace steps --sample 3 >out 2>err
is $? 2 "a trace of a sample is refused"
done_testing
