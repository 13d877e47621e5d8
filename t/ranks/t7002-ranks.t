#!/bin/sh
# However a training is spread over processes, the weights and the moments
# after some steps are the same to the bit: each step's 12 micro-batches are
# shared by 1, 2, 3 or 4 ranks, each of which keeps all or its part.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
make_ranks_case

"$gtrain" -q --config c.ini --set checkpoint.folder=one >one.log 2>&1
test -d one/step-00000003
ok $? "a training in one process ends well" "$(cat one.log)"
want=$(sums one)
"$gtrain" -q --config c.ini --ranks 3 --set checkpoint.folder=closed \
    <&- >&- 2>&-
is "$(sums closed)" "$want" "ranks train while the standard streams are closed"
# spread WHAT MODERANKS... -- OPTION...: all as one process; make check tries
# all of adamw, and the last of the others
spread() {
    what=$1 list=
    shift
    while test "$1" != --; do
        test "$what" = adamw || thorough || list=
        list="$list $1"
        shift
    done
    shift
    "$gtrain" -q --config c.ini "$@" --set checkpoint.folder="$what" \
        >log 2>&1 || echo "# $(tail -n 1 log)"
    bits=$(sums "$what")
    for job in $list; do
        mode=${job%[0-9]} count=${job#"${job%[0-9]}"}
        "$gtrain" -q --config c.ini --ranks "$count" "$@" \
            --set parallel.mode="$mode" \
            --set checkpoint.folder="$what.$job" >log 2>&1
        bad=
        test "$(sums "$what.$job")" = "$bits" ||
            bad="other weights: $(tail -n 3 log)"
        is "$bad" "" \
            "$what, $mode with $count ranks gives the bits of one process"
    done
}
spread adamw ddp2 ddp3 zero12 zero14 zero23 zero24 fsdp2 fsdp3 fsdp4 --
spread muon ddp2 zero12 zero23 fsdp2 fsdp4 -- --root muon --set optim.name=muon
spread 'muon with rows' ddp2 zero13 zero22 fsdp4 -- --root rows \
    --set optim.name=muon --set optim.muon_rows=yes --set model.mlp=swiglu
spread bf16 ddp3 zero14 zero22 fsdp3 -- --root bf16 --set train.precision=bf16
spread 'bf16 rounded at random' zero13 fsdp2 -- --root rounded \
    --set train.precision=bf16 --set train.stochastic_rounding=yes
spread 'moments in bf16' ddp2 zero13 fsdp4 -- --root moments \
    --set optim.moments=bf16
spread 'master weights in bf16' ddp2 zero13 zero22 fsdp4 -- --root masters \
    --set train.precision=bf16 --set optim.moments=bf16 \
    --set optim.masters=bf16
spread 'bf16 in fp8' ddp2 fsdp3 -- --root fp8 \
    --set train.precision=bf16 --set train.fp8=mlp
spread 'no final norm' ddp2 fsdp3 -- --root bare --set model.final_norm=no \
    --set model.norm_bias=no
spread 'bf16 muon' zero13 fsdp2 -- --root both --set train.precision=bf16 \
    --set optim.name=muon --set model.mlp=swiglu

spread 'growing batch' ddp2 zero13 fsdp4 -- --root ramp --set train.ramp=3 \
    --set train.ramp_from=5

# torchrun's variables; its agent listens on the port that it names
cat >agent.pl <<'END'
use IO::Socket::INET;
my $store = IO::Socket::INET->new(Listen => 8, LocalAddr => "127.0.0.1");
@ENV{qw(WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT)} =
    (2, 2, "127.0.0.1", $store->sockport);
@ENV{qw(TORCHELASTIC_RUN_ID TORCHELASTIC_USE_AGENT_STORE)} = ($$, "True");
my @pid = map { my $pid = fork; $pid or do {
    @ENV{qw(RANK LOCAL_RANK)} = ($_, $_); exec @ARGV or exit 127 }; $pid } 0, 1;
my $bad = 0;
waitpid($_, 0), $bad ||= $? for @pid;
exit($bad ? 1 : 0);
END
perl agent.pl "$gtrain" -q --config c.ini --set parallel.mode=fsdp \
    --set checkpoint.folder=elastic >log 2>&1
status=$?
bad=
test $status -eq 0 && test "$(sums elastic)" = "$want" ||
    bad="status $status: $(tail -n 3 log)"
is "$bad" "" "ranks with torchrun's variables give the bits of one process"
bad=
for wrong in model.heads=7 optim.lr=fast; do
    perl agent.pl "$gtrain" -q --config c.ini --set $wrong >log 2>&1
    test "$(grep -c "${wrong%=*}\|model.width" log)" -eq 1 ||
        bad="$bad $wrong: $(cat log)"
done
is "$bad" "" "a wrong setting is reported once with torchrun's variables"

WORLD_SIZE=2 RANK=1 MASTER_ADDR='not a host' MASTER_PORT=1 "$gtrain" \
    --config c.ini --set parallel.timeout=1s >log 2>&1
status=$?
bad=
test $status -eq 6 || bad="status $status"
grep -q 'not a host:1: Name' log || bad="$bad $(cat log)"
is "$bad" "" "a host without an address is reported"

# ranks in two folders, as on two machines, one of which has a stale copy
apart() {   # apart COMMAND...: rank 1 runs in the folder other
    export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1
    MASTER_PORT=$(free_port) && export MASTER_PORT
    (cd other && RANK=1 exec "$@" >../log1 2>&1) &
    RANK=0 "$@" >log 2>&1
    status=$?
    wait $!
    status="$status $?"
    unset WORLD_SIZE MASTER_ADDR MASTER_PORT
}
mkdir other
cp c.ini train_0.bin other
apart "$gtrain" -q --config c.ini
is "$status" "0 0" "ranks in two folders with the same files train"
perl -pe 'BEGIN { binmode STDOUT; $/ = \1 } $_ ^= "\1" if $. == 2001' \
    train_0.bin >other/train_0.bin
apart "$gtrain" -q --config c.ini
is "$status" "6 6" "ranks whose token files differ in a byte end with status 6"
like log "rank 1 (.*) has other files in data.train than rank 0" \
    "the error names the rank with other token files"
cp train_0.bin other

# a byte that no block is at, of a file that is compared by blocks
perl -e 'binmode STDOUT; my $n = 700000;
    print pack("l<256", 20240520, 1, $n, (0) x 253);
    print pack("S<*", map { $_ * $_ % 90 } 1 .. $n)' >long_0.bin
perl -pe 'BEGIN { binmode STDOUT; $/ = \1 } $_ ^= "\1" if $. == 8001' \
    long_0.bin >other/long_0.bin
long() {
    apart "$gtrain" -q --config c.ini --root long --set data.train=long_0.bin
}
gdata lock long_0.bin >log 2>&1
long
is "$status" "0 0" "no hash of a file is compared that one rank does not have"
(cd other && gdata lock long_0.bin) >log 2>&1
long
is "$status" "6 6" "ranks whose locks have other hashes end with status 6"
like log "rank 1 (.*) has another data.lock of data.train than rank 0" \
    "the error names the rank with another lock"
rm data.lock other/data.lock
for way in yes:6 no:0; do
    grep -q avx2 /proc/cpuinfo || continue
    apart sh -c 'export GTRAIN_ISA=avx2
        test $RANK = 0 || GTRAIN_ISA=c
        exec "$0" "$@"' "$gtrain" -q --config c.ini \
        --set train.deterministic=${way%:*}
    is "$status" "${way#*:} ${way#*:}" \
        "other instructions with train.deterministic = ${way%:*} end with status ${way#*:}"
    like log "rank 1 (.*) has another GPU, or other instructions of the CPU" \
        "the rank with other instructions is named (deterministic = ${way%:*})"
done

# what some ranks saved, others go on from, to the bits of an unbroken run
"$gtrain" -q --config c.ini --ranks 3 --set parallel.mode=fsdp \
    --set train.stop_at=2 --set checkpoint.folder=part >log 2>&1
"$gtrain" -q --config c.ini --ranks 2 --set parallel.mode=zero1 \
    --set checkpoint.folder=part --resume part >>log 2>&1
bad=
test "$(sums part)" = "$want" || bad="other weights: $(tail -n 3 log)"
is "$bad" "" "a checkpoint of fsdp on 3 ranks is resumed by zero1 on 2"

# perf/mfu is a fraction of what the devices of all ranks can do
for count in 1 2; do
    "$gtrain" -q --config c.ini --ranks $count --root mfu --name mfu$count \
        --set plan.peak_tflops=0.5 --set checkpoint.last=no >log 2>&1
    gtrack metrics --root mfu mfu$count perf/flops perf/mfu --tsv --no-header
done | awk -F '\t' '{ n = 0.5e12 * (NR > 3 ? 2 : 1) }
    $(NF - 1) / $NF < 0.999 * n || $(NF - 1) / $NF > 1.001 * n { bad = 1 }
    END { exit bad || NR != 6 }'
ok $? "perf/mfu is a fraction of the peak of all ranks" \
    "$(gtrack metrics --root mfu mfu2 perf/flops perf/mfu)"
awk '{ n++; wrong += $2 <= 0 } END { exit !(n > 0 && !wrong) }' \
    "$(find mfu -path '*/metrics/perf/comm_wait_ms')"
ok $? "only a job of several ranks records how long it waits for others"

# every rank's machine is measured by the clock, also within a long step
"$gtrain" -q --config c.ini --ranks 2 --root clock --set run.system_every=0.01s \
    --set schedule.steps=1 --set train.batch=300 --set eval.every=0 \
    --set checkpoint.last=no >log 2>&1
for rank in '' 1/; do
    cat clock/0/*/metrics/system/${rank}rss_bytes >points 2>&1
    test "$(cut -d ' ' -f 1 points | sort -u | wc -l)" -ge 5
    ok $? "a long step has several readings of the system/${rank}rss_bytes" \
        "$(cat points log)"
done
"$gtrain" -q --config c.ini --ranks 2 --root ends --set run.system_every=1h \
    --set checkpoint.last=no >log 2>&1
for rank in '' 1/; do
    is "$(cut -d ' ' -f 3 ends/0/*/metrics/system/${rank}rss_bytes | paste -sd ' ')" \
        "0 3" "the readings of system/${rank}rss_bytes begin and end with the training"
done

# sums of what each rank has accumulated differ by rounding alone
"$gtrain" -q --config c.ini --set train.deterministic=no --ranks 2 \
    --set run.name=native --set checkpoint.last=no >log 2>&1
runs=$(ls -d mlruns/0/*/metrics/train | wc -l)
bad=$(for run in mlruns/0/*; do
    test -f "$run/metrics/train/loss" &&
        awk '$3 == 3 { print $2 }' "$run/metrics/train/loss"; done |
    awk 'NR == 1 { low = high = $1 } { if ($1 < low) low = $1
        if ($1 > high) high = $1 }
        END { if (!NR || high - low > 1e-5 * high) print low, high }')
is "$bad" "" "the losses with native sums agree to 1e-5 ($runs runs)"

# all ranks learn that the last checkpoint could not be written
"$gtrain" -q --config c.ini --ranks 2 --set checkpoint.folder=/proc >log 2>&1
status=$?
bad=
test $status -eq 1 || bad="status $status"
grep -q 'rank 0: .*/proc' log || bad="$bad $(cat log)"
is "$bad" "" "a checkpoint that rank 0 cannot write fails on all ranks"

# what is wrong for all is said once, with the status that one would have
said_once() {   # said_once STATUS PATTERN OPTION...
    want=$1 pattern=$2 bad=
    shift 2
    "$gtrain" -q --config c.ini --ranks 3 "$@" >log 2>&1
    status=$?
    test $status -eq "$want" || bad="status $status"
    test "$(grep -vc warning log)" -eq 1 && grep -q "$pattern" log ||
        bad="$bad $(cat log)"
    is "$bad" "" "an error of all ranks is reported once: $pattern"
}
said_once 2 '^gtrain: .*model.width' --set model.heads=7
said_once 3 '^gtrain: --set: data.train' --set data.train=nowhere.bin
said_once 3 '^gtrain: cannot open nowhere.ini' --config nowhere.ini
said_once 5 '^gtrain: step 1: the loss is' --set model.init_std=10 \
    --set train.precision=fp16 --set model.mlp=relu2
said_once 1 '^gtrain: rank 0: .*nowhere' --root /dev/null/nowhere

CUDA_VISIBLE_DEVICES=none
export CUDA_VISIBLE_DEVICES
"$gtrain" --config c.ini --gpus 2 >log 2>&1
is "$?: $(cat log)" \
    "2: gtrain: --gpus: train.device is cpu; use --ranks 2 to train there" \
    "--gpus with train.device = cpu is an error that names --ranks"
for wrong in '0' '1025' '2 --ranks 2'; do
    # shellcheck disable=SC2086 # a word an option
    "$gtrain" --config c.ini --gpus $wrong >log 2>&1
    is $? 2 "--gpus $wrong is an error"
done
"$gtrain" -q --config c.ini --gpus 2 --set train.device=auto >log 2>&1
test $? -ne 0
ok $? "--gpus without a GPU is an error"
like log '; --ranks trains without a GPU$' \
    "the error of --gpus without a GPU names --ranks"
is "$(wc -l <log)" 1 "--gpus without a GPU is reported once"
unset CUDA_VISIBLE_DEVICES

# what is done is done, whoever asks
"$gtrain" --config c.ini --ranks 2 --resume one >log 2>&1
status=$?
bad=
test $status -eq 0 || bad="status $status"
grep -q ': all 3 steps were already done' log || bad="$bad $(cat log)"
! grep 'is\..* keeps its first value' log >kept || bad="$bad $(cat kept)"
is "$bad" "" "resuming a finished run on other ranks does nothing"
"$gtrain" --config c.ini --ranks 3 --resume auto --set run.name=new \
    >log 2>&1
bad=
test "$(grep -c 'starting a new run' log)" -eq 1 || bad="output: $(cat log)"
is "$bad" "" "a missing checkpoint is reported once"

# a rank that is killed is named, within 5 seconds
start_endless killed "$gtrain" --ranks 3
is "$(cat "/proc/$victim/comm")" gtrain "a rank has the program's name in ps and top"
before=$(date +%s)
kill -9 "$victim"
expect_end 6
seconds=$(($(date +%s) - before))
test $seconds -le 5 || bad="$bad; after $seconds s"
grep -q "pid $victim) died" log || bad="$bad; not named: $(tail -n 3 log)"
is "$bad" "" "kill -9 of one rank ends the job with the rank's name"

# also when rank 0 computes for minutes before it would notice
rm -f log
"$gtrain" --config c.ini --ranks 2 --set run.name=dead --set eval.every=0 \
    --set train.batch=600000 --set checkpoint.last=no >log 2>&1 &
parent=$!
await_line log 'FLOP per token' $parent
ranks=$(children $parent)
victim=$(echo "$ranks" | tail -n 1)
kill -9 "$victim"
expect_end 6
got=$(gtrack ls --tsv --no-header -c status,reason name=dead)
case $got in
FAILED*"pid $victim) died") ;;
*) bad="$bad the run: $got" ;;
esac
is "$bad" "" "a rank that dies within a long step fails the run"

# one that is stuck is named when its time is over
start_endless stuck "$gtrain" --ranks 3 --set parallel.timeout=8s
kill -STOP "$victim"
expect_end 6
grep -q "pid $victim) did not respond for 8 s" log ||
    bad="$bad; not named: $(tail -n 3 log)"
is "$bad" "" "a stuck rank ends the job with its name after parallel.timeout"

# what comes before they listen waits for them; under nohup there is no SIGHUP
bad=
signals=TERM
test "$(sh -c 'kill -HUP $$; echo ignored' 2>/dev/null)" ||
    signals='TERM HUP'
for signal in $signals; do
    "$gtrain" -q --config c.ini --ranks 2 --set checkpoint.last=no \
        --set schedule.steps=1000000 >log 2>&1 &
    parent=$!
    until test -n "$(children $parent)"; do :; done
    ranks=$(children $parent)
    kill -"$signal" $parent
    wait $parent
    status=$?
    test $status -eq 75 || bad="$bad $signal: status $status: $(cat log)"
done
is "$bad" "" "a signal while ranks start ends with status 75"

# nohup's trainings outlive their terminal
nohup "$gtrain" --config c.ini --root nohup --set schedule.steps=40 \
    --set checkpoint.every=2 --set checkpoint.folder=nohup >log 2>&1 &
parent=$!
await_checkpoint nohup $parent
kill -HUP $parent
wait $parent
status=$?
bad=
test $status -eq 0 || bad="status $status: $(cat log)"
is "$bad" "" "SIGHUP under nohup does not stop a training"

# steps that take minutes are not finished: they leave no trace
stop_within() {     # stop_within BATCH SIGNAL: to the last rank
    rm -rf within log
    "$gtrain" --config c.ini --ranks 2 --set parallel.mode=fsdp \
        --set train.batch="$1" --set schedule.steps=2 --set eval.every=0 \
        --set checkpoint.folder=within --set run.name="within$1" >log 2>&1 &
    parent=$!
    await_line log 'FLOP per token' $parent
    kill -"$2" "$(children $parent | tail -n 1)"
    wait $parent
    status=$?
}
stop_within 600000 TERM
is $status 75 "a signal within a step of several ranks ends with status 75"
like log "after step 0;" "a signal ends several ranks before the end of a step"
"$gtrain" -q --config c.ini --set train.batch=420 --set schedule.steps=2 \
    --set eval.every=0 --set checkpoint.folder=whole >log 2>&1
stop_within 420 USR1
bad=
"$gtrain" -q --ranks 2 --resume within --set checkpoint.folder=within \
    >>log 2>&1 || bad="$(tail -n 3 log)"
test "$(sums within 2)" = "$(sums whole 2)" || bad="$bad other weights"
is "$bad" "" "ranks stopped within a step (status $status) resume to the same bits"

# a second SIGINT does not wait, here for a rank that is stopped
start_endless twice "$gtrain" --ranks 2 --set run.name=twice
zero=$(echo "$ranks" | head -n 1)
kill -STOP "$victim"
kill -INT "$zero"
await_line log 'gtrain: stopping: ' $parent
kill -INT "$zero"
until test -z "$(alive "$zero")"; do :; done
kill -CONT "$victim"
expect_end 130
test "$(gtrack ls --tsv --no-header -c status name=twice)" = KILLED ||
    bad="$bad $(gtrack ls name=twice)"
is "$bad" "" "a second SIGINT to rank 0 ends the job and marks the run as killed"

# SIGTERM to a rank, or to the parent, at some step: all stop after the same
# one, with a checkpoint, and go on to the bits of a training that never stopped
forty="--config c.ini --ranks 2 --set parallel.mode=zero2
    --set schedule.steps=40 --set eval.every=0 --set model.layers=1
    --set checkpoint.every=2"
# shellcheck disable=SC2086 # a word an option
"$gtrain" -q $forty --set checkpoint.folder=forty >log 2>&1
want=$(sums forty 40)
# A rank that is stopped for a while, as by a closed lid, costs nothing but time:
# its run is alive, whatever a clock says, and has the same bits.
for which in 1 2; do
    # shellcheck disable=SC2086
    "$gtrain" -q $forty --set checkpoint.folder=paused$which \
        --set run.name=paused$which --set parallel.timeout=1h >log 2>&1 &
    parent=$!
    await_checkpoint paused$which $parent
    victim=$(children $parent | sed -n ${which}p)
    kill -STOP "$victim"
    status=$(GT_CLOCK_MS=$(date -d '1 hour' +%s000) gtrack ls --tsv --no-header \
        -c status name=paused$which)
    kill -CONT "$victim"
    wait $parent
    is "$? $status $(sums paused$which 40)" "0 RUNNING $want" \
        "a training of which rank $((which - 1)) was stopped goes on to the same bits" \
        "$(tail -n 3 log)"
done
stops=1
! thorough || stops=5
test -z "${GT_LONG:-}" || stops=50
bad=
stopped=0
i=0
while test $i -lt "$stops"; do
    i=$((i + 1))
    at=$((i * 7919 % 17 * 2 + 2))
    rm -rf stop
    # shellcheck disable=SC2086
    "$gtrain" $forty --set checkpoint.folder=stop \
        --set checkpoint.keep_last=40 --set run.name=stop$i >log 2>&1 &
    parent=$!
    await_path "$(printf 'stop/step-%08d' $at)" $parent
    ranks=$(children $parent)
    case $((i % 4)) in
    0) kill -TERM $parent ;;
    3) kill -HUP $parent ;;
    1) kill -TERM "$(echo "$ranks" | head -n 1)" ;;
    2) kill -USR1 "$(echo "$ranks" | tail -n 1)" ;;
    esac
    wait $parent
    status=$?
    test $status -ne 75 || stopped=$((stopped + 1))
    test $status -eq 75 || test $status -eq 0 ||
        bad="$bad stop $i: status $status: $(tail -n 3 log)"
    # shellcheck disable=SC2086
    test $status -ne 75 || "$gtrain" -q $forty --resume stop \
        --set checkpoint.folder=stop >log 2>&1 || bad="$bad stop $i: $(tail -n 3 log)"
    test "$(sums stop 40)" = "$want" || bad="$bad stop $i at $at: other weights"
done
test $stopped -gt 0 || bad="$bad none was stopped before its end"
is "$bad" "" \
    "after each of $stops signals the resumed run has the unbroken bits"

done_testing
