#!/bin/sh
# The manuals are well formed: mandoc's lint finds nothing, groff agrees.
top=${top_srcdir:-..}
n=0
result() {
    n=$((n + 1))
    if test -z "$3"; then
        echo "ok $n - $1: $2"
    else
        echo "not ok $n - $1: $2"
        printf '%s\n' "$3" | sed 's/^/# /'
    fi
}
ls "$top"/man/*.[1-8] >/dev/null 2>&1 || { echo "1..0 # SKIP none"; exit 0; }
for page in "$top"/man/*.[1-8]; do
    name=${page##*/}
    if command -v mandoc >/dev/null; then
        # our pages refer to each other before they are installed
        result "$name" "mandoc lint" "$(mandoc -Tlint -Wwarning "$page" |
            grep -v 'referenced manual not found')"
    else
        n=$((n + 1)); echo "ok $n - $name # SKIP no mandoc"
    fi
    if command -v groff >/dev/null && test -d /usr/share/groff; then
        result "$name" "groff" \
            "$(groff -mandoc -ww -Tutf8 "$page" 2>&1 >/dev/null)"
    else
        n=$((n + 1)); echo "ok $n - $name # SKIP no groff"
    fi
done
echo "1..$n"
