#!/bin/sh
# gtrain rehearse: it finds what would go wrong in a job, before the job.
unset TMPDIR # checkpoints are to be on a disk
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
encode_letters data --shard-tokens 3000
ok $? "a text is encoded into three shards"
small_ini run.system_every= model.context= model.layers=3 model.width=256 \
    data.tokenizer=tok "data.train=data_*.bin" data.val=data_000000.bin \
    train.tokens_per_step=65536 schedule.tokens=1B schedule.warmup=1% \
    eval.every=250 sample.every=500 checkpoint.folder=ckpt/c \
    checkpoint.every=100 >c.ini

# rehearse NAME STATUS [ARGUMENT]...: rows are in out
rehearse() {
    name=$1 status=$2
    shift 2
    gtrain rehearse c.ini "$@" --tsv --no-header >out 2>err
    is $? "$status" "$name"
}
case $(stat -f -c %T .) in
tmpfs | ramfs) memory=1 status=1 ;;
*) memory=0 status=0 ;;
esac
rehearse "a job of two ranks is rehearsed" $status --ranks 2
is "$(grep -v '^checkpoints' out | cut -f1-2 | tr '\t' ' ')" "settings passed
device passed
store passed
training passed
kill passed
preemption passed
time-limit passed
slow-rank passed
lost-rank passed
full-disk passed
missing-shard passed
nan passed" "each accident is survived"
is "$(awk -F '\t' '/resumed at step/ { n++ } END { print n }' out)" 9 \
    "each scene ends with a resume"
like out "^preemption.*exit status 75" "the exit status of a signal is checked"
is "$(ls | tr '\n' ' ')" \
    "c.ini data.tokens.lock data_000000.bin data_000001.bin data_000002.bin err out text.txt tok " \
    "nothing is left behind"

if test $memory = 1; then
    skip "a job is rehearsed within an allocation" "this folder is in memory"
else
    SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_LOCALID=0 \
        SLURM_STEP_NODELIST=localhost SLURM_STEP_NUM_TASKS=4 SLURM_NODEID=0 \
        SLURM_STEP_TASKS_PER_NODE=4 SLURM_TASKS_PER_NODE=4 \
        rehearse "a job is rehearsed within an allocation" 0 --scene training
    like out "^training${tab}passed" "one process waits for no others of Slurm"
fi

# A job for a GPU, on a machine without one; a copy finds what is beside it.
if ! thorough || gtrain devices --tsv | grep -q '^cuda' || test $memory = 1; then
    skip "a job for a GPU is rehearsed" \
        "make check-all runs this, without a GPU and on a disk"
else
    mkdir bin
    cp "$build/gtrain" bin
    cat >bin/gtrain-emulated <<END
#!/bin/sh
echo "\$@" >>"$PWD/calls"
exec "$build/gtrain-emulated" "\$@"
END
    chmod +x bin/gtrain-emulated
    bin/gtrain rehearse c.ini --set train.device=cuda \
        --set train.deterministic=yes --scene training --tsv --no-header \
        >out 2>err
    is $? 0 "a job for a GPU is rehearsed"
    like out "^device${tab}skipped${tab}.*; an emulated GPU is used" \
        "the table says that the GPU is emulated"
    like out "^training${tab}passed.*resumed at step" \
        "training on the emulated GPU is resumed and computed again"
    test "$(grep -c '^--config c.ini' calls)" = 2 && ! grep -q device=cpu calls
    ok $? "the emulator trains, and the CPU does not take its place" \
        "$(cat calls)"
    rm -r bin calls
fi

mkdir conf
cp c.ini conf/all.ini
printf 'extends = conf/all.ini\n[schedule]\ntokens = 2B\n' >extended.ini
gtrain rehearse extended.ini --scene training --tsv --no-header >out 2>err
is "$? $(grep -c 'training.*passed.*resumed at step' out)" "$status 1" \
    "a job whose settings extend others is rehearsed" "$(cat out err)"
rm -r conf extended.ini

# What is wrong with the settings
rehearse "a wrong path is found" 1 --set 'data.train=dat/*.bin'
like out "^settings${tab}failed.*data.train" "the setting with the path is named"
mkdir bad
cp data_*.bin bad
printf '\377\177' | dd of=bad/data_000001.bin bs=2 seek=1500 conv=notrunc 2>/dev/null
rehearse "an id in the middle of a shard that the vocabulary lacks is found" 1 \
    --set 'data.train=bad/*.bin'
like out "^settings${tab}failed.*bad/data_000001.bin: token [0-9]* has id 32767, but" \
    "the shard and the token are named"
rm -r bad
rehearse "a store that cannot be written to is found" 1 --scene training \
    --set run.root=text.txt/mlruns
like out "^store${tab}failed${tab}text.txt cannot be written to" \
    "the folder of the store is named"
rehearse "a disk that is too small is found" 1 --scene training \
    --set checkpoint.keep_last=1000000
like out "^checkpoints${tab}failed.*free, but the checkpoints need" \
    "the size of the checkpoints is named"
if test "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs -a -w /dev/shm; then
    rehearse "checkpoints in memory are found" 1 --scene training \
        --set checkpoint.folder="/dev/shm/gtrain-$$/c"
    like out "^checkpoints${tab}failed${tab}/dev/shm is in memory" \
        "the file system is the reason"
    rm -rf "/dev/shm/gtrain-$$"
else
    skip "checkpoints in memory are found" "/dev/shm is not in memory"
fi
if test $memory = 1; then
    skip "a policy for NaN is tried" "this folder is in memory"
else
    rehearse "a policy that ignores NaN is told" 0 --scene nan \
        --set train.on_nonfinite=ignore
    like out "^nan${tab}skipped.*train.on_nonfinite ignored it" \
        "the setting is the reason"
fi

# Job scripts
script() {
    cat >job.sh
    rehearse "$1" "$2" --scene slow-rank --script job.sh
    like out "^script${tab}$3" "$1: the reason is given"
}
if test $memory = 0; then
    script "a script that queues the job again is accepted" 0 passed <<'END'
#!/bin/bash
#SBATCH --time=12:00:00
#SBATCH --requeue --signal=USR1@120
srun gtrain --config c.ini --resume auto
status=$?
test $status -ne 75 || scontrol requeue "$SLURM_JOB_ID"
exit $status
END
    script "a script that does not queue the job again is found" 1 \
        "failed.*the job was not queued again; add: test" <<'END'
#!/bin/bash
srun gtrain --config c.ini --resume auto
END
    script "a script that stops at an error is found" 1 \
        "failed.*the job was not queued again" <<'END'
#!/bin/bash
set -e
srun gtrain --config c.ini --resume auto
test $? -ne 75 || scontrol requeue "$SLURM_JOB_ID"
END
    script "a script that does not resume is found" 1 \
        "failed.*without --resume auto" <<'END'
#!/bin/bash
gtrain --config c.ini || scontrol requeue "$SLURM_JOB_ID"
END
    script "a script without a signal is found" 1 \
        "failed.*no signal comes before the time limit" <<'END'
#!/bin/bash
#SBATCH --time=12:00:00
srun gtrain --config c.ini --resume auto || scontrol requeue "$SLURM_JOB_ID"
END
    script "a time limit that is over before training begins is found" 1 \
        "failed.*the time limit of 60 s leaves no time for training: the signal comes 120 s" <<'END'
#!/bin/bash
#SBATCH --time=00:01:00
#SBATCH --requeue --signal=USR1@120
srun gtrain --config c.ini --resume auto || scontrol requeue "$SLURM_JOB_ID"
END
    cat >job.sh <<'END'
#!/bin/bash
#SBATCH --time=1-12:00:00
#SBATCH --requeue --signal=B:USR1@1
srun gtrain --config c.ini --resume auto || scontrol requeue "$SLURM_JOB_ID"
END
    rehearse "a signal that is too late for a checkpoint is found" 1 \
        --scene slow-rank --script job.sh --set model.width=16384 \
        --set model.layers=64
    like out "^script${tab}failed${tab}writing a checkpoint takes about [0-9]* s in .*, but the signal comes 1 s before" \
        "the times are named"
    script "a script that starts nothing is found" 1 \
        "failed.*starts no training" <<'END'
#!/bin/bash
cd /nonexistent && srun gtrain
END
    rehearse "a script that does not exist is found" 1 --scene slow-rank \
        --script nowhere.sh
fi
rehearse "a scene that does not exist is refused" 2 --scene kil
like err "there is no scene 'kil'; did you mean kill" "the nearest scene is named"
gtrain rehearse >out 2>err
is $? 2 "settings are required"
done_testing
