#!/bin/sh
# Names keep to the words of doc/words.md.
. "$(dirname "$0")/../lib/tap.sh"
command -v perl >/dev/null || skip_all "no perl"

check "names have the words of the glossary" "$top/scripts/words" "$top"

mkdir -p doc src/a
cat >doc/words.md <<'END'
| word | meaning | not |
|---|---|---|
| rank | one process of a job | worker (a thread), node |
| job | all ranks | |
| run | a record of a training | job, take down, session (of a user) |
END
cat >src/a/nodes.c <<'END'
/* struct node { */
struct worker_list { int take_down; };
enum takes { DOWN };
static int node_of(struct job *j)
{
}
int job_open(void)
{
    return "struct node {"[0];
}
struct take_downs
{
};
END
"$top/scripts/words" . >out 2>err
is $? 1 "a name with a word that is replaced ends the check with status 1"
is "$(cat out)" "src/a/nodes.c: node_of: 'node' is 'rank'
src/a/nodes.c: nodes: 'node' is 'rank'
src/a/nodes.c: take_downs: 'take down' is 'run'
doc/words.md: no name needs what parentheses allow: session" \
    "scripts/words finds each name, and a word that is allowed for nothing"
done_testing
