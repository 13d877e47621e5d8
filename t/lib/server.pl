#!/usr/bin/perl
# server - a stand-in for W&B's server, MLflow's or a webhook, on 127.0.0.1
#
# usage: server.pl wandb|mlflow|webhook DIR
#
# A webhook writes the body of each request to DIR/hooks, as one line with its
# path, Content-Type and Title before it, separated by tabs.
#
# Writes its address to DIR/url when it is ready, and every request to DIR/log;
# GET /state/RUN is all it knows of that run, or of all.  A line "RUN EXPRESSION"
# in the pipe DIR/ask asks for the value of a Perl expression, which is written
# to the pipe DIR/answer: $s has all runs, and $r is that run, or any if there is
# no such run.  DIR/faults says what
# goes wrong: lines "REGEX ACTION", each used once, by the first request whose
# line in the log matches.  Actions: a status; redirect, to another path;
# 429/0.1, with a Retry-After; 429/date, with one that is a date, in two
# seconds; html/500, with a page for people; drop, before anything is done;
# half, in the middle of a request's body; lose, the reply after all was done;
# cut, in the middle of the reply; errors, GraphQL's with status 200; limit,
# done, and no more requests for 0.3 s; again, MLflow's page of points that is
# followed by itself; garbage; stop, W&B's Stop button; forget, all runs; pass,
# nothing.  With DIR/negative the server has -5 lines of output of each run.  It
# ends with its parent.
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use JSON::PP;
use MIME::Base64;
use POSIX ();

my ($kind, $dir) = @ARGV;
my $parent = getppid;
my $json = JSON::PP->new->canonical->allow_nonref->utf8;
my $key = 'k' x 40;
my (%run, %experiment, %artifact, @faults);
my $next = 1;
my $listen = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 64,
    Proto => 'tcp') or die "listen: $!";
my $url = 'http://127.0.0.1:' . $listen->sockport;

sub spit { my ($name, $text) = @_;
    open my $f, '>', "$dir/$name.new" or die; print $f $text; close $f;
    rename "$dir/$name.new", "$dir/$name" or die;
}
sub note { open my $f, '>>', "$dir/log" or die; print $f "$_[0]\n"; close $f }

sub fault { my ($line) = @_;
    if (open my $f, '<', "$dir/faults") {
        @faults = grep { /\S/ } <$f>; close $f; unlink "$dir/faults";
    }
    for my $i (0 .. $#faults) {
        my ($regex, $action) = $faults[$i] =~ /^(\S+)\s+(\S+)/ or next;
        next unless $line =~ /$regex/;
        splice @faults, $i, 1;
        return $action;
    }
    return '';
}

# ---- webhooks ----

sub webhook { my ($method, $path, $head, $body) = @_;
    open my $f, '>>', "$dir/hooks" or die;
    print $f join("\t", $path, $head->{'content-type'} // '',
        $head->{title} // '', $body), "\n";
    return 200, 'ok';
}

# ---- W&B ----

sub bucket { my ($r) = @_;
    my $config = eval { $json->decode($r->{config}) } // {};
    return { id => "id-$r->{name}", name => $r->{name},
        displayName => $r->{displayName}, sweepName => undef,
        project => { name => $r->{project}, entity => { name => 'team' } },
        historyLineCount => scalar @{$r->{'wandb-history.jsonl'}},
        eventsLineCount => scalar @{$r->{'wandb-events.jsonl'}},
        logLineCount => -e "$dir/negative" ? -5 : scalar @{$r->{'output.log'}},
        historyTail => $json->encode([ @{$r->{'wandb-history.jsonl'}}
            ? $r->{'wandb-history.jsonl'}[-1] : () ]),
        eventsTail => '[]', summaryMetrics =>
            $r->{'wandb-summary.json'}[0] // '{}', config => $r->{config},
        tags => $r->{tags} // [], notes => undef, wandbConfig => $json->encode({
            t => $config->{_wandb}{value}{t} }) };
}

sub graphql { my ($q) = @_;
    my $v = $q->{variables};
    my $name = $q->{operationName};
    return { data => { viewer => { id => 'v', entity => 'team',
        username => 'me', flags => '{}', teams => { edges => [] } } } }
        if ($name // '') eq 'Viewer';
    return { errors => [ { message => "no key, no $name" } ] }
        unless defined $v;
    if ($name eq 'RunResumeStatus') {
        my $r = $run{$v->{name}};
        return { data => { model => undef } } unless $r;
        return { data => { model => { id => 'm', name => $r->{project},
            entity => { id => 'e', name => 'team' }, bucket => bucket($r) } } };
    }
    if ($name eq 'UpsertBucket') {
        my $new = !$run{$v->{name}};
        my $r = $run{$v->{name}} //= { 'wandb-history.jsonl' => [],
            'wandb-events.jsonl' => [], 'output.log' => [],
            'wandb-summary.json' => [], files => {}, uploaded => {} };
        for (qw(name project displayName config notes groupName commit host
            tags jobType)) {
            $r->{$_} = $v->{$_} if defined $v->{$_};
        }
        return { data => { upsertBucket => { bucket => bucket($r),
            inserted => $new ? JSON::PP::true : JSON::PP::false } } };
    }
    if ($name eq 'CreateRunFiles') {
        return { data => { createRunFiles => { runID => 'x',
            uploadHeaders => ['X-Store: yes'], files => [ map { {
                name => $_, uploadUrl => "$url/store/$v->{run}/$_" } }
                @{$v->{files}} ] } } };
    }
    if ($name eq 'CreateArtifact') {
        my $i = $v->{input};
        my $a = $artifact{$i->{digest}} //= { id => "a$i->{digest}",
            name => $i->{artifactCollectionName}, state => 'PENDING' };
        return { data => { createArtifact => { artifact => { id => $a->{id},
            state => $a->{state},
            artifactSequence => { latestArtifact => undef } } } } };
    }
    if ($name eq 'CreateArtifactManifest') {
        my $file = { id => 'f' };
        $file->{uploadUrl} = "$url/store/$v->{runName}/manifest"
            if $v->{includeUpload};
        $file->{uploadHeaders} = ['X-Store:yes'] if $v->{includeUpload};
        return { data => { createArtifactManifest => { artifactManifest => {
            id => 'm', file => $file } } } };
    }
    if ($name eq 'CreateArtifactFiles') {
        my ($run) = keys %run;
        return { data => { createArtifactFiles => { files => { edges => [ map {
            my $place = "$url/store/$run/artifact-$_->{name}";
            { node => { name => $_->{name}, displayName => $_->{name},
                artifact => { id => $_->{artifactID} },
                storagePath => "$run/artifact-$_->{name}",
                uploadHeaders => ['X-Store:yes'], uploadUrl => $place } }
            } @{$v->{input}{artifactFiles}} ] } } } };
    }
    if ($name eq 'CommitArtifact') {
        $_->{id} eq $v->{artifactID} and $_->{state} = 'COMMITTED'
            for values %artifact;
        return { data => { commitArtifact => { artifact => { id => 'x' } } } };
    }
    if ($name eq 'RewindRun') {
        my $r = $run{$v->{runName}};
        my $h = $r->{'wandb-history.jsonl'};
        pop @$h while @$h && ($h->[-1] =~ /"_step":(-?\d+)/)[0]
            > $v->{metricValue};
        return { data => { rewindRun => { rewoundRun => bucket($r) } } };
    }
    return { errors => [ { message => "unknown operation $name" } ] };
}

sub stream { my ($r, $body) = @_;
    return 404, { error => 'no such run' } unless $r;
    for my $name (keys %{$body->{files} // {}}) {
        my ($offset, $lines) = @{$body->{files}{$name}}{qw(offset content)};
        return 400, { error => "a gap in $name" } if $offset > @{$r->{$name}};
        splice @{$r->{$name}}, $offset, scalar @$lines, @$lines;
    }
    $r->{uploaded}{$_} = 1 for @{$body->{uploaded} // []};
    $r->{exitcode} = $body->{exitcode} if $body->{complete};
    $r->{beats}++ unless %$body;
    return 200, {};
}

sub wandb { my ($method, $path, $head, $body) = @_;
    if ($path =~ m{^/store/([^/]+)/(.*)}) {
        my ($id, $name) = ($1, $2);
        $name =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge;
        return 400, { error => 'a key was sent to the file store' }
            if $head->{authorization};
        return 400, { error => 'a header is missing' }
            if ($head->{'x-store'} // '') ne 'yes';
        $run{$id}{files}{$name} = $body;
        return 200, '';
    }
    return 401, { error => 'the key is wrong' } if ($head->{authorization}
        // '') ne 'Basic ' . encode_base64("api:$key", '');
    my $request = eval { $json->decode($body) }
        or return 400, { error => 'no JSON' };
    return 200, graphql($request) if $path eq '/graphql';
    return stream($run{$1}, $request)
        if $path =~ m{^/files/team/[^/]+/([^/]+)/file_stream$};
    return 404, { error => "no $path" };
}

# ---- MLflow ----

sub failed { my ($status, $code, $message) = @_;
    return $status, { error_code => $code, message => $message };
}

sub mlflow { my ($method, $path, $head, $body) = @_;
    my ($query) = $path =~ /\?(.*)/;
    my %q = map { /(.*?)=(.*)/ } split /&/, $query // '';
    s/%([0-9A-Fa-f]{2})/chr hex $1/ge for values %q;
    my $auth = $head->{authorization} // '';
    return 401, '<html>who?</html>' if -e "$dir/auth"
        && $auth ne 'Basic ' . encode_base64('me:secret', '')
        && $auth ne 'Bearer token';
    if ($path =~ m{^/api/2.0/mlflow-artifacts/artifacts/(.*)}) {
        my ($name) = ($1);
        $name =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge;
        return failed(400, 'INVALID_PARAMETER_VALUE', 'Invalid path')
            if $name =~ /#/;
        my ($id) = $name =~ m{^\d+/([^/]+)/};
        $run{$id}{files}{$name} = $body;
        return 200, '';
    }
    my $r = $method eq 'POST' ? eval { $json->decode($body) } : \%q;
    return 500, '<html>no JSON</html>' unless $r;
    $path =~ s/\?.*//;
    $path =~ s{^/api/2.0/mlflow/}{} or return 404, '<html>no</html>';
    if ($path eq 'experiments/get-by-name') {
        my $id = $experiment{$r->{experiment_name}};
        return failed(404, 'RESOURCE_DOES_NOT_EXIST', 'no experiment')
            unless $id;
        return 200, { experiment => { experiment_id => $id,
            lifecycle_stage => 'active' } };
    }
    if ($path eq 'experiments/create') {
        return failed(400, 'RESOURCE_ALREADY_EXISTS', 'it exists')
            if $experiment{$r->{name}};
        return 200, { experiment_id => $experiment{$r->{name}} =
            keys(%experiment) + 1 . '' };
    }
    if ($path eq 'runs/create') {
        my $id = sprintf '%032x', $next++;
        $run{$id} = { info => { run_id => $id, status => 'RUNNING',
            artifact_uri =>
                "mlflow-artifacts:/$r->{experiment_id}/$id/artifacts" },
            experiment => $r->{experiment_id},
            tags => { map { $_->{key}, $_->{value} } @{$r->{tags}} },
            workspace => $head->{'x-mlflow-workspace'},
            points => [], params => {}, files => {} };
        return 200, { run => { info => $run{$id}{info} } };
    }
    if ($path eq 'runs/search') {
        my ($ours) = $r->{filter} =~ /= '(.*)'/;
        return 200, { runs => [ map { { info => $_->{info} } } grep {
            $_->{experiment} eq $r->{experiment_ids}[0] &&
            ($_->{tags}{'gtrack.run_id'} // '') eq $ours } values %run ] };
    }
    my $run = $run{$r->{run_id}}
        or return failed(404, 'RESOURCE_DOES_NOT_EXIST', 'no run');
    if ($path eq 'runs/get') {
        my %m = map { $_->{key} => 1 } @{$run->{points}};
        return 200, { run => { info => $run->{info}, data => {
            tags => [ map { { key => $_, value => $run->{tags}{$_} } }
                keys %{$run->{tags}} ],
            metrics => [ map { { key => $_ } } keys %m ] } } };
    }
    if ($path eq 'metrics/get-history') {
        # as text: JSON::PP writes 15 digits of a number
        return 200, { metrics => [ map { { %$_, value => $_->{value} =~ /\d/
            ? sprintf '%.17g', $_->{value} : $_->{value} } }
            grep { $_->{key} eq $r->{metric_key} } @{$run->{points}} ] };
    }
    if ($path eq 'runs/update') {
        $run->{info}{$_} = $r->{$_} for keys %$r;
        return 200, { run_info => {} };
    }
    if ($path eq 'runs/log-inputs') {
        push @{$run->{inputs}}, @{$r->{datasets}};
        return 200, {};
    }
    if ($path eq 'runs/log-batch') {
        return failed(400, 'INVALID_PARAMETER_VALUE', 'too many')
            if @{$r->{metrics} // []} > 1000 || @{$r->{params} // []} > 100
            || @{$r->{tags} // []} > 100;
        push @{$run->{points}}, @{$r->{metrics} // []};
        $run->{params}{$_->{key}} = $_->{value} for @{$r->{params} // []};
        $run->{tags}{$_->{key}} = $_->{value} for @{$r->{tags} // []};
        return 200, {};
    }
    return 404, '<html>no</html>';
}

# ---- HTTP ----

sub reply { my ($client, $status, $body, @more) = @_;
    @more = grep { defined } @more;
    my $text = ref $body ? $json->encode($body) : $body;
    my $type = ref $body ? 'application/json' : 'text/html';
    print $client "HTTP/1.1 $status X\r\nContent-Type: $type\r\n",
        "Content-Length: ", length $text, "\r\n", @more, "\r\n", $text;
}

# One whole request out of a client's buffer: true if there was one.
sub serve { my ($client, $in) = @_;
    my ($head, $rest) = $$in =~ /\A(.*?)\r\n\r\n(.*)\z/s or return 0;
    my ($method, $path) = $head =~ /^(\S+) (\S+)/;
    my %h = map { /^(.*?):\s*(.*)/ ? (lc $1, $2) : () }
        split /\r\n/, $head;
    my $n = $h{'content-length'} // 0;
    my ($start) = $head =~ /^(\S+ \S+)/;
    if (length $rest < $n) {
        return 0 unless $n > 1 << 20;
        my $fault = fault("body $start");
        note("body $start $fault") if $fault;
        return $fault eq 'half' ? -1 : 0;
    }
    my $body = substr $rest, 0, $n;
    $$in = substr $rest, $n;
    my ($op) = $path eq '/graphql' ? $body =~ /"operationName":"(\w+)"/ : '';
    my $line = "$method $path" . ($op ? " $op" : '');
    return reply($client, 200, { run => exists $run{$1}
        ? { $1 => $run{$1} } : \%run }), 1 if $path =~ m{^/state/(.*)};
    note($line);
    my $fault = fault($line);
    return -1 if $fault eq 'drop';
    return reply($client, 302, '', "Location: $url/elsewhere\r\n"), 1
        if $fault eq 'redirect';
    %run = () if $fault eq 'forget';
    return reply($client, $1, '<html><body>who knows</body></html>'), 1
        if $fault =~ m{^html/(\d+)};
    if ($fault =~ m{^(\d+)/date}) {
        my $when = POSIX::strftime('%a, %d %b %Y %H:%M:%S GMT', gmtime time + 2);
        reply($client, $1, { error => "fault $1" }, "Retry-After: $when\r\n");
        return 1;
    }
    if ($fault =~ m{^(\d+)(?:/([\d.]+))?$}) {
        reply($client, $1, { error => "fault $1" },
            defined $2 ? "Retry-After: $2\r\n" : ());
        return 1;
    }
    return reply($client, 200, { metrics => [], next_page_token => 'again' }), 1
        if $fault eq 'again';
    return reply($client, 200, { errors => [ { message => 'not today' } ] }), 1
        if $fault eq 'errors';
    my ($status, $answer, $more) = { wandb => \&wandb, mlflow => \&mlflow,
        webhook => \&webhook }->{$kind}->($method, $path, \%h, $body);
    return -1 if $fault eq 'lose';
    ($status, $answer) = (200, 'hello') if $fault eq 'garbage';
    $answer = { stopped => JSON::PP::true } if $fault eq 'stop';
    $more = "RateLimit-Remaining: 0\r\nRateLimit-Reset: 0.3\r\n"
        if $fault eq 'limit';
    if ($fault eq 'cut') {
        print $client "HTTP/1.1 200 X\r\nContent-Length: 999\r\n\r\n{\"da";
        return -1;
    }
    reply($client, $status, $answer, $more);
    return 1;
}

sub answer { my ($id, $question) = split ' ', $_[0], 2;
    our $s = \%run;
    our $r = $run{$id} // (values %run)[0];
    my $text = eval "no strict; $question";
    open my $f, '>', "$dir/answer" or die;
    print $f $@ || $text // '', "\n";
    close $f;
}

$SIG{PIPE} = 'IGNORE';
POSIX::mkfifo("$dir/$_", 0600) for 'ask', 'answer';
open my $ask, '+<', "$dir/ask" or die;
spit('url', $url);
my $select = IO::Select->new($listen, $ask);
my %in;
while (getppid == $parent) {
    for my $client ($select->can_read(1)) {
        if ($client == $listen) {
            my $new = $listen->accept or next;
            $new->autoflush(1);
            $select->add($new);
            $in{$new} = '';
            next;
        }
        if ($client == $ask) {
            answer(scalar <$ask>);
            next;
        }
        my $n = sysread $client, $in{$client}, 1 << 20, length $in{$client};
        my $done = $n ? 1 : -1;
        $done = serve($client, \$in{$client}) while $done > 0;
        if ($done < 0) {
            $select->remove($client);
            delete $in{$client};
            close $client;
        } elsif ($in{$client} =~ /\A[^\r]*\r\n.*?Expect: 100/s) {
            print $client "HTTP/1.1 100 Continue\r\n\r\n";
        }
    }
}
