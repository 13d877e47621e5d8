#!/bin/sh
# From a base model to conversation: encoding, more ids, finetuning, chat.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"

# ---- conversations as tokens
encode_letters base
cat >talk.jsonl <<'J'
{"messages":[{"role":"user","content":"a b"},{"role":"assistant","content":"c d"}]}
{"conversations":1,"messages":[{"value":"be kind","from":"system"},{"from":"human","value":"<|im_end|> e"},{"from":"gpt","value":"f"}]}
{"messages":[]}
{"messages":"c d"}
{"messages":[{"role":"king","content":"a"}]}
{"messages":[{"role":"user"}]}
{"messages":[{"role":"user","content":"a\u0000b"}]}
J
# talk ARGUMENT...: encode the conversations
talk() { gdata encode -q -T tok-chat -o talk --max-bad 1 "$@" >out 2>err; }
gdata encode -q --chat chatml -T tok -o talk talk.jsonl 2>err
is $? 2 "a tokenizer without the special tokens is refused"
like err "no special token <|im_start|>" "the message names the token"
gdata vocab tok --add '<|im_start|>' --add '<|im_end|>' -o tok-chat >out
is "$? $(gdata vocab tok --tsv --no-header | cut -f3) $(cut -f3 out | tail -n 1)" \
    "0 260 262" "special tokens are added to a tokenizer"
gdata vocab tok-chat --add '<|im_end|>' -o again >out 2>err
is "$?$(grep -c 'the tokenizer has it' err)" 21 "a token is added once"
talk --chat chatml talk.jsonl
is $? 0 "conversations are encoded"
for bad in '3: .*the conversation has no messages' '4: column 13: the field is not an array' \
    '5: .*the role is not system' '6: .*a message needs a role and a content' \
    '7: .*a message has a NUL byte'; do
    like err "talk.jsonl:$bad" "line ${bad%%:*} is skipped, and the message says why"
done
gdata decode -T tok-chat --special talk_000000.bin >text
printf '%s' "<|endoftext|><|im_start|>user
a b<|im_end|>
<|im_start|>assistant
c d<|im_end|>
<|endoftext|><|im_start|>system
be kind<|im_end|>
<|im_start|>user
<|im_end|> e<|im_end|>
<|im_start|>assistant
f<|im_end|>
" >want
ok "$(cmp -s text want; echo $?)" "special tokens divide them" "$(diff want text)"
# ids FILE: all of them, without marks, one a line; answers FILE: the unmarked
numbers() { od -An -v -t u4 -w4 -j 1024 "$1"; }
answers() { numbers "$1" | awk '$1 < 2147483648 { print $1 }'; }
printf 'c d' >one.txt
printf 'f' >two.txt
end=$(numbers talk_000000.bin | awk '{ n = $1 % 2147483648 } n > m { m = n } END { print m }')
for f in one two; do
    gdata encode -q -T tok --eot none --format raw -o $f $f.txt >out
    od -An -v -t u2 -w2 $f.bin
    echo "$end"
done | awk '{ print $1 }' >want
answers talk_000000.bin >got
ok "$(cmp -s got want; echo $?)" \
    "only answers, and what ends them, are to be predicted" "$(diff want got)"
is "$(numbers talk_000000.bin | awk '$1 % 2147483648 == m' m="$end" | wc -l)" 5 \
    "what looks like a special token in a message is text"
# loop TEXT: a tokenizer_config.json with this template
loop() {
    template=$(sed 's/\\/\\\\/g; s/"/\\"/g; s/$/\\n/' | tr -d '\n')
    printf '{"bos_token": {"content": "<|endoftext|>"}, "chat_template": "%s"}' \
        "$template" >loop.json
}
loop <<'J'
{% for message in messages %}
{{ '<|im_start|>' + message['role'] + "\n" }}{{ message['content'] + '<|im_end|>' + '\n' }}
{%- endfor %}
J
talk --chat loop.json talk.jsonl
is "$?$(grep -c 'loop.json .*its chat_template is no plain loop' err)" 11 \
    "a template with anything else is refused"
printf '%s' "{{ bos_token }}{% for message in messages %}
{{ '<|im_start|>' + message['role'] + \"\\n\" }}{{ message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}
{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}" | loop
cp talk_000000.bin plain.bin && talk --chat loop.json talk.jsonl
is "$? $(answers talk_000000.bin)" "0 $(answers plain.bin)" \
    "a plain loop in a tokenizer_config.json is read" "$(cat err)"
cmp talk_000000.bin plain.bin >out 2>&1
ok $? "such a loop gives the ids of the form that has a name" "$(cat out)"
sed 's/{% endif/{% else %}x{% endif/' loop.json >else.json
talk --chat else.json talk.jsonl
is "$?$(grep -c 'no plain loop' err)" 11 "more after the loop than the beginning of an answer is refused"
printf '%s' "{% for m in messages %}{{ 'From ' + m['role'] + ': ' + m['content'] + '<|im_end|>' }}{% endfor %}" | loop
talk --chat loop.json talk.jsonl
is "$?$(grep -c 'do not begin and end with a special token' err)" 11 \
    "messages must begin with a special token"
echo '{}' >loop.json
talk --chat loop.json talk.jsonl
is "$?$(grep -c 'no plain loop' err)" 11 "a file without a template is refused"
talk --chat alpaca talk.jsonl
is "$?$(grep -c 'alpaca is not chatml, llama3 or gemma: .*No such' err)" 31 \
    "an unknown name is refused"
talk --chat chatml --format raw talk.jsonl
is "$?$(grep -c 'format raw cannot' err)" 21 "a form without room for marks is refused"
talk --chat chatml text.txt
is "$?$(grep -c 'JSON Lines only' err)" 21 "plain text is refused, too"
cp talk_000000.bin plain.bin && talk --chat chatml --shuffle 7 talk.jsonl
is "$? $(answers talk_000000.bin | sort)" "0 $(answers plain.bin | sort)" \
    "shuffled conversations keep their marks"

# ---- a base model
awk 'BEGIN {
    split("red blue green white black", colour)
    for (i = 1; i <= 5; i++) {
        thing = substr("abcde", i, 1)
        talk = "{\"role\":\"user\",\"content\":\"" thing "\"}," \
            "{\"role\":\"assistant\",\"content\":\"" colour[i] "\"}]}"
        print "{\"messages\":[" talk
        print "{\"messages\":[{\"role\":\"system\",\"content\":\"be kind\"}," talk
    } }' >five.jsonl
for i in 1 2 3 4 5 6 7 8 9 10; do cat five.jsonl; done >many.jsonl
gdata encode -q -T tok-chat --chat chatml -o five many.jsonl >out 2>err
is $? 0 "questions and answers are encoded"
small_ini data.tokenizer=tok data.train='base*.bin' model.width=64 model.heads=2 \
    model.layers=2 model.context=64 model.vocab= model.position=rope \
    train.micro_batch=2 train.batch=4 schedule.steps=20 optim.lr=5e-3 \
    sample.every=0 eval.every=0 checkpoint.every=20 train.deterministic=yes >base.ini
gtrain -q --config base.ini -n base >out 2>&1
ok $? "a base model is trained" "$(cat out)"
cat >chat.ini <<'I'
extends = base.ini
[data]
tokenizer = tok-chat
train = five*.bin
order = whole
[model]
mask = document
[train]
from = base
batch = 12
[schedule]
steps = 200
[checkpoint]
every = 100
I
# rows FILE N COUNT: rows of the embedding in a checkpoint, 64 numbers each
rows() {
    head=$(od -An -t u4 -N 4 "$1" | tr -d ' ')
    from=$(dd if="$1" bs=1 skip=8 count="$head" 2>/dev/null |
        sed 's/.*"wte.weight":{[^}]*"data_offsets":\[\([0-9]*\),.*/\1/')
    od -An -v -t f4 -w256 -N $((256 * $3)) -j $((8 + head + from + 256 * $2)) "$1"
}
model() { echo "$(gtrack where "$1")/artifacts/checkpoints/step-$2/model.safetensors"; }
gtrain -q --config chat.ini -n same --set optim.lr=0 --set train.stop_at=1 >out 2>&1
is "$?$(grep -c 'warning' out)" 00 "a model gains ids" "$(cat out)"
rows "$(model base 00000020)" 0 260 |
    awk '{ for (i = 1; i <= NF; i++) sum[i] += $i / 260 }
        END { for (i = 1; i <= 64; i++) print sum[i] }' >mean
for i in 260 261; do
    rows "$(model same 00000001)" $i 1 | tr -s ' ' '\n' | sed 1d | paste - mean |
        awk '{ d = $1 - $2; if (d * d > 1e-12) bad = 1 } END { exit bad }'
    ok $? "new id $i begins as the mean of the others"
done
is "$(rows "$(model same 00000001)" 5 1)" "$(rows "$(model base 00000020)" 5 1)" \
    "the others stay as they were"

# ---- finetuning
gtrain -q --config chat.ini -n talk >out 2>&1
ok $? "the model is trained on conversations" "$(cat out)"
sum() { sha256sum <"$(model "$1" 00000200)"; }
gtrain -q --config chat.ini -n two --ranks 2 >out 2>&1
is "$?$(sum two)" "0$(sum talk)" "two processes compute the same weights"
gtrain -q --config chat.ini -n half --set train.stop_at=100 >out 2>&1
gtrain -q --config chat.ini -n half --resume auto >out 2>&1
is "$?$(sum half)" "0$(sum talk)" "a run that was resumed computes the same weights"
gtrain replay talk --steps 1:200 >out 2>err
is $? 0 "replay certifies it" "$(cat err)"
gtrain batch talk 1 >out 2>err
is "$?" 0 "batches of conversations can be shown" "$(cat err)"

# ---- chat
chat() { gtrain chat talk --set sample.temperature=0 "$@" 2>err; }
printf '%s\n' c /system a /system e /system b /system d | chat >out
holds out "green
red
black
blue
white"
ok $? "the model answers all of a closed set of questions" "$(cat out err)"
printf '%s\n' a b c d e a | chat >out
is $? 0 "a conversation goes on beyond the context"
like err "longer than the model's context of 64 tokens" \
    "a message says that the beginning is forgotten"
printf '%s\n' /retry a /retry '/save no/x' '/save talk.json' '/system be kind' b \
    '/save kind.json' /what /quit c | chat >out
is "$? $(tr '\n' ' ' <out)" "0 red red blue " "/retry answers again, /quit ends"
holds talk.json '{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"red"}]}'
ok $? "/save writes the conversation"
holds kind.json '{"messages":[{"role":"system","content":"be kind"},{"role":"user","content":"b"},{"role":"assistant","content":"blue"}]}'
ok $? "/system begins a new one"
like err "no answer to generate again" "what cannot be repeated is said"
like err "no/x" "a file that cannot be written is named, and chat goes on"
like err "/save FILE" "an unknown command shows those that exist"
gtrain chat base >out 2>err
is "$?$(grep -c 'no special tokens for conversations' err)" 21 \
    "a model without special tokens is refused"
mkfifo lines
gtrain chat talk --set sample.temperature=0 <lines >out 2>err &
pid=$!
exec 3>lines
echo a >&3
await_line out 'red
' $pid
kill -INT $pid
await_line err 'ends the program' $pid
printf '/system\nb\n' >&3
exec 3>&-
wait $pid
is "$?$(tail -n 1 out)" 0blue "Ctrl-C does not end the program"
cat >early.c <<'END'
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
int ppoll(struct pollfd *f, nfds_t n, const struct timespec *t, const sigset_t *s)
{
    raise(SIGTERM);
    return (int)syscall(SYS_ppoll, f, n, t, s, 8);
}
END
if ${CC:-cc} -D_GNU_SOURCE -shared -fPIC -o early.so early.c >out 2>&1 &&
    LD_PRELOAD=$PWD/early.so gtrain --version >out 2>&1; then
    exec 3<>lines
    LD_PRELOAD=$PWD/early.so gtrain chat talk <&3 >out 2>err
    is "$?$(grep -c 'stopped by a signal' err)" 1301 \
        "a signal just before the program waits ends it"
    exec 3>&-
else
    skip "a signal just before the program waits" "no library can be preloaded"
fi
done_testing
