#!/bin/sh
# gdata leak: what is compared, what cannot be checked; and --remove, beside a
# computation of its own in Perl.
. "$(dirname "$0")/../lib/tap.sh"
show_commands
words() {       # WORDS FROM COUNT: $3 different words
    awk -v name="$1" -v from="$2" -v n="$3" \
        'BEGIN { for (i = 0; i < n; i++) printf "%s%d ", name, from + i }'
}
x() {           # COUNT: so many characters, one word
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "x" }'
}
line() {        # TEXT: a line of JSON
    printf '{"text":"%s"}\n' "$1"
}

# --- the words of a sequence: the fifth percentile of the lengths, 8 to 13
for case in 7:8 8:8 9:9 12:12 13:13 14:13; do
    length=${case%:*}
    {
        line "$(words a 0 "$length")"
        for i in $(seq 19); do line "$(words b "$i" 40)"; done
    } >twenty.jsonl
    { cat twenty.jsonl; line "$(words c 0 40)"; } >more.jsonl
    line nothing >train.jsonl
    gdata leak --train train.jsonl --eval twenty.jsonl --eval more.jsonl \
        --benchmarks --tsv >out 2>err
    test "$(cut -f1,6 out | tail -n +2 | tr '\t\n' '  ')" = \
        "twenty.jsonl ${case#*:} more.jsonl 13 "
    ok $? "the least of 20 lengths, $length, is the fifth percentile; of 21 not"
done

# --- what cannot be checked
{ line "$(words a 0 7)"; line "$(words a 10 8)"; line "$(words a 30 30)"
  line ภาษาไทยไม่มีช่องว่างระหว่างคำในประโยคเดียวกันเลย
  line 吾輩は猫である名前はまだ無い; line 吾輩は猫であ; } >eval.jsonl
line "$(words z 0 30)" >train.jsonl
gdata leak --train train.jsonl --eval eval.jsonl --benchmarks --tsv >out 2>err
test "$(tail -n +2 out | cut -f2-5)" = "6	0	0	3"
ok $? "short questions and Thai are counted as not checked, Japanese is checked"
grep -q "3 documents could not be checked" err
ok $? "a warning tells how many could not be checked"
sed -n '1p;4p' eval.jsonl >train.jsonl
gdata leak --train train.jsonl --eval eval.jsonl --benchmarks --tsv >out 2>err
test $? = 1 && test "$(tail -n +2 out | cut -f2-5)" = "6	2	0	1"
ok $? "a short question that equals a training document is found"

# --- fields of published benchmarks
printf '%s\n' '{"goal":"g","sol1":"s","label":1}' \
    '{"question":"q","answer":"a","context":"c"}' >published.jsonl
for field in question context; do
    sed "s/.*\"$field\":\"\(.\)\".*/{\"text\":\"\1\"}/;1d" published.jsonl \
        >train.jsonl
    gdata leak --train train.jsonl --eval published.jsonl >out 2>err
    echo $? >>status
done
test "$(tr '\n' ' ' <status)" = "1 0 "
ok $? "leak reads the question of a published benchmark, not its context"
seeds=$top/t/fuzz/corpus/parquet
line first >train.jsonl
gdata leak --train train.jsonl --eval "$seeds/plain.parquet" >out 2>err
test $? = 1 && grep -q "contains 2 evaluation documents" err
ok $? "a benchmark may be Parquet"

# --- removal at its thresholds; a word of x is as long as it says
question=$(words q 0 13)
line "$question" >eval.jsonl
remove() {      # TEXT...: what remains is out
    for text; do line "$text"; done >train.jsonl
    gdata leak --train train.jsonl --eval eval.jsonl -o out --remove text \
        "${how:---tsv}" >report 2>err
}
q=${question% }
for n in 398 399 400; do
    # 200 characters are cut: a blank and 199 of the word
    remove "$(x "$n") $q $(x "$n")"
    test "$(wc -l <out)" = $((n > 398 ? 2 : 0)) || break
done
ok $? "a piece of 199 characters is dropped, of 200 and 201 kept"
remove "$(x 450) $q $(x 460)"
{ line "$(x 251)"; line "$(x 261)"; } | cmp - out
ok $? "200 characters are cut on each side"
remove "$(awk -v q="$q" 'BEGIN { for (i = 0; i < 450; i++) printf "é"
    printf " %s", q }')"
test "$(wc -m <out)" -ge 262 && grep -q '^{"text":"é\{251\}"}$' out
ok $? "the 200 characters are not bytes"
cuts() {        # COUNT: a document that is cut so often
    for i in $(seq "$1"); do printf '%s %s %s' "$(x 400)" "$q" "$(x 401)"; done
}
remove "$(cuts 10)" && test "$(wc -l <out)" = 11
ok $? "a document that is cut ten times remains in eleven pieces"
remove "$(cuts 11)" && ! test -s out && grep -q "1 left out and 0 cut" err
ok $? "a document that is cut eleven times is dropped"
copies() {      # COUNT: a document of its own each, with the question twice
    for i in $(seq "$1"); do
        line "$(words "w$i-" 0 200)$question$question$(words "v$i-" 0 200)"
    done
}
for n in 10 11; do
    copies "$n" >train.jsonl
    gdata leak --train train.jsonl --eval eval.jsonl -o out --remove text \
        --tsv >report 2>err
    if test "$n" = 10; then
        ! grep -q q0 out && test "$(tail -n +2 report | cut -f9)" = 0
    else
        cmp train.jsonl out && test "$(tail -n +2 report | cut -f9)" = 1
    fi
    ok $? "a sequence in $n documents is $(
        test "$n" = 10 && echo removed || echo ignored)"
done
line "clean" >clean.jsonl
copies 3 | cat - clean.jsonl >train.jsonl
gdata leak --train train.jsonl --eval eval.jsonl -o out --remove documents \
    >report 2>err && cmp clean.jsonl out && grep -q "3 left out and 0 cut" err
ok $? "--remove documents drops each document with a sequence"

# --- a random corpus
cat >reference.pl <<'END'
use strict;
use warnings;
use JSON::PP;
binmode STDOUT, ":utf8";
my ($what, $json) = (shift, JSON::PP->new->utf8);
sub lines { open my $f, "<", shift or die; map { $json->decode($_) } <$f> }
sub words {             # of a text: [word, begin, end]
    my ($text, @w) = shift;
    push @w, [lc $1, $-[1], $+[1]] while $text =~ /([\p{L}\p{M}\p{N}]+)/g;
    return @w;
}
if ($what eq "make") {
    srand 7;
    my $next = 0;
    my $some = sub { map { ("caf\x{e9}", "Word", "\"a", "na\x{ef}ve,")[rand 4]
        . $next++ } 1 .. shift };
    my @q = map { [$some->(9 + int rand 20)] } 1 .. 30;
    open my $e, ">", "eval.jsonl" or die;
    print $e $json->encode({ question => "@$_" }), "\n" for @q;
    open my $t, ">", "train.jsonl" or die;
    for my $id (1 .. 300) {
        my @text = $some->(rand 60);
        for (1 .. rand(3) < 1 ? rand 14 : rand 3) {
            my @from = @{ $q[rand(2) < 1 ? rand 4 : rand 30] };
            my $n = 5 + int rand 12;
            push @text, splice(@from, rand 3, $n), $some->(rand 120);
        }
        my $line = $json->encode({ text => join "\n", @text });
        $line =~ s/^\{/{"id":$id,/;
        print $t $line, "\n";
    }
} elsif ($what eq "show") {
    print "$_->{id} $_->{text}\0\n" for lines("out");
} else {
    my @q = map { [map { $_->[0] } words($_->{question})] } lines("eval.jsonl");
    my @length = sort { $a <=> $b } map { scalar @$_ } @q;
    my $n = $length[int((@q + 19) / 20) - 1];
    $n = $n < 8 ? 8 : $n > 13 ? 13 : $n;
    my (%known, %count);
    for my $w (@q) {
        my $k = @$w < $n ? @$w : $n;
        $known{join " ", @$w[$_ .. $_ + $k - 1]} = $k for 0 .. @$w - $k;
    }
    my %k = map { $_ => 1 } values %known;
    my @docs = lines("train.jsonl");
    for my $d (@docs) {
        my (@w, %here) = words($d->{text});
        for my $k (keys %k) {
            for my $i (0 .. @w - $k) {
                my $key = join " ", map { $_->[0] } @w[$i .. $i + $k - 1];
                next if !$known{$key};
                push @{ $d->{found} }, [$key, $w[$i][1], $w[$i + $k - 1][2]];
                $here{$key} = 1;
            }
        }
        $count{$_}++ for keys %here;
    }
    for my $d (@docs) {
        my $mark = "." x length $d->{text};
        for (grep { $count{$_->[0]} <= 10 } @{ $d->{found} }) {
            my $begin = $_->[1] < 200 ? 0 : $_->[1] - 200;
            my $end = $_->[2] + 200;
            $end = length $mark if $end > length $mark;
            substr($mark, $begin, $end - $begin) = "#" x ($end - $begin);
        }
        my $cuts = () = $mark =~ /#+/g;
        next if $cuts > 10;
        while ($mark =~ /(\.+|^$)/g) {
            next if $cuts && length $1 < 200;
            print "$d->{id} ", substr($d->{text}, $-[0], length $1), "\0\n";
        }
    }
}
END
perl reference.pl make
gdata leak --train train.jsonl --eval eval.jsonl -o out --remove text --tsv \
    >report 2>err
ok $? "a random corpus is read"
perl reference.pl want >want && perl reference.pl show >got && cmp want got
ok $? "what remains of it is what the rule says"
test "$(tail -n +2 report | cut -f9)" -gt 0 &&
    ! grep -q ", 0 left out\| and 0 cut" err
ok $? "sequences in many documents, documents left out and cuts are among it"
cp out first
gdata leak --train train.jsonl --eval eval.jsonl -o out --remove text -q \
    >report2 2>err && cmp first out && cmp report report2
ok $? "the second result is the first"

# --- what is refused
gdata leak --train - --eval eval.jsonl -o pipe --remove text <train.jsonl \
    >out 2>err
test $? = 2 && grep -q "remove reads its input several times" err && ! test -e pipe
ok $? "--remove refuses a pipe"
gdata leak --train train.jsonl --eval eval.jsonl --remove text >out 2>err
test $? = 2 && grep -q "need each other" err
ok $? "--remove needs --output"
{ cat train.jsonl; echo bad; } >bad.jsonl
gdata leak --train bad.jsonl --eval eval.jsonl --remove text -o out \
    >report2 2>err
cmp first out && test "$(grep -c "skipped 1 bad line" err)" = 1
ok $? "a bad line is skipped, and reported once"
gdata leak --train bad.jsonl --eval eval.jsonl --bad stop --remove text \
    -o bad.out >out 2>err
test $? = 1 && ! test -e bad.out
ok $? "after an error there is no output"
done_testing
