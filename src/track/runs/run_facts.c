#include "config.h"
#include "track/runs/run_facts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/path.h"
#include "store/format/attempt.h"

int run_facts_next_step(const struct run_info *r, int64_t *next, struct err *e)
{
    const int64_t last = run_info_last_step(r);

    if (r->unread)
        return err_set(e, ERR_INPUT, "the last step of run %s is not known: %s",
                       r->name, r->damage);
    if (last == INT64_MAX)
        return err_set(e, ERR_USAGE,
                       "run %s has a point at step %" PRId64
                       ", and no step can follow it",
                       r->name, last);
    *next = last + 1;
    return 0;
}

char *run_facts_output(const struct run_info *r)
{
    static const char *const names[] = { "gtrain.log", "log.txt", "stdout.txt",
                                         "output.log" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = path_join(r->artifacts, names[i]);

        if (path_exists(path))
            return path;
        free(path);
    }
    return NULL;
}

bool run_facts_command(struct buf *b, const struct run_info *r)
{
    const char *command = r->attempt && r->attempt->command
                              ? r->attempt->command
                              : run_info_tag(r, "mlflow.source.name");
    const char *folder = run_info_tag(r, "gtrack.folder");
    const char *commit = run_info_tag(r, "mlflow.source.git.commit");

    if (!command)
        return false;
    if (folder) {
        buf_str(b, "cd ");
        buf_shell_word(b, folder);
        buf_str(b, " && ");
    }
    if (commit && commit[0] &&
        strspn(commit, "0123456789abcdef") == strlen(commit))
        buf_printf(b, "git checkout %s && ", commit);
    buf_str(b, command);
    return true;
}

enum table_mark run_facts_mark(enum run_status s)
{
    static const enum table_mark marks[] = {
        [RUN_RUNNING] = MARK_HEAD,  [RUN_SCHEDULED] = MARK_HEAD,
        [RUN_FINISHED] = MARK_GOOD, [RUN_FAILED] = MARK_BAD,
        [RUN_KILLED] = MARK_WARN,   [RUN_PREEMPTED] = MARK_WARN,
        [RUN_STOPPED] = MARK_WARN,  [RUN_STALE] = MARK_BAD,
    };

    return marks[s];
}
