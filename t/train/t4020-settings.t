#!/bin/sh
# gtrain.ini(5) tells every setting there is, with its default.
top=${top_srcdir:-..}
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
echo 1..7
page=$top/man/gtrain.ini.5
gtrain --show-config >"$dir/table"
# the keys of the manual, and its defaults as a settings file
sed -n 's/^\.It Cm \([a-z]*\)\.\([a-z0-9_]*\).*/\1.\2/p' "$page" >"$dir/manual"
awk '/^\[/ { gsub(/[][]/, ""); s = $0 } / = ?/ && !/^;/ { print s "." $1 }' \
    "$dir/table" >"$dir/keys"
if diff "$dir/keys" "$dir/manual" >"$dir/diff"; then
    echo "ok 1 - every setting is in the manual, in order, and no other"
else
    echo "not ok 1 - every setting is in the manual, in order, and no other"
    sed 's/^/# /' "$dir/diff"
fi
awk '/^\.It Cm [a-z]+\./ { dot = index($3, "."); key = substr($3, dot + 1)
        if (substr($3, 1, dot - 1) != s)
            print "[" (s = substr($3, 1, dot - 1)) "]" }
    /^Default: empty\.$/ { print key " =" }
    before == "Default:" { sub(/^\.Cm /, ""); sub(/ \.$/, "")
        gsub(/^"|"$/, ""); print key " = " $0 }
    { before = $0 }' "$page" >"$dir/defaults.ini"
gtrain --config "$dir/defaults.ini" --show-config |
    sed '/^;/{ / (from /!s/^/no default: /; s/ (from .*)//; }' \
    >"$dir/from-manual" 2>&1
if diff "$dir/table" "$dir/from-manual" >"$dir/diff"; then
    echo "ok 2 - with the default that the program has"
else
    echo "not ok 2 - with the default that the program has"
    sed 's/^/# /' "$dir/diff"
fi
# every word that a setting may be, in the paragraph of that setting
bad=$(awk '/^\.It Cm [a-z]+\./ { key = $3 } /^\.(It )?Cm / {
        sub(/^\.(It )?Cm /, ""); sub(/ [.,]$/, ""); has[key, $0] }
    FILENAME != page && /^\[/ { gsub(/[][]/, ""); section = $0 }
    FILENAME != page && /^; .*: [^ ]*\|[^ ]*$/ { words = $NF; next }
    FILENAME != page && words { n = split(words, word, "|"); words = ""
        for (i = 1; i <= n; i++) if (!((section "." $1, word[i]) in has))
            print section "." $1 ": " word[i] }' \
    page="$page" "$page" "$dir/table")
test -z "$bad" && echo "ok 3 - and every word that one may be" ||
    { echo "not ok 3 - and every word that one may be"
        echo "$bad" | sed 's/^/# /'; }
# settings that say one thing: the later source decides, one source may not both
printf '[schedule]\nchinchilla = 20\n' >"$dir/base.ini"
gtrain --config "$dir/base.ini" --set schedule.steps=5 --show-config |
    grep -A9 '^\[schedule' | sed -n 's/^\([stc][a-z]*\) = /\1 /p' >"$dir/length"
if printf 'steps 5\ntokens 0\nchinchilla 0.0\n' | diff - "$dir/length" \
    >"$dir/diff"; then
    echo "ok 4 - --set schedule.steps replaces the file's chinchilla"
else
    echo "not ok 4 - --set schedule.steps replaces the file's chinchilla"
    sed 's/^/# /' "$dir/diff"
fi
echo 'steps = 5' >>"$dir/base.ini"
gtrain plan --config "$dir/base.ini" --set model.vocab=500 >"$dir/out" 2>&1
if [ $? = 2 ] && grep -q 'base.ini:3: schedule.steps: set only' "$dir/out"; then
    echo "ok 5 - a file that gives both is refused"
else
    echo "not ok 5 - a file that gives both is refused"
    sed 's/^/# /' "$dir/out"
fi
# what is written into a checkpoint reads back, however long paths are
long=$(printf '%150s' '' | tr ' ' x)
mkdir -p "$dir/$long"
printf '[model]\npreset = gpt2\n' >"$dir/$long/long.ini"
gtrain --config "$dir/$long/long.ini" --show-config >"$dir/all.ini"
if gtrain --config "$dir/all.ini" --show-config >"$dir/out" 2>&1; then
    echo "ok 6 - a comment may be as long as it likes"
else
    echo "not ok 6 - a comment may be as long as it likes"
    sed 's/^/# /' "$dir/out"
fi
if ! grep -q '^#define HAVE_DECL_INI_MAX_LINE 1' config.h 2>/dev/null; then
    echo "ok 7 # SKIP this libinih cannot read long lines"
else
    gtrain --set "data.train=$dir/$long/$long.bin" --show-config >"$dir/all.ini"
    gtrain --config "$dir/all.ini" --show-config >"$dir/out" 2>&1
    if grep -q "^train = $dir/$long/$long.bin$" "$dir/out"; then
        echo "ok 7 - and a value as long as a path"
    else
        echo "not ok 7 - and a value as long as a path"
        sed 's/^/# /' "$dir/out"
    fi
fi
