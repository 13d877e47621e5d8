#!/bin/sh
# gplot verify, gplot redo and gtrack claims: figures say what drew them.
. "$(dirname "$0")/../lib/tap.sh"
command -v gnuplot >/dev/null || skip_all "gnuplot is not installed"

for run in a b; do
    awk -v up=$run 'BEGIN { for (step = 1; step <= 30; step++)
        printf "{\"step\": %d, \"train/loss\": %.6g}\n", step,
            9 / step + (up == "b") }' | gtrack log $run >out 2>&1
done
mkdir figures
for form in png svg pdf eps tex tikz html; do
    gplot loss a b --smooth ema:0.9 --title 'Of "both" -- 50%; (a) <é>' \
        -o figures/f.$form >out 2>err
    is $? 0 "a figure is drawn as $form"
done
gplot verify figures/f.* >out 2>err
is $? 0 "figures of runs that have not changed are verified"
is "$(tail -n +2 out | cut -f 3 | sort | uniq -c | awk '{ print $1, $2 }')" "7 equal" \
    "each format has the stamp" "$(cat out)"
is "$(grep '^figures/f.svg' out | cut -f 2)" \
    "gplot loss a b --smooth ema:0.9 --title 'Of \"both\" -- 50%; (a) <é>'" \
    "the stamp has the command"
gplot loss a b --no-title -o figures/bare.svg >out 2>err
check "a figure without a title is verified" gplot verify figures/bare.svg
rm figures/bare.svg
gplot dashboard a b --panels loss --finished -o figures/bare.svg >out 2>err
check "a figure of chosen panels and finished runs is verified" \
    gplot verify figures/bare.svg
rm figures/bare.svg
gplot loss a b -o figures/older.svg >out 2>err
gplot loss a b --hash >hash 2>err
is "$(grep -o 'gplot-figure/2 [0-9a-f]*' figures/older.svg)" \
    "gplot-figure/2 $(cat hash)" "--hash prints the hash of the stamp"
gplot loss a b --data >data 2>err
sed "s|gplot-figure/2 [0-9a-f]*|gplot-figure $(sha256sum <data | cut -c 1-64)|" \
    figures/older.svg >older && cat older >figures/older.svg
gplot verify figures/older.svg >out 2>err
is "$? $(tail -n +2 out | cut -f 3)" "0 equal" \
    "the hash of an older figure, which is of a text, is checked"
rm figures/older.svg
if command -v xmllint >/dev/null; then
    check "an SVG with a stamp is XML" xmllint --noout figures/f.svg
else
    skip "an SVG with a stamp is XML" "xmllint is not installed"
fi
if command -v pdfinfo >/dev/null; then
    pdfinfo figures/f.pdf >out 2>err && test ! -s err
    ok $? "a PDF with a stamp is a PDF"
else
    skip "a PDF with a stamp is a PDF" "pdfinfo is not installed"
fi
if command -v python3 >/dev/null; then
    python3 - figures/f.png <<'END'
import struct, sys, zlib
data, at, names = open(sys.argv[1], "rb").read(), 8, []
while at < len(data):
    n, name = struct.unpack(">I4s", data[at:at + 8])
    body = data[at + 4:at + 8 + n]
    assert struct.unpack(">I", data[at + 8 + n:at + 12 + n])[0] == zlib.crc32(body)
    names.append(name)
    at += 12 + n
assert names[-2:] == [b"tEXt", b"IEND"], names
END
    ok $? "a PNG with a stamp has whole chunks"
else
    skip "a PNG with a stamp has whole chunks" "python3 is not installed"
fi

cat >report.tex <<'END'
\includegraphics[width=8cm]{figures/f.pdf} % \includegraphics{figures/none}
\input{figures/f}
\includegraphics{figures/f}
END
printf 'See ![the loss](figures/f.svg) and ![another](other.svg).\n' >report.md
printf '<svg></svg>\n' >other.svg
gtrack claims report.tex report.md --tsv --no-header >out 2>err
is $? 0 "claims verifies the figures of a report"
is "$(cut -f 1,4,6 out | tr '\t' ' ')" "report.tex:1 ./figures/f.pdf equal
report.tex:2 ./figures/f.tex equal
report.tex:3 ./figures/f.pdf equal
report.md:1 ./figures/f.svg equal" "figures of LaTeX and Markdown are found"
mkdir alone
ln "$build/gtrack" alone/gtrack 2>/dev/null || cp "$build/gtrack" alone
(PATH=/usr/bin:/bin alone/gtrack claims report.tex) >out 2>err
is $? 0 "claims needs no other program to verify a figure"
cp figures/f.svg kept.svg
sed 's/ L[0-9]/ L9/' kept.svg >figures/f.svg
gplot verify figures/f.svg >out 2>err
is "$? $(tail -n +2 out | cut -f 3)" "1 equal data, but another picture" \
    "a curve that was moved by hand is found"
gtrack claims report.md --tsv --no-header >out 2>err
is "$? $(cut -f 1,6 out)" "1 report.md:1${tab}equal data, but another picture" \
    "claims finds a curve that was moved by hand"
cp kept.svg figures/f.svg

loss=$(find mlruns -path '*/metrics/train/loss' | head -n 1)
awk '$3 == 7 { $2 += 0.01 } { print }' "$loss" >changed && cat changed >"$loss"
gplot verify figures/f.png figures/f.pdf >out 2>err
is $? 1 "a run that has changed is exit status 1"
gplot loss a b --hash >changed 2>err
test -s changed && ! cmp -s changed hash
ok $? "a run that has changed has another hash"
is "$(tail -n +2 out | cut -f 3)" "differs
differs" "a figure of a run that has changed differs"
gtrack claims report.md >out 2>err
is $? 1 "claims finds a figure of a run that has changed"
like err "1 of 1 figure is not what the runs say; 'gplot redo'" \
    "the message says how to draw it again"
mv figures/f.svg moved.svg
gplot redo moved.svg >out 2>err
is $? 0 "gplot redo draws a figure again where it is now"
check "the figure that was drawn again is verified" gplot verify moved.svg

gplot verify other.svg >out 2>err
is $? 1 "a figure of another program is not verified"
like out "unstamped" "a figure of another program has no stamp"
gplot redo other.svg >out 2>err
is $? 3 "a figure of another program cannot be drawn again"
gplot verify nowhere.svg >out 2>err
is $? 1 "a figure that does not exist is an error"
sed 's/ -%2Dtitle / -%2Dscript=x.gp&/' moved.svg >evil.svg
gplot redo evil.svg >out 2>err
is $? 1 "a command that writes another file is refused"
test ! -e x.gp
ok $? "nothing else was written"
echo precious >notes.svg
for words in '-o notes.svg -%2Dtitle' '-%2Dout=notes.svg' '-onotes.svg' \
    '-o notes.svg -%2Dtitle -%2D' '-%2Dwat'; do
    printf '<!-- gplot-figure %064d loss a %s; -->\n' 0 "$words" >evil.svg
    for command in redo verify; do
        gplot $command evil.svg >out 2>err
        test $? = 1 && cat out err | grep -q 'a file may not ask for this'
        ok $? "gplot $command refuses a figure that was drawn with '$words'"
    done
done
mkdir -p below && echo x=1 >secret.ini
for words in 'schedule /dev/zero' 'schedule ../secret.ini' 'loss -r /tmp a' \
    'loss a -%2Dfollow-links' '-%2Dfol loss a'; do
    printf '<!-- gplot-figure %064d %s; -->\n' 0 "$words" >below/evil.svg
    (cd below && gplot verify evil.svg) >out 2>err
    test $? = 1 && grep -q 'a file may not ask for this' out
    ok $? "gplot verify opens nothing outside of the folder for '$words'"
done
ln -s ../mlruns below/runs && printf 'cell\tstep\tlr\nx\t0\t1\n' >rates.tsv &&
    ln -s ../rates.tsv below/rates.tsv
for words in '-r runs loss a' 'schedule rates.tsv'; do
    printf '<!-- gplot-figure %064d %s; -->\n' 0 "$words" >below/evil.svg
    (cd below && gplot redo evil.svg) >out 2>err
    test $? = 1 && grep -q 'is not below this folder' err && test "$(wc -c <below/evil.svg)" -lt 200
    ok $? "a link does not lead a figure out of the folder for '$words'" "$(cat out err)"
done
printf '<!-- gtrack: table: ls --root runs -c name -->\n<!-- /gtrack -->\n' >below/asks.md
(cd below && gtrack claims --fill asks.md) >out 2>err
test $? = 1 && grep -q 'is not below this folder' out && test "$(wc -l <below/asks.md)" -eq 2
ok $? "a link does not lead a report out of the folder" "$(cat out err below/asks.md)"
printf '<!-- gplot-figure %064d -r %s loss @latest; -->\n' 0 "$dir/mlruns" >below/abs.svg
(cd below && GTRACK_ROOT=$dir/mlruns gplot redo abs.svg) >out 2>err
ok $? "the store of the user may be anywhere"
is "$(cat notes.svg)" precious "gplot redo writes the file that it was given alone"
for command in "report a" "redo moved.svg" "verify moved.svg"; do
    printf '<!-- gplot-figure %064d %s; -->\n' 0 "$command" >evil.html
    gplot redo evil.html >out 2>err
    test $? = 1 && grep -q "unknown command" err &&
        test "$(wc -c <evil.html)" -lt 200
    ok $? "only a command that draws a figure is repeated, not '$command'"
done
rm -r mlruns
gplot verify moved.svg >out 2>err
is $? 1 "a figure of a store that is gone is not verified"
like out "there is no store" "the reason is given"
done_testing
