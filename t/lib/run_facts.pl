#!/usr/bin/perl
# run_facts - what must be the same in a run that was interrupted and in one
# that was not, as sorted lines
#
# usage: run_facts.pl STORE [EVENTS]
#
# The store has one run.  Everything in its folder counts, unless %apart says
# what does not, so that new state is compared without being named here.  EVENTS
# is the folder of its event files for TensorBoard.
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use File::Find;
use JSON::PP;

# What is not compared byte for byte: how it is compared, or why it is not.
my @apart = (
    [qr{^\.gtrack/(attempt|lock|rewinds|value|metric)\b}, sub { () }], # whose it was
    [qr{^tags/attempt\.}, sub { () }],      # where it began
    [qr{^tags/gtrack\.colour$}, sub { () }],    # a killed start used up one
    [qr{^metrics/}, sub { () }],    # as points, below
    [qr{^meta\.yaml$}, sub { grep { /^(name|status|lifecycle)/ } lines(@_) }],
    [qr{^inputs/}, sub { 'an input' }],
    [qr{/log\.txt$}, sub { distinct(lines(@_)) }],
    [qr{/gtrain\.log$},     # a line begins with its time
        sub { distinct(grep { /^step \d/ } map { s/^\S+ //r } lines(@_)) }],
    [qr{/checkpoints\.sha256$},
        sub { distinct(grep { !/state\.json/ } lines(@_)) }],
    # its sums are those of measurements, too
    [qr{/chain\.txt$}, sub { distinct(grep { /^step / } lines(@_)) }],
    [qr{^tags/gtrack\.chain$}, sub { () }],
    [qr{/state\.json$}, \&state],
    [qr{/checkpoints/\.lock$}, sub { () }],
);

my ($store, $events) = @ARGV;
my @folders = grep { -e "$_/meta.yaml" } glob "$store/[0-9]*/*";
print "there are ", scalar @folders, " runs\n" if @folders != 1;
for my $run (@folders) {
    my @facts;
    find({ no_chdir => 1, wanted => sub {
        my $name = substr($_, length($run) + 1) =~ s{^inputs/[0-9a-f]{32}}{inputs/ID}r;
        my ($how) = map { $_->[1] } grep { $name =~ $_->[0] } @apart;
        return push @facts, "$name is a link to " . readlink if -l;
        return unless -f;
        push @facts, map { "$name: $_" } $how ? $how->($_) : sha256_hex(whole($_));
    } }, $run);
    print map { "$_\n" } sort @facts, points($store, '');
}
if ($events) {
    system('gtrack', '-r', "$events.runs", 'import', '-q', $events) == 0 or die;
    print map { "TensorBoard: $_\n" } points("$events.runs", 'last');
}

sub whole { my ($path) = @_;
    open my $in, '<', $path or return "cannot read: $!";
    local $/;
    return scalar <$in> // '';
}

sub lines { split /\n/, whole(@_) }

# What is done again says the same again.
sub distinct { my %seen;
    return grep { !$seen{$_}++ } @_;
}

sub state { my ($path) = @_;
    my $state = decode_json(whole($path));
    delete @$state{qw(seconds run_id sha256)};
    return JSON::PP->new->canonical->encode($state);
}

# The points that are not retracted.  What perf/ measures is never the same.
sub points { my ($root, $only) = @_;
    my %point;
    open my $in, '-|', 'gtrack', '-r', $root, 'metrics', '-l', '--tsv',
        '--no-header', '@latest' or die;
    while (<$in>) {
        chomp;
        my ($key, $step, $when, $value) = split /\t/;
        $value = 'a measurement' if $key =~ m{^perf/};
        push @{ $point{"$key at step $step"} }, $value;
    }
    return sort map { my @v = @{ $point{$_} };
        "$_: " . join ' ', $only ? $v[-1] : @v } keys %point;
}
