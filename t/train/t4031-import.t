#!/bin/sh
# What Hugging Face's files say of a model is understood, or refused by name.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands
rhythm 1000 >data.bin
small_ini model.layers=2 model.heads=4 model.context=8 model.vocab=31 \
    model.vocab_multiple=16 model.init_std=0.3 data.train=data.bin \
    schedule.steps=2 optim.lr=1e-2 >tiny.ini

# ---- models ------------------------------------------------------------
model() {  # model NAME [SET]...: a checkpoint, what it scores, its export
    name=$1
    shift
    # shellcheck disable=SC2046 # words
    set -- $(printf -- '--set %s ' "$@")
    gtrain -q --config tiny.ini --root "$name" "$@" &&
        mv "$name"/*/*/artifacts/checkpoints/step-00000002 "$name.ck" &&
        loss "$name.ck" >"$name.loss" && gtrain export -q "$name.ck" -o "$name"
}
loss() {
    gtrain eval "$1" --data data.bin --device cpu --micro-batch 1 --tsv \
        --no-header | awk '{ printf "%.6f\n", $1 }'
}
same() {  # same NAME FOLDER: FOLDER is imported as NAME scores
    rm -rf back
    gtrain import -q "$2" -o back >out 2>&1 && loss back >back.loss 2>>out &&
        cmp "$1.loss" back.loss >>out 2>&1
}
llama="model.norm=rmsnorm model.position=rope model.rope_theta=500000
    model.kv_heads=2 model.d_ff=24 model.tied=no"
plain="model.linear_bias=no"
# shellcheck disable=SC2086 # words
{
    model gpt2 model.d_ff=40
    model llama $llama $plain model.mlp=swiglu
    model geglu $llama $plain model.mlp=geglu
    model biased $llama model.mlp=swiglu
    model qwen3 $llama $plain model.mlp=swiglu model.qk_norm=yes
}
for name in gpt2 llama geglu biased qwen3; do
    same $name $name
    ok $? "$name has its old loss after export and import"
done

# ---- several files -----------------------------------------------------
cat >split.pl <<'END'
# Cut FOLDER/model.safetensors in two, as transformers cut large ones.
use strict;
use JSON::PP;
my ($folder) = @ARGV;
open my $in, '<:raw', "$folder/model.safetensors" or die;
local $/;
my $all = <$in>;
my $n = unpack 'Q<', $all;
my $head = decode_json(substr $all, 8, $n);
my (%map, @file);
delete $head->{__metadata__};
for my $name (sort keys %$head) {
    my $f = $file[%map % 2] //= { head => {}, data => '' };
    my ($from, $to) = @{ $head->{$name}{data_offsets} };
    $head->{$name}{data_offsets} =
        [length $f->{data}, length($f->{data}) + $to - $from];
    $f->{head}{$name} = $head->{$name};
    $f->{data} .= substr $all, 8 + $n + $from, $to - $from;
    $map{$name} = 'model-0000' . (1 + %map % 2) . '-of-00002.safetensors';
}
for my $i (0, 1) {
    my $text = encode_json($file[$i]{head});
    open my $out, '>:raw', "$folder/model-0000" . ($i + 1) .
        '-of-00002.safetensors' or die;
    print $out pack('Q<', length $text), $text, $file[$i]{data};
}
open my $out, '>', "$folder/model.safetensors.index.json" or die;
print $out encode_json({ weight_map => \%map });
unlink "$folder/model.safetensors";
END
if perl -MJSON::PP -e 1 2>/dev/null; then
    cp -r llama parts && perl split.pl parts && test ! -e parts/model.safetensors
    same llama parts
    ok $? "a model in several files is imported"
    rm parts/model-00002-of-00002.safetensors
    gtrain import parts -o no >out 2>&1
    test $? -eq 3 && grep -q 'model-00002-of-00002' out &&
        test "$(wc -l <out)" -eq 1
    ok $? "a missing file of a model is named"
else
    skip "a model in several files is imported" "no perl with JSON::PP"
    skip "a missing file of a model is named" "no perl with JSON::PP"
fi

# ---- settings that are told otherwise ----------------------------------
sed '/^  "rope_theta"/d' llama/config.json >new && cp -r llama five &&
    mv new five/config.json
grep -q rope_theta five/config.json && same llama five
ok $? "the rotary base is found where transformers 5 keeps it"
{ cat llama/config.json && echo; } |
    sed '/"rope_parameters"/,/}/d' >new && cp -r llama four &&
    mv new four/config.json
same llama four
ok $? "the rotary base is found where transformers 4 keeps it"
cp -r llama both
sed -i 's/^{/{ "rope_scaling": { "type": "default", "rope_theta": 500000 },/
    /^    "rope_theta"/s/500000/9/' both/config.json
grep -q '^    "rope_theta": 9\.' both/config.json && same llama both
ok $? "the rotary base of rope_scaling is the one that counts" "$(cat out)"
cp -r qwen3 windowless
sed -i 's/^{/{ "sliding_window": 4,/' windowless/config.json
same qwen3 windowless
ok $? "a Qwen3 without use_sliding_window attends to the whole context"
cp -r llama mistral && sed -i 's/"llama"/"mistral"/' mistral/config.json
same llama mistral
ok $? "a Mistral whose window is its context is a Llama"
sed 's/"n_layer"/"num_hidden_layers"/
    s/"n_positions"/"max_position_embeddings"/' gpt2/config.json >new &&
    cp -r gpt2 alias && mv new alias/config.json
same gpt2 alias
ok $? "GPT-2 may have the names that other models have for its sizes"
cp -r llama own && sed -i '/tie_word_embeddings/s/false/true/' own/config.json
grep -q 'tie_word_embeddings": true' own/config.json && same llama own
ok $? "a head that is not the embedding is kept, whatever config.json says"
gtrain import -q own -o own.ck >out 2>&1
like out 'lm_head.weight is not model.embed_tokens.weight' \
    "keeping a head that config.json says is tied causes a warning"

# refused MODEL KEY VALUE: the line names the key
refused() {
    rm -rf odd && cp -r "$1" odd
    sed -i "/^  \"$2\"/d; s|^{|{ \"$2\": $3,|" odd/config.json
    gtrain import odd -o no >out 2>&1
    test $? -eq 1 && test ! -e no && test "$(wc -l <out)" -eq 1 &&
        grep -q -e "${4-$2}" out
    ok $? "$1 with $2 = $3 is refused"
}
refused gpt2 scale_attn_by_inverse_layer_idx true
refused gpt2 scale_attn_weights false
refused gpt2 activation_function '"quick_gelu"'
refused gpt2 n_layer '"2"'
refused gpt2 num_hidden_layers 1
refused gpt2 is_causal false
refused llama is_causal null
refused gpt2 n_inner 39 h.0.mlp.c_fc.weight
refused gpt2 n_layer 1 h.1.
refused gpt2 model_type '"bert"'
refused llama hidden_act '"relu"'
refused llama head_dim 8 q_proj
refused llama head_dim '"8"'
refused llama hidden_size null
refused llama rope_scaling '{ "type": "linear", "factor": 2.0 }' linear
refused four rope_parameters '{ "rope_type": "llama3", "factor": 8 }' \
    low_freq_factor
refused four rope_parameters \
    '{ "rope_type": "yarn", "factor": 8, "truncate": false }' truncate
refused llama rope_scaling '{ "factor": 2.0 }' factor
refused llama rope_scaling '{ "full_attention": { "rope_theta": 9 } }' \
    full_attention
refused llama partial_rotary_factor 0.5
refused llama per_layer_config '{ "0": { "num_key_value_heads": 1 } }'
refused llama quantization_config '{ "quant_method": "gptq" }'
refused gpt2 pruned_heads '{ "0": [1] }'
refused mistral sliding_window 4
cp -r mistral flagged
sed -i 's/^{/{ "use_sliding_window": false,/' flagged/config.json
refused flagged sliding_window 4
refused mistral max_position_embeddings 8192 sliding_window
refused qwen3 use_sliding_window true
refused llama no_rope_layers '[0, 1]'
refused qwen3 attention_bias true self_attn.q_proj.bias
refused qwen3 layer_types '["full_attention", "sliding_attention"]'
refused biased attention_bias false q_proj.bias
refused biased mlp_bias false mlp.gate_proj.bias
refused llama mlp_bias true mlp.gate_proj.bias

rm -rf odd && cp -r mistral odd
sed -i 's/^{/{ "logit_scale": 2, "none": null, "off": false,/
    s/"mlp_bias": false/"mlp_bias": true/' odd/config.json
gtrain import odd -o odd.ck >out 2>&1 && grep -q 'these keys: ' out &&
    grep 'these keys: ' out | grep -q logit_scale &&
    grep 'these keys: ' out | grep -q mlp_bias &&
    ! grep -e rms_norm_eps -e torch_dtype -e none -e off out
ok $? "keys of config.json that are unknown for a model cause a warning" \
    "$(cat out)"
for model in gpt2 llama qwen3 biased; do
    gtrain import "$model" -o "known.$model" || echo "$model failed"
done >out 2>&1
unlike out 'these keys|failed' "the files that gtrain exports have no such keys"
rm -rf odd no && mkdir odd && cp llama/config.json odd
gtrain import odd -o no >out 2>&1
test $? -eq 3 && grep -q 'neither model.safetensors nor' out
ok $? "a folder without weights is refused with the missing file names"

# ---- the tokenizer -----------------------------------------------------
for i in 1 2 3 4 5 6 7 8 9; do
    echo "the cat sat on the mat and the dog sat on the log, $i times"
done >text
gdata bpe text --vocab 270 -o tok >out 2>&1
gdata encode text --tokenizer tok -o text >>out 2>&1
gtrain -q --config tiny.ini --root told --set data.tokenizer=tok \
    --set model.vocab=0 --set data.train=text_*.bin --set train.micro_batch=1 \
    >>out 2>&1 && gtrain export -q told/*/*/artifacts/checkpoints -o told.hf \
    >>out 2>&1 && grep -q PreTrainedTokenizerFast told.hf/tokenizer_config.json
ok $? "the tokenizer is exported with the model"
gtrain import told.hf -o told.ck >out 2>&1 &&
    grep -q '^tokenizer = told.hf/tokenizer.json' told.ck/config.ini &&
    gtrain sample told.ck -p 'the cat' -t 2 >out 2>&1 && grep -q '^the cat' out
ok $? "the tokenizer is imported with the model"
echo '{ "model": { "type": "Unigram" } }' >told.hf/tokenizer.json
gtrain import told.hf -o told.no >out 2>&1 &&
    grep -q 'tokenizer is not imported' out && grep -q '^tokenizer = *$' \
    told.no/config.ini
ok $? "a tokenizer that cannot be read is not imported, with a warning"

mkdir headless && cp gpt2/*.json gpt2/*.safetensors headless
sed 's/"n_head": *[0-9]*/"n_head": 0/' gpt2/config.json >headless/config.json
gtrain import headless -o headless.ck >out 2>&1
like out "^gtrain: headless: model.heads expects" \
    "a wrong size is refused by the name of the model"

# killed while it writes
if "$build/t/lib/disturb" -n 1 true; test $? = 137; then
    gtrain import -q told.hf -o calm >out 2>&1
    for at in 1 9 17; do
        "$build/t/lib/disturb" -c write -p killed -n $at \
            gtrain import -q told.hf -o killed >out 2>&1
        is "$? $(ls -d killed 2>&1 | grep -c 'No such')" "137 1" \
            "an import that is killed at write $at leaves no folder of this name"
    done
    gtrain import -q told.hf -o killed >out 2>&1
    is "$? $( (cd calm && sha256sum model.safetensors config.ini) |
        (cd killed && sha256sum -c --quiet 2>&1); ls -d killed*)" "0 killed" \
        "an import after a kill has what one without has, and nothing is left"
else
    skip "an import that is killed" "no right to supervise system calls"
fi
done_testing
