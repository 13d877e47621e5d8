#!/bin/sh
# A run or an experiment without its meta.yaml hides nothing, is listed with a
# flag and made anew; a run that begins is not taken for one.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands
export GTRACK_CACHE="$dir/cache"
ls_is() { g ls -c name,status,damage --no-header && holds out "$1"; }
aged() { touch -d '2001-01-01' "$@"; }

for name in one two; do
    printf 'step=1 loss=2\nstep=2 loss=1\n' |
        gtrack log $name -e exp -p lr=1 2>err
done
run=$(gtrack where one) && test -d "$run" || exit 1
exp=$(dirname "$run")
same='^run_id\|^experiment_id\|^run_name\|^artifact_uri\|^user_id\|_time\|^status'

# ---- a run that lost it ----
grep "$same" "$run/meta.yaml" >before
rm "$run/meta.yaml"
ls_is "one${tab}FINISHED${tab}meta.yaml is missing
two${tab}FINISHED${tab}"
ok $? "ls flags a run without a meta.yaml"
g metrics one loss --no-header && holds out "1${tab}2.0
2${tab}1.0"
ok $? "metrics reads a run without a meta.yaml"
g tag one a=b && g rm one
test $? = 3 && grep -q 'fsck --repair' err
ok $? "rm of a run without a meta.yaml suggests fsck --repair"
g export --to mlflow -o part
test $? = 1 && grep -q '1 of 2 runs were not copied' err &&
    g ls -r part -c name --no-header && holds out two
ok $? "export copies the other runs and counts the one left out"
g fsck
test $? = 1 && grep -q "^one${tab}.*${tab}meta.yaml${tab}it is missing${tab}no$" out
ok $? "fsck reports a missing meta.yaml"
g fsck --repair && g fsck && test ! -s out
ok $? "fsck --repair writes a missing meta.yaml"
grep "$same" "$run/meta.yaml" | cmp -s - before
ok $? "a repaired meta.yaml has the values of the run's state"

rm -r "$run/meta.yaml" "$run/.gtrack"
ls_is "one${tab}STALE${tab}meta.yaml is missing
two${tab}FINISHED${tab}"
ok $? "a run without meta.yaml and state is listed as stale"
printf '%s\n' '981000000000 2.0 1' '981000005000 1.0 2' >"$run/metrics/loss"
g fsck --repair && ls_is "one${tab}KILLED${tab}
two${tab}FINISHED${tab}" && grep -q '^start_time: 981000000000$' "$run/meta.yaml" &&
    grep -q '^end_time: 981000005000$' "$run/meta.yaml"
ok $? "a run without state gets the times of its points"
g show one && grep -q "param${tab}lr${tab}1" out && grep -q "tag${tab}a${tab}b" out
ok $? "a repaired run keeps its parameters and tags"

id=$(gtrack run start --name live -e exp) && gtrack run log "$id" x=1 -s 1
live=$exp/$id
rm "$live/meta.yaml"
g ls live -c status,damage --no-header &&
    holds out "RUNNING${tab}meta.yaml is missing"
ok $? "a live run without a meta.yaml is listed as running"
g fsck --repair live && grep -q '^status: 1$' "$live/meta.yaml" &&
    grep -q '^end_time: null$' "$live/meta.yaml" && gtrack run end "$id"
ok $? "a live run can be repaired and ended"
rm -rf "$live"

# ---- what is no such run ----
empty=$exp/0123456789abcdef0123456789abcdef
mkdir "$empty" && g ls "$(basename "$empty")"
test $? = 3
ok $? "a new empty folder is not listed as a damaged run"
mkdir "$empty/tags" "$empty/metrics" && aged "$empty" &&
    g ls "$(basename "$empty")" && grep -q 'meta.yaml is missing' out
ok $? "an old empty folder is listed as a damaged run"
g fsck --repair && grep -q 'never begun' out && test ! -e "$empty"
ok $? "fsck --repair removes a run without files"
mkdir -p "$empty/artifacts" "$exp/notes"
mkdir -p mlruns/7/0123456789abcdef0123456789abcdef/artifacts
aged "$empty" && g ls -c name --no-header && holds out "one
two" && g fsck
ok $? "a folder that has only artifacts is no run"
rm -r "$empty" "$exp/notes" mlruns/7

# ---- experiments ----
rm "$exp/meta.yaml"
g ls -c name,experiment --no-header && holds out "one${tab}exp
two${tab}exp"
ok $? "ls shows the runs of an experiment without a meta.yaml"
g fsck
test $? = 1 && grep -q "^(experiment exp)${tab}.*is missing${tab}no$" out
ok $? "fsck reports an experiment without a meta.yaml"
g fsck --repair && g fsck && grep -q '^name: "exp"$' "$exp/meta.yaml" &&
    grep -q '^creation_time: 981000000000$' "$exp/meta.yaml"
ok $? "fsck --repair writes the meta.yaml of an experiment"
echo x=1 | gtrack log three -e exp 2>err && g ls three -c folder --no-header &&
    test "$(dirname "$(cat out)")" = "$exp"
ok $? "new runs go to the repaired experiment"
rm mlruns/.gtrack.trash/experiment.* && printf 'name: "a: b"\nx: [\n' >"$exp/meta.yaml"
g fsck --repair && g fsck && grep -q '^name: "a: b"$' "$exp/meta.yaml" &&
    grep -q '^x: \[$' "$exp/meta.yaml.damaged"
ok $? "fsck --repair sets a malformed meta.yaml aside, keeps the name"
sed -i '/^artifact_location/d; s/^name.*/name: null/' "$exp/meta.yaml"
echo 'tier: 3' >>"$exp/meta.yaml"
g fsck --repair && g fsck && grep -q "^name: \"$(basename "$exp")\"$" "$exp/meta.yaml" &&
    grep -q "^artifact_location: \"file://$dir/$exp\"$" "$exp/meta.yaml" &&
    grep -q '^tier: 3$' "$exp/meta.yaml"
ok $? "fsck --repair adds missing keys and keeps the others"
cp -r "$exp" mlruns/42
g fsck --repair && g fsck && grep -q "(42)\"$" mlruns/42/meta.yaml
ok $? "fsck --repair makes a copied folder an experiment of its own"
rm -r mlruns/42

# ---- where nothing can be staged ----
mv mlruns/.gtrack.trash kept && : >mlruns/.gtrack.trash
id=$(gtrack run start --name inplace -e "$(basename "$exp")") && test -f "$exp/$id/meta.yaml" &&
    gtrack run end "$id" && g rm inplace && g gc --yes && test ! -e "$exp/$id"
ok $? "without a trash folder a run is built and removed in its place"
rm mlruns/.gtrack.trash && mv kept mlruns/.gtrack.trash

# ---- nothing of ours is ever without it ----
if strace -qq -o /dev/null true 2>/dev/null; then
    bad=
    for call in mkdir rename openat; do
        i=0
        while i=$((i + 1)); test $i -le 200 && test -z "$bad"; do
            strace -f -qq -o /dev/null -e "trace=$call" \
                -e "inject=$call:signal=KILL:when=$i" \
                gtrack run start --name "k$i" >out 2>err
            r=$?
            for f in mlruns/0/*/; do
                test ! -d "$f" || test -f "$f/meta.yaml" || bad="$call $i: $f"
            done
            test $r -ne 0 || break
        done
    done
    test -z "$bad" && test "$(ls -d mlruns/0/*/ | wc -l)" -ge 3
    ok $? "a run killed while it starts is complete or absent$bad"
    gtrack export --to mlflow -o away 2>err
    for i in 5 6 7; do
        rm -rf back
        strace -f -qq -o /dev/null -e trace=rename \
            -e inject=rename:signal=KILL:when=$i -E GTRACK_CACHE= \
            gtrack -r back import away >out 2>err
        find back/.gtrack.trash -name 'new.*' | grep -q . || bad="$i is late"
    done
    gtrack -r back fsck 2>err && test -z "$bad" && g -r back import away &&
        gtrack -r back ls -c id,steps --sort id >after &&
        gtrack ls -c id,steps --sort id | cmp - after
    ok $? "a killed import leaves no partial run and can be repeated"
    left=$(ls -d mlruns/.gtrack.trash/new.* mlruns/.gtrack.trash/*.tmp 2>err |
        wc -l)
    g fsck && test "$left" -gt 0
    ok $? "fsck ignores the remains of a killed process for an hour"
    find mlruns/.gtrack.trash -exec touch -d '2 hours ago' {} +
    g fsck
    test $? = 0 && test "$(grep -c 'process was killed' out)" -eq "$left" &&
        g fsck --repair &&
        ! ls -d mlruns/.gtrack.trash/*new* >/dev/null 2>&1
    ok $? "fsck --repair removes the remains after an hour"
    g rm three && strace -f -qq -o /dev/null -e trace=unlinkat,unlink,rmdir \
        -e inject=unlinkat,unlink,rmdir:signal=KILL:when=3 \
        gtrack gc -y --older-than 0 >out 2>err
    g ls three --deleted
    test $? = 3 && test -n "$(ls -d mlruns/.gtrack.trash/old.*)"
    ok $? "a run whose removal was killed is gone"
else
    for what in start import wait repair removal; do
        skip "a process killed during $what leaves nothing" "no strace, or no right to trace"
    done
fi

# ---- a move to another experiment that was interrupted ----
g log moved -e from </dev/null
run=$(gtrack where moved)
sed -i -e 's/^experiment_id:.*/experiment_id: "5"/' \
    -e 's|^artifact_uri:.*|artifact_uri: "file:///5/x/artifacts"|' "$run/meta.yaml"
cp -r mlruns before-move
g fsck
test $? = 1 && grep -q 'another experiment_id' out
ok $? "fsck tells of a run whose move was interrupted"
for command in "mv -e from" "mv -e to" rm; do
    rm -rf mlruns && cp -r before-move mlruns
    # shellcheck disable=SC2086 # a command and its options
    gtrack $command moved >out 2>err
    gtrack fsck >>out 2>>err
    is "$?$(grep -c "///5/" "$(gtrack where moved)/meta.yaml")" 00 \
        "gtrack $command mends what an interrupted move left"
done

disturb=$build/t/lib/disturb
if "$disturb" -n 1 true || test $? -ne 137; then
    skip "the next edit of any run completes a move that was killed" \
        "no right to supervise system calls"
else
    rm -rf mlruns
    g log other </dev/null
    g log moved -e from </dev/null
    cp -r mlruns unmoved
    moment=0 bad='' left=0
    while moment=$((moment + 1)); do
        rm -rf mlruns && cp -r unmoved mlruns
        "$disturb" -c write -n $moment gtrack mv -e to moved >out 2>err
        test $? -eq 137 || break
        test "$(gtrack ls -q --no-header --tsv -c name --sort name)" = "moved
other" || bad="$bad; $moment: ls: $(gtrack ls 2>&1)"
        gtrack fsck >out 2>err || left=$((left + 1))
        gtrack tag other color=blue 2>err
        gtrack fsck -q >out 2>err || bad="$bad; $moment: $(cat out err)"
        ! ls mlruns/.gtrack.trash/moves/* 2>err || bad="$bad; $moment: a mark"
    done
    test "$left" -gt 0 || bad="$bad; no kill left anything of $moment"
    is "$bad" "" "the next edit of any run completes a move that was killed"
fi

# ---- files that cannot be opened for a moment ----
if "$disturb" -n 1 true || test $? -ne 137; then
    for what in "gc reports" "the cache forgets"; do
        skip "$what runs that could not be read for a moment" \
            "no right to supervise system calls"
    done
else
    rm -rf mlruns
    printf 'loss=3\n\nloss=2\n' | gtrack log kept 2>err
    gtrack log gone </dev/null 2>err && gtrack rm gone 2>err
    cp -r mlruns deleted
    opened=$("$disturb" -c open gtrack gc -y 2>&1 | sed -n 's/^disturb: \([0-9]*\) .*/\1/p')
    moment=0 bad='' failed=0
    while moment=$((moment + 1)); test $moment -le "$opened"; do
        rm -rf mlruns && cp -r deleted mlruns
        "$disturb" -c open -n $moment -e EMFILE gtrack gc -y >out 2>err
        status=$?
        test $status -eq 0 || failed=$((failed + 1))
        test $status -ne 0 || test -z "$(gtrack ls -d -q --no-header gone 2>err)" ||
            bad="$bad; $moment: kept, with status 0"
    done
    test $failed -gt 0 || bad="$bad; none of $opened failed"
    is "$bad" "" "gc reports runs that could not be read for a moment"

    rm -rf mlruns cache && cp -r deleted mlruns
    # what changed a moment ago is not cached
    later() {
        env LD_PRELOAD="$build/t/lib/shim.so" SHIM_OF=gtrack SHIM_JUMP=1:100 "$@"
    }
    GTRACK_CACHE=
    later gtrack ls -d --tsv >want 2>err
    GTRACK_CACHE=$dir/cache
    export GTRACK_CACHE
    opened=$("$disturb" -c open gtrack ls -d 2>&1 | sed -n 's/^disturb: \([0-9]*\) .*/\1/p')
    moment=0 bad=''
    while moment=$((moment + 1)); test $moment -le "$opened"; do
        rm -rf cache
        later "$disturb" -c open -n $moment -e EMFILE gtrack ls -d >out 2>err
        later gtrack ls -d --tsv 2>err | cmp -s - want || bad="$bad $moment"
    done
    test "$opened" -gt 10 -a -s cache/*.index || bad="$bad only $opened"
    is "$bad" "" "the cache forgets runs that could not be read for a moment"
    rm -rf cache
    later "$disturb" -c write -p cache gtrack ls >out 2>err
    n=$(sed -n 's/^disturb: \([0-9]*\) calls$/\1/p' err)
    for moment in $(seq "${n:-0}"); do
        rm -rf cache
        later "$disturb" -c write -p cache -n "$moment" gtrack ls >out 2>err
        later gtrack ls >out 2>err
        test "$(ls cache)" = "$(basename cache/*.index)" || ls cache
    done >bad
    test "${n:-0}" -gt 2 -a ! -s bad
    ok $? "a cache that a kill interrupts leaves nothing behind" "$n calls: $(cat bad)"
    GTRACK_CACHE=
fi
rm -rf mlruns
g log first -e noted </dev/null
id=$(basename "$(dirname "$(gtrack where first)")")
mkdir -p again/.gtrack.trash/experiment."$id"/x
g log second -r again -e noted </dev/null
test $? = 0 && grep -q 'the name of the experiment noted cannot be recorded' err
ok $? "a name of an experiment that cannot be noted is reported"

done_testing
