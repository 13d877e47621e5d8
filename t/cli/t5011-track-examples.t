#!/bin/sh
# The examples of gtrack's manual run, and every command tells its help.
. "$(dirname "$0")/../lib/tap.sh"
. "$top/t/lib/fixtures.sh"
show_commands
WANDB_API_KEY=$(printf 'k%.0s' $(seq 40)) && export WANDB_API_KEY
for i in 1 2 3; do
    seq 1 5 | sed "s/.*/step=& train\/loss=$i.& val\/loss=$i.5/" |
        gtrack log -e sweep -p optim.lr=3e-$i -p seed=$i 2>err
done
# What stands in the section, as it is printed: a script for each block.
if command -v mandoc >/dev/null; then
    mkdir examples && cp -R mlruns examples && cd examples || exit 1
    echo words >report.md
    printf 's:%d trl:4.%d\n' 1 5 2 3 3 1 >main.log
    mandoc -Tutf8 "$top/man/gtrack.1" | col -bx | awk '
        /^[A-Z]/ { inside = $1 == "EXAMPLES" }
        !inside { next }
        /^           / { file = sprintf("example.%02d", blocks)
                         print substr($0, 12) >file; next }
        /^$/ { blocks++ }'
    for example in example.*; do
        # t5020 pushes, to a server of its own; t5030 serves, until a signal, for
        # which alert waits, too; t5019 sweeps, with a program of its own; watch
        # needs a terminal; the completion of bash is for bash
        sed -i '/^gtrack push .*--follow/d; /^gtrack watch /d; /^eval /d
            /^gtrack serve /d; /^gtrack alert /,/[^\\]$/d
            /^gtrack sweep /,/[^\\]$/d' "$example"
        test -s "$example" || continue
        sh -e "$example" </dev/null >out 2>&1
        ok $? "the example runs: $(head -n 1 "$example")"
    done
    test "$tests_run" -gt 15
    ok $? "the manual has more than 15 examples"
    cd ..
else
    skip "the examples of the manual run" "no mandoc"
fi
for shell in bash zsh fish; do
    gtrack completion $shell >script
    if command -v $shell >/dev/null; then
        $shell -n script >out 2>&1
        ok $? "the completion for $shell has no syntax error"
    else
        skip "the completion for $shell has no syntax error" "no $shell"
    fi
done
# words LINE...: what the last word may become, on one line
words() { gtrack completion words -- gtrack "$@" | cut -f1 | paste -sd' '; }
test "$(words sho)" = show && test "$(words -r mlruns ls --so)" = --sort= &&
    test "$(words show r)" = "run1 run2 run3" &&
    test "$(words ls --color=a)" = "--color=auto --color=always" &&
    test "$(words --ver)" = "--version --verbose" &&
    test "$(words run lo)" = log
ok $? "commands, options, runs and values are completed"
test "$(words metrics run2 t)" = train/loss &&
    test "$(words best val)" = val/loss &&
    test "$(words ls -c name,opt)" = name,optim.lr &&
    test "$(words ls -e s)" = sweep && test -z "$(words import r)" &&
    test -z "$(words -r '')" && test -z "$(words -r nowhere show r)"
ok $? "metrics, columns and experiments are completed, files are not"
gtrack completion words -- gtrack gc '' >out && test ! -s out &&
    test "$(words export --to j)" = jsonl &&
    test "$(words compare --by '')" = "last best"
ok $? "words of options are completed, and nothing where no argument is expected"
others() { gtrack completion words -- "$@" | cut -f1 | paste -sd' '; }
test "$(others gplot los)" = loss && test "$(others gplot loss --smo)" = --smooth= &&
    test "$(others gplot loss r)" = "run1 run2 run3" &&
    test "$(others gplot metric x,val)" = x,val/loss &&
    test "$(others gplot sweep optim.l)" = optim.lr &&
    test "$(others gplot sweep lr val)" = val/loss
ok $? "gtrack completes runs and metrics for gplot"
if test -x "$build/gtrain"; then
    test "$(others gtrain pla)" = plan && test "$(others gtrain --set optim.cau)" = optim.cautious= &&
        test "$(others gtrain train -s data.ord)" = data.order= &&
        others gtrain --set data.order= | grep -q 'data.order=documents\b' &&
        test "$(others gtrain sweep s)" = status
    ok $? "gtrack completes settings for gtrain"
else
    skip "gtrack completes settings for gtrain" "no gtrain"
fi
# shellcheck disable=SC2016
gtrack -r evil log 'a$(touch harm)`touch harm`=b c' </dev/null 2>err
if command -v bash >/dev/null; then
    # shellcheck disable=SC2016
    gtrack -r evil log -e 'aa$(touch harm);`touch harm`' x </dev/null 2>err
    gtrack completion bash >script.bash
    # shellcheck disable=SC2016
    bash -c '. ./script.bash
        c() { COMP_LINE=$1; COMP_POINT=${#1}; shift; COMP_WORDS=("$@")
            COMP_CWORD=$(($# - 1)); _gtrack; printf "<%s>" "${COMPREPLY[@]}"
            echo; }
        c "gtrack show run" gtrack show run
        c "gtrack ls --so" gtrack ls --so
        c "gtrack ls --color=a" gtrack ls --color = a
        c "gtrack -r mlruns sho" gtrack -r mlruns sho
        c "gplot loss run" gplot loss run
        c "gdata enc" gdata enc
        c "gtrain --set optim.cau" gtrain --set optim.cau
        c "gtrack -r evil show " gtrack -r evil show ""
        c "gtrack -r evil ls --experiment=aa" gtrack -r evil ls \
            --experiment = aa
        eval "echo ${COMPREPLY[0]}"' >out 2>&1
    test "$(cat out)" = '<run1><run2><run3>
<--sort=>
<auto><always>
<show>
<run1><run2><run3>
<encode>
<optim.cautious=>
<a$(touch harm)`touch harm`=b c><x><@latest>
<aa\$\(touch\ harm\)\;\`touch\ harm\`>
aa$(touch harm);`touch harm`' && test ! -e harm
    ok $? "bash completes runs and options and executes no name"
else
    skip "bash completes runs and options and executes no name" "no bash"
fi
if command -v fish >/dev/null; then
    fish --no-config -c 'gtrack completion fish | source
        complete -C "gtrack -r mlruns sho"
        complete -C "gtrack -r mlruns show run"
        complete -C "gtrack -r evil show "' >out 2>&1
    test "$(cut -f1 out | paste -sd,)" = \
        'show,run1,run2,run3,@latest,a$(touch harm)`touch harm`=b c,x' &&
        test ! -e harm
    ok $? "fish completes runs and options and executes no name"
    echo >my.ini
    fish --no-config -c 'gtrack completion fish | source
        complete -C "gplot metric val"
        complete -C "gdata enc"
        complete -C "gtrain --set optim.cau"
        complete -C "gtrain --config=my"
        complete -C "gdata encode -T my"' >out 2>&1
    is "$(cut -f1 out)" "val/loss
encode
optim.cautious=
--config=my.ini
my.ini" "fish completes metrics, commands, settings and files of the other programs"
    # shellcheck disable=SC2016
    if fish --no-config -c 'complete --escape -C "ls "' >/dev/null 2>&1; then
        fish --no-config -c 'gtrack completion fish | source
            eval echo (complete --escape -C "gtrack -r evil ls --experiment=aa")
            eval echo (complete --escape -C "gtrack -r evil show a" | cut -f1)' \
            >out 2>&1
        test "$(cat out)" = '--experiment=aa$(touch harm);`touch harm`
a$(touch harm)`touch harm`=b c' && test ! -e harm
        ok $? "what fish inserts, also after =, executes no name" "$(cat out)"
    else
        skip "what fish inserts, also after =, executes no name" "fish is older than 3.4"
    fi
else
    skip "what fish inserts, also after =, executes no name" "no fish"
    skip "fish completes runs and options and executes no name" "no fish"
    skip "fish completes metrics, commands, settings and files of the other programs" \
        "no fish"
fi

# type_zsh [LINE]...: type lines and tab into an interactive zsh, and print what
# becomes of them.  With $site, the completion is installed there.
cat >inner.zsh <<'END'
PS1=
test -z "$site" || fpath=($site $fpath)
autoload -U compinit && compinit -u -D
test -n "$site" || eval "$(gtrack completion zsh)"
show_line() { zle complete-word; print -r -- "$BUFFER|" >>lines; BUFFER= }
zle -N show_line
bindkey '^I' show_line
print READY
END
cat >outer.zsh <<'END'
zmodload zsh/zpty
zpty z 'zsh -f -i'
zpty -w z '. ./inner.zsh'
zpty -r z out '*READY*'
for line in "$@"; do zpty -n -w z "$line"$'\t'; done
zpty -w z exit
while zpty -r z out; do :; done
END
type_zsh() {
    rm -f lines
    timeout 60 zsh -f outer.zsh "$@" >log 2>&1
    cat lines
}
if command -v zsh >/dev/null && zsh -f -c 'zmodload zsh/zpty' 2>err; then
    echo >my.ini
    type_zsh 'gtrack sho' 'gtrack show r' 'gtrack ls --so' 'gplot metric val' \
        'gdata enc' 'gtrain --set optim.cau' 'gtrain --config=my' \
        'gtrack -r evil show a' 'gtrack -r evil ls --experiment=aa' \
        'gtrack -r evil ls --experiment="aa' >out
    is "$(cat out; ls harm 2>/dev/null)" 'gtrack show |
gtrack show run|
gtrack ls --sort=|
gplot metric val/loss |
gdata encode |
gtrain --set optim.cautious=|
gtrain --config=my.ini |
gtrack -r evil show a\$\(touch\ harm\)\`touch\ harm\`=b\ c |
gtrack -r evil ls --experiment=aa\$\(touch\ harm\)\;\`touch\ harm\` |
gtrack -r evil ls --experiment=aa\$\(touch\ harm\)\;\`touch\ harm\` |' \
        "zsh completes lines of the four programs and executes no name"
    mkdir site && gtrack completion zsh >site/_gtrack
    site=$dir/site && export site
    is "$(type_zsh 'gplot los' 'gtrack sho')" 'gplot loss |
gtrack show |' "the completion that is installed for zsh works from its first use"
else
    skip "zsh completes lines of the four programs and executes no name" \
        "no zsh with zpty"
    skip "the completion that is installed for zsh works from its first use" \
        "no zsh with zpty"
fi
done_testing
