#!/bin/sh
# gdata info --repeats finds the spans that a shard repeats.
. "$(dirname "$0")/../lib/tap.sh"
show_commands

# shard.pl FILE KIND SEED N EOT: write a shard with repetitions; print what a
# table of all its sequences says of them.
cat >shard.pl <<'EOF_PERL'
use strict;
use warnings;
my ($file, $kind, $seed, $n, $eot) = @ARGV;
my $width = $kind =~ /4/ ? 'V' : 'v';
srand $seed;
my $end = $eot < 0 ? 0 : $eot;
sub fresh { map { 1 + int rand 60000 } 1 .. shift }
my @id = fresh(300);
if ($seed == 0) { # nothing
} elsif ($seed == 1) { # around the length, at both ends
    my @a = @id[0 .. 19 + 2 * $n];
    @id = (@a, fresh(50), @a[20 .. 20 + $n - 2], fresh(30),
           @a[20 .. 20 + $n - 1], fresh(7), @a[3 .. 3 + $n], fresh(9),
           @a[10 .. 9 + 2 * $n]);
} elsif ($seed == 2) { # a run, and a period
    @id = (@id, (7) x (3 * $n), fresh(5), (7) x $n, (8, 9) x $n, fresh(3));
} elsif ($seed == 3) { # documents
    my @half = @id[5 .. 5 + $n / 2];
    @id = ($end, @id, $end, @half, $end, @half, $end, @half, $end, @id[80 .. 200],
           $end, @id[0 .. $n - 2], $end, @id[280 .. 299], $end, @half);
} elsif ($seed == 4) { # longer than what is read at once
    @id = fresh(40000);
    splice @id, 16384 - 20, 40, @id[100 .. 139];
    splice @id, 32700, 5000, @id[500 .. 5499];
} elsif ($seed == 5) { # shorter than a sequence
    @id = fresh($n - 1);
} else { # of few different tokens
    @id = map { int rand 3 } 1 .. 2000;
}
open my $out, '>:raw', $file or die;
my $data = pack "$width*", @id;
my $dict = sprintf "%-117s\n", sprintf
    "{'descr': '<u%d', 'fortran_order': False, 'shape': (%d,), }",
    $width eq 'V' ? 4 : 2, scalar @id;
print $out $kind =~ /npy/ ? "\x93NUMPY\x01\x00" . pack('v', length $dict) . $dict
    : $kind =~ /llmc/ ? pack('V256', $width eq 'V' ? (20240801, 7) : (20240520, 1),
                             scalar @id, (0) x 253)
    : '';
print $out $data;
close $out or die;
my (%first, %in);
my ($spans, $last, @span, @best) = (0, -9);
@best = (0, '', '');
for my $at (0 .. @id - $n) {
    my @window = @id[$at .. $at + $n - 1];
    next if grep { $_ == $eot } @window;
    my $key = "@window";
    if (!exists $first{$key}) {
        $first{$key} = $at;
        next;
    }
    $in{$_} = 1 for $at .. $at + $n - 1;
    if ($at != $last + 1) {
        $spans++;
        @span = ($n - 1, $at, $first{$key});
    }
    $span[0]++;
    $last = $at;
    @best = @span if $span[0] > $best[0];
}
print join("\t", scalar keys %in, $spans, @best), "\n";
EOF_PERL

spans() {       # spans FILE OPTION...: the columns, without the share
    gdata info --tsv --no-header "$@" 2>err | cut -f9,11-14
}

for n in 2 5 20 50; do
    bad=
    for seed in 0 1 2 3 4 5 6; do
        for kind in raw llmc llmc4 npy npy4; do
            perl shard.pl x.bin $kind $seed $n -1 >want
            spans --repeats $n x.bin >got
            cmp -s got want || bad="$bad $seed/$kind"
        done
    done
    is "$bad" "" "spans of $n tokens are those that a table of them finds"
done
perl shard.pl x.bin llmc 1 50 -1 >want
is "$(cut -f2,3 want)" "3	100" "planted spans of 50, 51 and 100 are three spans"

printf '\1\0\2\0\1\0' >one.bin
is "$(spans --repeats 1 one.bin | tr '\t' ' ')" "1 1 1 2 0" \
    "a single token may be a span"

# --- documents
printf '{"text":"%s"}\n' "one two three" "two three" "e one two" >docs.jsonl
gdata bpe --vocab 258 -o tok docs.jsonl >out 2>&1 &&
    gdata encode -q -T tok -o d docs.jsonl >out 2>&1
ok $? "texts are encoded"
gdata info --csv --repeats 3 -T tok d_000000.bin docs.jsonl >out 2>err
is "$(sed -n '1s/.*sha256,//p' out)" \
    "in_spans,share,spans,longest_span,span_at,first_at,head" \
    "the columns of spans are between the hash and the text"
is "$(sed -n 3p out | grep -c ',,,,,,,$')" 1 "texts have no spans"
eot=$(gdata vocab --tsv tok | awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++)
    if ($i == "eot") k = i } NR == 2 { print $k }')
bad=
for n in 5 20; do
    for kind in raw npy4; do
        perl shard.pl y.bin $kind 3 $n "$eot" >want
        spans --repeats $n -T tok -n 0 y.bin >got
        cmp -s got want || bad="$bad $n/$kind"
        perl shard.pl y.bin $kind 3 $n "$eot" >/dev/null
        spans --repeats $n y.bin >all
        ! cmp -s all want || bad="$bad $n/$kind/all"
    done
done
is "$bad" "" "with -T, a span is within a document"

# --- what is wrong
for n in 0 -3 1025 99999999999 x; do
    gdata info --repeats=$n x.bin >out 2>err
    test $? = 2 && test "$(wc -l <err)" -le 2 && grep -q -e "--repeats" err
    ok $? "--repeats=$n is an error of usage"
done
printf 'abc' >odd.bin
gdata info --repeats 50 x.bin odd.bin >out 2>err
test $? = 1 && grep -q "odd.bin: 3 bytes" err && test ! -s out
ok $? "a damaged shard ends the command without a table"
perl shard.pl x.bin raw 0 50 -1 >want &&
    gdata info --repeats 50 --json x.bin >out 2>err &&
    grep -q '"in_spans": *0' out && grep -q '"span_at": *null' out
ok $? "without a repetition, its place is null in JSON"
# --- memory
head -c 16000000 /dev/urandom >m.bin # 8 million tokens
least=0 kib=16384
while test $kib -le 524288 && test $least = 0; do
    (ulimit -v $kib && gdata info m.bin) >out 2>err && least=$kib
    kib=$((kib + 4096))
done
if test $least = 0; then
    skip "a token takes at most 6 bytes" "the address space cannot be limited"
else
    (ulimit -v $((least + 48000)) && gdata info --repeats 50 m.bin) >out 2>err
    ok $? "a token takes at most 6 bytes"
    (ulimit -v $((least + 8000)) && gdata info --repeats 50 m.bin) >out 2>err
    test $? != 0 && grep -q "m.bin: cannot allocate" err && test ! -s out
    ok $? "without enough memory, the message names the shard"
fi
done_testing
