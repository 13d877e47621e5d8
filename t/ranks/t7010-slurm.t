#!/bin/sh
# Under a real Slurm of one node: ranks started by srun find each other without
# MPI, a search runs as an array, and a job that is told to stop goes on as the
# same run.  These are the commands of doc/slurm.md.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
make_ranks_case
gtrack=$build/gtrack
why=$("$top"/t/ranks/slurm-cluster start "$dir/slurm" 2>&1) ||
    skip_all "${why:-no Slurm}"
trap '"$top"/t/ranks/slurm-cluster stop "$dir/slurm"; rm -rf "$dir"' EXIT
# shellcheck source=/dev/null
. "$dir/slurm/env"
small_ini train.device= run.system_every= data.train=train_0.bin \
    data.val=train_0.bin model.layers=2 model.width=64 model.context=8 \
    model.vocab=97 train.micro_batch=1 train.batch=4 schedule.steps=3 \
    eval.sequences=4 sample.every=0 >c.ini
# until COMMAND succeeds, but no longer than a minute
await() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        test $tries -lt 600 || return 1
        sleep 0.1
    done
}
idle() { test -z "$(squeue -h)"; }

bad=
srun -n 2 "$gtrain" -q --config c.ini --set run.name=two >log 2>&1 ||
    bad="output: $(tail -n 3 log)"
ranks=$(cat mlruns/0/*/params/derived.ranks 2>/dev/null)
test "$ranks" = 2 || bad="ranks: '$ranks' $(tail -n 3 log)"
is "$bad" "" "srun -n 2 trains one model"

bad=
if grep -q '^#define HAVE_MPI' "$build/config.h" 2>/dev/null &&
    srun --mpi=list 2>&1 | grep -q pmix; then
    OMPI_MCA_btl_vader_single_copy_mechanism=none srun --mpi=pmix -n 2 \
        "$gtrain" --config c.ini --set run.name=pmix --root pmix >log 2>&1 ||
        bad="output: $(tail -n 3 log)"
    ranks=$(cat pmix/0/*/params/derived.ranks 2>/dev/null)
    test "$ranks" = 2 || bad="ranks: '$ranks' $(tail -n 3 log)"
    is "$bad" "" "srun --mpi=pmix -n 2 trains one model over MPI"
else
    skip "srun --mpi=pmix -n 2 trains one model over MPI" \
        "no MPI in this build, or no PMIx"
fi

bad=
"$gtrain" -q sweep --config c.ini --grid optim.lr=1e-2,1e-3 \
    --grid model.layers=1,2 --slurm >log 2>&1 || bad="output: $(cat log)"
await idle || bad="$bad the array does not end: $(squeue)"
"$gtrain" -q sweep --config c.ini --grid optim.lr=1e-2,1e-3 \
    --grid model.layers=1,2 status --tsv >table 2>&1
test "$(grep -c FINISHED table)" -eq 4 ||
    bad="$bad output: $(cat table; tail -n 3 sweeps/sweep/cells/*.out)"
"$gtrain" -q sweep --config c.ini --grid optim.lr=1e-2,1e-3 \
    --grid model.layers=1,2 report --tsv >table 2>&1
test "$(grep -c '^[12]	[0-9]' table)" -eq 2 || bad="$bad output: $(cat table)"
is "$bad" "" "a sweep runs as an array of four cells and is reported"

# one that would never end; stopped by a signal it is queued again
cat >job.sh <<END
#!/bin/sh
#SBATCH --requeue --open-mode=append --output=job.out
exec "$gtrain" --config c.ini --set schedule.steps=1000000 \\
    --set train.stop_at=\$((SLURM_RESTART_COUNT + 1))000000 \\
    --set checkpoint.every=2 --set checkpoint.folder=kept \\
    --set run.name=long --resume auto
END
bad=
id=$(sbatch --parsable job.sh)
await sh -c 'ls kept/step-*/state.json' || bad="no checkpoint: $(cat job.out)"
scancel -s USR1 --full "$id"
await grep -q "stopped by a signal" job.out || bad="not stopped: $(cat job.out)"
await idle
sbatch --parsable job.sh >/dev/null
await grep -q "resuming after step" job.out ||
    bad="$bad does not resume: $(tail -n 3 job.out)"
scancel --full --user="$(id -un)"
await idle
runs=$(grep -lE '^run_name: "?long"?$' mlruns/0/*/meta.yaml | wc -l)
test "$runs" -eq 1 || bad="$bad $runs runs"
is "$bad" "" "after scancel -s USR1 the requeued job resumes its run"

# what Slurm's own accounts say of the hours
if test -f "$dir/slurm/accounts"; then
    bad=
    srun -A lab --gres=gpu:2 "$gtrain" -q --config c.ini --root lab \
        --set schedule.steps=200 >log 2>&1 || bad="output: $(tail -n 3 log)"
    await sh -c 'sacct -n -X -P -S now-1hour -A lab -o State | grep COMPLETED'
    "$gtrack" hours -r lab --sacct -g account --csv >hours 2>&1
    grep -q '^lab,' hours || bad="$bad $(cat hours; sacct -X -P -S now-1hour)"
    is "$bad" "" "gtrack hours gets hours by account from sacct"
else
    skip "gtrack hours gets hours by account from sacct" \
        "GT_LONG is not set, or no slurmdbd and MariaDB"
fi
done_testing
