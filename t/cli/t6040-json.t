#!/bin/sh
# A figure as JSON has what another program needs to draw it.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
perl -MJSON::PP -e 1 2>/dev/null || skip_all "no perl with JSON::PP"

make_store rates odd

ask() { # FILE: what the Perl expression says of $f, the figure, and $p, a panel
    perl -MJSON::PP -0777 -ne '
        BEGIN { $ask = shift @ARGV }
        $f = decode_json($_); $p = $f->{panels}[0]; @c = @{$p->{curves}};
        print eval($ask), "\n"; die $@ if $@' "$2" "$1"
}

gplot loss run1 run2 -o loss.json --size 16cmx8cm >/dev/null 2>err
is $? 0 "gplot writes a figure as JSON"
is "$(ask loss.json '$f->{schema}')" gplot.figure/1 \
    "the JSON of a figure names its schema"
is "$(ask loss.json '"$p->{x}{title}: $p->{y}{title}"')" \
    "step: loss (nats/token)" "the JSON of a figure has the titles of its axes"
is "$(ask loss.json '$p->{x}{from} <= $p->{x}{ticks}[0]{at} &&
    $p->{x}{ticks}[-1]{at} <= $p->{x}{to} ? "in" : "out"')" in \
    "ticks are within their axis"
is "$(ask loss.json 'scalar grep { $_->{run} =~ /^[0-9a-f]{32}$/ } @c')" \
    "$(ask loss.json 'scalar @c')" "each curve has the id of its run"
is "$(ask loss.json 'scalar grep { @{$_->{x}} == @{$_->{y}} } @c')" \
    "$(ask loss.json 'scalar @c')" "each curve has a y for each x"
is "$(ask loss.json '$c[0]{colour} ne $c[-1]{colour} &&
    $c[0]{colour_dark} =~ /^#[0-9a-f]{6}$/ ? "both" : "no"')" both \
    "a curve has a colour for a light and for a dark background"
gplot loss run1 run2 --data >data
ask loss.json 'join "", map { $c = $_; map { "$c->{x}[$_]\t" .
    sprintf("%.10g", $c->{y}[$_]) . "\n" } 0 .. $#{$c->{x}} } @c' |
    sort | grep . >json
awk -F '\t' 'NR > 1 { printf "%s\t%.10g\n", $4, $5 }' data | sort >text
check "the points of the JSON are those of --data" cmp json text

gplot loss "$(printf 'lr_3e-4^{a}@~&"b'"'"'\\%%`id` \316\261\303\251')" \
    -o odd.json >/dev/null 2>err
is $? 0 "the JSON of a run of an odd name can be written"
like odd.json '\^{a}@~&\\"b' "an odd name is quoted in the JSON"
check "a NaN among the values leaves JSON" ask odd.json '1'
done_testing
