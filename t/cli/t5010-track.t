#!/bin/sh
# gtrack writes runs from a shell, lists, compares and corrects them.
. "${top_srcdir:-..}/t/lib/track-lib.sh"
export GT_CLOCK_MS=1700000000000

g ls
test $? = 3 && grep -q "mlruns" err && test "$(wc -l <err)" = 1
ok "no store is one line and status 3"

id=$(gtrack run start --name first -p optim.lr=0.1 -p seed=1 -t phase=a)
test "${#id}" = 32
ok "run start prints the id"
g run log "$id" loss=3 -s 1 && g run log "$id" loss=2.5 acc=0.25 -s 2
ok "run log adds points"
g ls --no-header -c name,status,loss,acc,steps,phase
is out "first${tab}RUNNING${tab}2.5${tab}0.25${tab}2${tab}a"
ok "the run is listed while it runs"
g run log "$id" auto=1 && g run log "$id" auto=2 && g metrics first auto --no-header
is out "3${tab}1.0
4${tab}2.0"
ok "without a step it is the next one"
g run log "$id" loss=fast
test $? = 2 && grep -q "no number" err
ok "a text is refused as a metric"
g run log "$id" -p seed=2
test $? = 2
ok "run log wants a value"
g run log "$id" loss=2.5 -s 2 -p seed=2
test $? = 2 && grep -q "already" err
ok "a parameter does not change"
g run end "$id" --status failed && g ls --no-header -c status && is out FAILED
ok "run end writes the status"

printf 'step=%d train/loss=%g, lr=%g\n' 1 3 .1 2 2.8 .1 3 2.25 .05 |
    gtrack log second -p optim.lr=0.2 -p seed=1 2>err
ok "log reads key=value"
printf '{"step": %d, "train": {"loss": %s}, "note": "x"}\n' 1 4 2 NaN 3 2 |
    gtrack log third -p optim.lr=0.2 -p seed=2 2>err
ok "log reads JSON Lines"
g metrics third train/loss --tsv
is out "step${tab}train/loss
1${tab}4.0
2${tab}nan
3${tab}2.0"
ok "objects are flattened, NaN is kept"
g metrics second --from 2 'l*' train/loss --no-header
is out "2${tab}0.1${tab}2.8
3${tab}0.05${tab}2.25"
ok "metrics takes patterns and a range"
g metrics second lr --long -n 1 --csv
is out 'metric,step,time,value
lr,3,2023-11-14T22:13:20.000Z,0.05'
ok "metrics --long has a row a point"
g metrics second --long --no-header && cut -f1 out | uniq >long &&
    g metrics second --no-header && cut -f1 out | cmp -s - long
ok "without a metric, of each"
g metrics second nothing
test $? = 3 && grep -q "no metric nothing" err
ok "a metric that is not there is status 3"
gtrack log tagged -r other -p a=1 -t team=x </dev/null 2>err &&
    gtrack exec -r other --name run2 -t team=y -- true 2>err &&
    g ls -r other -c name,tags.team --sort name --no-header &&
    is out "run2${tab}y
tagged${tab}x"
ok "log and exec take tags"
g tag second good=1 bad
test $? = 2 && g tag second && ! grep -q good out
ok "tag sets all or none"
gtrack log "$(printf 'x\033]0;y\007z')" -r other </dev/null 2>err
grep -q 'run x?]0;y?z,' err && g show -r other @latest --color never
ok "a name does not command the terminal"
gtrack log bad -r other -p a </dev/null 2>err
test $? = 2 && g ls -r other bad
test $? = 3
ok "one that is not KEY=VALUE makes no run"
printf 'no value here\n' | gtrack log fourth 2>err >out
grep -q 'no line had a value' err && g rm fourth
ok "log says when nothing was read"

echo step=1 y=1 | gtrack log again 2>err; echo step=2 y=2 | gtrack log again --resume 2>err
printf 'step=2 y=7\nstep=3 y=8\n' | gtrack log again --resume 2>err
g metrics again y --no-header && is out "1${tab}1.0
2${tab}7.0
3${tab}8.0"
ok "a run that resumes from an earlier step has each step once"
g metrics again y -A --long --no-header && test "$(wc -l <out)" = 4 && g rm again
ok "and all points of all attempts on request"

g ls --sort '-min(train/loss),status' --markdown &&
    head -n 1 out | grep -q '^| name *| min(train/loss) *| status *| started' &&
    test "$(head -n 1 out | grep -o status | wc -l)" = 1
ok "people see first, and once, what ls sorts by"
g ls --sort train/loss --no-header -c name
is out "third
second
first"
ok "sort puts runs without a value last"
g ls --sort -train/loss -n 2 --no-header -c name,lr
is out "second${tab}0.05
third${tab}"
ok "and descending, too; an own metric goes before an abbreviation"
for v in 10 9 5x nan; do gtrack run start -e mixed -p v=$v >/dev/null; done
g ls -e mixed --sort v -c v --no-header
is out "9
10
5x
nan"
ok "numbers are sorted as numbers, and before texts"
g rm 'experiment = mixed'
g --no-header -w 'metrics.train/loss < 2.1' --root mlruns ls -c name
is out third && g -qn 1 -r mlruns ls third --no-header -c name && is out third
ok "options may stand before the command"
g -r mlruns
test $? = 2 && is err "gtrack: a command is expected; try 'gtrack --help'"
ok "but are none"
g -r mlruns lss
test $? = 2 && is err "gtrack: unknown command 'lss'; did you mean 'ls'?"
ok "nor is another word one"
g ls -w 'metrics.train/loss < 2.1' -c name --no-header
is out third
ok "a filter chooses"
g ls -w 'metrics.train/loss < 0' -c name --no-header && test ! -s out
ok "a filter that no run passes lists nothing, status 0"
g ls -x -w 'metrics.train/loss < 0'
test $? = 1
ok "or status 1 with --exit-status"
g ls --status nonsense
test $? = 2
ok "an unknown status is refused"
g ls -c 'name,min(train/loss),argmin(train/loss),at(train/loss, 2)' --csv third
is out 'name,min(train/loss),argmin(train/loss),"at(train/loss, 2)"
third,2.0,3,nan'
ok "columns take functions"
g ls -c nonsense
test $? = 2 && grep -q nonsense err
ok "an unknown column is refused"
g ls --json first second -c name,train/loss,started
is out '{
  "schema": "gtrack.ls/1",
  "columns": ["name", "train/loss", "started"],
  "rows": [
    {"name": "first", "train/loss": null, "started": "2023-11-14T22:13:20.000Z"},
    {"name": "second", "train/loss": 2.25, "started": "2023-11-14T22:13:20.000Z"}
  ]
}'
ok "JSON has a schema"
g ls -g params.optim.lr -c train/loss --csv
grep -q '^0.1,1,,,,$' out &&
    grep -q '^0.2,2,2.125,0.17677669529663[0-9]*,2,1.58827' out
ok "groups have mean, deviation, count and interval"

g compare second third --aligned
grep -q '^train/loss  *2.25  *2\*$' out && grep -q '^seed' out &&
    ! grep -q '^optim.lr' out
ok "compare shows what differs, the best marked"
g compare second third --aligned --all && grep -q '^optim.lr' out
ok "and with --all what is equal"
g compare second third -b second --aligned &&
    grep -q '^  from second  *- *-0.25$' out
ok "and how far from a baseline"
g compare --latex second third -c name,train/loss && grep -q '\\toprule' out
ok "LaTeX has booktabs"
for name in '[1] a_b%c' '*\x{}' 'a--b `c`'; do gtrack run start -e odd --name "$name"; done >ids
if command -v pdflatex >/dev/null; then
    { printf '\\documentclass{article}\\usepackage[T1]{fontenc}'
      printf '\\usepackage{booktabs}\\begin{document}\n'
      gtrack ls --latex -a
      printf '\\end{document}\n'; } >t.tex
    pdflatex -halt-on-error -interaction=batchmode t.tex >out 2>err
    ok "and compiles"
else
    n=$((n + 1)); echo "ok $n - and compiles # SKIP no pdflatex"
fi
g ls -e odd --latex -c name --sort name
is out '\begin{tabular}{l}
\toprule
name \\
\midrule
{}*\textbackslash{}x\{\} \\
{}[1] a\_b\%c \\
a-{}-b \textasciigrave{}c\textasciigrave{} \\
\bottomrule
\end{tabular}'
ok "names are printed as they are"
g rm 'experiment = odd'
g best train/loss --no-header && test "$(cut -f1,3,4 out)" = \
    "third${tab}2.0${tab}3"
ok "best finds the run"
g best acc && test "$(sed -n 2p out | cut -f1,3)" = "first${tab}0.25"
ok "an accuracy is best when it is great"
g best train/loss -g optim.lr --csv && grep -q '^0.2,2,2.125' out
ok "best ranks groups"

g show first --json && grep -q '"schema": "gtrack.show/1"' out &&
    grep -q '"optim.lr": "0.1"' out
ok "show tells all as JSON"
if python3 -c 'import json' 2>/dev/null; then
    python3 -c 'import json,sys; json.load(open("out"))' 2>err
    ok "which is JSON"
else
    n=$((n + 1)); echo "ok $n - which is JSON # SKIP no python3"
fi
g show first --aligned && grep -q '^optim.lr *0.1$' out
ok "and in sections"

g tag first phase=b 'key two=a=b' && g tag first -D phase && g tag first &&
    ! grep -q phase out && grep -q "key two${tab}a=b\$" out
ok "tags are set and deleted"
g note first 'a line' && g note -a first another && g note first && is out 'a line
another'
ok "notes are written and added to"
g mv first 'a new name' && g ls 'a new name' -c name --no-header &&
    is out 'a new name'
ok "mv renames"
g mv -e other second && g ls -e other -c name,experiment --no-header &&
    is out "second${tab}other"
ok "mv moves to another experiment"
g metrics second lr && g where second && test -f "$(cat out)/meta.yaml"
ok "where names the run's folder"
gtrack where second >want && g where @best:lr && cmp -s want out &&
    g where 'metrics.lr > 0' && cmp -s want out
ok "commands that print no metrics choose runs by them, too"
g rm second && g ls -c name --no-header && ! grep -q second out &&
    g restore second && g ls -c name --no-header && grep -q second out
ok "rm hides a run, restore brings it back"
g rm second && g gc </dev/null
test $? = 2 && g gc --yes && g ls -d -c name --no-header && ! grep -q second out
ok "gc removes for good, and not without being asked"
g restore third
test $? = 3
ok "restore refuses what is not deleted"

g exec --name prog -p a=1 -- sh -c 'echo step=1 x=2; echo x=5; echo e >&2'
test "$(cat out)" = "step=1 x=2
x=5" && grep -qx e err
ok "exec shows what the command prints"
g metrics prog x --no-header && is out "1${tab}2.0
2${tab}5.0"
ok "and takes its values"
g artifacts prog --cat stdout.txt && is out "step=1 x=2
x=5"
ok "and keeps its output"
g exec --name bad -- sh -c 'exit 75'
test $? = 75 && g ls bad -c status --no-header && is out PREEMPTED
ok "and its status"
g exec --name none -- ./no-such-program
test $? = 3 && g ls none -c status --no-header && is out FAILED
ok "a command that is not there is a failed run"
g cmd prog && grep -q "sh -c 'echo step=1" out
ok "cmd prints the command, quoted"
echo data >file && g artifacts prog --add file --under sub &&
    g artifacts prog --cat sub/file && is out data
ok "artifacts are added"
g artifacts prog --cat ../meta.yaml
test $? = 2
ok "and stay inside the run"
g diff prog bad && grep -q "^param${tab}a${tab}1${tab}\$" out
ok "diff tells what differs"
g du --no-header && test -s out
ok "du adds up"
g where && grep -q MLFLOW_ALLOW_FILE_STORE out
ok "where tells the doors"

gtrack ls --aligned --color=always | grep -q "$(printf '\033')"
ok "colour when asked"
NO_COLOR=1 gtrack ls --aligned >out && ! grep -q "$(printf '\033')" out
ok "none with NO_COLOR"
g ls --json --csv
test $? = 2
ok "one form at a time"
gtrack ls 2>err | head -1 >/dev/null
test ! -s err
ok "a closed pipe is no error"
g show prgo
test $? = 3 && grep -q 'did you mean prog?' err
ok "a name that is nearly a run's"
gtrack help ls >out && gtrack ls --help | cmp -s - out &&
    gtrack help | grep -q '^commands:'
ok "help is a command, too"

echo "1..$n"
