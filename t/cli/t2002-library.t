#!/bin/sh
# The installed library: its example compiles, runs, and gtrack's own reader
# finds what it wrote.  Nothing of ours but gtrack_... can be seen in it.
. "$(dirname "$0")/../lib/tap.sh"

(cd "$build" && ${MAKE:-make} -s install-libLIBRARIES install-includeHEADERS \
    install-pkgconfigDATA prefix="$dir/usr" exec_prefix="$dir/usr" \
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
libs="-I$dir/usr/include -L$dir/usr/lib $(sed -n 's/^Libs: -L[^ ]* //p' \
    "$build/src/store/gtrack.pc")"
# shellcheck disable=SC2086
${CC:-cc} -Wall -Wextra -Werror example.c -o example $libs \
    $flags 2>log
ok $? "the example compiles and links by what gtrack.pc says"
./example mlruns
ok $? "the example of the library runs"
"$build/t/lib/store-tool" check mlruns >out 2>&1 &&
    grep -q '^1 runs 300 points 1 attempts' out
ok $? "the example writes a run of 300 points"
test "$(cat mlruns/*/*/params/lr)" = 0.0006
ok $? "the example writes a parameter"
# the manual's example, as it stands there
sed -n '/^#include/,/^\.Ed/p' "$top/man/gtrack.3" | sed '/^\.Ed/d; s/\\e/\\/g' \
    >manual.c
# shellcheck disable=SC2086
${CC:-cc} -Wall -Wextra -Werror manual.c -o manual $libs \
    $flags 2>log && ./manual &&
    test "$(cat mlruns/*/*/metrics/train/loss | wc -l)" = 200
ok $? "the example of gtrack(3) compiles and runs"
${CXX:-c++} -x c++ -fsyntax-only -Wall -Werror "$top/src/store/gtrack.h"
ok $? "the header compiles as C++"
test -z "$(nm "$build/libgtrack.a" | awk '$2 ~ /^[TDBRC]$/ {print $3}' |
    grep -v '^gtrack_')"
ok $? "the library exports only names that begin with gtrack_"
./example /proc/nowhere >/dev/null 2>err
test $? -eq 1 && grep -q 'cannot create the folder /proc/nowhere' err
ok $? "a store that cannot be created is one message"
done_testing
