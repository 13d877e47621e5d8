#!/bin/sh
# Figures come out as files that other programs can read, with their words and
# their curves.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
command -v gnuplot >/dev/null || skip_all "gnuplot is not installed"

make_store rates ranks resume odd
odd=$(printf 'lr_3e-4^{a}@~&"b'"'"'\\%%`id` \316\261\303\251')

# A PNG: the size asked for, and pixels of the curves' colours.
colours() {     # FILE RRGGBB: pixels of that colour, by what decodes a PNG
    if command -v pngtopnm >/dev/null; then
        pngtopnm "$1" 2>/dev/null | tail -c +16
    elif command -v convert >/dev/null; then
        convert "$1" rgb:- 2>/dev/null
    else
        return 1
    fi | od -An -v -tx1 -w3 | tr -d ' ' | grep -ci "$2"
}
for kind in lr loss memory; do
    runs="run1 run2 run3" colour=0446a3
    test $kind = memory && runs=two-ranks
    # shellcheck disable=SC2086
    gplot $kind $runs -o $kind.png --size 16cmx10cm >out 2>&1
    is $? 0 "gplot $kind makes a PNG"
    like out "run1 *train/lr\|two-ranks *system/mem_alloc\|run1 *train/loss" \
        "gplot $kind prints the best and last values"
    is "$(png_size $kind.png)" "1260 787" "the PNG of $kind has its size"
    if pixels=$(colours $kind.png $colour); then
        test "$pixels" -gt 500
        ok $? "the PNG of $kind has $pixels pixels of a curve"
    else
        skip \
            "the PNG of $kind has pixels of a curve" "no program here decodes a PNG"
    fi
    # shellcheck disable=SC2086
    gplot $kind $runs -o $kind.svg >/dev/null 2>&1
    like $kind.svg ">step<" "the SVG of $kind names its axis"
    is "$(grep -c '<path stroke=.*M.*L\|L.*[0-9] ' $kind.svg | awk '{
        print ($1 > 3) }')" 1 "the SVG of $kind has curves"
done

# Every format is what its name says.
for form in png svg pdf eps tex html txt; do
    gplot loss "$odd" -o "odd.$form" >out 2>err
    is $? 0 "a run of an odd name is drawn as .$form"
done
like odd.svg 'lr_3e-4^{a}@~&amp;"b'"'"'\\%`id` αé' "the SVG has the odd name"
is "$(head -c 4 odd.pdf)" "%PDF" "the PDF begins with its signature"
is "$(head -c 11 odd.eps)" "%!PS-Adobe-" "the EPS begins with its signature"
like odd.html "</html>" "the HTML figure is complete"
unlike odd.html '<script\|https\?://[^w]' \
    "the HTML figure refers to no other file"
test -s odd-inc.pdf
ok $? "the TeX figure has its picture"
like odd.tex "includegraphics.*{odd-inc}" \
    "the TeX figure names its picture without a folder"
mkdir figs
gplot loss "$odd" -o figs/in.tex >out 2>&1
like figs/in.tex 'IfFileExists{figs/in-inc.pdf}' \
    "the TeX figure of a folder looks for its picture there first"
test -z "$(find . -name '*gplot*')"
ok $? "gplot leaves no temporary file"

if command -v pdftotext >/dev/null; then
    pdftotext odd.pdf words
    like words 'lr_3e-4^{a}@~&"b'"'"'\\%`id` αé' "the PDF has the odd name"
    like words "loss (nats/token)" "the PDF has the name of an axis"
    is "$(pdfinfo odd.pdf | awk '/Page size/ { print $3, $5 }')" "454 283" \
        "the PDF has its size"
else
    skip "the PDF has the odd name" "pdftotext is not installed"
fi
gplot loss run1 run2 run3 --smooth ema:0.9 --size 8.4cmx6cm --font Times,8 \
    -o column.tex >out 2>&1
like column.tex '^  .fontsize{8}{9.6}' "the TeX figure has the size of --font"
like column.tex '^% Smoothed: exp' "the caption of a TeX figure is a comment"
is "$(grep -v '^%' column.tex | grep -c Smoothed)" 0 \
    "the caption of a TeX figure is not in the picture"
gplot loss run1 --script svg.gp -o svg.svg >out 2>&1
like svg.gp '^set xtics .* offset 0,0.5' \
    "the labels of the x axis are raised in an SVG, whose title they would touch"

if command -v pdflatex >/dev/null; then
    cat >paper.tex <<'END'
\documentclass{article}
\usepackage{graphicx,color,textcomp}
\usepackage[T1]{fontenc}
\begin{document}\input{odd}\end{document}
END
    pdflatex -interaction=nonstopmode -halt-on-error paper.tex >out 2>&1
    is $? 0 "LaTeX compiles the TeX figure"
    unlike paper.log "Overfull" "a TeX figure fits into the text of an article"
    pdftotext paper.pdf words 2>/dev/null
    like words 'lr_3e-4^{a}.*\\%.id' "LaTeX prints the odd name as it is"
    cat >paper.tex <<'END'
\documentclass{article}
\usepackage{graphicx,color,textcomp}
\usepackage[T1]{fontenc}
\setlength{\parindent}{0pt}
\setlength{\textwidth}{8.4cm}
\begin{document}\input{column}\end{document}
END
    pdflatex -interaction=nonstopmode -halt-on-error paper.tex >out 2>&1
    is $? 0 "LaTeX compiles a figure for a column"
    unlike paper.log "Overfull" "the figure for a column fits it"
    for paper in paper figs/paper; do
        input=figs/in
        test $paper = paper || input=in
        printf '%s\n' '\documentclass{article}' \
            '\usepackage{graphicx,color,textcomp}' \
            '\usepackage[T1]{fontenc}' \
            "\\begin{document}\\input{$input}\\end{document}" >$paper.tex
        (cd "$(dirname $paper)" && pdflatex -interaction=nonstopmode \
            -halt-on-error paper.tex) >out 2>&1
        is $? 0 "LaTeX finds the picture of figs/in.tex from $paper.tex"
    done
else
    skip "LaTeX compiles the TeX figure" "pdflatex is not installed"
fi

# A million points make a small file.
"$build/t/lib/mkruns" big big:1:200000
gplot loss run1 -r big -o big.pdf >out 2>&1
test "$(wc -c <big.pdf)" -lt 200000
ok $? "200,000 points make a PDF of $(wc -c <big.pdf) bytes"

# Reports.
for form in html md pdf; do
    gtrack report run1 run2 resumed two-ranks -o "report.$form" >out 2>err
    is $? 0 "a report is written as .$form"
done
like report.html 'id="frozen"' "the HTML report is the page of gtrack serve"
gtrack report run1 run2 run3 -o three.md >out 2>err
like three.md "^The best run is run2: its lowest val/loss is 3.3929, at step" \
    "a report names the best run"
like three.md "optim.lr = 0.0006" \
    "a report says in what the best run differs from the others"
like three.md "lowest val/loss" "a report names columns in words"
like three.md "Validation loss by optim.lr" \
    "a report has the figure of the sweep that its runs are"
like three.md "run1: mkruns" "a report has the commands of its runs"
for i in $(seq 60); do
    echo "step=1 train/loss=$i" | gtrack log "a-long-name-of-a-run-$i" \
        -p "data.folder=somewhere/deep/in/the/tree/$i" \
        -p "first.name.of.a.parameter=$i.25" -p "second.name.of.a.parameter=$i.5" \
        -p "third.name.of.a.parameter=$i" -q -r sixty
done
gtrack report -r sixty "name like '%'" -o sixty.pdf >out 2>err
is $? 0 "a report of 60 runs is written as .pdf"
if command -v pdftotext >/dev/null; then
    pdftotext -layout sixty.pdf pages
    is "$(grep -c '^ *…[0-9]' pages) $(grep -c 'run-[0-9]* *train/loss' pages)" "60 60" \
        "a report has every row of its tables, on as many pages as they need"
    like pages "… stands for a-long-name-of-a-run-" \
        "the rows of a report are as wide as a page"
else
    skip "a report has every row of its tables, on as many pages as they need" \
        "no pdftotext"
    skip "the rows of a report are as wide as a page" "no pdftotext"
fi
gtrack report run1 run2 run3 -o three.md >out 2>err
unlike three.md '`' "a report in Markdown has no literal backquotes"
run=$(dirname "$(dirname "$(grep -l '^run2$' "$GTRACK_ROOT"/*/*/tags/mlflow.runName)")")
mkdir -p "$run/artifacts/samples"
echo "Once upon" >"$run/artifacts/samples/step-00000100.txt"
echo "There was <b>" >"$run/artifacts/samples/step-00002000.txt"
gtrack report run1 run2 run3 -o three.md >out 2>err
like three.md "^    There was <b>" \
    "a report has the last sample of the best run"
gtrack report run1 run2 run3 -o three.html >out 2>err
like three.html '"sample":"There was .u003cb>' \
    "the HTML report has the last sample of the best run"
like three.html '"best":"The best run is run2: its lowest val/loss is 3.3929' \
    "the HTML report names the best run"
like three.html '"commands":"run1: mkruns' \
    "the HTML report has the commands of its runs"
like three.html '"origin":.*"run","status"' \
    "the HTML report has the origin of its runs"
is "$(find report-figures -name '*.svg' | wc -l | tr -d ' ')" 8 \
    "the Markdown report has its figures in a folder"
done_testing
