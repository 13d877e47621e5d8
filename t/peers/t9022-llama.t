#!/bin/sh
# llama.cpp, by xllamacpp, continues a text from exported models with the tokens
# that gtrain draws.  Part of `make check-peers`; skipped without it.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
python=${GT_PYTHON:-python3}
test -n "${GT_PEERS:-}" || skip_all "make check-peers asks the peers"
"$python" -c 'import xllamacpp' 2>/dev/null ||
    skip_all "no xllamacpp in $python; set GT_PYTHON"

seq 1 3000 | sed 's/.*/hello wor & and b/' >text
gdata bpe -q --vocab 300 -o tok text && gdata encode -q -T tok -o data text
ok $? "a text is encoded"
small_ini data.tokenizer=tok data.train='data*.bin' model.width=64 \
    model.context=32 model.layers=2 model.heads=4 model.vocab=300 \
    model.vocab_multiple=1 model.init_std=0.2 train.batch=8 \
    train.micro_batch=8 schedule.steps=20 optim.lr=3e-3 eval.every=0 \
    sample.every=0 >tiny.ini
cat >continue.py <<'P'
import json
import sys

import xllamacpp

p = xllamacpp.CommonParams()
p.model.path = sys.argv[1]
p.n_ctx = 64
p.n_parallel = 1
p.warmup = False
server = xllamacpp.Server(p)
for prompt in sys.argv[2:]:
    answer = server.handle_completions({
        "prompt": prompt, "n_predict": 16, "temperature": 0, "top_k": 1,
        "ignore_eos": True})
    if not isinstance(answer, dict):
        answer = json.loads(answer)
    print(prompt + answer["choices"][0]["text"])
P
llama="model.norm=rmsnorm model.position=rope model.kv_heads=2 model.d_ff=96
    model.mlp=swiglu model.linear_bias=no"
llama3=model.rope_scaling=llama3,factor=4,low=1,high=4,context=64
yarn=model.rope_scaling=yarn,factor=2,low=1,high=32,context=16
while read -r name sets; do
    # shellcheck disable=SC2046,SC2086 # words
    gtrain -q -c tiny.ini --root "$name" \
        $(printf -- '-s %s ' $(eval echo "$sets")) >log 2>&1 &&
        gtrain export -q -f gguf --root "$name" run1 -o "$name.gguf" >>log 2>&1
    grep -aq "${name%-*}" "$name.gguf"
    ok $? "a model is exported as $name" "$(cat log)"
    for prompt in hello 'and b'; do
        gtrain sample -q --root "$name" run1 --prompt "$prompt" --tokens 16 \
            --temperature 0
    done >raw 2>>log
    "$python" -c 'print(open("raw", errors="replace").read(), end="")' >want
    "$python" continue.py "$name.gguf" hello 'and b' >got 2>>log
    test -s want && cmp want got
    ok $? "llama.cpp continues a text with the same tokens as $name" \
        "$(cat want; echo; cat got; tail -n 5 log)"
done <<'END'
gpt2 model.mlp=gelu_tanh
llama $llama model.tied=no
qwen2 $llama model.qkv_bias=yes model.output_bias=no
qwen3 $llama model.qk_norm=yes
llama-3 $llama $llama3
smollm3 $llama model.layers=5 model.nope_every=4
qwen2-yarn $llama model.qkv_bias=yes model.output_bias=no $yarn
END

# a conversation, with the template in the file
gdata vocab tok --add '<|im_start|>' --add '<|im_end|>' -o tok-chat >log
for i in 1 2 3 4 5 6; do
    echo '{"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":"wor & and"}]}'
    echo '{"messages":[{"role":"system","content":"b"},{"role":"user","content":"and"},{"role":"assistant","content":"b hello"}]}'
done >talk.jsonl
gdata encode -q --chat chatml -T tok-chat -o talk talk.jsonl >>log 2>&1
# shellcheck disable=SC2046,SC2086 # words
gtrain -q -c tiny.ini --root chat $(printf -- '-s %s ' $llama) -s model.vocab=302 -s model.context=96 \
    -s data.tokenizer=tok-chat -s data.train='talk*.bin' -s data.order=whole \
    -s model.mask=document -s schedule.steps=60 >>log 2>&1 &&
    gtrain export -q -f gguf --root chat run1 -o chat.gguf >>log 2>&1
ok $? "a model with a template is exported" "$(cat log)"
cat >talk.py <<'P'
import json
import sys

import xllamacpp

p = xllamacpp.CommonParams()
p.model.path = "chat.gguf"
p.n_ctx = 96
p.n_parallel = 1
p.warmup = False
p.use_jinja = True
server = xllamacpp.Server(p)
for line in sys.stdin:
    answer = server.handle_chat_completions({
        "messages": json.loads(line), "max_tokens": 12, "temperature": 0,
        "top_k": 1})
    if not isinstance(answer, dict):
        answer = json.loads(answer)
    print(answer["choices"][0]["message"]["content"])
P
gtrain chat --root chat run1 -s sample.temperature=0 >want 2>>log <<'E'
hello
/system b
and
E
"$python" talk.py >got 2>>log <<'E'
[{"role": "user", "content": "hello"}]
[{"role": "system", "content": "b"}, {"role": "user", "content": "and"}]
E
test "$(wc -l <want)" -eq 2 && cmp want got
ok $? "llama.cpp answers as gtrain chat does" "$(cat want; echo; cat got; tail -n 5 log)"
done_testing
