#!/bin/sh
# What the options of gplot do, what is printed, what is refused.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands

make_store rates ranks resume odd grid seeds hella sizes

# Without -o and without a terminal: characters, 80 columns, no colours.
gplot loss run2 >out 2>err
is $? 0 "a figure is drawn where there is no terminal"
like out "run2 *train/loss, single steps *2000 *3.2303 *1677" \
    "the summary has the minimum of the loss, which is one step's"
like out "run2 *train/loss, smoothed *2000 *3.[23]" \
    "the summary has the minimum of the smoothed loss"
like out "━━ train" "the figure in the terminal has a legend"
unlike out "$(printf '\033')" "the figure has no colours without a terminal"
test "$(head -n 20 out | wc -L)" -le 80
ok $? "the figure is within 80 columns"
gplot lr run1 run2 run3 >out 2>err
like out "━a run1  ━b run2  ━c run3" "without colours, letters name the curves"
test "$(grep '[┤│]' out | tr -cd c | wc -c)" -ge 5
ok $? "the letters are on the curves"
gplot lr "name = 'run2'" run1 >out 2>err
like out "━a run2  ━b run1" "the runs of a filter have its place in the order"
gplot lr run1 >out 2>err
like out "━━ run1" "a single curve needs no letter"
LC_ALL=C gplot loss run2 >out 2>err
is "$(LC_ALL=C grep -c '[^ -~]' out)" 0 "the figure is ASCII in the C locale"
COLUMNS=40 LINES=15 gplot lr run1 >out 2>&1
test "$(head -n 10 out | wc -L)" -le 40
ok $? "the figure is within the width of COLUMNS"

# The numbers are those of the store, all of them.
gplot loss run2 --data >out
is "$(awk -F'\t' '$3 == "train"' out | wc -l | tr -d ' ')" 2000 \
    "--data prints every point"
is "$(awk -F'\t' '$3 == "train" && $4 == 1677 { printf "%.4f", $5 }' out)" \
    3.2303 "--data prints the values of the store"

# Expressions over metrics.
for i in 1 2 3 4; do
    echo "{\"step\": $i, \"train/loss\": $i$(test $i = 3 ||
        echo ", \"val/loss\": $((2 * i))"), \"a b\": 0.5}"
done | gtrack -r sums log one >out 2>&1
values() {
    gplot metric -r sums --data -- "$1" one 2>err | awk -F'\t' 'NR > 1 {
        printf("%s%s:%s", NR > 2 ? " " : "", $4, $5) }'
}
is "$(values 'val/loss - train/loss')" "1:1 2:2 4:4" \
    "an expression has a value at each step that all of its metrics have"
is "$(values '2 * (val/loss - -train/loss) / 3 + 1 - 2 * 3')" \
    "1:-3 2:-1 4:3" "operators have their usual order"
is "$(values 'log(exp(train/loss))*1e1 / "a b"')" "1:20 2:40 3:60 4:80" \
    "there are functions, numbers and names in quotes"
is "$(values '-(train/loss - 2)')" "1:1 2:-0 3:-1 4:-2" \
    "a minus may stand before an operand"
gplot metric -r sums 'val/loss - train/loss' one -o sum.json >out 2>&1
like sum.json '"title": *"val/loss - train/loss"' \
    "the axis of an expression has its text"
while IFS='|' read -r text message; do
    gplot metric -r sums "$text" one --data >out 2>err
    is "$? $(cat err)" "$message" "an error names the place: $text"
done <<'END'
val/loss - none|3 gplot: expression: run one has no metric none at: none
val/loss -|2 gplot: expression: a metric or a number is expected at the end of: val/loss -
exp(val/loss - 1|2 gplot: expression: ')' or an operator is expected at the end of: exp(val/loss - 1
val/loss 3 * 2|2 gplot: expression: an operator is expected at: 3 * 2
val/loss ^ 2|2 gplot: expression: this has no meaning at: ^ 2
(1 + 2)|2 gplot: expression: a metric is expected at the end of: (1 + 2)
val/loss-train/loss|3 gplot: no run has a metric val/loss-train/loss
END
printf '{"step": %s, "loss": %s}\n' 1 0.1 2 3e-05 3 2 |
    gtrack -r digits log plain >out 2>&1
gplot loss -r digits plain --data >out 2>err
is "$(cut -f 4,5 out | tr '\t\n' ' ;')" "x y;1 0.1;2 3e-05;3 2;" \
    "--data prints as many digits as are needed"
gplot loss run2 --skip 300 --data >out
is "$(awk -F'\t' '$3 == "train" { print $4; exit }' out)" 301 \
    "--skip leaves the first steps out"
gplot loss run2 --skip 300 >out
like out "run2 *train/loss, single steps *2000" "--skip leaves the summary unchanged"
for figure in "loss run2" "metric train/loss run2" "dashboard run2" \
    "compare run1 run2" "loss run1 run2 --group-by lr"; do
    # shellcheck disable=SC2086
    gplot $figure --skip 2000 >out 2>err
    is "$? $(cat out err | tail -n 1)" "3 gplot: --skip leaves nothing to draw" \
        "a figure of which --skip leaves nothing is an error: $figure"
done
gtrack report run2 --skip 2000 -o left.md >out 2>err
is "$? $(cat out err)" "3 gtrack: --skip leaves nothing to draw" \
    "a report of which --skip leaves nothing is an error"
gplot loss run2 --xrange 3k: -o left.txt >out 2>err
is "$? $(cat out err)" "3 gplot: --xrange leaves nothing to draw" \
    "a figure of which --xrange leaves nothing is an error"
check "no file is written of a figure that shows nothing" \
    test ! -e left.txt -a ! -e left.md
gplot loss run2 --xrange 1999.2:1999.8 --data >out 2>err
is $? 0 "a line that crosses the range of --xrange is drawn"
at301() { awk -F'\t' '$3 == "train, smoothed" && $4 == 301 { print $5 }'; }
want=$(gplot loss run2 --smooth ema:0.98 --data | at301)
is "$(gplot loss run2 --smooth ema:0.98 --skip 300 --data | at301)" "$want" \
    "what --skip leaves out counts for the smoothed values after it"
gplot lr run2 --xrange 1000:1100 --script part.gp >out 2>&1
like part.gp "set yrange .0*[1-9.]*[0-9.e-]*:" "a part of a curve is not drawn from zero"
gplot loss run2 --script loss.gp >out 2>&1
like loss.gp "set yrange .*:[67]\." "the start of a loss is above the axes"
gplot loss run2 --yrange all --script loss.gp >out 2>&1
like loss.gp "set yrange .*:1[01]\." "--yrange all shows the start of a loss"
gplot util two-ranks --data >out
is "$(tail -n +2 out | cut -f1 | uniq | tr '\n' ,)" \
    "GPU utilisation,CPU utilisation," "GPUs and CPUs have a panel each"
COLUMNS=60 gplot loss run2 >out
test "$(sed -n '/^The start/,/^$/p' out | wc -L)" -le 60
ok $? "a note is wrapped at the width of the terminal"
gplot lr run2 --x tokens --data >out
is "$(tail -n 1 out | cut -f4)" 131072000 "--x tokens asks the run"
gplot lr run2 --x time --data >out
is "$(tail -n 1 out | cut -f4 | cut -d. -f1)" 719 "--x time is in seconds"
gplot lr gpt-10M --x flops --data >out 2>err
is $? 3 "--x flops of a run without a learning rate fails"
gplot loss gpt-10M --x flops --data >out
is "$(awk -F'\t' 'NR > 1 && $5 > 0 { x = $4 } END { printf "%.3g", x }' out)" 1.2e+16 \
    "FLOPs are six for each parameter and token"

printf '{"step": %s, "loss": %s, "epoch": %s}\n' 1 1 0.25 2 2 null 3 3 0.75 \
    >rows
echo '{"step": 4, "loss": 4}' >>rows
gtrack -r digits log fractions <rows >out 2>&1
gplot loss -r digits fractions --x epoch --data >out 2>&1
is "$(cut -f 4,5 out | tr '\t\n' ' ;')" "x y;0.25 1;0.5 2;0.75 3;0.75 4;" \
    "--x draws against the values of a metric"

# Save and resume: one curve; the attempts by themselves.
gplot loss resumed --data >out
is "$(awk -F'\t' '$3 == "train"' out | wc -l | tr -d ' ')" 100 \
    "a resumed run is one curve"
gplot loss resumed --attempts --data >out
is "$(grep -c 'train, attempt 1.[0-9]' out)" 57 "the first attempt has its points"
is "$(grep -c 'train, attempt 2.[0-9]' out)" 50 "the second attempt has its points"
gplot loss resumed --x time --data >out
is "$(awk -F'\t' '$3 == "train" && $4 > 60 { n++ } END { print n + 0 }' out)" \
    0 "training time leaves the pause out"
gplot loss resumed --x wall --data >out
is "$(awk -F'\t' '$3 == "train" && $4 >= 3600 { n++ } END { print n + 0 }' out)" \
    50 "wall time includes the pause"
gplot lr run1 run2 --stitch --data >out
is "$(cut -f3 out | sort -u | grep -c run)" 1 "--stitch makes one curve"

# A crowd: the figure keeps most of the screen, the legend says what it cuts.
COLUMNS=70 LINES=16 gplot metric val/loss $(seq -f grid-%02g 1 12) \
    --group-by name >out 2>&1
test "$(head -n 11 out | grep -c '[┤│]')" -ge 8
ok $? "many curves leave room for the figure"
like out "and [0-9]* more$" "the legend counts the curves that it leaves out"

# More than eight runs that differ in a number.
gplot metric val/loss $(seq -f grid-%02g 1 12) --script ramp.gp >out 2>&1
like ramp.gp "'best: grid-06'" "the best of many runs is named"
unlike ramp.gp "'grid-0" "the others of many runs are not"
like ramp.gp "set label 'lr' at screen" \
    "a colour bar names the parameter in which many runs differ"
is "$(sed -n 's/.* with linespoints .* lw \([^ ]*\) .*/\1/p' ramp.gp | tail -n 1)" \
    2.04 "the best of many runs is thick, and in front"

# Colours by a parameter: a ramp for numbers, one colour each for others.
gplot metric val/loss run1 run2 run3 --color-by lr --script by.gp >out 2>&1
like by.gp "set label 'lr' at screen" "runs are coloured by a number"
gplot metric val/loss run1 run2 run3 --color-by model.width -o by.json >out 2>&1
is "$(grep -o '"colour":"#[0-9a-f]*"' by.json | sort -u | wc -l)" 1 \
    "runs with the same value have the same colour"

# What is too long ends in an ellipsis, not at the edge of the page.
long=$(printf '%0150d' 1)
gplot loss run1 --title "$long" --script long.gp >out 2>&1
like long.gp "'0*\(…\)'" "a long title is cut, with an ellipsis"

# Numbers at the ends of what there is, and level but for rounding.
mkdir -p edge/0/0123456789abcdef0123456789abcdef/metrics
cp "$GTRACK_ROOT"/0/meta.yaml edge/0
m=edge/0/0123456789abcdef0123456789abcdef
printf 'run_id: %s\nrun_name: edge\nstatus: 3\nstart_time: 1\n' "${m##*/}" \
    >$m/meta.yaml
printf '1 1.79e308 1\n2 -1.79e308 2\n3 0 3\n' >$m/metrics/most
seq 1 60 | sed 's/.*/1 0.1 &/' >$m/metrics/level
for case in 'most --inset 1:2' 'most' 'level --smooth gauss:1e6 --logx'; do
    # shellcheck disable=SC2086 # words
    gplot metric -r edge $case edge --script edge.gp >out 2>&1 &&
        ! grep -q 'range.*inf\|range \[\(.*\):\1\]' edge.gp
    ok $? "the ranges of '$case' are finite"
done

for i in 1 2; do
    cp -R $m edge/0/0000000000000000000000000000000$i
    printf 'run_id: 0000000000000000000000000000000%s\nrun_name: %s-%s\n' \
        $i a-long-name-of-a-model-at-lr $i \
        >edge/0/0000000000000000000000000000000$i/meta.yaml
    printf 'status: 3\nstart_time: 1\n' \
        >>edge/0/0000000000000000000000000000000$i/meta.yaml
done
gplot metric -r edge level a-long-name-of-a-model-at-lr-1 \
    a-long-name-of-a-model-at-lr-2 >out 2>&1
like out "a-long…lr-1  ━b a-long…lr-2" \
    "long names are cut where they are alike"

# Groups, sweeps, scaling.
gplot metric train/loss seed-1-1 seed-1-2 seed-1-3 --group-by lr \
    --band minmax --data >out
is "$(awk -F'\t' 'NR == 2 { print ($6 <= $5 && $5 <= $7) }' out)" 1 \
    "a band holds its mean"
like out "lr = 0.0003 (n = 3)" "the legend of a band has the number of runs"
gplot sweep lr,width val/loss $(seq -f grid-%02g 1 12) >out
like out "0.0003 *384 *3.04" "a sweep of two parameters prints a table"
is "$(grep -c "\*" out)" 2 "a sweep of two parameters marks the best twice"
gplot sweep lr val/loss seed-1-1 seed-1-2 seed-2-1 seed-2-2 >out
like out "The best, circled: .* at lr " "a sweep of one parameter names the best"
unlike out "best:" "no curve of a sweep can cross the name of the best"
tr '\n' ' ' <out >line
like line "n = 2); bars show ± one standard deviation" \
    "a sweep says what its bars are"
gplot sweep lr,width val/loss >out 2>err
like err "from 2 experiments (rates, grid)" \
    "a sweep over several experiments warns"
like out "3\.110.*3\.101" "the values of a map have the same number of decimals"
gplot scaling gpt-10M gpt-30M gpt-85M gpt-160M gpt-350M >out
like out "L = 1.75 + 1.16e+03 C⁻⁰·¹⁵⁶" "scaling fits a law with a floor"
tr '\n' ' ' <out >line
like line "R² = 1.00.*dashed where it is extrapolated" \
    "scaling says how good the fit is, and where it is extrapolated"
gplot scaling gpt-10M gpt-30M gpt-85M >out 2>err
like err "no scaling law is fitted: it needs four runs" \
    "scaling fits no law of three numbers to three runs"
printf 'step=%d Loss/val=%d\n' 1 3 2 2 | gtrack log lightning 2>err
gplot scaling lightning --x step >out 2>&1
like out "lightning *Loss/val" "scaling knows the losses that gplot loss knows"
gplot loss run1 --y2 lr --script y2.gp -q >out
is "$(sed -n "s/^set y2tics .* textcolor rgb '\([^']*\)'.*/\1/p" y2.gp)" \
    "$(sed -n "s/.*x1y2 with .* lc rgb '\([^']*\)'.*/\1/p" y2.gp)" \
    "the second axis has the colour of its curve"
mkdir -p $m/params $m/metrics/system
printf cpu >$m/params/derived.device
for kind in reserved allocated; do
    printf '1 4e9 1\n2 4e9 2\n' >$m/metrics/system/mem_${kind}_bytes
done
gplot loss -q run1 --script quiet.gp >out
is "$(wc -c <out)" 0 "with --quiet there is no table"
gplot memory -r edge edge --data >out
is "$(tail -n +2 out | cut -f3 | sort -u | tr '\n' ,)" "edge," \
    "a CPU has no reserved memory"
gplot hellaswag gpt2-124M --baseline "GPT-2 124M=0.2955" >out
like out "GPT-2 124M" "hellaswag names the baseline"
gplot loss run1 --baseline far=1e4 --baseline low=-1e4 >out
like out "far ↑ 10000" "an arrow leads to a baseline above the panel"
like out "low ↓ -10000" "an arrow leads to a baseline below the panel"
LC_ALL=C gplot loss run1 --baseline far=1e4 --baseline low=-1e4 >out
is "$(grep -o -e 'far ^ 10000' -e 'low v -10000' out | wc -l)" 2 \
    "the arrows to baselines are ASCII where only ASCII is shown"
gplot loss run1 --baseline far=1e4 --baseline low=-1e4 -o far.tex >out 2>&1
like far.tex 'far \\ensuremath{\\uparrow} 10000' \
    "LaTeX has the arrow to a baseline outside of the panel"

gplot hellaswag gpt2-124M run1 --script hella.gp -q >out 2>&1
is "$(sed -n 's/.* with linespoints .* dt \([^ ]*\) .*/\1/p' hella.gp |
    sort -u | wc -l | tr -d ' ')" 2 \
    "beside another run, the two accuracies of a run differ by their dashes"

# Pictures in terminals that draw them.
if command -v gnuplot >/dev/null; then
    gplot loss run1 --term kitty >out 2>err
    is "$(head -c 3 out | od -An -c | tr -d ' ')" '033_G' \
        "the kitty terminal gets a PNG"
    gplot loss run1 --term dumb >out 2>err
    is $? 0 "gnuplot draws with characters"
    like out "step" "gnuplot's characters name the axis"
else
    skip "the kitty terminal gets a PNG" "gnuplot is not installed"
fi
gplot loss run1 --watch --every 10ms >out 2>err
is $? 0 "--watch ends when the run has ended"
like out "━━ train" "--watch draws the figure"

gplot loss run1 --title "My words" >out 2>err
like out "^My words" "--title sets the title"
gplot loss run1 --no-title -o bare.json >out 2>err
is "$(grep -c '"title":"Loss"' bare.json)" 0 "--no-title leaves the title out"
gplot loss run1 --no-title --panel-label b -o bare.json >out 2>err
like bare.json '"title":"(b)"' "--panel-label is all that stands there then"
gplot compare run1 run2 --panel-label a -o four.json >out 2>err
is "$(grep -o '"title":"([a-z])' four.json | tr -d '\n')" \
    '"title":"(a)"title":"(b)"title":"(c)"title":"(d)' \
    "panels have letters one after the other"
gplot loss run1 --panel-label 1 >out 2>err
is $? 2 "--panel-label refuses what is no letter"
gplot loss run1 --smooth ma:9 --no-notes -q -o bare.json >out 2>err
like out "^Smoothed: .*9" "--no-notes prints the notes for a caption"
unlike bare.json Smoothed "--no-notes draws no notes"
gplot loss run1 run2 --alias "run1=the first" -o alias.json >out 2>err
like alias.json '"label":"the first' "--alias names a run in the legend"
gplot loss run1 run2 --alias run1#=5 -o alias.json >out 2>err
gplot loss run1 run2 --alias run2#=5 -o alias2.json >out 2>err
colour() {
    perl -MJSON::PP -0777 -ne 'print ((grep { !$_->{faint} && $_->{name} eq
        "'"$1"'" } @{decode_json($_)->{panels}[0]{curves}})[0]{colour})' "$2"
}
test -n "$(colour run1 alias.json)" &&
    test "$(colour run1 alias.json)" = "$(colour run2 alias2.json)"
ok $? "--alias gives a run a colour of the palette"
gplot loss run1 --alias run1#=9 >out 2>err
is $? 2 "--alias refuses a colour that the palette does not have"
gplot dashboard --panels 'loss,lr,run2=ours,none=x' run1 run2 -o alias.json \
    >out 2>err
is "$(grep -o '"label":"ours[^"]*' alias.json | sort -u | wc -l | tr -d ' ')" 3 \
    "panels may have aliases, which hold in all of them"
gplot loss run1 --alias "none=x" >out 2>err
is $? 3 "--alias refuses a run that is not in the figure"
gplot loss run1 --alias none >out 2>err
is $? 2 "--alias refuses what is no pair"
gplot loss run1 --title "My words" >out 2>err
unlike out "^Loss" "--title replaces the default title"

# What is out of the ordinary.
gplot loss spike >out
like out "1 point above .* cut off, up to 90[0-9].*step 1234" \
    "a spike that is cut off is reported"
gplot metric train/loss empty >out 2>err
is $? 3 "a missing metric ends with status 3"
gplot loss 'lr_3e-4^{a}@~&"b'"'"'\%`id` αé' >out 2>err
is $? 0 "a run is found by an odd name"
like out "2 values that are not finite, the first at step 51" \
    "values that are not finite are reported"

# The learning rate of settings, from the trainer.
if test -x "$build/gtrain"; then
    ini=$top/conf/shakespeare-char.ini
    rates() { gtrain plan --only schedule --points 0 --tsv "$@" >rates.tsv; }
    rates "$ini"
    gplot schedule rates.tsv --data >out 2>err
    is $? 0 "a schedule is drawn before any training"
    is "$(wc -l <out | tr -d ' ')" 2001 "a schedule is drawn with every step"
    sed 's/^lr = .*/lr = 0.5/' "$ini" >other.ini
    rates "$ini" other.ini --set schedule.steps=200
    gplot schedule rates.tsv --data >out 2>err
    is "$(cut -f3 out | uniq -c | awk '{ print $1, $2 }' | sed 's,/.*/,,')" \
        "1 curve
200 shakespeare-char.ini
200 other.ini" "a schedule has a curve for each settings file"
    rates "$ini" -s schedule.min_lr=0
    gplot schedule rates.tsv --script lin.gp >out 2>err
    unlike lin.gp "^set logscale" "a schedule that ends at 0 is linear"
else
    skip "a schedule is drawn before any training" "gtrain is not built"
fi
printf 'step\tlr\n' >none.tsv
echo '[train]' >c4.ini

# Refused, in one line.
refused() {     # STATUS PATTERN ARGUMENT...
    want=$1 pattern=$2
    shift 2
    gplot "$@" >out 2>err
    is $? "$want" "gplot $* ends with status $want"
    like err "$pattern" "gplot $* says what is wrong"
    is "$(wc -l <err | tr -d ' ')" 1 "gplot $* fails with one line"
}
refused 2 "ema:0.98" loss run1 --smooth ema:2
refused 3 "run1 has no metric parsecs, which --x=parsecs" loss run1 --x parsecs
refused 3 "did you mean tokens" loss run1 --x tokns
refused 2 "8.4cmx6cm" loss run1 --size huge
gplot loss run1 --size 800pxx500px -o pixels.svg >out 2>err
like pixels.svg 'width="800" height="500"' "a size can be given in pixels"
refused 2 "LOW:HIGH" loss run1 --xrange 5
refused 2 "not below" loss run1 --yrange 5:3
refused 2 "resume, checkpoint" loss run1 --mark ides
refused 2 "top-right" loss run1 --legend moon
refused 2 "png, .svg" loss run1 -o fig.bmp
refused 2 "exclude each other" loss run1 --mono --dark
refused 2 "a run is expected: gplot loss RUN" loss
refused 2 "a metric and a run are expected: gplot metric" metric train/loss
refused 2 "a parameter and a metric are expected" sweep lr
refused 2 "runs are expected: gplot compare RUN" compare
refused 2 "a table is expected: gplot schedule FILE" schedule
refused 3 "no-such.tsv" schedule no-such.tsv
refused 1 "there are no learning rates of none.tsv" schedule none.tsv
refused 1 "type 'gtrain plan c4.ini --only schedule --points 0 --tsv >FILE'" \
    schedule c4.ini
refused 2 "NAME=VALUE" loss run1 --baseline nothing
refused 3 "nobody" loss nobody
refused 3 "there is no run named a b" loss "$(printf 'a\nb')"
refused 3 "memory" memory run1
refused 3 "nowhere" loss run1 -r nowhere
refused 3 "none of these runs has a parameter nope" loss run1 run2 --group-by nope
refused 3 "none of these runs has a parameter nope" loss run1 --color-by nope
gtrack report run1 >out 2>err
is "$? $(cat out err)" \
    "2 gtrack: a report goes into a file: -o FILE.html, .md or .pdf" \
    "a report without a file is an error"

# 2,100 runs without colours, whose best is no other than run 2078
seq 2100 | sed 's,.*,many/0/id&/metrics,' | xargs mkdir -p
printf 'experiment_id: "0"\nname: Default\nlifecycle_stage: active\n' >many/0/meta.yaml
awk 'BEGIN { for (i = 1; i <= 2100; i++) {
        at = "many/0/id" i
        print "run_id: id" i "\nrun_name: n" i "\nlifecycle_stage: active\n" \
            "experiment_id: \"0\"\nstatus: 3\nstart_time: " i >(at "/meta.yaml")
        for (k = 1; k <= 3; k++)
            print k, i == 2078 ? 0.5 : 1 + i % 7 / k, k >(at "/metrics/x")
        close(at "/meta.yaml"); close(at "/metrics/x")
    } }'
gplot metric -r many x 'metrics.x > 0' --data >many.tsv 2>err
is "$? $(cut -f 2 many.tsv | sort -u | grep -c '^n') $(grep -c "n2078$tab" many.tsv)" \
    "0 701 3" "of very many runs a thousand or fewer are drawn, and the best"
gplot metric -r many x 'metrics.x > 0' >out 2>err
like out "701 of 2100 runs are drawn, the best one included" \
    "a figure of very many runs says how many it has"
done_testing
