#!/bin/sh
# What a store that a stranger made may not do.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands

# a run whose meta.yaml names another place than its folder
run=theirs/0/0123456789abcdef0123456789abcdef
mkdir -p $run/metrics $run/params $run/tags $run/artifacts
cat >theirs/0/meta.yaml <<'END'
artifact_location: ''
creation_time: 1700000000000
experiment_id: '0'
last_update_time: 1700000000000
lifecycle_stage: active
name: Default
END
cat >$run/meta.yaml <<'END'
artifact_uri: ''
end_time: 1700000001000
entry_point_name: ''
experiment_id: '0'
lifecycle_stage: active
run_id: "../../../TARGET"
run_name: evil
source_name: ''
source_type: 4
source_version: ''
start_time: 1700000000000
status: 3
tags: []
user_id: x
END
echo '1700000000000 1 1' >$run/metrics/l
echo key >$run/artifacts/authorized_keys

mkdir -p a/b/c
g -r a/b/c import theirs
test -z "$(find . -name 'TARGET*')" && test -d "a/b/c/0/${run##*/}"
ok $? "import writes a run below its own store whatever its meta.yaml says"
g -r theirs export --to mlflow -o a/b/d
test -z "$(find . -name 'TARGET*')" && test -d "a/b/d/0/${run##*/}"
ok $? "export to MLflow writes a run below the folder that it was given"
g -r theirs ls -c id --tsv
grep -q "^${run##*/}" out
ok $? "the id of a run is the name of its folder"
mv $run theirs/0/short
g -r a/b/e import theirs
test $? -ne 0 && grep -q '32 hexadecimal digits' err
ok $? "a run whose folder has no proper id is not copied"

bad=$(printf 'a\nBcc: b')
mv theirs/0/short "theirs/0/$bad"
g -r theirs ls -c id --tsv --no-header
test $? -eq 0 && test ! -s out
ok $? "a folder whose name would be two lines is no run" "$(cat out err)"
mv "theirs/0/$bad" theirs/0/short

# links that leave a run: what they name is neither shown nor copied
echo top secret >secret
printf '1700000000000 0.5 1\n' >notes
mkdir elsewhere
echo top secret >elsewhere/key
run=linked/0/0123456789abcdef0123456789abcdef
mkdir -p linked && cp -r theirs/0 linked/0
mv linked/0/short $run
sed -i "s|run_id: .*|run_id: ${run##*/}|" $run/meta.yaml
echo 0.1 >$run/params/lr
echo here >$run/artifacts/own
ln -s own $run/artifacts/same
ln -s "$dir/secret" $run/params/pw
ln -s "$dir/secret" $run/tags/pw
ln -s "$dir/notes" $run/metrics/notes
ln -s "$dir/secret" $run/artifacts/pw
ln -s "$dir/secret" $run/artifacts/log.txt
ln -s "$dir/elsewhere" $run/artifacts/far
ln -s "$dir/elsewhere" linked/0/tags
ln -s "$dir/elsewhere" linked/0/datasets
mkdir $run/inputs
for command in 'show -a' 'show --json' 'ls --tsv' 'ls --json' 'metrics' tail \
    'artifacts --cat log.txt' 'artifacts --cat pw' 'artifacts --cat far/key' \
    'export --to jsonl -o -' compare diff; do
    # shellcheck disable=SC2086 # a command and its options
    gtrack -r linked $command >>shown 2>>shown
done
! grep -q 'secret$' shown && grep -q 'lr' shown
ok $? "no command shows what is behind a link that leaves a run"
g -r linked artifacts --tsv
is "$(cut -f 1,2 out | tr '\t\n' '=,')" \
    'path=bytes,authorized_keys=4,far=,log.txt=,own=5,pw=,same=5,' \
    "links that leave a run are listed without a size"
g -r linked artifacts --cat same
holds out here
ok $? "a link inside a run is read"
for to in 'import linked' '-r linked export --to mlflow -o copy/mlflow'; do
    # shellcheck disable=SC2086 # a command and its options
    case $to in
    import*) g -r copy/store $to ;;
    *) g $to ;;
    esac
done
! grep -rq 'top secret' copy && test "$(find copy -name own | wc -l)" -eq 2
ok $? "import and export copy nothing through a link that leaves a run"
if command -v perl >/dev/null; then
    printf 'step=1 loss=2\n' | gtrack log -r large a 2>err
    (cd large/0/*/artifacts && seq 2000 | while read -r n; do echo "$n" >"f$n"; done)
    mkdir behind
    # again, if the import ends before the link is there
    for there in $(seq 50); do
        perl -e 'my @new; until (@new) { @new = glob("$ARGV[1]/.gtrack.trash/new.*/artifacts"); }
            rename $new[0], "$new[0].was" and symlink $ARGV[0], $new[0]' \
            "$dir/behind" "$there" &
        g import -r "$there" large
        code=$?
        test -d "$there/.gtrack.trash" || mkdir -p "$there/.gtrack.trash/new.1/artifacts"
        wait $!
        test $code = 0 || break
    done
    test $code -ne 0 && test -z "$(ls behind)"
    ok $? "import writes nothing through a link that is made meanwhile" \
        "$code $(ls behind | wc -l) $(cat err)"
else
    skip "import writes nothing through a link that is made meanwhile" "no perl"
fi
g -r linked push --to mlflow --url http://127.0.0.1:9 --dry-run
like out ' 3 files' "push counts no file behind a link that leaves a run"
mkdir linked/0/more && ln -s "$dir/secret" linked/0/more/leak
mv linked/0/datasets linked/0/kept && mv linked/0/more linked/0/datasets
mkdir work && ln -s "$dir/secret" work/LICENSE
(cd work && gtrack -r ../linked bundle -o ../packed.tar) >out 2>err
tar xOf packed.tar >unpacked && grep -q Default unpacked &&
    ! grep -q 'top secret' unpacked && like err 'LICENSE is a link that leaves' \
    "bundle packs nothing that a link outside names"
mv linked/0/datasets linked/0/more && mv linked/0/kept linked/0/datasets
mkdir -p $run/.gtrack && echo '{}' >$run/.gtrack/push.0.json
g -r copy/pushed import linked && gtrack -r linked export --to mlflow -o copy/other 2>err &&
    gtrack -r linked bundle @latest -o copy/pushed.tar >log 2>&1 &&
    gtrack -r linked export --to tar -o copy/whole.tar 2>err &&
    { tar tf copy/pushed.tar && tar tf copy/whole.tar; } >copy/names &&
    test "$(grep -c artifacts/own copy/names)" -eq 2 && ! grep -q '/push\.' copy/names &&
    test -z "$(find copy/pushed copy/other -name 'push.*')" &&
    test -n "$(find copy/pushed -name own)" && test -n "$(find copy/other -name own)"
ok $? "what was pushed is noted in one store only"
rm -r $run/.gtrack linked/0/more
ln -s "$dir/secret" $run/params/pw2
printf '<!-- gtrack: table: ls -c name,pw2 --follow-links -->\n<!-- /gtrack -->\n' \
    >asks.md
g -r linked claims --fill asks.md
test $? -ne 0 && ! grep -q 'top secret' asks.md out
ok $? "a report cannot ask that links are followed"
rm $run/params/pw2
g -r linked export --to tar -o 'a 12:30.tar'
test $? -eq 0 && tar --force-local -tf 'a 12:30.tar' | grep -q meta.yaml
ok $? "a colon in the name of an archive is no host"
g -r linked artifacts --cat pw --follow-links
holds out 'top secret'
ok $? "--follow-links reads an artifact that is a link"
g -r linked show -a --follow-links
like out 'pw.top secret' "--follow-links reads a parameter that is a link"
gplot -r linked metric notes @latest --data >out 2>err
unlike out '0.5' "gplot draws nothing through a link"
gplot -r linked metric notes @latest --data --follow-links >out 2>err
like out '0.5' "gplot --follow-links draws a metric that is a link"
g -r linked export --to mlflow -o followed --follow-links
test "$(grep -lr 'top secret' followed | wc -l)" -eq 5
ok $? "export --follow-links copies what links name" "$(grep -lr 'top secret' followed)"
for command in 'serve --freeze' 'report @latest -o'; do
    # shellcheck disable=SC2086 # a command and its options
    gtrack $command page.html --root linked --follow-links >out 2>err
    grep -c 'top secret' page.html
    rm page.html
done >pages
is "$(tr '\n' , <pages)" 1,1, "a page that --follow-links made has what links name"
mkdir $run/artifacts/samples
ln -s "$dir/secret" $run/artifacts/samples/step-1.txt
gtrack -r linked report @latest -o sample.html >out 2>err
test -s sample.html && ! grep -q 'top secret' sample.html
ok $? "a report shows no sample that is a link"
ln -s . $run/artifacts/round
g -r linked artifacts --tsv
test "$(grep -c own out)" -eq 1 && g -r linked export --to mlflow -o round &&
    test "$(find round -name own | wc -l)" -eq 1
ok $? "a link to a folder of the run is not walked"
echo mine >added
bad=
for command in 'artifacts --add added --under far' 'artifacts --add pw' \
    'artifacts --add added --under nowhere' 'tag x=y'; do
    ln -sfn "$dir/elsewhere/none" $run/artifacts/nowhere
    mv $run/tags $run/kept && ln -s "$dir/elsewhere" $run/tags
    cp added pw
    # shellcheck disable=SC2086 # a command and its options
    g -r linked ${command%% *} @latest ${command#* } && bad="$bad $command"
    grep -q 'is a link that leaves' err || bad="$bad $(cat err)"
    rm $run/tags && mv $run/kept $run/tags
done
test -z "$bad" && test "$(ls elsewhere)" = key && test "$(cat secret)" = 'top secret'
ok $? "no command writes through a link that leaves a run" "$bad $(ls elsewhere)"
# where there is no /proc, which tells where an open file is
bare() { unshare -m sh -c 'mount -t tmpfs none /proc && test ! -e /proc/self && exec "$@"' sh "$@"; }
if bare gtrack --version >out 2>err; then
    bare gtrack -r linked show -a >out 2>err && bare gtrack -r linked artifacts --cat pw >>out 2>err
    bare gtrack -r linked artifacts --add added --under far >>out 2>>err
    test $? -ne 0 && ! grep -q 'top secret' out && grep -q 'lr.*0.1' out &&
        grep -c 'is a link that leaves' err | grep -qx 2 && test "$(ls elsewhere)" = key &&
        bare gtrack -r linked tag @latest none=x && test "$(cat $run/tags/none)" = x && rm $run/tags/none
    ok $? "without /proc, a link that leaves a run is refused, too" "$(cat out err)"
else
    skip "without /proc, a link that leaves a run is refused, too" "$(tail -n 1 err)"
fi
g -r linked artifacts --add added --under far --follow-links
holds elsewhere/added mine
ok $? "artifacts --add --follow-links writes through a link"
rm elsewhere/added
rm $run/metrics/notes
mv $run/metrics elsewhere/m
ln -s "$dir/elsewhere/m" $run/metrics
printf 'half a line' >elsewhere/m/text
ln -s "$dir/elsewhere" $run/.gtrack
touch elsewhere/mine.tmp
g -r linked fsck --repair
holds elsewhere/key 'top secret' && test -e elsewhere/mine.tmp &&
    test "$(cat elsewhere/m/text)" = 'half a line'
ok $? "fsck --repair changes nothing behind a link"
like out 'metrics.*symbolic link' "fsck tells of a folder that is a link"

# the folder of names, and experiments, that are links or pipes
echo 'step=1 loss=2' | gtrack log -r named first 2>err
mkdir names && cp -r named fifo
mv named/.gtrack.trash names/kept && ln -s "$dir/names/kept" named/.gtrack.trash
find names | sort >before
bad=
echo 'step=1 loss=2' | g -r named log
echo 'step=1 loss=2' | g -r named log second
echo 'step=1 loss=2' | g -r named log -e another third
g -r named exec -- true
g -r named mv second elsewhere
g -r named rm first && g -r named gc -y
find names | sort | cmp -s - before
ok $? "nothing is written to the folder of names if it is a link"
rm -f fifo/.gtrack.trash/colours && mkfifo fifo/.gtrack.trash/colours
echo 'step=1 loss=2' | timeout 60 gtrack -r fifo log second 2>err
is $? 0 "a pipe in the folder of names delays nothing"
echo 'step=1 loss=2' | gtrack log -r whole -e mine kept 2>err
mkdir -p linking && ln -s "$dir/whole/$(ls whole | grep -v '^0$')" linking/9
g -r linking rm kept
g -r linking gc -y
like err 'experiments that are links stay' \
    "gc says that it leaves the runs of experiments that are links"
g -r whole restore kept
is $? 0 "gc removes no run of an experiment that is a link"

# ---- text that a terminal would obey, and names that break a line ----
bad=$(printf 'a\033]0;t\007\033[2J\302\2332J')
name=$(printf 'two\nlines\tand a tab')
echo 'step=1 loss=2' | gtrack log -r odd "$name" -t "note=$bad" 2>err
run=$(gtrack -r odd where @latest)
gtrack -r odd note @latest "$bad" 2>err
printf '\302\2332J%s\n' "$bad" >note
sed -i "s|^arguments: .*|command: \"\\\\e]0;t\\\\a\\\\x9b2J\"|" \
    "$run/.gtrack/attempt.1.yaml"
printf '1700000000000 0.5 1\n' >"$run/metrics/$bad"
mkdir -p "$run/artifacts"
# one of the characters is on both sides of where a buffer ends
head -c 65535 /dev/zero | tr '\0' a | cat - note >"$run/artifacts/a"
cp "$run/artifacts/a" "$run/artifacts/output.log"
if script -qec true /dev/null </dev/null >out 2>err; then
    for command in 'note @latest' cmd 'show --tsv' 'show --json' 'show -a' \
        'ls --tsv' tail 'metrics --csv' 'rm none' 'artifacts --cat a' \
        'artifacts --cat output.log' 'export --to csv -o -' 'export --to jsonl -o -' \
        "push --to mlflow --url http://127.0.0.1:9 --project \"$bad\" --dry-run"; do
        PAGER=cat script -qec "gtrack -r odd $command" /dev/null </dev/null
    done 2>err | cut -c 1-200,65500- >out
    test "$(grep -c . out)" -gt 20 && test "$(grep -c 'aa.*2Ja^\[\]' out)" -eq 2 &&
        ! LC_ALL=C grep -q "$(printf '\007\\|\033[]]\\|\033\\[2J\\|\302\233')" out
    ok $? "no command sends the control characters of a store to a terminal"
else
    skip "no command sends the control characters of a store to a terminal" \
        "no script(1)"
fi
gtrack -r odd note @latest >out
test "$(cat out)" = "$bad"
ok $? "a note is written to a pipe as it is"
gtrack -r odd artifacts --cat a @latest | cmp -s - "$run/artifacts/a"
ok $? "an artifact is written to a pipe as it is"
gtrack -r odd ls -c name,note --tsv --no-header >out
test "$(wc -l <out)" -eq 1 && test "$(awk -F "$tab" '{ print NF }' out)" -eq 2
ok $? "a name cannot break a line of TSV"
gplot -r odd loss @latest --data >out 2>err
test "$(wc -l <out)" -eq 2 && test "$(awk -F "$tab" 'NR == 2 { print NF }' out)" -eq 7
ok $? "a name cannot make a row of the data of a figure"
if script -qec true /dev/null </dev/null >out 2>err; then
    printf 'step=1 loss=2\n' | gtrack log -r order "$(printf 'a\342\200\256b')" 2>err
    PAGER=cat script -qec "gtrack -r order ls" /dev/null </dev/null >out 2>err
    like out 'a<U+202E>b' "a character that reverses the text is shown as its number"
else
    skip "a character that reverses the text is shown as its number" "no script(1)"
fi
g -r odd push --to mlflow --url http://127.0.0.1:9 --dry-run
test "$(wc -l <out)" -eq 1
ok $? "a name cannot break a line of push"

for name in @latest @best:loss good newest; do
    echo "step=1 loss=$((${#name} - 4))" | gtrack log -r words "$name" 2>err
done
g -r words ls @latest -c name --tsv --no-header
latest=$(cat out)
g -r words ls @best:loss -c name --tsv --no-header
is "$latest $(cat out)" "newest good" \
    "a run named like a word for others does not take its place"

# ---- names in the formats of others ----
long=$(head -c 300 /dev/zero | tr '\0' n)
for name in a/b a_b 'a*b' A_B "$long" "${long}2"; do
    echo "step=1 loss=${#name}" | gtrack log -r alike "$name" 2>err
done
gtrack log -r alike "a_b-$(gtrack -r alike ls a/b -c id --tsv --no-header |
    cut -c 1-8)" 2>err <<END
step=1 loss=9
END
g -r alike export --to tensorboard -o events
test $? -eq 0 && test "$(ls events | wc -l)" -eq 7 &&
    test "$(find events -name '*tfevents*' | wc -l)" -eq 7
ok $? "runs whose names look alike as folders, or are long, are not joined" "$(ls events)"
find events -type f | sort >were
g -r alike export --to tensorboard -o events
test $? -eq 0 && find events -type f | sort | cmp -s - were
ok $? "runs that are exported again get the folders that they had"
echo 'step=1 loss=3' | gtrack log -r later a_b 2>err
g -r later export --to tensorboard -o events
test $? -eq 0 && find events -type f | sort | comm -13 were - >out &&
    test "$(wc -l <out)" -eq 1 && test "$(ls "$(dirname "$(cat out)")" | wc -l)" -eq 1
ok $? "a run that is exported later does not join one of its name"
echo 'step=1 loss=-2' | gtrack log -r cells -e '@SUM(1)' '=1+1' -t x='-1' 2>err
gtrack -r cells export --to csv --safe | tail -n 1 | cut -d , -f 2-5,7 >out
gtrack -r cells ls -c name,loss,x,tag.x --csv --safe --no-header >>out 2>err
gtrack -r cells ls -c name --csv --no-header >>out
is "$(cat out)" "'=1+1,'@SUM(1),loss,1,-2.0
'=1+1,-2.0,-1,-1
=1+1" "with --safe no cell of CSV is a formula, and numbers stay numbers"

# ---- the sandbox, in which the pager is, too ----
# paged COMMAND: show a run in a pager that also runs COMMAND
paged() {
    LINES=2 PAGER="cat; $1" script -qec "gtrack -r odd show @latest" /dev/null \
        </dev/null >out 2>err
    grep -q loss out
}
sandbox=$(gtrack --version -v | sed -n 's/^sandbox: //p')
case $sandbox in Landlock*) ;; *) sandbox=none ;; esac
if test "$sandbox" = none || ! script -qec true /dev/null </dev/null >out 2>err; then
    skip "a command that reads a store can change no file" "no Landlock or script"
    skip "figures, reports and exports can change nothing but what they write" "no Landlock"
    skip "a figure that is drawn again can change nothing else" "no Landlock"
    skip "export writes where it is told to" "no Landlock or script"
    skip "import writes no dataset through a link that leaves its experiment" "no Landlock or script"
    skip "import writes to an experiment that is a link" "no Landlock or script"
else
    echo mine >kept
    paged 'echo x >pwned; echo x >kept; rm kept; mkdir d'
    test $? -eq 0 && test ! -e pwned && test ! -e d && test "$(cat kept)" = mine
    ok $? "a command that reads a store can change no file"
    # a program that a command starts is as confined
    mkdir -p helpers made
    for helper in gnuplot tar; do
        printf '#!/bin/sh\necho >"%s/made/%s"; echo x >"%s/pwned"\n' "$dir" \
            $helper "$dir" >helpers/$helper
        chmod +x helpers/$helper
    done
    for command in "gtrack -r odd report @latest -o made/x.pdf" \
        "gplot -r odd loss @latest -o made/x.svg" \
        "gtrack -r odd export --to tar -o made/x.tar"; do
        PATH=$dir/helpers:$PATH sh -c "$command"
    done >out 2>err
    is "$(ls pwned made/gnuplot made/tar 2>err)" "made/gnuplot
made/tar" "figures, reports and exports can change nothing but what they write"
    rm -f made/gnuplot
    printf '<!-- gplot-figure %064d -r odd loss @latest; -->\n' 0 >made/x.svg
    PATH=$dir/helpers:$PATH gplot redo made/x.svg >out 2>err
    is "$(ls pwned made/gnuplot 2>err)" made/gnuplot \
        "a figure that is drawn again can change nothing else"
    gtrack -r odd export --to tar -o made/x.tar 2>err &&
        gtrack -r odd export --to mlflow -o made/new/store 2>>err &&
        gtrack -r odd export --to csv -o made/x.csv 2>>err
    ok $? "export writes where it is told to"
    GTRACK_ROOT=odd add_dataset @latest data
    mkdir -p outside other
    gtrack -r in/one import odd >out 2>err && rm -r "in/one/0/${run##*/}" &&
        rm -r in/one/0/datasets && cp -r in/one in/two &&
        ln -s "$dir/outside" in/one/0/datasets
    g -r in/one import odd
    test $? -ne 0 && grep -q 'is a link that leaves' err && test -z "$(ls outside)"
    ok $? "import writes no dataset through a link that leaves its experiment"
    rm -r other && mv in/two/0 other && ln -s "$dir/other" in/two/0
    g -r in/two import odd
    test $? -eq 0 && test -d "other/${run##*/}"
    ok $? "import writes to an experiment that is a link"
fi
case $sandbox in Landlock*) landlock=true ;; *) landlock=false ;; esac
if $landlock && command -v perl >/dev/null; then
    paged "perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0) &&
        connect(S, sockaddr_in(9, INADDR_LOOPBACK)); print \"connect: \$!\\n\"'"
    like out 'connect: \(Permission denied\|Operation not permitted\)' \
        "a command that reads a store can connect to nothing"
else
    skip "a command that reads a store can connect to nothing" "no Landlock 4"
fi

# ---- figures ----
if test "${GT_NO_GNUPLOT:-}" || ! command -v gnuplot >/dev/null; then
    skip "runs whose names are quotes are drawn" "gnuplot is not installed"
else
    bad=
    for name in "'" "''x" "'a'b" "'twas"; do
        gtrack -r odd mv @latest "$name"
        gplot -r odd loss @latest -o q.svg --title "$name" \
            --baseline "$name=1" || bad="$bad $name"
    done >out 2>err
    is "$bad" "" "runs whose names are quotes are drawn"
fi
rm -r "$run/.gtrack"
gtrack -r odd tag @latest "mlflow.source.name=$(printf 'a\r<i>\nb')"
gtrack -r odd mv @latest '<script>|[x](y)' && gtrack -r odd report @latest -o x.md
# in a block of code, which is indented, nothing is markup; a CR ends a line
tr '\r' '\n' <x.md >lines
grep -q '^    <i>' lines && grep -qF '| \<script\>\|\[x\](y) |' lines &&
    ! grep -v '^    ' lines | grep -qF -e '<script>' -e '[x](' -e '<i>'
ok $? "a report escapes the names of runs in Markdown"
gtrack -r odd report @latest -o x.html >out 2>err
test -s x.html && ! grep -q '<script>|' x.html
ok $? "a report escapes the names of runs in HTML"
gtrack -r odd mv @latest '`touch pwned`"`touch pwned`' &&
    gplot -r odd loss @latest -o q.svg --title '`touch pwned`' >out 2>err
test $? = 0 && test ! -e pwned
ok $? "gnuplot runs no command in the name of a run"

# ---- the programs ----
gtrack --version -v >out
if grep -q 'guards: none' out || ! command -v readelf >/dev/null; then
    skip "the programs have the guards that --version -v names" "no guards"
else
    bad=
    for program in gtrack gplot gdata gtrain; do
        program=$(command -v $program)
        readelf -dW "$program" | grep -q BIND_NOW || bad="$bad $program: lazy"
        ! grep -q PIE out || readelf -hW "$program" | grep -q DYN ||
            bad="$bad $program: not position-independent"
        readelf -sW "$program" >symbols
        grep -q __stack_chk_fail symbols || bad="$bad $program: no protector"
        grep -q __snprintf_chk symbols || bad="$bad $program: not fortified"
    done
    is "$bad" "" "the programs have the guards that --version -v names"
fi

done_testing
