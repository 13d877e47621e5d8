#!/bin/sh
# Conversations have the ids that Hugging Face's libraries give them, by the
# template that an exported model carries.  Part of `make check-peers`.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
python=${GT_PYTHON:-python3}
test -n "${GT_PEERS:-}" || skip_all "make check-peers asks the peers"
"$python" -c 'import jinja2, tokenizers' 2>/dev/null ||
    skip_all "no jinja2 and tokenizers in $python; set GT_PYTHON"

seq 1 3000 | sed 's/.*/hello wor & and b/' >text
gdata bpe -q --vocab 300 -o tok text
cat >one.jsonl <<'J'
{"messages":[{"role":"user","content":" Hello, who's there? "},{"role":"assistant","content":"Nobody\n at all.\n"},{"role":"user","content":"and <b>\u00e9</b>"},{"role":"assistant","content":"b"}]}
J
cat >ids.py <<'P'
import json
import sys

import jinja2
import tokenizers

folder, encoded = sys.argv[1:]
config = json.load(open(folder + "/tokenizer_config.json"))
text = jinja2.Template(config["chat_template"], keep_trailing_newline=True).render(
    messages=json.loads(open("one.jsonl").read())["messages"],
    bos_token=config["bos_token"])
tokenizer = tokenizers.Tokenizer.from_file(folder + "/tokenizer.json")
print(*tokenizer.encode(text, add_special_tokens=False).ids)
P
cat >own.json <<'J'
{"chat_template": "{% for m in messages %}{{ '<|u|>' + m['role'] + \"<|h|>it's\\n\" + m['content'] | trim + '<|e|>\\t' }}{% endfor %}"}
J
while read -r chat tokens; do
    form=${chat%.json}
    # shellcheck disable=SC2046,SC2086 # words
    gdata vocab tok -o "tok-$form" $(printf -- '--add %s ' $tokens) >log 2>&1 &&
        gdata encode -q --chat "$chat" -T "tok-$form" -o "$form" one.jsonl >>log 2>&1
    small_ini data.tokenizer="tok-$form" data.train="$form*.bin" model.vocab= \
        model.width=16 model.heads=2 model.context=32 schedule.steps=1 \
        checkpoint.every=1 eval.every=0 sample.every=0 >tiny.ini
    gtrain -q -c tiny.ini --root "$form" >>log 2>&1 &&
        gtrain export -q -f hf --root "$form" run1 -o "hf-$form" >>log 2>&1 &&
        "$python" ids.py "hf-$form" "$form" >theirs 2>>log
    od -An -v -t u4 -w4 -j 1024 "${form}_000000.bin" |
        awk '{ printf "%s%d", n++ ? " " : "", $1 % 2147483648 } END { print "" }' >ours
    test -s theirs && cmp theirs ours
    ok $? "the ids of a conversation in $form are those of its template" \
        "$(cat theirs ours log)"
    gdata encode -q --chat "hf-$form/tokenizer_config.json" -T "tok-$form" -o again \
        one.jsonl >>log 2>&1 && cmp "${form}_000000.bin" again_000000.bin >>log 2>&1
    ok $? "the template of $form that the model carries is read again" "$(cat log)"
done <<'END'
chatml <|im_start|> <|im_end|>
llama3 <|begin_of_text|> <|start_header_id|> <|end_header_id|> <|eot_id|>
gemma <bos> <start_of_turn> <end_of_turn>
own.json <|u|> <|h|> <|e|>
END
done_testing
