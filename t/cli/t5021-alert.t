#!/bin/sh
# gtrack alert: what becomes true of a run is reported once, to a command, a
# webhook or by mail; a delivery that failed is tried again, and the address of
# a webhook is a secret.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
for v in http_proxy HTTP_PROXY ALL_PROXY all_proxy; do
    unset "$v"
done
server=
trap 'test -z "$server" || kill "$server"; rm -rf "$dir"' EXIT

# new_run NAME LOSS [STATUS]
new_run() {
    id=$(gtrack run start --name "$1")
    gtrack run log "$id" "val/loss=$2"
    test -z "${3-}" || gtrack run end "$id" --status "$3"
}
# alert WORDS...: look once
alert() { gtrack alert --once "$@" >out 2>err; }
tags() { gtrack show "$1" --json | grep -o '"alert[^,]*'; }

alert --when 'val/loss < 3' --do 'echo "$GTRACK_ALERT" >>told'
is "$? $(cat told 2>&1)" "0 cat: told: No such file or directory" \
    "a store that does not exist yet raises no alert"
new_run good 2.5 finished
new_run bad nan
new_run worse 4 failed
alert --when 'val/loss < 3' --do 'echo "$GTRACK_RUN_NAME: $GTRACK_ALERT" >>told'
is "$(cat told)" "good: good (FINISHED): val/loss < 3" \
    "a command gets the name of the run and the message"
alert --when 'val/loss < 3' --do 'echo "$GTRACK_RUN_NAME" >>told'
is "$(wc -l <told)" 1 "an event is reported once"
tags good >out
like out 'raised 2.*Z: val/loss < 3; to a command' "a tag records the alert"
alert --when 'val/loss is not finite' --do 'cat >piped'
is "$(cat piped)" "bad (RUNNING): val/loss is not finite" \
    "a loss that is not finite is found, and the message is on standard input"
alert --when "status = 'FAILED'" --name failed --do false
is $? 1 "a command that fails is an error"
is "$(tags worse)" "" "an alert that was not delivered is not recorded"
alert --when "status = 'FAILED'" --name failed --do true
tags worse >out
like out '"alert.failed"' "an alert that failed is delivered the next time, and has its name"

alert --when 'val/los < 3 or x = 1' --do true
is "$? $(cat err)" "0 gtrack: warning: waiting, as no run has a parameter, metric or tag val/los; did you mean val/loss?" \
    "a name that no run has is told at the start"
alert godo --when 'val/loss < 3' --do true
like err "waiting, as there is no run named godo; did you mean good" \
    "a run that does not exist is told at the start"

# What was raised is cleared, and can be raised again.
: >told
for loss in 2 4 2; do
    gtrack run log bad val/loss=$loss
    alert bad --when 'val/loss < 3' --name low --do 'echo again >>told'
done
is "$(wc -l <told)" 2 "a condition that holds again is another event"

# While one process raises an alert of a run, others leave the run to it.
cat >again.sh <<'E'
gtrack alert --once --name twice --when 'val/loss < 3' \
    --do 'echo inner >>twice' good 2>>inner
echo "outer $?" >>twice
E
alert --name twice --when 'val/loss < 3' --do 'sh again.sh' good
is "$? $(cat twice)" "0 outer 0" \
    "an alert that is being raised is not raised again, and nobody waits for it"
cat >other.sh <<'E'
gtrack alert --once --name other/one --when 'val/loss < 3' \
    --do 'echo told >>other' good
E
alert --name hangs --when 'val/loss < 3' --do 'sh other.sh' good
is "$? $(cat other)" "0 told" \
    "a command that hangs keeps no other alert of the run waiting"
is "$(ls -A "$(gtrack where good)/.gtrack" | grep lock)" "" \
    "no lock is left in the run"

# A run that has logged nothing for an hour, and one that has ended.
new_run slow 1
old=$(($(date +%s) * 1000 - 3600000))
for name in slow good; do
    folder=$(gtrack where "$name")
    printf '%s 1.0 0\n' $old >"$folder/metrics/val/loss"
    sed -i "s/^start_time: .*/start_time: $old/" "$folder/meta.yaml"
done
is "$(gtrack ls 'stalled(30min)' --tsv --no-header -c name)" slow \
    "a run that has not ended and logs nothing is stalled"
is "$(gtrack ls 'idle < 2h and not stalled(2h) and idle > 59min' --tsv \
    --no-header -c name)" slow "the time since the last point is idle"
gtrack ls 'stalled(soon)' >out 2>err
is $? 2 "stalled() needs a time"
like err "a number, without quotes, is expected" "the message says what it needs"

# refused MESSAGE WORDS...
refused() {
    message=$1
    shift
    alert "$@"
    is $? 2 "wrong options are refused: $message"
    like err "$message" "the message says: $message"
}
refused "needs --when" --do true
refused "needs --do, --webhook or --mail" --when 'val/loss < 3'
refused "needs --do, --webhook or --mail" --when 'val/loss < 3' --do true \
    --mail a@b
refused "expects a URL" --when 'val/loss < 3' --webhook nowhere
refused "expects one address" --when 'val/loss < 3' --mail 'a@b c@d'
refused "filter:" --when 'val/loss <' --do true

# Alerts of a file, which are also raised by whoever writes a run.
export GTRACK_ALERTS=alerts.ini
cat >alerts.ini <<'E'
# for all my runs
every = 100ms
[low]
when = val/loss < 3
do = echo "low $GTRACK_RUN_NAME" >>events
[end]
when = status != 'RUNNING'
do = cat >end && mv end end-$GTRACK_RUN_NAME
E
alert good
is "$? $(cat events) $(cat end-good)" \
    "0 low good good (FINISHED): status != 'RUNNING'" \
    "the alerts of a file are raised"
rm events
gtrack watch --alerts --count 1 bad slow >out 2>err
is "$? $(cat events) $(grep -c '^bad\|^slow' out)" "0 low slow 2" \
    "watch --alerts draws the table and raises the alerts of the file"
gtrack watch --alerts --every 100ms worse >out 2>err &
watcher=$!
await_file end-worse
kill $watcher
wait $watcher
is "$? $(cat out)" "0 " \
    "watch --alerts without a terminal raises alerts until it is interrupted"
rm events
echo 'step=1 val/loss=2' | gtrack log writer 2>err
await_file end-writer
is "$(cat events end-writer | tr '\n' ' ')" \
    "low writer writer (FINISHED): status != 'RUNNING'" \
    "the alerts of a run are raised while it is written"
mkfifo input
gtrack log killed <input 2>err &
writer=$!
exec 3>input
perl -e 'for (1 .. 3000) { last if `gtrack ls -n 1 killed 2>&1` =~ /RUNNING/i;
    select undef, undef, undef, .02 }'
kill -KILL $writer
wait $writer 2>err
exec 3>&-
await_file end-killed
like end-killed "^killed ([A-Z]*): status != 'RUNNING'" \
    "the death of the process that writes a run is reported"
encode_letters data
small_ini data.tokenizer=tok "data.train=data_*.bin" train.micro_batch=1 \
    schedule.steps=4 run.name=trained >c.ini
gtrain --config c.ini --ranks 2 -q >out 2>err
is $? 0 "alerts do not change how a training of two ranks ends"
await_file end-trained
is "$(cat end-trained)" "trained (FINISHED): status != 'RUNNING'" \
    "the alerts of a training are raised"
printf '[low]\nwhen = x < 1\ndo = true\ntype = slack\n' >alerts.ini
alert
is $? 2 "a setting that a file of alerts does not have is refused"
like err "alerts.ini:4: expected .* not type" "the message names the line"
printf '[low]\ndo = true\n' >alerts.ini
alert
like err "alerts.ini:2: the alert needs when" "an alert of a file needs a condition"
echo 'step=1 x=1' | gtrack log worried 2>err
is $? 0 "a mistake in the file of alerts does not keep a run from being written"
like err "no alerts are raised for this run: .*alerts.ini:2" \
    "a program that begins a run warns of a mistake in the file of alerts"
GTRACK_ALERTS='' alert
like err "set GTRACK_ALERTS to a file" "without --when, a file has the alerts"
export GTRACK_ALERTS=

mkdir bin
printf '#!/bin/sh\necho "$@" >mail.args\ncat >mail.text\n' >bin/sendmail
chmod +x bin/sendmail
PATH=$dir/bin:$PATH alert good --when 'val/loss < 3' --mail me@lab.org
is "$(cat mail.args)" "-i -- me@lab.org" "mail is handed to sendmail"
like mail.text "good (FINISHED): val/loss < 3" "the mail says what is true"

if perl -MJSON::PP -MIO::Socket::INET -e 1 2>/dev/null; then
    mkdir srv
    "$top/t/lib/server.pl" webhook "$dir/srv" &
    server=$!
    await_file srv/url
    url=$(cat srv/url)
    secret=$url/services/T0/s3cr3t
    message="good (FINISHED): val/loss < 3"
    # hook FORMAT: what the server got
    hook() {
        rm -f srv/hooks
        alert good --when 'val/loss < 3' --name "$1" --webhook "$secret" \
            --format "$1"
        cat srv/hooks 2>/dev/null
    }
    start="/services/T0/s3cr3t${tab}application/json$tab$tab"
    is "$(hook slack)" "$start{\"text\":\"good (FINISHED): val/loss &lt; 3\",$(:
    )\"mrkdwn\":false,\"link_names\":false}" "Slack gets a text without markup"
    is "$(hook discord)" "$start{\"content\":$(:
    )\"good \\\\(FINISHED\\\\): val/loss \\\\< 3\",$(:
    )\"allowed_mentions\":{\"parse\":[]}}" \
        "Discord gets a content that mentions nobody"
    is "$(hook ntfy)" \
        "/services/T0/s3cr3t${tab}text/plain${tab}gtrack$tab$message" \
        "ntfy gets plain text with a title"
    hook auto >got
    like got "\"message\":\"$message\".*\"run_name\":\"good\"" \
        "any other server gets a JSON object"
    echo ". 500" >srv/faults
    printf '%s\n' "$secret" >url.txt
    alert good --when 'val/loss < 3' --name again --webhook @url.txt
    is $? 4 "a server that answers 500 is an error"
    like err "$url/\*\*\*: the server answered 500" \
        "the message names the host only"
    alert good --when 'val/loss < 3' --name again --webhook @url.txt
    is "$? $(tail -n 1 srv/hooks | cut -f 4 | grep -c "$message")" "0 1" \
        "the alert is sent when the server is well again"
    echo ". redirect" >srv/faults
    alert good --when 'val/loss < 3' --name moved --webhook @url.txt
    is "$? $(grep -c elsewhere srv/log)" "4 0" \
        "a webhook that redirects is an error, and is not followed"
    grep -rq s3cr3t mlruns out err
    is $? 1 "the secret of a webhook is neither recorded nor printed"
    grep -rqF "$url/***" mlruns
    is $? 0 "the host of a webhook is recorded"
    # A watcher sees what becomes true later, and ends by a signal.
    rm -f srv/hooks
    gtrack alert --when "status = 'KILLED'" --webhook "$secret" --every 100ms \
        --name late >out 2>err &
    watcher=$!
    new_run late 1 killed
    await_file "$(echo mlruns/*/"$id")/tags/alert.late"
    ! tr '\0' ' ' </proc/$watcher/cmdline | grep s3cr3t
    ok $? "the address of a webhook is in no list of processes"
    kill $watcher
    wait $watcher
    is "$? $(grep -c 'late (KILLED)' srv/hooks)" "0 1" \
        "a watcher reports what becomes true later"
else
    skip "webhooks get what they expect" "no perl with JSON::PP"
fi
done_testing
