#!/bin/sh
# The sources keep the rules that a script can check.
. "$(dirname "$0")/../lib/tap.sh"

check "the sources keep the style" "$top/scripts/style" "$top"

mkdir src kernels t bench
echo 'int f(void) { return atoi("1"); }' >src/x.c
"$top/scripts/style" . >out 2>err
is $? 1 "scripts/style finds a banned function"
done_testing
