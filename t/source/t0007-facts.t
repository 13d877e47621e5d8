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
"$top/scripts/facts" . >out 2>err
is "$(sort out)" "doc/x.md:1: there is no file src/a/none.h
doc/x.md:1: there is no no_such_name()
src/a/b.c:2: there is no file a/gone.c
src/a/b.c:2: there is no old_name()
src/a/c.h:1: does not begin by saying what it is for" \
    "scripts/facts finds names that are gone and files without a purpose"

# What only git has.
cat >git-only <<'END'
.ci/run
.gitignore
END
# What automake adds to the tarball.
made='^(Makefile\.in|aclocal\.m4|build-aux/.*|config\.h\.in|configure)$'
name="git tracks the files of the tarball and no others"
if ! git -C "$top" ls-files >tracked 2>err || ! test -s tracked; then
    skip "$name" "this is no git checkout"
else
    unset MAKEFLAGS MFLAGS
    ${MAKE:-make} -s -C "$build" distdir distdir="$dir/dist" >out 2>err
    (cd dist && find . -type f) | sed 's|^\./||' | grep -vE "$made" |
        LC_ALL=C sort - git-only >want
    is "$(LC_ALL=C sort tracked | diff - want)" "" "$name"
fi
done_testing
