#!/bin/sh
# gtrain.ini(5) tells every setting there is, with its default.
. "$(dirname "$0")/../lib/tap.sh"
page=$top/man/gtrain.ini.5
gtrain --show-config >table
# the keys of the manual, and its defaults as a settings file
sed -n 's/^\.It Cm \([a-z]*\)\.\([a-z0-9_.]*\).*/\1.\2/p' "$page" >manual
awk '/^\[/ { gsub(/[][]/, ""); s = $0 } / = ?/ && !/^;/ { print s "." $1 }' \
    table >keys
is "$(diff keys manual)" "" \
    "every setting is in the manual, in order, and no other"
awk '/^\.It Cm [a-z]+\./ { dot = index($3, "."); key = substr($3, dot + 1)
        if (substr($3, 1, dot - 1) != s)
            print "[" (s = substr($3, 1, dot - 1)) "]" }
    /^Default: empty\.$/ { print key " =" }
    before == "Default:" { sub(/^\.Cm /, ""); sub(/ \.$/, "")
        gsub(/^"|"$/, ""); print key " = " $0 }
    { before = $0 }' "$page" >defaults.ini
gtrain --config defaults.ini --show-config |
    sed '/^;/{ / (from /!s/^/no default: /; s/ (from .*)//; }' \
    >from-manual 2>&1
is "$(diff table from-manual)" "" \
    "every default in the manual is that of the program"
# every word that a setting may be, in the paragraph of that setting
bad=$(awk '/^\.It Cm [a-z]+\./ { key = $3 } /^\.(It )?Cm / {
        sub(/^\.(It )?Cm /, ""); sub(/ [.,]$/, ""); has[key, $0] }
    FILENAME != page && /^\[/ { gsub(/[][]/, ""); section = $0 }
    FILENAME != page && /^; .*: [^ ]*\|[^ ]*$/ { words = $NF; next }
    FILENAME != page && words { n = split(words, word, "|"); words = ""
        for (i = 1; i <= n; i++) if (!((section "." $1, word[i]) in has))
            print section "." $1 ": " word[i] }' \
    page="$page" "$page" table)
is "$bad" "" "every word that a setting may be is in the manual"
# settings that say one thing: the later source decides, one source may not both
printf '[schedule]\nchinchilla = 20\n' >base.ini
gtrain --config base.ini --set schedule.steps=5 --show-config |
    grep -A9 '^\[schedule' | sed -n 's/^\([stc][a-z]*\) = /\1 /p' >length
is "$(cat length)" "steps 5
tokens 0
chinchilla 0.0" "--set schedule.steps replaces the file's chinchilla"
echo 'steps = 5' >>base.ini
gtrain plan --config base.ini --set model.vocab=500 >out 2>&1
test $? = 2 && grep -q 'base.ini:3: schedule.steps: set only' out
ok $? "a file that sets steps and chinchilla is refused"
# groups of parameters
small="--set model.layers=1 --set model.width=8 --set model.heads=1 --set model.vocab=50
    --set schedule.steps=5"
# shellcheck disable=SC2086
gtrain plan $small --set 'optim.group.2=h.*.mlp.*.weight, lr=1e-3' \
    --set optim.group.5='vector decay=0.1' --tsv >out &&
    grep -q "^parameters of optim.group.2${tab}512$" out &&
    grep -q "^tensors without${tab}0$" out
ok $? "plan tells what the groups of parameters are"
refused() { # ASSIGNMENT MESSAGE
    # shellcheck disable=SC2086
    gtrain plan $small --set "$1" >out 2>&1
    test $? = 2 && grep -qF -e "$2" out || { cat out; false; }
    ok $? "$1 is refused"
}
refused optim.base_width=32 "requires model.tied = no"
usual=$small
small="$small --set model.tied=no --set optim.name=sgd"
refused optim.base_width=32 "requires optim.name = adamw, lion or muon"
small=$usual
refused 'optim.group.1=heads, lr=1e-3' "no parameter of the model is 'heads'"
refused 'optim.group.1=head, lr=1e-3' "no parameter of the model is 'head'"
refused 'optim.group.1=embed' "optim.group.1: expects a pattern and values"
refused 'optim.group.1=embed, lr=1e-3, lr=2e-3' "expects a pattern and values"
refused 'optim.group.1=embed, beta1=1' "expects a pattern and values"
refused 'optim.group.1=lr=1e-3' "expects a pattern and values"
# what is written into a checkpoint reads back, however long paths are
long=$(printf '%150s' '' | tr ' ' x)
mkdir -p "$dir/$long"
printf '[model]\npreset = gpt2\n' >"$dir/$long/long.ini"
gtrain --config "$dir/$long/long.ini" --show-config >all.ini
check "a settings file may have a long comment" \
    gtrain --config all.ini --show-config
if ! grep -q '^#define HAVE_DECL_INI_MAX_LINE 1' "$build/config.h"; then
    skip "a setting may be as long as a path" \
        "this libinih cannot read long lines"
else
    gtrain --set "data.train=$dir/$long/$long.bin" --show-config >all.ini
    gtrain --config all.ini --show-config >out 2>&1
    grep -q "^train = $dir/$long/$long.bin$" out
    ok $? "a setting may be as long as a path"
fi
mkdir -p suite/bin suite/share/gtrain/conf
cp "$build/gtrain" suite/bin
cp "$top/conf/quickstart.ini" suite/share/gtrain/conf
suite/bin/gtrain --config quickstart --show-config >out 2>&1
like out "^name = fast" "settings are found by name beside the program"
cp all.ini quickstart
suite/bin/gtrain --config quickstart --show-config >out 2>&1
like out "(from quickstart:3)" "a file of that name is read instead"
suite/bin/gtrain --config slowstart --show-config >out 2>&1
is "$? $(cat out)" "3 gtrain: cannot open slowstart: No such file or directory" \
    "a name that is not installed is a missing file"
printf '[optim\nlr = 1e-3\n' >open.ini
gtrain plan open.ini >out 2>&1
like out "^gtrain: open.ini:1: the section needs a closing ]$" \
    "a section without ] is refused by its own line"
printf '[optim]\nlr = 1e-3\n[grid]\noptim.lr = 1, 2\n' >sweep.ini
gtrain train --config sweep.ini >out 2>&1
like out "^gtrain: sweep.ini:4: .* sweep; 'gtrain plan sweep.ini' lists" \
    "gtrain train says that the file of a sweep is one, and starts nothing"
# a file that extends others; both of these extend the same one
mkdir -p sub/model
printf '[optim]\nlr = 1e-3\nbeta1 = 0.8\n[model]\nwidth = 32\n' >sub/base.ini
printf 'extends = ../base.ini\n[model]\nwidth = 64\n' >sub/model/small.ini
printf 'extends = base.ini , model/small.ini\n[optim]\nlr = 2e-3\n' >sub/run.ini
gtrain --config sub/run.ini --set optim.beta2=0.9 --show-config >all.ini
sed -n 's/^; .*(from \(.*\))$/\1/p' all.ini >origins
is "$(tr '\n' ' ' <origins)" \
    "sub/model/small.ini:3 sub/run.ini:3 sub/base.ini:3 --set " \
    "of several files the last value counts, and --show-config says whose it is"
printf 'extends = again.ini\n' >sub/loop.ini
printf 'extends = loop.ini\n' >sub/again.ini
printf 'extends = none.ini\n' >sub/gone.ini
printf 'extends = typo.ini\n' >sub/of.ini
printf '[optim]\nlearning = 1\n' >sub/typo.ini
printf '[optim]\nlr = 1\n[]\nextends = base.ini\n' >sub/late.ini
# extends_badly FILE STATUS MESSAGE
extends_badly() {
    gtrain --config "sub/$1" --show-config >out 2>&1
    is "$? $(cat out)" "$2 gtrain: sub/$3" "$1 is refused with the line at fault"
}
extends_badly loop.ini 2 \
    "loop.ini:1: sub/again.ini:1: sub/loop.ini extends itself"
extends_badly gone.ini 3 \
    "gone.ini:1: cannot open sub/none.ini: No such file or directory"
extends_badly of.ini 2 \
    "of.ini:1: sub/typo.ini:2: unknown setting optim.learning"
extends_badly late.ini 2 \
    "late.ini:4: extends must come before all settings"
done_testing
