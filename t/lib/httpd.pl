#!/usr/bin/perl
# httpd - a web server that misbehaves as told, for tests
#
# usage: httpd.pl FOLDER LOG
#
# Serves the files of FOLDER on a port of 127.0.0.1 that the kernel chooses,
# prints the port, and ends when its standard input does.  The first part of a
# path says how:
#   /plain/F      as it should be: ranges, ETag
#   /norange/F    knows no ranges, no ETag
#   /cut/F        closes after 1000 bytes, each time
#   /once/F       closes after 1000 bytes, the first time
#   /changing/F   as /once/, and the ETag is another one each time
#   /flaky/F      503 twice, then as /plain/
#   /tired/F      503 the 40th time
#   /busy/F       503 with Retry-After: 1000
#   /gone/F       404
#   /wrong/F      sends another range than was asked for
#   /bare/F       does not say which range it sends
#   /less/F       sends at most 1000 bytes of a range, and says so
#   /more/F       sends a byte more than the range that it names
#   /unknown/F    does not say how large a file is of which it sends a range
#   /growing/F    without an ETag, and a byte longer each time
#   /shrunk/F     closes after 1000 bytes, then has no more than 500
#   /none/F       204
#   /hold/F       sends one half, and the other after the pipe F.go was written,
#                 the first time
#   /away/F       redirects to /plain/F on another host name
#   /loop/F       redirects to itself
# Each request is a line of LOG: method, path, Range, Authorization, body.
use strict;
use warnings;
use IO::Socket::INET;
use IO::Select;

my ($folder, $log) = @ARGV;
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 16)
    or die "httpd: $@\n";
my $port = $server->sockport;
my %seen;
$| = 1;
$SIG{PIPE} = 'IGNORE';
print "$port\n";

sub answer {
    my ($client, $status, $headers, $body) = @_;
    print $client "HTTP/1.1 $status\r\nConnection: close\r\n$headers\r\n$body";
}

sub serve {
    my ($client) = @_;
    my $request = <$client>;
    return unless defined $request;
    my ($method, $path) = split ' ', $request;
    my %header;
    while (defined(my $line = <$client>)) {
        $line =~ s/\r?\n$//;
        last if $line eq '';
        $header{lc $1} = $2 if $line =~ /^([^:]+):\s*(.*)/;
    }
    my $sent = '';
    read $client, $sent, $header{'content-length'}
        if $header{'content-length'};
    open my $out, '>>', $log or die;
    print $out join(' ', $method, $path, $header{range} // '-',
                    $header{authorization} // '-', $sent), "\n";
    close $out;

    my ($how, $name) = $path =~ m{^/([^/]+)/(?:.*/)?([^/?]+)} or
        return answer($client, '400 Bad', '', '');
    my $times = ++$seen{$path};
    return answer($client, '302 Found',
                  "Location: http://localhost:$port/plain/$name\r\n", '')
        if $how eq 'away';
    return answer($client, '302 Found', "Location: $path\r\n", '')
        if $how eq 'loop';
    return answer($client, '503 Busy', "Retry-After: 1000\r\n", 'busy')
        if $how eq 'busy';
    return answer($client, '503 Busy', '', 'busy')
        if ($how eq 'flaky' && $times <= 2) || ($how eq 'tired' && $times == 40);
    my $file = "$folder/$name";
    return answer($client, '204 No Content', '', '') if $how eq 'none';
    return answer($client, '404 Not Found', '', "no such file\n")
        if $how eq 'gone' || !-f $file;
    return answer($client, '200 OK', "Content-Length: 2\r\n", 'ok')
        if $method ne 'GET';

    open my $in, '<:raw', $file or die;
    local $/;
    my $data = <$in>;
    close $in;
    my $size;
    $data .= 'x' x $times if $how eq 'growing';
    $data = substr $data, 0, 500 if $how eq 'shrunk' && $times > 1;
    $size = length $data;
    my $tag = $how eq 'changing' ? "\"v$times\"" : '"v1"';
    my $headers = $how =~ /^(norange|growing)$/ ? '' : "ETag: $tag\r\n";
    my $status = '200 OK';
    my $if = $header{'if-range'} // $tag;
    if ($how ne 'norange' && $if eq $tag &&
        ($header{range} // '') =~ /^bytes=(\d+)-(\d*)$/) {
        my $from = $1;
        my $end = $2 ne '' && $2 < $size ? $2 + 1 : $size;
        $end = $from + 1000 if $how eq 'less' && $end > $from + 1000;
        return answer($client, '416 No Range',
                      "Content-Range: bytes */$size\r\n", '')
            if $from >= $size;
        $from += 5 if $how eq 'wrong';
        $status = '206 Partial';
        $headers .= sprintf "Content-Range: bytes %d-%d/%s\r\n", $from,
            $end - 1, $how eq 'unknown' ? '*' : $size unless $how eq 'bare';
        $data = substr $data, $from, $end - $from;
        $data .= 'x' if $how eq 'more';
    }
    $headers .= 'Content-Length: ' . length($data) . "\r\n";
    if ($how eq 'hold' && $times == 1) {
        my $half = int(length($data) / 2);
        answer($client, $status, $headers, substr $data, 0, $half);
        $client->flush;
        open my $go, '<', "$file.go" or die;
        <$go>;
        print $client substr $data, $half;
        return;
    }
    $data = substr $data, 0, 1000
        if $how eq 'cut' ||
           ($how =~ /^(once|changing|wrong|bare|shrunk)$/ && $times == 1);
    answer($client, $status, $headers, $data);
}

my $select = IO::Select->new($server, \*STDIN);
while (1) {
    for my $ready ($select->can_read) {
        exit 0 if $ready != $server;
        my $client = $server->accept or next;
        serve($client);
        close $client;
    }
}
