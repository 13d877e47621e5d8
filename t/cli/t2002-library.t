#!/bin/sh
# The installed library: its example compiles, runs, and gtrack's own reader
# finds what it wrote.  Nothing of ours but gtrack_... can be seen in it.
. "$(dirname "$0")/../lib/tap.sh"
show_commands

(cd "$build" && ${MAKE:-make} -s install-libLIBRARIES install-libgtrack-so \
    install-includeHEADERS install-pkgconfigDATA prefix="$dir/usr" exec_prefix="$dir/usr" \
    libdir="$dir/usr/lib" includedir="$dir/usr/include") \
    >log 2>&1
ok $? "the library installs"

cat >example.c <<'C'
#include <gtrack.h>
#include <stdio.h>

/* names that the library uses inside: they are ours here */
int err_set(void) { return 1; }
int buf_add(void) { return 2; }

int main(int argc, char **argv)
{
    char why[GTRACK_WHY];
    struct gtrack *run = gtrack_open(argv[argc - 1], "c4", NULL, why);

    if (!run) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    gtrack_param(run, "lr", "0.0006");
    gtrack_tag(run, "kind", "example");
    for (int step = 1; step <= 100; step++) {
        const char *keys[] = { "lr", "tokens" };
        const double values[] = { 0.0006, 1024.0 * step };

        gtrack_metric(run, "train/loss", step, 4.0 / step);
        gtrack_metrics(run, step, keys, values, 2);
    }
    if (gtrack_end(run, GTRACK_FINISHED, why) < 0) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    gtrack_metric(NULL, "none", 0, 0);
    return gtrack_end(NULL, GTRACK_FINISHED, why) + err_set() + buf_add() - 3;
}
C
flags=
case $(nm "$build/libgtrack.a" 2>/dev/null) in
*__asan_*) flags="-fsanitize=address,undefined" ;;
*__gcov_*) flags=--coverage ;;
esac
pc=$build/src/store/lib/gtrack.pc
flags="$flags -I$dir/usr/include -L$dir/usr/lib"
libs=$(sed -n 's/^Libs: -L[^ ]* //p' "$pc")
private=$(sed -n 's/^Libs.private: //p' "$pc")
export LD_LIBRARY_PATH="$dir/usr/lib"
# shellcheck disable=SC2086
${CC:-cc} -Wall -Wextra -Werror example.c -o example $flags $libs 2>log
ok $? "the example compiles and links by what gtrack.pc says"
readelf -d example | grep -q 'NEEDED.*libgtrack\.so\.0'
ok $? "a program needs libgtrack.so.0 by this name"
./example mlruns
ok $? "the example of the library runs"
"$build/t/lib/store_tool" check mlruns >out 2>&1 &&
    grep -q '^1 runs 300 points 1 attempts' out
ok $? "the example writes a run of 300 points"
test "$(cat mlruns/*/*/params/lr)" = 0.0006
ok $? "the example writes a parameter"
# the manual's example, as it stands there
sed -n '/^#include/,/^\.Ed/p' "$top/man/gtrack.3" | sed '/^\.Ed/d; s/\\e/\\/g' \
    >manual.c
# shellcheck disable=SC2086
${CC:-cc} -Wall -Wextra -Werror manual.c -o manual $flags \
    -l:libgtrack.a $private 2>log && LD_LIBRARY_PATH='' ./manual &&
    test "$(cat mlruns/*/*/metrics/train/loss | wc -l)" = 200
ok $? "the example of gtrack(3) compiles and runs with the static library"
${CXX:-c++} -x c++ -fsyntax-only -Wall -Werror "$top/src/store/lib/gtrack.h"
ok $? "the header compiles as C++"
test -z "$(nm "$build/libgtrack.a" | awk '$2 ~ /^[TDBRC]$/ {print $3}' |
    grep -v '^gtrack_')"
ok $? "the library exports only names that begin with gtrack_"
# what is declared, exported and described are the same names
grep -o '\bgtrack_[a-z_]*(' "$top/src/store/lib/gtrack.h" | tr -d '(' |
    sort -u >declared
nm -D --defined-only "$build/libgtrack.so.0" |
    sed -n 's/.* T \(gtrack_[a-z_]*\)@@GTRACK_0.1$/\1/p' | sort >exported
cmp declared exported
ok $? "the shared library exports the functions of gtrack.h, with a version"
test "$(nm -D --defined-only "$build/libgtrack.so.0" |
    grep -c ' [TDBRW] ')" -eq "$(wc -l <declared)"
ok $? "the shared library exports nothing else"
sed -n '/^\.Sh NAME/,/^\.Sh SYN/s/^\.Nm \(gtrack_[a-z_]*\).*/\1/p' \
    "$top/man/gtrack.3" | sort >described
cmp declared described
ok $? "gtrack(3) names every function of gtrack.h"
cat >abi.c <<'C'
#include <gtrack.h>
#define HOLDS(what, number) _Static_assert((what) == (number), #what)
#define AT(name, member, place) \
    HOLDS(offsetof(struct gtrack_##name, member), (place) * sizeof(void *))

HOLDS(GTRACK_WHY, 512);
HOLDS(GTRACK_FINISHED, 3);
HOLDS(GTRACK_PREEMPTED, 6);
HOLDS(GTRACK_NO_CAPTURE, 1);
HOLDS(GTRACK_STEAL, 2);
AT(conf, size, 0); AT(conf, root, 1); AT(conf, experiment, 2);
AT(conf, name, 3); AT(conf, id, 4); AT(conf, parent, 5); AT(conf, resume, 6);
AT(conf, command, 7); AT(conf, flags, 8);
AT(dataset, size, 0); AT(dataset, name, 1); AT(dataset, digest, 2);
AT(dataset, source, 3); AT(dataset, source_type, 4); AT(dataset, schema, 5);
AT(dataset, profile, 6); AT(dataset, context, 7);
C
# shellcheck disable=SC2086
${CC:-cc} -fsyntax-only -Wall $flags abi.c
ok $? "the structs and numbers of gtrack.h are those of libgtrack.so.0"
./example /proc/nowhere >/dev/null 2>err
test $? -eq 1 && grep -q 'cannot create the folder /proc/nowhere' err
ok $? "a store that cannot be created is one message"
done_testing
