#!/bin/sh
# Archives, logs, databases and stores of strangers, with bytes changed at
# random: no program crashes, spins, or writes anywhere but where it should.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
. "$top/t/lib/campaign.sh"
perl -MFile::Find -e 1 2>/dev/null || skip_all "no perl"

mkdir good
cd good || exit
"$build/t/lib/mkruns" mlruns rates
gtrack -q bundle -o all.tar run1 >../out
gtrack -q export --to tensorboard -o tb
gtrack -q export --to jsonl -o all.jsonl
gtrack -q export --to csv -o all.csv
awk 'BEGIN { for (i = 0; i < 300; i++)
    printf "s:%d trl:%.4f\ns:%d tel:%.4f\n", i, 1 / (i + 1), i, 2 / (i + 1) }' >main.log
printf '%s\n' 'config lr 0.1' 'log 1 loss 3' 'log 2 loss 2.5 acc "x"' 'tag a' \
    'summary loss 2' 'print hello' | perl "$top/t/lib/wandb_log.pl" abc >run-abc.wandb
python3 - 2>/dev/null <<'END' || rm -f mlflow.db
import sqlite3
c = sqlite3.connect("mlflow.db")
c.executescript("""
CREATE TABLE experiments(experiment_id INTEGER, name, lifecycle_stage);
INSERT INTO experiments VALUES (7, 'pre train', 'active');
CREATE TABLE runs(run_uuid, name, user_id, status, start_time, end_time,
    lifecycle_stage, artifact_uri, experiment_id INTEGER, deleted_time);
INSERT INTO runs VALUES ('0123456789abcdef0123456789abcde2', 'one', 'eve',
    'FINISHED', 1000, 9000, 'active', '/etc', 7, NULL);
CREATE TABLE params(key, value, run_uuid);
INSERT INTO params VALUES ('lr', '0.001', '0123456789abcdef0123456789abcde2');
CREATE TABLE tags(key, value, run_uuid);
CREATE TABLE metrics(key, value FLOAT, timestamp, run_uuid, step, is_nan);
INSERT INTO metrics VALUES ('x', 1.5, 2003, '0123456789abcdef0123456789abcde2',
    4, 0);
CREATE TABLE experiment_tags(key, value, experiment_id);
""")
END
cat >read.py <<'END'
import gtrack
try:
    for run in gtrack.Api(root="mlruns").runs():
        str((run.name, run.config, run.summary, run.tags, list(run.scan_history())))
except gtrack.Error as error:
    raise SystemExit("gtrack: " + str(error))
END
cd ..
export PYTHONPATH="$top/python" PYTHONDONTWRITEBYTECODE=1 \
    GTRACK_LIBRARY="$build/libgtrack.so.0"

# mutate SEED PATH: change one file there, or below it
cat >mutate.pl <<'END'
use File::Find;
my ($seed, $path, @files) = @ARGV;
find({ no_chdir => 1, wanted => sub { push @files, $_ if -f && !-l && -s } }, $path);
@files = sort @files;
srand $seed;
my $file = $files[rand @files];
open my $f, '<:raw', $file or die "$file: $!\n";
my $d = do { local $/; <$f> };
for (0 .. rand 4) {
    my $at = int rand(length($d) || 1);
    my $n = 1 + int rand 64;
    my $how = int rand 6;
    if ($how == 0) { $d = substr $d, 0, $at }
    elsif ($how == 1) { substr($d, $at, $n) = '' if $at + $n < length $d }
    elsif ($how == 2) { substr($d, $at, 0) = substr($d, rand length $d, $n) }
    elsif ($how == 3) { substr($d, $at, 0) = join '', map { chr rand 256 } 1 .. $n }
    elsif ($how == 4 && $at < length $d) { substr($d, $at, 1) = chr rand 256 }
    elsif ($at < length $d) { vec($d, 8 * $at + int rand 8, 1) ^= 1 }
}
open $f, '>:raw', $file or die "$file: $!\n";
print $f $d;
END

# NAME|WHAT IS CHANGED|COMMAND, which runs in a folder with a copy, once as it is
tried=0
while IFS='|' read -r name path command; do
    if ! test -e "good/$path"; then
        skip "$name with changed bytes" "no $path here"
        continue
    fi
    bad='' n=0
    for seed in $(seq 0 "$(or_long "$(repeats 2 8)")"); do
        rm -rf case && mkdir -p case/in case/out
        cp -R "good/$path" good/read.py case/in
        test "$seed" = 0 || perl mutate.pl "$seed" "case/in/$path"
        (cd case/in && find . -type f -exec cksum {} + | sort) >before
        # shellcheck disable=SC3045 # dash has it
        (ulimit -t 10 && cd case/in && exec timeout -k 1 120 sh -c "$command") \
            >out 2>err </dev/null
        status=$?
        n=$((n + 1)) tried=$((tried + 1))
        if test $status -gt 123 ||
            { test "$seed" = 0 && test $status -ne 0; } ||
            { test $status -ne 0 && ! grep -q '^[a-z]*: ' err; }; then
            bad="$bad
seed $seed: status $status: $(tail -n 3 err)"
        fi
        (cd case/in && find . -type f -exec cksum {} + | sort) >after
        cmp -s before after || bad="$bad
seed $seed: it changed what it read"
        test "$(ls case)" = "in
out" || bad="$bad
seed $seed: it wrote elsewhere: $(ls case)"
    done
    echo "# $name: $n files with changed bytes"
    is "$bad" "" "$name reads files with changed bytes or says what is wrong"
done <<'END'
verify|all.tar|gtrack verify all.tar
import of TensorBoard|tb|gtrack -q -r ../out/imp import tb
import of W&B|run-abc.wandb|gtrack -q -r ../out/imp import run-abc.wandb
import of a database|mlflow.db|gtrack -q -r ../out/imp import mlflow.db
import of JSON Lines|all.jsonl|gtrack -q -r ../out/imp import all.jsonl
import of CSV|all.csv|gtrack -q -r ../out/imp import all.csv
import of a log|main.log|gtrack -q -r ../out/imp import --from llmc main.log
import of a store|mlruns|gtrack -q -r ../out/imp import mlruns
ls|mlruns|gtrack ls --csv -d && gtrack fsck
export|mlruns|gtrack -q export --to jsonl -o ../out/x.jsonl
a page|mlruns|gtrack -q serve --freeze ../out/page.html
gplot|mlruns|gplot -q loss "metrics.val/loss > 0" -o ../out/f.json
Python|mlruns|python3 read.py
END
test $tried -gt 0
ok $? "files with changed bytes were tried"
done_testing
