#!/bin/sh
# Ranks that mpirun starts: the collectives, and whole trainings, which come to
# the bits of those whose ranks talk over TCP.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
command -v mpirun >/dev/null || skip_all "there is no mpirun"
grep -q '^#define HAVE_MPI' "$build/config.h" ||
    skip_all "this build has no MPI"
make_ranks_case
OMPI_MCA_btl_vader_single_copy_mechanism=none
OMPI_MCA_mpi_yield_when_idle=1
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism OMPI_ALLOW_RUN_AS_ROOT \
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_mpi_yield_when_idle \
    OMPI_MCA_rmaps_base_oversubscribe
coll=$build/t/ranks/coll.t

for np in 2 3; do
    out=$(mpirun -np $np "$coll" 2>&1)
    bad=
    test "${out##*
}" = well || bad=$out
    is "$bad" "" "the collectives work on $np ranks under mpirun"
done

"$gtrain" -q --config c.ini --ranks 2 --set checkpoint.folder=tcp \
    --set parallel.mode=fsdp >log 2>&1
want=$(sums tcp)
for mode in ddp fsdp; do
    mpirun -np 2 "$gtrain" -q --config c.ini --set parallel.mode=$mode \
        --set checkpoint.folder=$mode --set run.name=$mode >log 2>&1
    status=$?
    bad=
    test $status -eq 0 || bad="status $status: $(tail -n 5 log)"
    test "$(sums $mode)" = "$want" || bad="$bad other weights"
    runs=$(grep -lE "^run_name: \"?$mode\"?\$" mlruns/0/*/meta.yaml | wc -l)
    test "$runs" -eq 1 || bad="$bad $runs runs"
    is "$bad" "" \
        "mpirun -np 2 gtrain in $mode gives the bits of TCP and one run"
done

mpirun -np 1 "$gtrain" -q --config c.ini --set optim.lr=1e-3 : \
    -np 1 "$gtrain" -q --config c.ini --set optim.lr=2e-3 >log 2>&1
status=$?
bad=
test $status -eq 6 || bad="status $status: $(tail -n 5 log)"
grep -q 'different configuration' log || bad="$bad not said: $(tail -n 5 log)"
is "$bad" "" "ranks of two configurations end with status 6"

start_endless usr1 mpirun -np 3 "$gtrain" --set run.name=usr1
kill -USR1 $parent
expect_end 75
ls usr1/step-*/state.json >/dev/null 2>&1 || bad="$bad no checkpoint"
grep -q "stopped by a signal after step" log || bad="$bad $(tail -n 5 log)"
is "$bad" "" "SIGUSR1 to mpirun saves a checkpoint and ends with status 75"

start_endless stuck mpirun -np 3 "$gtrain" --set run.name=stuck \
    --set parallel.timeout=8s
kill -STOP "$victim"
expect_end 6
grep -q "pid $victim) did not respond for 8 s" log ||
    bad="$bad the stuck rank is not named: $(tail -n 9 log)"
is "$bad" "" "a stuck rank under mpirun is named after parallel.timeout"
# mpirun ends the others after a second; a busy machine needs more
OMPI_MCA_odls_base_sigkill_timeout=20
export OMPI_MCA_odls_base_sigkill_timeout
for batch in 12 600000; do
    rm -f log
    mpirun -np 3 "$gtrain" --config c.ini --set run.name=dead$batch \
        --set schedule.steps=1000000 --set train.batch=$batch \
        --set eval.every=0 --set checkpoint.last=no >log 2>&1 &
    parent=$!
    until grep -q 'FLOP per token' log 2>/dev/null || ! kill -0 $parent; do :; done
    victim=$(children $parent | tail -n 1)
    kill -9 "$victim"
    wait $parent
    bad=
    grep -q "^gtrain: .*pid $victim) died" log ||
        bad="not named: $(tail -n 12 log)"
    got=$(gtrack ls --tsv --no-header -c status,reason "name=dead$batch")
    case $got in
    FAILED*"pid $victim) died"*) ;;
    *) bad="$bad the run: $got" ;;
    esac
    is "$bad" "" \
        "a rank that dies under mpirun is named and fails the run, with $batch sequences a step"
done
done_testing
