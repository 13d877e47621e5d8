#!/bin/sh
# Every command of doc/report.md runs, and prints or writes something.
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

sed -n 's/^| \(.*\) | `\(.*\)` |$/\1\t\2/p' "$top/doc/report.md" >items
test "$(wc -l <items)" -ge 60
ok $? "the document has its items"
while IFS=$tab read -r item command; do
    sh -c "$command" >out 2>err </dev/null
    status=$?
    file=$(echo "$command" | sed -n 's/.* -o \([^ ]*\.[a-z]*\).*/\1/p')
    cat out err >printed
    test "$status" -eq 0 && test -s "${file:-printed}"
    ok $? "the command prints or draws: $item" "$status: $command
$(head -n 5 err)"
done <items
done_testing
