#!/bin/sh
# gtrack fsck finds and repairs what MLflow cannot read.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands

# damage COMMAND: a fresh store in s of two finished runs; COMMAND is evaluated
# with $run and $exp, the folders of a run and of its experiment.
damage() {
    rm -rf s
    printf 'step=1 loss=2\nstep=2 loss=1\n' | gtrack log -q -r s -e exp one
    printf 'step=1 loss=3\n' | gtrack log -q -r s -e exp two
    run=$(gtrack where -r s one)
    exp=$(dirname "$run")
    eval "$1"
}

# fixed WHAT FINDING COMMAND: fsck finds the damage and repairs all of it; both
# runs keep their names, points and states
fixed() {
    damage "$3"
    g -r s fsck
    test $? = 1 && grep -q "$2" out && g -r s fsck --repair && ! grep -q 'no$' out &&
        g -r s fsck && test ! -s out &&
        g -r s ls --no-header --sort name -c name,status,count\(loss\),damage &&
        holds out "one${tab}${4-FINISHED}${tab}2${tab}
two${tab}FINISHED${tab}1${tab}"
    ok $? "fsck repairs $1"
}

meta() { printf '%s\n' "sed -i '$1' \$run/meta.yaml"; }

fixed "a start_time in quotes" "start_time in quotes" \
    "$(meta 's/^start_time: \(.*\)/start_time: "\1"/')"
fixed "an end_time in quotes" "end_time in quotes" \
    "$(meta 's/^end_time: \(.*\)/end_time: "\1"/')"
fixed "a run_id that is missing beside run_uuid" "no run_id" "$(meta '/^run_id/d')"
fixed "a missing artifact_uri" "no artifact_uri" "$(meta '/^artifact_uri/d')"
for status in 0 6 null FINISHED '"3"'; do
    fixed "the status $status" "unknown status" "$(meta "s/^status:.*/status: $status/")"
done
fixed "an unknown status of another tool's run" "unknown status" \
    "$(meta 's/^status:.*/status: 9/'); rm -r \$run/.gtrack" KILLED
fixed "a missing user_id of a running run" "no user_id" \
    "$(meta 's/^status:.*/status: 1/; s/^end_time:.*/end_time: null/; /^user_id/d')
    rm -r \$run/.gtrack" RUNNING
fixed "a stray file among the inputs" "inputs/x" 'mkdir -p $run/inputs; touch $run/inputs/x'
fixed "a stray folder among the inputs" "inputs/x" 'mkdir -p $run/inputs/x'
fixed "an empty folder whose name is no experiment's" ".gtrack" 'mkdir s/.gtrack'
fixed "a name that an experiment cannot have" "my.exp" 'mv $exp s/my.exp'
fixed "a name that a run cannot have" "run.1" 'mv $run $exp/run.1'
fixed "a name of a run that begins with a dash" "/-abc" 'mv $run $exp/-abc'

damage 'touch $run/.gtrack/meta.123.tmp'
g -r s fsck
test $? = 0 && grep -q 'meta.123.tmp.*killed.*not needed' out &&
    g -r s fsck --repair && test ! -e "$run/.gtrack/meta.123.tmp"
ok $? "fsck lists what a killed writer left, but not as a problem"
damage 'touch $run/.gtrack/meta.123.tmp; echo junk >>$run/metrics/loss'
g -r s fsck
test $? = 1 && grep -q '1 of 1 problems remain' err
ok $? "fsck counts only problems"
damage 'mkdir s/.git && touch s/.git/config'
g -r s fsck --repair
test $? = 1 && grep -q '\.git.*move it out of the store' out && test -f s/.git/config
ok $? "fsck --repair leaves a folder alone that is not of the store"
damage 'mkdir away && mv s away/t'
g -r away/t fsck --repair
test $? = 1 && grep -q 'do not exist: 4; .* --moved' out
ok $? "fsck notices that a store was moved"
g -r away/t fsck --repair --moved && g -r away/t fsck && test ! -s out
ok $? "fsck --repair --moved corrects the paths of artifacts"
mv away/t s && g -r s fsck --repair --moved && cp -r s copy
g -r copy fsck
ok $? "fsck of a copy reports no paths while the original exists"
g -r s fsck --json
grep -q '"rows": \[\]' out
ok $? "fsck --json of a store without damage prints a table without rows"
(cd "$(find s -type d -name metrics | head -n 1)" && seq 1100 | xargs touch)
g -r s fsck
test $? = 1 && test "$(wc -l <out)" -eq 1001 &&
    grep -q '^gtrack: 100 more problems are not listed' err &&
    grep -q '1100 of 1100 problems remain' err
ok $? "fsck lists a thousand problems of a run and counts the others" \
    "$(wc -l <out) $(tail -n 2 err)"
g -r s fsck --repair && g -r s fsck
ok $? "fsck --repair repairs what it does not list"
done_testing
