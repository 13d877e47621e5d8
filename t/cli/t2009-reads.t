#!/bin/sh
# What cannot be read is an error, never the end of the input: each command says
# so, and does not take what it had read so far for all there is.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/campaign.sh"
can_disturb || skip_all "no right to supervise system calls"

awk 'BEGIN { for (i = 0; i < 4000; i++)
    printf "step=%d loss=%.17g\n", i, 1 / (i + 3) }' >lines
awk 'BEGIN { print "step,loss"
    for (i = 0; i < 4000; i++) printf "%d,%.17g\n", i, 1 / (i + 3) }' >all.csv
awk 'BEGIN { for (i = 0; i < 4000; i++)
    printf "step %d | train loss %.6f\n", i, 1 / (i + 3) }' >main.log
gtrack -q -r seed log one <lines
gtrack -q -r seed export --to tensorboard -o tb
gtrack -q -r seed export --to jsonl -o all.jsonl
gtrack -q -r seed bundle -o all.tar one >out
sed 's/loss/throughput/' lines | gtrack -q -r seed log two
echo 'a note that is read' >note

# PATH|COMMAND: what reads a file with the path, and the command
while IFS='|' read -r path command; do
    rm -rf imp r && cp -R seed r
    "$build/t/lib/disturb" -c read -p "$path" sh -c "$command" >out 2>err
    status=$?
    n=$(sed -n 's/^disturb: \([0-9]*\) calls$/\1/p' err)
    bad=
    test $status -eq 0 -a "${n:-0}" -gt 0 || bad="without it: $(cat err)"
    cp out whole
    failed=0
    for at in $(seq 1 $((1 + ${n:-0} / $(repeats 4 16))) "${n:-0}"); do
        rm -rf imp r && cp -R seed r
        "$build/t/lib/disturb" -c read -p "$path" -n "$at" -e EIO \
            sh -c "$command" >out 2>err
        status=$?
        if grep -q 'Input/output error' err; then
            failed=$((failed + 1))
        elif test $status -ne 0 || ! cmp -s out whole; then
            bad="$bad
call $at of $n: status $status: $(cat err)"
        fi
        test $status -ne 0 || test ! -d imp || cmp -s out whole ||
            bad="$bad
call $at of $n: status 0 and half of it"
    done
    test $failed -gt 0 || bad="$bad; no call failed with the reason"
    is "$bad" "" "$command says that it cannot read its input"
done <<'END'
tfevents|gtrack -q -r imp import tb && gtrack -r imp metrics one loss --tsv | wc -l
all.csv|gtrack -q -r imp import all.csv && gtrack -r imp metrics all loss --tsv | wc -l
main.log|gtrack -q -r imp import --name all main.log && gtrack -r imp metrics all train/loss --tsv | wc -l
all.jsonl|gtrack -q -r imp import all.jsonl && gtrack -r imp metrics one loss --tsv | wc -l
/lines|gtrack -q -r imp log new <lines
metrics/loss|gtrack -r r metrics one loss --tsv
metrics/loss|gplot -r r -q loss -o f.json one && cat f.json
metrics/loss|GT_CLOCK_MS=1795745143000 gtrack -q -r r serve --freeze f.html one && cat f.html
metrics/loss|gtrack -r r ls --csv -c name,loss
metrics/loss|gtrack -r r ls --csv -c 'name,at(loss,7),first(loss),median(loss)'
metrics/loss|gtrack -r r ls --csv -c name --where 'at(loss, 7) > 0'
metrics/throughput|gtrack -r r ls --csv -c 'mean(throughput)'
metrics/throughput|gtrack -r r metrics two --csv
metrics/throughput|gtrack -r r ls --csv -c name --where 'mean(throughput) > 1'
metrics/throughput|gtrack -r r where @best:throughput:max
/note|gtrack -r r -q note one - <note
all.tar|gtrack verify all.tar
END

"$build/t/lib/disturb" -c read -p /lines -n 4 -e EIO \
    gtrack -q -r cut log cut <lines >out 2>err
is $? 1 "a log whose input cannot be read ends with status 1"
gtrack -r cut ls --csv -c status >out
like out FAILED "a log whose input cannot be read is marked FAILED"
done_testing
