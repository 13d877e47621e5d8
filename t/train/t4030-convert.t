#!/bin/sh
# Models go to other programs' files and come back the same.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands
rhythm 3000 >data.bin
small_ini model.layers=2 model.heads=4 model.width=32 model.vocab=31 \
    model.vocab_multiple=1 data.train=data.bin data.val=data.bin \
    schedule.steps=3 optim.lr=1e-2 >tiny.ini
python=${GT_PYTHON:-}
test -n "$python" && "$python" -c 'import transformers, torch' 2>/dev/null ||
    python=
llama="--set model.norm=rmsnorm --set model.mlp=swiglu
    --set model.position=rope --set model.linear_bias=no
    --set model.kv_heads=2 --set model.d_ff=48"
round_trip() {  # round_trip NAME FORMAT [OPTION]...
    name=$1 format=$2
    shift 2
    gtrain --config tiny.ini --root "$name" "$@" >out 2>&1
    c=$(ls -d "$name"/*/*/artifacts/checkpoints/step-00000003)
    gtrain export "$c" --format "$format" -o "$name.$format" >>out 2>&1 &&
        gtrain import "$name.$format" --format "${format%-bf16}" \
            -o "$name.back" >>out 2>&1
    # biases that were not there come back as zeros
    test "$name" = no-biases ||
        cmp -s "$c/model.safetensors" "$name.back/model.safetensors"
    ok $? "$name exported as $format and imported again has its old weights"
    loss=$(gtrain eval "$c" --data data.bin --device cpu --tsv --no-header \
        --set train.precision=fp32 --set optim.masters=fp32 | cut -f1)
    again=$(gtrain eval "$name.back" --data data.bin --device cpu --tsv \
        --no-header | cut -f1)
    test -n "$loss" && test "$loss" = "$again"
    ok $? \
        "$name exported as $format and imported again has its old loss" \
        "$loss, $again"
    test "$format" = hf || return
    if test -z "$python"; then
        skip "transformers gives $name its loss" "GT_PYTHON has none"
        return
    fi
    theirs=$("$python" "$top/t/reference/hf_loss.py" "$name.hf" data.bin 16 \
        2>err)
    echo "$loss $theirs" |
        awk '{ d = $1 - $2; exit !($2 > 0 && d * d <= $4 * $4) }'
    ok $? "transformers gives $name its loss" "$loss, $theirs: $(
        tail -n 3 err)"
}
round_trip gpt2 hf
round_trip no-biases hf --set model.linear_bias=no --set model.norm_bias=no \
    --set model.mlp=gelu --set model.tied=no
round_trip masters-in-bf16 hf --set train.precision=bf16 \
    --set optim.masters=bf16
# shellcheck disable=SC2086
{
    round_trip llama hf $llama
    round_trip untied-llama hf $llama --set model.tied=no
    round_trip qwen3 hf $llama --set model.qk_norm=yes --set model.head_dim=12
}
round_trip gpt2-c llm.c
round_trip c-in-bf16 llm.c-bf16 --set train.precision=bf16 \
    --set optim.masters=bf16
gtrain export c-in-bf16.back --format llm.c -o c-in-fp32 >out 2>&1
is "$(od -An -tu4 -j4 -N4 c-in-bf16.llm.c-bf16 | tr -d ' ')" 5 \
    "a checkpoint of llm.c in bf16 has version 5"
od -An -v -tx2 -w4 -j1024 c-in-fp32 | awk '{ print $2 }' >want
od -An -v -tx2 -w2 -j1024 c-in-bf16.llm.c-bf16 | tr -d ' ' >is
test -s want && cmp is want
ok $? "a checkpoint of llm.c in bf16 has the upper halves of the numbers in fp32"
gtrain export gpt2-c.back --format llm.c-bf16 -o rounded >out 2>&1 &&
    gtrain import rounded --format llm.c -o rounded.back >out 2>&1
perl -e 'sub numbers { open my $f, "<", shift or die; binmode $f; local $/;
        my $all = <$f>; unpack "f<*", substr $all, 8 + unpack "Q<", $all }
    my @a = numbers($ARGV[0]); my @b = numbers($ARGV[1]); my $n = @a;
    $n-- while $n > 0 && abs($a[$n - 1] - $b[$n - 1]) <= abs($a[$n - 1]) / 256;
    exit(@a != @b || $n > 0 || "@a" eq "@b")' \
    gpt2-c.back/model.safetensors rounded.back/model.safetensors
ok $? "numbers that bf16 cannot represent are rounded"

# models that transformers has no class for, with a class of ours
own() {  # own NAME [SET]...
    name=$1
    shift
    # shellcheck disable=SC2046 # words
    gtrain --config tiny.ini --root "$name" $(printf -- '--set %s ' "$@") \
        >out 2>&1 && gtrain export "$name"/*/*/artifacts/checkpoints \
            -o "$name.hf" >out 2>&1
    ok $? "a model of no known family is exported: $name"
    like out "trust_remote_code=True" "the export of $name says how to load it"
    gtrain import "$name.hf" -o "$name.back" >out 2>&1 &&
        gtrain export "$name.back" -o "$name.again" >out 2>&1 &&
        cmp "$name.hf/model.safetensors" "$name.again/model.safetensors" &&
        cmp "$name.hf/config.json" "$name.again/config.json"
    ok $? "the export of $name is imported with the same weights and settings" \
        "$(tail -n 3 out)"
    if test -z "$python"; then
        skip "our class gives $name its loss" "GT_PYTHON has no transformers"
        return
    fi
    loss=$(gtrain eval "$name"/*/*/artifacts/checkpoints --data data.bin \
        --device cpu --tsv --no-header | cut -f1)
    theirs=$(HF_HOME=$dir/hf "$python" "$top/t/reference/hf_loss.py" \
        "$name.hf" data.bin 16 2>err)
    echo "$loss $theirs" |
        awk '{ d = $1 - $2; exit !($2 > 0 && d * d <= $4 * $4) }'
    ok $? "our class gives $name its loss" "$loss, $theirs: $(tail -n 3 err)"
}
own c4 model.final_norm=no model.mlp=swiglu model.tied=no \
    model.linear_bias=no model.vocab_multiple=16
own relu2 model.mlp=relu2 model.position=rope model.kv_heads=2
own nowhere model.position=none model.qk_norm=yes model.norm_bias=no
own rms model.norm=rmsnorm model.mlp=gelu
own capped model.softcap=0.5 model.embed_norm=yes model.norm=rmsnorm
own scaled model.residual_scale=yes model.embed_norm=yes
own values model.value_embed=yes model.vocab_multiple=16 model.kv_heads=2
own wide model.head_dim=12 model.kv_heads=2
own windows model.window=5 model.window_pattern=SL model.position=rope
cmp windows.hf/modeling_gtrain.py "$top/python/modeling_gtrain.py"
ok $? "the class beside an exported model is the one of the source"

loss=$(gtrain eval gpt2.back --data data.bin --device cpu --tsv --no-header |
    cut -f1)
gtrain --config tiny.ini --root tuned --resume gpt2.back \
    --set optim.lr=0 --set eval.every=1 >out 2>&1
tuned=$(awk 'NR == 1 { print $2 }' tuned/*/*/metrics/val/loss)
test -n "$loss" && echo "$loss $tuned" | awk '{ exit !($1 - $2 < 1e-5 &&
    $2 - $1 < 1e-5) }'
ok $? "an imported model can be trained further" "$loss, $tuned: $(cat out)"
# NaN in the last tensor of the file
cp -r gpt2.hf nan.hf && f=nan.hf/model.safetensors &&
    printf '\377\377\377\377' | dd of=$f bs=1 conv=notrunc \
        seek=$(($(wc -c <$f) - 4)) 2>out
gtrain import nan.hf -o nan.ck >out 2>&1
is $? 0 "weights that are NaN are imported"
like out 'the imported ln_f.bias has values that are not finite' \
    "importing weights that are NaN causes a warning"
gtrain eval nan.ck --data data.bin --device cpu >out 2>&1
is $? 5 "evaluating weights that are NaN ends with the status of that"
like out 'the loss is not finite' "evaluating weights that are NaN says so"
like out 'the loaded ln_f.bias has values that are not finite' \
    "loading weights that are NaN causes a warning"

# ---- a shorter context -------------------------------------------------
at_half() {  # at_half MODEL [OPTION]...: the loss of windows of 8
    gtrain eval "$@" -b 1 --set model.context=8 --data data.bin \
        --device cpu --tsv --no-header 2>err | cut -f1
}
half=$(at_half gpt2/*/*/artifacts/checkpoints)
if test -n "$python"; then
    theirs=$("$python" "$top/t/reference/hf_loss.py" gpt2.hf data.bin 8 2>err)
    echo "$half $theirs" |
        awk '{ d = $1 - $2; exit !($2 > 0 && d * d <= $4 * $4) }'
    ok $? "transformers gives GPT-2 its loss at half its context" \
        "$half, $theirs"
else
    skip "transformers gives GPT-2 its loss at half its context" \
        "GT_PYTHON has none"
fi
half16=$(at_half c-in-bf16.back)
gtrain import -q c-in-bf16.llm.c-bf16 --format llm.c --context 8 -o half.bf16 \
    >out 2>&1
is "$?, $(at_half half.bf16)" "0, $half16" \
    "a model of llm.c in bf16 is imported with half its context"
head -c 30000 c-in-bf16.llm.c-bf16 >cut.bin
gtrain import cut.bin --format llm.c -o cut >out 2>&1
like out "the file ends before" "a truncated checkpoint of llm.c is refused"
for format in hf llm.c; do
    from=gpt2.hf
    test $format = hf || from=gpt2-c.llm.c
    gtrain import -q $from --format $format --context 8 -o half.$format >out 2>&1
    is "$?, $(at_half half.$format)" "0, $half" \
        "a model of $format is imported with half its context"
done
gtrain --config tiny.ini --root halved --resume half.hf --set model.context=8 \
    --set optim.lr=0 --set train.precision=fp32 --set eval.every=1 >out 2>&1
unlike out "written with" "a training from an import has no settings to differ from"
awk -v want="$half" 'NR == 1 { d = $2 - want; exit !(d * d < 1e-10) }' \
    halved/*/*/metrics/val/loss
ok $? "a model that was imported with half its context can be trained" \
    "$(cat out)"
gtrain --config tiny.ini --root longer --set schedule.steps=6 \
    --resume gpt2/*/*/artifacts/checkpoints/step-00000003 \
    --set model.context=8 >out 2>&1
ok $? "a checkpoint is resumed with half its context, moments and all"
gtrain import gpt2.hf --context 17 -o no >out 2>&1
is $? 2 "a model is not imported with more positions than it has"
like out '^gtrain: --context 17: the model has 16 positions$' \
    "import says how many positions the model has"

gtrain export gpt2/*/*/artifacts/checkpoints --format abc -o x >out 2>&1
test $? -eq 2
ok $? "an unknown export format is refused"
head -c 5000 gpt2.hf/model.safetensors >short &&
    mv short gpt2.hf/model.safetensors
gtrain import gpt2.hf -o cut >out 2>&1
test $? -eq 1 && test ! -e cut && test "$(wc -l <out)" -eq 1
ok $? "a truncated model file is refused in one line"
done_testing
