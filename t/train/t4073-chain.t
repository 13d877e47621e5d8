#!/bin/sh
# The chain of a run shows changes of what it recorded before a checkpoint.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands
encode_letters data
small_ini data.tokenizer=tok "data.train=data_*.bin" train.micro_batch=2 \
    train.batch=4 schedule.steps=40 checkpoint.every=10 >c.ini
gtrain --config c.ini --name one --set train.stop_at=17 >out 2>&1 &&
    gtrain --config c.ini --name one --resume one >out 2>&1
ok $? "a model is trained in two attempts"
run=$(gtrack where one)
chain=$run/artifacts/chain.txt
is "$(grep -c '^step ' "$chain")" 5 "each checkpoint has a link"
is "$(gtrack ls one -c tags.gtrack.chain --tsv --no-header)" \
    "$(sed -n '$s/^head //p' "$chain")" "the last head is a tag"

# verify NAME STATUS: what gtrack says of the store is in out
verify() {
    gtrack verify mlruns --tsv --no-header >out 2>err
    is $? "$2" "$1" "$(cat out err)"
}
verify "a store is verified in place" 0
loss=$run/metrics/train/loss
cp "$loss" kept
awk '$3 == 15 { $2 -= 0.1 } { print }' kept >"$loss"
verify "a loss that was changed is found without computing anything" 1
like out "metrics/train/loss of one${tab}failed${tab}it was changed after the checkpoint of step 1[07]," \
    "the metric and the checkpoint are named"
gtrack bundle one -o one.tar >out 2>&1
gtrack verify one.tar --tsv --no-header >out 2>err
is $? 1 "a bundle with a changed loss is found false without computing anything"
sed '$d' kept >"$loss"
verify "an end that was cut off is found" 1
cp kept "$loss"
cp "$chain" links
sum=$(sha256sum <kept | cut -d ' ' -f 1)
sed "s/^[0-9a-f]* \([0-9]* train\/loss\)/$sum \1/" links >"$chain"
verify "a sum of the chain that was changed is found" 1
like out "artifacts/chain.txt of one.*its lines after step 0 do not have the head" \
    "the link is named"
awk '/^step/ { n++ } n != 3' links >"$chain"
verify "a link that was taken out is found" 1
cp links "$chain"

# Whoever takes the last link away, and lets the tag name the one before, leaves
# a chain that holds; the log still names the head.
awk '/^step/ { n++ } n < 5' links >"$chain"
verify "a last link that was taken away is found" 1
like out "tags/gtrack.chain of one${tab}failed${tab}it names the head [0-9a-f]*, which chain.txt does not have" \
    "the tag is named"
cp "$run/tags/gtrack.chain" tag
sed -n '$s/^head //p' "$chain" | tr -d '\n' >"$run/tags/gtrack.chain"
verify "a tag that was changed with the chain is found" 1
like out "artifacts/gtrain.log of one${tab}failed${tab}it names the head [0-9a-f]*, which chain.txt does not have" \
    "the log is named"
rm "$chain"
verify "a chain that was removed is found" 1
like out "artifacts/gtrain.log of one" "the log is named for a chain that is gone"
cp links "$chain"
cp tag "$run/tags/gtrack.chain"

# the times of a run
for sed in 's/^start_time: .*/start_time: 1500000000000/' \
    's/^end_time: .*/end_time: 1500000000000/'; do
    cp "$run/meta.yaml" meta
    sed "$sed" meta >"$run/meta.yaml"
    verify "a time that was set to another year is found: $sed" 1
    like out "meta.yaml of one${tab}failed${tab}its $(expr "$sed" : 's/^\([a-z_]*\)') is" \
        "the time is named: $sed"
    cp meta "$run/meta.yaml"
done
echo 'step 50 torn' >>"$chain"
gtrain --config c.ini --name one -q --resume one --set schedule.steps=60 >out 2>&1
ok $? "a run with a torn link is resumed"
verify "the chain goes on after a torn link" 0
gtrack fsck --checkpoints one >out 2>&1
is $? 0 "fsck accepts the chain"
mv "$run/metrics/train/lr" .
gtrack fsck --checkpoints --tsv one >out 2>&1
is $? 1 "fsck finds a metric that was removed"
like out "metrics/train/lr" "fsck names the metric"
done_testing
