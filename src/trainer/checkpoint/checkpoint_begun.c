#include "config.h"
#include "trainer/checkpoint/checkpoint_begun.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "store/format/md5.h"
#include "store/format/store.h"
#include "store/read/runs.h"
#include "store/write/claimed_run.h"
#include "trainer/checkpoint/checkpoint_find.h"

/* ---- a run that was interrupted --------------------------------------- */

/* Were these the settings of a run that has not written all of them as
 * parameters?  If it has no artifact with them either, it has nothing yet, and
 * is another one that just begins, or was killed so early. */
static int compare_config(const struct run_info *run, const struct settings *s,
                          bool *same, struct err *e)
{
    char *path = path_join(run->folder, "artifacts/config.ini");
    struct buf then = BUF_INIT, now = BUF_INIT;
    struct err why = { 0 };
    int ret = buf_read_unlinked(&then, path, 1 << 20, &why);

    conf_dump(&s->conf, &now);
    *same = ret == 0 ? strcmp(then.s, now.s) == 0 : run->status != RUN_RUNNING;
    if (ret < 0 && why.kind == ERR_MISSING)
        ret = 0;
    else if (ret < 0)
        *e = why;
    buf_clear(&then);
    buf_clear(&now);
    free(path);
    return ret;
}

/* Did training begin it, with these settings? */
static int compare_settings(const struct run_info *run,
                            const struct settings *s, bool *same, struct err *e)
{
    const char *command = run_info_command(run);
    struct buf text = BUF_INIT;
    bool whole = true;

    *same = command && strncmp(command, "gtrain", 6) == 0;
    for (const struct setting *row = settings_table; row->key && *same; row++) {
        const char *was = run_info_param(run, row->key);

        if (strncmp(row->key, "run.", 4) == 0)
            continue;
        buf_trim(&text, 0);
        conf_text(&s->conf, row, &text);
        *same = !was || strcmp(was, text.s) == 0;
        whole &= was != NULL;
    }
    buf_clear(&text);
    return *same && !whole ? compare_config(run, s, same, e) : 0;
}

/* The id of the newest run of this experiment, name and settings if it did not
 * finish, or NULL. */
static int find_unfinished(const struct settings *s, char **id, struct err *e)
{
    struct runs runs = { 0 };
    const struct run_info *run = NULL;
    int ret = checkpoint_runs(&runs, s, e);

    for (size_t i = runs.n; i-- > 0 && !run && ret == 0;) {
        bool same = false;

        if (checkpoint_run_fits(&runs.run[i], s))
            ret = compare_settings(&runs.run[i], s, &same, e);
        run = same ? &runs.run[i] : NULL;
    }
    *id = ret == 0 && run && run->status != RUN_FINISHED &&
                  run->status != RUN_SCHEDULED
              ? xstrdup(run->id)
              : NULL;
    runs_free(&runs);
    return ret;
}

/* ---- a run that several processes begin at once ------------------------ */

/* The file that names the run of these settings while it is begun. */
static char *claim_path(const struct settings *s, struct err *e)
{
    struct buf text = BUF_INIT;
    char name[] = "begin.0123456789abcdef0123456789abcdef";

    buf_printf(&text, "%s\n%s\n", s->run.experiment, s->run.name);
    for (const struct setting *row = settings_table; row->key; row++)
        if (strncmp(row->key, "run.", 4) != 0) {
            conf_text(&s->conf, row, &text);
            buf_char(&text, '\n');
        }
    md5_hex(text.s, text.len, strchr(name, '.') + 1);
    buf_clear(&text);
    return store_names_file(s->run.root, name, e);
}

/* A process that was killed leaves its claim behind.  The run that it names is
 * another one's by now if it is neither new nor being written. */
static int drop_old_claim(const struct settings *s, const char *path, char **id,
                          struct err *e)
{
    struct runs runs = { 0 };
    int ret = runs_load_ids(&runs, s->run.root, id, 1,
                            LOAD_NO_METRICS | LOAD_DELETED, e);

    if (ret == 0 && runs.n == 1 &&
        (runs.run[0].deleted || runs.run[0].status != RUN_RUNNING)) {
        if (unlink(path) < 0 && errno != ENOENT)
            ret = err_sys(e, "cannot remove %s", path);
        free(*id);
        *id = NULL;
    }
    runs_free(&runs);
    return ret;
}

/* A process that began at the same time may have come further since.  Then
 * nobody needs the claim, which is perhaps of this process. */
static int check_progress(const struct settings *s, const char *claim,
                          struct err *e)
{
    char *path;
    int ret = checkpoint_find(s, "auto", &path, e);

    if (ret == 0 && path) {
        unlink(claim);
        ret = err_set(e, ERR_BUSY,
                      "another process has just written %s; the same command "
                      "resumes from it",
                      path);
    }
    free(path);
    return ret;
}

/* Who looks after the claim was made sees any run whose claim is gone. */
static int choose(const struct settings *s, const char *path, char **claimed,
                  char **begun, struct err *e)
{
    *claimed = *begun = NULL;
    while (!*claimed && !*begun)
        if (claimed_run_id(path, true, claimed, e) < 0 ||
            check_progress(s, path, e) < 0 ||
            find_unfinished(s, begun, e) < 0 ||
            (!*begun && drop_old_claim(s, path, claimed, e) < 0))
            return -1;
    return 0;
}

int checkpoint_begin_run(struct run **run, const struct run_conf *c,
                         const struct settings *s, char **claim, struct err *e)
{
    struct run_conf again = *c;
    char *claimed = NULL, *begun = NULL;
    bool made = false;
    int ret = store_make(s->run.root, e);

    *claim = ret == 0 ? claim_path(s, e) : NULL;
    ret = *claim ? choose(s, *claim, &claimed, &begun, e) : -1;
    again.resume = begun;
    if (ret == 0)
        ret = begun ? run_begin(run, &again, e)
                    : claimed_run_begin(run, c, claimed, &made, e);
    if (ret == 0 && !made)
        run_rewind(*run, -1);
    if (ret == 0)
        log_info("no checkpoint yet; %s",
                 made ? "starting a new run"
                      : "beginning the interrupted run again");
    else if (begun)
        checkpoint_drop_claim(claim);
    FREE(claimed, begun);
    return ret;
}

void checkpoint_drop_claim(char **claim)
{
    if (*claim)
        unlink(*claim);
    free(*claim);
    *claim = NULL;
}
