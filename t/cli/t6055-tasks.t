#!/bin/sh
# gplot tasks draws the last accuracies of runs, a row for each task.
. "$(dirname "$0")/../lib/tap.sh"
export GTRACK_ROOT="$dir/runs"

log() {         # log NAME LINE...: a run with these points
    name=$1
    shift
    printf '%s\n' "$@" | gtrack log "$name" >log.out 2>&1
}
log small 'step=10 task/own/acc=0.9 task/own/acc_stderr=0.1' \
    'step=20 task/own/acc=0.5 task/own/acc_stderr=0.02' \
    'step=20 task/core/squad/acc=0.25 task/core/squad/centred=0.2' \
    'step=20 task/core/centred=0.2' \
    'step=20 task/norm/acc=0.3 task/norm/acc_norm=0.4 task/norm/acc_stderr=0.01' \
    'step=20 task/norm/acc_norm_stderr=0.05 task/norm/acc_bytes=0.45'
log large 'step=10 task/own/acc=0.6 task/own/acc_stderr=0.04' \
    'step=20 task/own/acc=0.7'
log plain 'step=1 loss=2 val/acc=0.5'
log diverged 'step=20 task/own/acc=nan'

gplot tasks small large -o two.txt >out 2>err
is "$? $(cat err)" "0 " "gplot tasks draws two runs"
is "$(sed 's/  */ /g; s/ $//' out)" "task run metric percent standard error step
core/squad small acc 25 - 20
norm small acc_norm 40 5 20
own small acc 50 2 20
own large acc 70 - 20" \
    "the table has the last values, and an error only if it is of the same step"
is "$(sed -n 's/^ *\([a-z/]*\) *┤.*/\1/p' two.txt | tr '\n' ' ')" "core/squad norm own " \
    "a text has a row for each task, in the order of their names"
is "$(grep -c 'a small  .*b large' two.txt)" 1 "the legend has a letter for each run"
is "$(sed -n '/┤\|│/{ s/.*\(┤\|│\)//; s/[^ab]//gp }' two.txt | tr -d '\n')" "aaab" \
    "each point has the letter of its run" "$(cat two.txt)"
gplot tasks small --data >out
is "$(awk -F '\t' '$3 == "small" { print $4, $5 }' out | tr '\n' ' ')" \
    "0.25 2 0.4 1 0.5 0 " "the data have the accuracies"
is "$(awk -F '\t' '$3 == "standard error" && $4 != "nan" { printf "%.2f %d\n", $4, $5 }' out |
    tr '\n' ' ')" "0.35 1 0.45 1 0.48 0 0.52 0 " \
    "the data have a standard error to both sides"
like two.txt "acc_norm of a task that has it" "a note says what is shown"

# What has no tasks, and what is not finite.
gplot tasks plain large -o some.txt >out 2>err
is "$? $(cat err)" "0 gplot: warning: plain has no tasks and is left out" \
    "a run without tasks is left out with a warning"
unlike some.txt plain "the legend does not name it"
gplot tasks plain -o none.txt >out 2>err
is "$? $(grep -c . err)" "3 1" "a figure without tasks is refused in one line"
like err "no run has an accuracy on a task.*the setting eval.tasks" \
    "the message names the setting that records them"
gplot tasks >out 2>err
is $? 2 "gplot tasks without a run ends with status 2"
gplot tasks diverged small -o nan.txt >out 2>err
is "$? $(grep -c 'diverged  *acc  *nan' out)" "0 1" \
    "an accuracy that is not a number is in the table"

# Every task has a row, and every run its colour.
awk 'BEGIN { for (i = 10; i < 40; i++)
    printf "step=1 task/t%d/acc=0.%d task/t%d/acc_stderr=0.01\n", i, i, i }' >many
gtrack log many <many >out 2>&1
gplot tasks many small -o many.txt >out 2>err
is "$(grep -c ' t[0-9]* *┤' many.txt)" 30 "each of many tasks has a row in a text"
gplot tasks many >out 2>err
is "$(grep -c '^ *t[0-9]* *┤' out)" 30 "each has a row in the terminal"
for i in 1 2 3 4 5 6 7 8 9; do
    echo "step=1 task/own/acc=0.$i" | gtrack log "cell$i" -p optim.lr=$i
done >out 2>&1
gplot tasks 'cell*' --script cells.gp >out 2>err
is "$? $(grep -c "'lr'" cells.gp)" "0 1" \
    "the colours of many runs stand for their rates"

if command -v gnuplot >/dev/null; then
    for form in png svg pdf; do
        gplot tasks small large -o "two.$form" >out 2>err
        is "$? $(cat err)" "0 " "gplot tasks draws .$form"
    done
    like two.svg ">core/squad<" "the SVG names the tasks"
    gplot verify two.png two.svg two.pdf >out 2>err
    is "$? $(grep -c 'equal$' out)" "0 3" "gplot verify finds the figures equal"
    gplot redo two.svg >out 2>err
    is $? 0 "gplot redo draws one again"
    echo 'step=30 task/own/acc=0.1' | gtrack log small >out 2>&1
    gplot verify two.png >out 2>err
    is $? 1 "with another answer, the figure is not equal"
else
    skip "gplot tasks draws files" "gnuplot is not installed"
fi
done_testing
