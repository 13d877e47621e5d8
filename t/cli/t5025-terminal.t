#!/bin/sh
# No command lets the text of others control a terminal, or hide in it.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
script -qec true /dev/null </dev/null >out 2>err || skip_all "no script(1)"
command -v perl >/dev/null || skip_all "no perl"

# a title, a cleared screen, a C1 control sequence, an order reversed, no width
BAD=$(printf 'a\033]0;t\007\033[2J\302\2332J\342\200\256b\342\200\213c\r')
export BAD PAGER=cat

# ---- a store, a report, an archive, text and a model with such text ----
for name in one two; do
    printf 'step=%d loss=2 val/loss=3\n' 1 2 3 4 | gtrack log -r odd -e "$BAD" \
        "$name $BAD" -t "note=$BAD" -p "lr=$BAD" -t sweep=s 2>err
    run=$(gtrack -r odd where @latest)
    gtrack note -r odd @latest "$BAD" 2>err
    printf '%s' "$BAD" >"$run/params/$BAD"
    printf '%s' "$BAD" >"$run/tags/$BAD"
    cp "$run/metrics/loss" "$run/metrics/$BAD"
    mkdir -p "$run/artifacts/samples" "$run/artifacts/histograms"
    printf '%s\n' "$BAD" >"$run/artifacts/$BAD"
    printf '%s\n' "$BAD" >"$run/artifacts/output.log"
    printf '%s\n' "$BAD" >"$run/artifacts/samples/step-1.txt"
    printf '{"step":1,"time":1,"values":[1,2],"bins":[0,1,2]}\n' \
        >"$run/artifacts/histograms/$BAD.jsonl"
    GTRACK_ROOT=odd add_dataset @latest "$BAD"
    sed -i "s|^user_id: .*|user_id: \"\\\\e]0;t\\\\a\\\\x9b2J\\\\u202e\"|" \
        "$run/meta.yaml"
    sed -i "s|^arguments: .*|command: \"\\\\e]0;t\\\\a\\\\x9b2J\\\\u202e\"|" \
        "$run/.gtrack/attempt.1.yaml"
done
printf '<!-- gtrack: one | %s -->%s<!-- /gtrack -->\n![](%s.svg)\n' "$BAD" "$BAD" \
    "$BAD" >report.md
printf '<!-- gplot-figure %064d -r odd loss "%s"; -->\n' 0 "$BAD" >"$BAD.svg"
gtrack bundle -r odd -o odd.tar --add report.md "one $BAD" >out 2>err
printf 'metric,%s\n1,2\n' "$BAD" >"$BAD.csv"
cp -R odd kept
printf '{"rule":"empty","value":"%s", "text": "%s"}\n' "$BAD" "$BAD" >"dropped $BAD"
for n in 1 2 3 4 5 6 7 8; do
    printf '%s the text number %d of many words\n' "$BAD" $n
done >"$BAD.txt"
gdata bpe --vocab 300 -o tok "$BAD.txt" >out 2>err &&
    gdata encode -T tok --val 20% -o "d/$BAD" "$BAD.txt" >out 2>err
ok $? "a tokenizer and tokens are made of such text"
small_ini data.tokenizer=tok "data.train=d/*_train_*.bin" model.context=8 \
    schedule.steps=1 checkpoint.folder=ck run.root=odd >c.ini
sed 's/steps = 1/steps = x/' c.ini >"$BAD.ini"
printf 'cell\tstep\tlr\n%s\t0\t1\n' "$BAD" >rates.tsv
gtrain --config c.ini --name "$BAD" >out 2>err
ok $? "a model is trained on such text" "$(cat err)"

# ---- every command ----
cat >lines <<'END'
gtrack alert --when "loss < 3" --do true --once -r odd
gtrack artifacts -r odd "one $BAD"
gtrack artifacts -r odd "one $BAD" --cat "$BAD"
gtrack best "$BAD" -r odd
gtrack best loss -r odd
gtrack bundle -r odd -o "$BAD.tar" "one $BAD"
gtrack card -r odd "one $BAD" -o "$BAD.md"
gtrack claims -r odd report.md
gtrack cmd -r odd "one $BAD"
gtrack compare -r odd
gtrack compare -r odd --across --all
gtrack completion bash
gtrack completion "$BAD"
gtrack diff -r odd "one $BAD" "two $BAD"
gtrack du -r odd
gtrack exec -r odd --name "$BAD" true
gtrack exec -r odd -- "$BAD"
gtrack export -r odd --to csv
gtrack export -r odd --to jsonl
gtrack export -r odd --to tensorboard -o "events$BAD"
gtrack export -r odd --to mlflow -o "mlflow$BAD"
gtrack export -r odd --to tar -o "$BAD.tar"
gtrack forecast -r odd "one $BAD" -m "$BAD"
gtrack fsck -r odd
gtrack gc -r odd --dry-run
gtrack hours -r odd
gtrack hours -r odd --group-by "$BAD"
gtrack import -r "new$BAD" odd
gtrack import -r new "$BAD.csv"
gtrack log -r odd "$BAD"
gtrack ls -r odd -c "name,experiment,user,$BAD,loss"
gtrack ls -r odd --csv
gtrack ls -r odd --json
gtrack ls -r odd --latex
gtrack ls -r odd --markdown
gtrack ls -r odd --where "$BAD"
gtrack ls -r "$BAD"
gtrack metrics -r odd "one $BAD"
gtrack metrics -r odd --long "one $BAD"
gtrack mv -r odd "one $BAD" "three$BAD"
gtrack mv -r odd -e "new$BAD" "one $BAD"
gtrack note -r odd "one $BAD"
gtrack push -r odd --to mlflow --url "http://127.0.0.1:9" --dry-run
gtrack push -r odd --to wandb --url "http://127.0.0.1:9" --project "$BAD" --dry-run
gtrack report -r odd "one $BAD" -o "$BAD.html"
gtrack report -r odd "one $BAD"
gtrack restore -r odd "one $BAD"
gtrack rm -r odd --dry-run "one $BAD"
gtrack rm -r odd "one $BAD"
gtrack run -r odd --name "$BAD" start
gtrack run -r odd log "$BAD" loss=1
gtrack run -r odd end "$BAD"
gtrack serve -r odd --freeze "$BAD.html"
gtrack show -r odd "one $BAD" --all
gtrack show -r odd "one $BAD" --json
gtrack sweep -r odd -g "$BAD=1,2" --dry-run -- true
gtrack sweep -r odd status "$BAD"
gtrack tag -r odd "one $BAD" "$BAD=$BAD"
gtrack tail -r odd "one $BAD"
gtrack verify odd.tar
gtrack verify "$BAD.svg"
gtrack watch -r odd --count 1
gtrack where -r odd "one $BAD"
gtrack where -r "odd/../odd"
gplot compare -r odd "one $BAD"
gplot dashboard -r odd "one $BAD"
gplot grad-norm -r odd "one $BAD"
gplot hellaswag -r odd "one $BAD"
gplot hist -r odd "$BAD" "one $BAD"
gplot hours -r odd
gplot loss -r odd "one $BAD" --title "$BAD"
gplot loss -r odd "one $BAD" --data
gplot loss -r odd "one $BAD" --term dumb
gplot loss -r odd "one $BAD" "two $BAD" --group-by lr
gplot lr -r odd "one $BAD"
gplot memory -r odd "one $BAD"
gplot metric -r odd "$BAD" "one $BAD" "two $BAD"
gplot metric -r odd "$BAD" "one $BAD" --term dumb
gplot perplexity -r odd "one $BAD"
gplot redo "$BAD.svg"
gplot scaling -r odd "one $BAD"
gplot schedule "$BAD.ini"
gplot schedule rates.tsv
gplot sweep -r odd "$BAD" loss
gplot sweep -r odd lr "$BAD"
gplot tasks -r odd "one $BAD"
gplot throughput -r odd "one $BAD"
gplot timeline "$BAD.ini"
gplot util -r odd "one $BAD"
gplot verify "$BAD.svg"
gdata bpe --vocab 270 -o "tok$BAD" "$BAD.txt"
gdata classify --train --buckets 100 -o "$BAD.bin" "$BAD.txt"
gdata classify "$BAD.bin" "$BAD.txt"
gdata clean --rules three.ini "$BAD.txt"
gdata clean --rules "$BAD.ini" "$BAD.txt"
gdata decode -T tok "d/${BAD}_train_000000.bin"
gdata dedup "$BAD.txt"
gdata dedup --against "$BAD.txt" "$BAD.txt"
gdata encode -T tok -o "e/$BAD" "$BAD.txt"
gdata encode -T "$BAD" -o "e/$BAD" "$BAD.txt"
gdata encode -T tok -o "e/$BAD" --join "$BAD" "$BAD.txt"
gdata fetch "$BAD"
gdata gather -o "$BAD.txt"
gdata info -T tok "d/${BAD}_train_000000.bin"
gdata info "d/${BAD}_train_000000.bin" "$BAD.txt"
gdata info --stats "$BAD.txt"
gdata info --top "$BAD" "$BAD.txt"
gdata leak --train "$BAD.txt" --eval "$BAD.txt"
gdata leak --train "$BAD.txt" --eval "$BAD.txt" --benchmarks
gdata lock "$BAD.lock"
gdata sample "$BAD.txt"
gdata sample --dropped-by empty "dropped $BAD"
gdata verify "d/${BAD}_train_000000.bin"
gdata verify --against "$BAD.lock" "$BAD.lock"
gdata vocab tok
gdata vocab "$BAD"
gtrain train --config "$BAD.ini"
gtrain train --config c.ini --set "$BAD=1"
gtrain plan "$BAD.ini"
gtrain plan c.ini
gtrain eval "$BAD"
gtrain eval @latest -r odd
gtrain replay "$BAD" -r odd
gtrain bisect -r odd "one $BAD" "two $BAD"
gtrain rehearse "$BAD.ini"
gtrain batch -r odd "$BAD" 1
gtrain sample -r odd @latest --tokens 200 --prompt "$BAD"
gtrain sample -r odd @latest --tokens 50 --count 2
gtrain chat -r odd @latest
gtrain export "$BAD"
gtrain import "$BAD"
gtrain bench "$BAD.ini"
gtrain devices
gtrain sweep "$BAD.ini"
gtrain init "$BAD.txt"
END
for program in gtrack gplot gdata gtrain; do
    $program --dump-options |
        awk -F "$tab" -v p=$program '$1 && !$2 && !$3 { print p, $1 }'
done | sort -u >commands
cut -d ' ' -f 1,2 lines | sort -u >tried
is "$(comm -23 commands tried)" "" "every command is tried"
# what may reach the terminal: text, colours, where gtrack watch draws, gplot's
# question what the terminal can draw, and how gnuplot begins a picture of text
cat >raw.pl <<'END'
undef $/;
$_ = <STDIN>;
print "$ARGV[0]: $&\n" if /AddressSanitizer: [^\r\n]*|runtime error: [^\r\n]*/;
s/^\f|\e\[[0-9;]*m|\e\[[HJKc]|\e\[\?(?:25|7|1049)[hl]|\r\n|\r(?=\e\[K)//g;
print "$ARGV[0]: $1\n" if
    /(.{0,9}(?:[\0-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8b\xae]).{0,9})/;
END
while read -r line; do
    rm -rf odd new* mlflow* events*
    cp -R kept odd
    script -qec "$line" /dev/null </dev/null >shown 2>err
    test ! -s shown || echo "$line" >>printed
    perl raw.pl "$line" <shown
done <lines >found
LC_ALL=C tr -d '\000-\011\013-\037\177-\377' <found >out
is "$(cat out)" "" "no command prints it as it is"
test "$(wc -l <printed)" -gt $(($(wc -l <lines) - 8))
ok $? "the commands print something" "$(grep -vxFf printed lines)"
done_testing
