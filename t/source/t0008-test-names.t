#!/bin/sh
# The name of a test says what it tests without the tests around it.
. "$(dirname "$0")/../lib/tap.sh"
command -v perl >/dev/null || skip_all "no perl"

check "the names of tests are sentences" "$top/scripts/test-names" "$top"

mkdir -p t/a
cat >t/a/x.t <<'END'
ok $? "and the same weights"
is "$(wc -l <"$a b")" 0 \
    "two words"
skip "so does $name" "no mandoc"
like out "it fails" "the message names the file"
ok $? "$name"
END
cat >t/a/x.c <<'END'
    ok(f("a, b") && (g(')') || h), "the same %d bytes", n);
    skip("no data", "%s: %s", name, what);
    ok(good, "%d bytes are read", n);
END
"$top/scripts/test-names" . >out 2>err
is "$(cat out)" "t/a/x.c:1: 'the same ... bytes' begins with 'the same'
t/a/x.t:1: 'and the same weights' begins with 'and'
t/a/x.t:2: 'two words' has fewer than three words
t/a/x.t:4: 'so does ...' begins with 'so'" \
    "scripts/test-names finds names that mean nothing alone"
done_testing
