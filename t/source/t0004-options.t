#!/bin/sh
# Each program's option tables and its manual tell the same, and --help works.
. "$(dirname "$0")/../lib/tap.sh"
top=${top_srcdir:-..}
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
tab=$(printf '\t')
for page in "$top"/man/*.1; do
    prog=${page##*/}
    prog=${prog%.1}
    test -x "./$prog" || continue
    "./$prog" --dump-options >"$dir/table" ||
        { result 1 "$prog --dump-options"; continue; }

    # every long option of the table is in the manual
    cut -d"$tab" -f3 "$dir/table" | grep . | LC_ALL=C sort -u >"$dir/parsed"
    grep -oE '(Fl Fl|Fl -|,Fl Fl)[ ]?[a-z0-9][a-z0-9-]*' "$page" |
        sed 's/.* //; s/^-*//' | LC_ALL=C sort -u >"$dir/manual"
    result $? "$prog.1 names options"
    bad=$(LC_ALL=C comm -23 "$dir/parsed" "$dir/manual" |
        sed "s/^/not in $prog.1: --/")
    test -z "$bad"
    result $? "every option of $prog is in its manual" "$bad"

    # and each that the manual marks up is parsed, here or by another of ours
    cat /dev/null >"$dir/all"
    for other in gtrain gdata gtrack gplot; do
        test -x "./$other" &&
            "./$other" --dump-options | cut -d"$tab" -f3 >>"$dir/all"
    done
    bad=$(LC_ALL=C sort -u "$dir/all" | LC_ALL=C comm -13 - "$dir/manual" |
        sed "s/^/in $prog.1 but not parsed: --/")
    test -z "$bad"
    result $? "every option in $prog.1 is parsed" "$bad"

    # every command is in the manual, and has a help text that works
    bad=
    for cmd in $(cut -d"$tab" -f1 "$dir/table" | grep . | uniq); do
        grep -qE "^\.(It|Ss|Nm|Ic|Cm|Sx).*\\<$cmd\\>" "$page" ||
            bad="$bad$cmd is not in $prog.1
"
        "./$prog" "$cmd" --help >"$dir/help" 2>&1 ||
            bad="$bad$prog $cmd --help fails
"
        test "$(wc -L <"$dir/help")" -le 80 ||
            bad="$bad$prog $cmd --help is wider than 80 columns
"
    done
    test -z "$bad"
    result $? "every command of $prog is in its manual" "$bad"

    # and options may stand before it, their arguments with them, but for
    # those that take one in some commands only
    awk -F"$tab" '$3 != "" { has[$3, $4 != ""]; name[$3] }
        END { for (n in name) if ((n, 0) in has && (n, 1) in has) print n }' \
        "$dir/table" >"$dir/both"
    bad=
    for cmd in $(cut -d"$tab" -f1 "$dir/table" | grep . | uniq); do
        "./$prog" "$cmd" --help >"$dir/help" 2>&1
        for opt in $(awk -F"$tab" -v cmd="$cmd" 'FNR == NR { both[$1]; next }
            $1 == cmd && $3 != "" && $3 != "help" && !($3 in both) {
                print "--" $3; if ($4 != "") print "1" }' \
            "$dir/both" "$dir/table"); do
            set -- "$@" "$opt"
        done
        "./$prog" "$@" "$cmd" --help 2>&1 | cmp -s - "$dir/help" ||
            bad="$bad$prog $* $cmd fails
"
        set --
    done
    test -z "$bad"
    result $? "options of $prog may stand before the command" "$bad"

    "./$prog" --help >/dev/full 2>/dev/null
    test $? -eq 1
    result $? "$prog says so when it cannot write"
    "./$prog" --no-such-option >/dev/null 2>"$dir/err"
    test $? -eq 2 && test "$(wc -l <"$dir/err")" -eq 1
    result $? "$prog refuses an unknown option in one line" "$(cat "$dir/err")"
done
test $n -gt 0 || { echo "1..0 # SKIP no program with a manual yet"; exit 0; }
echo "1..$n"
