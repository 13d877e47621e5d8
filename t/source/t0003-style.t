#!/bin/sh
# The sources keep the rules that a script can check.
. "$(dirname "$0")/../lib/tap.sh"

check "the sources keep the style" "$top/scripts/style" "$top"

mkdir src kernels t bench
echo 'int f(void) { return atoi("1"); }' >src/x.c
"$top/scripts/style" . >out 2>err
is $? 1 "scripts/style finds a banned function"
printf 'void f(void)\n{\n    printf("a %%%%s\\n",\n           name);\n    puts(name);\n}\n' \
    >src/x.c
"$top/scripts/style" . >out 2>err
is "$(cut -d : -f 1,2 out | tr '\n' ' ')" "src/x.c:4 src/x.c:5 " \
    "scripts/style finds text that is printed without pager.h"
done_testing
