#!/bin/sh
# gtrack claims: numbers of a report are checked, and filled in.
. "$(dirname "$0")/../lib/tap.sh"
for lr in 0.1 0.01; do
    awk -v lr=$lr 'BEGIN { for (step = 1; step <= 3; step++)
        printf "{\"step\": %d, \"val/loss\": %.6g}\n", step, lr * 10 + 1 / step
    }' | gtrack log -p optim.lr=$lr lr$lr >out 2>&1
    ok $? "a run with the rate $lr is logged"
done
is "$(gtrack ls --tsv --no-header -c 'name,val/loss' --sort name | tr '\t\n' '  ')" \
    "lr0.01 0.433333 lr0.1 1.33333 " "both runs have their losses"
cat >report.tex <<'END'
\documentclass{article}
\newcommand{\gtrack}[2]{#2}
\begin{document}
The loss is \gtrack{lr0.1 | val/loss | .3f}{1.333}. % \gtrack{x | y}{z}
The best rate is \gtrack{@best:val/loss | optim.lr}{0.1}, with a loss of
\gtrack{@best:val/loss | min(val/loss) | .2e}{4.33e-01}
in 100\% of \gtrack{lr0.01|argmin(val/loss)}{3} steps.
\end{document}
END
cp report.tex before.tex
gtrack claims report.tex --tsv --no-header >out 2>err
is $? 1 "a value that differs is exit status 1"
is "$(cut -f1,4- out)" "report.tex:4${tab}1.333${tab}1.333${tab}equal
report.tex:5${tab}0.1${tab}0.01${tab}differs
report.tex:6${tab}4.33e-01${tab}4.33e-01${tab}equal
report.tex:7${tab}3${tab}3${tab}equal" "each value is compared, with its line"
like err "1 of 4 values is not what the runs say; --fill writes new values" \
    "the message counts the values that differ"
cmp -s report.tex before.tex
ok $? "checking does not change the report"
gtrack claims --fill report.tex >out 2>err
is $? 0 "values are filled in"
sed 's/{0.1}, with/{0.01}, with/' before.tex >wanted.tex
is "$(cat report.tex)" "$(cat wanted.tex)" "only the value that differs has changed"
check "a report that is filled in holds" gtrack claims report.tex
like err "4 values as the runs say" "the message counts the values that hold"

cat >loose.tex <<'END'
In version 0.1.0 the loss was 3.25, % or 3.5
\gtrack{lr0.01 | val/loss | .4f}{0.4333} now, $-0.5$ less (4.75).
\includegraphics[width=0.8\textwidth]{none\nothing} \hspace{1.5cm} 1.25\pm 0.5
END
gtrack claims --unbound loose.tex --tsv --no-header >out 2>err
is "$(cut -f1,3- out | grep -v figure)" "loose.tex:2${tab}val/loss${tab}0.4333${tab}0.4333${tab}equal
loose.tex:1${tab}-${tab}3.25${tab}${tab}is bound to no run
loose.tex:2${tab}-${tab}0.5${tab}${tab}is bound to no run
loose.tex:2${tab}-${tab}4.75${tab}${tab}is bound to no run
loose.tex:3${tab}-${tab}1.25${tab}${tab}is bound to no run
loose.tex:3${tab}-${tab}0.5${tab}${tab}is bound to no run" \
    "numbers that no claim states are listed when asked for"

cat >notes.md <<'END'
Loss <!-- gtrack: lr0.01 | val/loss | .4f -->?<!-- /gtrack --> and status
<!-- gtrack: lr0.01 | status -->RUNNING<!-- /gtrack -->, 50% of a % sign.
END
check "Markdown is filled in" gtrack claims --fill notes.md
is "$(sed 's/<!--[^>]*-->//g' notes.md)" "Loss 0.4333 and status
FINISHED, 50% of a % sign." "Markdown shows the values alone"

# a mean over runs
cat >means.md <<'END'
<!-- gtrack: mean: lr0.* | val/loss --><!-- /gtrack -->
END
printf '%s\n' '\gtrack{mean: lr0.* | val/loss}{}' >means.tex
gtrack claims --tsv --no-header means.md >out 2>err
is "$? $(cut -f 2,3,6 out)" "1 lr0.*${tab}val/loss${tab}differs; the runs differ in optim.lr" \
    "a mean has a row, which says in what the runs differ"
check "a mean is filled in" gtrack claims --fill means.md means.tex
is "$(sed 's/<!--[^>]*-->//g' means.md)" "0.88 ± 0.64 (std; 95% ± 5.72, n=2)" \
    "a mean says what stands after the sign"
is "$(cat means.tex)" '\gtrack{mean: lr0.* | val/loss}{$0.88 \pm 0.64$ (std; 95\% $\pm 5.72$, $n=2$)}' \
    "a mean in a .tex file is one of LaTeX"
is "$(gtrack ls -c val/loss -g status --markdown --no-header)" \
    "| FINISHED | 2 | 0.88 ± 0.64 (std; 95% ± 5.72, n=2) |" \
    "a table of groups has the same mean"
check "a mean that is filled in holds" gtrack claims means.md means.tex
sed 's/0\.64/0.06/' means.md >changed.md
gtrack claims --tsv --no-header changed.md >out 2>err
is $? 1 "a deviation that was changed is found"

cat >tables.md <<'END'
Both runs:
<!-- gtrack: table: ls -c "name,val/loss" --sort name 'status = "FINISHED"' --><!-- /gtrack -->
END
gtrack claims tables.md >out 2>err
is $? 1 "a table that differs is exit status 1"
check "a table is filled in" gtrack claims --fill tables.md
gtrack ls --markdown -c name,val/loss --sort name >wanted
sed '1,2d; /^<!-- .gtrack/d' tables.md >got
check "the table is what the command prints" diff wanted got
check "a table that is filled in holds" gtrack claims tables.md
sed 's/1\.33333/1.3/' tables.md >changed.md
cmp -s tables.md changed.md
is $? 1 "a number of a table is changed by hand"
gtrack claims --tsv --no-header changed.md >out 2>err
is "$?$(cut -f3,6 out)" "1table${tab}differs" "the change is found"
printf '%s\n' '\gtrack{table: ls -c name lr0.1}{}' >tables.tex
gtrack claims --fill tables.tex >out 2>err && gtrack claims tables.tex >out 2>err &&
    grep -q toprule tables.tex
ok $? "a table in a .tex file is one of LaTeX"
for command in 'rm lr0.1' 'push --to wandb' '' "ls ; touch x"; do
    printf '<!-- gtrack: table: %s --><!-- /gtrack -->\n' "$command" >tables.md
    gtrack claims --fill tables.md >out 2>err
    test $? = 1 && ! test -e x
    ok $? "no other command is run: '$command'"
done
is "$(gtrack ls --tsv --no-header | wc -l)" 2 "both runs are still there"

# claims NAME STATUS PATTERN TEXT: gtrack claims of a file with this text
claims() {
    printf '%s\n' "$4" >x.tex
    gtrack claims x.tex >out 2>err
    is $? "$2" "$1"
    cat out >>err
    like err "$3" "$1: the reason is given"
}
claims "a run that is gone is reported" 1 "no run named lr7" \
    '\gtrack{lr7 | val/loss}{1}'
claims "a metric that does not exist is reported" 1 "loss2" \
    '\gtrack{lr0.1 | val/loss2}{1}'
claims "a name of two runs is reported" 1 "names 2 runs" \
    '\gtrack{status = "FINISHED" | val/loss}{1}'
claims "a wrong format is reported" 1 "expected a format such as .3f" \
    '\gtrack{lr0.1 | val/loss | 3d}{1}'
claims "a word is not formatted as a number" 1 "status of lr0.1 is not a number" \
    '\gtrack{lr0.1 | status | .3f}{1}'
claims "a claim that does not end is reported" 1 "x.tex:1: expected" \
    '\gtrack{lr0.1 | status'
claims "a claim without a column is reported" 1 "x.tex:1: expected a run and a column" \
    '\gtrack{lr0.1}{1}'
claims "a mean of one run is reported" 1 "fewer than two runs have a val/loss" \
    '\gtrack{mean: lr0.1 | val/loss}{1}'
claims "a mean with a format is reported" 1 "a mean has no format" \
    '\gtrack{mean: lr* | val/loss | .3f}{1}'
claims "a figure that is missing is reported" 1 "nofig.pdf.*is missing" \
    '\includegraphics[width=3cm]{nofig.pdf}'
claims "a figure in a folder of LaTeX's own path is no error" 0 \
    "is elsewhere, and was not checked" \
    '\graphicspath{{figs/}}\includegraphics{nofig.pdf}'
claims "an input that is missing is reported" 1 "1 file that the report includes is" \
    '\input{rest}'
claims "a figure that a macro names is reported, and is no error" 0 \
    "#1.*named by a macro, and was not checked" \
    '\newcommand{\fig}[1]{\includegraphics{#1}}'
claims "a text without claims is not an error" 0 "no values to check" 'words'
gtrack claims nowhere.tex >out 2>err
is $? 3 "a report that does not exist is not found"
# Runs that a choice leaves out are counted.
for name in one two three; do
    echo '{"step": 1, "loss": 1}' | gtrack log "$name" --root chosen >out 2>&1
done
gtrack --root chosen exec --name broken -- sh -c 'exit 1' >out 2>&1
gtrack --root chosen rm two >out 2>&1
gtrack --root chosen best loss >out 2>err
like err "the experiment Default has 4 runs, of which 1 is deleted and 1 failed" \
    "gtrack best counts the runs that were deleted or failed"
echo '<!-- gtrack: one | loss | .1f -->1.0<!-- /gtrack -->
<!-- gtrack: three | loss | .1f -->1.0<!-- /gtrack -->' >chosen.md
gtrack --root chosen claims chosen.md >out 2>err
is "$(grep -c 'of which 1 is deleted and 1 failed' err)" 1 \
    "gtrack claims counts them once"
done_testing
