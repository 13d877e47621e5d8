#!/bin/sh
# A figure says what it shows: metrics, units, colours, markers, hidden curves.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands

make_store rates ranks grid hella
panels() { perl -MJSON::PP -0777 -ne '$j = decode_json($_);
    print map { ($_->{title} // $_->{y}{title}) . ";" } @{$j->{panels}}' "$1"; }
notes() { perl -MJSON::PP -CO -0777 -ne 'print map { "$_\n" }
    @{decode_json($_)->{notes}}' "$1"; }
entries() { perl -MJSON::PP -0777 -ne 'print map { "$_->{label};" }
    @{decode_json($_)->{panels}[0]{legend}{entries}}' "$1"; }

# One metric alone is named.
gplot metric val/loss run1 run2 -o one.json >out 2>&1
is "$(panels one.json)" "val/loss;" "one metric is the title of its figure"
gplot hellaswag gpt2-124M -o both.json >out 2>&1
is "$(panels both.json)" "HellaSwag;" "two lines need no other title"
for of in hellaswag task/hellaswag task/hellaswag_plain; do
    for i in 1 2 3; do echo "step=$i $of/acc_norm=0.3"; done |
        gtrack log "$of" >out 2>&1
    gplot hellaswag "$of" -o norm.json >out 2>&1
    is "$(panels norm.json)" "HellaSwag, normalised;" \
        "the title says that there is only the line of $of/acc_norm"
done
gplot loss gpt2-124M --y2 hellaswag -o y2.json >out 2>&1
like y2.json "HellaSwag, normalised" "a curve of the second axis has its title"

# A panel for each unit.
gplot metric 'train/*' run1 -o star.json >out 2>&1
is "$(panels star.json)" \
    "train/grad_norm;train/loss;train/lr;train/perplexity;train/tokens;" \
    "metrics of different units have a panel each"
gplot metric train/loss,val/loss run1 -o two.json >out 2>&1
is "$(panels two.json)" "loss (nats/token);" "metrics of one unit share a panel"
for i in 1 2 3; do
    echo "{\"step\": $i, \"a/1/x\": 1, \"a/2/x\": $i, \"a/y\": 5, \"b\": 3}"
done | gtrack log own >out 2>&1
gplot metric 'a/*' own -o own.json >out 2>&1
is "$(panels own.json)" "value;a/y;" \
    "unknown metrics share a panel if their names differ in numbers only"
gplot metric a/y,b own -o named.json >out 2>&1
is "$(panels named.json)" "value;" "metrics that are named share a panel"

# Panels of one's own, side by side.
gplot dashboard --panels loss,hellaswag gpt2-124M -o side.json >out 2>&1
is "$(panels side.json) $(perl -MJSON::PP -0777 -ne \
    'print decode_json($_)->{columns}' side.json)" "Loss;HellaSwag; 2" \
    "chosen panels are side by side"
gplot dashboard --panels lr,val/loss run1 -o side.json >out 2>&1
is "$(panels side.json)" "Learning rate;val/loss;" \
    "a chosen panel may be a metric"
gplot dashboard --panels 'val/loss - train/loss+2*val/loss | exp(val/loss), lr' \
    run1 -o side.json >out 2>&1
is "$(panels side.json) $(perl -MJSON::PP -0777 -ne \
    'my $p = decode_json($_)->{panels}[0];
    print join "; ", $p->{y2}{title}, sort map { $_->{line} } @{$p->{curves}}' \
    side.json)" "value;Learning rate; exp(val/loss); 2*val/loss; exp(val/loss); \
val/loss - train/loss" "a panel may have expressions, and \" + \" does not divide it"
gplot dashboard --panels 'train/loss+val/loss|train/lr!,lr' run1 -o side.json \
    >out 2>&1
is "$(perl -MJSON::PP -0777 -ne 'my $p = decode_json($_)->{panels};
    print join " ", scalar @$p, $p->[0]{y2}{title}, $p->[1]{y2} ? "y2" : "none",
        sort map { $_->{line} } grep { !$_->{faint} } @{$p->[0]{curves}}' side.json)" \
    "2 learning rate none learning rate train/loss val/loss" \
    "a chosen panel may have several metrics, and an axis on the right"
echo '{"night": "lr,val/loss", "odd": 3}' >"$GTRACK_ROOT/panels.json"
gplot dashboard --panels @night run1 -o side.json >out 2>&1
is "$(panels side.json)" "Learning rate;val/loss;" \
    "panels that were saved are drawn by their name"
gplot dashboard --panels @odd run1 -o side.json >out 2>err
is $? 3 "a name under which no panels were saved is an error"
like err "no panels are saved as odd" "the message names it"
gplot dashboard --panels lr,none run1 -o side.json >out 2>err
is $? 3 "a panel that nothing can be drawn in is an error"

# Hidden curves and markers.
for rank in "" 1/; do
    for i in 1 2 3; do
        echo "{\"step\": $i, \"system/${rank}mem_allocated_bytes\": 1000000}"
    done
done | gtrack log equal >out 2>&1
gplot memory equal -o equal.json >out 2>&1
is "$(notes equal.json)" \
    "Curves that coincide: allocated, rank 1 = allocated, rank 0." \
    "a curve that covers another one is named"
for run in a:1:6.066 b:2:6.0997 c:1:6.18 d:3:5.23; do
    lr=${run#*:}
    printf "step=%d val/loss=${lr#*:} train/lr=%s\n" 1 0.1 2 0.3 3 0.9 |
        gtrack log -p "optim.lr=${lr%:*}" "like-${run%%:*}"
done >out 2>&1
gplot compare 'like-*' -o like.json >out 2>&1
is "$(notes like.json | sed -n 's/^\(Curves that coincide[^;]*\);.*/\1/p')" \
    "Curves that coincide in Learning rate: like-b: lr 2 = like-a: lr 1" \
    "a note names the panel in which curves cover others"
for i in $(seq 1000); do echo "step=$i val/loss=$((i % 7))"; done |
    gtrack log markers >out 2>&1
gplot loss markers -o markers.json >out 2>&1
every=$(perl -MJSON::PP -0777 -ne \
    'print decode_json($_)->{panels}[0]{curves}[0]{every}' markers.json)
is "$(notes markers.json)" "One of $every points has a marker." \
    "a note says how many markers are drawn"
gplot loss run1 --script all.gp >out 2>&1
unlike all.gp " pi " "all markers are drawn where there is room"

# What a colour stands for.
gplot metric val/loss run1 run2 run3 --color-by optim.lr --script bar.gp \
    >out 2>&1
name=$(sed -n "s/^set label '*\"*run[123].* at screen \([0-9.]*\),.*/\1/p" bar.gp |
    sort -n | tail -n 1)
bar=$(sed -n 's/^set object rectangle from screen \([0-9.]*\),.*/\1/p' bar.gp |
    sort -n | head -n 1)
check "the colour bar begins beside the names at the ends of lines" \
    awk "BEGIN { exit !($bar - $name > 0.04) }"
for by in "" "--color-by=optim.lr"; do
    gplot metric val/loss 'like-*' $by --script like.gp >out 2>&1
    is "$(sed -n "s/^set label '*\"*like-\(.\).* screen \([0-9.]*\) left.*/\2 \1/p" \
        like.gp | sort -n | cut -d ' ' -f 2 | tr -d '\n')" dabc \
        "the names at the ends of lines are in the order of the ends: ${by:-runs}"
done
for run in a b c; do
    opt=adamw
    test $run != c || opt=muon
    for i in 1 2 3; do echo "step=$i val/loss=$i"; done |
        gtrack log -p "optim.name=$opt" "word-$run" >out 2>&1
done
gplot metric val/loss word-a word-b word-c --color-by optim.name -o word.json \
    >out 2>&1
is "$(entries word.json)" "name adamw;name muon;" \
    "the legend says which colour is which word"
for i in $(seq 12); do
    printf 'step=%d val/loss=%d\n' 1 "$i" 2 1 |
        gtrack log "same-$i" >>out 2>&1
done
gplot metric val/loss "name like 'same%'" -o same.json >out 2>&1
is "$(perl -MJSON::PP -0777 -ne '$p = decode_json($_)->{panels}[0];
    $n{$_->{colour}} = 1, $d{$_->{dash}} = 1 for @{$p->{curves}};
    print scalar(keys %n), " ", join(",", keys %d), " $p->{ramp}{label}"' \
    same.json)" "12 0 run" "twelve runs have a colour each, and no dashes"

# An inset that would be smaller than what it magnifies.
gplot lr run1 --inset 500:2000 -o inset.json >out 2>&1
is "$(panels inset.json)" "Learning rate;Learning rate, step 500 to 2000;" \
    "a wide range is magnified in a panel below"

# Notes do not take the room of the curves.
long=$(printf 'x%.0s' $(seq 180))
for i in 1 2 3; do
    printf 'step=%s train/loss=%s\n' 1 4 2 "$i" 3 nan | gtrack log "$long-$i"
done >out 2>&1
gplot loss 'xxx*' --size 3.3inx2.2in --script long.gp -o long.svg >out 2>&1
like out "^Not finite .*: $long-1 from step 3" \
    "a note that has no room is printed for the caption"
check "notes leave a third of a small figure to its curves" perl -ne \
    '$m{$1} = $2 if /^set ([bt])margin at screen (\S+)/;
    END { exit !($m{t} - $m{b} > 0.33) }' long.gp
gtrack report 'xxx*' -o long.md >out 2>&1
like long.md "^Not finite .*: $long-1 from step 3" \
    "a report has the notes that have no room as text"
for i in 1 2 3 4 5; do
    printf 'step=%d val/loss=%d\n' 1 3 2 1 | gtrack log "many-$i" >out 2>&1
done
gplot loss 'many-*' -o many.json >out 2>&1
is "$(notes many.json)" "Curves that coincide: many-2 = many-1; and 3 more." \
    "of many curves that cover others, one is named"
for i in $(seq 10 19); do
    printf 'step=%d val/loss=%s\n' 1 3 2 "1.000$i" | gtrack log "close-$i"
done >out 2>&1
gplot metric val/loss 'close-*' -o close.json >out 2>&1
unlike close.json "Curves that coincide" "many runs that end alike have no such note"
"$build/t/lib/mkruns" hundred big:100:1000
gplot loss -r hundred 'run*' --size 3.3inx2.2in --script hundred.gp \
    -o hundred.pdf >out 2>&1
check "a PDF of a hundred runs is small" \
    test "$(wc -c <hundred.pdf)" -lt 200000
perl -e 'srand 1; for my $r (1 .. 100) { open my $f, ">", "noisy-$r.jsonl";
    printf $f "{\"step\":%d,\"train/loss\":%.4f%s}\n", $_,
        3 + 5 * exp(-$_ / 60) + rand(.5),
        $_ % 6 ? "" : sprintf ",\"val/loss\":%.4f", 3.2 + rand(.1)
        for 1 .. 600 }'
for i in $(seq 100); do
    gtrack log -q -r noisy "noisy-$i" <"noisy-$i.jsonl"
done
gplot loss -r noisy 'noisy-*' --size 10inx6in -o noisy.pdf >out 2>&1
check "a PDF of a hundred runs that scatter is small at full width, too" \
    test "$(wc -c <noisy.pdf)" -lt 200000
is "$(sed -n "s/^set label '\([0-9]*\)' at screen .* left font.*/\1/p" hundred.gp |
    paste -s -d ' ')" "1 50 100" "the labels of a colour bar are plain numbers"

# Files.
if gnuplot -e 'set terminal tikz' >/dev/null 2>&1; then
    gplot lr run1 -o lr.tikz >out 2>&1 && cp lr.tikz first.tikz &&
        gplot lr run1 -o lr.tikz >out 2>&1
    check "a .tikz file is the same twice" cmp first.tikz lr.tikz
    unlike lr.tikz '^%% [A-Z][a-z][a-z] ' "a .tikz file has no time of day"
else
    skip "a .tikz file is the same twice" "gnuplot has no terminal tikz"
fi
gplot loss run1 run2 -o title.svg >out 2>&1
like title.svg "<title>Loss of run1, run2</title>" \
    "the title of an SVG says what it shows"
printf 'step=%d loss=%d\n' 1 3 2 2 3 1 | gtrack log "$(printf '<b>\001')" >out 2>&1
gplot loss @latest -o hostile.svg >out 2>&1
like hostile.svg '<title>Loss, train of &lt;b&gt;' \
    "the title of an SVG shows what XML would read otherwise"
unlike hostile.svg "$(printf '\001')" "the title of an SVG has no control character"
gplot loss run1 run2 run3 --color-by name -o key.json >out 2>&1
like key.json '"value":"name run1"' "a curve has the word of its colour"
done_testing
