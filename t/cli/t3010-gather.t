#!/bin/sh
# gdata gather: what it reads and leaves out.
. "$(dirname "$0")/../lib/tap.sh"
has() {         # has NAME FILE FIXED-STRING
    n=$((n + 1))
    if grep -qF -- "$3" "$2"; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        sed 's/^/# /' "$2" | head -20
    fi
}
long() {        # a paragraph of about 400 bytes about $1, on several lines
    for i in one two three four five six; do
        echo "The $1$i is the $1$i that can be in the $1$i of all, or a $1$i."
    done
}

mkdir -p root/usr/share/man/man1 root/usr/share/doc/x root/usr/include \
    root/usr/share/common-licenses root/usr/lib/aarch64/perl/5.40 \
    root/usr/lib/python3
{ echo '.SH NAME'; echo 'x \- nothing'; echo .PP; long manual |
    sed 's/that can/\\fIthat\\fR can/'; echo '.B request'
  long request; } | gzip >root/usr/share/man/man1/x.1.gz
{ printf 'Title\n=====\n\n'; long doc; echo; echo 'Too short, it is.'; echo
  echo '+------+-------+ of the | 0x12 | 0x34 | and of the | 0x56 | 0x78 |.'
} | gzip >root/usr/share/doc/x/README.Debian.gz
{ echo 'sub nothing { return 1; }'; echo; echo '=head1 NAME'; echo
  long perl | sed 's/that can/C<that I<can>>/'; echo; echo '=cut'; } \
    >root/usr/lib/aarch64/perl/5.40/X.pm
{ long licence; echo; long licence | sed 's/six/seven/g'; echo; long more; } \
    >root/usr/share/common-licenses/GPL-9
{ echo '/*'; long header | sed 's/^/ * /'; echo ' */'; echo 'int x(void);'
} >root/usr/include/x.h
{ echo 'def f():'; long python | sed 's/^/    # /'; } \
    >root/usr/lib/python3/x.py
{ long binary; printf 'a\000b'; } >root/usr/include/binary.h
echo short >root/usr/include/short.h
long changes >root/usr/share/doc/x/changelog
printf '%s\n' 'Der Text ist deutsch, und er hat genug Worte und Buchstaben,' \
    'aber nicht die Worte, an denen man Englisch erkennt.' >words
for i in 1 2 3 4; do cat words; done >root/usr/share/doc/x/README.de

gdata gather --root root -o corpus --val 0.3 --tsv >table 2>err
is $? 0 "gather of a folder tree succeeds"
cat corpus/train.jsonl corpus/val.jsonl >all
is "$(wc -l <all)" 6 "gather writes a document for each file with text"
check "gather reads manuals, without their markup" \
    grep -qF '"text":"The manualone is the manualone that can be' all
check "a request of a manual ends a paragraph" \
    grep -qF 'a manualsix.\nThe requestone' all
check "gather reads compressed documentation" \
    grep -qF '"text":"The docone is' all
check "gather reads the modules of Perl of any machine, without markup" \
    grep -qF '"text":"The perlone is the perlone that can be' all
check "gather reads comments of C" \
    grep -qF '"text":"The headerone is' all
check "gather reads comments of Python" \
    grep -qF 'The pythonone is' all
check "gather records the source of a document" \
    grep -qF '"source":"/usr/share/doc/x/README.Debian.gz"}' all
is "$(grep -cE 'binary|changes|deutsch|0x12|Too short|nothing|x.void' all)" 0 \
    "gather leaves out binaries, change logs, code, tables, other languages"
is "$(grep -o 'The licenceone is the' all | wc -l)" 1 \
    "gather leaves out a paragraph of which most was there before"
check "gather prints a table with a row for licences" \
    grep -qF "licences	1	1	" table

gdata gather -q --root root -o out2 --val 0.3 >/dev/null
is "$(cat out2/*)" "$(cat corpus/*)" "gather of equal files gives equal corpora"
gdata gather -q --root root -o out3 --val 0 --size 1 >/dev/null
is "$(wc -l <out3/train.jsonl)" 1 "gather --size limits the corpus"
is "$(wc -c <out3/val.jsonl)" 0 "gather --val 0 holds nothing out"
mkdir nothing
gdata gather --root nothing -o out4 2>err
is $? 3 "gather ends with status 3 when it finds nothing"
is "$(find out4 -type f | wc -l)" 0 \
    "gather leaves no file when it finds nothing"

done_testing
