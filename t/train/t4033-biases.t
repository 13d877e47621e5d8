#!/bin/sh
# Models with some of the biases, or with scaled rotary angles, are imported, trained and exported as such.
# t/reference/biases.py made them, and what PyTorch computes for them.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands
rhythm 1000 >data.bin

# tensors FOLDER: the names in its file, with their shapes
tensors() {
    tr ',' '\n' <"$1/model.safetensors" | LC_ALL=C grep -ao '"model[^"]*"' | sort
}
while read -r name type; do
    given=$top/t/reference/biases/$name
    gtrain import -q "$given" -o "$name.ck" >out 2>&1
    is $? 0 "$name is imported" "$(cat out)"
    gtrain -q --resume "$name.ck" --root "$name" -s data.train=data.bin \
        -s data.order=sequential -s train.batch=4 -s train.micro_batch=2 \
        -s train.device=cpu -s train.threads=1 -s schedule.steps=10 \
        -s schedule.kind=constant -s optim.lr=3e-3 -s run.system_every=0s \
        >out 2>&1
    cut -d' ' -f2 "$name"/*/*/metrics/train/loss >loss
    cut -d' ' -f2 "$name"/*/*/metrics/train/grad_norm >norm
    paste -d' ' loss norm "$given.txt" | awk '
        function off(a, b) { return (a > b ? a - b : b - a) / b }
        off($1, $3) > 2e-6 || off($2, $4) > 2e-5 { print; bad = 1 }
        END { exit bad || NR != 10 }' >differ
    ok $? "10 steps of $name have the loss and norm of PyTorch" \
        "$(cat out differ)"
    gtrain export -q "$name.ck" -o "$name.hf" >out 2>&1
    tensors "$given" >want
    tensors "$name.hf" >got
    test -s want && cmp want got &&
        grep -q "\"model_type\": \"$type\"" "$name.hf/config.json"
    ok $? "$name is exported as a $type with the tensors that it had"
    gtrain import -q "$name.hf" -o "$name.again" &&
        cmp "$name.ck/model.safetensors" "$name.again/model.safetensors"
    ok $? "the export of $name has the weights of the import"
done <<END
qwen2 qwen2
attention llama
mlp llama
qwen3 qwen3
wide qwen3
llama3 llama
yarn qwen2
smollm3 smollm3
END
tr -d ' \n' <smollm3.hf/config.json | grep -q '"no_rope_layers":\[1,0,1\]'
ok $? "the layers of SmolLM3 without rotary angles are exported"
for name in llama3 yarn; do
    for folder in "$top/t/reference/biases/$name" $name.hf; do
        tr -d ' \n' <"$folder/config.json" |
            sed 's/.*"rope_parameters":{\([^}]*\)}.*/\1/' | tr ',' '\n' |
            grep -v '"beta_' | sort >"${folder##*/}.rope"
    done
    cmp -s $name.rope $name.hf.rope && grep -q rope_scaling $name.hf/config.json
    ok $? "the angles of $name are exported as they were" \
        "$(cat $name.rope $name.hf.rope)"
done
grep -q attention_bias qwen2.hf/config.json
is $? 1 "Qwen2 is exported without keys for its biases, which it always has"

# ---- settings ------------------------------------------------------------
small_ini model.width=8 model.vocab=31 model.vocab_multiple=1 model.context=8 \
    data.train=data.bin schedule.steps=1 >tiny.ini
# biases NAME SET...: the biases of a checkpoint
biases() {
    name=$1
    shift
    # shellcheck disable=SC2046 # words
    gtrain -q -c tiny.ini --root "$name" $(printf -- '-s %s ' "$@") >out 2>&1
    LC_ALL=C grep -ao 'h\.0\.[a-z_.]*\.bias' \
        "$name"/*/*/artifacts/checkpoints/*/model.safetensors | grep -v ln_ |
        sort | tr '\n' ' '
}
is "$(biases all model.linear_bias=yes)" \
    "h.0.attn.proj.bias h.0.attn.qkv.bias h.0.mlp.fc.bias h.0.mlp.proj.bias " \
    "model.linear_bias is for all linear layers of a block"
is "$(biases qkv model.linear_bias=no model.qkv_bias=yes)" \
    "h.0.attn.qkv.bias " "model.qkv_bias adds a bias to one layer"
is "$(biases output model.linear_bias=no model.output_bias=yes)" \
    "h.0.attn.proj.bias " "model.output_bias adds a bias to one layer"
is "$(biases less model.mlp_bias=no)" \
    "h.0.attn.proj.bias h.0.attn.qkv.bias " \
    "model.mlp_bias leaves out the biases of the MLP"

# older NAME SET: a checkpoint whose config.ini has linear_bias alone
older() {
    want=$(biases "$1" "$2")
    cp -r "$1"/*/*/artifacts/checkpoints/step-00000001 "$1.old" &&
        sed -i '/^qkv_bias/d; /^output_bias/d; /^mlp_bias/d' "$1.old/config.ini" &&
        resum "$1.old" && gtrain -q --resume "$1.old" --root "$1.new" \
            -s schedule.steps=2 >out 2>&1
    is "$?, $(grep -c '_bias =' "$1.old/config.ini")" "0, 2" \
        "a checkpoint from before biases had settings each is resumed: $2" \
        "$(cat out)"
    is "$(LC_ALL=C grep -ao 'h\.0\.[a-z_.]*\.bias' "$1.new"/*/*/artifacts/checkpoints/*2/model.safetensors |
        grep -v ln_ | sort | tr '\n' ' ')" "$want" \
        "training that resumes an older checkpoint has its biases: $2"
}
older with model.linear_bias=yes
older without model.linear_bias=no

loss() {
    gtrain eval "$1" --data data.bin --device cpu -b 1 --tsv --no-header |
        cut -f1
}
# exported NAME SET...: a model that is like none of transformers
exported() {
    biases "$@" >/dev/null
    gtrain export -q "$1"/*/*/artifacts/checkpoints -o "$1.hf" >out 2>&1
}
# back NAME TEXT: the export has the loss of the model
back() {
    gtrain import -q "$1.hf" -o "$1.ck" >out 2>&1
    want=$(loss "$1"/*/*/artifacts/checkpoints)
    is "$(loss "$1.ck")" "${want:-no loss}" "$2"
}
exported some model.norm=rmsnorm model.output_bias=no
back some "a model that is like none of transformers keeps its biases"
exported own model.norm=rmsnorm model.linear_bias=no
grep -q '"qkv_bias": false' own.hf/config.json &&
    sed -i '/"qkv_bias"/d; /"output_bias"/d; /"mlp_bias"/d' own.hf/config.json
back own "an export that says linear_bias alone is imported"

for set in 'model.rope_scaling=linear, factor=2' \
    'model.rope_scaling=yarn, factor=2, low=1, high=32, context=8'; do
    gtrain plan tiny.ini -s model.position=rope -s model.rope_theta=1 \
        -s "$set" >out 2>err
    is $? 2 "rotary angles that cannot be are refused: $set"
    like err "model.rope_scaling: .*\(expects llama3\|requires model.rope_theta\)" \
        "the message says what the scaling needs: $set"
done
done_testing
