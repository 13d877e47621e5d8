#!/bin/sh
# Trainings and sweeps that are killed at any system call, and started again,
# end with the bits of those that were not.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
"$build/t/lib/kill-at" 1 true
test $? = 137 || skip_all "no right to trace a process"
make_ranks_case
count=${GT_LONG:+200}
here=$PWD

prepare() { cp "$here/train_0.bin" "$here/c.ini" .; }
history() {     # the losses of the steps, the newest of each
    cat mlruns/*/*/metrics/train/loss |
        awk '{ v[$3] = $2 } END { for (s in v) print s, v[s] }' | sort -n
}
bits() {
    history
    cat mlruns/*/*/artifacts/checkpoints/step-00000006/*.safetensors | sha256sum
}
verify() {
    gtrack ls --csv -c status >runs 2>&1 || cat runs
    grep -q FINISHED runs || echo "no run is finished"
    bits >"$here/got" 2>&1
    cmp -s "$here/got" "$here/want" || diff "$here/got" "$here/want"
}
options="--set model.width=32 --set schedule.steps=6 --set checkpoint.every=1"
"$gtrain" -q --config c.ini $options >log 2>&1
bits >want
ok $? "a training is not killed" "$(cat log)"
rm -rf mlruns

for mode in "" "--set checkpoint.async=no" "--ranks 2" \
    "--ranks 2 --set parallel.mode=zero2" \
    "--ranks 3 --set parallel.mode=fsdp"; do
    kill_often "a training ${mode:-in one process}" "${count:-3}" \
        "'$gtrain' -q --config c.ini $options $mode --resume auto"
done

# The cells of a sweep, and nothing twice.
verify() {
    gtrack ls --csv --sort val/loss -c optim.lr,train.seed,val/loss \
        -w "status = 'FINISHED' and metrics.val/loss > 0" >"$here/got" 2>&1
    test -e "$here/cells" || cp "$here/got" "$here/cells"
    test "$(wc -l <"$here/got")" = 5 && cmp -s "$here/got" "$here/cells" ||
        cat "$here/got"
}
kill_often "a sweep" "${count:-3}" \
    "'$gtrain' sweep -q --config c.ini $options --set schedule.steps=2 \
        --grid optim.lr=1e-3,1e-2 --seeds 2"
done_testing
