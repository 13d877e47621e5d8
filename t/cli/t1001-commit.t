#!/bin/sh
# --version names the commit that a program was built from.
. "$(dirname "$0")/../lib/tap.sh"

gtrain --version >out
sed 's/^[a-z]* //' out >want
for program in gdata gtrack gplot; do
    $program --version | sed "s/^$program //" | cmp -s - want
    ok $? "$program and gtrain are of one version and commit"
done
if test -n "$("$top/scripts/commit")"; then
    like out '^gtrain [0-9.]* (commit [0-9a-f]\{12,\}\(-dirty\)\{0,1\})$' \
        "a program that was built in a repository names the commit"
else
    skip "a program that was built in a repository names the commit" \
        "the commit of this tree is not known"
fi

# a tree with the script alone
mkdir -p tree/scripts && cp "$top/scripts/commit" tree/scripts
is "$(tree/scripts/commit)" "" "a tree without repository and file has no commit"
echo 0123456789ab >tree/commit
is "$(tree/scripts/commit)" "0123456789ab" "the file of a tarball has the commit"
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a
if git init -q tree 2>/dev/null && git -C tree add . &&
    git -C tree commit -qm one && git -C tree tag v0.0 -m tag; then
    head=$(git -C tree rev-parse --short=12 HEAD)
    is "$(tree/scripts/commit)" "$head" "a repository has precedence"
    echo changed >tree/commit
    is "$(tree/scripts/commit)" "$head-dirty" "a file that was changed is marked"
else
    skip "a repository has precedence" "no git"
    skip "a file that was changed is marked" "no git"
fi
done_testing
