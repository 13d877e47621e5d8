#!/bin/sh
# CORE: the tasks of DCLM, asked and scored as nanochat does.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands
unset GTRAIN_ISA
data=eval_bundle/eval_data
knowledge=$data/world_knowledge symbols=$data/symbolic_problem_solving
sense=$data/commonsense_reasoning language=$data/language_understanding
reading=$data/reading_comprehension
mkdir -p $knowledge $symbols $sense $language $reading

# Sentences to learn by heart, and questions about them.  Choices begin alike,
# or are the beginning of another; items are more or fewer than a sample of
# Python draws in its two ways; texts are longer than the context of 48.
awk -v sense=$sense -v symbols=$symbols -v language=$language \
    -v knowledge=$knowledge -v reading=$reading '
    function pick(list,   n, word) {
        n = split(list, word, " ")
        return word[(seed = (seed * 1103 + 12345) % 65521) % n + 1]
    }
    function name() { return pick("fox hen dog cat cow pig owl rat") }
    function act(of) {
        return of ~ /[aeo][xwg]$/ ? "jumps over" : of ~ /n$/ ? "walks to" : "sees"
    }
    BEGIN {
        for (i = 0; i < 800; i++) {
            who = name()
            print "the quick " who " " act(who) " the " name() ".\n"
        }
        for (i = 0; i < 14; i++) {
            who = name()
            printf "{\"query\": \"the quick %s \", \"choices\": [\"%s\", \"%s the\", \"s\"], \"gold\": %d}\n", \
                who, act(name()), act(who), i % 3 >(sense "/copa.jsonl")
            printf "{\"query\": \"Who %s?\\t\", \"choices\": [\"the %s\", \"the %s dog\"], \"gold\": %d}\n", \
                act(name()), name(), name(), i % 2 >(sense "/piqa.jsonl")
            printf "{\"context_options\": [\"the quick %s\", \"%s quick quick %s \"], \"continuation\": \"%s the %s.\", \"gold\": %d}\n", \
                who, name(), name(), act(who), name(), i % 2 >(language "/winograd_wsc.jsonl")
            printf "{\"context\": \" the quick %s\\n\", \"continuation\": \"%s\"}\n", \
                who, act(name()) >(knowledge "/jeopardy_all.jsonl")
            printf "{\"context\": \"%sthe quick %s \", \"continuation\": \"%s\"}\n", \
                i < 11 ? "" : "the quick hen walks to the fox and sees the dog and the cow and the pig, and again and again and then ", \
                who, act(i % 3 ? who : name()) >(reading "/coqa.jsonl")
        }
        for (i = 0; i < 30; i++)
            printf "{\"query\": \"the %s\", \"choices\": [\"%s\", \"%s\", \"%s\", \"\u00e9\"], \"gold\": %d}\n", \
                name(), act(name()), name(), act(name()), i % 3 >(symbols "/agi_eval_lsat_ar.jsonl")
    }' >text.txt
gdata bpe -q --vocab 300 -o tok text.txt && gdata encode -q -T tok -o d text.txt
small_ini data.tokenizer=tok data.train='d*.bin' model.context=48 \
    train.batch=16 train.micro_batch=16 schedule.steps=400 optim.lr=1e-2 \
    eval.every=0 sample.every=0 >c.ini
check "a model is trained" gtrain -q -c c.ini --name run
check "the model is exported" gtrain export -q -f hf run -o hf
list=core/copa,core/piqa,core/agi_eval_lsat_ar,core/winograd,core/jeopardy,core/coqa
ask() {         # ask OPTION...: the answers in out, the losses in got
    gtrain eval run --device cpu -v --tsv --no-header --data . "$@" >out 2>log
    sed -n 's/.*question .* choice .*: -\([0-9.]*\)$/\1/p' log >got
}
for limit in '' 12; do
    name="CORE is that of a program in Python${limit:+, with a limit}"
    if ! command -v python3 >/dev/null; then
        skip "$name" "no python3"
        continue
    fi
    python3 "$top/t/reference/core.py" hf $data $limit >want 2>err
    ask --tasks $list ${limit:+--limit $limit}
    awk 'NF == 2 { print $2 }' want | paste - got | awk '
        { d = $1 - $2; bad += NF != 2 || d * d > 1e-8 }
        END { exit bad || NR < 150 }' &&
        test "$(awk 'NF == 3 && !/core/ { print "core/" $0 }' want)" = \
            "$(awk -F '\t' '{ printf "%s %.6f %.6f\n", $1, $3, $10 }' out)"
    ok $? "$name, to each choice" "$(awk 'NF == 3' want; cat out err; tail -n 3 log)"
done
like log "texts have lost their beginning" "texts longer than the context are cut"

# All 22 tasks, of which the others have the same questions.
gtrain eval run --tasks core --data . >out 2>&1
is "$? $(cat out)" "3 gtrain: cannot open ./$language/hellaswag.jsonl: \
No such file or directory" "a file that is not there is refused"
for file in $language/hellaswag $knowledge/arc_easy $knowledge/arc_challenge \
    $sense/commonsense_qa $sense/openbook_qa $reading/boolq \
    $language/bigbench_language_identification; do
    cp $sense/piqa.jsonl $file.jsonl
done
for file in $knowledge/bigbench_qa_wikidata $language/lambada_openai \
    $symbols/bigbench_dyck_languages $symbols/bigbench_cs_algorithms \
    $symbols/bigbench_operators $symbols/bigbench_repeat_copy_logic \
    $reading/squad; do
    cp $reading/coqa.jsonl $file.jsonl
done
cp $language/winograd_wsc.jsonl $language/winogrande.jsonl
ask --tasks core --limit 11
awk -F '\t' '$1 != "core" { n++; acc += $3; centred += $10; square += $6 ^ 2 }
    $1 == "core" { a = acc / n - $3; c = centred / n - $10
        e = sqrt(square) / n - $6
        good = n == 22 && $2 == 242 && a * a + c * c + e * e < 1e-20 }
    END { exit !good }' out
ok $? "CORE is the mean of 22 tasks, and the last row" "$(tail -n 1 out log)"
awk -F '\t' '$1 == "core/boolq" { d = ($3 - 0.62) / 0.38 - $10
    good = d * d < 1e-20 }
    END { exit !good }' out
ok $? "the baseline of a task is that of nanochat"

# While training, on ranks, and computed again.
small_ini data.tokenizer=tok data.train='d*.bin' model.context=48 \
    train.batch=8 train.micro_batch=1 schedule.steps=4 optim.lr=1e-2 \
    train.deterministic=yes eval.tasks=core eval.tasks_every=2 \
    eval.tasks_data=. eval.tasks_limit=11 >c.ini
check "a training asks CORE" gtrain -q -c c.ini --name one
check "a training on two ranks asks CORE" \
    gtrain -q -c c.ini --name two --ranks 2
for run in one two; do
    gtrack metrics $run task/core/centred --tsv --no-header | cut -f1,2 >$run
done
is "$(wc -l <one) $(cat one)" "2 $(cat two)" "two ranks find the same CORE"
is "$(gtrack ls one -c task/core/acc,task/core/coqa/centred --tsv --no-header)" \
    "$(gtrain eval one --device cpu --tasks core --data . --limit 11 --tsv \
        --no-header 2>log | awk -F '\t' '$1 == "core/coqa" { of = $10 }
        $1 == "core" { print $3 "\t" of }')" \
    "training records what gtrain eval prints"
gtrain replay one --steps 1:4 >out 2>err
is "$? $(grep -c 'not computed again' err)" "0 0" "CORE is computed again" \
    "$(cat out err)"
metric=$(gtrack where one)/metrics/task/core/centred
sed 's/ [-0-9.e]* 4$/ 0.5 4/' "$metric" >forged && cp forged "$metric"
gtrain replay one --steps 1:4 >out 2>&1
test $? -eq 1 && grep -q 'task/core/centred is .* recorded 0.5' out
ok $? "a forged CORE is found" "$(cat out)"

# Choices that share a long beginning, which is read once, and each of them as a
# continuation without others.
asked() {       # asked CHOICES [LINE]: print the loss of each choice
    printf '%s\n' '[asked]' "file = $symbols/agi_eval_lsat_ar.jsonl" \
        'context = the quick fox sees the dog and the quick hen walks to the' \
        'context = \s{query} and the cow jumps over' "choices = $1" "$2" >asked.ini
    gtrain eval run --device cpu -v --tsv --no-header --data . --limit 4 \
        --tasks asked.ini >out 2>log
    sed -n 's/.*question .* choice .*: -\([0-9.]*\)$/\1/p' log
}
asked '{choices}' 'label = {gold}' >shared
for i in 0 1 2 3; do
    asked "{choices.$i}" | awk -v i=$i '{ print NR, i, $1 }'
done | sort -k1,1n -k2,2n | cut -d ' ' -f3 >apart
paste shared apart | awk 'NF == 2 { n++; d = $1 - $2; bad += d * d > 1e-8 }
    END { exit bad || n != 16 }'
ok $? "choices that share a beginning have the losses that they have alone" \
    "$(paste shared apart; tail -n 3 log)"

# Damaged questions, and tasks of one's own.
cp $sense/copa.jsonl whole
while read -r from to why; do
    sed "3s/$from/$to/" whole >$sense/copa.jsonl
    gtrain eval run --tasks core/copa --data . >out 2>&1
    is "$? $(cat out)" "1 gtrain: ./$sense/copa.jsonl:3: $why" \
        "a damaged question is refused: $why"
done <<'END_OF_CASES'
gold label there is no gold
query question there is no query
"gold":.* "gold":7} no choice has the label 7
^{ [ ']' expected near ':'
END_OF_CASES
cp whole $sense/copa.jsonl
gtrain eval run --tasks core/copa --shots 14 --data . >out 2>&1
like out "copa.jsonl:[0-9]*: there are too few questions for 14 shots" \
    "more shots than other questions are refused"
gtrain -q -c c.ini --name few --set eval.tasks=core/piqa \
    --set eval.tasks_limit=10 >out 2>&1
is "$? $(sed 's/.*core/core/' out)" "2 core/piqa draws 10 shots from the \
questions that are asked; a limit of 10 is too low" \
    "a limit below the shots of a task is refused before training"
mine() {        # mine LINE...: a file of tasks with these lines in [mine/one]
    printf '%s\n' '[mine/one]' "file = $sense/copa.jsonl" 'context = {query}' \
        'choices = {choices}' 'label = {gold}' "$@" >mine.ini
}
mine 'baseline = 40%' '[mine]' 'mean = yes'
ask --tasks mine.ini,core/copa
is "$(cut -f1,2 out | tr '\t\n' ' ;') $(awk -F '\t' '$1 == "core/copa" {
    printf "%.9f", ($3 - 0.4) / 0.6 }' out)" \
    "mine/one 14;mine 14;core/copa 14; $(awk -F '\t' '$1 == "mine" {
    printf "%.9f", $10 }' out)" "a file may have a mean of its own tasks"
while read -r line why; do
    mine "$(echo "$line" | tr '~' ' ')" '[mine]' 'mean = yes'
    gtrain eval run --tasks mine.ini --data . >out 2>&1
    is "$? $(cat out)" "2 gtrain: $why" "a task is refused: $why"
done <<'END_OF_CASES'
baseline~=~100% mine/one.baseline expects 0% or more, and less than 100%, not '100%'
baseline~=~25 mine/one.baseline expects 0% or more, and less than 100%, not '25'
shots~=~1 the task mine is a mean, but no task mine/NAME with a baseline precedes it
END_OF_CASES
mine 'baseline = 0%' 'shots_file = x.jsonl'
gtrain eval run --tasks mine.ini --data . >out 2>&1
is "$? $(cat out)" \
    "2 gtrain: mine/one.shots_file is not for a task with a baseline" \
    "a task with a baseline draws from its own questions"
done_testing
