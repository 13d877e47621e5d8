#!/bin/sh
# gtrack forecast: the end of a loss curve, and how often the interval has it.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands

# curve NAME NUMBER LAST: a run of 1000 steps with a cosine schedule, up to step
# LAST, whose law is known; prints its loss at the end
curve() {
    awk -v name="$1" -v number="$2" -v last="$3" 'BEGIN {
        noise = number * 7919 + 1
        l0 = 2 + number % 5 / 10
        a = 3 + number % 3
        b = 0.4 + number % 4 / 20
        pi = atan2(0, -1)
        for (step = 1; step <= 1000; step++) {
            lr = step < 50 ? step / 50 : (1 + cos(pi * (step - 50) / 950)) / 2
            drop = 0.99 * drop + (step > 50 ? before - lr : 0)
            drops += drop
            before = lr
            sum += lr
            loss = l0 + a * sum ^ -b - 0.002 * drops
            noise = noise * 16807 % 2147483647
            if (step <= last)
                printf "{\"step\": %d, \"train/lr\": %.9g, \"train/loss\": %.9g}\n",
                    step, lr * 1e-3, loss + 0.05 * (noise / 2147483647 - 0.5)
            if (step <= last && step % 25 == 0)
                printf "{\"step\": %d, \"val/loss\": %.9g, \"val/count\": %d}\n",
                    step, loss + 0.1, step
            if (step > 980)
                end += loss / 20
        }
        print end >(name ".end")
    }' | gtrack log -p derived.steps=1000 "$1" >out 2>&1
}
curve alone 1 1000
gtrack forecast alone --at 400 --tsv --no-header >out 2>err
is $? 0 "a run is forecast from its beginning"
is "$(cut -f 1-3,8-9 out | tr '\t' ' ')" "alone 400 1000  0" \
    "without other runs there is no interval"
like err "fewer than three other finished runs" "the message says why"

i=2
while test $i -le 25; do
    curve run$i $i 1000
    i=$((i + 1))
done
hits=0 close=0 above=0
for i in $(seq 25); do
    name=run$i
    test $i -gt 1 || name=alone
    gtrack forecast $name --at 400 --tsv --no-header >out 2>err
    hits=$((hits + $(awk -F '\t' 'NR == FNR { end = $1; next }
        { print (end > $6 && end < $7) }' $name.end out)))
    above=$((above + $(awk -F '\t' '{ print ($5 > $4 || $7 > $4) }' out)))
    close=$((close + $(awk -F '\t' 'NR == FNR { end = $1; next }
        { d = $5 - end; print (d < 0.1 && d > -0.1) }' $name.end out)))
done
is "$(cut -f 8,9 out)" "92${tab}24" "the interval has the stated probability"
test $hits -ge 21
ok $? "intervals of 92% contain the end of at least 21 of 25 curves" "$hits"
is $above 0 "no forecast and no interval is above the present value"
test $close -ge 22
ok $? "the forecasts are close to the end" "$close"
gtrack forecast run5 --at 400 --points 3 --tsv --no-header >out 2>err
is "$(cut -f 2,3,8-10 out | tr '\t' ' ')" "400 1000 92 24 600
400 1000 92 24 800
400 1000 92 24 1000" "the rest of a curve is forecast at several steps"
tail -n 1 out >last
gtrack forecast run5 --at 400 --tsv --no-header >end 2>err
cmp -s end last
ok $? "the last of them is the forecast of the end"
gtrack metrics run5 train/loss --long --from 589 --to 600 --tsv --no-header >true 2>err
test "$(awk -F '\t' 'NR == FNR { sum += $4; n++; next } FNR == 1 {
    print (sum / n > $6 && sum / n < $7) }' true out)" = 1
ok $? "the interval of a step in between contains its loss" "$(cat true out)"

# A run in the middle, as gplot draws it.
small_ini train.threads= run.system_every= model.heads=1 model.vocab=64 \
    train.micro_batch=1 schedule.steps=1000 schedule.warmup=50 >config.ini
curve middle 3 500
gtrack forecast middle >out 2>err
is $? 1 "a run that has finished before its planned end is not forecast"
like err "middle has made all its steps; --at" "the message says that it is over"
gtrack run end --status killed middle >out 2>&1
gtrack artifacts middle --add config.ini >out 2>&1
gtrack forecast middle >out 2>err
is $? 3 "a run without the learning rates of its next steps is not forecast"
sed -n "s/.* with '\(.*\)'/\1/p" err >commands
sh ./commands 2>>err
is "$(cat mlruns/0/*/artifacts/schedule.tsv | wc -l)" 1001 \
    "the message has the command that stores them" "$(cat err)"
gtrack forecast middle -m val/loss --tsv --no-header >want 2>err
gplot loss middle --forecast --data >out 2>err
awk -F '\t' '$3 ~ /forecast/ && $4 > 500 && $6 != "" { n++; line = $5 "\t" $6 "\t" $7 }
    END { print n; print line }' out >drawn
is "$(head -n 1 drawn)" 100 \
    "gplot draws 50 points of both curves after the last, with their intervals" \
    "$(cat err)"
is "$(tail -n 1 drawn | awk '{ printf "%.6g %.6g %.6g", $1, $2, $3 }')" \
    "$(awk -F '\t' '{ printf "%.6g %.6g %.6g", $5, $6, $7 }' want)" \
    "the curve ends with the numbers of gtrack forecast"
gplot loss run5 --forecast >out 2>err
like err "run5 has made all its steps" "a run that has ended is not forecast"
gplot loss middle --forecast --x time >out 2>err
is $? 2 "a forecast over time is refused"
gtrack forecast run5 --points 0 >out 2>err
is $? 2 "no points are refused"
gtrack forecast run5 --at 50 >out 2>err
is $? 1 "fifty steps are too few"
like err "no law fits train/loss of run5 up to step 50; a forecast takes 100" \
    "the message says how many steps a forecast takes"

# Another metric: 13 values of the validation loss, which has no noise.
gtrack forecast run5 --metric val/loss --at 400 --tsv --no-header >out 2>err
is "$(cut -f 2,3,8-10 out | tr '\t' ' ')" "400 1000 92 24 1000" \
    "the validation loss is forecast from a few values"
end=$(gtrack metrics run5 val/loss --from 1000 --tsv --no-header | cut -f 2)
test "$(awk -F '\t' -v end="$end" '{ d = $5 - end
    print (end > $6 && end < $7 && d < 0.05 && d > -0.05) }' out)" = 1
ok $? "the forecast of the validation loss is close to its end" "$end: $(cat out)"
awk 'BEGIN { for (step = 1; step <= 200; step++)
    printf "{\"step\": %d, \"train/lr\": 0.001, \"train/loss\": %g}\n", step,
        6 - step / 50 }' | gtrack log -p derived.steps=200 -p model.vocab=3 straight >out 2>&1
gtrack forecast straight --at 150 --tsv --no-header >out 2>err
is "$? $(awk -F '\t' '{ print ($5 <= log(3) && $7 <= log(3)) }' out)" "0 1" \
    "a straight curve is forecast, and no worse than guessing" "$(cat out err)"
gtrack forecast run5 --metric val/count --at 400 >out 2>err
is $? 1 "a metric that rises is not forecast"
gtrack forecast run5 --metric val/none >out 2>err
is $? 3 "a metric that the run lacks is not found"
printf 'step=1 loss=1\n' | gtrack log other >out 2>&1
gtrack forecast other >out 2>err
is $? 3 "a run without a number of steps has no forecast"
gtrack forecast >out 2>err
is $? 2 "a run is expected"

encode_letters data
small_ini data.tokenizer=tok "data.train=data_*.bin" train.micro_batch=2 \
    train.stop_at=150 schedule.steps=300 run.name=half >c.ini
gtrain --config c.ini -q >out 2>&1 &&
    gtrack run end --status killed half >>out 2>&1
ok $? "half of a training is done" "$(cat out)"
rates=$(grep -l "^name = half" mlruns/0/*/artifacts/config.ini)
rates=${rates%config.ini}schedule.tsv
gtrain plan --only schedule --points 0 --tsv c.ini >plan
awk -F '\t' 'FNR == 1 { next }
    NR == FNR { rate[$1] = $2; last = $1; top = $2 > top ? $2 : top; next }
    { for (i = from + 1; n && i <= $1; i++) {
          d = before + ($2 - before) * (i - from) / ($1 - from) - rate[i]
          off = d > off ? d : -d > off ? -d : off
      }
      from = $1; before = $2; n++ }
    END { print (off < 2e-6 * top), (n > 10 && n < 299), from - last }' \
    plan "$rates" >out
is "$(cat out)" "1 1 0" \
    "fewer points than steps give the learning rates within two millionths"
mkdir bin
cp "$build/gtrack" bin
PATH=/usr/bin:/bin bin/gtrack forecast half --tsv --no-header >out 2>err
is "$(cut -f 1-3 out | tr '\t' ' ')" "half 150 300" \
    "a forecast needs the learning rates that gtrain stored, but not gtrain" \
    "$(cat err)"
gtrain --config c.ini --resume half --set schedule.steps=400 \
    --set train.stop_at=200 -q >out 2>&1
gtrack run end --status killed half >out 2>&1
gtrack forecast half --tsv --no-header >out 2>err
is "$(cut -f 1-3 out | tr '\t' ' ')" "half 200 400" \
    "a run that was resumed with another schedule is forecast with that one" \
    "$(cat err)"
gtrain --config c.ini --set run.name=timed --set schedule.steps=100000000 \
    --set train.stop_at=0 --set train.max_time=500ms -q >out 2>&1
run=$(grep -l "^name = timed" mlruns/0/*/artifacts/config.ini)
run=${run%/artifacts/config.ini}
is "$(cat "$run/params/derived.steps")" "$(tail -n 1 "$run/metrics/train/lr" | cut -d ' ' -f 3)" \
    "a run that a time limit ends records the steps that it made"
gtrack run end --status killed timed >out 2>&1
gtrack forecast timed >out 2>err
is $? 1 "a run whose end depends on the clock is not forecast"
like err "timed has train.max_time" "the message names the time limit"
done_testing
