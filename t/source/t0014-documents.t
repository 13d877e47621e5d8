#!/bin/sh
# What the installed documents link to is installed with them.
. "$(dirname "$0")/../lib/tap.sh"
make -s -C "$build" install-dist_docDATA install-nobase_dist_docDATA \
    DESTDIR="$dir/root" docdir=/doc >out 2>&1
ok $? "the documents are installed"
for f in $(cd root/doc && find . -name '*.md'); do
    grep -o '](\([^)#]*\)' "root/doc/$f" | sed 's/^](//' | sort -u >links
    missing=
    while read -r link; do
        case $link in
        ''|http*) ;;
        *) test -e "root/doc/${f%/*}/$link" || missing="$missing $link" ;;
        esac
    done <links
    is "$missing" "" "the links of ${f#./} lead to installed files"
done
done_testing
