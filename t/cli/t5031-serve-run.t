#!/bin/sh
# The page shows one run with its files, and compares runs.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
. "$top/t/lib/serve.sh"

make_store rates resume
run=$(gtrack where run1)
id=${run##*/}
gtrack tag run1 phase=first >/dev/null
gtrack note run1 '*good* <b>'
mkdir -p "$run/artifacts/samples" secret
echo "a line" >"$run/artifacts/log.txt"
echo "<script>" >"$run/artifacts/page.html"
echo "<svg/>" >"$run/artifacts/plot.svg"
echo "x,y" >"$run/artifacts/table.csv"
printf 'PNG' >"$run/artifacts/odd\"name.png"
echo "once" >"$run/artifacts/samples/step-00000010.txt"
echo "hidden" >secret/key
for i in $(seq 40); do
    echo "step=$i train/loss=$((9 + i % 3)) train/grad_norm=$((i == 35 ? 90 : i % 3))"
done | gtrack log norms >out 2>&1
ln -s "$dir/secret/key" "$run/artifacts/link.txt"
ln -s "$dir/secret" "$run/artifacts/folder"
start

# One run.
ask "/api/run?id=$id"
is "$(status)" 200 "a run is shown"
is "$(json '$j->{name} . " " . $j->{status}')" "run1 FINISHED" \
    "a run has its name and its status"
is "$(json '$j->{note}')" '*good* <b>' "a note is sent as it is"
is "$(json '$j->{tags}{phase}')" first "a run has its tags"
is "$(json 'join "", map { $_->[1] } grep { $_->[0] eq "optim.lr" }
    @{$j->{tables}{Parameters}}')" 0.0003 "a run has its parameters"
is "$(json 'join " ", @{$j->{tables}{Metrics}[0]}[0, 1]')" "name last" \
    "a run has a table of its metrics"
is "$(json 'join " ", map { "$_->{path}:$_->{type}" } @{$j->{artifacts}}')" \
    'folder:link link.txt:link log.txt:text odd"name.png:image page.html:text plot.svg:image samples/step-00000010.txt:text table.csv:csv' \
    "artifacts have a type, and links that leave the run are named so"
eval "$(json '$j->{command}') --tsv" >text
like text "^run${tab}name${tab}run1" "the command of a run shows the run"
ask "/api/run?id=$(gtrack where resumed | sed 's|.*/||')"
is "$(json 'join " ", map { $_->[0] } @{$j->{tables}{Attempts}}')" \
    "attempt 1 2" \
    "a resumed run has its attempts"
ask "/api/run?id=$(gtrack where norms | sed 's|.*/||')"
is "$(json '$j->{health}{text} =~ /(All.*? at step \d+\.)/')" \
    "All 40 values of train/loss are finite; no spikes. train/grad_norm has 1 \
spike, the highest at step 35." "the health of a run has the spikes of its gradient norm"
ask "/api/run?id=../../../etc"
is "$(status)" 404 "an id that is a path is not found"
ask /api/run
is "$(status)" 400 "a request without an id is refused"

# Its log.
ask "/api/log?id=$id"
is "$(json '"$j->{text}$j->{next}"')" "a line
7" "the log is sent"
printf 'more \303' >>"$run/artifacts/log.txt"
ask "/api/log?id=$id&from=7"
is "$(json '"$j->{text}:$j->{next}"')" "more :12" \
    "a character that is not yet whole is left for later"
ask "/api/log?id=$id&from=99999999"
is "$(json '$j->{text}')" "" "nothing follows the end of a log"

# Its artifacts.
ask "/api/artifact?id=$id&path=page.html"
like out '^Content-Type: text/plain' "an artifact in HTML is sent as text"
like out '^<script>$' "an artifact is sent as it is"
ask "/api/artifact?id=$id&path=plot.svg"
like out '^Content-Security-Policy: .*sandbox' "an SVG may run nothing"
like out '^Content-Type: image/svg' "an SVG is an image"
ask "/api/artifact?id=$id&path=odd%22name.png"
like out 'filename="odd_name.png"' "a name cannot end its header"
like out '^X-Content-Type-Options: nosniff' "a browser does not guess a type"
for path in link.txt folder/key ../meta.yaml /etc/passwd samples/../../meta.yaml \
    .. samples/..; do
    ask "/api/artifact?id=$id&path=$path"
    is "$(status)" 403 "the path $path of an artifact is refused"
    unlike out hidden "nothing is sent of $path"
done
ask "/api/artifact?id=$id&path=none"
is "$(status)" 404 "an artifact that does not exist is not found"

# Several runs.
ids=$(gtrack ls -c id --tsv --no-header run1 run2 run3 | paste -sd,)
ask "/api/compare?runs=$ids"
is "$(json 'join " ", map { $_->{name} } grep { $_->{differs} }
    @{$j->{params}}')" optim.lr "parameters that differ are told"
is "$(json 'join " ", map { $_->{best} ? "best" : "-" }
    map { @{$_->{values}} } grep { $_->{name} eq "val/loss" }
    @{$j->{metrics}}')" "- best -" "the best of a metric is marked"
is "$(json 'scalar(@{$j->{importance}[0]{params}}) .
    ($j->{importance}[0]{sentence} // "")')" 0 \
    "three runs do not say which parameters matter"
is "$(json 'join " ", map { $_->{title} } @{$j->{parallel}{axes}}[0, 1]')" \
    "optim.lr min(train/loss)" "parallel coordinates end with the results"
is "$(json 'join " ", map { $_->{log} ? "log" : "linear" }
    @{$j->{parallel}{axes}}[0, 1]')" "log linear" \
    "a parameter that is swept by ratios has a logarithmic axis"
is "$(json 'scalar @{$j->{parallel}{lines}}')" 3 \
    "each run has a line in parallel coordinates"
ask "/api/diff?a=${ids%%,*}&b=${ids##*,}"
is "$(json 'join " ", map { @$_ } grep { $_->[1] eq "optim.lr" }
    @{$j->{rows}}')" "param optim.lr 0.0003 0.0012" \
    "the page has the table of gtrack diff"
ask "/api/figure?runs=$ids&metric=val/loss&colour=param:lr"
is "$(json '"$j->{panels}[0]{ramp}{label} $j->{panels}[0]{ramp}{to}"')" \
    "lr 0.0012" "runs are coloured by a parameter"
ask "/api/figure?runs=$ids&metric=val/loss&param=lr"
is "$(status)" 200 "a metric is drawn over a parameter"
eval "$(json '$j->{command}')" >out 2>&1
is $? 0 "the command of a sweep draws it"
if command -v gnuplot >/dev/null; then
    ask "/api/download?runs=$ids&kind=loss&format=svg&width=400&height=300"
    like out '^Content-Disposition: attachment; filename="loss.svg"' \
        "a figure is saved as a file"
    like out '</svg>' "a figure is saved whole"
else
    skip "a figure is saved whole" "gnuplot is not installed"
fi
ask "/api/download?runs=$ids&kind=loss&format=exe"
is "$(status)" 400 "a format that gplot does not write is refused"

# Media by step, and histograms.
mkdir -p "$run/artifacts/images" "$run/artifacts/audio/voice" \
    "$run/artifacts/histograms/w"
picture="images/a~b+step+20+timestamp+5+00000001-96f8-43c6-a0bd-8a8d941f7892"
echo PNG >"$run/artifacts/$picture.png"
echo small >"$run/artifacts/$picture+compressed.webp"
echo RIFF >"$run/artifacts/audio/voice/10.wav"
printf 'a "voice"' >"$run/artifacts/audio/voice/10.txt"
ln -s "$dir/secret/key" "$run/artifacts/audio/voice/30.wav"
for i in 1 2 3; do
    echo "{\"step\":$i,\"values\":[1,$i],\"bins\":[0,1,2]}"
done >"$run/artifacts/histograms/w/h0.jsonl"
ask "/api/media?runs=$ids"
is "$(json 'join " ", map { "$_->{kind}:$_->{key}:$_->{step}:" .
    ($_->{caption} // "") } @{$j->{media}}')" \
    'audio:voice:10:a "voice" images:a/b:20: samples:samples:10:once' \
    "files of steps are listed with their captions, without small copies and links"
ask "/api/artifact?id=$id&path=audio/voice/10.wav"
like out "^Content-Type: audio/wav" "a sound is sent as one"
like out "media-src 'self'" "the page may play what the server sends"
ask "/api/kinds?runs=$ids"
is "$(json '"$j->{groups}[-1]{charts}[0]{hist} $j->{groups}[-1]{charts}[0]{title}"')" \
    "w/h0 w/h0 of run1" "histograms are charts"
ask "/api/figure?runs=$id&hist=w/h0"
is "$(json '"@{$j->{panels}[0]{heat}{x}} $j->{command}"')" \
    "1 2 3 gplot hist w/h0 run1 -r $GTRACK_ROOT" "a histogram is drawn by step"
ask "/api/figure?runs=$id&hist=../../../x"
is "$(status)" 400 "a histogram whose name leads out of the run is refused"

# Changes.
change() { # BODY: ask for it as the page does
    BODY=$1 METHOD=POST ask /api/edit "Host: localhost:$port" \
        "Origin: http://localhost:$port"
}
change "{\"id\":\"$id\",\"note\":\"new\"}"
is "$(status)" 403 "the page cannot change a note by default"
is "$(gtrack note run1)" '*good* <b>' "the note stays"
change '{"panels":{"name":"night","text":"loss"}}'
is "$(status)" 403 "the page cannot save panels by default"
stop
start --edit
change "{\"id\":\"$id\",\"note\":\"new\",\"tags\":{\"phase\":null,\"a\":\"b\"}}"
is "$(status)" 200 "with --edit the page can change notes and tags"
is "$(gtrack note run1)" new "the note is changed"
is "$(gtrack tag run1 --tsv --no-header | grep -c "${tab}a${tab}b\|phase")" 1 \
    "tags are set and removed"
change "{\"id\":\"$id\",\"tags\":{\"mlflow.user\":\"x\"}}"
is "$(status)" 400 "a tag of MLflow's own is not changed"
change "{\"id\":\"$id\",\"tags\":{\"../../x\":\"y\"}}"
is "$(status)" 400 "a tag whose name is a path is refused"
change '{"panels":{"name":"night","text":"loss,lr"}}'
change '{"panels":{"name":"day","text":"lr"}}'
ask /api/stores
is "$(json '"$j->{stores}[0]{panels}{night} $j->{stores}[0]{panels}{day}"')" \
    "loss,lr lr" "panels are saved under a name"
change '{"panels":{"name":"day","text":""}}'
ask /api/stores
is "$(json 'join " ", keys %{$j->{stores}[0]{panels}}')" night \
    "empty panels remove a name"
change '{"panels":{"name":3,"text":""}}'
is "$(status)" 400 "a name of panels is a text"
echo "[1" >"$GTRACK_ROOT/panels.json"
ask /api/stores
is "$(json '$j->{stores}[0]{panels} // "none"')" none \
    "a damaged file of panels is no reason to show nothing"
change '{"panels":{"name":"day","text":"lr"}}'
is "$(status) $(cat "$GTRACK_ROOT/panels.json")" "500 [1" \
    "a damaged file of panels is not replaced"
change "{\"id\":\"$id\",\"archive\":true}"
is "$(gtrack ls -c name --tsv --no-header | grep -c '^run1$')" 0 \
    "a run can be deleted"
AGAIN='"deleted":true' ask "/api/run?id=$id"
ask /api/runs
is "$(json '$j->{total}')" 4 "a deleted run does not count"
ask "/api/runs?deleted=1"
is "$(json '"$j->{total} " . scalar grep { $_->{deleted} } @{$j->{rows}}')" \
    "5 1" "deleted runs are listed and counted on request"
change "{\"id\":\"$id\",\"archive\":false}"
is "$(gtrack ls -c name --tsv --no-header | grep -c '^run1$')" 1 \
    "a deleted run can be restored"
change '{"id":'
is "$(status)" 400 "a change that is no JSON is refused"
stop
is $ended 0 "the server ends well"
done_testing
