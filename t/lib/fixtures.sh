# fixtures.sh - what several shell tests start from; sourced after tap.sh
#
#   rhythm N            print N tokens below 31, as raw uint16, in a rhythm that
#                       can be learnt
#   small_ini SECTION.KEY=VALUE...      print the settings of a small training
#                       on one thread with these in addition, or instead; with
#                       an empty VALUE, without them.  The peak rate is given,
#                       since measuring it takes longer than the training.
#   g ARGUMENT...       run gtrack; its output goes to the files out and err
#   holds FILE TEXT     succeed when FILE holds exactly TEXT and a newline
#   await_file FILE     wait until FILE has content; after a minute say so and fail
#   make_store KIND...  make runs of these kinds (see mkruns.c) in a store that
#                       gtrack and gplot find
#   make_train_sh       write train.sh VALUE [STEPS], the program of a cell, which
#                       logs the value as val/loss at step STEPS (3), or fails
#                       with status 5 if there is a file fail-VALUE; the file
#                       calls in the folder of the cell has its arguments
#   add_dataset RUN NAME    note that RUN read the dataset NAME for training
#   png_size FILE       print the width and the height of a PNG
#   encode_letters PREFIX [OPTION]...   write text.txt, 9000 letters, and encode
#                       it with a tokenizer tok of its own
#   resum CHECKPOINT    let the sums in its state.json fit its files
#
# For trainings in several processes, which are those of one step of 12
# micro-batches on any number of ranks:
#
#   make_ranks_case     write train_0.bin and c.ini, a small model on it; sets
#                       gtrain to the program
#   sums FOLDER [STEP]  print the hash of the weights and moments in a folder of
#                       checkpoints after step 3
#   children PID        print the processes that PID has started
#   survivors PID...    print those that are still there after ten seconds
#   await_checkpoint FOLDER PID     wait until PID has saved a checkpoint or ended
#   await_path PATTERN PID  wait until a file has this name, or PID has ended
#   await_line FILE TEXT PID    wait until a line of FILE has TEXT, or PID has
#                       ended
#   start_endless FOLDER COMMAND... start a training that would not end and saves
#                       to FOLDER; its process is parent, its ranks are ranks,
#                       the last of them is victim
#   expect_end STATUS   wait for it; bad says what is wrong unless it ends with
#                       STATUS and leaves no rank behind
#   free_port           print a port that nobody listens on

#
# For trainings on the CUDA device, emulated or not, beside those on the CPU:
#
#   make_device_case    write train.bin, val.bin and base.ini; sets gtrain to
#                       $GT_TRAIN or the emulation's, steps to $GT_TRAIN_STEPS
#                       or 6, and half to half of them
#   train FOLDER OPTION...  train into the store FOLDER, whose checkpoints are
#                       in FOLDER/ck; fails when cuBLASLt took no part
#   losses FOLDER       print the training losses of its run, one a line
#   near IS WANT TOLERANCE  succeed when two files of losses agree
# shellcheck shell=sh disable=SC2034,SC2154
add_dataset() {
    _run=$(gtrack where "$1")
    mkdir -p "$_run/../datasets/d" "$_run/inputs/i"
    printf '%s\n' 'digest: abc' "name: $2" "profile: '{}'" "source: '{}'" \
        'source_type: local' >"$_run/../datasets/d/meta.yaml"
    printf '%s\n' 'destination_id: d' 'destination_type: RUN' 'source_id: d' \
        'source_type: DATASET' 'tags:' '  mlflow.data.context: training' \
        >"$_run/inputs/i/meta.yaml"
}
rhythm() {
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++)
        printf "%c%c", (i * i + int(i / 7)) % 31 + 1, 0 }' |
        LC_ALL=C tr '\001-\037' '\000-\036'
}

small_ini() {
    set -- plan.peak_tflops=1 model.layers=1 model.heads=2 model.width=16 \
        model.context=16 train.device=cpu train.threads=1 \
        run.system_every=0s "$@"
    printf '%s\n' "$@" | awk '{
        name = value = $0
        sub(/=.*/, "", name)
        sub(/^[^=]*=/, "", value)
        if (!(name in is))
            order[++n] = name
        is[name] = value
    }
    END {
        for (i = 1; i <= n; i++) {
            split(order[i], at, ".")
            if (is[order[i]] != "")
                printf "[%s]\n%s = %s\n", at[1], at[2], is[order[i]]
        }
    }'
}

g() {
    gtrack "$@" >out 2>err
}

holds() {
    printf '%s\n' "$2" | cmp -s - "$1"
}

await_file() {
    perl -e 'for (1 .. 3000) { exit 0 if -s $ARGV[0];
        select undef, undef, undef, .02 }
        warn "after a minute, $ARGV[0] has no content\n"; exit 1' "$1"
}

make_store() {
    export GTRACK_ROOT="$dir/runs"
    "$build/t/lib/mkruns" "$GTRACK_ROOT" "$@" || {
        echo "Bail out! mkruns failed"
        exit 1
    }
}

make_train_sh() {
    cat >train.sh <<'END'
#!/bin/sh
run=$(gtrack run start) || exit 1
echo "$*" >>"$GTRACK_SWEEP_FOLDER/calls"
gtrack run log "$run" --step "${2:-3}" "val/loss=$1" || exit 1
test ! -e "fail-$1" || exit 5
gtrack run end "$run"
END
    chmod +x train.sh
}

encode_letters() {
    _prefix=$1
    shift
    awk 'BEGIN { for (i = 0; i < 9000; i++)
        printf "%c", 97 + (i * i + i / 7) % 26 }' >text.txt
    gdata bpe --vocab 260 -o tok text.txt >out 2>&1 &&
        gdata encode --tokenizer tok "$@" -o "$_prefix" text.txt >>out 2>&1
}

png_size() {
    od -An -tu1 -j16 -N8 "$1" | awk '{ print $3 * 256 + $4, $7 * 256 + $8 }'
}

make_ranks_case() {
    gtrain=$build/gtrain
    test -x "$gtrain" || skip_all "gtrain is not built"
    export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
    perl -e 'binmode STDOUT; my ($n, $s) = (5000, 7);
        print pack("l<256", 20240520, 1, $n, (0) x 253);
        for (1 .. $n) { $s = ($s * 1103515245 + 12345) % 2147483648;
            print pack("S<", ($s >> 16) % ($_ % 3 ? 97 : 23)) }' >train_0.bin
    cat >c.ini <<'END'
[plan]
peak_tflops = 1
[data]
train = train_0.bin
val = train_0.bin
[model]
layers = 3
heads = 2
width = 128
context = 8
vocab = 97
[train]
micro_batch = 1
batch = 12
deterministic = yes
device = cpu
[schedule]
steps = 3
[eval]
every = 2
sequences = 7
[sample]
every = 0
[run]
system_every = 0s
END
}

sums() {
    step=$(printf %s/step-%08d "$1" "${2:-3}")
    cat "$step/model.safetensors" "$step/optim.safetensors" >weights 2>&1 &&
        sha256sum <weights || echo "no checkpoint in $step"
}

# that of the state is of its members without spaces, except for the sum
resum() {
    for _file in config.ini model.safetensors optim.safetensors; do
        _sum=$(sha256sum <"$1/$_file")
        sed -i "/^  \"$_file\"/,/}/ {
            s/\"bytes\": [0-9]*/\"bytes\": $(($(wc -c <"$1/$_file")))/
            s/\"sha256\": \"[0-9a-f]*/\"sha256\": \"${_sum%% *}/ }" "$1/state.json"
    done
    _sum=$(sed '/^ "sha256"/d' "$1/state.json" | tr -d ' \n' | sha256sum)
    sed -i "s/^ \"sha256\": .*/ \"sha256\": \"${_sum%% *}\",/" "$1/state.json"
}

children() {
    # a process may end meanwhile; cat then reads the others
    cat /proc/[0-9]*/stat 2>/dev/null |
        sed -n "s/^\([0-9]*\) (.*) [A-Z] $1 .*/\1/p"
}

# at_once COUNT COMMAND...: start it so often, and leave the output of each in
# at_once.N and its status in ended.N
at_once() {
    rm -f at_once.* ended.*
    seq "$1" >starts
    shift
    while read -r i; do
        { "$@" >"at_once.$i" 2>&1; echo $? >"ended.$i"; } &
    done <starts
    wait
}

alive() {
    for pid in "$@"; do
        grep -q '^State:[[:space:]]*[^ZX]' "/proc/$pid/status" 2>/dev/null &&
            echo "$pid"
    done
}

survivors() {
    tries=0
    while test -n "$(alive "$@")" && test $tries -lt 100; do
        tries=$((tries + 1))
        sleep 0.1
    done
    alive "$@"
}

await_checkpoint() {
    await_path "$1/step-*/state.json" "$2"
}

# The process that looks is one, and leaves the processor to those that train.
await_path() {
    perl -e 'until (grep { -e } glob $ARGV[0]) {
        exit 1 unless kill 0, $ARGV[1];
        select undef, undef, undef, .005 }' "$1" "$2"
}

await_line() {
    perl -e 'my ($path, $text, $pid) = @ARGV;
        for (;;) {
            my $alive = kill 0, $pid;
            if (open my $f, "<", $path) {
                exit 0 if grep { index($_, $text) >= 0 } <$f>;
            }
            exit 1 unless $alive;
            select undef, undef, undef, .005 }' "$1" "$2" "$3"
}

start_endless() {
    folder=$1
    shift
    "$@" --config c.ini --set schedule.steps=1000000 --set eval.every=0 \
        --set checkpoint.every=2 --set checkpoint.folder="$folder" >log 2>&1 &
    parent=$!
    await_checkpoint "$folder" $parent
    ranks=$(children $parent)
    victim=$(echo "$ranks" | tail -n 1)
}

expect_end() {
    wait "$parent"
    status=$?
    bad=
    test $status -eq "$1" || bad="status $status: $(tail -n 5 log)"
    # shellcheck disable=SC2086 # a list
    left=$(survivors $ranks)
    test -z "$left" || bad="$bad ranks are left: $left"
}

free_port() {
    perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(
        Listen => 1, LocalAddr => "127.0.0.1")->sockport'
}

make_device_case() {
    takes_minutes
    gtrain=$(cd "$OLDPWD" && realpath "${GT_TRAIN:-$build/gtrain-emulated}")
    test -x "$gtrain" || skip_all "gtrain-emulated is not built"
    steps=${GT_TRAIN_STEPS:-6}
    half=$((steps / 2))
    make_tokens 20000 1 >train.bin
    make_tokens 2000 2 >val.bin
    cat >base.ini <<END
[plan]
peak_tflops = 1
[data]
train = train.bin
val = val.bin
[model]
layers = 2
heads = 2
width = 32
context = 16
vocab = 61
[train]
precision = fp32
micro_batch = 2
tokens_per_step = 64
[optim]
lr = 3e-3
[schedule]
steps = $steps
warmup = 1
[eval]
every = 3
sequences = 2
END
}

# Each token follows from the one before it and a little chance.
make_tokens() { # COUNT SEED
    perl -e 'binmode STDOUT; my ($n, $x, $s) = (shift, 5, shift);
        print pack("l<256", 20240520, 1, $n, (0) x 253);
        for (1 .. $n) { $s = ($s * 1103515245 + 12345) & 0x7fffffff;
            $x = ($x * 7 + ($s >> 16) % 3) % 61; print pack("S<", $x) }' "$@"
}

train() {
    folder=$1
    shift
    # a warning names the sizes of a product that cuBLASLt could not compute
    timeout 200 "$gtrain" train --config base.ini --set "run.root=$folder" \
        --set "checkpoint.folder=$folder/ck" "$@" >log 2>&1 &&
        ! grep 'cuBLASLt .* [0-9]* x [0-9]* x [0-9]' log
}

losses() {
    awk '{ print $2 }' "$(find "$1" -path '*metrics/train/loss' | head -n 1)"
}

near() {
    paste "$1" "$2" | awk -v tol="$3" -v steps="$steps" '
        function abs(x) { return x < 0 ? -x : x }
        NF != 2 || abs($1 - $2) > tol * abs($2) { bad = 1 }
        END { exit bad || NR != steps }'
}
