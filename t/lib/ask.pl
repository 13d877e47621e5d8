#!/usr/bin/perl
# ask.pl - send one HTTP request, exactly as the arguments say
#
# usage: ask.pl WHERE METHOD PATH [HEADER]...
#
# WHERE is a port of 127.0.0.1 or the path of a Unix socket.  Prints the answer
# with its headers, without carriage returns.  UNTIL in the environment is a
# pattern: the connection is closed when it has been printed.  CROWD is a number
# of connections that send only half of a request, a byte more when all of them
# have, and stay open meanwhile.
# With DRIP, no request is sent but a byte of one every tenth of a second, until
# the server has closed the connection.
# BODY is sent after the headers, among which LONG adds one of so many bytes.
use strict;
use warnings;
use IO::Socket::INET;
use IO::Socket::UNIX;

my ($where, $method, $path, @headers) = @ARGV;
$SIG{ALRM} = sub { print "no answer within a minute\n"; exit 1 };
alarm 60;

sub connection {
    my $socket = $where =~ /^\d+$/
        ? IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $where)
        : IO::Socket::UNIX->new(Peer => $where);
    $socket or die "cannot connect to $where: $@\n";
    $socket->autoflush(1);
    return $socket;
}

$SIG{PIPE} = 'IGNORE';
if ($ENV{DRIP}) {
    my ($socket, $ready) = (connection(), '');
    do {
        syswrite $socket, 'G';
        vec($ready = '', fileno $socket, 1) = 1;
    } until select $ready, undef, undef, 0.1;
    print "closed\n";
    exit;
}
my @crowd = map { connection() } 1 .. $ENV{CROWD} || 0;
print $_ "GET / HTTP/1.1\r\nHost: loc" for @crowd;
syswrite $_, 'a' for @crowd;

my $body = $ENV{BODY} // '';
push @headers, 'Host: localhost' unless grep { /^Host:/i } @headers;
@headers = grep { $_ ne 'Host:' } @headers;
push @headers, 'Connection: close', 'Content-Length: ' . length $body;
push @headers, 'X-Long: ' . '0' x $ENV{LONG} if $ENV{LONG};

sub answer {
    my $socket = connection();
    my $answer = '';

    print $socket "$method $path HTTP/1.1\r\n",
        (map { "$_\r\n" } @headers), "\r\n", $body;
    while (sysread $socket, my $part, 65536) {
        $part =~ tr/\r//d;
        $answer .= $part;
        last if defined $ENV{UNTIL} && $answer =~ /$ENV{UNTIL}/;
    }
    return $answer;
}

my $answer = answer();
while (defined $ENV{AGAIN} && $answer !~ /$ENV{AGAIN}/) {
    select undef, undef, undef, 0.05;
    $answer = answer();
}
print $answer;
