#!/usr/bin/perl
# wandb_log - write the log of an offline run of W&B, for tests
#
# usage: wandb_log.pl ID <LINES >run-ID.wandb
#
# Lines are:  tag TEXT; job TEXT; config KEY JSON; log STEP KEY JSON...;
# summary KEY JSON; print TEXT; artifact NAME; a KEY is a path a/b.
use strict;
use warnings;
use Compress::Zlib 'crc32';

sub varint { my ($x) = @_;
    my $out = '';
    for (; $x > 127; $x >>= 7) { $out .= chr($x & 127 | 128) }
    return $out . chr $x;
}
sub bytes { my ($n, $text) = @_;
    return varint($n << 3 | 2) . varint(length $text) . $text;
}
sub item { my ($key, $json) = @_;
    return join('', map { bytes(2, $_) } split m{/}, $key) . bytes(16, $json);
}
sub record { my ($n, $message) = @_;
    my $data = bytes($n, $message);
    my $typed = "\1$data";
    print pack('Vv', crc32($typed), length $data), $typed;
}

my $id = shift;
my (@tags, $job, $config, @records);
binmode STDOUT;
while (<STDIN>) {
    chomp;
    my ($what, $rest) = split ' ', $_, 2;
    my ($first, @more) = split ' ', $rest;
    push @tags, $rest if $what eq 'tag';
    $job = $rest if $what eq 'job';
    $config .= bytes(1, item($first, "@more")) if $what eq 'config';
    push @records, [3, bytes(1, item($first, "@more"))] if $what eq 'summary';
    push @records, [13, bytes(3, "$rest\n")] if $what eq 'print';
    push @records, [8, bytes(5, $rest)] if $what eq 'artifact';
    if ($what eq 'log') {
        my $row = bytes(1, item('_step', $first))
            . bytes(1, item('_timestamp', 1700000000 + $first));
        while (my ($key, $json) = splice @more, 0, 2) {
            $row .= bytes(1, item($key, $json));
        }
        push @records, [2, $row];
    }
}
print ":W&B\xe1\xbe\0";
record(17, bytes(1, $id) . bytes(3, 'proj') . bytes(4, $config // '')
    . (defined $job ? bytes(7, $job) : '') . bytes(8, "run $id")
    . join '', map { bytes(10, $_) } @tags);
record(@$_) for @records;
record(18, '');
