#!/bin/sh
# The gnuplot program of a figure is the one that was looked at, and whatever
# draws it gives the same picture.
#
# After a change that is meant: GOLDEN=write t/cli/t6030-script.t
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"

make_store resume odd hella

# The text without its longest part, the data of curves past the third line.
shorten() {
    awk '/^\$.* << EOD$/ { n = 0 } /^EOD$/ { n = -1e9 }
        { n++ } n <= 4 || n < 0 { print }' "$1"
}
golden() {      # NAME ARGUMENT...
    name=$1
    shift
    gplot "$@" --script "$name.gp" -q >out 2>&1
    is $? 0 "gplot $* writes a gnuplot script"
    shorten "$name.gp" >"$name.short"
    test "${GOLDEN:-}" != write || cp "$name.short" "$top/t/cli/plot-$name.golden"
    is "$(diff "$top/t/cli/plot-$name.golden" "$name.short")" "" \
        "the gnuplot script of $name is as it was"
}
golden resume loss resumed --mark resume,best --smooth ema:0.9
golden names loss "$(printf 'lr_3e-4^{a}@~&"b'"'"'\\%%`id` \316\261\303\251')"
golden hella hellaswag gpt2-124M --baseline "GPT-2 124M=0.2955" \
    --size 8.4cmx6cm --mono

# Raw values hide no smoothed curve, and let each other through.
gplot loss resumed gpt2-124M --smooth ma:5 --script order.gp -q >out 2>&1
is "$(sed -n "s/.* with lines lc rgb '#\(..\)......'.*/\1/p; \
    s/.* with lines lc rgb '#......'.*/full/p" order.gp | uniq -c |
    awk '{ print $1, $2 }' | tr '\n' ' ')" "2 B3 2 full " \
    "the transparent raw curves of all runs are behind the smoothed ones"

# The colours of runs: of each run of a figure, its name and its colour.
for run in one two three four five six seven eight nine; do
    printf 'step=%d loss=%d\n' 1 3 2 2 3 1 | gtrack log "$run" -r coloured 2>>log
done
colours() {
    gplot loss -r coloured "$@" --script colours.gp -q >out 2>&1
    sed -n "s/^set label '\([a-z]*\)' at .* left .*rgb '#\(......\)'.*/\1 \2/p" colours.gp
}
colours one two three four five six >six
is "$(sort -k 2 six | uniq -u -f 1 | wc -l)" 6 \
    "runs that began one after the other have different colours"
for run in one two three four five six; do
    grep "^$run " six
    colours six "$run" one | grep "^$run "
done >again
is "$(sort -u again)" "$(sort six)" \
    "a run has the same colour whatever other runs a figure has"
colours nine one >both && colours one nine | sort >turned
is "$(sort both)" "$(cat turned)" "colours do not depend on the order of the runs"
is "$(grep one both)$(cut -d ' ' -f 2 both | sort -u | wc -l)" "$(grep one six)2" \
    "of two runs of the same colour, the older one keeps it"
gtrack tag -r coloured nine gtrack.colour=4 && colours one nine two >tagged
is "$(sed -n 's/nine //p' tagged)" "$(sed -n 's/four //p' six)" \
    "the tag gtrack.colour gives a run another colour"

# Names that are long and alike, of runs that end at different steps.
long=a-long-name-that-all-runs-have
for end in 30 50 100; do
    awk -v n=$end 'BEGIN { for (i = 1; i <= n; i++)
        printf "step=%d loss=%g\n", i, 1 + 1 / i + i % 2 }' |
        gtrack log "$long-lr$end" -r lengths -q
done
gplot loss -r lengths "$long-lr50" "$long-lr100" --script lengths.gp -q >out 2>&1
is "$(sed -n "s/^set label '\(.*lr[0-9]*\)' at.*/\1/p" lengths.gp | paste -sd ' ')" \
    "a-long…lr50 a-long…lr100" "names that are alike are cut at a separator"
is "$(grep -c 'nohead front lc rgb' lengths.gp)" 2 \
    "a legend names curves that end far from the right margin"
gplot loss -r lengths "$long-lr30" "$long-lr100" --smooth ema:0.98 --script few.gp -q >out 2>&1
is "$(grep -c ' with lines lc ' few.gp)" 3 \
    "a curve with fewer points than are averaged is not smoothed"

# A character that no font has would be drawn as a box over all of the figure.
mkdir fonts
printf '#!/bin/sh\ncase $1 in *=1f680) ;; *) echo Sans ;; esac\n' >fonts/fc-list
chmod +x fonts/fc-list
rocket=$(printf '\360\237\232\200 \346\227\245 \316\261')
for form in png svg; do
    PATH=$dir/fonts:$PATH gplot loss resumed --title "$rocket" \
        --script "font-$form.gp" -o "font.$form" -q >out 2>err
done
like font-png.gp "'? $(printf '\346\227\245 \316\261')'" \
    "what no font draws is a question mark"
is "$(grep -c 'no installed font has U+1F680' err)" 0 \
    "no font is looked for when an SVG is drawn"
PATH=$dir/fonts:$PATH gplot loss resumed --title "$rocket $rocket" \
    --script font.gp >out 2>err
is "$(grep -c 'no installed font has U+1F680' err)" 1 \
    "a character without a font is reported once"

if command -v gnuplot >/dev/null; then
    # The program draws by itself, and twice the same.
    (mkdir alone && cp resume.gp alone && cd alone && gnuplot resume.gp) \
        >out 2>&1
    is $? 0 "a script needs nothing but gnuplot"
    gplot loss resumed --mark resume,best --smooth ema:0.9 -o a.png -q >out
    gplot loss resumed --mark resume,best --smooth ema:0.9 -o b.png -q >out
    cmp a.png b.png >out 2>&1
    is $? 0 "a figure drawn twice gives equal files"
    is "$(png_size alone/resume.png)" "$(png_size a.png)" \
        "a script gives a figure of the size that gplot gives"
else
    skip "a script needs nothing but gnuplot" "gnuplot is not installed"
fi

# Without gnuplot: what is missing, what works.
GPLOT_GNUPLOT=$dir/none gplot loss resumed -o c.png >out 2>err
is $? 3 "a file without gnuplot ends with status 3"
like err "gnuplot is not installed.*terminal.*--data" \
    "the message without gnuplot says what works"
test ! -e c.png
ok $? "a missing gnuplot leaves no file"
GPLOT_GNUPLOT=$dir/none gplot loss resumed >out 2>err
is $? 0 "the terminal needs no gnuplot"
GPLOT_GNUPLOT=$dir/none gtrack report resumed -o r.pdf >out 2>err
is $? 3 "a report as PDF without gnuplot ends with status 3"
like err "only be an HTML page" \
    "the message without gnuplot says which report can be written"
GPLOT_GNUPLOT=$dir/none gtrack report resumed -o r.html >out 2>err
is $? 0 "a report as HTML needs no gnuplot"
printf '#!/bin/sh\necho "unknown or ambiguous terminal name" >&2; exit 1\n' >old
chmod +x old
GPLOT_GNUPLOT=$dir/old gplot loss resumed -o c.pdf >out 2>err
is $? 3 "a gnuplot without a terminal ends with status 3"
like err "cannot write pdf.*pdfcairo" "the missing terminal of gnuplot is named"
printf '#!/bin/sh\nkill -9 $$\n' >old
GPLOT_GNUPLOT=$dir/old gplot loss resumed -o c.pdf >out 2>err
is $? 1 "a gnuplot that is killed ends with status 1"
test ! -e c.pdf
ok $? "a gnuplot that is killed leaves no file"
printf '#!/bin/sh\necho "waiting for a font" >&2; exec sleep 1000\n' >old
GPLOT_TIMEOUT=300ms GPLOT_GNUPLOT=$dir/old gplot loss resumed -o c.pdf >out 2>err
is $? 1 "a gnuplot that hangs ends with status 1"
like err "took longer than 0.3 s; it said: waiting for a font" \
    "a gnuplot that hangs is ended, with what it said"
cat >old <<'END'
#!/bin/sh
tex=$(sed -n "s/^set output '\(.*\.tex\)'/\1/p")
: >"$tex"
: >"${tex%.tex}.pdf"
END
GPLOT_GNUPLOT=$dir/old gplot loss resumed -o c.tex >out 2>err
is $? 1 "a gnuplot that leaves empty files ends with status 1"
test ! -e c.tex && test ! -e c-inc.pdf
ok $? "a gnuplot that leaves empty files leaves none of them"
done_testing
