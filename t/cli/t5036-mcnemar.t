#!/bin/sh
# gtrack compare --tasks: which differences of answers are larger than chance.
. "$(dirname "$0")/../lib/tap.sh"
sum=$(printf '%064d' 7)
other=$(printf '%064d' 8)

# answers RUN: its artifact, from the standard input
answers() {
    gtrack where "$1" >log 2>&1 || echo 'step=1 x=1' | gtrack log "$1" -q
    cat >"$(gtrack where "$1")/artifacts/tasks.tsv"
}
# digits BOTH FIRST SECOND NONE WHICH: the answers of the first or second run
digits() {
    awk -v b="$1" -v f="$2" -v s="$3" -v n="$4" -v which="$5" 'BEGIN {
        while (b-- > 0) printf 1
        while (f-- > 0) printf which == 1
        while (s-- > 0) printf which == 2
        while (n-- > 0) printf 0
    }'
}
cases="equal,4,0,0,2 few,2,5,1,2 better,40,3,17,40 worse,9,140,100,1 large,900,1000,1100,0"
for which in 1 2; do
    for case in $cases; do
        # shellcheck disable=SC2046
        set -- $(echo "$case" | tr ',' ' ')
        printf '10\t%s\tacc\t%s\t%s\n' "$1" "$sum" "$(digits "$2" "$3" "$4" "$5" $which)"
    done >file$which
    answers run$which <file$which
done
gtrack compare run1 run2 --tasks --tsv >out 2>err
is $? 0 "two runs are compared by their answers"
is "$(head -n 1 out | tr '\t' ' ')" \
    "run metric questions first second first_only second_only difference p result" \
    "the table has the discordant answers and p"
is "$(sed 1d out | cut -f 1-3,6,7,10 | tr '\t\n' ' ;')" \
    "run2 task/equal/acc 6 0 0 equal;run2 task/few/acc 10 5 1 equal;\
run2 task/better/acc 100 3 17 better;run2 task/worse/acc 250 140 100 worse;\
run2 task/large/acc 3000 1000 1100 better;" "a difference counts if chance is unlikely"
is "$(sed 1d out | awk -F '\t' '{ printf "%.4f %.4f %.4f;", $4, $5, $8 }')" \
    "0.6667 0.6667 0.0000;0.7000 0.3000 -0.4000;0.4300 0.5700 0.1400;\
0.5960 0.4360 -0.1600;0.6333 0.6667 0.0333;" "fractions of right answers and their difference"
# the values of Python's fractions: 2 * sum(comb(n, i) for i <= k) / 2 ** n
is "$(sed 1d out | awk -F '\t' '{ printf "%.9g;", $9 }')" \
    "1;0.21875;0.002576828;0.0116640923;0.0307207079;" "p is that of the exact test"
is "$(cat err)" "" "nothing is said if all tasks can be compared"
gtrack compare run2 run1 --tasks --tsv --no-header >swapped 2>err
is "$(cut -f 2,9 swapped)" "$(sed 1d out | cut -f 2,9)" \
    "p does not depend on which run is the first"
is "$(cut -f 10 swapped | tr '\n' ' ')" "equal equal worse better worse " \
    "the result is that of the second run"

answers run3 <file2
gtrack compare run1 run2 run3 --tasks --tsv --no-header >three 2>err
is "$? $(cut -f 1 three | uniq -c | awk '{ printf "%s %s;", $1, $2 }')" "0 5 run2;5 run3;" \
    "several runs are compared with the first one"
is "$(cut -f 2- three | sed 6,10d)" "$(cut -f 2- three | sed 1,5d)" \
    "equal answers give equal rows"
echo 'step=1 x=1' | gtrack log run2 -q
ids=$(gtrack ls "name = 'run2'" -c id --tsv --no-header)
for id in $ids; do
    cp file2 "$(gtrack where "$id")/artifacts/tasks.tsv"
done
# shellcheck disable=SC2086
gtrack compare run1 $ids --tasks --tsv --no-header >three 2>err
is "$(cut -f 1 three | uniq | tr '\n' ' ')" \
    "$(for id in $ids; do printf 'run2 %.8s ' "$id"; done)" \
    "runs of the same name are told apart by their ids"
gtrack rm "$(echo "$ids" | tail -n 1)" >log 2>&1
gtrack compare run1 run2 --tasks --latex >out 2>err
like out '^ *run2 & task/few/acc & .*0\.21875' "the rows are those of a table in LaTeX"
like out 'first\\_only' "the names of columns are escaped for LaTeX"
gtrack compare run1 run2 --tasks --markdown >out 2>err
like out '^| run2 *| task/worse/acc ' "the rows are those of a table in Markdown"
gtrack compare run1 run2 --tasks --json >out 2>err
like out 'gtrack.compare-tasks/1' "the schema of JSON is that of the table of tasks"
echo '<!-- gtrack: table: compare run1 run2 --tasks -->
<!-- /gtrack -->' >report.md
check "a report may show the comparison of tasks" gtrack claims --fill report.md
like report.md '^| run2 .*task/better/acc' "the report has the rows of the comparison"

# What cannot be compared is named.
{
    sed 1q file1
    sed "2{s/$sum/$other/;q;}" file1 | sed 1d
    sed -n '3s/.$//p' file1
    sed -n '4s/acc/acc_norm/p' file1
    sed -n '5s/^10/20/p' file1
} >mixed
answers mixed <mixed
gtrack compare run1 mixed --tasks --tsv --no-header >out 2>err
is "$? $(cut -f 2 out | tr '\n' ' ')" "0 task/equal/acc task/large/acc " \
    "only answers to the same questions are compared" "$(cat err)"
for task in few better worse; do
    like err "task/$task/acc: mixed was not asked the same questions as the first run" \
        "a message names the task that is not compared: $task"
done
is "$(wc -l <err | tr -d ' ')" 3 "there is one line for each of these tasks"
sed 's/^10/20/' file2 | answers later
gtrack compare run1 later --tasks --tsv --no-header >out 2>err
like err "the answers of later are of step 20, those of the first run of step 10" \
    "answers of different steps are compared, and this is said"
echo 'step=1 x=1' | gtrack log none -q

# bad STATUS PATTERN NAME ARGUMENT...: one line says why
bad() {
    status=$1 pattern=$2 name=$3
    shift 3
    gtrack compare "$@" --tasks >out 2>err
    is "$? $(wc -l <err | tr -d ' ')" "$status 1" "$name"
    like err "$pattern" "the message says why: $name"
}
bad 3 "none has no tasks.tsv; gtrain with eval.tasks keeps it" \
    "a run without answers is refused" run1 none
bad 2 "needs two runs" "one run cannot be compared by its answers" run1
for file in \
    "cut line:10${tab}few${tab}acc${tab}$sum${tab}0110:tasks.tsv:1: expected five fields" \
    "missing field:10${tab}few${tab}$sum${tab}0110\n:tasks.tsv:1: expected five fields" \
    "sixth field:10${tab}few${tab}acc${tab}$sum${tab}01${tab}1\n:tasks.tsv:1: expected five" \
    "empty line:\n10${tab}few${tab}acc${tab}$sum${tab}01\n:tasks.tsv:1: expected five" \
    "NUL:10${tab}few${tab}acc${tab}$sum${tab}01\\000010\n:tasks.tsv:1: expected five" \
    "answer that is no digit:10${tab}few${tab}acc${tab}$sum${tab}012\n:1: expected a SHA-256" \
    "task without answers:10${tab}few${tab}acc${tab}$sum${tab}\n:1: expected a SHA-256" \
    "short sum:10${tab}few${tab}acc${tab}abc${tab}01\n:1: expected a SHA-256" \
    "file without lines::is empty"; do
    rest=${file#*:}
    printf '%b' "${rest%%:*}" | answers damaged
    bad 1 "${rest#*:}" "a damaged artifact is refused: ${file%%:*}" run1 damaged
done
awk -v sum="$sum" 'BEGIN { for (i = 0; i <= 10000; i++)
    printf "1\tt%d\tacc\t%s\t1\n", i, sum }' | answers damaged
bad 1 "tasks.tsv:10001: expected .* at most 10000 lines" "too many tasks are refused" \
    damaged run1
mv file1 secret
file=$(gtrack where damaged)/artifacts/tasks.tsv
ln -sf "$PWD/secret" "$file"
bad 1 "tasks.tsv" "a link that leads out of the run is not followed" damaged run1
done_testing
