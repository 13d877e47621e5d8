#!/bin/sh
# The template of conversations goes from the data to what is exported.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"

encode_letters base
# The tokens of all named templates are there, too, so that a guess is wrong.
specials='<|im_start|> <|im_end|> <bos> <start_of_turn> <end_of_turn>
    <|begin_of_text|> <|start_header_id|> <|end_header_id|> <|eot_id|>
    <|u|> <|h|> <|e|>'
# shellcheck disable=SC2046,SC2086 # words
gdata vocab tok -o tok-chat $(printf -- '--add %s ' $specials) >out
cat >talk.jsonl <<'J'
{"messages":[{"role":"system","content":" be kind "},{"role":"user","content":"a b"},{"role":"assistant","content":"\n c d"}]}
J
# config BOS <TEMPLATE: a tokenizer_config.json
config() {
    template=$(sed 's/\\/\\\\/g; s/"/\\"/g; s/$/\\n/' | tr -d '\n')
    printf '{"bos_token": "%s", "chat_template": "%s"}' "$1" "${template%\\n}"
}
# talk NAME CHAT: encode the conversation
talk() { gdata encode -q -T tok-chat -o "$1" --chat "$2" talk.jsonl >out 2>err; }
recorded() { sed -n 's/^chat //p' "$1.tokens.lock"; }

# ---- a template in a lock
cat >own.txt <<'J'
{{ bos_token }}{% for message in messages %}{{ '<|u|>' + ('it\'s "me"' if message['role'] == 'assistant' else message['role']) }}{{ "<|h|>\t\"\\n'\r\n" + message['content'] | trim + '<|e|> %}{{\n\n' }}{% endfor %}
{% if add_generation_prompt %}{{ '<|u|>it\'s "me"<|h|>\t"\\n\'\r\n' }}{% endif %}
J
config '<|endoftext|>' <own.txt >own.json
for form in chatml llama3 gemma own.json; do
    talk "${form%.json}" $form
    recorded "${form%.json}" >text
    is "$? $(wc -l <text)" "0 1" "the lock of $form has its template" "$(cat err)"
    config '<|endoftext|>' <text >again.json
    talk again again.json && cmp "${form%.json}_000000.bin" again_000000.bin >>err 2>&1
    ok $? "the template of $form in the lock gives the same ids" "$(cat text err)"
    recorded again | cmp - text >out 2>&1
    ok $? "the template of $form is printed as it was"
    talk text "$(cat text)" && cmp again_000000.bin text_000000.bin >>err 2>&1
    ok $? "the text of $form is a template by itself" "$(cat err)"
done
gdata decode -T tok-chat --special own_000000.bin >text
printf '%s' "<|endoftext|><|u|>system<|h|>$tab\"\\n'$(printf '\r')
be kind<|e|> %}{{

<|u|>user<|h|>$tab\"\\n'$(printf '\r')
a b<|e|> %}{{

<|u|>it's \"me\"<|h|>$tab\"\\n'$(printf '\r')
c d<|e|> %}{{

" >want
ok "$(cmp -s text want; echo $?)" \
    "another word for assistants, marks and escapes are read" "$(diff want text)"
if "${GT_PYTHON:-python3}" -c 'import jinja2' 2>/dev/null; then
    "${GT_PYTHON:-python3}" - >theirs <<'P'
import json
import sys

import jinja2

text = [line[5:-1] for line in open("own.tokens.lock") if line[:5] == "chat "][0]
messages = json.load(open("talk.jsonl"))["messages"]
sys.stdout.reconfigure(newline="")
print(jinja2.Template(text).render(messages=messages, bos_token="<|endoftext|>"),
      end="")
P
    ok "$(cmp -s theirs want; echo $?)" "jinja2 prints the same text" "$(diff want theirs)"
else
    skip "jinja2 prints the same text" "there is no jinja2"
fi
refuse() { # NAME TEMPLATE: refused in one line
    printf '%s' "$2" | config '<bos>' >bad.json
    talk bad bad.json
    is "$?$(wc -l <err)$(grep -c 'no plain loop' err)" 111 "$1 is refused" "$(cat err)"
}
loop="{% for m in messages %}{{ '<|u|>' + m['role'] + '\\n' + m['content'] + '<|e|>'"
refuse "an escape that is not known" "$loop + '\\x41' }}{% endfor %}"
refuse "an expression among the strings" "$loop ~ 'b' }}{% endfor %}"
refuse "another word for assistants in the loop than after it" "$(
    sed 's/it..s "me"<|h|>/assistant<|h|>/' own.txt)"
refuse "a beginning of two tokens that are not end-of-text" \
    "{{ bos_token }}{{ '<|im_start|>' }}$loop }}{% endfor %}"
refuse "an unknown variable before the loop" "{{ eos_token }}$loop }}{% endfor %}"
refuse "a second loop" "$loop }}{% endfor %}$loop }}{% endfor %}"
refuse "a string without an end" "$loop + 'x }}{% endfor %}"
printf '{"chat_template": "%s"}' "$(printf %s "$loop }}{% endfor %}" |
    sed "s/'/\\\\u0001/g; s/\\\\n/x/")" >bad.json
talk bad bad.json
is "$?$(grep -c 'no plain loop' err)" 11 "other marks than those of strings are refused"
printf '%s' "{{ bos_token }}$loop }}{% endfor %}" | config '<bos>' >bos.json
talk bos bos.json
is "$? $(recorded bos | cut -c1-30)" "0 {{ bos_token }}{{ '<bos>' }}{%" \
    "a beginning that is not end-of-text is recorded" "$(cat err)"

# ---- a run
small_ini data.tokenizer=tok-chat data.train='own*.bin' model.context=32 model.vocab= \
    model.norm=rmsnorm model.mlp=swiglu model.position=rope model.linear_bias=no \
    model.mask=document data.order=whole train.micro_batch=2 schedule.steps=1 \
    checkpoint.every=1 eval.every=0 sample.every=0 >c.ini
# train NAME SETTING...
train() {
    name=$1
    shift
    # shellcheck disable=SC2046 # words
    gtrain -q -c c.ini -n "$name" $(printf -- '--set %s ' "$@") >log 2>&1
}
# carries RUN NAME [OPTION]: do both exports carry the template of this name?
carries() {
    model=$1 name=$2
    shift 2
    gtrain export -q "$model" -f hf -o hf "$@" >out 2>err &&
        gtrain export -q "$model" -f gguf -o gguf "$@" >>out 2>>err &&
        LC_ALL=C grep -ao '{{ bos_token }}{.*{% endif %}' gguf >text &&
        cmp text "$name.txt" &&
        talk hf hf/tokenizer_config.json && cmp "${name}_000000.bin" hf_000000.bin
}
for form in own chatml gemma; do
    recorded $form >$form.txt
done
train own run.note=
ok $? "a model is trained on conversations" "$(cat log)"
carries own own >log 2>&1
ok $? "both exports carry the template of the data, which gives the same ids" \
    "$(cat log err)"
end=$(gdata vocab tok-chat --tsv --no-header | cut -f3)
is "$(tr -d ' \n' <hf/config.json | sed 's/.*"eos_token_id":\[[0-9]*,\([0-9]*\)\].*/\1/')" \
    $((end - 1)) "generation ends at the token that ends a message"
echo hello >lines
gtrain chat own --set sample.temperature=0 <lines >answer 2>err
is "$? $(wc -c <answer | grep -c '[0-9]')" "0 1" "the model chats" "$(cat err)"
gtrain chat own --set sample.temperature=0 --chat own.json <lines >want 2>>err
cmp answer want >>err 2>&1
ok $? "chat uses the template of the data" "$(cat err)"
gdata encode -q -T tok-chat -o plain text.txt >out 2>&1
train more train.from=own data.train='plain*.bin' data.order=epoch
carries more own >log 2>&1
ok $? "a model that is trained further on text keeps the template" "$(cat log err)"
talk other chatml
train both data.train="A:0.5:own_*.bin,B:0.5:other_*.bin"
is "$(grep -c 'other.tokens.lock: these conversations have another template' log)" 1 \
    "a warning says that sources have other templates" "$(cat log)"
carries both own >log 2>&1
ok $? "the template of the first source is kept" "$(cat log err)"
train half schedule.steps=2 train.stop_at=1
mv own.tokens.lock away
gtrain -q -c c.ini -n half --set schedule.steps=2 --resume auto >log 2>&1
carries half@2 own >log 2>&1
ok $? "a run that is resumed without the lock keeps the template" "$(cat log err)"

# ---- templates that are named, or not known
train guess run.note=
carries guess chatml >log 2>&1
ok $? "without a lock, the special tokens tell the template" "$(cat log err)"
for form in own.json gemma; do
    carries guess "${form%.json}" --chat $form >log 2>&1
    ok $? "export --chat=$form names the template" "$(cat log err)"
done
gtrain export -q own -f gguf -o gguf --chat '' >out 2>err
is "$?$(LC_ALL=C grep -ac chat_template gguf)" 00 "an empty --chat leaves it out" "$(cat err)"
gtrain export -q guess -o none --chat alpaca >out 2>err
is "$? $(wc -l <err) $(grep -c 'alpaca is not chatml, llama3 or gemma: .*No such' err)" \
    "3 1 1" "an unknown name is refused"
ok "$(test ! -e none; echo $?)" "an export with an unknown template writes nothing"
train plain data.tokenizer=tok data.train='base*.bin' data.order=epoch
gtrain export -q plain -o none --chat gemma >out 2>err
is "$? $(grep -c 'no special token <bos>' err)" "2 1" "missing special tokens are named"
gtrain export -q plain -o none --chat gemma --set data.tokenizer= --set model.mask=causal \
    >out 2>err
is "$? $(grep -c 'needs data.tokenizer' err)" "2 1" "a template needs a tokenizer"

# ---- damage
sed "s/^chat .*/chat {% for m in x %}/" away >own.tokens.lock
train bad run.note=
ok $? "a damaged template does not stop a training run" "$(cat log)"
for command in 'export -f gguf -o none' 'export -o none' chat; do
    # shellcheck disable=SC2086 # words
    gtrain $command bad <lines >out 2>err
    is "$? $(wc -l <err) $(grep -c 'state.json: .*no plain loop' err)" "1 1 1" \
        "gtrain ${command%% *} refuses it in one line (${command#* })" "$(cat err)"
done
ok "$(test ! -e none; echo $?)" "a damaged template leaves no export"
gtrain export -q own -o none --set data.tokenizer=tok >out 2>err
is "$? $(grep -c 'state.json: its messages do not begin' err)" "1 1" \
    "with a tokenizer that lacks its tokens, a template is refused" "$(cat err)"
gtrain export -q bad -f gguf -o gguf --chat own.json >out 2>err
ok $? "--chat names another one" "$(cat err)"
done_testing
