#!/bin/sh
# Every command of doc/report.md runs, and what it prints is right.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
command -v gnuplot >/dev/null || skip_all "gnuplot is not installed"
export OMP_NUM_THREADS=1

awk 'BEGIN { for (i = 0; i < 9000; i++) {
    printf "%c", 97 + (i * i + i / 7) % 26
    if (i % 30 == 29) printf "\n\n" } }' >text.txt
head -c 300 text.txt >val.txt
ln -s "$top/conf" conf
small_ini data.tokenizer=tok "data.train=data/c4_train_*.bin" \
    "data.val=data/part_val_*.bin" train.micro_batch=2 train.batch=4 \
    run.system_every=10ms schedule.steps=20 eval.every=5 eval.sequences=2 \
    checkpoint.every=10 >c.ini
printf '[sweep]\nbase = c.ini\n[grid]\noptim.lr = 1e-2, 1e-3\nmodel.width = 16, 32\n' \
    >grid.ini
printf '%s\n' '0 val 10.9511' '0 hella 0.2463' '0 train 10.955029' \
    '250 val 5.9211' '250 hella 0.2512' '250 train 5.8' >gpt2.log
printf '%s\n' '\gtrack{lr-1e-2 | min(val/loss) | .3f}{}' >report.tex

printf '{"ctx": "%s", "endings": ["%s", "zq zq zq"], "label": 0}\n' \
    "$(head -n 1 text.txt)" "$(sed -n 3p text.txt)" >questions.jsonl

sed -n 's/^| \(.*\) | `\(.*\)` |$/\1\t\2/p' "$top/doc/report.md" >items
test "$(wc -l <items)" -ge 75
ok $? "the document has its items"
mkdir printed
memory=0 # a rehearsal finds that checkpoints here would be lost
case $(stat -f -c %T .) in tmpfs | ramfs) memory=1 ;; esac
while IFS=$tab read -r item command; do
    sh -c "$command" >out 2>err </dev/null
    status=$?
    case $command in 'gtrain rehearse'*) status=$((status - memory)) ;; esac
    file=$(echo "$command" | sed -n 's/.* -o \([^ ]*\.[a-z]*\).*/\1/p')
    cat out err >"printed/$item"
    test "$status" -eq 0 && test -s "${file:-printed/$item}"
    ok $? "the command prints or draws: $item" "$status: $command
$(head -n 5 err)"
done <items

# has ITEM PATTERN...: what the command printed has lines that match
has() {
    item=$1
    shift
    wrong=
    for pattern; do
        grep -Eq -- "$pattern" "printed/$item" || wrong="$wrong no '$pattern';"
    done
    is "$wrong" "" "the numbers are right: $item" "$(cat "printed/$item")"
}
t=$tab
has "a tokenizer of the text" "tok: 300 ids"
has "the tokens, 1% of the documents held out" "c4_val_000000.bin${t}54$" \
    "c4_train_000000.bin${t}5444$"
has "a hold-out of 5%" "part_val_000000.bin${t}273$" \
    "part_train_000000.bin${t}5225$"
has "shards in NumPy's format, the first for validation" \
    "npy_val_000000.npy${t}2000$" "npy_train_000002.npy${t}1498$"
has "another tokenizer, for a comparison" "tok2: 280 ids"
has "the version of the data" "lists 7 files"
has "whether evaluation text leaks into training" "0 of 1 evaluation documents"
has "parameters, by part of the model" "^all${t}292${t}305563648" \
    "^attention${t}96${t}100761600" "^MLP${t}96${t}151093248"
has "2.89e7 parameters" "^all${t}35${t}28946944"
has "steps for 20 tokens a parameter" "^steps${t}8833$" \
    "^tokens for 20 a parameter${t}578938880$"
has "the same on two GPUs" "^ranks${t}2$" \
    "^steps, each rank with this batch${t}4416$"
has "parameters, tokens and steps of a 30M model" "^steps${t}4576$" \
    "^tokens for 20 a parameter${t}599910400$"
has "warm-up, tensors with decay, hours at a step time" \
    "^warm-up steps${t}715$" "^steps${t}19073$" "^tensors with decay${t}50$" \
    "^tensors without${t}98$" "^hours at this step time${t}1\.74835"
has "a table of sizes, rates and batches" \
    "^gpt3-1.3B${t}24${t}16${t}2048${t}2048${t}1315819520${t}1048576${t}0.0002" \
    "^gpt3-175B${t}96${t}96${t}12288${t}2048${t}174604836864${t}3276800${t}6e-05"
# 854,654,976 FLOP a token on 9.3 TFLOP/s in fp32, of
# which 40% are used; twice as fast, half as long
awk -F "$tab" '$1 == "gpt2" && $3 == 0.4 { low = $5; two = $7; one = $6 }
    $1 == "gpt2" && $3 == 0.6 { high = $5 }
    END { want = 854654976 * 1.6e9 / 9.3e12 / 3600
        exit !(low * 0.4 / want > 0.99 && low * 0.4 / want < 1.01 &&
            low / high > 1.4999 && low / high < 1.5001 && one == 2 * two) }' \
    "printed/the hours of several models by hardware and MFU"
ok $? "the hours of a model are its FLOPs divided by the hardware's rate"
has "the hours on four A100" "^A100 40GB${t}4${t}1248.0${t}0.4${t}141\.376"
has "the steps, hours and cost of each cell of a grid" \
    "^grid-lr=1e-3-width=32${t}25568${t}20${t}1280" "^all${t}${t}80${t}5120"
has "the rates of a grid" "^grid-lr=1e-2-width=32 +0\.0100 +0 +6\.156e-5 +19"
has "the learning rate before training" "^wsd.tsv +6e-4 +0 +1\.5e-4 +19"
has "whether a job of this kind survives its accidents" "^kill${t}passed" \
    "^full-disk${t}passed" "^nan${t}passed"

# value RUN METRIC: the last value in its file
value() {
    tail -n 1 "$(gtrack where "$1")/metrics/$2" | cut -d ' ' -f 2
}
one=$(value lr-1e-2 val/loss)
four=$(printf '%.4f' "$one")
for run in half samples; do
    is "$(value $run val/loss)" "$(value board val/loss)" \
        "a run that was continued, and others with its settings, are equal: $run"
done
cut -d ' ' -f 2 "$(gtrack where board)/metrics/val/loss" >want
has "early stopping" "^gtrain: early: 15 steps in " \
    "best validation loss is still $(printf '%.4f' "$(sed -n 2p want)"), of step 10"
is "$(value early val/loss)" "$(sed -n 3p want)" \
    "a run that stops early ends with the loss of that step"
gtrain sample samples --tokens 8 >got 2>err
sed 1d "$(gtrack where samples)/artifacts/samples/step-00000020.txt" >want
test -s got && cmp -s got want
ok $? "the last sample of the training is that of the model"
echo "$(value two val/loss) $(value fsdp val/loss) $(value half val/loss)" |
    awk '{ d = $1 - $2; f = $1 - $3; exit !($1 > 5 && d * d < 1e-12 && f * f < 1e-8) }'
ok $? "two processes and FSDP have the loss of one process"
is "$(value grid-lr=1e-2-width=16 val/loss)" "$one" \
    "a cell of the grid is the run with its settings"
is "$(gtrack metrics later train/loss -n 1 --tsv --no-header | cut -f 1)" 30 \
    "the run in the other store ends where its schedule does"
is "$(gtrack show later --json | grep -c '"resumed.step": *"20"')" 1 \
    "a run that was imported says from which step it continues"
has "a grid search" "grid-lr=1e-2-width=16${t}FINISHED${t}1e-2${t}16${t}20${t}$one"
has "the log of another program" "1 run with 6 points"
has "the learning rate and the loss" "^lr-1e-2 +val/loss +4 +$four +20 .* $four +20" \
    "^lr-1e-2 +train/lr +20 +6\.156e-5 +20 +0\.0100 +1 "
for item in "the validation loss of three rates" "the same without the first steps"; do
    has "$item" "^lr-1e-2 +val/loss +4 +$four +20 " \
        "^lr-1e-4 .* $(value lr-1e-4 val/loss | cut -c 1-4)"
done
has "the loss of a run that was continued" "^half +train/loss +20 "
has "one figure of the runs in both stores" "^half +train/loss +30 "
has "memory, by rank" "system/1/mem_allocated_bytes"
has "a table of the grid" "grid-lr=1e-2-width=16 & 0\.01 & 16 & .*$four"
has "the grid" "^0\.01 +16 +$four"
has "the loss by learning rate" "^0\.01 +16 +$four"
has "the loss with that of GPT-2" "^gpt2 +val/loss +2 +5\.9211 +250 +10\.9511 +0 "
has "HellaSwag with two lines" "hellaswag/acc_norm +2 +24\.6% +0 +25\.1% +250"
has "loss and HellaSwag side by side" "val/loss +2 +5\.9211" "acc_norm +2 +24\.6%"
has "the final losses" "^val/loss & .*\{$four\}" "^optim.lr & 0\.01 & 0\.001 & 0\.0001 "
awk -F "$tab" -v loss="$one" '$1 == "val/loss" { good = $2 == loss + 0 "" || $2 == loss }
    $1 == "val/perplexity" { good += $2 / exp(loss) > 0.999999 &&
        $2 / exp(loss) < 1.000001 }
    $1 == "time" { time = $2 } $1 == "perf/tokens_per_s" { speed = $2 }
    END { r = speed * time / 1280; exit !(good == 2 && r > 0.99 && r < 1.01) }' \
    "printed/loss, perplexity, speed and time of a run"
ok $? "the perplexity and the speed follow from the loss, tokens and time"
has "the best rate for each size" "^16 & .*9712.*\{$four\}.* 1e-2 &"
has "the best run" "^lr-1e-2$t.*$t$one${t}20${t}0\.01"
tail -n +2 "printed/losses, norms, rates and speeds, step by step" | cut -f 2 >got
cut -d ' ' -f 2 "$(gtrack where lr-1e-2)/metrics/train/loss" >want
cmp -s got want
ok $? "the losses step by step are those of the run's file"
awk -F "$tab" 'NR > 1 { late += $4 > last; last = $4; ppl += $3 / exp($2) }
    END { exit !(NR == 4 && late == 3 && ppl > 2.9999 && ppl < 3.0001) }' \
    "printed/step, loss, perplexity and elapsed time"
ok $? "the elapsed time grows from step to step"
awk -F "$tab" 'NR > 1 { sum += $3 } END { printf "%.3f", sum }' \
    "printed/phases with their durations" >took
is "$(cat took)" "$(tail -n 1 "printed/step, loss, perplexity and elapsed time" |
    awk '{ printf "%.3f", $4 }')" \
    "the durations of the phases add up to the elapsed time"
awk -F "$tab" '{ sum += $4 } END { exit !(sum > 96 && sum < 104) }' \
    "printed/where the time went"
ok $? "what the time was spent on adds up to all of it"
awk '{ sum += $2 } END { printf "%.6f", sum / NR }' \
    "$(gtrack where two)/metrics/system/cpu_util" >mean
is "$(tail -n 1 "printed/the mean utilisation" | awk '{ printf "%.6f", $1 }')" \
    "$(cat mean)" "the mean utilisation is that of its points"
has "checkpoints, their sizes, the best" "checkpoints/best -> step-00000020" \
    "step-00000020/model.safetensors${t}40120"
has "the lowest loss and the highest accuracy" "^5\.9211${t}0\.2512"
has "models of different tokenizers" "^val/bpb$t$(value lr-1e-2 val/bpb)$t"
has "loss and perplexity with overlapping windows" "${t}272$t"
has "answers to questions" "^questions${t}1$t[01]\.0$t[01]\.0"
has "what would be pushed to W&B" "20 lines of history"
has "the folder that MLflow's UI opens" "^mlruns/0/[0-9a-f]{32}$"
like lr.md "$four" "the report by itself has the loss of the run"
has "a report with numbers from the runs" "wrote 1 value"
like report.tex "{$(printf '%.3f' "$one")}" \
    "the number in the report is that of the run"
is "$("$build/gtrack" claims report.tex --tsv --no-header | cut -f 6)" equal \
    "the report that was filled in is found equal to the runs"
done_testing
