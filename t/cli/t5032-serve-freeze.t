#!/bin/sh
# The page with its data becomes one file.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
perl -MJSON::PP -e 1 2>/dev/null || skip_all "no perl with JSON::PP"

freeze() { # OPTION...: write page.html
    rm -f data
    gtrack serve --freeze page.html "$@"
}
frozen() { # EXPRESSION: what Perl makes of $j, the data in page.html, read once
    test -e data || perl -MJSON::PP -MStorable -0777 -ne '
        m|id="frozen">(.*?)</script>|s or die "no data\n";
        store(decode_json($1)->{requests}, "data")' page.html
    perl -MJSON::PP::Boolean -MStorable -e '
        $j = retrieve("data");
        binmode STDOUT, ":utf8";
        ($figure) = map { $j->{$_} } grep { m|^/api/figure.*kind=loss| && !/x=/ } keys %$j;
        print eval($ARGV[0]), "\n"; die $@ if $@' "$1"
}

make_store rates resume
printf '{"train/loss": 1}\n' | gtrack log '</script><b>bold' 2>/dev/null
freeze >out 2>err
is $? 0 "serve writes the page into a file"
test ! -s out
ok $? "a frozen page has no URL"
is "$(frozen 'join " ", sort { $a cmp $b } keys %{{ map { s/\?.*//; $_ => 1 }
    keys %$j }}')" \
    "/api/compare /api/diff /api/figure /api/kinds /api/log /api/media /api/run /api/runs /api/stores /api/summary" \
    "a frozen page has all kinds of answers"
is "$(frozen 'join " ", map { $_->{name} } map { @{$j->{$_}{rows}} }
    grep { m|^/api/runs| } keys %$j')" "</script><b>bold resumed run3 run2 run1" \
    "a frozen page has the table of runs"
is "$(grep -c '</script><b>' page.html)" 0 \
    "the name of a run cannot end the data of a frozen page"
unlike page.html 'src="\|href="/\|url(' "a frozen page needs no other file"
like page.html "Content-Security-Policy.*default-src 'none'" \
    "a frozen page may load nothing"
unlike page.html '^import \|^export ' "the modules of a frozen page are joined"
if command -v node >/dev/null; then
    perl -0777 -ne 'm|<script>\n(.*)</script>|s and print $1' page.html >page.mjs
    node --check page.mjs >out 2>err
    is $? 0 "the script of a frozen page can be read"
else
    skip "the script of a frozen page can be read" "no node"
fi

freeze run1 "params.optim.lr = 0.0012" 2>err
is "$(frozen 'join " ", map { $_->{name} } map { @{$j->{$_}{rows}} }
    grep { m|^/api/runs| } keys %$j')" "run3 run1" \
    "runs and filters say what a frozen page has"
is "$(frozen 'join " ", map { /(is above.*)/ } @{$figure->{notes}}')" \
    "is above." "a note of a frozen figure names no control"
is "$(frozen 'my @n = map { scalar @$_ / 2 } @{$figure->{panels}[0]{x}{finer}};
    @n == 3 && $n[0] > 8 && $n[1] > 2 * $n[0] && $n[2] > 2 * $n[1] ? "finer" :
    "@n"')" finer "a frozen axis has the ticks of three levels of zoom"
is "$(frozen 'join " ", sort map { /x=(.*)/ ? $1 : () } grep { /kind=loss/ }
    keys %$j')" "time tokens" "a frozen page has axes of tokens and time"

is "$(frozen 'join " ", map { /param=([^&]*)/ } sort grep {
    m|metric=val/loss&param=| } keys %$j')" "optim.lr" \
    "a frozen page has the sweep over a parameter"

"$build/t/lib/mkruns" many big:20:20000
freeze -r many 2>err
test "$(wc -c <page.html)" -lt 3000000
ok $? "a frozen page of 20 long runs is small" "$(wc -c <page.html) bytes"
is "$(frozen 'scalar grep { !$_->{faint} } @{$figure->{panels}[0]{curves}}')" 20 \
    "a frozen figure has the curve of each run"
is "$(frozen '@{$figure->{panels}[0]{curves}[0]{x}} > 500 ? "many" : "few"')" \
    many "a frozen curve has enough points to be zoomed"

make_store grid
freeze "name like 'grid%'" 2>err
is "$(frozen 'my ($k) = grep { /param=optim.lr,model.width/ } sort keys %$j;
    scalar grep { $_ } @{$j->{$k}{panels}[0]{heat}{cells}}')" 12 \
    "a frozen page has the map over the parameters of a grid"

gtrack serve --freeze page.html none >out 2>err
is $? 3 "a run that does not exist cannot be frozen"
gtrack serve --freeze page.html -p 1 >out 2>err
is $? 2 "a frozen page has no port"
gtrack serve --freeze none/page.html >out 2>err
is $? 1 "a frozen page that cannot be written is an error"
like err "none/page.html" "the file that cannot be written is named"
done_testing
