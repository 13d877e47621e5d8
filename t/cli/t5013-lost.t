#!/bin/sh
# A run or an experiment without its meta.yaml hides nothing, is listed with a
# flag and made anew; a run that begins is not taken for one.
. "${top_srcdir:-..}/t/lib/track-lib.sh"
export GTRACK_CACHE="$dir/cache"
ls_is() { g ls -c name,status,damage --no-header && is out "$1"; }
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
ok "a run without a meta.yaml is listed, with a flag"
g metrics one loss --no-header && is out "1${tab}2.0
2${tab}1.0"
ok "its points can be read"
g tag one a=b && g rm one
test $? = 3 && grep -q 'fsck --repair' err
ok "what needs the file says what to do"
g export --to mlflow -o part
test $? = 1 && grep -q '1 of 2 runs were not copied' err &&
    g ls -r part -c name --no-header && is out two
ok "no export of another run stops at it"
g fsck
test $? = 1 && grep -q "^one${tab}.*${tab}meta.yaml${tab}it is missing${tab}no$" out
ok "fsck tells"
g fsck --repair && g fsck && test ! -s out
ok "and repairs"
grep "$same" "$run/meta.yaml" | cmp -s - before
ok "what its state knows is as it was"

rm -r "$run/meta.yaml" "$run/.gtrack"
ls_is "one${tab}STALE${tab}meta.yaml is missing
two${tab}FINISHED${tab}"
ok "without its state nobody knows how it ended"
printf '%s\n' '981000000000 2.0 1' '981000005000 1.0 2' >"$run/metrics/loss"
g fsck --repair && ls_is "one${tab}KILLED${tab}
two${tab}FINISHED${tab}" && grep -q '^start_time: 981000000000$' "$run/meta.yaml" &&
    grep -q '^end_time: 981000005000$' "$run/meta.yaml"
ok "it gets the times of its points"
g show one && grep -q "param${tab}lr${tab}1" out && grep -q "tag${tab}a${tab}b" out
ok "parameters and tags are those it had"

id=$(gtrack run start --name live -e exp) && gtrack run log "$id" x=1 -s 1
live=$exp/$id
rm "$live/meta.yaml"
g ls live -c status,damage --no-header &&
    is out "RUNNING${tab}meta.yaml is missing"
ok "a run that is being written goes on as running"
g fsck --repair live && grep -q '^status: 1$' "$live/meta.yaml" &&
    grep -q '^end_time: null$' "$live/meta.yaml" && gtrack run end "$id"
ok "and can be repaired meanwhile"
rm -rf "$live"

# ---- what is no such run ----
empty=$exp/0123456789abcdef0123456789abcdef
mkdir "$empty" && g ls "$(basename "$empty")"
test $? = 3
ok "a folder made just now is a run that begins"
mkdir "$empty/tags" "$empty/metrics" && aged "$empty" &&
    g ls "$(basename "$empty")" && grep -q 'meta.yaml is missing' out
ok "an old one is listed"
g fsck --repair && grep -q 'never begun' out && test ! -e "$empty"
ok "and removed, if it has no file"
mkdir -p "$empty/artifacts" "$exp/notes"
mkdir -p mlruns/7/0123456789abcdef0123456789abcdef/artifacts
aged "$empty" && g ls -c name --no-header && is out "one
two" && g fsck
ok "a folder of artifacts alone, as a database's runs have, is no run"
rm -r "$empty" "$exp/notes" mlruns/7

# ---- experiments ----
rm "$exp/meta.yaml"
g ls -c name,experiment --no-header && is out "one${tab}exp
two${tab}exp"
ok "an experiment without a meta.yaml hides no run, and keeps its name"
g fsck
test $? = 1 && grep -q "^(experiment exp)${tab}.*is missing${tab}no$" out
ok "fsck tells"
g fsck --repair && g fsck && grep -q '^name: "exp"$' "$exp/meta.yaml" &&
    grep -q '^creation_time: 981000000000$' "$exp/meta.yaml"
ok "and makes it anew"
echo x=1 | gtrack log three -e exp 2>err && g ls three -c folder --no-header &&
    test "$(dirname "$(cat out)")" = "$exp"
ok "new runs of that name go there"
rm mlruns/.gtrack.trash/experiment.* && printf 'name: "a: b"\nx: [\n' >"$exp/meta.yaml"
g fsck --repair && g fsck && grep -q '^name: "a: b"$' "$exp/meta.yaml" &&
    grep -q '^x: \[$' "$exp/meta.yaml.damaged"
ok "of one that is not YAML the name is kept, and the file put aside"
sed -i '/^artifact_location/d; s/^name.*/name: null/' "$exp/meta.yaml"
echo 'tier: 3' >>"$exp/meta.yaml"
g fsck --repair && g fsck && grep -q "^name: \"$(basename "$exp")\"$" "$exp/meta.yaml" &&
    grep -q "^artifact_location: \"file://$dir/$exp\"$" "$exp/meta.yaml" &&
    grep -q '^tier: 3$' "$exp/meta.yaml"
ok "one that lacks keys gets them and keeps the others"
cp -r "$exp" mlruns/42
g fsck --repair && g fsck && grep -q "(42)\"$" mlruns/42/meta.yaml
ok "a copied folder becomes an experiment of its own"
rm -r mlruns/42

# ---- where nothing can be staged ----
mv mlruns/.gtrack.trash kept && : >mlruns/.gtrack.trash
id=$(gtrack run start --name inplace -e "$(basename "$exp")") && test -f "$exp/$id/meta.yaml" &&
    gtrack run end "$id" && g rm inplace && g gc --yes && test ! -e "$exp/$id"
ok "a run is built and removed in its place then"
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
    ok "killed anywhere in its beginning, a run is there whole or not at all$bad"
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
    ok "an import that was killed leaves no half run, and is done again"
    left=$(ls -d mlruns/.gtrack.trash/new.* | wc -l)
    g fsck && test "$left" -gt 0
    ok "what that leaves is let be for an hour"
    find mlruns/.gtrack.trash -exec touch -d '2 hours ago' {} +
    g fsck
    test $? = 1 && test "$(grep -c 'process was killed' out)" -eq "$left" &&
        g fsck --repair && test -z "$(ls mlruns/.gtrack.trash | grep new)"
    ok "then fsck tells, and clears it away"
    g rm three && strace -f -qq -o /dev/null -e trace=unlinkat,unlink,rmdir \
        -e inject=unlinkat,unlink,rmdir:signal=KILL:when=3 \
        gtrack gc -y --older-than 0 >out 2>err
    g ls three --deleted
    test $? = 3 && test -n "$(ls -d mlruns/.gtrack.trash/old.*)"
    ok "a run whose removal was killed is gone"
else
    for what in begun import left cleared removed; do
        skip "killed: $what" "no strace, or no right to trace"
    done
fi
echo "1..$n"
