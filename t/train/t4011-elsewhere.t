#!/bin/sh
# Checkpoints that are kept outside the run, and links that others have made.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
rhythm 2000 >train.bin
small_ini model.vocab=32 model.vocab_multiple=1 data.train=train.bin \
    train.micro_batch=2 train.batch=2 schedule.steps=12 eval.every=0 \
    sample.every=0 checkpoint.every=2 >tiny.ini
train() { gtrain --config tiny.ini "$@" >out 2>&1; }

train --root mlruns --set checkpoint.folder=kept --set train.stop_at=4
is "$(gtrack ls -c tags.checkpoints --tsv --no-header)" "$dir/kept" \
    "a tag names the folder of checkpoints outside the run"
gtrain export -f hf -o model run1 >out 2>&1
ok $? "a model is loaded from a folder outside the run by the name of the run"
train --root mlruns --resume run1 --set train.stop_at=6
run=$(gtrack where run1)
test -e "$run/artifacts/checkpoints/step-00000006/state.json" &&
    test "$(gtrack show run1 --tsv | grep -c "$dir/kept")" -eq 0
ok $? "an attempt that keeps its checkpoints in the run changes the tag"

mkdir disk
mv "$run/artifacts/checkpoints" disk/run1
ln -s "$dir/disk/run1" "$run/artifacts/checkpoints"
gtrain export -f hf -o model run1 >out 2>&1
is $? 3 "no model is loaded through a link that the run has no tag for"
like out 'link that leaves the run' "the message names the link and the tag"
train --root mlruns --resume disk/run1 --set train.stop_at=8
test $? -ne 0 && grep -q 'artifacts/checkpoints is a link' out &&
    test ! -e disk/run1/step-00000008
ok $? "a run that resumes writes no checkpoint through such a link"
gtrack tag run1 "checkpoints=$dir/disk/run1" >out 2>&1
train --root mlruns --resume run1 --set train.stop_at=8
test $? -eq 0 && test -e disk/run1/step-00000008/state.json &&
    test -L "$run/artifacts/checkpoints"
ok $? "a link that leads where the tag says is followed, to read and to write"

# a tag of a stranger cannot offer the checkpoint of another run
train --root mlruns --name other --set train.stop_at=2
gtrack tag other "checkpoints=$dir/disk/run1" >out 2>&1
gtrain export -f hf -o model other >out 2>&1
test $? -eq 3 && grep -q 'is not a checkpoint of run other' out
ok $? "a checkpoint elsewhere is loaded only by the run that it is of"

# artifacts
rm "$run/artifacts/log.txt" && ln -s "$dir/mine" "$run/artifacts/log.txt"
train --root mlruns --resume run1 --set train.stop_at=10
test $? -eq 1 && test ! -e mine && grep -q 'log.txt is a link' out
ok $? "a run that resumes writes no artifact through a link that leaves it"
mv "$run/metrics" disk/metrics && ln -s "$dir/disk/metrics" "$run/metrics"
cp -r disk/metrics before
train --root mlruns --resume run1 --set train.stop_at=12
test $? -ne 0 && grep -q 'metrics is a link' out && diff -r disk/metrics before
ok $? "a run does not resume if its metrics are behind a link"
# the folder of checkpoints becomes a link while they are written
if command -v perl >/dev/null; then
    mkdir target
    cat >swap.pl <<'END'
# exchange it with a link to a folder, again and again, from when it exists
my ($root, $target) = @ARGV;
my ($flag, $place) = ("$root.swapping");
open F, ">", $flag and print F 1 and close F;
until ($place) { -e $flag or exit; ($place) = glob("$root/0/*/artifacts/checkpoints"); }
symlink $target, "$root/link";
syscall(316, -100, $place, -100, "$root/link", 2) while -e $flag;
END
    for name in a b c; do
        perl swap.pl "swap$name" "$dir/target" 2>err &
        await_file "swap$name.swapping"
        train --root "swap$name" --set checkpoint.every=1
        grep 'checkpoint of step\|saved\|link' out >>said
        rm "swap$name.swapping"
        wait $!
    done
    test -z "$(ls -A target)"
    ok $? "no checkpoint leaves the run while its folder is exchanged with a link" \
        "$(ls -AR target) $(cat said)"
else
    skip "no checkpoint leaves the run while its folder is exchanged with a link" "no perl"
fi
# a checkpoint of another store
train --root first --set train.stop_at=4 --set checkpoint.folder=first-ck
id=$(gtrack ls -r first --tsv -c id --no-header)
train --root second --resume first-ck
is "$(gtrack ls -r second --tsv --no-header \
    -c tags.resumed.run,tags.resumed.step)" "$id${tab}4" \
    "a run that continues another store's checkpoint names its run and step"
sum=$(gtrack ls -r second --tsv --no-header -c tags.resumed.sha256)
test "${#sum}" -eq 64 &&
    grep -q "^$sum .*4" first/*/*/artifacts/checkpoints.sha256
ok $? "a run that continues another store's checkpoint has its hash"
gtrack show -r second >out 2>&1
like out "resumed.run.*$id" "show says from where a run was continued"
done_testing
