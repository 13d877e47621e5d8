#!/bin/sh
# gtrack pushes runs to W&B and MLflow: all of it, once, whatever goes wrong.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands
perl -MJSON::PP -MIO::Socket::INET -e 1 2>/dev/null ||
    skip_all "no perl with JSON::PP"
server=
trap 'test -z "$server" || kill "$server"; rm -rf "$dir"' EXIT
for v in GTRACK_ROOT MLFLOW_TRACKING_URI MLFLOW_TRACKING_USERNAME \
    MLFLOW_TRACKING_PASSWORD MLFLOW_TRACKING_TOKEN WANDB_ENTITY \
    WANDB_PROJECT NETRC WANDB_CONFIG_DIR http_proxy HTTP_PROXY ALL_PROXY \
    all_proxy WANDB_BASE_URL; do
    unset "$v"
done
serve() {       # serve KIND: a fresh server
    test -z "$server" || kill "$server"
    rm -rf srv && mkdir srv
    "$top/t/lib/server.pl" "$1" "$dir/srv" &
    server=$!
    await_file srv/url
    url=$(cat srv/url)
}
push() {        # push WHERE [OPTION]...: quickly
    : >srv/log
    gtrack push --to "$@" --retry-wait 0.01 >out 2>err
}
seen() { test "$(grep -c "$1" srv/log)" = "$2"; }
await_count() { # await_count COUNT FILE WORD: until it has so many of them
    perl -e 'for (1 .. 500) { exit if (() = `cat $ARGV[1]` =~ /$ARGV[2]/g) >= $ARGV[0];
        select undef, undef, undef, .02 } exit 1' "$@"
}
state() {       # state RUN EXPRESSION: of the run $r as the server has it
    kill -0 "$server" && printf '%s %s\n' "$1" "$(printf %s "$2" | tr '\n' ' ')" >srv/ask &&
        cat srv/answer
}
inject() {      # inject RUN FILE LINE...: lines of another program
    perl -MJSON::PP -MHTTP::Tiny -MMIME::Base64 -e '
        ($run, $file, @lines) = @ARGV;
        HTTP::Tiny->new->post("$ENV{WANDB_BASE_URL}/files/team/proj/$run/file_stream",
            { content => encode_json({ files => { $file =>
                { offset => $ENV{at}, content => \@lines } } }),
              headers => { authorization => "Basic " .
                encode_base64("api:$ENV{WANDB_API_KEY}", "") } })
            ->{success} or die' "$@"
}
lines() {       # lines RUN COUNT: each step once, in order
    state "$1" 'join " ", map { /"_step":(\d+)/ } @{$r->{"wandb-history.jsonl"}}' >steps
    seq -s ' ' 1 "$2" | cmp -s - steps
}

# ---- W&B ----
serve wandb
WANDB_API_KEY=$(printf 'k%.0s' $(seq 40)) && export WANDB_API_KEY
export WANDB_BASE_URL="$url"
seq 1 50 | sed 's/.*/step=& loss=0.& system\/gpu_util=&/' |
    gtrack log one -p optim.lr=0.001 -p flag=True -e proj 2>err
one=$(gtrack where one) && one=${one##*/}
mkdir "$(gtrack where one)/artifacts/sub dir"
echo hello >"$(gtrack where one)/artifacts/sub dir/note.txt"
: >"$(gtrack where one)/artifacts/empty.txt"
echo x >"$(gtrack where one)/artifacts/model.safetensors"
printf 'first\nsecond \377\n' >"$(gtrack where one)/artifacts/gtrain.log"

push wandb --dry-run
test ! -s srv/log && grep -q "50 lines of history" out
ok $? "push --dry-run sends nothing"
grep -q "^gtrack: one: 1 file left out (2 B); use --checkpoints" err
ok $? "push --dry-run says which files would be left out"
(unset WANDB_API_KEY; push wandb --dry-run && grep -q "50 lines" out &&
    ! push wandb && grep -q 'no key for' err)
ok $? "push --dry-run needs no key and push does"
WANDB_API_KEY=short push wandb
test $? = 4 && test ! -s srv/log && grep -q "40" err
ok $? "a malformed key is not sent"
WANDB_API_KEY=$(printf 'x%.0s' $(seq 40)) push wandb
test $? = 4 && grep -q "rejected the key" err
ok $? "a wrong key ends with status 4"
push wandb && lines "$one" 50
ok $? "every step arrives once and in order"
grep -q "^one	$url/team/proj/runs/$one\$" out
ok $? "push prints the page of the run"
state "$one" '$r->{config}' | grep -q '"optim":{"value":{"lr":0.001' &&
    state "$one" '$r->{config}' | grep -q '"flag":{"value":true' &&
    state "$one" '$r->{config}' | grep -q '"t":{'
ok $? "parameters become a nested config with types"
test "$(state "$one" '$r->{"wandb-events.jsonl"}[49] =~ /"system.gpu.0.gpu":50/')" = 1
ok $? "system metrics get W&B's names"
test "$(state "$one" '$r->{"wandb-summary.json"}[0] =~ /"loss":0.5,/')" = 1
ok $? "the summary has the last values"
test "$(state "$one" 'scalar @{$r->{"output.log"}}')" = 2
ok $? "the output of the run is sent line by line"
test "$(state "$one" '$r->{files}{"sub dir/note.txt"}')" = hello &&
    test "$(state "$one" 'exists $r->{files}{"empty.txt"}')" = 1 &&
    test "$(state "$one" 'exists $r->{files}{"model.safetensors"}')" = ""
ok $? "artifacts are sent and checkpoints are not"
grep -q "^gtrack: one: 1 file left out (2 B); use --checkpoints" err
ok $? "push says that checkpoints are left out"
test "$(state "$one" '$r->{uploaded}{"sub dir/note.txt"}')" = 1 &&
    test "$(state "$one" '$r->{exitcode}')" = 0
ok $? "the run is complete at the server"
push wandb && test "$(cat srv/log)" = "POST /graphql RunResumeStatus"
ok $? "pushing a run again sends nothing"
push wandb --checkpoints && test "$(state "$one" \
    '$r->{files}{"artifact-model.safetensors"}')" = x &&
    state "$one" '$r->{files}{manifest}' |
        grep -q '"digest": "QBsw47i11iljWlxhPNt5GQ==".*"size": 2'
ok $? "push --checkpoints sends an artifact with a manifest"
push wandb --checkpoints && ! grep -q Artifact srv/log
ok $? "push --checkpoints sends an artifact once"
truncate -s 5368709121 "$(gtrack where one)/artifacts/big.safetensors"
push wandb --checkpoints
is $? 1 "a file that W&B does not accept is refused"
like err "big.safetensors has 5.00 GiB, but W&B accepts at most 5 GiB" \
    "the size of the file is the reason"
rm "$(gtrack where one)/artifacts/big.safetensors"
rm "$(gtrack where one)"/.gtrack/push.*
push wandb && lines "$one" 50
ok $? "without its cursor push sends nothing twice"
gtrack tag one team=core baseline= "long=$(seq -s '' 40)" wandb.job_type=train
push wandb && test "$(state "$one" 'join " ", $r->{jobType}, sort @{$r->{tags}}')" = \
    "train baseline team=core" && grep -q "the tag 'long=1.*' is not sent" err
ok $? "tags and the job type are sent to W&B"
perl -MHTTP::Tiny -MMIME::Base64 -e 'HTTP::Tiny->new->post("$ENV{WANDB_BASE_URL}/graphql",
    { content => qq({"operationName":"UpsertBucket","variables":{"name":"$ARGV[0]",
        "tags":["baseline","team=core","mine"]}}),
      headers => { authorization => "Basic " .
        encode_base64("api:$ENV{WANDB_API_KEY}", "") } })->{success} or die' "$one"
gtrack tag one -D team -D long new= && push wandb &&
    test "$(state "$one" 'join " ", sort @{$r->{tags}}')" = "baseline mine new"
ok $? "tags that were added at W&B are kept and removed ones are removed"
at=50 inject "$one" wandb-events.jsonl '{"system.cpu":1}' '{"system.cpu":2}' &&
    at=2 inject "$one" output.log more && : >srv/log
push wandb && seen . 1 && lines "$one" 50 && test "$(state "$one" \
    'scalar @{$r->{"wandb-events.jsonl"}} . scalar @{$r->{"output.log"}}')" = 523
ok $? "push leaves lines of other programs beyond its own at the server"
grep -q "one: the server has 52 lines of system metrics, .* has 50" err
ok $? "push warns of lines of other programs at the server"
echo step=1 loss=2 | gtrack log "run bare" -e proj 2>err
push wandb "run bare" && id=$(gtrack where "run bare") && id=${id##*/} &&
    at=0 inject "$id" wandb-events.jsonl $(seq 9000) &&
    gtrack run log "run bare" loss=1 -s 2 && push wandb "run bare" && lines "$id" 2
ok $? "push survives a server with system metrics that the run does not have"
touch srv/negative && gtrack run log "run bare" loss=1 -s 3 &&
    push wandb "run bare" && lines "$id" 3
ok $? "push takes a negative number of lines at the server for none"
rm -f srv/negative
gtrack run log one loss=1 -s 51
push wandb && lines "$one" 51
ok $? "push sends a step of a run with lines of other programs"

seq 51 60 | sed 's/.*/step=& loss=1/' | gtrack log one --resume 2>err
push wandb && lines "$one" 60 && seen file_stream 2
ok $? "push sends the new steps of a resumed run"
gtrack run log one loss=7 -s 30
push wandb && lines "$one" 60 && test "$(state "$one" \
    '$r->{"wandb-history.jsonl"}[29] =~ /"loss":7/')" = 1
ok $? "push sends a late point of an earlier step"

seq 41 45 | sed 's/.*/step=& loss=4/' | gtrack log one --resume 2>err
push wandb && lines "$one" 45 && test "$(state "$one" \
    '$r->{"wandb-history.jsonl"}[40] =~ /"loss":4/')" = 1
ok $? "push rewinds a run that was rewound"
seq 43 50 | sed 's/.*/step=& loss=5/' | gtrack log one --resume 2>err
echo 'RewindRun errors' >srv/faults
push wandb && lines "$one" 50 && test "$(state "$one" \
    '$r->{"wandb-history.jsonl"}[42] =~ /"loss":5/')" = 1
ok $? "push sends a run anew when the server cannot rewind"

# media
png() {         # png PATH WIDTH: the head of a picture
    mkdir -p "${1%/*}"
    { printf '\211PNG\r\n\032\n\0\0\0\rIHDR\0\0\0'
        printf "\\$(printf %03o "$2")\0\0\0\002"; } >"$1"
}
line() { state "$id" '$r->{"wandb-history.jsonl"}['"$1"']'; }
seq 1 3 | sed 's/.*/step=& loss=0.&/' | gtrack log media 2>err
id=$(gtrack where media) && m=$id/artifacts && id=${id##*/}
stamp=timestamp+1795401885041
png "$m/images/val~pic+step+2+$stamp+f0000000-0000-4000-a000-000000000000.png" 3
printf 'a cat' >"$m/images/val~pic+step+2+$stamp+f0000000-0000-4000-a000-000000000000.txt"
: >"$m/images/val~pic+step+2+$stamp+f0000000-0000-4000-a000-000000000000+compressed.webp"
png "$m/images/l+step+3+$stamp+00000001-0000-4000-a000-000000000000.png" 5
png "$m/images/l+step+3+$stamp+00000000-1000-4000-a000-000000000000.png" 4
printf 'a dog' >"$m/images/l+step+3+$stamp+00000001-0000-4000-a000-000000000000.txt"
echo none >"$m/images/bad+step+3+$stamp+f0000000-0000-4000-a000-000000000000.png"
mkdir -p "$m/tables/eval/t" "$m/audio/a" "$m/histograms"
echo '{"columns":["a","b"],"data":[[1,2],[3,4],[5,6]]}' >"$m/tables/eval/t/4.json"
echo x >"$m/audio/a/2.wav"
echo '{"step":1,"time":5,"values":[1,4],"bins":[0,0.5,1]}' >"$m/histograms/h.jsonl"
push wandb media --no-files && line 0 | grep -q '"h":{"_type":"histogram","values":\[1,4\],"bins":\[0,0.5,1\]}' &&
    test "$(state "$id" 'join(" ", @{$r->{"wandb-history.jsonl"}}) =~ /-file/')" = ""
ok $? "histograms are values at W&B, and --no-files sends no other media"
push wandb media && line 1 | grep -q '"val/pic":{"_type":"image-file","path":"media/images/val/pic_2_[0-9a-f]\{20\}.png","sha256":"[0-9a-f]\{64\}","size":24,"format":"png","width":3,"height":2,"caption":"a cat"}' &&
    line 1 | grep -q '"a":{"_type":"audio-file","path":"media/audio/a_2_73cb3858a687a8494ca3.wav"'
ok $? "pictures and sounds become media of W&B in the history of their step"
line 2 | grep -q '"l":{"_type":"images/separated","count":2,"format":"png","width":4,"height":2,"filenames":\["media/images/l_3_[^"]*","media/images/l_3_'
ok $? "several pictures of a step are a list at W&B in their order"
line 2 | grep -q '"captions":\[null,"a dog"\]'
ok $? "a list whose first picture has no caption keeps those of the others"
line 3 | grep -q '"eval/t":{"_type":"table-file","path":"media/table/eval/t_4_[0-9a-f]*.table.json",.*"ncols":2,"nrows":3,"log_mode":"IMMUTABLE"}' &&
    state "$id" '$r->{"wandb-summary.json"}[0]' | grep -q '"eval/t":{"_type":"table-file"'
ok $? "a table is in the history and the summary of W&B"
test "$(state "$id" 'join " ", sort map { s/_[^_]*$//r } grep !/^(config|wandb-)/, keys %{$r->{files}}')" = \
    "images/bad+step+3+$stamp+f0000000-0000-4000-a000-000000000000.png media/audio/a_2 media/images/l_3 media/images/l_3 media/images/val/pic_2 media/table/eval/t_4"
ok $? "files of media are sent once, and a picture that is none as a plain file"
push wandb media && test "$(cat srv/log)" = "POST /graphql RunResumeStatus"
ok $? "media are not sent again"
echo step=1 loss=1 | gtrack log masks 2>err
id=$(gtrack where masks) && for i in 1 2 3; do
    png "$id/artifacts/images/l+step+1+$stamp+0000000$i-0000-4000-a000-000000000000.png" 5
done && id=${id##*/}
push wandb masks && line 0 | grep -q '"count":3' && seen "PUT.*media/" 1
ok $? "equal pictures of a list are sent once"
id=$(gtrack run start --name films) && m=$(gtrack where films)/artifacts
mkdir -p "$m/video/v" && echo film >"$m/video/v/1.mp4"
gtrack run log films loss=1 -s 1 && gtrack run log films loss=2 -s 2
push wandb films && line 0 | grep -q '"v":{"_type":"video-file"' &&
    test "$(state "$id" 'join " ", keys %{$r->{files}}')" = media/videos/v_1_c6f0a19b2cf185c1dc6e.mp4
ok $? "the media of a run that is running are sent with their lines"
gtrack run end films && push wandb films && seen 'films\|v_1' 0
ok $? "media that were sent while a run was running are not sent at its end"

# faults: each must be outlived, nothing lost, nothing doubled
fault() {       # fault NAME LINE...
    name=$1
    shift
    gtrack rm "run $name" 2>/dev/null
    seq 1 30 | sed 's/.*/step=& loss=&/' | gtrack log "run $name" 2>err
    id=$(gtrack where "run $name") && id=${id##*/}
    printf '%s\n' "$@" >srv/faults
    push wandb "run $name" && lines "$id" 30 &&
        test "$(state "$id" '$r->{exitcode}')" = 0
    ok $? "push survives $name"
}
fault "429 with Retry-After" "file_stream 429/0.01"
fault "a server error" "graphql 500" "file_stream 503" "file_stream 502"
fault "a dropped connection" "RunResumeStatus drop" "file_stream drop"
fault "a lost reply" "file_stream lose" "UpsertBucket lose"
fault "409 while the run is made" "UpsertBucket 409" "UpsertBucket 409"
fault "a file's address that expired" "config.yaml 403"
fault "a file store that stutters" "PUT 500" "PUT drop"
fault "a page for people, and 500" "file_stream html/500" "graphql html/502"
fault "a reply that is cut" "file_stream cut" "UpsertBucket cut"
fault "425, 408 and 504" "file_stream 425" "graphql 408" "file_stream 504"
fault "429 with a date" "file_stream 429/date"

seq 1 9 | sed 's/.*/step=& loss=&/' | gtrack log "run half" 2>err
half=$(gtrack where "run half")
seq 1 200000 >"$half/artifacts/large.txt"
echo 'body.PUT.*large.txt half' >srv/faults
push wandb "run half" && seen 'body.*half' 1 && state "${half##*/}" \
    '$r->{files}{"large.txt"}' | sed '$d' | cmp - "$half/artifacts/large.txt"
ok $? "push survives a connection that drops within a file"
printf 'file_stream limit\nfile_stream limit\n' >srv/faults
seq 1 300 | sed 's/.*/step=& loss=&/' | gtrack log "run limit" 2>err
gtrack -v push --to wandb "run limit" --request-size 4KiB >out 2>err &&
    grep -c "for the rate limit of the server" err | grep -qx 2 &&
    id=$(gtrack where "run limit") && lines "${id##*/}" 300
ok $? "push waits when the server limits its requests"

for status in 401 403 404 413; do
    seq 1 9 | sed 's/.*/step=& loss=&/' | gtrack log "run $status" 2>err
    echo "file_stream $status" >srv/faults
    push wandb "run $status"
    test $? = 4 && seen file_stream 1 && grep -q "$status\|key" err &&
        push wandb "run $status" && id=$(gtrack where "run $status") &&
        lines "${id##*/}" 9
    ok $? "status $status is reported and the next push completes the run"
done
for reply in garbage html/200; do
    name="run $reply"
    seq 1 9 | sed 's/.*/step=& loss=&/' | gtrack log "$name" 2>err
    echo "file_stream $reply" >srv/faults
    push wandb "$name"
    test $? = 4 && seen file_stream 1 && grep -q "not JSON" err &&
        push wandb "$name" && id=$(gtrack where "$name") && id=${id##*/} &&
        lines "$id" 9 && test "$(state "$id" '$r->{uploaded}{"config.yaml"}')" = 1
    ok $? "lines and files that $reply answered to are sent by the next push"
done
seq 1 9 | sed 's/.*/step=& loss=&/' | gtrack log "run unread" 2>err
ln -s /proc/self/mem "$(gtrack where "run unread")/artifacts/x.txt"
push wandb "run unread" --dry-run && grep -q "1 link out of the run left out" err
ok $? "push says that a link out of the run is left out"
push wandb "run unread" --follow-links
test $? = 1 && grep -q "1 of the artifacts cannot be read" err &&
    id=$(gtrack where "run unread") && lines "${id##*/}" 9
ok $? "an artifact that cannot be read is reported and the rest is sent"
rm "$id/artifacts/x.txt"
printf 'config.yaml html/200\nconfig.yaml html/200\n' >srv/faults
gtrack log "run page" </dev/null 2>err
push wandb "run page"
test $? = 4 && grep -q "config.yaml: .* replies with a web page" err &&
    id=$(gtrack where "run page") && push wandb "run page" &&
    test "$(state "${id##*/}" '$r->{uploaded}{"config.yaml"}')" = 1
ok $? "a web page instead of W&B's file store is an error"
echo "RunResumeStatus forget" >srv/faults
push wandb "run page" && grep -q "is pushed again" err &&
    test "$(state "${id##*/}" '$r->{uploaded}{"config.yaml"}')" = 1
ok $? "a run that W&B has no more is pushed again with its files"
gtrack log "run bad" </dev/null 2>err
echo 'UpsertBucket errors' >srv/faults
push wandb "run bad"
test $? = 4 && grep -q "not today" err
ok $? "an error in a reply of status 200 is an error"
seq 1 9 | sed 's/.*/step=& loss=&/' | gtrack log "run refused" 2>err
printf 'config.yaml 403\nconfig.yaml 403\n' >srv/faults
push wandb "run refused"
test $? = 4 && id=$(gtrack where "run refused") && lines "${id##*/}" 9
ok $? "a refused file is reported and the steps are sent"
push wandb "run refused" && test "$(state "${id##*/}" \
    'exists $r->{files}{"config.yaml"}')" = 1
ok $? "a refused file is sent by the next push"

# killed half way: many lines, then again
seq 1 600 | sed 's/.*/step=& loss=& lr=0.1/' |
    gtrack log big 2>err
big=$(gtrack where big) && big=${big##*/}
printf 'file_stream pass\nfile_stream 500\n' >srv/faults
gtrack push --to wandb big --tries 1 --request-size 8KiB >out 2>err
test $? = 4
ok $? "an interrupted push ends with status 4"
push wandb big --request-size 8KiB && lines "$big" 600 &&
    test "$(grep -c file_stream srv/log)" -ge 4
ok $? "the next push completes the run in requests of --request-size"

id=$(gtrack run start --name live)
gtrack run log live loss=1 -s 1 && gtrack run log live loss=2 -s 2
push wandb live && lines "$id" 1 && test "$(state "$id" '$r->{exitcode} // "no"')" = no
ok $? "push holds back the last step of a live run"
gtrack push --to wandb live --follow --every 0.1 >out 2>err &
follower=$!
gtrack run log live loss=3 -s 3 && gtrack run end live --status failed
wait $follower && lines "$id" 3 && test "$(state "$id" '$r->{exitcode}')" = 1
ok $? "push --follow sends the end of the run and its exit code"
out=$(gtrack run start --name outage)
gtrack run log outage loss=1 -s 1 && gtrack run log outage loss=2 -s 2
: >srv/log
gtrack push --to wandb outage --follow --every 0.05 --tries 1 >out 2>err &
follower=$!
await_count 1 srv/log file_stream && printf '. 500\n. 500\n' >srv/faults &&
    gtrack run log outage loss=3 -s 3 && await_count 2 err 'goes on' &&
    gtrack run log outage loss=4 -s 4 && gtrack run end outage && wait $follower && lines "$out" 4
ok $? "push --follow outlives an outage of the server"
gtrack tag live phase=x && gtrack ls -x live >/dev/null
push wandb live --new-run && test "$(state "$id-2" 'scalar @{$r->{"wandb-history.jsonl"}}')" = 3
ok $? "push --new-run makes a new run"
push wandb -j 4 && test "$(cut -f1 out | sort -u | wc -l)" -ge 12
ok $? "push -j sends several runs at a time"
push wandb -j 4 && ! grep -v " 0 lines, 0 points, 0 files sent\|warning\|left out" err
ok $? "push -j sends nothing twice and says so"
for i in 1 2; do
    id=$(gtrack run start --name "go$i") && gtrack run log "$id" loss=1
done
gtrack push --to wandb 'name like "go_"' --follow -j 2 --every 0.1 >out 2>err &
follower=$!
perl -e 'for (1 .. 500) { last if `cat srv/log` =~ /'"$id"'/; select undef, undef, undef, .02 }'
kill -TERM $follower
wait $follower
test $? = 130 && gtrack run end go1 && gtrack run end go2
ok $? "a signal ends push --follow of all runs"

unset WANDB_API_KEY WANDB_BASE_URL
hostport=${url#http://}
printf 'machine other.example\n  login user\n  password %s\nmachine %s\n  login user\n  password %s\n' \
    "$(printf 'o%.0s' $(seq 40))" "$hostport" "$(printf 'k%.0s' $(seq 40))" >.netrc
mkdir -p .config/wandb
printf '[default]\nbase_url = %s\nproject = from-settings\n' "$url" >.config/wandb/settings
echo step=1 loss=1 | gtrack log settled 2>err
push wandb settled && grep -q /team/from-settings/ out
ok $? "push reads key, server and project from netrc and settings"
rm .netrc
push wandb live
test $? = 4 && grep -q "no key" err && test ! -s srv/log
ok $? "push without a key sends nothing"
rm -r .config
WANDB_API_KEY=$(printf 'k%.0s' $(seq 40)) && export WANDB_API_KEY
mkdir wandb && printf '[default]\nbase_url = %s\n' "$url" >wandb/settings
push wandb live
test $? = 2 && grep -q "current folder names the server $url" err && test ! -s srv/log
ok $? "a server that a file of the current folder names gets no key"
push wandb --url "$url" live && test -s srv/log
ok $? "a server that an option names gets the key"
rm -r wandb
gtrack push --to wandb --url http://host.invalid:9 --tries 1 live >out 2>err
test $? = 2 && grep -q 'only by https; --plain-http' err
ok $? "a key is not sent to another machine without TLS"
gtrack push --to wandb --url http://host.invalid:9 --tries 1 --plain-http live >out 2>err
test $? = 4
ok $? "--plain-http lets a key be sent without TLS"
unset WANDB_API_KEY
gtrack push --to wandb --url http://api.wandb.ai live >out 2>err
test $? = 2
ok $? "push refuses to send a key to the cloud without TLS"

# ---- MLflow ----
serve mlflow
touch srv/auth
push mlflow "$url" one
test $? = 4
ok $? "push to MLflow without a login ends with status 4"
MLFLOW_TRACKING_USERNAME=me MLFLOW_TRACKING_PASSWORD=secret push mlflow "$url" one
ok $? "push to MLflow accepts user and password"
MLFLOW_TRACKING_TOKEN=token push mlflow "$url" one && seen log-batch 0
ok $? "push to MLflow accepts a token and sends nothing twice"
MLFLOW_TRACKING_TOKEN=token push mlflow http://host.invalid:9 --tries 1 one
test $? = 2 && grep -q 'only by https' err
ok $? "a token of MLflow is not sent to another machine without TLS"
MLFLOW_TRACKING_URI=$(echo "$url" | sed 's|//|//me:s%65cret@|') && export MLFLOW_TRACKING_URI
push mlflow one --new-run
ok $? "the address of MLflow may have the user and the password"
cat out err >said
echo "runs redirect" >srv/faults
push mlflow one --tries 1
cat out err >>said
! grep -rq 's%65cret\|secret@' said mlruns && test -s said
ok $? "a password in the address of a server is neither stored nor printed"
unset MLFLOW_TRACKING_URI
rm srv/auth
echo content >"$(gtrack where one)/artifacts/new.txt"
echo "PUT redirect" >srv/faults
push mlflow "$url" one --tries 1
test $? != 0 && grep -q 'redirects to' err && ! grep -q elsewhere srv/log
ok $? "an artifact follows no redirect"
echo 'step=1 loss=1' | gtrack log told -p 'where=x' -t note=hello 2>err
printf 'postgresql://me:pw@host/db' >"$(gtrack where told)/params/where"
push mlflow "$url" told && test "$(grep -c 'told: 1 value may be secret.*where' err)" = 1
ok $? "push warns of a value that looks like a secret"
gtrack bundle -o told.tar told >out 2>err && grep -q 'told: 1 value may be secret' err
ok $? "bundle warns of a value that looks like a secret"
points() { test "$(state x 'my %s; my @d = grep { $s{"$_->{key} $_->{step} $_->{value}"}++ }
    @{$r->{points}}; scalar(@{$r->{points}}) . " " . scalar @d')" = "$1"; }
serve mlflow
{ seq 1 1500 | sed 's/.*/step=& loss=&/'; echo step=1501 loss=nan
    echo step=1502 loss=-inf; } |
    gtrack log two -p a=1 -p "text=Grüße" 2>err
push mlflow "$url" two && points "1502 0" && seen log-batch 4
ok $? "push to MLflow sends every point in batches of 1000"
test "$(state x '$r->{points}[-1]{value} . $r->{points}[-2]{value}')" = -InfinityNaN
ok $? "push to MLflow spells NaN and infinities its way"
test "$(state x '$r->{info}{status}')" = FINISHED && test "$(state x '$r->{params}{a}')" = 1
ok $? "push to MLflow sends parameters and status"
push mlflow "$url" two && points "1502 0" && seen log-batch 0
ok $? "pushing to MLflow again adds nothing"
rm "$(gtrack where two)"/.gtrack/push.*
push mlflow "$url" two && points "1502 0"
ok $? "pushing to MLflow without the cursor adds nothing"
rm "$(gtrack where two)"/.gtrack/push.*
printf 'get-history again\nget-history again\nget-history again\n' >srv/faults
push mlflow "$url" two
test $? != 0 && grep -q 'sends the same page of loss again' err
ok $? "push ends when MLflow's server sends a page again and again"
push mlflow "$url" two && points "1502 0"
ok $? "pushing to MLflow after such pages adds nothing"
seq 1503 3600 | sed 's/.*/step=& loss=&/' | gtrack log two --resume 2>err
printf 'log-batch 500\nlog-batch 429/0.01\nlog-batch drop\n' >srv/faults
push mlflow "$url" two && points "3600 0"
ok $? "push to MLflow survives server errors"
seq 3601 5600 | sed 's/.*/step=& loss=&/' | gtrack log two --resume 2>err
printf 'log-batch pass\nlog-batch lose\nlog-batch 500\nlog-batch 500\n' >srv/faults
gtrack push --to mlflow "$url" two --tries 1 >out 2>err
test $? = 4 && push mlflow "$url" two && points "5600 0"
ok $? "a lost reply from MLflow doubles no point"
echo data >"$(gtrack where two)/artifacts/a b.txt"
push mlflow "$url" two && test "$(state x '(grep { /a b.txt/ } keys %{$r->{files}})[0] =~ m{artifacts/a b.txt$}')" = 1
ok $? "push to MLflow sends artifacts through its proxy"
add_dataset two c4
push mlflow "$url" two && seen log-inputs 1 &&
    test "$(state x '"$r->{inputs}[0]{dataset}{name} $r->{inputs}[0]{dataset}{digest} $r->{inputs}[0]{tags}[0]{value}"')" = "c4 abc training" &&
    push mlflow "$url" two && seen log-inputs 0
ok $? "push to MLflow sends the datasets that the run read, once"
two=$(gtrack where two)/artifacts
echo odd >"$two/a#b.txt" && echo more >"$two/c.txt"
push mlflow "$url" two
test $? = 4 && grep -q "1 of the artifacts could not be sent, such as a#b.txt" err &&
    test "$(state x '(grep { m{artifacts/c.txt$} } keys %{$r->{files}})[0] =~ m{/c.txt$}')" = 1 &&
    rm "$two/a#b.txt" && push mlflow "$url" two
ok $? "a file refused by MLflow is reported and the rest is sent"
truncate -s 1T "$two/big.pt" && echo more >"$two/e.txt"
push mlflow "$url" two --checkpoints
test $? = 4 && grep -q "big.pt is not read: it has 1.00 TiB" err &&
    grep -q "1 of the artifacts could not be sent, such as big.pt" err &&
    test "$(state x '(grep { m{artifacts/e.txt$} } keys %{$r->{files}})[0] =~ m{/e.txt$}')" = 1 &&
    rm "$two/big.pt"
ok $? "a file of a terabyte that is a hole is reported and the rest is sent"
printf 'log-batch html/500\nlog-batch 429/date\nlog-batch cut\n' >srv/faults
seq 5601 7700 | sed 's/.*/step=& loss=&/' | gtrack log two --resume 2>err
push mlflow "$url" two && points "7700 0"
ok $? "push to MLflow survives HTML, dates and truncated replies"
echo page >"$two/d.txt"
echo "PUT html/200" >srv/faults
push mlflow "$url" two
test $? = 4 && grep -q "replies with a web page" err && push mlflow "$url" two &&
    test "$(state x '(grep { m{artifacts/d.txt$} } keys %{$r->{files}})[0] =~ m{/d.txt$}')" = 1
ok $? "a web page instead of MLflow's file store is an error"
for status in 401 403 404 409 413; do
    gtrack run log two loss=1 -s "$((8000 + status))"
    echo "log-batch $status" >srv/faults
    push mlflow "$url" two
    test $? = 4 && seen log-batch 1 && push mlflow "$url" two
    ok $? "status $status of MLflow is reported, the next push completes"
done
points "7705 0"
ok $? "MLflow has no point twice after errors"
echo step=1 loss=1 | gtrack log lost 2>err
printf 'runs/create lose\nlog-batch lose\nlog-batch pass\nlog-batch lose\n' >srv/faults
push mlflow "$url" lost && seen runs/create 1 &&
    test "$(state x 'scalar grep { ($_->{tags}{"mlflow.runName"} // "") eq "lost" }
        values %$s')" = 1
ok $? "push finds the run whose creation was not acknowledged"
seq 1 6000 | sed 's/.*/step=& loss=&/' | gtrack log often 2>err
for i in 1 2 3 4; do printf 'log-batch lose\nlog-batch 500\nlog-batch pass\n'; done >srv/faults
push mlflow "$url" often --tries 2 && grep -q "6000 points" err &&
    test "$(state x 'my ($o) = grep { ($_->{tags}{"mlflow.runName"} // "") eq "often" }
        values %$s; my %n = map { $_->{step}, 1 } @{$o->{points}};
        @{$o->{points}} . " " . keys %n')" = "6000 6000"
ok $? "the tries of a push to MLflow are those of one request, and all points count"
pid=$(gtrack run start --name above) && gtrack run end "$pid"
cid=$(gtrack run start --name below --parent "$pid") && gtrack run end "$cid"
parent() {      # of the run at the server that is our run $1
    state x '(grep { $_->{tags}{"gtrack.run_id"} eq "'"$1"'" } values %$s)[0]
        '"$2"
}
push mlflow "$url" below &&
    test "$(parent "$cid" '{tags}{"mlflow.parentRunId"} // "none"')" = none
ok $? "a child of a run that was not pushed to MLflow has no parent there"
push mlflow "$url" above below &&
    test "$(parent "$cid" '{tags}{"mlflow.parentRunId"}')" = "$(parent "$pid" '{info}{run_id}')"
ok $? "a child at MLflow has the parent's id at the server"
echo 'reason: "out of memory"' >>"$(gtrack where above)/.gtrack/attempt.1.yaml"
sed -i s/FINISHED/FAILED/ "$(gtrack where above)/.gtrack/attempt.1.yaml"
sed -i 's/^status: 3/status: 4/' "$(gtrack where above)/meta.yaml"
push mlflow "$url" above &&
    test "$(parent "$pid" '{tags}{"gtrack.reason"}')" = 'out of memory'
ok $? "the reason of a failure is a tag at MLflow"
push mlflow "$url" below && seen log-batch 0
ok $? "the parent of a run is sent to MLflow once"
MLFLOW_WORKSPACE=mine push mlflow "$url" two --new-run &&
    test "$(state x '(grep { $_->{workspace} } values %$s)[0]{workspace}')" = mine
ok $? "push names the MLflow workspace"
MLFLOW_EXPERIMENT_NAME=named push mlflow "$url" lost --dry-run &&
    grep -q "experiment named: .*(0 were sent)" out
ok $? "push --dry-run prints the experiment that MLflow's settings name"
MLFLOW_EXPERIMENT_NAME=named push mlflow "$url" lost &&
    grep -q "1 points" err && MLFLOW_EXPERIMENT_NAME=named push mlflow "$url" lost &&
    seen log-batch 0 && push mlflow "$url" lost && seen log-batch 0
ok $? "push remembers what it sent to each of MLflow's experiments"

# ---- TLS ----
if command -v openssl >/dev/null && python3 -c 'import ssl' 2>/dev/null; then
    cert() {    # cert NAME: a key and a certificate that it signed itself
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 \
            -nodes -days 2 -subj "/CN=$1" \
            -addext "subjectAltName=IP:127.0.0.1" \
            -keyout "$1.key" -out "$1.crt" 2>/dev/null &&
            cat "$1.key" "$1.crt" >"$1.pem"
    }
    cert server && cert client
    python3 "$top/t/lib/tls_front.py" "${url##*:}" server.pem client.crt >tls &
    front=$!
    trap 'kill "$server" $front; rm -rf "$dir"' EXIT
    await_file tls
    tls=https://127.0.0.1:$(cat tls)
    echo step=1 loss=1 | gtrack log tls 2>err
    push mlflow "$tls" tls --tries 1
    test $? = 4 && test ! -s srv/log && grep -qi certificate err
    ok $? "a server with an unknown certificate gets nothing"
    export MLFLOW_TRACKING_CLIENT_CERT_PATH="$dir/client.pem"
    MLFLOW_TRACKING_SERVER_CERT_PATH="$dir/server.crt" push mlflow "$tls" tls
    ok $? "a named certificate is trusted and the client's is shown"
    MLFLOW_TRACKING_INSECURE_TLS=true push mlflow "$tls" tls --new-run
    ok $? "MLFLOW_TRACKING_INSECURE_TLS trusts any certificate"
    MLFLOW_TRACKING_INSECURE_TLS=true \
        MLFLOW_TRACKING_SERVER_CERT_PATH="$dir/server.crt" \
        push mlflow "$tls" tls
    test $? = 2 && test ! -s srv/log
    ok $? "naming a certificate and trusting any is refused"
    MLFLOW_TRACKING_SERVER_CERT_PATH="$dir/none" push mlflow "$tls" tls
    test $? = 2 && grep -q "SERVER_CERT_PATH.*does not exist" err
    ok $? "a missing certificate is reported by its variable"
    unset MLFLOW_TRACKING_CLIENT_CERT_PATH
    MLFLOW_TRACKING_SERVER_CERT_PATH="$dir/server.crt" \
        push mlflow "$tls" tls --tries 1
    test $? = 4
    ok $? "a server that requires a client certificate rejects push"
else
    for i in 1 2 3 4 5 6; do
        skip "push over TLS works (part $i of 6)" "no openssl, or no python3"
    done
fi

gtrack push --to mlflow http://127.0.0.1:1 two --tries 1 >out 2>err
test $? = 4
ok $? "push to MLflow without a server ends with status 4"

# ---- what a store may not choose ----
serve mlflow
echo step=1 loss=6 | gtrack log victim 2>err
echo step=1 loss=7 | gtrack log thief -p stolen=1 2>err
push mlflow "$url" victim && push mlflow "$url" thief
cursor=$(echo "$(gtrack where thief)"/.gtrack/push.*)
victim=$(sed -n 's/.*"run_id": "\(.*\)".*/\1/p' "$(gtrack where victim)"/.gtrack/push.*)
sed -i "s/\"run_id\": \".*\"/\"run_id\": \"$victim\"/" "$cursor"
echo step=2 loss=8 | gtrack log thief --resume 2>err
push mlflow "$url" thief && grep -q 'not there as' err &&
    test "$(state "$victim" 'scalar(@{$r->{points}}) . %{$r->{params}}')" = 10 &&
    ! grep -q "$victim" "$cursor"
ok $? "a store cannot choose the run of the server that is written"
serve wandb
WANDB_API_KEY=$(printf 'k%.0s' $(seq 40)) && export WANDB_API_KEY
push wandb --url "$url" victim && push wandb --url "$url" thief
victim=$(basename "$(gtrack where victim)") thief=$(basename "$(gtrack where thief)")
cursor=$(grep -l "\"run_id\": \"$thief\"" "$(gtrack where thief)"/.gtrack/push.*)
sed -i "s/\"run_id\": \".*\"/\"run_id\": \"$victim\"/" "$cursor"
echo step=3 loss=9 | gtrack log thief --resume 2>err
push wandb --url "$url" thief && grep -q "the run $victim.*not believed" err &&
    lines "$victim" 1 && test "$(state "$thief" 'scalar @{$r->{"wandb-history.jsonl"}}')" = 3
ok $? "a store cannot choose the run of W&B that is written"
rm "$cursor" && mkfifo "$cursor"
timeout 60 gtrack push --to wandb --url "$url" thief --retry-wait 0.01 >out 2>err
test $? -eq 0 && ! test -p "$cursor"
ok $? "a pipe in place of the note of a push delays nothing"
done_testing
