#!/usr/bin/env perl
# power_cut - a folder as it may be after the power failed
#
# usage: power_cut.pl LOG                       print the number of operations
#        power_cut.pl LOG BEFORE AT SEED TO     build the folder TO
#
# LOG is what `disturb -r` recorded of a program that began with the folder
# BEFORE.  The power fails after AT operations.  What was synced until then is in
# TO: the bytes of a file after a sync of the file, its name after a sync of its
# folder.  What was not synced may be there, in part, or not at all:
#
#   SEED % 4 = 0    nothing of it
#   SEED % 4 = 1    all names, but none of the bytes
#   SEED % 4 = 2    the names and the bytes until some moment, the last write torn
#   SEED % 4 = 3    some of the names and writes, whatever their order was
#
# Prints what the program had said when the power failed, and "end STATUS" if it
# had ended.
use strict;
use warnings;
use File::Path qw(make_path);

my ($log, $before, $at, $seed, $to) = @ARGV;
open my $in, '<', $log or die "$log: $!\n";
my @op = map { chomp; [split /\t/, $_, -1] } <$in>;
if (!defined $before) {
    print scalar(@op), "\n";
    exit;
}
open my $data, '<:raw', "$log.data" or die "$log.data: $!\n";
srand $seed;
my $how = $seed % 4;

# A node is a file, a folder or a symbolic link.  A file has the bytes that are
# on the disk and the writes since; a folder has the names that programs see, and
# later those on the disk.
sub load_node {
    my ($path) = @_;
    return { type => 'l', target => readlink $path } if -l $path;
    if (-d $path) {
        opendir my $d, $path or die "$path: $!\n";
        my %name = map { $_ => load_node("$path/$_") } grep { !/^\.\.?$/ } readdir $d;
        return { type => 'd', live => {%name}, disk => {%name} };
    }
    open my $f, '<:raw', $path or die "$path: $!\n";
    local $/;
    return { type => 'f', bytes => scalar(<$f>) // '', writes => [] };
}

my $top = load_node($before);

# The folder that holds a path, and the last name.
sub parent {
    my ($path) = @_;
    my @part = split m{/}, $path;
    my $last = pop @part;
    my $d = $top;
    for (@part) {
        $d = $d->{live}{$_};
        return unless $d;
        return if $d->{type} ne 'd';
    }
    return ($d, $last);
}

sub find_node {
    my ($path) = @_;
    return $top if $path eq '';
    my ($d, $name) = parent($path) or return;
    return $d->{live}{$name};
}

# -- what programs see, and which changes of names are on the disk

my @change;
sub change {
    my ($apply, @folder) = @_;
    $apply->('live');
    push @change, { apply => $apply, wait => { map { $_ => 1 } @folder } };
}

sub set_name {
    my ($path, $node) = @_;
    my ($d, $name) = parent($path) or return;
    change(sub { $d->{ $_[0] }{$name} = $node }, $d);
}

sub apply_write {
    my ($s, $w) = @_;
    my ($offset, $bytes) = @$w;
    if (!defined $bytes) {      # a new size
        return $offset <= length $s ? substr($s, 0, $offset)
                                    : $s . "\0" x ($offset - length $s);
    }
    $s .= "\0" x ($offset - length $s) if $offset > length $s;
    substr($s, $offset, length $bytes) = $bytes if length $bytes;
    return $s;
}

my %do = (
    create => sub { set_name($_[0], { type => 'f', bytes => '', writes => [] }) },
    mkdir => sub { set_name($_[0], { type => 'd', live => {}, disk => {} }) },
    symlink => sub { set_name($_[0], { type => 'l', target => $_[1] }) },
    link => sub { my $n = find_node($_[0]); set_name($_[1], $n) if $n },
    trunc => sub { my $n = find_node($_[0]); push @{ $n->{writes} }, [$_[1]] if $n },
    unlink => sub {
        my ($d, $name) = parent($_[0]) or return;
        change(sub { delete $d->{ $_[0] }{$name} }, $d);
    },
    rename => sub {
        my ($from, $old) = parent($_[0]) or return;
        my ($into, $new) = parent($_[1]) or return;
        my $node = $from->{live}{$old} or return;
        change(sub {
            my ($tree) = @_;
            my $is = $from->{$tree}{$old};
            delete $from->{$tree}{$old} if $is && $is == $node;
            $into->{$tree}{$new} = $node;
        }, $into);
    },
    exchange => sub {
        my ($d1, $n1) = parent($_[0]) or return;
        my ($d2, $n2) = parent($_[1]) or return;
        my ($a, $b) = ($d1->{live}{$n1}, $d2->{live}{$n2});
        change(sub { $d1->{ $_[0] }{$n1} = $b; $d2->{ $_[0] }{$n2} = $a }, $d1, $d2);
    },
    write => sub {
        my ($path, $offset, $len) = @_;
        my $n = find_node($path);
        read $data, my ($bytes), $len;
        push @{ $n->{writes} }, [$offset, $bytes] if $n;
    },
    sync => sub {
        my $n = find_node($_[0]) or return;
        if ($n->{type} eq 'd') {
            delete $_->{wait}{$n} for @change;
            return;
        }
        $n->{bytes} = apply_write($n->{bytes}, $_) for splice @{ $n->{writes} };
    },
    syncfs => sub {
        my @node = $top;
        while (my $n = pop @node) {
            push @node, values %{ $n->{live} // {} };
            $n->{bytes} = apply_write($n->{bytes}, $_) for splice @{ $n->{writes} };
        }
        $_->{wait} = {} for @change;
    },
    say => sub {
        read $data, my ($text), $_[0];
        print $text;
    },
    end => sub { print "\nend $_[0]\n" },
);
$do{rmdir} = $do{unlink};
for my $o (@op[0 .. $at - 1]) {
    my ($what, @word) = @$o;
    $do{$what}->(@word);
}

# -- what is on the disk

my $moment = int rand(@change + 1);
for my $i (0 .. $#change) {
    my $c = $change[$i];
    my $there = !%{ $c->{wait} } || $how == 1 || ($how == 2 && $i < $moment) ||
        ($how == 3 && rand() < .5);
    $c->{apply}->('disk') if $there;
}

sub bytes_on_disk {
    my ($n) = @_;
    my $s = $n->{bytes};
    my @w = @{ $n->{writes} };
    return $s if $how < 2;
    if ($how == 2) {
        my $k = int rand(@w + 1);
        $s = apply_write($s, $_) for @w[0 .. $k - 1];
        my $torn = $w[$k];
        return $s if !$torn || !defined $torn->[1];
        return apply_write($s, [$torn->[0], substr $torn->[1], 0,
                                int rand(1 + length $torn->[1])]);
    }
    for (@w) {
        $s = apply_write($s, $_) if rand() < .5;
    }
    return $s;
}

sub store_node {
    my ($n, $path) = @_;
    if ($n->{type} eq 'l') {
        symlink $n->{target}, $path or die "$path: $!\n";
    } elsif ($n->{type} eq 'd') {
        make_path($path);
        store_node($n->{disk}{$_}, "$path/$_") for keys %{ $n->{disk} };
    } else {
        open my $f, '>:raw', $path or die "$path: $!\n";
        print $f bytes_on_disk($n);
        close $f or die "$path: $!\n";
    }
}
store_node($top, $to);
