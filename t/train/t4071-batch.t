#!/bin/sh
# gtrain batch: it finds the document of a spike; doc/provable.md shows how.
unset TMPDIR # checkpoints are to be on a disk
. "$(dirname "$0")/../lib/tap.sh"
awk '/^```/ { code = $0 == "```sh"; next } code' "$top/doc/provable.md" >demo
ok "$(test -s demo; echo $?)" "doc/provable.md has commands"
sh -e demo >out 2>err
ok $? "the commands of doc/provable.md succeed" "$(tail -n 5 err)"
grep -A1 '^loss.*place' out | tail -n 1 >worst
like worst "text.jsonl:218" "the document with the highest loss is the planted one"
is "$(grep -c "^[0-9-]*${tab}.*${tab}equal${tab}" out)" 8 \
    "replayed steps are equal before the change"
like err "poisoned differs at step 200: train/loss is" \
    "the changed loss is found"
like out "the exit status is 1" "a difference is exit status 1"

like out "^diverge at.*input, tokens of sequence" \
    "the first difference between two runs is in the ids of a sequence"
like out "^data${tab}tokens_000000.bin" "the shard that differs is named"
like out "^data${tab}document at.*fox quick.*quick fox" \
    "the document that differs is shown"
like err "recomputed, the two runs agree" "equal builds do not diverge"
like out "^kill${tab}passed" "a killed training resumes in the rehearsal"
like out "^replay${tab}other${tab}passed" "a run is certified from an archive"

like report.md "-->[0-9]*[.][0-9][0-9]<!--" "the number of the report is filled in"

# batch NAME STATUS [ARGUMENT]...: what it prints is in out and err
batch() {
    name=$1 status=$2
    shift 2
    gtrain batch "$@" --tsv --no-header >out 2>err
    is $? "$status" "$name"
}
step=$(gtrain batch poisoned --spikes --tsv --no-header | head -n 1 | cut -f1)
batch "all documents of a step are shown" 0 poisoned "$step" -n 0 --whole
is "$(awk -F '\t' '{ n += $2 } END { print n }' out)" 256 \
    "the documents have all tokens of the step"
recorded=$(gtrack metrics poisoned train/loss --tsv --no-header |
    awk -v s="$step" '$1 == s { print $2 }')
awk -F '\t' -v want="$recorded" '{ n += $2; sum += $1 * $2 }
    END { d = sum / n - want; exit !(d * d < 1e-10) }' out
ok $? "the losses of the documents give the loss of the step" \
    "$(cat out) but $recorded"
cut -f1 out | sort -g -r -c 2>log
ok $? "the documents are sorted by their losses"
gplot loss poisoned --mark spike --term own >out 2>err
like err "^gplot: 'gtrain batch poisoned [0-9]*' shows the documents" \
    "gplot names the command for the highest spike"
high=$(sed -n "s/.*batch poisoned \([0-9]*\)'.*/\1/p" err)
gtrain batch poisoned --spikes --tsv --no-header >spikes 2>err
is "$(sort -t "$tab" -k 2,2gr spikes | head -n 1 | cut -f 1)" "$high" \
    "the highest spike is the one with the highest loss"
gplot loss poisoned --mark spike -o a.json >out 2>err
like a.json "$(wc -l <spikes | tr -d ' ') spikes* circled" \
    "gplot marks as many spikes as gtrain batch lists"

sed 's/.*: "\(.*\)"}/\1/' text.jsonl >plain.txt
batch "a document is found in plain text" 0 poisoned "$step" -n 1 \
    --source plain.txt
is "$(cut -f5 out)" "plain.txt:218" "the line of plain text is that of the piece"
head -n 100 plain.txt >part.txt
batch "a document need not be found" 0 poisoned "$step" -n 1 --source part.txt
is "$(cut -f5 out)" "" "a document that is not there has no place"

gtrain --config run.ini --set run.name=skips --set train.on_spike=skip \
    --set train.spike_loss=1 --set train.spike_window=16 -q >out 2>&1
ok $? "a run skips spikes"
batch "skipped steps are listed" 0 skips --spikes
like out "skipped" "the event is named"
gtrain --config run.ini --set run.name=stops --set optim.lr=1000 \
    --set optim.clip=0 -q >out 2>&1
is $? 5 "a run stops at a loss that is not finite"
batch "a step that stopped training is listed" 0 stops --spikes
like out "stopped" "the stop is named"

batch "a run without a step is refused" 2 poisoned
like err "expected a run and a step; --spikes lists steps" \
    "the usage of gtrain batch is named"
batch "step 0 is refused" 2 poisoned 0
batch "a step after the end has no batch" 2 poisoned 201
like err "poisoned has 200 steps" "the number of steps is named"
batch "a source that does not exist is not found" 3 poisoned 3 --source nowhere
done_testing
