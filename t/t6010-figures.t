#!/bin/sh
# Figures come out as files that other programs can read.
. "${top_srcdir:-..}/t/plot-lib.sh"
command -v gnuplot >/dev/null || skip_all "gnuplot is not installed"

make_store rates ranks

# A figure in each format: the size asked for, words, and curves.
for kind in lr loss memory; do
    runs="run1 run2 run3"
    test $kind = memory && runs=two-ranks
    # shellcheck disable=SC2086
    gplot $kind $runs -o "$dir/$kind.png" --size 16cmx10cm >"$dir/out" 2>&1
    status $? 0 "gplot $kind makes a PNG"
    like "$dir/out" "run1 *train/lr\|two-ranks *system/mem_alloc\|run1 *train/loss" \
        "and says the best and last values"
    is "$(png_size "$dir/$kind.png")" "1260 787" "the PNG of $kind has its size"
    # shellcheck disable=SC2086
    gplot $kind $runs -o "$dir/$kind.svg" >/dev/null 2>&1
    like "$dir/$kind.svg" ">step<" "the SVG of $kind names its axis"
    like "$dir/$kind.svg" "<path" "and has curves"
done
done_testing
