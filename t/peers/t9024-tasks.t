#!/bin/sh
# gtrain eval --tasks computes what lm_eval (lm-evaluation-harness) computes of
# each choice of each question.  Part of `make check-peers`; skipped without it.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
python=${GT_PYTHON:-python3}
test -n "${GT_PEERS:-}" || skip_all "make check-peers asks the peers"
"$python" -c 'import lm_eval, torch, transformers' 2>/dev/null ||
    skip_all "no lm_eval, torch and transformers in $python; set GT_PYTHON"
export HF_HUB_OFFLINE=1 HF_HOME="$dir/hf-home"

sed 's/[^ -~]//g' "$top"/README.md "$top"/doc/*.md | head -c 200000 >text
gdata bpe -q --vocab 600 -o tok text && gdata encode -q -T tok -o data text
ok $? "a text is encoded"
small_ini data.tokenizer=tok data.train='data*.bin' model.width=64 \
    model.context=128 model.layers=2 model.heads=4 model.vocab=600 \
    model.vocab_multiple=1 train.batch=8 train.micro_batch=8 \
    schedule.steps=40 optim.lr=3e-3 eval.every=0 sample.every=0 >tiny.ini
gtrain -q -c tiny.ini >log 2>&1 && gtrain export -q -f hf run1 -o hf >>log 2>&1
ok $? "a model is trained and exported" "$(cat log)"
mkdir tasks
cat >tasks/hellaswag_val.jsonl <<'END'
{"ind": 1, "activity_label": "Feeding [a] hens", "ctx_a": " the quick fox [title] jumps [step] over", "ctx_b": "the LAZY É", "ctx": "not used", "endings": ["[header] The lazy  hen. ", "\u00a0\u001cüber\u2003", "a training run.", "runs of the   program"], "label": "0"}
{"ind": 2, "activity_label": "Training", "ctx_a": "A model is trained on tokens.", "ctx_b": "it", "ctx": "x", "endings": ["writes a checkpoint.", "is a rank.", "folder of files", "éa"], "label": "3"}
END
cat >tasks/ARC-Easy-Test.jsonl <<'END'
{"id": "a", "question": "Which of these is a file?", "choices": {"text": ["a run", "a checkpoint", "the weight of a model", "x"], "label": ["A", "B", "C", "D"]}, "answerKey": "B"}
{"id": "b", "question": "What does it do? ", "choices": {"text": ["It trains", "It plots"], "label": ["1", "2"]}, "answerKey": "2"}
{"id": "c", "question": "Ünïcode", "choices": {"text": ["é", "aaa bbb", "a", "the tokens of the text"], "label": ["A", "B", "C", "D"]}, "answerKey": "D"}
END
cat >tasks/piqa.jsonl <<'END'
{"goal": "To plot the loss", "sol1": "run gplot loss", "sol2": "throw the model away", "label": 1}
{"goal": "How to train?\n", "sol1": "Train.", "sol2": "With a long, long answer that names files", "label": 0}
END
cat >tasks/winogrande.jsonl <<'END'
{"sentence": "The run was longer than the step because the _ was short .", "option1": "run", "option2": "step", "answer": "2"}
{"sentence": "_ wrote the file.", "option1": "Ann", "option2": "The trained model", "answer": "1"}
END
cat >tasks/boolq.jsonl <<'END'
{"question": "is the loss a number", "passage": "Loss -- The loss is a number. It is written after each step of the training, to a file of the run. A file has a line for each point, and the line has the time, the value and the step. Some programs read the file, and some draw it as a figure. The rest of this text makes it longer than the context of the model, so that it loses its beginning.", "label": 1}
{"question": "does a hen run", "passage": "Short.", "label": 0}
END
cat >tasks/openbookqa.jsonl <<'END'
{"id": "1", "question_stem": "A model is", "choices": {"text": ["trained", "eaten", "a hen", "of files"], "label": ["A", "B", "C", "D"]}, "answerKey": "A"}
{"id": "2", "question_stem": "The tokens of", "choices": {"text": ["the text", "a", "fox"], "label": ["A", "B", "C"]}, "answerKey": "C"}
END
cat >tasks/copa.jsonl <<'END'
{"premise": "The model was trained. ", "choice1": "The loss fell.", "choice2": "It rained.", "question": "effect", "label": 0, "idx": 0}
{"premise": "The file was read.", "choice1": "It was open.", "choice2": "The RUN ended.", "question": "cause", "label": 1, "idx": 1}
END
cat >tasks/sciq.jsonl <<'END'
{"question": "What is a token?", "distractor3": "a file", "distractor1": "a run", "distractor2": "a step", "correct_answer": "a part of a text", "support": "  A text is divided into tokens. "}
{"question": "What ends?", "distractor3": "x", "distractor1": "the training", "distractor2": "a hen", "correct_answer": "the run", "support": ""}
END
cp tasks/ARC-Easy-Test.jsonl tasks/ARC-Challenge-Test.jsonl
cat >tasks/commonsenseqa.jsonl <<'END'
{"id": "a", "question": " Where is a token? ", "question_concept": "x", "choices": {"label": ["A", "B", "C", "D", "E"], "text": ["in a file", "a hen", "the run", "text", "a step"]}, "answerKey": "D"}
{"id": "b", "question": "What trains?", "question_concept": "x", "choices": {"label": ["A", "B", "C", "D", "E"], "text": ["a", "b", "the model", "it", "x"]}, "answerKey": "C"}
END
cat >tasks/mmlu.jsonl <<'END'
{"question": " What is a loss? ", "subject": "abstract_algebra", "choices": ["a number", "a hen", "x", "the text"], "answer": 0}
{"question": "Which file has it?", "subject": "abstract_algebra", "choices": ["the run", "a", "b c", "model"], "answer": 3}
END
cat >tasks/lambada_test.jsonl <<'END'
{"text": "The training of a model ends with the"}
{"text": "A test fails without the change. The file is not there,\nand \u201cthe other\u201d  files are not the same, but no other file is part of the"}
{"text": "What does a rank see?  Ranks have unfathomable."}
END
# examples: the questions of the test, and as many others
while read -r file shots; do
    sed 's/ the / one /g; s/"subject": "[^"]*"/"subject": "anatomy"/' \
        "tasks/$file.jsonl" | cat - "tasks/$file.jsonl" "tasks/$file.jsonl" \
        >"tasks/$shots.jsonl"
done <<'END'
hellaswag_val hellaswag_train
ARC-Easy-Test ARC-Easy-Train
ARC-Challenge-Test ARC-Challenge-Train
openbookqa openbookqa_train
piqa piqa_train
boolq boolq_train
winogrande winogrande_train
copa copa_train
sciq sciq_train
commonsenseqa commonsenseqa_train
mmlu mmlu_dev
END
agree() { # N
    sed -n "s/^$file //p" "all$1" >want
    gtrain eval run1 --tasks "$task" --data tasks --device cpu -v --tsv \
        --no-header --shots "$1" >out 2>log
    {
        sed -n 's/.*question .* choice .*: \(-[0-9.]*\)$/\1/p' log
        cut -f3,4,7,8 out | tr '\t' ' '
    } >got
    test -s want && paste -d ' ' want got | awk '
        { half = NF / 2
          for (i = 1; i <= half; i++) {
              d = $i - $(i + half)
              d /= $i > 10 ? $i : 1
              bad += d > 2e-3 || d < -2e-3 || NF % 2 } }
        END { exit bad > 0 || NR < 3 }'
    ok $? "$task has the log-likelihoods and scores of lm_eval, with $1 shots" \
        "$(paste want got; tail -n 3 err log)"
}
set -- hellaswag/hellaswag=hellaswag_val=hellaswag_train \
    arc/arc_easy=ARC-Easy-Test=ARC-Easy-Train \
    arc/arc_challenge=ARC-Challenge-Test=ARC-Challenge-Train \
    openbookqa/openbookqa=openbookqa=openbookqa_train \
    piqa/piqa=piqa=piqa_train super_glue/boolq/default=boolq=boolq_train \
    winogrande/default=winogrande=winogrande_train \
    super_glue/copa/default=copa=copa_train sciq/sciq=sciq=sciq_train \
    commonsense_qa/default=commonsenseqa=commonsenseqa_train \
    mmlu/default/mmlu_abstract_algebra=mmlu=mmlu_dev
"$python" "$top/t/peers/tasks.py" hf tasks 2 "$@" >all2 2>err
"$python" "$top/t/peers/tasks.py" hf tasks 0 "$@" \
    lambada/lambada_openai=lambada_test >all0 2>>err
while read -r task file; do
    agree 0
    test "$task" = lambada || agree 2
done <<'END'
hellaswag hellaswag_val
arc_easy ARC-Easy-Test
arc_challenge ARC-Challenge-Test
openbookqa openbookqa
piqa piqa
boolq boolq
winogrande winogrande
copa copa
sciq sciq
commonsenseqa commonsenseqa
mmlu mmlu
lambada lambada_test
END
done_testing
