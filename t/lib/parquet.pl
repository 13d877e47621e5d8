#!/usr/bin/perl
# parquet - a Parquet file with two columns of strings, without compression
#
# usage: parquet.pl GROUPS ROWS WIDTH [SHIFT] >FILE
#
# Each row group has so many rows: the column "text" numbers them, and "other"
# has WIDTH letters.  The footer places all columns SHIFT bytes too far.
use strict;
use warnings;

my ($groups, $rows, $width, $shift) = (@ARGV, 0);
binmode STDOUT;

# Numbers, texts, lists and structures of Thrift's compact protocol.
sub varint {
    my ($n) = @_;
    my $out = '';
    for (; $n > 127; $n >>= 7) { $out .= chr($n & 127 | 128); }
    return $out . chr $n;
}
sub number { return varint($_[0] * 2) }
sub text { return varint(length $_[0]) . $_[0] }
sub list {
    my ($type, @item) = @_;
    return chr(0xf0 | $type) . varint(scalar @item) . join '', @item;
}
sub fields {            # ID, type, value, ...
    my ($last, $out) = (0, '');
    while (my ($id, $type, $value) = splice @_, 0, 3) {
        $out .= chr(($id - $last) << 4 | $type) . $value;
        $last = $id;
    }
    return $out . "\0";
}
use constant { INT => 5, LONG => 6, TEXT => 8, LIST => 9, OBJECT => 12 };

my ($at, @group) = (4);
print 'PAR1';
for my $g (0 .. $groups - 1) {
    my @column;
    for my $name ('text', 'other') {
        my $data = join '', map {
            my $s = $name eq 'text' ? "row $g.$_" : chr(97 + $_ % 26) x $width;
            pack('V', length $s) . $s;
        } 0 .. $rows - 1;
        my $page = fields(1, INT, number(0), 2, INT, number(length $data),
            3, INT, number(length $data), 5, OBJECT,
            fields(1, INT, number($rows), 2, INT, number(0),
                3, INT, number(3), 4, INT, number(3))) . $data;
        my $meta = fields(1, INT, number(6), 2, LIST, list(INT, number(0)),
            3, LIST, list(TEXT, text($name)), 4, INT, number(0),
            5, LONG, number($rows), 6, LONG, number(length $page),
            7, LONG, number(length $page), 9, LONG, number($at + $shift));
        push @column, fields(2, LONG, number($at), 3, OBJECT, $meta);
        print $page;
        $at += length $page;
    }
    push @group, fields(1, LIST, list(OBJECT, @column), 2, LONG, number(0),
        3, LONG, number($rows));
}
my @schema = fields(4, TEXT, text('root'), 5, INT, number(2));
push @schema, map {
    fields(1, INT, number(6), 3, INT, number(0), 4, TEXT, text($_),
        6, INT, number(0))
} 'text', 'other';
my $footer = fields(1, INT, number(1), 2, LIST, list(OBJECT, @schema),
    3, LONG, number($groups * $rows), 4, LIST, list(OBJECT, @group));
print $footer, pack('V', length $footer), 'PAR1';
