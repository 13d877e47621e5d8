#!/bin/sh
# The manuals are well formed: mandoc's lint finds nothing, groff agrees.
. "$(dirname "$0")/../lib/tap.sh"

for page in "$top"/man/*.[1-8]; do
    name=${page##*/}
    if command -v mandoc >/dev/null; then
        # our pages refer to each other before they are installed
        is "$(mandoc -Tlint -Wwarning "$page" |
            grep -v 'referenced manual not found')" "" \
            "mandoc -Tlint finds nothing in $name"
    else
        skip "mandoc -Tlint finds nothing in $name" "no mandoc"
    fi
    if command -v groff >/dev/null && test -d /usr/share/groff; then
        is "$(groff -mandoc -ww -Tutf8 "$page" 2>&1 >/dev/null)" "" \
            "groff formats $name without a warning"
    else
        skip "groff formats $name without a warning" "no groff"
    fi
done
done_testing
