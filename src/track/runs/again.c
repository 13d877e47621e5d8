#include "config.h"
#include "track/runs/again.h"

#include <string.h>

#include "store/format/attempt.h"

bool again_command(struct buf *b, const struct run_info *r)
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
