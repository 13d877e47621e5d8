#!/bin/sh
# torchrun starts the ranks, whose weights have the bits of one process's.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
python=${GT_PYTHON:-python3}
torchrun=$("$python" -c 'import os, sys, torch
print(os.path.join(os.path.dirname(sys.executable), "torchrun"))' 2>/dev/null)
test -x "$torchrun" ||
    skip_all "$python has no torchrun beside it; set GT_PYTHON"
make_ranks_case

"$gtrain" -q --config c.ini --set checkpoint.folder=one >log 2>&1
want=$(sums one)
bad=
test -d one/step-00000003 || bad="output: $(cat log)"
is "$bad" "" "a training in one process ends well"

# ranks NAME OPTION...: torchrun with its options, into the folder of that name
ranks() {
    name=$1
    shift
    "$torchrun" --nproc-per-node 2 "$@" --no-python \
        "$gtrain" -q --config c.ini --set parallel.mode="$name" \
        --set checkpoint.folder="$name" --set run.name="$name" >log 2>&1
    status=$?
    bad=
    test $status -eq 0 || bad="status $status: $(tail -n 9 log)"
    test "$(sums "$name")" = "$want" || bad="$bad other weights"
    runs=$(grep -lE "^run_name: \"?$name\"?\$" mlruns/0/*/meta.yaml | wc -l)
    test "$runs" -eq 1 || bad="$bad $runs runs"
}
ranks ddp --master-port "$(free_port)"
is "$bad" "" "two ranks at a port of torchrun's agent give the bits of one"
ranks fsdp --standalone
is "$bad" "" "two ranks at a port that torchrun chose give the bits of one"

# the agent starts them again when they fail, and they go on
cat >fail-once <<'END'
#!/bin/sh
test "$TORCHELASTIC_RESTART_COUNT" != 0 || set -- "$@" --set train.stop_at=2
"$@" || exit
test "$TORCHELASTIC_RESTART_COUNT" != 0
END
chmod +x fail-once
"$torchrun" --nproc-per-node 2 --max-restarts 1 --standalone --no-python \
    ./fail-once "$gtrain" -q --config c.ini --set parallel.mode=zero2 \
    --set checkpoint.folder=again --resume auto >log 2>&1
status=$?
bad=
test $status -eq 0 && test "$(sums again)" = "$want" ||
    bad="status $status: $(tail -n 9 log)"
is "$bad" "" "ranks that torchrun restarts give the bits of one"
done_testing
