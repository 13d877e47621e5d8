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
# what a rank that is killed leaves goes with the folder
TMPDIR=$dir OMPI_MCA_btl_vader_backing_directory=$dir
export OMPI_MCA_btl_vader_single_copy_mechanism OMPI_ALLOW_RUN_AS_ROOT \
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_mpi_yield_when_idle \
    OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_btl_vader_backing_directory \
    TMPDIR
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

# What waits for a timeout, or for mpirun to kill what it aborts, does so at the
# same time, each in a folder of its own.
begin() {   # begin NAME COMMAND...: its output goes to NAME/bad
    mkdir "$1"
    cp c.ini train_0.bin "$1"
    (
        cd "$1" || exit
        shift
        "$@" >bad 2>&1
    ) &
}

# With sums of the library and of our own, where a rank waits for a neighbour.
stuck() {   # stuck MODE: print the stuck rank as the others name it
    start_endless ck mpirun -np 4 "$gtrain" --set parallel.mode="$1" \
        --set parallel.timeout=8s
    victim=$(echo "$ranks" | sed -n 3p)
    kill -STOP "$victim"
    expect_end 6
    echo "$victim) did not respond for 8 s" >want
    grep 'did not respond' log | sed 's/.*pid //' | sort -u
    printf %s "$bad"
}
for mode in ddp zero1; do
    begin stuck.$mode stuck $mode
done

dead() {    # dead BATCH: print what is wrong
    mpirun -np 3 "$gtrain" --config c.ini --set run.name=dead \
        --set schedule.steps=1000000 --set train.batch="$1" \
        --set eval.every=0 --set checkpoint.last=no >log 2>&1 &
    parent=$!
    await_line log 'FLOP per token' $parent
    victim=$(children $parent | tail -n 1)
    kill -9 "$victim"
    wait $parent
    grep -q "^gtrain: .*pid $victim) died" log ||
        echo "not named: $(tail -n 12 log)"
    got=$(gtrack ls --tsv --no-header -c status,reason name=dead)
    case $got in
    FAILED*"pid $victim) died"*) ;;
    *) echo "the run: $got" ;;
    esac
}
# mpirun kills the others a second after a signal; a busy machine needs more
OMPI_MCA_odls_base_sigkill_timeout=4
export OMPI_MCA_odls_base_sigkill_timeout
for batch in 12 600000; do
    begin dead.$batch dead $batch
done

# two machines are two network namespaces with host names of their own
name="a rank that dies on another machine is named and fails the run"
near=gtnear$$ far=gtfar$$
join_hosts() {
    ip netns add $near && ip netns add $far &&
        ip link add gta$$ netns $near type veth peer name gtb$$ netns $far ||
        return
    for host in "$near gta$$ 10.77.0.1" "$far gtb$$ 10.77.0.2"; do
        # shellcheck disable=SC2086
        set -- $host
        ip -n "$1" addr add "$3/24" dev "$2" && ip -n "$1" link set "$2" up &&
            ip -n "$1" link set lo up || return
    done
    unshare --uts true
}
rm -f log
victim=
if join_hosts 2>err; then
    cat >agent <<END
#!/bin/sh
case \$1 in 10.77.0.1) space=$near ;; *) space=$far ;; esac
shift
exec ip netns exec \$space unshare --uts sh -c 'hostname \$0; eval "\$*"' \
    \$space "\$@"
END
    chmod +x agent
    ./agent 10.77.0.1 mpirun -np 3 -H 10.77.0.1:2,10.77.0.2:1 \
        --mca plm_rsh_agent "$dir/agent" -x PATH -x OMP_NUM_THREADS \
        --wdir "$dir" "$gtrain" --config c.ini --set run.name=far \
        --set schedule.steps=1000000 --set eval.every=0 \
        --set checkpoint.last=no >log 2>&1 &
    parent=$!
    await_line log 'step 1/' $parent
    for pid in $(ip netns pids $far); do
        test "$(readlink "/proc/$pid/exe")" != "$(readlink -f "$gtrain")" ||
            victim=$pid
    done
    kill -9 "$victim"
    wait $parent
    bad=
    grep -q "^gtrain: .*host $far, pid $victim) died" log ||
        bad="not named: $(tail -n 12 log)"
    got=$(gtrack ls --tsv --no-header -c status,reason name=far 2>&1)
    case $got in
    FAILED*"host $far, pid $victim) died"*) ;;
    *) bad="$bad the run: $got" ;;
    esac
    is "$bad" "" "$name"
else
    skip "$name" "no right to make network namespaces: $(tail -n 1 err)"
fi
wait
for mode in ddp zero1; do
    is "$(cat stuck.$mode/bad)" "$(cat stuck.$mode/want)" \
        "of four ranks under mpirun all name the stuck one, in $mode" \
        "$(tail -n 9 stuck.$mode/log)"
done
for batch in 12 600000; do
    is "$(cat dead.$batch/bad)" "" \
        "a rank that dies under mpirun is named and fails the run, with $batch sequences a step"
done
ip netns del $near 2>err
ip netns del $far 2>err
done_testing
