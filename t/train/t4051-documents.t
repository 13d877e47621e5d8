#!/bin/sh
# gtrain eval --documents and gtrack compare --documents: losses of documents.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
awk 'BEGIN { for (i = 0; i < 600; i++)
    printf "{\"text\": \"the %s %s over the %s %s number %d of all days\"}\n",
        (i % 3) ? "quick" : "brown", (i % 5) ? "fox jumps" : "dog runs",
        (i % 7) ? "lazy" : "old", (i % 2) ? "hen" : "cat", i }' >text.jsonl
gdata bpe --vocab 300 -o tok text.jsonl >out 2>&1 &&
    gdata encode --tokenizer tok -o train text.jsonl >>out 2>&1
ok $? "a tokenizer and tokens are made"
small_ini model.width=32 data.tokenizer=tok "data.train=train_*.bin" \
    train.micro_batch=4 optim.lr=1e-2 >c.ini
gtrain --config c.ini --set schedule.steps=5 --set run.name=early -q >out 2>&1 &&
    gtrain --config c.ini --set schedule.steps=120 --set run.name=late -q >>out 2>&1
ok $? "two models are trained"

# Twelve new documents of several lengths, three of the training text, and one
# of other letters.
awk 'BEGIN { for (i = 0; i < 12; i++) {
    text = ""
    for (k = 0; k <= i; k++)
        text = text "a brown hen jumps over " k " old dogs of the lazy days "
    printf "{\"text\": \"%s\"}\n", text } }' >test.jsonl
sed -n '10p; 20p; 30p' text.jsonl >>test.jsonl
echo '{"text": "zzzz qqqq xxxx vvvv kkkk jjjj wwww"}' >>test.jsonl
for run in early late; do
    gtrain eval $run --documents test.jsonl --train-text text.jsonl --device cpu \
        --tsv --no-header >$run.out 2>err
    is $? 0 "the documents are evaluated by $run"
done
like err "kept in documents/test.jsonl.tsv of late" "the losses are kept in the run"
gtrack artifacts late --cat documents/test.jsonl.tsv >kept 2>err
is "$(wc -l <kept | tr -d ' ')" 16 "each document has a line"
is "$(cut -f 1,4 kept | sed -n '13,16p' | tr '\t' ' ')" "test.jsonl:13 whole
test.jsonl:14 whole
test.jsonl:15 whole
test.jsonl:16 " "documents of the training text are marked"
{ cat test.jsonl
  sed -n 40p text.jsonl | sed 's/"text": *"/&here come /;
    s/here come \([^ ]* \)\{9\}/&and words that are in no other document /;
    s/\(other document \).*"/\1at all"/'
} >part.jsonl
gtrain eval late --documents part.jsonl --train-text text.jsonl --device cpu \
    >out 2>err
gtrack artifacts late --cat documents/part.jsonl.tsv 2>err |
    awk -F '\t' '$4 { print $1 }' | sort >got
gdata leak --train text.jsonl --eval part.jsonl -n 99 --tsv --no-header 2>err |
    awk -F '\t' '{ print $1 ":" $2 }' | sort >want
cmp want got && test "$(wc -l <want)" -gt 3
ok $? "eval marks the documents that gdata leak finds"
awk -F '\t' '{ n = split($5, x, " "); sum = 0
    for (i = 1; i <= n; i++)
        sum += x[i]
    d = sum / n - $3
    bad += n != $2 || d * d > 1e-6 }
    END { exit bad }' kept
ok $? "the losses of its tokens give that of the document"
awk -F '\t' 'NR == FNR { sum += $2 * $3; n += $2; next }
    $1 == "all" { d = sum / n - $3; exit !($2 == n && d * d < 1e-8) }' kept late.out
ok $? "the means by position add up to all documents" "$(cat late.out)"
gtrain eval late --documents test.jsonl --device cpu -b 1 --tsv --no-header \
    >one.out 2>err
is "$(awk -F '\t' '{ printf "%s %s %.4f\n", $1, $2, $3 }' one.out)" \
    "$(awk -F '\t' '{ printf "%s %s %.4f\n", $1, $2, $3 }' late.out)" \
    "the losses do not depend on the micro-batch"

check "the tokens of documents are written to a file" \
    gtrain eval late --documents test.jsonl --device cpu --per-token tokens.tsv
is "$(head -n 1 tokens.tsv | tr '\t' ' ')" "document token id logprob" \
    "the first line of the file names the columns"
awk -F '\t' 'NR == FNR { n = split($5, x, " ")
        for (i = 1; i <= n; i++)
            loss[$1, i] = x[i]
        left += n; next }
    FNR > 1 { d = loss[$1, $2] + $4; left--
        bad += !(($1, $2) in loss) || d * d > 1e-6 }
    END { exit bad || left || NR < 100 }' kept tokens.tsv
ok $? "each token of each document has its log-probability" "$(head tokens.tsv)"
sed -n 16p test.jsonl >last.jsonl
gdata encode -q -T tok -o last last.jsonl >out 2>&1
is "$(awk -F '\t' '$1 == "test.jsonl:16" { print $3 }' tokens.tsv)" \
    "$(od -An -v -tu2 -j1024 last_000000.bin | xargs -n 1 | sed 1d)" \
    "the ids are those of the tokens" "$(cat out)"
check "the logits of documents are written to a file" \
    gtrain eval late --documents test.jsonl --device cpu --logits logits.npy
if command -v python3 >/dev/null; then
    python3 - >out 2>&1 <<'END'
import ast, math, struct
data = open("logits.npy", "rb").read()
head = ast.literal_eval(data[10:128].decode())
lines = [l.split("\t") for l in open("tokens.tsv").read().splitlines()[1:]]
rows, cols = head["shape"]
assert head["descr"] == "<f4" and not head["fortran_order"], head
assert rows == len(lines) and len(data) == 128 + 4 * rows * cols, head
for i, line in enumerate(lines):
    row = struct.unpack_from("<%df" % cols, data, 128 + 4 * cols * i)
    total = math.log(sum(map(math.exp, row)))
    assert abs(row[int(line[2])] - total - float(line[3])) < 1e-4, line
END
    ok $? "the logits give the log-probability of each token" "$(tail -n 1 out)"
else
    skip "the logits give the log-probability of each token" "no python3"
fi
gtrain eval late --documents test.jsonl --logits x.npy --per-token x.tsv \
    >out 2>&1
is "$? $(cat out)" \
    "2 gtrain: --train-text, --per-token and --logits exclude each other" \
    "an evaluation writes one file"
gtrain eval late --logits x.npy >out 2>&1
is "$? $(cat out)" "2 gtrain: --logits needs --documents" \
    "--logits without documents is refused"
gtrain eval late --per-token x.tsv >out 2>&1
is "$? $(cat out)" "2 gtrain: --per-token needs --documents" \
    "--per-token without documents is refused"
gtrain eval late --documents test.jsonl --device cpu --per-token no/x.tsv \
    >out 2>&1
test $? -ne 0 && grep -q "no/x.tsv" out && test ! -e no
ok $? "a folder that does not exist is refused" "$(cat out)"

gtrain eval late --documents test.jsonl --train-text text.jsonl --device cpu \
    >out 2>&1
gtrack compare early late --documents test.jsonl --tsv --no-header >out 2>err
is $? 0 "two runs are compared by documents"
is "$(wc -l <out | tr -d ' ')" 16 "the comparison has a row for each document"
like err "13 documents: late is better on [0-9]* and worse on [0-9]*; the mean" \
    "new documents are counted"
like err "3 documents of the training text: late is better on 3 and worse on 0" \
    "documents of the training text are counted apart"
cut -f 5 out | sort -g -c 2>log
ok $? "the documents are sorted by their differences"
is "$(awk -F '\t' '$8 == "better" && !($7 < 0)' out)" "" \
    "a document is better if the interval says so"
gtrack compare late early --documents test.jsonl --tsv --no-header >swapped 2>err
is "$(awk -F '\t' '{ printf "%s %.6g\n", $1, -$5 }' swapped | sort)" \
    "$(awk -F '\t' '{ printf "%s %.6g\n", $1, $5 }' out | sort)" \
    "the order of the arguments decides which model is the first"
echo '<!-- gtrack: table: compare early late --documents test.jsonl -->
<!-- /gtrack -->' >report.md
check "a report may show the losses of documents" gtrack claims --fill report.md
like report.md '^| ' "the table of documents is in the report"
gtrack compare early late --documents ../secret >out 2>err
is $? 2 "documents are not looked for in another folder"
gtrack compare early late --documents other.txt >out 2>err
is $? 3 "losses that were not kept are not found"
like err "early has no documents/other.txt.tsv; 'gtrain eval --documents'" \
    "the message says how to make them"
gtrack compare early --documents test.jsonl >out 2>err
is $? 2 "one run cannot be compared by documents"
file=$(find mlruns -name test.jsonl.tsv | head -n 1)
sed 2d "$file" >changed && cat changed >"$file"
gtrack compare early late --documents test.jsonl >out 2>err
is $? 1 "runs with other documents cannot be compared"

# NaN in the last tensor of the file
gtrain export late -o nan.hf >out 2>&1 && f=nan.hf/model.safetensors &&
    printf '\377\377\377\377' | dd of=$f bs=1 conv=notrunc \
        seek=$(($(wc -c <$f) - 4)) 2>out &&
    gtrain import nan.hf -t tok -o nan.ck >out 2>&1
ok $? "a model with a weight that is NaN is made" "$(cat out)"
gtrain eval nan.ck --documents test.jsonl --device cpu >out 2>err
is $? 5 "documents whose loss is NaN end with the status of that"
like err 'the loss is not finite: has nan.ck/*.* weights' \
    "the message says that the loss of the documents is not finite"
is "$(cat out)" "" "no loss that is not finite is printed"
echo '{"ctx": "the old", "endings": ["hen", "zq"], "label": 0}' >questions.jsonl
gtrain eval nan.ck --tasks questions --data . --device cpu >out 2>err
is $? 5 "questions whose losses are NaN end with the status of that"

gtrain eval late --documents nowhere.txt --device cpu >out 2>err
is $? 3 "a file that does not exist is not found"
gtrain eval late --train-text text.jsonl >out 2>err
is $? 2 "a training text without documents is refused"
done_testing
