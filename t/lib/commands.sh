# commands.sh - the commands that the campaigns disturb; sourced after
# campaign.sh
#
#   make_shards_case    the commands of gdata: a corpus, and a server
#   make_edits_case     the commands of gtrack and gplot: a store
#   make_push_case      after it: gtrack push, and a server
#   make_results_case   what writes a result or a run: archives, reports, sweeps,
#                       alerts, Python
#   make_training_case  gtrain, on one and on several ranks, and gtrain sweep
#   campaign_over HOW COUNT     disturb each command of the case; if `thin` is
#                       set and $long is not, only one of so many commands, of
#                       this call and those before
#
# They set `commands`, with lines of a name and a shell command, and define
# prepare, verify and promised.  The results of the first run of a command, which
# nothing disturbs, are those of every other.
# shellcheck shell=sh disable=SC2034,SC2154,SC2317
campaign_over() {
    while IFS='|' read -r name line; do
        nth=$((${nth:-0} + 1))
        test -n "$long" || test $((nth % ${thin:-1})) = 0 || continue
        rm -f "$here/want"
        campaign "$1" "$2" "$name" "$line"
    done <<END
$commands
END
}

# The results on standard input against those of the first run.
compare_results() {
    cat >"$here/got"
    test -e "$here/want" || cp "$here/got" "$here/want"
    cmp -s "$here/got" "$here/want" || diff "$here/got" "$here/want"
}

# Files of ids are announced when they are complete, so they are on the disk.
make_shards_case() {
    here=$PWD
    awk 'BEGIN { for (i = 0; i < 3000; i++)
        printf "{\"text\":\"number %d, %d\"}\n", i, i * i }' >d.jsonl
    gdata bpe -q -n 300 -o tok d.jsonl >out 2>err
    prepare() { :; }
    verify() { sha256sum d_* ./*.lock tok* 2>/dev/null | sort | compare_results; }
    promised() {
        grep '^d_.*\.bin$' "$1" | while read -r file; do
            grep -qF "$(sha256sum "$file" 2>&1)" "$here/want" ||
                echo "$file was announced and is not there"
        done
    }
    shape="--val 10% --shard-tokens 2000 --mark-every 0s"
    commands="gdata encode|gdata encode -q -T '$here/tok' $shape -o d '$here/d.jsonl'
gdata bpe|gdata bpe -q -n 300 -o tok '$here/d.jsonl'"
    if start_httpd; then
        commands="$commands
gdata encode URL|gdata encode -q http://127.0.0.1:$port/plain/d.json.gz \
--wait 0.01 -T '$here/tok' $shape -o d"
    else
        skip "gdata encode URL is disturbed" "no perl"
    fi
}

start_httpd() {
    perl -MIO::Socket::INET -e 1 2>/dev/null || return
    mkfifo port hold
    mkdir www
    gzip -c d.jsonl >www/d.json.gz
    perl "$top/t/lib/httpd.pl" www server <hold >port &
    pid=$!
    exec 9>hold
    trap 'exec 9>&-; wait $pid; rm -rf "$dir"' EXIT
    read -r port <port
    unset http_proxy HTTP_PROXY all_proxy ALL_PROXY HF_TOKEN HF_ENDPOINT
}

# What a command has done when it ends with status 0 stays.
make_edits_case() {
    here=$PWD
    mkdir seed
    "$build/t/lib/mkruns" seed/mlruns rates
    printf "s:%d trl:5.%d\n" 1 1 2 2 3 3 >main.log
    prepare() {
        cp -R "$here/seed/mlruns" .
        if grep -q fsck ../typed; then
            touch mlruns/0/stray.7.tmp
            sed -i 's/^status:.*/status: FINISHED/' mlruns/[1-9]*/*/meta.yaml
        fi
        test -z "$url" || forget_runs
    }
    verify() {
        # a process that could not remove its temporary file leaves it
        gtrack fsck -q --no-header 2>&1 | grep -v -e '\.tmp' -e problems
        {
            list_store mlruns
            test ! -d imp || list_store imp
            test ! -d out || list_store out
            # shellcheck disable=SC2015
            test ! -d tb || (cd tb && find . -type f -exec wc -c {} + | sort)
            cat ./*.csv ./*.svg 2>/dev/null | sha256sum
            test -z "$url" || list_pushed
        } 2>&1 | compare_results
    }
    promised() { ! grep -q '^end 0' "$1" || verify; }
    commands="gtrack tag|gtrack tag -q run1 color=blue
gtrack note|gtrack note -q run1 'a good one'
gtrack mv|gtrack mv -q run1 best || gtrack where best >/dev/null
gtrack mv -e|gtrack mv -q -e chosen run1
gtrack rm|gtrack rm -q run1 || test -n \"\$(gtrack ls -dq)\"
gtrack restore|gtrack rm -q run1; gtrack restore -q run1 || gtrack where run1 >/dev/null
gtrack gc|gtrack rm -q run1; gtrack gc -q -y
gtrack fsck --repair|gtrack fsck -q --repair >/dev/null || gtrack fsck
gtrack import|gtrack -r imp import -q mlruns
gtrack import of a log|gtrack -r imp import -q --name log --from llmc '$here/main.log'
gtrack export to MLflow|gtrack export -q --to mlflow -o out
gtrack export to CSV|gtrack export -q --to csv -o out.csv
gtrack export to TensorBoard|gtrack export -q --to tensorboard -o tb"
    ! gnuplot --version >/dev/null 2>&1 || commands="$commands
gplot loss|gplot loss -q -o out.svg run1"
    url=
}

# Runs, where they belong, and the number and the sum of their points.
list_store() {
    gtrack -r "$1" ls --csv -d --sort name \
        -c name,experiment,status,damage,tags.color,tags.mlflow.note.content
    find "$1" -name .gtrack.trash -prune -o -path '*metrics*' -type f -exec cat {} + |
        cut -d ' ' -f 2,3 | sort | sha256sum
}

# For gtrack push: a server of MLflow, and what it has.
make_push_case() {
    perl -MJSON::PP -MIO::Socket::INET -MHTTP::Tiny -e 1 2>/dev/null || return
    mkdir srv
    "$top/t/lib/server.pl" mlflow "$dir/srv" &
    server=$!
    trap 'kill $server; rm -rf "$dir"' EXIT
    await_file srv/url
    url=$(cat srv/url)
    unset MLFLOW_TRACKING_USERNAME MLFLOW_TRACKING_TOKEN http_proxy
    commands="gtrack push|gtrack push -q --to mlflow $url --retry-wait 0.01"
}

forget_runs() {
    echo "forget forget" >"$here/srv/faults"
    perl -MHTTP::Tiny -e 'HTTP::Tiny->new->get("$ARGV[0]/forget")' "$url"
}

list_pushed() {
    perl -MJSON::PP -MHTTP::Tiny -e '
        my $s = decode_json(HTTP::Tiny->new->get("$ARGV[0]/state/x")->{content});
        for my $r (values %{ $s->{run} }) {
            my (%seen, $twice);
            $seen{"$_->{key} $_->{step} $_->{value}"}++ for @{ $r->{points} };
            $twice += $_ - 1 for values %seen;
            push @line, sprintf "%s %s: %d points, %d of them twice\n",
                $r->{tags}{"mlflow.runName"}, $r->{info}{status},
                scalar @{ $r->{points} }, $twice // 0;
        }
        print sort @line' "$url"
}

# Trainings in one and in several processes, whose weights and history are those
# of a training that nothing disturbs, to the bit; and a sweep, which trains
# nothing twice.
make_training_case() {
    here=$PWD
    make_ranks_case
    rm -f "$here/want"
    prepare() { cp "$here/train_0.bin" "$here/c.ini" .; }
    verify() {
        gtrack ls --csv -c status >runs 2>&1 || cat runs
        grep -q FINISHED runs || echo "no run is finished"
        if grep -q sweep ../typed; then
            gtrack ls --csv --sort val/loss -c optim.lr,train.seed,val/loss \
                -w "status = 'FINISHED' and metrics.val/loss > 0"
        else
            # of each step, the newest loss
            cat mlruns/*/*/metrics/train/loss |
                awk '{ v[$3] = $2 } END { for (s in v) print s, v[s] }' |
                sort -n
            cat mlruns/*/*/artifacts/checkpoints/step-00000006/*.safetensors |
                sha256sum
        fi 2>&1 | compare_results
    }
    promised() { ! grep -q '^end 0' "$1" || verify; }
    options="-q --config c.ini --set model.width=32 --set checkpoint.every=1"
    six="$options --set schedule.steps=6 --resume auto"
    commands="gtrain in one process|gtrain $six
gtrain with checkpoints in the foreground|gtrain $six --set checkpoint.async=no
gtrain --ranks 2|gtrain $six --ranks 2
gtrain --ranks 2 with zero2|gtrain $six --ranks 2 --set parallel.mode=zero2
gtrain --ranks 3 with fsdp|gtrain $six --ranks 3 --set parallel.mode=fsdp
gtrain sweep|gtrain sweep $options --set schedule.steps=2 \
--grid optim.lr=1e-3,1e-2 --seeds 2"
}

# Commands that write one result from what is there, or record a run.
make_results_case() {
    here=$PWD
    rm -rf seed
    mkdir seed
    "$build/t/lib/mkruns" seed/mlruns rates
    (cd seed && gtrack -q bundle -o ../all.tar run1 >../out)
    printf 'Loss <!-- gtrack: run1 | min(val/loss) | .3f -->?<!-- /gtrack -->.\n' \
        >paper.md
    cat >cell.sh <<'END'
run=$(gtrack run start) || exit
gtrack run log "$run" --step 1 "val/loss=$1" && gtrack run end "$run"
END
    cat >writer.py <<'END'
import gtrack
with gtrack.init(name="py", id="0123456789abcdef0123456789abcdef",
                 resume="allow", config={"lr": 1}) as run:
    for step in range(run.step, 40):
        run.log({"loss": step}, step=step)
        if step == 20:
            run.tags = ["half"]
    run.summary["best"] = 1
END
    prepare() { cp -R "$here/seed/mlruns" "$here/all.tar" "$here/paper.md" \
        "$here/cell.sh" "$here/writer.py" .; }
    verify() {
        gtrack fsck -q --no-header 2>&1 | grep -v -e '\.tmp' -e problems
        {
            # a cell that was begun twice has the next free name
            gtrack ls --csv --sort name -c name,status,damage,val/loss |
                sed 's/^run[4-9],/run,/'
            # points of an attempt that was killed may be retracted
            ! test -e writer.py || gtrack metrics py loss --tsv
            find . -name '*.saving.*' -prune -o -path ./mlruns -prune -o \
                -path ./sw -prune -o -name told -prune -o -type f \
                -exec sha256sum {} + | sort
            test ! -e told || sort -u told
        } 2>&1 | compare_results
    }
    promised() { ! grep -q '^end 0' "$1" || verify; }
    commands="gtrack bundle|gtrack bundle -q -o out.tar run1
gtrack verify --keep|test -e kept || gtrack verify -q all.tar --keep kept
gtrack claims --fill|gtrack claims -q --fill paper.md
gtrack report|GT_CLOCK_MS=1795745143000 gtrack report -q -o out.md run1 run2
gtrack serve --freeze|GT_CLOCK_MS=1795745143000 gtrack serve -q --freeze page.html run1
gtrack alert|gtrack alert -q --once --when 'val/loss < 99' --name low --do 'echo told >>told' run1
gtrack sweep|gtrack sweep -q -o sw --grid a=1,2 -- sh ./cell.sh '{a}'"
    export PYTHONPATH="$top/python" PYTHONDONTWRITEBYTECODE=1 \
        GTRACK_LIBRARY="$build/libgtrack.so.0"
    python=${GT_PYTHON:-python3}
    ! "$python" -c 'import gtrack' 2>/dev/null || commands="$commands
$python with gtrack|$python writer.py"
}
