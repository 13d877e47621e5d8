#!/bin/sh
# What comments and documents name exists, every source file says what it is
# for, and git tracks what the tarball has.
. "$(dirname "$0")/../lib/tap.sh"
command -v perl >/dev/null || skip_all "no perl"

check "what comments and documents name is in the source" \
    "$top/scripts/facts" "$top"

mkdir -p src/a doc
printf '/* a - do it\n * as old_name() in a/gone.c did, see b.c */\n' >src/a/b.c
echo 'int f(void);' >src/a/c.h
echo 'Call no_such_name() of `src/a/none.h`, or new_name() of `a/c.h`.' \
    >doc/x.md
printf '/* d - call it */\nint new_name(void);\n' >src/a/d.h
printf '| `src/%s/` | %s | x |\n' a 6 b 1,000 >doc/architecture.md
mkdir src/b
seq 1046 >src/b/x.txt
echo 'Everything may have 1,050 lines.' >>doc/architecture.md
"$top/scripts/facts" . >out 2>err
is "$(sort out)" "doc/architecture.md:1: src/a/ has 5 lines, not 6
doc/architecture.md:3: there are 1051 lines
doc/x.md:1: there is no file src/a/none.h
doc/x.md:1: there is no no_such_name()
src/a/b.c:2: there is no file a/gone.c
src/a/b.c:2: there is no old_name()
src/a/c.h:1: does not begin by saying what it is for" \
    "scripts/facts finds names that are gone, files without a purpose and growth"

# SECURITY.md names the test of each promise: its file and, in quotes there, its
# name.
# shellcheck disable=SC2016 # the $ are for perl
is "$(cd "$top" && perl -0777 -ne '
    while (/^    (t\/\S+): (.*?)(?=\n\n|\n    t\/|\Z)/gms) {
        my ($file, $name) = ($1, $2);
        $name =~ s/\s+/ /g;
        open my $in, "<", $file or print "no $file\n" and next;
        my $text = do { local $/; <$in> };
        $text =~ s/"\s*\n\s*"//g;
        print "no \"$name\" in $file\n" if index($text, "$name\"") < 0;
        $count++;
    }
    print "only ", $count // 0, " promises\n" if ($count // 0) < 20;
' SECURITY.md)" "" "SECURITY.md names tests that exist"

# What only git has.
cat >git-only <<'END'
.ci/run
.gitignore
END
# What make and automake add to the tarball.
made='^(commit|Makefile\.in|aclocal\.m4|build-aux/.*|config\.h\.in|configure)$'
name="git tracks the files of the tarball and no others"
if ! git -C "$top" ls-files >tracked 2>err || ! test -s tracked; then
    skip "$name" "this is no git checkout"
    skip "no document is empty" "this is no git checkout"
else
    unset MAKEFLAGS MFLAGS
    ${MAKE:-make} -s -C "$build" distdir distdir="$dir/dist" >out 2>err
    (cd dist && find . -type f) | sed 's|^\./||' | grep -vE "$made" |
        LC_ALL=C sort - git-only >want
    is "$(LC_ALL=C sort tracked | diff - want)" "" "$name"
    is "$(find dist -empty -name '*.md')" "" "no document is empty"
fi
done_testing
