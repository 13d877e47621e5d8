#!/bin/sh
# gtrack hours --why and gplot hours: where the time and the energy went.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands

# 20 steps of 3 s, of which every second is recorded, and an energy counter that
# a second attempt begins again.
awk 'BEGIN {
    for (step = 2; step <= 20; step += 2)
        printf "{\"step\": %d, \"perf/step_ms\": 3000, " \
               "\"perf/data_wait_ms\": 600, \"perf/comm_wait_ms\": 300}\n", step
    for (step = 10; step <= 20; step += 10)
        printf "{\"step\": %d, \"perf/val_ms\": 4000, " \
               "\"perf/sample_ms\": 500, \"perf/checkpoint_ms\": 1500}\n", step
}' | gtrack log known >out 2>&1
ok $? "a run with known times is logged"
gtrack hours --why known --tsv --no-header >out 2>err
is "$(awk -F '\t' '{ printf "%s %g %s\n", $2, $3 * 3600, $4 }' out)" \
    "compute 42 58
waiting for data 12 17
waiting for ranks 6 8
evaluation 9 13
checkpoints 3 4" "each part has its seconds and its percentage"
printf '{"step": %d, "system/gpu_energy_j": %d, "system/1/gpu_energy_j": %d}\n' \
    1 0 0 2 100000 200000 3 250000 300000 4 20000 0 |
    gtrack log counted >out 2>&1
is "$(gtrack hours counted --energy --tsv --no-header | awk '{ printf "%g", $NF * 3.6e6 }')" \
    570000 "the energy is the sum over ranks and attempts"
printf '{"step": %d, "system/gpu_energy_j": %d, "system/min/gpu_energy_j": %d, "system/mean/gpu_energy_j": %d, "system/max/gpu_energy_j": %d}\n' \
    1 0 0 0 0 2 100000 90000 110000 140000 |
    gtrack log many --param derived.ranks=21 >out 2>&1
is "$(gtrack hours many --energy --tsv --no-header | awk '{ printf "%g", $NF * 3.6e6 }')" \
    2.3e+06 "of many ranks, the energy is the mean times their number"
is "$(gtrack hours counted --co2 400 --json | sed -n 's/.*"co2_kg": *\([0-9.]*\).*/\1/p' |
    cut -c 1-7)" 0.06333 "the CO2 is the energy times the intensity"
gtrack hours known --co2 400 --tsv --no-header >out 2>err
is "$(awk -F '\t' '{ print "(" $(NF - 1) $NF ")" }' out)" "()" \
    "a run without a power metric has no energy"
gtrack hours --why --price 2 >out 2>err
is $? 2 "--why does not take --price"
gtrack exec --name broken -- sh -c 'exit 1' >out 2>&1
gtrack hours broken --why --tsv --no-header >out 2>err
is "$(cut -f 2,4 out)" "failed runs${tab}100" \
    "the time of a run that failed is one part"

encode_letters data
ok $? "a text is encoded"
small_ini data.tokenizer=tok "data.train=data_*.bin" "data.val=data_*.bin" \
    train.micro_batch=2 train.batch=4 schedule.steps=40 eval.every=20 \
    eval.sequences=2 checkpoint.every=10 checkpoint.keep_last=9 run.name=small \
    >c.ini
gtrain --config c.ini -q >out 2>&1 &&
    step=$(find mlruns -name step-00000020) &&
    gtrain --config c.ini -q --resume "$step" >>out 2>&1
ok $? "a model is trained, and trained again from step 20"
gtrack hours small --why --tsv --no-header >out 2>err
for part in compute evaluation checkpoints "repeated steps" "between attempts"; do
    awk -F '\t' -v part="$part" '$2 == part && $3 > 0 { found = 1 }
        END { exit !found }' out
    ok $? "training takes time for: $part"
done
awk -F '\t' '$2 != "between attempts" { sum += $3 } END { print sum }' out >parts
gtrack hours small --tsv --no-header | cut -f 4 >whole
awk 'NR == 1 { parts = $1 } NR == 2 { exit !(parts / $1 > 0.97 && parts / $1 < 1.03) }' \
    parts whole
ok $? "the parts add up to the wall-clock time"
# A process that is killed leaves no end: its points tell how long it worked.
mkdir runs
perl -e 'open my $log, "|-", "gtrack log --root runs killed --param a=1" or die;
    print $log "{\"step\": 1, \"loss\": 1}\n"; close $log' >out 2>&1
killed=$(gtrack --root runs where killed)
start=$(sed -n 's/^start_time: //p' "$killed/.gtrack/attempt.1.yaml")
sed -i -e '/^end_time/d' -e 's/^state: .*/state: RUNNING/' \
    -e "s/^heartbeat: .*/heartbeat: $start/" -e 's/^pid: .*/pid: 4194305/' \
    "$killed/.gtrack/attempt.1.yaml"
echo "$((start + 7200000)) 1 2" >>"$killed/metrics/loss"
is "$(gtrack --root runs hours killed --tsv --no-header | cut -f 4)" 2.0 \
    "an attempt that was killed lasted until its last point"
sed "s/$start/$((start + 10800000))/; s/^attempt: 1/attempt: 2/; s/^state: .*/state: FINISHED/" \
    "$killed/.gtrack/attempt.1.yaml" >"$killed/.gtrack/attempt.2.yaml"
echo "end_time: $((start + 14400000))" >>"$killed/.gtrack/attempt.2.yaml"
is "$(gtrack --root runs hours killed --tsv --no-header | cut -f 3,4)" "2${tab}3.0" \
    "a killed attempt and the next one add up"
gtrack --root runs hours --why killed --tsv --no-header >out
is "$(awk -F '\t' '$2 == "between attempts" { print $3 }' out)" 1.0 \
    "the time between two attempts begins with the last point"
gplot hours small known -o hours.txt >out 2>err
is $? 0 "gplot hours draws bars"
like out "small.*" "a table follows the figure"
like hours.txt "bbbbbbbb" \
    "a text has bars that are filled with the letters of their parts"
gplot hours known --script hours.gp --mono >out 2>err
like hours.gp "fillstyle transparent solid 1.00" "the bars of a file are opaque"
gplot hours known --data | awk -F '\t' '$3 == "compute" && $5 == 42 { n++ }
    $3 == "checkpoints" && $6 == 69 && $7 == 72 { m++ }
    END { exit !(n == 2 && m == 2) }'
ok $? "the bars are stacked in the order of the parts"
for i in 1 2 3 4 5 6 7 8 9; do
    echo 'step=1 loss=1' | gtrack --root names log "a-name-that-is-long-$i"
done >out 2>&1
gplot hours --root names --size 3.3inx2.2in --script names.gp -o names.svg \
    'a-name-*' >out 2>&1
like names.gp "^set xtics .*(.*\.\.\..*long-3' 2 0, .*\.\.\..*long-8' 7 0)" \
    "at least two names have room, and show the ends that differ"
done_testing
