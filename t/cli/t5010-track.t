#!/bin/sh
# gtrack writes runs from a shell, lists, compares and corrects them.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands
export GT_CLOCK_MS=1700000000000

g ls
test $? = 3 && grep -q "mlruns" err && test "$(wc -l <err)" = 1
ok $? "ls without a store prints one line and ends with status 3"

gtrack run start -e first >ids && gtrack run end "$(cat ids)" && gtrack rm -q "$(cat ids)"
id=$(gtrack run start --name first -p optim.lr=0.1 -p seed=1 -t phase=a)
test "${#id}" = 32
ok $? "run start prints the id of the run"
g run log "$id" loss=3 -s 1 && g run log "$id" loss=2.5 acc=0.25 -s 2
ok $? "run log adds points to a run"
g ls --no-header -c name,status,loss,acc,steps,phase
is "$(cat out)" "first${tab}RUNNING${tab}2.5${tab}0.25${tab}2${tab}a" \
    "ls lists a run while it runs"
g run log "$id" auto=1 && g run log "$id" auto=2 && g metrics first auto --no-header
is "$(cat out)" "3${tab}1.0
4${tab}2.0" "run log without a step uses the next one"
g run log "$id" loss=fast
test $? = 2 && grep -q "expects a number" err
ok $? "run log refuses a word as a value"
g run log "$id" -p seed=2
test $? = 2
ok $? "run log without a value ends with status 2"
g run log "$id" loss=2.5 -s 2 -p seed=2
test $? = 2 && grep -q "already" err
ok $? "run log refuses to change a parameter"
g run log "$id" 'a/b@=1' -s 5 && g run log "$id" 'a/b~=2' -s 5
is "$(cat mlruns/*/"$id"/metrics/a/b_)" "1700000000000 1.0 5" \
    "run log keeps odd keys apart that an earlier one has written"
g run end "$id" --status failed && g ls --no-header -c status && holds out FAILED
ok $? "run end writes the status of the run"

printf 'step=%d train/loss=%g, lr=%g\n' 1 3 .1 2 2.8 .1 3 2.25 .05 |
    gtrack log second -p optim.lr=0.2 -p seed=1 2>err
ok $? "log reads pairs of key=value"
printf '{"step": %d, "train": {"loss": %s}, "note": "x"}\n' 1 4 2 NaN 3 2 |
    gtrack log third -p optim.lr=0.2 -p seed=2 2>err
ok $? "log reads objects of JSON Lines"
g metrics third train/loss --tsv
is "$(cat out)" "step${tab}train/loss
1${tab}4.0
2${tab}nan
3${tab}2.0" "log flattens objects and keeps NaN"
g metrics second --from 2 'l*' train/loss --no-header
is "$(cat out)" "2${tab}0.1${tab}2.8
3${tab}0.05${tab}2.25" "metrics takes patterns and a range of steps"
g metrics second 'l*' train/loss --to 2 -n 1 --no-header
is "$(cat out)" "2${tab}0.1${tab}2.8" "metrics --to and -n print the last steps before one"
g metrics second lr --long -n 1 --csv
is "$(cat out)" 'metric,step,time,value
lr,3,2023-11-14T22:13:20.000Z,0.05' "metrics --long prints a row for each point"
g metrics second lr --long --to 2 -n 1 --no-header && cut -f2 out >steps && holds steps 2
ok $? "metrics --long with --to and -n prints the last step before one" "$(cat out)"
g metrics second lr -n -1
test $? = 2 && grep -q 'expects 0 or more' err
ok $? "metrics refuses a negative number of steps"
g tail second -n 2 lr && holds out 'step=2 lr=0.1
step=3 lr=0.05' && g tail second -n 0 lr && test ! -s out
ok $? "tail -n limits the lines" "$(cat out err)"
g ls second --no-header -c 'first(train/loss),at(train/loss,2),at(train/loss,99)' &&
    holds out "3.0${tab}2.8${tab}2.25"
ok $? "ls prints the first value and the value at a step" "$(cat out err)"
g metrics second --long --no-header && cut -f1 out | uniq >long &&
    g metrics second --no-header && cut -f1 out | cmp -s - long
ok $? "metrics without a name prints every metric"
g metrics second nothing
test $? = 3 && grep -q "no metric nothing" err
ok $? "metrics of a missing metric ends with status 3"
gtrack log tagged -r other -p a=1 -t team=x </dev/null 2>err &&
    gtrack exec -r other --name run2 -t team=y -- true 2>err &&
    g ls -r other -c name,tags.team --sort name --no-header &&
    holds out "run2${tab}y
tagged${tab}x"
ok $? "log and exec set tags"
g tag second good=1 bad
test $? = 2 && g tag second && ! grep -q good out
ok $? "tag sets all of its arguments or none"
gtrack log "$(printf 'x\033]0;y\007z')" -r other </dev/null 2>err
grep -q 'run x^\[]0;y^Gz,' err && g show -r other @latest --color never
ok $? "control characters in a name do not reach the terminal"
gtrack log bad -r other -p a </dev/null 2>err
test $? = 2 && g ls -r other bad
test $? = 3
ok $? "a parameter without a value starts no run"
printf 'no value here\n' | gtrack log fourth 2>err >out
grep -q 'no line had a value' err && g rm fourth
ok $? "log warns when no line had a value"

echo step=1 y=1 | gtrack log again 2>err; echo step=2 y=2 | gtrack log again --resume 2>err
printf 'step=2 y=7\nstep=3 y=8\n' | gtrack log again --resume 2>err
g metrics again y --no-header && holds out "1${tab}1.0
2${tab}7.0
3${tab}8.0"
ok $? "a run resumed from an earlier step has each step once"
g metrics again y -A --long --no-header && test "$(wc -l <out)" = 4 && g rm again
ok $? "metrics -A prints the points of all attempts"

g ls --sort '-min(train/loss),status' --markdown &&
    head -n 1 out | grep -q '^| name *| min(train/loss) *| status *| started' &&
    test "$(head -n 1 out | grep -o status | wc -l)" = 1
ok $? "ls shows the columns that it sorts by first and once"
GT_CLOCK_MS=1700007200000 g ls --aligned first second third
is "$(sed 's/ *$//' out)" "\
name    status  lr   seed  max(acc)  steps  time  started  train/loss    acc  loss
first   FAILED  0.1  1         0.25      5  0.0s  2h ago            -   0.25   2.5
second          0.2  1            -      3  0.0s  2h ago         2.25      -     -
third           0.2  2            -      3  0.0s  2h ago         2.00*     -     -" \
    "ls on a terminal shows first what tells the runs apart"
g ls --sort train/loss --no-header -c name
is "$(cat out)" "third
second
first" "ls --sort puts runs without a value last"
g ls --sort -train/loss -n 2 --no-header -c name,lr
is "$(cat out)" "second${tab}0.05
third${tab}" "ls --sort -KEY sorts descending with missing values last"
for v in 10 9 5x nan; do gtrack run start -e mixed -p v=$v >/dev/null; done
g ls -e mixed --sort v -c v --no-header
is "$(cat out)" "9
10
5x
nan" "ls --sort compares numbers as numbers and puts words last"
for v in 9 10 9.5; do gtrack run start -e mixed -p v=$v >/dev/null; done
g ls -e mixed -g v --sort v --no-header && cut -f 1,2 out >groups && holds groups "9${tab}2
9.5${tab}1
10${tab}2
5x${tab}1
nan${tab}1"
ok $? "ls -g finds the runs of a group wherever they are"
g hours -e mixed -g v --sort v --no-header && cut -f 1,2 out | cmp -s - groups
ok $? "hours -g has the groups of ls -g"
g rm 'experiment = mixed'
g --no-header -w 'metrics.train/loss < 2.1' --root mlruns ls -c name
holds out third && g -qn 1 -r mlruns ls third --no-header -c name && holds out third
ok $? "options may stand before the command"
g -r mlruns
test $? = 2 && holds err "gtrack: a command is expected; try 'gtrack --help'"
ok $? "options without a command are refused"
for program in gtrack gplot; do
    $program >out 2>err
    test $? = 2 && test ! -s err && $program --help | cmp -s - out
    ok $? "$program without an argument prints its commands"
done
g -r mlruns lss
test $? = 2 && holds err "gtrack: unknown command 'lss'; did you mean 'ls'?"
ok $? "an unknown command is refused with a suggestion"
gtrack --version >want && g -Vv && head -n 1 out | cmp -s - want &&
    g -vV && head -n 1 out | cmp -s - want
ok $? "-V and -v may stand in one word before the command"
g -rV ls
test $? = 3 && grep -q "V" err && test ! -s out
ok $? "the value of an option before the command is not read as options"
g ls -w 'metrics.train/loss < 2.1' -c name --no-header
is "$(cat out)" third "ls --where chooses runs by a metric"
g ls -w 'metrics.train/loss < 0' -c name --no-header && test ! -s out
ok $? "ls of no run prints nothing and ends with status 0"
g ls -x -w 'metrics.train/loss < 0'
test $? = 1
ok $? "ls --exit-status of no run ends with status 1"
g ls --status nonsense
test $? = 2 && grep -q "expects running, scheduled, .* or stale, not" err
ok $? "ls refuses an unknown status"
g ls --status FAILED -c name --no-header && cp out upper && test -s upper &&
    g ls --status failed -c name --no-header && cmp -s out upper
ok $? "ls takes a status in upper and lower case"
g ls -c 'name,min(train/loss),argmin(train/loss),at(train/loss, 2)' --csv third
is "$(cat out)" 'name,min(train/loss),argmin(train/loss),"at(train/loss, 2)"
third,2.0,3,nan' "columns of ls may be functions of metrics"
g ls --sort 'metrics.train/loss DESC, seed' --no-header -c name && cp out down &&
    g ls --sort '-train/loss,seed' --no-header -c name && cmp -s out down &&
    g ls --sort 'at(train/loss, 2) desc' --no-header -c name -n 1 && holds out second
ok $? "ls --sort takes DESC after a column"
g ls -w 'loss < 2.6 or lr = 0.05' --sort name -c name --no-header && holds out "first
second"
ok $? "a filter takes a metric without metrics."
g ls -w 'train/loss is finite and metrics.acc is null' --sort name -c name --no-header && holds out "second
third"
ok $? "a filter tests for finite values"
for words in '-e firts' "-w experiment='Defalt'" '-w metrics.train_loss<3' '-w params.sed=1' \
    '-w sed=1'; do
    # shellcheck disable=SC2086
    g ls $words
    test $? = 3 && grep -q "; did you mean \(first\|Default\|train/loss\|seed\)?\$" err
    ok $? "ls $words suggests what exists and ends with status 3"
done
g ls -c nonsense
test $? = 2 && grep -q nonsense err
ok $? "ls refuses an unknown column"
g ls --json first second -c name,train/loss,started
is "$(cat out)" '{
  "schema": "gtrack.ls/1",
  "columns": ["name", "train/loss", "started"],
  "rows": [
    {"name": "first", "train/loss": null, "started": "2023-11-14T22:13:20.000Z"},
    {"name": "second", "train/loss": 2.25, "started": "2023-11-14T22:13:20.000Z"}
  ]
}' "ls --json prints a schema, the columns and the rows"
g ls -g params.optim.lr -c train/loss --csv
grep -q '^0.1,1,,,,$' out &&
    grep -q '^0.2,2,2.125,0.17677669529663[0-9]*,2,1.58827' out
ok $? "ls -g prints mean, deviation, count and interval"

g compare second third --aligned
grep -q '^train/loss  *2.25  *2\*$' out && grep -q '^seed' out &&
    ! grep -q '^optim.lr' out
ok $? "compare prints what differs and marks the best value"
g compare second third --aligned --all && grep -q '^optim.lr' out
ok $? "compare --all prints equal values too"
g compare second third -b second --aligned &&
    grep -q '^  from second  *- *-0.25$' out
ok $? "compare -b prints the distance from a baseline"
g compare --latex second third -c name,train/loss && grep -q '\\toprule' out
ok $? "compare --latex uses booktabs"
for name in '[1] a_b%c' '*\x{}' 'a--b `c`' 'say "x"'; do gtrack run start -e odd --name "$name"; done >ids
if command -v pdflatex >out && kpsewhich booktabs.sty >out; then
    { printf '\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n'
      gtrack ls --latex -a
      printf '\\end{document}\n'; } >t.tex
    pdflatex -halt-on-error -interaction=batchmode t.tex >out 2>err
    ok $? "pdflatex compiles a table of ls --latex"
else
    skip "pdflatex compiles a table of ls --latex" "no pdflatex with booktabs"
fi
g ls -e odd --latex -c name --sort name
is "$(cat out)" '\begin{tabular}{l}
\toprule
name \\
\midrule
{}*\textbackslash{}x\{\} \\
{}[1] a\_b\%c \\
a-{}-b \textasciigrave{}c\textasciigrave{} \\
say \char34{}x\char34{} \\
\bottomrule
\end{tabular}' "ls --latex escapes special characters in names"
g rm 'experiment = odd'
g best train/loss --no-header && test "$(cut -f1,3,4 out)" = \
    "third${tab}2.0${tab}3"
ok $? "best finds the run with the lowest loss"
g best acc && test "$(sed -n 2p out | cut -f1,3)" = "first${tab}0.25"
ok $? "best finds the run with the highest accuracy"
g best train/loss -g optim.lr --csv && grep -q '^0.2,2,2.125' out
ok $? "best -g ranks groups of runs"

g show first --json && grep -q '"schema": "gtrack.show/1"' out &&
    grep -q '"optim.lr": "0.1"' out
ok $? "show --json prints schema and parameters"
if python3 -c 'import json' 2>/dev/null; then
    python3 -c 'import json,sys; json.load(open("out"))' 2>err
    ok $? "Python reads the output of show --json"
else
    skip "Python reads the output of show --json" "no python3"
fi
g show first --aligned && grep -q '^optim.lr *0.1$' out
ok $? "show prints sections with parameters"

g tag first phase=b 'key two=a=b' && g tag first -D phase && g tag first &&
    ! grep -q phase out && grep -q "key two${tab}a=b\$" out
ok $? "tag sets and deletes tags"
g note first 'a line' && printf 'a line\nanother\n' | gtrack note first - &&
    g note first && holds out 'a line
another'
ok $? "note writes text, and reads it from standard input"
g mv first 'a new name' && g ls 'a new name' -c name --no-header &&
    holds out 'a new name'
ok $? "mv renames a run"
add_dataset second stories
g mv -e other second && g ls -e other -c name,experiment --no-header &&
    holds out "second${tab}other"
ok $? "mv -e moves a run to another experiment"
grep -qx 'name: stories' "$(gtrack where second)/../datasets/d/meta.yaml" && g fsck
ok $? "a run that was moved still has its datasets"
g diff 'a new name' second && grep -q "^data${tab}stories${tab}${tab}" out
ok $? "diff prints the datasets that one run has read"
g metrics second lr && g where second && test -f "$(cat out)/meta.yaml"
ok $? "where prints the folder of a run"
gtrack where second >want && g where @best:lr && cmp -s want out &&
    g where 'metrics.lr > 0' && cmp -s want out
ok $? "where chooses runs by metrics"
printf 'step=1 x=4\nstep=2 x=inf\nstep=3 x=nan\n' | gtrack log blown 2>err &&
    echo step=1 x=3 | gtrack log tame 2>err &&
    g ls -w 'max(x) > 100 and mean(x) > 100' -c 'name,min(x),max(x)' --no-header &&
    holds out "blown${tab}4.0${tab}inf"
ok $? "filters and columns see that a metric was infinite"
g where @best:x:max && grep -q "$(gtrack where tame)" out
ok $? "a run whose metric was infinite is not the best one"
gtrack rm blown && gtrack rm tame
g rm second && g ls -c name --no-header && ! grep -q second out &&
    g restore second && g ls -c name --no-header && grep -q second out
ok $? "rm hides a run and restore brings it back"
g rm second && g gc </dev/null
test $? = 2 && g gc --yes && g ls -d -c name --no-header && ! grep -q second out
ok $? "gc asks before it removes runs for good"
g restore third
test $? = 3
ok $? "restore of a run that is not deleted ends with status 3"

g exec --name prog -p a=1 -- sh -c 'echo step=1 x=2; echo x=5; echo e >&2'
test "$(cat out)" = "step=1 x=2
x=5" && grep -qx e err
ok $? "exec passes on what the command prints"
g metrics prog x --no-header && holds out "1${tab}2.0
2${tab}5.0"
ok $? "exec logs the values that the command prints"
g artifacts prog --cat stdout.txt && holds out "step=1 x=2
x=5"
ok $? "exec keeps the output as an artifact"
g exec --name bad -- sh -c 'exit 75'
test $? = 75 && g ls bad -c status --no-header && holds out PREEMPTED
ok $? "exec ends with the status of the command"
g exec --name blank -- echo && holds out ''
ok $? "exec passes on an empty line" "$(cat err)"
(ulimit -f 64 && g exec --name cut -- seq 20000) >out 2>err
test $? = 1 && grep -q 'cut: [0-9]* bytes of stdout.txt are lost: .*too large' err
ok $? "exec reports output that could not be saved"
gtrack exec -q --name shown -- seq 3 >/dev/full 2>err
test $? = 1 && grep -q 'cannot write standard output' err &&
    seq 3 | cmp -s - "$(gtrack where shown)/artifacts/stdout.txt"
ok $? "exec reports output that could not be shown, and saves it"
if "$build/t/lib/disturb" -n 1 true; test $? = 137; then
    bad=
    for n in $(seq 50 80); do
        "$build/t/lib/disturb" -c write -n $n -e ENOSPC gtrack -r "full/$n" \
            exec -q -- sh -c 'seq 3000; echo; seq 3000' >out 2>err ||
            grep -q '^gtrack: ' err || bad="$bad $n: no message"
        grep -q '^gtrack: ' err || cmp -s out full/$n/0/*/artifacts/stdout.txt ||
            bad="$bad $n: other output"
    done
    is "$bad" "" "a write that fails once costs exec no output, or it says so"
else
    skip "a write that fails once costs exec no output" "no right to supervise"
fi
g exec --name masked -- sh -c true --api-key SEKRET1 --hf_token=SEKRET2 \
    WANDB_API_KEY=SEKRET3 --password 'SEKRET 4' --max-tokens 5
g cmd masked
like out \
    "sh -c true --api-key '\*\*\*' '--hf_token=\*\*\*' 'WANDB_API_KEY=\*\*\*' --password '\*\*\*' --max-tokens 5$" \
    "exec masks secrets in the command line that it records"
! grep -rq SEKRET "$(gtrack where masked)"
ok $? "exec records no secret of the command line anywhere"
g run start --name keeps -p api_key=SEKRET -p 'from=ftp://me:SEKRET@host/' -t auth_token=SEKRET
g run log keeps loss=1 -p api_key=SEKRET && g tag keeps password=SEKRET tokens=12 &&
    g note keeps 'the key ghp_0123456789abcdefghijSEKRET0123456789' &&
    ! grep -rq SEKRET "$(gtrack where keeps)" &&
    test "$(gtrack ls keeps -c api_key,tags.password,tokens --tsv --no-header)" = \
        "***$tab***${tab}12"
ok $? "no command records a secret as a parameter or a tag" \
    "$(grep -r SEKRET "$(gtrack where keeps)")"
g exec -- sh -c 'exit 7'
is $? 7 "exec passes on a status that gtrack has no meaning for"
perl -e 'system @ARGV; print $? & 127, "\n"' gtrack exec --name shot -- \
    sh -c 'kill -KILL $$' >out 2>err
is "$(cat out) $(gtrack ls shot -c status --no-header)" "9 KILLED" \
    "exec ends by the signal that has ended the command"
timeout 60 gtrack exec --name left -- \
    sh -c 'sleep 600 & echo $! >left.pid; printf loss=1; exit 3' >out 2>err
is "$? $(gtrack ls left -c status,loss --no-header --tsv)" "3 FAILED${tab}1.0" \
    "exec ends with its command, also if another process has the output"
kill "$(cat left.pid)"
ok $? "what the command left running is left alone"
# stopped SIGNAL COMMAND: begin the command, send the signal to gtrack exec when
# the file "ready" is there, and wait until processes 1.pid and 2.pid are gone
stopped() {
    rm -f ready
    gtrack exec --name stopped --grace 0.5 -- sh -c "$2" >out 2>err &
    await_path ready $!
    kill "-$1" $!
    wait $!
    status=$?
    timeout 60 tail --pid="$(cat 1.pid)" --pid="$(cat 2.pid)" -f /dev/null
    gone=$?
}
stopped TERM 'sh -c "echo \$\$ >1.pid; exec sleep 600" & sleep 600 &
    echo $! >2.pid; until test -s 1.pid; do :; done; touch ready; wait'
is "$status $gone" "143 0" "a signal to exec reaches all that the command started"
stopped TERM 'trap "" TERM; echo $$ >1.pid; sleep 600 & echo $! >2.pid
    touch ready; while :; do wait; done'
is "$status $gone" "137 0" "a command that ignores the signal is killed after a time"
is "$(gtrack ls stopped -c status --no-header | sort -u)" KILLED \
    "a run that a signal stopped is KILLED"
stopped KILL 'trap "kill \$(cat 2.pid); exit" TERM; echo $$ >1.pid; sleep 600 & echo $! >2.pid
    touch ready; wait'
is "$status $gone" "137 0" "a command does not outlive gtrack exec"
# As the first process of a container, it is the parent of all orphans.
cat >orphans.sh <<'END'
for i in 1 2 3 4; do
    (true &)
done
i=0
while grep -q '^State:.*Z' /proc/[0-9]*/status 2>/dev/null && test $i -lt 100000; do
    i=$((i + 1))
done
echo "$(cat /proc/1/comm) $((i < 100000))"
END
if unshare -rpf --mount-proc true 2>err; then
    unshare -rpf --mount-proc gtrack exec -q --name first -- sh orphans.sh >out 2>err
    is "$? $(cat out)" "0 gtrack 1" "exec as the first process of a container reaps orphans"
else
    skip "exec as the first process of a container reaps orphans" \
        "no right to make namespaces"
fi
g exec --name none -- ./no-such-program
test $? = 127 && g ls none -c status --no-header && holds out FAILED
ok $? "exec of a missing command leaves a failed run"
g cmd prog && grep -q "sh -c 'echo step=1" out
ok $? "cmd prints the command quoted for a shell"
echo data >file && g artifacts prog --add file --under sub &&
    g artifacts prog --cat sub/file && holds out data
ok $? "artifacts --add copies a file into the run"
g artifacts prog --cat ../meta.yaml
test $? = 2
ok $? "artifacts refuses a path outside the run"
g diff prog bad && grep -q "^param${tab}a${tab}1${tab}\$" out
ok $? "diff prints the parameters that differ"
for words in "" --runs; do
    g du --tsv $words && awk -F'\t' 'NR == 1 { n = NF } NF != n { exit 1 }
        NR > 1 && $(n - 3) + $(n - 2) + $(n - 1) != $n { exit 1 }' out
    ok $? "du $words prints a table whose bytes add up"
done
g where && grep -q MLFLOW_ALLOW_FILE_STORE out
ok $? "where explains how other programs open the store"

gtrack ls --aligned --color=always | grep -q "$(printf '\033')"
ok $? "ls --color=always prints colours"
NO_COLOR=1 gtrack ls --aligned >out && ! grep -q "$(printf '\033')" out
ok $? "NO_COLOR turns colours off"
for i in 1 2 3; do gtrack log same -r twins -q </dev/null; done
gtrack ls -r twins -c id --no-header >ids
for command in "rm same" "mv same -e other" "mv same one" "tag same a=b" "restore same"; do
    test "$command" = "restore same" && g -r twins rm "name = 'same'"
    # shellcheck disable=SC2086
    g -r twins $command
    test $? = 2 && grep -q "3 runs are named same; give the id of one ($(head -c 8 ids), " err
    ok $? "$command refuses a name that several runs have"
done
g ls -r twins -c name --no-header && test ! -s out && g ls -r twins -d -c name,deleted --no-header -n 1 &&
    holds out "same${tab}deleted"
ok $? "rm of a filter deletes several runs of one name"
g ls -r twins -d --aligned && grep -q 'deleted' out && g ls -r twins -d && grep -q 'deleted' out
ok $? "ls -d marks deleted runs"
bad=
for form in aligned json csv tsv markdown latex; do
    g ls -r twins --$form && grep -q "there are no runs in twins yet" err || bad="$bad $form"
done
is "$bad" "" "ls of a store without runs says so in every form"
mkdir hollow && g ls -r hollow
like err "there are no runs in hollow yet" "ls of an empty folder says that it has no runs"
g -r twins restore "$(head -n 1 ids)"
g ls -r twins --status failed --aligned
like err "no run in twins matches" "ls says that no run matches its options"
mkdir strange && touch strange/file
g ls -r strange
test $? = 3 && grep -q "strange is not a store" err
ok $? "ls of a folder without a store ends with status 3"
g tag same -r twins mlflow.runName=alone && g ls -r twins -c name --no-header && holds out alone
ok $? "tag renames a run with mlflow.runName"
gtrack run start -r twins --name other >ids2 && g -r twins mv other alone
test $? = 0 && grep -q "2 runs are named alone now" err
ok $? "mv warns of a name that another run has"
g run log -r twins "$(cat ids2)" x=1 -s 9223372036854775807 && g run log -r twins "$(cat ids2)" x=1
test $? = 2 && grep -q "no step can follow it" err && g ls -r twins -c damage --no-header &&
    ! grep -q . out
ok $? "run log refuses a step above the highest one"
yes 'step=1 x=2' | head -n 3000 | gtrack log -r twins equal 2>err
g metrics -r twins equal x --long --no-header -A
is "$(tail -n 1 out | cut -f3)" "2023-11-14T22:13:21.000Z" \
    "equal points of a step do not run more than a second ahead"
g ls --json --csv
test $? = 2
ok $? "ls refuses two output formats"
gtrack ls 2>err | head -1 >/dev/null
test ! -s err
ok $? "a closed pipe is no error"
for i in 1 2 3 4; do
    echo step=1 loss=1 | gtrack log "col$i" -e columns -p lr=$i \
        $(test $i = 1 && echo '-p alone=1') $(test $i -lt 3 && echo '-p both=1') 2>err
done
g ls -e columns --aligned
head -n 1 out >head
test "$(grep -c alone head)" = 0 && grep -q ' both .* lr \| lr .* both ' head
ok $? "ls shows no parameters on a terminal that few of the runs have"
g ls --aligned col1 col3 col4
head -n 1 out >head
test "$(grep -c 'alone\|both' head)" = 0 && grep -q ' lr ' head
ok $? "one of three runs is fewer than half of them"
g show prgo
test $? = 3 && grep -q 'did you mean prog?' err
ok $? "a misspelt run name gets a suggestion"
gtrack help ls >out && gtrack ls --help | cmp -s - out &&
    gtrack help | grep -q '^commands:'
ok $? "help prints what --help prints"


# ---- many runs ----
seq -f 'rows/0/b%031.0f' 300 | xargs mkdir -p
printf 'experiment_id: "0"\nname: Default\nlifecycle_stage: active\n' \
    >rows/0/meta.yaml
awk 'BEGIN { for (i = 1; i <= 300; i++) {
        id = sprintf("b%031d", i)
        print "run_id: " id "\nrun_name: n" i "\nstatus: 3\nuser_id: me" \
            "\nlifecycle_stage: active\nexperiment_id: \"0\"\nstart_time: " i \
            "\nend_time: " i + 9 "\nartifact_uri: a" >("rows/0/" id "/meta.yaml")
        close("rows/0/" id "/meta.yaml")
        print "n" i "," id >"rows.csv"
    } }'
g ls -r rows -c name,id --csv --no-header && cmp -s out rows.csv
ok $? "ls of many runs prints a row for each, in their order"
{ echo name,id && cat rows.csv; } >all.csv
g ls -r rows -c name,id --csv && cmp -s out all.csv && g ls -r rows -c name,id &&
    tr '\t' , <out | cmp -s - all.csv
ok $? "ls of many runs prints one header"
if strace -o trace true 2>err; then
    for i in 1 2 3 4 5 6; do echo step=1 x=1 | gtrack -r many log -q; done 2>err
    for names in few many; do
        test $names = few || (cd many/.gtrack.trash && seq -f other%g 5000 | xargs touch)
        strace -f -e trace=getdents64 -o $names.trace \
            gtrack -r many tag 'metrics.x = 1' team=$names >out 2>err
    done
    # a call that another thread interrupts has two lines
    is "$? $(grep -c 'getdents64(' many.trace)" \
        "0 $(grep -c 'getdents64(' few.trace)" \
        "an edit of many runs does not list the names of all runs for each"
else
    skip "the folders that an edit lists" "strace cannot trace here"
fi
done_testing
