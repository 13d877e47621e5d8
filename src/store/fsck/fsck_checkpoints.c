/*
 * fsck_checkpoints - compare checkpoints with the sums that training noted
 */
#include "config.h"
#include "store/fsck/fsck.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/sha256.h"
#include "store/format/chain.h"

enum { SUMS_MAX = 256 << 20 };

struct check {
    const struct run_info *run;
    fsck_fn *fn;
    void *arg;
};

/* The argument is a struct check, also for chain_check(). */
static void tell(void *check, const char *file, const char *what)
{
    const struct check *c = check;

    c->fn(c->arg, &(struct fsck_finding){ .name = c->run->name,
                                          .id = c->run->id,
                                          .file = file,
                                          .what = what });
}

/* Does one of the sums of this file fit?  *known if it has any; a step that was
 * written twice has two. */
static bool fits(const char *sums, const char *file, const char *sum,
                 bool *known)
{
    char *line = xasprintf("%s  %s\n", sum, file);
    char *tail = xasprintf("  %s\n", file);
    const bool found = strstr(sums, line) != NULL;

    *known = strstr(sums, tail) != NULL;
    FREE(line, tail);
    return found;
}

static int check_file(struct check *c, const char *sums, const char *file,
                      struct err *e)
{
    char *path = path_join(c->run->artifacts, file), sum[SHA256_TEXT];
    char *shown = path_join("artifacts", file);
    bool known = false;
    int64_t size;
    int ret = 0;

    if (path_is_link(path)) {
        tell(c, shown, "it is a link, and was not compared");
    } else if (path_exists(path)) {
        ret = sha256_file(path, sum, &size, e);
        if (ret == 0 && !fits(sums, file, sum, &known))
            tell(c, shown,
                 known ? "its SHA-256 is not that of checkpoints.sha256"
                       : "it is not in checkpoints.sha256");
    }
    FREE(shown, path);
    return ret;
}

int fsck_checkpoints(const struct run_info *run, fsck_fn *fn, void *arg,
                     struct err *e)
{
    struct check c = { run, fn, arg };
    static const char *const files[] = { "model.safetensors",
                                         "optim.safetensors", "state.json" };
    char *path = path_join(run->artifacts, "checkpoints.sha256");
    char *folder = path_join(run->artifacts, "checkpoints");
    struct path_list steps = { 0 };
    struct buf sums = BUF_INIT;
    int ret = buf_read_unlinked(&sums, path, SUMS_MAX, e);

    if (ret == 0 && !path_is_link(folder) && path_is_folder(folder))
        ret = path_list(&steps, folder, e);
    else
        ret = err_allow(ret, ERR_MISSING, e);
    for (size_t i = 0; i < steps.n && ret == 0; i++)
        for (size_t k = 0; k < 3 && ret == 0; k++) {
            char *file =
                xasprintf("checkpoints/%s/%s", steps.name[i], files[k]);

            if (strncmp(steps.name[i], "step-", 5) == 0)
                ret = check_file(&c, sums.s, file, e);
            free(file);
        }
    if (ret == 0)
        ret = chain_check(run, tell, &c, e);
    path_list_clear(&steps);
    buf_clear(&sums);
    FREE(folder, path);
    return ret;
}
