#!/bin/sh
# Figures come out as files that other programs can read, with their words and
# their curves.
. "${top_srcdir:-..}/t/lib/plot-lib.sh"
command -v gnuplot >/dev/null || skip_all "gnuplot is not installed"

make_store rates ranks resume odd
build=$(cd "$build" && pwd)
cd "$dir" || exit 1
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
    test $kind = memory && runs=two-ranks colour=2c3532
    # shellcheck disable=SC2086
    gplot $kind $runs -o $kind.png --size 16cmx10cm >out 2>&1
    status $? 0 "gplot $kind makes a PNG"
    like out "run1 *train/lr\|two-ranks *system/mem_alloc\|run1 *train/loss" \
        "and says the best and last values"
    is "$(png_size $kind.png)" "1260 787" "the PNG of $kind has its size"
    if pixels=$(colours $kind.png $colour); then
        test "$pixels" -gt 500
        result $? "and $pixels pixels of a curve"
    else
        skip "and pixels of a curve" "no program here decodes a PNG"
    fi
    # shellcheck disable=SC2086
    gplot $kind $runs -o $kind.svg >/dev/null 2>&1
    like $kind.svg ">step<" "the SVG of $kind names its axis"
    is "$(grep -c '<path stroke=.*M.*L\|L.*[0-9] ' $kind.svg | awk '{
        print ($1 > 3) }')" 1 "and has curves"
done

# Every format is what its name says.
for form in png svg pdf eps tex html txt; do
    gplot loss "$odd" -o "odd.$form" >out 2>err
    status $? 0 "a run of an odd name is drawn as .$form"
done
like odd.svg 'lr_3e-4^{a}@~&amp;"b'"'"'\\%`id` αé' "its name is in the SVG"
is "$(head -c 4 odd.pdf)" "%PDF" "the PDF is one"
is "$(head -c 11 odd.eps)" "%!PS-Adobe-" "the EPS is one"
like odd.html "</html>" "the HTML is whole"
unlike odd.html '<script\|https\?://[^w]' "and needs nothing else"
test -s odd-inc.pdf
result $? "the TeX has its picture"
like odd.tex "includegraphics.*{odd-inc}" "which it names without a folder"
test -z "$(find . -name '*gplot*')"
result $? "nothing else is left"

if command -v pdftotext >/dev/null; then
    pdftotext odd.pdf words
    like words 'lr_3e-4^{a}@~&"b'"'"'\\%`id` αé' "its name is in the PDF"
    like words "loss (nats/token)" "so is the name of an axis"
    is "$(pdfinfo odd.pdf | awk '/Page size/ { print $3, $5 }')" "454 283" \
        "the PDF has its size"
else
    skip "its name is in the PDF" "pdftotext is not installed"
fi
if command -v pdflatex >/dev/null; then
    cat >paper.tex <<'END'
\documentclass{article}
\usepackage{graphicx,color,textcomp}
\usepackage[T1]{fontenc}
\begin{document}\input{odd}\end{document}
END
    pdflatex -interaction=nonstopmode -halt-on-error paper.tex >out 2>&1
    status $? 0 "LaTeX takes the figure"
    pdftotext paper.pdf words 2>/dev/null
    like words 'lr_3e-4^{a}.*\\%.id' "and prints the name as it is"
else
    skip "LaTeX takes the figure" "pdflatex is not installed"
fi

# A million points make a small file.
"$build/t/lib/mkruns" big big:1:200000
gplot loss run1 -r big -o big.pdf >out 2>&1
test "$(wc -c <big.pdf)" -lt 200000
result $? "200,000 points make a PDF of $(wc -c <big.pdf) bytes"

# Reports.
for form in html md pdf; do
    gplot report run1 run2 resumed two-ranks -o "report.$form" >out 2>err
    status $? 0 "a report is written as .$form"
done
is "$(grep -c '<svg' report.html)" 8 "the page has its figures inside"
is "$(grep -o 'id="f[0-9]*-[^"]*"' report.html | sort | uniq -d | wc -l |
    tr -d ' ')" 0 "and no name in it is there twice"
like report.html "<td>train/loss</td>" "and the results"
is "$(find report-figures -name '*.svg' | wc -l | tr -d ' ')" 8 "Markdown has them beside it"
done_testing
