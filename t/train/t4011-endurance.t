#!/bin/sh
# A training of many steps needs no more memory and no more files at its end
# than near its beginning: two million steps of a tiny model, or with GT_LONG
# unset, twenty thousand.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
steps=20000
test -z "${GT_LONG:-}" || steps=${GT_STEPS:-2000000}
rhythm 6000 >train.bin
small_ini model.heads=1 model.width=8 model.context=8 model.vocab=32 \
    model.vocab_multiple=1 data.train=train.bin train.micro_batch=1 \
    train.batch=1 "schedule.steps=$steps" "checkpoint.every=$((steps / 20))" \
    run.system_every=50ms "run.log_every=$((steps / 200))" >tiny.ini
gtrain -q --config tiny.ini >log 2>&1
ok $? "a training of very many steps ends" "$(cat log)"
echo "# $steps steps"

run=$(dirname "$(gtrack where run1)/x")
points() {      # points KEY: step and value
    awk '{ print $3, $2 }' "$run/metrics/$1" | sort -n
}
points system/rss_bytes | awk -v steps="$steps" '
    $1 <= steps / 4 && $2 > early { early = $2 }
    $1 > steps / 4 && $2 > late { late = $2 }
    END { print early, late; exit !(early && late <= early + 1048576) }' >memory
ok $? "the process grows by less than 1 MiB after a quarter of the steps" \
    "bytes before and after: $(cat memory)"
echo "# bytes before and after a quarter: $(cat memory)"
is "$(points train/loss | wc -l | tr -d ' ')" 200 \
    "every 200th of the steps is recorded once"
bytes=$(find "$run" -type f ! -path '*/system/*' -exec cat {} + | wc -c)
test "$bytes" -lt 312000
ok $? "the files of a run do not grow with steps that are not recorded" \
    "$bytes bytes"
echo "# $bytes bytes"
find "$run/artifacts/checkpoints" -name 'step-*' >checkpoints
test "$(wc -l <checkpoints)" -le 3
ok $? "old checkpoints are removed" "$(cat checkpoints)"
done_testing
