#!/bin/sh
# gtrack takes runs over and gives them away, counts hours, repairs, watches.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands

# ---- logs ----
cat >main.log <<'E2'
s:0 tel:10.9900
s:0 eval:0.2500
s:1 trl:10.9000 lr:0.000100 norm:15.30
s:2 trl:10.5000 lr:0.000200 norm:14.00
s:3 trl:10.4000 lr:0.000300 norm:13.00
s:2 trl:10.6000 lr:0.000200 norm:14.10
E2
g import main.log --name llmc && g metrics llmc train/loss train/lr --no-header
is "$(cat out)" "1${tab}10.9${tab}0.0001
2${tab}10.6${tab}0.0002" \
    "import of llm.c's main.log prefers lines after a resume"
g metrics llmc val/loss hellaswag/acc_norm --no-header && holds out "0${tab}10.99${tab}0.25"
ok $? "import of llm.c's main.log reads validation and HellaSwag"
g import main.log && grep -q "1 already existed" err
ok $? "import of a log that is there adds nothing"
grep -c . err | grep -qx 1
ok $? "import of an unchanged log has no warning"
cp main.log grown && echo "s:4 trl:10.3000" >>main.log && touch -d 2999-01-01 main.log
g import main.log && grep -q "main.log is not imported: run llmc is of the same source" err
ok $? "import warns that a log that was imported has grown"
mv grown main.log
cat >nano.txt <<'E2'
number of parameters: 10.65M
step 0: train loss 4.2874, val loss 4.2823
iter 0: loss 4.2659, time 1234.56ms, mfu -100.00%
iter 10: loss nan, time 34.50ms, mfu 12.00%
E2
g import nano.txt --name nano && g metrics nano train/loss val/loss perf/step_ms perf/mfu --no-header
is "$(cat out)" "0${tab}4.2659${tab}4.2823${tab}1234.56${tab}-1.0
10${tab}nan${tab}${tab}34.5${tab}0.12" "import reads the output of nanoGPT"
printf '0 val 10.9500\n0 hella 0.2463\n0 train 10.950000\n1 train 9.5\n' >log.txt
g import log.txt --name bng && g metrics bng train/loss val/loss hellaswag/acc_norm --no-header
is "$(cat out)" "0${tab}10.95${tab}10.95${tab}0.2463
1${tab}9.5${tab}${tab}" "import reads the log.txt of build-nanogpt"
printf 'step    0 | loss: 10.95 | lr 6.0e-04 | norm: 15.3 | dt: 330.1ms | tok/sec: 1589.2\n' >bng.txt
g import bng.txt --name bng2 && g metrics bng2 train/loss train/lr perf/step_ms perf/tokens_per_s --no-header
is "$(cat out)" "0${tab}10.95${tab}0.0006${tab}330.1${tab}1589.2" \
    "import reads the output of build-nanogpt"
printf 'step:  224 | loss: 6.116962 | lr 1.6513e-04 | norm: 0.9815 | dt: 344.56ms | tok/sec: 1526264.66\n' >console.txt
g import console.txt --name console && g metrics console train/loss train/lr train/grad_norm perf/step_ms perf/tokens_per_s --no-header
is "$(cat out)" "224${tab}6.116962${tab}0.00016513${tab}0.9815${tab}344.56${tab}1526264.66" \
    "import reads the console's lines with a colon after the word step"
printf 's:250 eval:0.2463\n' >eval.log
g import eval.log --name eval && g metrics eval hellaswag/acc_norm --no-header && holds out "250${tab}0.2463"
ok $? "import recognises a log of llm.c by its eval lines"

# ---- tables ----
printf '"Step","a - loss","a - loss__MIN","b - loss"\n0,3,3,4\n1,2,2,\n' >wb.csv
g import wb.csv && g metrics a loss --no-header && holds out "0${tab}3.0
1${tab}2.0" && g metrics b loss --no-header && holds out "0${tab}4.0"
ok $? "import of a W&B table makes a run of each column"
printf 'global_step;loss;"a ""q"""\r\n5;1;x\r\n6;2;7\r\n' >any.csv
g import any.csv --name any && g metrics any loss --no-header && holds out "5${tab}1.0
6${tab}2.0"
ok $? "import reads a table with semicolons and quotes"
g import -r texts any.csv && grep -q "any.csv: left out: text (1)" err
ok $? "import counts the values of a table that are no numbers"
printf '\357\273\277step;train loss;val loss\r\n7;0,5;0,6\r\n8;-1,5e-1;nan\r\n' >excel.csv
g import excel.csv --name excel && g metrics excel 'train loss' 'val loss' --no-header
is "$(cat out)" "7${tab}0.5${tab}0.6
8${tab}-0.15${tab}nan" \
    "import reads a spreadsheet's table with semicolons and decimal commas"
printf '\357\273\277sep=;\r\n# by hand\r\n step ; loss\r\n 7 ; 0,5 \r\n' >preamble.csv
g import preamble.csv --name preamble && g metrics preamble loss --no-header &&
    holds out "7${tab}0.5"
ok $? "import skips the lines before the names, and blanks" "$(cat out err)"
# refused_csv TEXT MESSAGE NAME: nothing is imported
refused_csv() {
    printf "$1" >refused.csv
    gtrack import -r refused refused.csv >out 2>err
    test $? = 1 && grep -q "$2" err && test ! -e refused
    ok $? "$3" "$(cat out err)"
}
refused_csv 'step;tokens;loss\n1;1.000;2,5\n' 'row 1: some numbers have decimal commas' \
    "import refuses a table in which a point can mean two things"
refused_csv '1,2.5\n2,2.25\n' 'the first line has numbers' \
    "import refuses a table without names"
refused_csv '\377\376s\0t\0e\0p\0' 'is UTF-16; save it as UTF-8' \
    "import says what to do with a table in UTF-16"
printf '"a;b;c",d\n1,2\n' >separators.csv
g import separators.csv --name separators && g metrics separators d --no-header &&
    holds out "0${tab}2.0"
ok $? "import takes the most frequent separator outside quotes"
printf 'step,loss\n10.0,3\n20.0,2\n' >real.csv
g import real.csv --name real && g metrics real loss --no-header && holds out "10${tab}3.0
20${tab}2.0"
ok $? "import reads steps that are written as real numbers"
printf 'step,loss\n1,3\n,2\n' >step.csv
g import step.csv
test $? = 1 && grep -q "row 2: the step is '', not a whole number" err
ok $? "import refuses a table in which a row has no step"
printf 'loss\n0,5\n' >shift.csv
g import shift.csv
test $? = 1 && grep -q "row 1 has 2 values, but the first line has 1 names" err
ok $? "import refuses a table with more values than names in a row"
cat real.csv | gtrack import -f csv /dev/stdin --name piped >out 2>err &&
    g metrics piped loss --no-header && holds out "10${tab}3.0
20${tab}2.0"
ok $? "import reads a table from a pipe"
printf 'a,b\nx,y\n' >none.csv
g import none.csv
test $? = 1 && grep -q "no column of numbers" err
ok $? "import refuses a table without numbers"
g import nothing.csv
test $? = 3
ok $? "import of a missing file ends with status 3"
echo "just words" >words
g import words
test $? = 1 && test "$(wc -l <err)" = 1
ok $? "import refuses an unknown format in one line"

# ---- W&B ----
if perl -MCompress::Zlib -e 1 2>/dev/null; then
    for id in ab12 cd34; do
        mkdir -p "wandb/offline-run-1-$id/files/media"
        cat >lines <<'E2'
tag baseline
tag team=core
job train
config lr 0.001
config big 1180591620717411303424
config nest/a 7
config nest/lr 0.1
config hub_token "tok3n"
log 0 loss 2.5 pic/_type "image-file" pic/size 69
log 1 loss NaN word "text" hist/_type "histogram" hist/bins [1,2]
log 2 loss 1.5 acc 0.5 good/_type "histogram" good/bins [0,1,2.5] good/values [3,4]
log 2 ../../up/_type "histogram" ../../up/bins [0,1] ../../up/values [3]
summary loss 1.5
summary best 0.125
summary acc {"max":0.75}
summary verdict "good"
log 2 a/img/_type "image-file" a/img/path "media/images/img_3_0a.png" a/img/caption "cat"
log 2 tab/_type "table-file" tab/path "media/table/tab_3_0b.table.json"
log 2 page/_type "html-file" page/path "media/html/page_3.html"
log 2 two/_type "images/separated" two/filenames ["media/images/x.png","media/images/y.png"] two/captions ["dog",null]
log 2 out/_type "image-file" out/path "../../../out.png"
log 2 none/_type "image-file" none/path "media/images/none.png"
print first
print second
artifact a
E2
        "$top/t/lib/wandb_log.pl" "$id" <lines >"wandb/offline-run-1-$id/run-$id.wandb"
    done
    echo png >wandb/offline-run-1-ab12/files/media/pic.png
    printf 'lr:\n  value: 0.1\nhub_token:\n  desc: null\n  value: tok3n\napi_key:\n  value: tok3n\n' \
        >wandb/offline-run-1-ab12/files/config.yaml
    printf '{"args": ["--lr", "1", "--api-key", "tok3n"], "git": {"remote": "https://me:tok3n@host/x"}}' \
        >wandb/offline-run-1-ab12/files/wandb-metadata.json
    (
        cd wandb/offline-run-1-ab12/files/media && mkdir images table html &&
            echo 1 >images/img_3_0a.png && echo 2 >images/x.png &&
            echo 3 >images/y.png && echo 4 >table/tab_3_0b.table.json &&
            echo 5 >html/page_3.html && echo 6 >../../../out.png &&
            mkfifo images/none.png
    )
    ln -s offline-run-1-cd34 wandb/latest-run
    g import wandb/offline-run-1-ab12 && run=$(gtrack where 'run ab12') &&
        test "$(cat "$run/artifacts/media/pic.png" "$run/artifacts/output.log")" = "png
first
second"
    ok $? "import of the folder of a W&B run has its files and its output, but no pipe"
    is "$(cat "$run/artifacts/histograms/good.jsonl")" \
        '{"step":2,"time":1700000002000,"values":[3,4],"bins":[0,1,2.5]}' \
        "import takes the histograms of W&B"
    is "$(cat "$run/params/hub_token") $(grep -c '\*\*\*' "$run/artifacts/config.yaml" \
        "$run/artifacts/wandb-metadata.json" | cut -d : -f 2 | tr '\n' ' ')$(grep -r tok3n "$run")" \
        "*** 2 1 " "import takes no secret of W&B's configuration"
    test "$(find . -name '*up*.jsonl' | grep -c '/histograms/.*up')" -eq 1 &&
        test "$(find . -name '*up*.jsonl' | wc -l)" -eq 1
    ok $? "import writes no histogram outside of the histograms' folder"
    is "$(cat "$run/artifacts/images/a~img+step+2+timestamp+1700000002000+"*.png \
        "$run/artifacts/images/two+step+2+"*.png "$run/artifacts/tables/tab/2.json" \
        "$run/artifacts/html/page/2.html" | sort | tr -d '\n')" 12345 \
        "import puts the images, tables and pages of W&B where our own are"
    is "$(cat "$run/artifacts/images/a~img+step+2+"*.txt) $(cat "$run/artifacts/images/two+"*.txt)" \
        "cat dog" "import takes the captions of W&B's images"
    is "$(cat "$run/tags/mlflow.loggedArtifacts")" \
        '[{"path":"tables/tab/2.json","type":"table"}]' \
        "import lists the tables of W&B where MLflow looks for them"
    test ! -e "$run/artifacts/media/images" -a -z "$(find mlruns -name out.png)" &&
        test "$(cat "$run/tags/mlflow.loggedImages")" = True
    ok $? "import takes each file of W&B once, and none from outside of the run"
    grep -q "left out: image-file (3), text (2), histogram (1), artifact (1)" err
    ok $? "import says what it cannot take of a W&B run"
    g metrics 'run ab12' loss best --no-header && holds out "0${tab}2.5${tab}
1${tab}nan${tab}
2${tab}1.5${tab}0.125"
    ok $? "import makes a point of a value that was set in W&B's summary"
    gtrack export 'run ab12' --to csv | cut -d, -f4 | sort -u >out
    ! grep -q 'pic\|hist' out && grep -q best out
    ok $? "import makes no metrics of the sizes of W&B's images"
    g ls 'run ab12' -c big,nest.a,nest.lr,tags.team,tags.baseline,tags.wandb.job_type --no-header
    is "$(cat out)" "1.1805916207174113e+21${tab}7${tab}0.1${tab}core${tab}${tab}train" \
        "import takes tags, the job type, fractions and large integers of W&B"
    g import wandb && grep -q "1 run with 6 points imported, 1 already existed" err
    ok $? "import of W&B's folder imports each run below it once"
    cp wandb/offline-run-1-cd34/run-cd34.wandb . && mkdir files && echo x >files/x &&
        g import -r lone run-cd34.wandb && test -z "$(find lone -name x)"
    ok $? "import takes no files from beside a W&B log that was moved"
    echo junk >wandb/offline-run-1-ab12/run-ab12.wandb && g import -r half wandb
    test $? = 1 && grep -q "1 of 2 runs were not imported" err &&
        gtrack ls -r half -c name --no-header | grep -qx "run cd34"
    ok $? "a damaged run of W&B does not keep the others from being imported"
else
    for i in 1 2 3 4 5 6 7 8 9 10 11; do
        skip "import of W&B runs works (part $i of 11)" "no perl with Compress::Zlib"
    done
fi

# ---- TensorBoard ----
mkdir hp && perl -e '
    sub field { pack "CC/a*", $_[0] << 3 | 2, $_[1] }
    sub crc {
        my $c = 0xffffffff;
        for (unpack "C*", $_[0]) {
            $c ^= $_;
            $c = $c & 1 ? $c >> 1 ^ 0x82f63b78 : $c >> 1 for 1 .. 8;
        }
        $c ^= 0xffffffff;
        return (($c >> 15 | $c << 17) + 0xa282ead8) & 0xffffffff;
    }
    sub plugin { field(9, field(1, field(1, $_[0]) . field(2, $_[1]))) }
    sub param { field(1, field(1, $_[0]) . field(2, $_[1])) }
    for (field(1, "p") . plugin("hparams", field(3,
             param("lr", pack "Cd<", 17, 0.001) . param("bs", pack "Cd<", 17, 8)
             . param("opt", field(3, "adam")) . param("amp", "\x20\1"))),
         field(1, "loss") . pack("Cf<", 21, 2.5), field(1, "h") . field(5, ""),
         field(1, "t") . plugin("text", "") . field(8, "\x08\7"),
         field(1, "note/text_summary") . plugin("text", "") . field(8, "\x08\7" . field(8, "# hi")),
         field(1, "pic") . field(4, "\x08\2" . field(4, "\x89PNG...")),
         field(1, "say") . field(6, field(4, "RIFF...")),
         field(1, "w") . field(5, pack("Cd<Cd<", 9, -1, 17, 3) . field(6, pack "d<2", 0, 9e99) . field(7, pack "d<2", 4, 5)),
         field(1, "w2") . plugin("histograms", "") . field(8, "\x08\2" . field(4, pack "d<6", 0, 1, 7, 1, 2, 8)),
         field(1, "p2") . plugin("images", "") . field(8, "\x08\7" . join "", map { field(8, $_) } 2, 2, "\x89PNG,,,"),
         field(1, "c") . plugin("pr_curves", "") . field(8, "\x08\1" . pack("Cf<", 45, 1) x 3)) {
        my $event = field(5, field(1, $_));
        my $head = pack "Q<", length $event;
        print $head, pack("V", crc($head)), $event, pack("V", crc($event));
    }' >hp/events.out.tfevents.1
g import hp && g ls hp -c lr,bs,opt,amp,loss --no-header && holds out "0.001${tab}8${tab}adam${tab}True${tab}2.5"
ok $? "import makes parameters of TensorBoard's hyperparameters"
run=$(gtrack where hp)/artifacts
is "$(cat "$run/histograms/w.jsonl" "$run/histograms/w2.jsonl" | cut -d, -f3-)" \
    '"values":[4.0,5.0],"bins":[-1.0,0.0,3.0]}
"values":[7.0,8.0],"bins":[0.0,1.0,2.0]}' \
    "import takes both kinds of histograms of TensorBoard"
is "$(cat "$run/text/note/text_summary/0.md" "$run"/images/pic+step+0+*.png \
    "$run"/images/p2+step+0+*.png "$run/audio/say/0.wav" | od -An -c | tr -d ' \n')" \
    '#hi211PNG...211PNG,,,RIFF...' "import takes text, images and sound of TensorBoard"
g import -r other hp && grep -q "hp: left out: histogram (1), text (1), pr_curves (1)" err
ok $? "import says what it cannot take of TensorBoard's files"
gtrack metrics hp --no-header | cut -f1 >out && holds out loss
ok $? "import makes no metric of TensorBoard's curves"

# ---- round trips ----
id=$(gtrack run start --name early)
GT_CLOCK_MS=5 gtrack run log "$id" y=1 && gtrack run end "$id" --status failed
echo 'reason: "ValueError: bad"' >>"$(gtrack where early)/.gtrack/attempt.1.yaml"
gtrack ls --tsv -c name,experiment,status,reason,started --sort name >before
g export --to csv -o all.csv && g export --to jsonl -o all.jsonl &&
    g export --to mlflow -o copy && g export --to tar -o all.tar
ok $? "export writes CSV, JSON Lines, a store and an archive"
points() { gtrack export -r "$1" --to csv | sed 1d | cut -d, -f2- | LC_ALL=C sort; }
points mlruns >want
g import -r from-csv all.csv && points from-csv | cmp -s - want
ok $? "import of an exported CSV file has every point"
g import -r from-jsonl all.jsonl && points from-jsonl | cmp -s - want &&
    gtrack ls -r from-jsonl --tsv -c name,experiment,status,reason,started \
        --sort name | cmp -s - before && grep -q 'FAILED.ValueError: bad' before
ok $? "import of exported JSON Lines has points, names, states, reasons, times"
points copy | cmp -s - want && gtrack export -r copy --to csv | cut -d, -f1 | sort -u >ids &&
    gtrack export --to csv | cut -d, -f1 | sort -u | cmp -s - ids
ok $? "an exported store has the same runs"
g export --to mlflow -o copy && grep -q "^gtrack: 0 runs copied" err
ok $? "exporting a store again copies nothing"
mkdir unpacked && tar -xf all.tar -C unpacked && points unpacked/mlruns | cmp -s - want
ok $? "an unpacked archive has every point"
mkdir -p copy/.trash && mv "$(dirname "$(gtrack where -r copy early)")" copy/.trash/ &&
    g export -r copy -d --to tar -o trash.tar && tar -tf trash.tar >out &&
    grep -q "^mlruns/.trash/.*/$id/meta.yaml" out
ok $? "an archive can hold deleted experiments"
g export --to tensorboard -o tb && g import -r from-tb tb
gtrack export -r from-tb --to csv | sed 1d | wc -l >count
gtrack export --to csv | sed 1d | wc -l | cmp -s - count
ok $? "import of exported TensorBoard files has every point"
f=$(find tb -name '*tfevents*' | head -n 1)
perl -e 'open F, "+<", shift; seek F, 40, 0; print F "X"' "$f"
g import -r torn "$f"
test $? = 1 && grep -q "checksum\|not a TensorBoard record" err
ok $? "import of a TensorBoard file finds a wrong checksum"
g export --to nonsense
test $? = 2
ok $? "export refuses an unknown format"

# ---- MLflow's own stores ----
data=$testdata/mlflow-sample.tar.gz
if test -f "$data"; then
    mkdir sample && tar -xzf "$data" -C sample
    g import -r warned sample/store-3.17.2/mlruns &&
        grep -q "left out: logged model (1), registered model (0)" err
    ok $? "import says that it takes no models of MLflow"
    for v in 2.22.5 3.17.2; do
        g import -r "from-$v" "sample/store-$v/mlruns" &&
            points "sample/store-$v/mlruns" >want &&
            points "from-$v" | cmp -s - want && test -s want
        ok $? "import of an MLflow $v store has every point"
    done
else
    skip "import says that it takes no models of MLflow" "no mlflow-sample.tar.gz"
    skip "import of an MLflow 2 store has every point" "no mlflow-sample.tar.gz"
    skip "import of an MLflow 3 store has every point" "no mlflow-sample.tar.gz"
fi

# ---- databases ----
sqlite() {      # sqlite FILE: execute the statements of standard input there
    python3 -c 'import sqlite3, sys
c = sqlite3.connect(sys.argv[1])
c.executescript(sys.stdin.read())
c.close()' "$1"
}
if ! python3 -c 'import sqlite3' 2>/dev/null; then
    sqlite_skip="no python3 with sqlite3"
elif echo 'CREATE TABLE x(y);' | sqlite other.db && g import other.db;
    grep -q 'was built without SQLite' err; then
    sqlite_skip="gtrack was built without SQLite"
fi
if test -z "${sqlite_skip-}"; then
    like err "other.db is a database of neither MLflow nor Trackio" \
        "import refuses a database of another program"
    id=4ca2250faacc4d0caad342a712e59d5
    mkdir -p ml/mlruns/7/${id}2/artifacts/sub && cd ml &&
        echo hello >mlruns/7/${id}2/artifacts/sub/a.txt && sqlite mlflow.db <<E2
CREATE TABLE experiments(experiment_id INTEGER, name, lifecycle_stage);
INSERT INTO experiments VALUES (7, 'pre train', 'active');
CREATE TABLE runs(run_uuid, name, user_id, status, start_time, end_time,
    lifecycle_stage, artifact_uri, experiment_id INTEGER, deleted_time);
INSERT INTO runs VALUES
    ('${id}2', 'one', 'eve', 'FINISHED', 1000, 9000, 'active', '/etc', 7, NULL),
    ('${id}3', 'child', 'eve', 'FAILED', 2000, 9000, 'active', '/etc', 7, NULL),
    ('${id}4', 'gone', 'eve', 'KILLED', 3000, 9000, 'deleted', '/etc', 7, 9500);
CREATE TABLE params(key, value, run_uuid);
INSERT INTO params VALUES ('lr', '0.001', '${id}2');
CREATE TABLE tags(key, value, run_uuid);
INSERT INTO tags VALUES ('phase', 'warm', '${id}2'),
    ('mlflow.parentRunId', '${id}2', '${id}3');
CREATE TABLE metrics(key, value FLOAT, timestamp, run_uuid, step, is_nan);
INSERT INTO metrics VALUES ('x', 0.0, 2000, '${id}2', 1, 1),
    ('x', 1.7976931348623157e308, 2001, '${id}2', 2, 0),
    ('x', -1.7976931348623157e308, 2002, '${id}2', 3, 0),
    ('x', 1.5, 2003, '${id}2', -4, 0), ('loss', 3, 4000, '${id}3', 0, 0),
    ('loss', 3, 4000, '${id}4', 0, 0);
CREATE TABLE experiment_tags(key, value, experiment_id);
INSERT INTO experiment_tags VALUES ('team', 'core', 7);
E2
    g import -r ../sql mlflow.db && grep -q "left out: tag of an experiment (1)" err &&
        grep -q "deleted runs (1) stay deleted" err && cd .. &&
        g ls -r sql -d -c name,id,experiment,status,parent,user,deleted,started,ended --no-header
    is "$(cat out)" "one	${id}2	pre train	FINISHED		eve		1970-01-01T00:00:01.000Z	1970-01-01T00:00:09.000Z
child	${id}3	pre train	FAILED	${id}2	eve		1970-01-01T00:00:02.000Z	1970-01-01T00:00:09.000Z
gone	${id}4	pre train	KILLED		eve	deleted	1970-01-01T00:00:03.000Z	1970-01-01T00:00:09.000Z" \
        "import takes the runs of MLflow's database with their ids, parents and times"
    g metrics -r sql one x --no-header && holds out "-4	1.5
1	nan
2	inf
3	-inf" && g ls -r sql -c lr,phase --no-header -w "name = 'one'" && holds out "0.001	warm"
    ok $? "import takes metrics, parameters and tags of MLflow's database"
    g artifacts -r sql one --cat sub/a.txt && holds out hello && test -z "$(find sql -name passwd)"
    ok $? "import takes artifacts beside the database, and no path that it names"
    g import -r sql ml/mlflow.db && grep -q "0 runs with 0 points imported, 3 already" err &&
        g fsck -r sql
    ok $? "import of a database a second time adds nothing"
    sqlite wal.db <<'E2'
PRAGMA journal_mode = WAL;
CREATE TABLE configs(id INTEGER PRIMARY KEY, run_id, run_name, config, created_at);
INSERT INTO configs VALUES (1, 'r1', 'run 1',
    '{"lr":0.1,"model":{"depth":3},"_Username":"eve"}', '2026-11-24T20:00:00+00:00');
CREATE TABLE metrics(id INTEGER PRIMARY KEY, run_id, timestamp, run_name, step, metrics);
INSERT INTO metrics VALUES (1, 'r1', '2026-11-24T20:00:01.250+00:00', 'run 1', 5,
    '{"train":{"loss":3.5},"bad":"NaN","note":"text","pic":{"_type":"trackio.image"}}');
CREATE TABLE system_metrics(id INTEGER PRIMARY KEY, run_id, timestamp, run_name, metrics);
INSERT INTO system_metrics VALUES (1, 'r1', '2026-11-24T20:00:03+00:00', 'run 1', '{"gpu":50}');
E2
    mkdir tr && mv wal.db tr/my.db && g import -r sql tr/my.db &&
        grep -q "run 1: left out: text (1), trackio.image (1)" err &&
        g ls -r sql -w "name = 'run 1'" --no-header \
            -c 'experiment,user,started,ended,lr,model.depth,steps,train/loss,bad,system/gpu'
    is "$(cat out)" "my	eve	2026-11-24T20:00:00.000Z	2026-11-24T20:00:03.000Z	0.1	3	5	3.5	nan	50.0" \
        "import takes the runs of Trackio's database"
    if gtrack --version -v | grep -q 'sandbox:.*Landlock'; then
        python3 -c 'import os, sqlite3
c = sqlite3.connect("tr/my.db")
c.execute("UPDATE configs SET run_id = 5")
c.commit()
os._exit(0)' && rm -f tr/my.db-shm && g import -r sql tr/my.db
        is "$? $(ls tr)" "1 my.db
my.db-wal" "import changes nothing beside a database"
        like err "my.db has changes in my.db-wal that a reader cannot merge" \
            "import says that a database has changes it cannot see"
    else
        skip "import changes nothing beside a database" "no Landlock"
        skip "import says that a database has changes it cannot see" "no Landlock"
    fi
    printf 'CREATE TABLE a(b); CREATE VIEW runs AS SELECT 1; CREATE VIEW metrics AS SELECT 1;' |
        sqlite views.db && g import -r sql views.db
    like err "neither MLflow nor Trackio" "import computes no views of a database"
else
    for i in $(seq 9); do
        skip "import reads databases (part $i of 9)" "$sqlite_skip"
    done
fi

# ---- large steps ----
printf '%s\n' 'step=9007199254740993 x=1' '{"step":4611686018427387903,"x":2}' |
    gtrack log exact 2>err && gtrack metrics exact x --no-header >out
is "$(cut -f1 out)" "9007199254740993
4611686018427387903" "log keeps large steps exactly"
printf '%s\n' 'step=9223372036854775807 x=1' '{"step":1e19,"x":2}' \
    '{"step":18446744073709551616,"x":3}' x=4 'step=3 x=5' |
    gtrack log inexact 2>err && gtrack metrics inexact --no-header >out &&
    gtrack metrics inexact x --no-header >points
is "$(cut -f1 out) $(cat points)" "x 0	4.0
3	5.0" "log records no line whose step is too large to be counted on"
like err "step=9.223372036854776e+18 is not recorded.*below 2^62" \
    "log says which steps it refuses"

# ---- the tags of an experiment ----
echo step=1 x=1 | gtrack log -q -r team a
mkdir team/0/tags && echo x >team/0/tags/a && seq 20000 >team/0/tags/b &&
    echo x >team/0/tags/c
(ulimit -f 64 && gtrack import -r copied team) >out 2>err
test $? = 1 && grep -q 'File too large' err && test ! -e copied/0/tags &&
    g import -r copied team && diff -r team/0/tags copied/0/tags >out
ok $? "an import that failed in an experiment's tags leaves none, and the next copies all"

echo step=1 x=2 | gtrack log -q -r team b && gtrack rm -r team b 2>err
g import -r copied team && grep -q "team: deleted runs (1) stay" err &&
    g ls -r copied -d -c name,deleted --no-header && holds out "a${tab}
b${tab}deleted"
ok $? "a run that is deleted is imported as deleted"

# ---- an archive on standard output ----
gtrack export -r team --to tar >&- 2>err
test $? = 1 && grep -q 'cannot write standard output' err
ok $? "export of an archive to a closed standard output is an error"
perl -e 'open my $p, "-|", @ARGV; read $p, my $x, 1; close $p; exit $? >> 8' \
    gtrack export -r team --to tar 2>err
test $? = 0 && test ! -s err
ok $? "export of an archive to a pipe that is closed is no error"

# ---- hours ----
mkdir bin
cat >bin/sacct <<'E2'
#!/bin/sh
echo "$*" >>sacct.args
echo '71|physics|7200|billing=8,cpu=4,gres/gpu:a100=2,mem=32G,node=1'
echo '71|physics|3600|billing=8,cpu=4,gres/gpu=2,gres/gpu:a100=2,node=1'
echo '72|chemistry|1800|cpu=2,mem=1G,node=1'
echo '73|broken'
E2
chmod +x bin/sacct
for job in 71 72; do
    echo step=1 x=1 | SLURM_JOB_ID=$job gtrack log "job$job" -r slurm 2>err
done
echo step=2 x=2 | SLURM_JOB_ID=71 gtrack log job71 --resume -r slurm 2>err
PATH="$dir/bin:$PATH" g hours -r slurm --sacct --csv -g account
is "$(cat out)" 'account,runs,attempts,wall_hours,cpu_hours,gpu_hours,failed_gpu_hours
physics,1,2,3.0,12.0,6.0,0.0
chemistry,1,1,0.5,1.0,0.0,0.0' \
    "hours --sacct adds up requeued jobs and typed GPUs"
grep -q -- '--jobs 71,72,71\|--jobs 71,71,72\|--jobs 71,72' sacct.args
ok $? "hours asks sacct for the jobs of the runs"
PATH="$dir/bin:$PATH" g hours -r slurm --sacct --price 2 --csv -g job job71
sed -n 2p out | grep -q '^71,1,2,3.0,12.0,6.0,0.0,12.0$'
ok $? "hours --price prints the cost"
g hours -r slurm --aligned && grep -q '^total  *2  *3' out
ok $? "hours without --sacct adds up the attempts"
export GTRACK_ROOT="$dir/sweeps" GT_CLOCK_MS=1000
for p in a b; do
    gtrack run start --name "$p" >"$p"
done
for child in 1 2 3; do
    for p in a b; do
        gtrack run start --name "$p$child" -p sweep=$p -t mlflow.parentRunId="$(cat $p)"
    done
done >ids
gtrack run start --name orphan -t mlflow.parentRunId=0 >>ids
# shellcheck disable=SC2013 # ids have no spaces
for id in $(cat a b ids); do
    GT_CLOCK_MS=3601000 gtrack run end "$id"
done
unset GTRACK_ROOT GT_CLOCK_MS
g hours -r sweeps -g experiment --csv && cut -d, -f2,4 out >sums
holds sums 'runs,wall_hours
9,7.0'
ok $? "hours does not add the time of a run that waits for its children" "$(cat out)"

# ---- points that come twice ----
printf 'step,loss\n1,2\n1,2\n2,1\n1,2\n2,1\n' >twice.csv
g import twice.csv --name twice && sort "$(gtrack where twice)/metrics/loss" >out
test "$(wc -l <out)" = 5 && test -z "$(uniq -d out)"
ok $? "import keeps repeated points as distinct lines"
printf 'step=1 x=1\nstep=1 x=1\nstep=1 x=nan\nstep=1 x=nan\n' |
    gtrack log again 2>err
sort "$(gtrack where again)/metrics/x" >out
test "$(wc -l <out)" = 4 && test -z "$(uniq -d out)"
ok $? "log keeps repeated points as distinct lines"

# ---- fsck ----
run=$(gtrack where any)
printf '1 1\nx y z\n17' >>"$run/metrics/loss"
: >"$run/metrics/empty"
printf 'a\377' >"$run/params/bad"
echo x >"$run/tags/a@b"
: >"$run/.meta.tmp"
rmdir "$run/artifacts" 2>/dev/null
g fsck
test $? = 1 && test "$(sed 1d out | wc -l)" -ge 6 && grep -q "metrics/loss" out
ok $? "fsck finds malformed lines, names, values and folders"
g fsck --repair && g fsck && test ! -s out
ok $? "fsck --repair repairs malformed lines and names"
g metrics any loss --no-header && grep -q "^5${tab}1.0" out && grep -q "^6${tab}2.0" out
ok $? "fsck --repair keeps every valid point"

echo loss=2 | gtrack log hurt 2>err
run=$(gtrack where hurt)
ln -s .. "$run/metrics/up" && ln -s . "$run/tags/self" && mkfifo "$run/params/pipe"
ln -s /nowhere "$run/tags/gone" && rm -rf "$run/artifacts" && echo x >"$run/artifacts"
cp "$run/meta.yaml" meta && echo junk >"$run/meta.yaml"
perl -e 'print "9" x 3000000, "\n1700000000000 3.0 1\n"' >>"$run/metrics/loss"
g ls hurt -c name,status --no-header && holds out "hurt${tab}FINISHED"
ok $? "ls lists a run whose meta.yaml is damaged"
g fsck --repair && g fsck && test -f "$run/meta.yaml" && test -d "$run/artifacts" &&
    test "$(cat "$run/meta.yaml.damaged" "$run/artifacts.damaged")" = "junk
x"
ok $? "fsck --repair rewrites meta.yaml and skips links and pipes"
same='^run_id\|^experiment_id\|^run_name\|^artifact_uri\|^user_id\|^status'
grep "$same" meta >before && grep "$same" "$run/meta.yaml" | cmp -s - before
ok $? "a repaired meta.yaml has the values it had"
g metrics hurt loss --no-header && holds out "0${tab}2.0
1${tab}3.0"
ok $? "fsck --repair keeps the points around an endless line"
sed "s/^experiment_id: .*/experiment_id: '1'/" meta >"$run/meta.yaml"
g fsck
test $? = 1 && grep -q "another experiment_id" out && g fsck --repair && g fsck
ok $? "fsck --repair corrects a wrong experiment_id"
echo more >"$run/meta.yaml"
g fsck --repair && grep -q "$same" "$run/meta.yaml" &&
    test "$(cat "$run/meta.yaml.damaged" "$run/meta.yaml.damaged2")" = "junk
more"
ok $? "fsck --repair keeps the damaged file of an earlier repair"

# ---- watch and tail ----
g watch --count 1 nano llmc && grep -q 'curve' out && grep -q '^nano' out
ok $? "watch --count 1 draws a curve and a table"
COLUMNS=20 g watch --count 1 nano llmc && test "$(head -n 1 out | wc -m)" -eq 21
ok $? "watch cuts the title to the width of the terminal"
g watch nano </dev/null
test $? = 2
ok $? "watch without a terminal ends with status 2"
g tail llmc train/loss -n 1 && holds out "step=2 train/loss=10.6"
ok $? "tail prints the last steps"
id=$(gtrack run start --name live) && gtrack run log "$id" x=1 -s 1
gtrack tail -f live --every 0.1 >tail.out 2>err &
gtrack run log "$id" x=2 -s 2 && gtrack run end "$id" && wait $!
is "$(cat tail.out)" "step=1 x=1.0
step=2 x=2.0" "tail -f prints every step until the run ends"
id=$(gtrack run start --name later)
rm tail.out
gtrack tail -f later x y --every 0.05 >tail.out 2>err &
pid=$!
gtrack run log "$id" z=1 x=1 -s 1 && await_file tail.out &&
    gtrack run log "$id" y=5 x=2 -s 2 && gtrack run end "$id"
wait $pid
is "$? $(cat tail.out)" "0 step=1 x=1.0
step=2 x=2.0 y=5.0" "tail -f waits for metrics that the run does not have yet"
id=$(gtrack run start --name silent)
rm tail.out
gtrack tail -f silent --every 0.05 >tail.out 2>err &
pid=$!
gtrack run log "$id" loss=1 -s 1 && await_file tail.out &&
    gtrack run log "$id" val/acc=5 -s 1 && gtrack run end "$id"
wait $pid
is "$? $(cat tail.out)" "0 step=1 loss=1.0
step=1 val/acc=5.0" "tail -f of a run without points prints its metrics as they come"
id=$(gtrack run start --name wider)
gtrack run log "$id" loss=1 -s 1
rm tail.out
gtrack tail -f wider --every 0.05 >tail.out 2>err &
pid=$!
await_file tail.out && gtrack run log "$id" loss=1 val=2 lr=3 -s 2 &&
    gtrack run end "$id" && wait $pid
ok $? "tail -f follows a run that gets another metric"
is "$(cat tail.out)" "step=1 loss=1.0
step=2 loss=1.0 lr=3.0 val=2.0" "tail -f prints metrics other than losses, too"
gtrack tail -f silent none 2>err
test $? = 2 && grep -q "none" err
ok $? "tail -f of a run that has ended does not wait for a metric"

# ---- stores of earlier versions ----
gtrack log old -p is.steps=5 -p is.device=cpu -p derived.steps=7 -p lr=1 \
    >out 2>&1 <<'E2'
step=1 loss=1
E2
g show old --tsv && awk '$1 == "param" { print $2, $3 }' out >params
is "$(cat params)" "derived.device cpu
derived.steps 7
lr 1" "parameters that were once called is.NAME are read as derived.NAME"


# ---- many runs: one sync for all that were read ----
awk 'BEGIN { print "run_id,run,experiment,metric,step,time_ms,value"
    for (i = 1; i <= 100; i++) printf "%032d,n%d,Default,x,1,1700000000000,%d\n", i, i, i
    }' >many.csv
g import -r many many.csv many.csv &&
    grep -q "100 runs with 100 points imported, 100 already existed" err
ok $? "a file that is named twice is imported once"
if strace -o trace true 2>err; then
    strace -f -e trace=syncfs,fsync -o trace gtrack import -r again many.csv >out 2>err
    is "$? $(($(grep -c 'sync' trace) < 20))" "0 1" \
        "runs that are imported are synced to the disk in groups" "$(wc -l trace)"
else
    skip "runs are synced in groups" "strace cannot trace here"
fi

# ---- a run that is moved while it is copied ----
disk=$build/t/lib/disk.so
if LD_PRELOAD=$disk gtrack --version 2>&1 | grep -q preload; then
    skip "a run that is moved while it is copied" "no LD_PRELOAD"
else
    echo text >file
    echo step=1 x=1 | gtrack -r held log a -q 2>err
    gtrack -r held artifacts a --add file >out 2>err
    LD_PRELOAD=$disk DISK_HOLD=/artifacts:$dir/go \
        gtrack -r held export --to mlflow -o held.out >out 2>err &
    pid=$!
    await_path 'held.out/.gtrack.trash/new.*' $pid
    gtrack -r held mv -q -e other a 2>moved
    : >go
    wait $pid
    is "$? $(cat moved)$(grep -c 'cannot copy run a: it was moved or' err)" "1 1" \
        "a run that is moved while it is copied is said to be"
fi
done_testing
