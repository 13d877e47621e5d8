#!/bin/sh
# gtrain eval and sample: what they depend on, and what not.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
awk 'BEGIN { for (i = 0; i < 800; i++)
    printf "the %s %s over the %s %s.\n", (i % 3) ? "quick" : "brown",
        (i % 5) ? "fox jumps" : "dog runs", (i % 7) ? "lazy" : "old",
        (i % 2) ? "hen" : "cat" }' >text.txt
gdata bpe --vocab 300 -o tok text.txt >out 2>&1 &&
    gdata encode --tokenizer tok -o train text.txt >>out 2>&1
ok $? "a tokenizer and tokens are made"
small_ini model.layers=2 model.width=32 model.context=32 data.tokenizer=tok \
    "data.train=train_*.bin" "data.val=train_*.bin" train.micro_batch=4 \
    optim.name=muon optim.lr=1e-2 schedule.steps=40 eval.sequences=8 >c.ini
gtrain --config c.ini >out 2>&1
ok $? "a small model is trained"
score() { gtrain eval run1 --device cpu --tsv --no-header "$@" 2>err; }

a=$(score -b 4 | cut -f1,4)
for b in 1 3 7; do
    c=$(score -b $b | cut -f1,4)
    printf '%s %s\n' "$a" "$c" |
        awk '{ d = $1 - $3; exit !($1 > 0 && $2 == $4 && d * d < 1e-12) }'
    ok $? "the loss does not depend on the micro-batch: $b" "$a, $c"
done
mkdir run1
is "$(score -b 4 | cut -f1,4)" "$a" "the run is meant where a folder has its name"
like err "using the run run1; the folder of that name is ./run1" \
    "eval says that the run is not the folder"
gtrain eval ./run1 >out 2>&1
like out "./run1 holds no checkpoint" "with ./, the folder is meant"
rmdir run1
rev text.txt >other.txt
gdata bpe --vocab 300 -o other other.txt >out 2>&1
gtrain eval run1 --device cpu --set data.tokenizer=other >out 2>err
like err "data.tokenizer is not what the checkpoint was made with" \
    "eval warns of another tokenizer than that of the training"
gtrain --config c.ini --resume run1 --set optim.name=lion \
    --set train.stop_at=41 >out 2>err
like err "optim.name is lion, but the checkpoint was written with muon: the moments" \
    "a run that resumes with another optimizer warns of it"
d=$(score --stride 8 --sequences 0 | cut -f1,4)
e=$(score --sequences 0 | cut -f1,4)
printf '%s %s\n' "$d" "$e" | awk '{ exit !($1 < $3 && $2 >= $4) }'
ok $? "a smaller stride gives more context, and scores each token once" \
    "$d, $e"
# 309 tokens are 9 windows and 21 tokens, the first of which is scored
tail -c +2049 train_000000.bin | head -c 618 >some.bin
tail -c 42 some.bin >end.bin
part() { gtrain eval run1 --device cpu --tsv --no-header "$@" 2>err | cut -f1,4; }
whole=$(part -d some.bin)
like err "the last 20 tokens fill no window and are not scored" \
    "eval says how many tokens it leaves out without --stride"
end=$(part -d end.bin --set model.context=20 -b 1)
strided=$(part -d some.bin --stride 32)
echo "$whole $end $strided" | awk '{ d = $1 * $2 + $3 * $4 - $5 * $6
    exit !($2 == 288 && $4 == 20 && $6 == 308 && d * d < 1e-6) }'
ok $? "with a stride, a shorter window at the end is scored" \
    "$whole, $end, $strided"
is "$(part -d some.bin --stride 7 | cut -f2)" 308 \
    "with any stride, each token but the first is scored once"
head -c 22 some.bin >short.bin
part -d short.bin --stride 4 >out
like err "short.bin: there are only 11 tokens; a window needs 33, one more than model.context" \
    "a text that is shorter than the context is refused by its length"
is "$(part -d short.bin --set model.context=10 | cut -f2)" 10 \
    "a text that is shorter than the context is scored with less context"
rhythm 309 >rhythm.bin
gtrain import -q "$top/t/reference/biases/qwen2" -o qwen2 2>err
while read -r n context stride tokens loss; do
    head -c $((2 * n)) rhythm.bin >first.bin
    echo "$n $context $stride $tokens $loss" "$(gtrain eval qwen2 -d first.bin \
        --device cpu -b 3 --stride "$stride" --set model.context="$context" \
        --tsv --no-header 2>>err | cut -f1,4)"
done <"$top/t/reference/stride.txt" >both
awk '{ d = $6 / $5 - 1; bad += d * d > 1e-12 || $7 != $4 }
    END { exit bad || NR != 24 }' both
ok $? "with a stride, a text has the loss by the recipe of transformers" \
    "$(cat both err)"
score --stride 33 >out
is $? 2 "a stride above the context is refused"
like err "^gtrain: --stride: eval.stride: 33 is more than the 32 tokens" \
    "the message names --stride"
# with whole text behind the tokens: bits of all by bytes of all
# shellcheck disable=SC2046 # three words
set -- $(score --sequences 0 | cut -f1,3,4)
awk -v loss="$1" -v bpb="$2" -v tokens="$3" -v bytes="$(wc -c <text.txt)" \
    'BEGIN { x = loss * tokens / log(2) / bytes; r = x / bpb
        exit !(r > 0.99 && r < 1.01) }'
ok $? "bits per byte count the bytes of the text behind the tokens" "$*"

mkdir q
cat >q/questions.jsonl <<'END'
{"ctx": "the quick fox", "endings": ["jumps over the lazy hen.", "zq xv kk ww pp."], "label": 0}
{"ctx": "the brown", "endings": ["vvv qqq", "dog runs over"], "label": "1"}
END
gtrain eval run1 --device cpu --tasks questions --data q --json >q.json 2>err
grep -q '"questions": *2' q.json && grep -q '"acc": *1' q.json
ok $? "questions with an easy answer are answered right" "$(cat q.json err)"
for b in 1 8; do
    gtrain eval run1 --device cpu --tasks questions --data q --tsv --no-header -b $b |
        cut -f2-4
done | uniq | wc -l | grep -qx 1
ok $? "answers do not depend on the micro-batch"
mkdir raw
cat >raw/hellaswag_val.jsonl <<'END'
{"activity_label": "Feeding [a] hens", "ctx_a": " the quick fox [title] jumps [step] over", "ctx_b": "the LAZY É", "ctx": "not used", "endings": ["[header] The lazy  hen. ", "\u00a0\u001cüber\u2003"], "label": 0}
END
gtrain eval run1 -v --device cpu --data raw --tasks hellaswag >out 2>err
sed -n "s/^gtrain: debug: \('.*\)/\1/p" err >texts
is "$(cat texts)" "'Feeding hens: the quick fox. jumps over The lazy é' + '  The lazy hen.'
'Feeding hens: the quick fox. jumps over The lazy é' + ' über'" \
    "the texts of hellaswag are those of lm-evaluation-harness"
gtrain eval run1 -v --device cpu --data raw --tasks hellaswag_plain >out 2>err
like err "'not used' + ' \[header\] The lazy  hen. '" \
    "the texts of hellaswag_plain are as they are in the file"
printf '{"ctx": "the quick", "endings": ["%s", "zq"], "label": 0}\n' \
    "$(head -c 600 text.txt | tr '\n' ' ')" >q/questions.jsonl
check "an ending that is longer than the context is scored" \
    gtrain eval run1 --device cpu --tasks questions --data q
like err "1 texts have lost their beginning to the model's context of 32 tok" \
    "a text that is cut is warned of"
echo '{"ctx": "x", "endings": ["a"], "label": 0}' >q/questions.jsonl
gtrain eval run1 --tasks questions --data q >out 2>&1
test $? -eq 1 && grep -q 'q/questions.jsonl:1: ' out
ok $? "a line that is no question is named with file and number"

mkdir tasks
cat >tasks/ARC-Easy-Test.jsonl <<'END'
{"question": {"stem": "What is quick?", "choices": [{"label": "A", "text": "zq xv"}, {"label": "B", "text": "the fox"}]}, "answerKey": "B"}
{"question": "What runs?", "choices": {"label": ["1", "2"], "text": ["vvv qqq", "a dog"]}, "answerKey": "1"}
END
cp tasks/ARC-Easy-Test.jsonl tasks/openbookqa.jsonl
cat >tasks/piqa.jsonl <<'END'
{"goal": "The fox", "sol1": "jumps", "sol2": "qv zx", "label": 1}
END
cat >tasks/boolq.jsonl <<'END'
{"passage": "A fox.", "question": "is it quick", "answer": true}
END
cat >tasks/winogrande.jsonl <<'END'
{"sentence": "The fox saw the dog, and the _ ran .", "option1": "fox", "option2": "dog", "answer": "2"}
END
cat >tasks/copa.jsonl <<'END'
{"premise": "The fox ran. ", "question": "cause", "choice1": "The dog came.", "choice2": "It was quick.", "label": 0}
END
cat >tasks/sciq.jsonl <<'END'
{"support": " Foxes run. ", "question": "What runs?", "distractor1": "a", "distractor2": "b", "distractor3": "c", "correct_answer": "a fox"}
END
gtrain eval run1 -v --device cpu --data tasks --tsv --no-header \
    --tasks arc_easy,openbookqa,piqa,boolq,winogrande,copa,sciq >out 2>err
is "$(cut -f1,2 out | tr '\t\n' ' ,')" \
    "arc_easy 2,openbookqa 2,piqa 1,boolq 1,winogrande 1,copa 1,sciq 1," \
    "each task is a row, in the given order"
sed -n "/debug: [' ]/,/'\$/p" err | sed "s/^gtrain: debug: '/'/" >texts
cat >want <<'END'
'Question: What is quick?
Answer:' + ' zq xv'
'Question: What is quick?
Answer:' + ' the fox'
'Question: What runs?
Answer:' + ' vvv qqq'
'Question: What runs?
Answer:' + ' a dog'
'What is quick?' + ' zq xv'
'What is quick?' + ' the fox'
'What runs?' + ' vvv qqq'
'What runs?' + ' a dog'
'Question: The fox
Answer:' + ' jumps'
'Question: The fox
Answer:' + ' qv zx'
'A fox.
Question: is it quick?
Answer:' + ' no'
'A fox.
Question: is it quick?
Answer:' + ' yes'
'The fox saw the dog, and the fox' + ' ran .'
'The fox saw the dog, and the dog' + ' ran .'
'The fox ran because' + '  the dog came.'
'The fox ran because' + '  it was quick.'
'Foxes run. 
Question: What runs?
Answer:' + ' a'
'Foxes run. 
Question: What runs?
Answer:' + ' b'
'Foxes run. 
Question: What runs?
Answer:' + ' c'
'Foxes run. 
Question: What runs?
Answer:' + ' a fox'
END
cmp texts want >/dev/null
ok $? "the texts of a task are those of lm-evaluation-harness" \
    "$(diff want texts)"
for b in 1 64; do
    gtrain eval run1 --device cpu --data tasks --tsv --no-header -v -b $b \
        --tasks arc_easy,sciq 2>&1 | grep 'question .*choice'
done | sort -u | wc -l | grep -qx 8
ok $? "a loss does not depend on what is read at once"
# Questions of 12 to 27 tokens with 2 to 4 choices of 1 to 5 tokens: those that
# share 16 are read together.
awk 'BEGIN {
    split("the quick fox jumps over the lazy hen brown dog runs old cat", word)
    for (q = 0; q < 40; q++) {
        context = "fox"
        for (i = 0; i < 11 + q % 16; i++)
            context = context " " word[(q * 7 + i * i) % 13 + 1]
        choices = ""
        for (c = 0; c < 2 + q % 3; c++) {
            text = ""
            for (i = 0; i < 1 + (q + c) % 5; i++)
                text = text (i ? " " : "") word[(q + 3 * c + 5 * i) % 13 + 1]
            choices = choices (c ? ", " : "") "\"" text "\""
            printf "{\"q\": \"%s\", \"a\": \"%s\"}\n", context, text >"tasks/own.jsonl"
        }
        printf "{\"q\": \"%s\", \"a\": [%s], \"r\": 0}\n", context, choices
    }
}' >tasks/many.jsonl
printf '%s\n' '[many]' 'context = {q}' 'choices = {a}' 'label = {r}' >many.ini
printf '%s\n' '[own]' 'context = {q}' 'choices = {a}' >own.ini
losses() { # losses FILE: of each choice of each question, in order
    gtrain eval run1 --device cpu --data tasks --tasks "$1" -v 2>&1 |
        sed -n 's/.*question .* of [0-9]: //p'
}
losses many.ini >many
mv tasks/many.jsonl all.jsonl
while read -r line; do
    echo "$line" >tasks/many.jsonl
    losses many.ini
done <all.jsonl >single
test "$(wc -l <many)" -eq 119 && cmp many single
ok $? "a question has the same losses, to the last digit, read alone or with others" \
    "$(paste many single)"
losses own.ini >own
paste many own | awk '{ d = $1 - $2 } d * d > 1e-10 { bad++ } END { exit bad || NR != 119 }'
ok $? "a text that is read for itself has almost the same loss" "$(paste many own)"
while read -r task line why; do
    echo "$line" | tr '~' ' ' >"tasks/$task.jsonl"
    gtrain eval run1 --data tasks --tasks "$task" >out 2>&1
    is "$? $(cat out)" "1 gtrain: tasks/$task.jsonl:1: $why" \
        "a question is refused: $why"
done <<'END'
piqa {"sol1":"a","sol2":"b","label":0} there is no goal
boolq {"passage":"a","question":"b","answer":"no"} no choice has the label no
winogrande {"sentence":"a","option1":"a","option2":"b","answer":"1"} the text does not contain _
copa {"premise":"a.","question":"cause","choice1":"b","label":0} there is no choice2
sciq {"support":["a",{}]} there is no distractor1
END
gtrain eval run1 --tasks piqua >out 2>&1
like out "there is no task piqua; did you mean piqa" \
    "an unknown task is refused, with the nearest one"
cat >own.ini <<'END'
[rhyme]
file = words.jsonl
description = Rhymes.\n
context = {word:map cat=A other=The} {word:words}
context = , {pair.1|none:capitalize}
choices = {list} || {choiceless|word:uncapitalize}!
continuation = {choice} {list.0:before _}{list.0:after _}
label = {right}
labels = {list.0} || b || the_cat
[second]
file = words.jsonl
context = {word}
choices = a || b
label = 1
END
echo '{"word":"The_cat","pair":["no","YES"],"list":["a_x","b"],"right":"b"}' \
    >tasks/words.jsonl
gtrain eval run1 -v --data tasks --tsv --no-header --tasks own.ini,arc_easy \
    >out 2>err
sed -n "/debug: [' ]/,/'\$/p" err | sed "s/^gtrain: debug: '/'/" | head -n 8 >texts
printf '%s\n' "'Rhymes.
The The cat, Yes' + ' a_x ax'
'Rhymes.
The The cat, Yes' + ' b ax'
'Rhymes.
The The cat, Yes' + ' the_cat! ax'
'The_cat' + ' a'
'The_cat' + ' b'" >want
cmp -s texts want
ok $? "an INI file defines tasks" "$(cat texts err)"
is "$(cut -f1,2 out | tr '\t\n' ' ,')" "rhyme 1,second 1,arc_easy 2," \
    "tasks of a file are asked beside those that are known"
while read -r line; do
    why=${line#* -> }
    printf '[x]\nfile = words.jsonl\ncontext = a\nchoices = a || b\nlabel = 0\n%s\n' \
        "${line%% -> *}" >bad.ini
    gtrain eval run1 --data tasks --tasks bad.ini >out 2>&1
    like out "$why" "a task is refused: $why"
done <<'END'
lable = 1 -> ^gtrain: bad.ini:6: a task has no x.lable; did you mean label?$
label = {word:upper} -> ^gtrain: tasks/words.jsonl:1: there is no filter upper$
context = {nothing} -> ^gtrain: tasks/words.jsonl:1: there is no nothing$
choices = {list:after y} -> ^gtrain: tasks/words.jsonl:1: the text does not contain y$
label = 3 -> ^gtrain: tasks/words.jsonl:1: no choice has the label 03$
labels = b -> ^gtrain: tasks/words.jsonl:1: no choice has the label 0$
END
printf '[x]\ncontext = a\nlabel = 0\n' >bad.ini
gtrain eval run1 --data tasks --tasks bad.ini >out 2>&1
like out "the task x needs a context and choices" \
    "a task without choices is refused"
printf '[x]\nfile = words.jsonl\ncontext = a\nchoices = a || b\n' >bad.ini
gtrain eval run1 --data tasks --tasks bad.ini >out 2>&1
like out "words.jsonl:1: without a label, there must be one choice, not several" \
    "several choices need a label"
printf '{"text": "the %s"}\n' "quick fox jumps over" "brown fox jumps zq xv" \
    "quick fox" >tasks/lambada_test.jsonl
for b in 1 64; do
    gtrain eval run1 -v --device cpu --data tasks --tsv --no-header -b $b \
        --tasks lambada >out 2>err
    cut -f2,3,8 out
done | uniq >all
sed -n "s/^gtrain: debug: \('.*\)/\1/p" err >texts
is "$(cat texts)" "'the quick fox jumps' + ' over'
'the brown fox jumps zq' + ' xv'
'the quick' + ' fox'" "the last word of a text is what the model should write"
{ cat all; sed -n 's/.*choice 1 of 1: -//p' err; } | awk '
    NR == 1 { right = $1 == 3 && $2 > 0.66 && $2 < 0.67; perplexity = $NF }
    NR > 1 { sum += $1 }
    END { d = exp(sum / 3) / perplexity - 1
          exit !(right && NR == 4 && d * d < 1e-10) }'
ok $? "two of three last words are the likeliest ones" "$(cat all err)"
gtrain sample run1 --prompt 'the quick fox jumps' --temperature 0 -t 3 \
    --device cpu >out 2>&1
like out "the quick fox jumps over" "as a sample shows"
echo '{"ctx":"a","endings":["b","c"],"label":0}' >tasks/questions.jsonl
gtrain eval run1 -v --data tasks --tasks questions,hellaswag >out 2>&1
is "$? $(grep -c 'question 1:' out) $(tail -n 1 out)" \
    "3 0 gtrain: cannot open tasks/hellaswag_val.jsonl: No such file or directory" \
    "a task without its file is found before any question is asked"

# as in t/reference/parquet.py
cp "$top/t/fuzz/corpus/parquet/questions.parquet" tasks/quiz.parquet
printf '%s\n' '[quiz]' 'context = {question}' 'choices = {choices.text}' \
    'label = {answerKey}' 'labels = {choices.label}' >quiz.ini
gtrain eval run1 -v --device cpu --data tasks --tasks quiz.ini >out 2>want
printf '{"question":"%s","choices":{"text":%s,"label":%s},"answerKey":"%s"}\n' \
    'What is the sky?' '["red","blue","green"]' '["A","B","C"]' B \
    'How many?' '["one","two"]' '["A","B"]' A 'Which of these?' \
    '["a b","c","d","e"]' '["A","B","C","D"]' D >tasks/quiz.jsonl
gtrain eval run1 -v --device cpu --data tasks --tasks quiz.ini >out 2>err
test "$(grep -c choice err)" -eq 9 && cmp want err
ok $? "questions in Parquet are those of JSON Lines" "$(cat want err)"

# what is drawn is what Python's random.Random(1234).sample() draws
cat >shots.ini <<'END'
[s]
file = qs.jsonl
context = {q}:
choices = x || y
label = {l}
END
asked() { # asked N: which questions precede each
    gtrain eval run1 -v --device cpu --data tasks --tasks shots.ini \
        --shots "$1" >out 2>err || cat err
    tr '\n' ' ' <err | grep -o "'[^']*' + ' x'" | tr -d "'" |
        sed 's/: x */ /g; s/: y */! /g; s/: + .*/,/' | tr '\n' ' '
}
lines() { # lines NAME...: questions, of which those with an odd number are "y"
    for name; do
        echo "{\"q\": \"$name\", \"l\": $((${name#?} % 2)), \"of\": \"${name%?}\"}"
    done
}
lines e0 e1 e2 e3 >tasks/qs.jsonl
is "$(asked 0)" "e0, e1, e2, e3, " "without shots, a question stands alone"
is "$(asked 2)" "e3! e2 e0, e0 e2 e1, e0 e3! e2, e1! e0 e3, " \
    "other questions of the file precede each, with their answers"
gtrain eval run1 --data tasks --tasks shots.ini --shots 4 >out 2>&1
is "$? $(cat out)" \
    "1 gtrain: tasks/qs.jsonl:1: there are too few questions for 4 shots" \
    "more shots than other questions are an error"
echo 'shots_file = more.jsonl' >>shots.ini
gtrain eval run1 --data tasks --tasks shots.ini --shots 1 >out 2>&1
is "$? $(cat out)" \
    "3 gtrain: cannot open tasks/more.jsonl: No such file or directory" \
    "a missing file of shots is found before any question is asked"
# shellcheck disable=SC2046 # many words
lines $(seq -f e%g 0 24) >tasks/more.jsonl
lines q0 q1 q2 >tasks/qs.jsonl
is "$(asked 2)" "e24 e14 q0, e3! e0 q1, e2 e18 q2, " \
    "two shots are drawn from a file of 25"
head -n 10 tasks/more.jsonl >ten && mv ten tasks/more.jsonl
is "$(asked 6 | cut -d, -f1,2)" \
    "e7! e1! e0 e9! e4 e6 q0, e1! e9! e5! e8 e0 e7! q1" \
    "six shots are drawn from a file of ten"
gtrain eval run1 --device cpu --data tasks --tasks shots.ini --shots 6 -b 1 \
    --tsv --no-header | cut -f1-4 >a
gtrain eval run1 --device cpu --data tasks --tasks shots.ini --shots 6 -b 64 \
    --tsv --no-header | cut -f1-4 >b
test -s a && cmp -s a b
ok $? "answers after shots do not depend on the micro-batch" "$(cat a b)"
echo 'shots_others = yes' >>shots.ini
lines e0 e0 e0 e0 e1 e2 >tasks/more.jsonl
lines e0 e0 >tasks/qs.jsonl
is "$(asked 2)" "e1! e2 e0, e2 e1! e0, " \
    "a question that the file has many times does not precede itself"
printf 'shots_same = {of}\nshots = 2\n' >>shots.ini
lines f5 e7 f2 e1 e4 f8 >tasks/more.jsonl
lines e6 f3 >tasks/qs.jsonl
is "$(asked 2)" "e7! e1! e6, f5! f2 f3, " \
    "with shots_same, the first ones with the same text precede a question"
gtrain eval run1 -v --device cpu --data tasks --tasks shots.ini >out 2>err
like err "^gtrain: debug: 'e7: y" "a task has a number of shots of its own"
sed 's/shots = 2/shots = two/' shots.ini >bad.ini
gtrain eval run1 --data tasks --tasks bad.ini >out 2>&1
like out "s.shots expects 0 to 1000, not 'two'" "shots are a number"
gtrain eval run1 --data tasks --tasks shots.ini --shots 1001 >out 2>&1
like out "shots expects .* not" "more than a thousand shots are refused"
gtrain eval run1 --shots 2 >out 2>&1
is "$? $(cat out)" "2 gtrain: --shots needs --tasks" \
    "shots without questions are refused"

write() { gtrain sample run1 --device cpu --prompt 'the ' --tokens 24 "$@" 2>err; }
write --seed 3 >a && write --seed 3 >b && cmp -s a b
ok $? "one seed gives one text" "$(cat a b err)"
write --seed 4 >b
! cmp -s a b
ok $? "another seed gives another text"
write --temperature 0 >a && write --top-k 1 --seed 9 >b && cmp -s a b
ok $? "the likeliest tokens need no seed" "$(cat a b)"
write --seed 3 >a
write --seed 3 --count 3 | sed -n '/^---- 1$/,/^---- 2$/p' | sed '1d;$d' >b
cmp -s a b
ok $? "a sampled text does not depend on how many are sampled" "$(cat a b)"
grep -q '^the ' a
ok $? "a sampled text begins with the prompt"
likeliest_of() { gtrain sample run1 --device cpu --temperature 0 -t 12 "$@" 2>err; }
printf 'the quick\n\nthe\na lazy dog and a\n' >prompts
for p in 'the quick' the 'a lazy dog and a'; do
    likeliest_of -p "$p"
done >a
likeliest_of --prompts prompts | grep -v '^---- ' >b
cmp -s a b
ok $? "prompts of several lengths are continued as each of them alone" \
    "$(cat a b err)"
is "$(likeliest_of --prompts prompts --count 2 | grep -c '^---- ')" 6 \
    "each prompt of a file gets as many samples as --count says"
gtrain sample run1 --device cpu -v -t 2 -p 'the quick brown fox' >out 2>err
like err 'prompt: .* tokens/s' "the speed of processing the prompt is logged"
: >empty
gtrain sample run1 --device cpu --prompts empty >out 2>err
test $? = 1 && grep -q 'empty contains no prompts' err
ok $? "a file without prompts is an error"
seq 20 >many
gtrain sample run1 --device cpu --prompts many --count 4096 >out 2>err
test $? = 2 && grep -q '20 prompts with 4096 samples each' err
ok $? "more samples at a time than 65536 are refused"
write --temperature 0 | head -c 12 >start
for bits in 8 4; do
    write --temperature 0 --weights int$bits --count 2 >b
    grep -qF "$(cat start)" b
    ok $? "$bits-bit weights begin as the others do" "$(cat start b err)"
    write --seed 3 --weights int$bits >a &&
        GTRAIN_ISA=c write --seed 3 --weights int$bits >b && cmp -s a b
    ok $? "$bits-bit weights give one text with every instruction set" \
        "$(cat a b err)"
    GTRAIN_ISA=c write --weights int$bits --set train.precision=bf16 >a
    ok $? "$bits-bit weights work with 16-bit activations" "$(cat err)"
    printf '%s %s %s\n' "$(score | cut -f1)" \
        "$(score --weights int$bits | cut -f1)" $bits |
        awk '{ d = $2 - $1; exit !(d && d * d < ($3 == 8 ? 1e-4 : 0.01)) }'
    ok $? "the loss with $bits-bit weights is near that with full ones" \
        "$(score) and $(score --weights int$bits), $(cat err)"
done
for option in '--temperature -1' '--top-p 7' '--top-k -5' '--tokens 0'; do
    # shellcheck disable=SC2086
    gtrain sample run1 $option >out 2>err
    test $? = 2 && grep -q "^gtrain: ${option% *}: sample\." err
    ok $? "gtrain sample $option is refused, as its setting would be"
done
gtrain sample nosuchrun >out 2>&1
test $? -eq 3
ok $? "sampling from a missing run ends with status 3"

# ---- beyond the context ------------------------------------------------
gdata bpe -q --chars -o chars text.txt && small_ini model.layers= \
    model.context=8 model.init_std=0.5 data.tokenizer=chars \
    "data.train=chars_*.bin" optim.lr=1e-2 schedule.steps=60 >chars.ini
gdata encode -q --tokenizer chars --eot none -o chars text.txt >out
likeliest() { gtrain sample "$@" --device cpu --temperature 0; }

# slides NAME [OPTION]...: each token is drawn from the eight before it
slides() {
    name=$1
    shift
    gtrain -q --config chars.ini --root "$name" "$@" >out 2>&1
    ck=$(ls -d "$name"/*/*/artifacts/checkpoints/step-00000060)
    likeliest "$ck" -p 'the old ' -t 30 >long 2>err
    ok $? "a model with $name positions is sampled beyond its context"
    is "$(wc -c <long)" 39 "$name positions: all tokens asked for are drawn"
    test ! -s err
    ok $? "$name positions: sampling beyond the context causes no warning"
    wrong=
    for i in 1 5 9 14 22 29; do
        tail -c +$((i + 1)) long | head -c 9 >want
        p=$(head -c 8 want && echo .)
        likeliest "$ck" -p "${p%.}" -t 1 2>err | head -c 9 | cmp -s - want ||
            wrong="$wrong $i"
    done
    is "$wrong" "" "$name positions: a token follows from the context before it"
}
slides learned --set model.layers=2
likeliest "$ck" -p 'the old ' -t 30 --count 2 2>err | sed -n '/^---- 2$/,$p' |
    sed 1d | cmp -s - long
ok $? "several samples at a time continue beyond the context"
likeliest "$ck" -p 'the old ' -t 30 --weights int8 >out 2>err
is "$(wc -c <out)" 39 "8-bit weights are sampled beyond the context"
likeliest "$ck" -p 'what the old ' -t 30 2>err | tail -c +6 | cmp -s - long
ok $? "a prompt longer than the context is cut on the left"
like err 'the prompt has 13 tokens; the model reads the last 8 of them' \
    "a prompt that is cut causes a warning"
slides rope --set model.layers=1 --set model.position=rope

# a file for llama.cpp, tokenizer and all
python=${GT_PYTHON:-}
test -n "$python" && "$python" -c 'import gguf, safetensors' 2>/dev/null ||
    python=
gguf() {        # gguf NAME [OPTION]...
    name=$1
    shift
    gtrain --config c.ini --root "$name" --set schedule.steps=2 "$@" \
        --set optim.name=adamw >out 2>&1
    gtrain export --root "$name" -f gguf -o "$name.gguf" >>out 2>&1 &&
        gtrain export --root "$name" -o "$name.hf" >>out 2>&1
    test "$(head -c 4 "$name.gguf")" = GGUF
    ok $? "$name is exported as GGUF"
    if test -z "$python"; then
        skip \
            "the GGUF file of $name has the weights that llama.cpp expects" \
            "GT_PYTHON has no gguf"
        return
    fi
    "$python" "$top/t/reference/gguf_check.py" "$name.gguf" "$name.hf" \
        >out 2>&1
    ok $? "the GGUF file of $name has the weights that llama.cpp expects"
}
gguf gpt2
# how many times a difference is contained in the largest number
for type in f16:1000 q8_0:200 q4_0:7; do
    name=gguf-${type%:*}
    gtrain export --root gpt2 -f "$name" -o "$name" >out 2>&1
    ok $? "a model is exported as $name"
    if test -z "$python"; then
        skip "the file of $name has numbers near the model's" \
            "GT_PYTHON has no gguf"
        continue
    fi
    "$python" "$top/t/reference/gguf_check.py" "$name" gpt2.hf "${type#*:}" \
        >out 2>&1 && grep -qiw "${name#gguf-}" out
    ok $? "the file of $name has numbers near the model's" "$(tail -1 out)"
done
gguf llama --set model.norm=rmsnorm --set model.mlp=swiglu \
    --set model.position=rope --set model.linear_bias=no --set model.tied=no \
    --set model.heads=4 --set model.kv_heads=2
gguf qwen3 --set model.norm=rmsnorm --set model.mlp=swiglu \
    --set model.position=rope --set model.linear_bias=no --set model.qk_norm=yes
gguf qwen2 --set model.norm=rmsnorm --set model.mlp=swiglu \
    --set model.position=rope --set model.linear_bias=no --set model.qkv_bias=yes
gguf biased-llama --set model.norm=rmsnorm --set model.mlp=swiglu \
    --set model.position=rope --set model.kv_heads=1
gtrain import gpt2.gguf -f gguf -o back >out 2>&1
test $? -eq 2
ok $? "importing GGUF is refused"
done_testing
