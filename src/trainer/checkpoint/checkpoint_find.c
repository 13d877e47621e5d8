#include "config.h"
#include "trainer/checkpoint/checkpoint_find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "store/format/store.h"
#include "trainer/checkpoint/checkpoint_state.h"

int64_t checkpoint_step(const char *name)
{
    char *end;
    long long n;

    if (strncmp(name, "step-", 5) != 0)
        return -1;
    n = strtoll(name + 5, &end, 10);
    return *end || end == name + 5 || n < 0 ? -1 : n;
}

static int by_step(const void *a, const void *b)
{
    const int64_t x = checkpoint_step(*(char *const *)a);
    const int64_t y = checkpoint_step(*(char *const *)b);

    return (x > y) - (x < y);
}

int checkpoint_names(struct path_list *l, const char *folder, struct err *e)
{
    AUTO(path_list_clear) struct path_list all = { 0 };
    const int ret = path_list(&all, folder, e);

    *l = (struct path_list){ 0 };
    for (size_t i = 0; i < all.n; i++)
        if (checkpoint_step(all.name[i]) >= 0)
            path_list_put(l, folder, all.name[i]);
    /* by number: from step 10^8 on, names have more digits */
    SORT(l->name, l->n, by_step);
    return ret;
}

int checkpoint_newest(const char *folder, int64_t last, char **path,
                      struct err *e)
{
    AUTO(path_list_clear) struct path_list all = { 0 };
    struct err why = { 0 };
    int ret = checkpoint_names(&all, folder, &why);
    bool any = false;

    *path = NULL;
    for (size_t i = all.n; i-- > 0 && !*path && why.kind != ERR_SYSTEM;) {
        if (checkpoint_step(all.name[i]) > last)
            continue;
        any = true;
        *path = xstrdup(path_listed(&all, i));
        ret = checkpoint_verify(*path, &why);
        if (ret == 0)
            break;
        if (why.kind != ERR_SYSTEM)
            log_warn("skipping %s: %s", *path, why.text);
        free(*path);
        *path = NULL;
    }
    if (ret < 0 && why.kind == ERR_SYSTEM) {
        *e = why;
        return -1;
    }
    if (ret < 0 && any && last == INT64_MAX)
        return err_input(e,
                         "all checkpoints in %s are damaged; move them away to "
                         "begin anew",
                         folder);
    return 0;
}

/* ---- the folder of a run ---------------------------------------------- */

#define PLACE_TAG  "checkpoints"
#define OWN_FOLDER "artifacts/checkpoints"

/* The folder outside the run that the tag names, or NULL. */
static const char *place_elsewhere(const struct run_info *run)
{
    const char *tag = run_info_tag(run, PLACE_TAG);

    return tag && *tag == '/' && path_may_be_folder(tag) ? tag : NULL;
}

/* The run resumes only from its own checkpoints, whatever the tag names. */
static int check_run(const char *path, const struct run_info *run,
                     struct err *e)
{
    AUTO_FREE char *id = NULL;
    int ret = checkpoint_text(path, "run_id", &id, e);

    if (ret == 0 && strcmp(id, run->id) != 0)
        ret = err_set(e, ERR_MISSING, "%s is not a checkpoint of run %s", path,
                      run->name);
    return ret;
}

static int check_inside(const char *path, const char *inside,
                        const struct run_info *run, struct err *e)
{
    if (path_check_inside(path, inside, e) == 0)
        return 0;
    return err_set(e, ERR_MISSING,
                   "%s is a link that leaves the run and is not followed; if "
                   "you keep the checkpoints of run %s elsewhere, set its tag "
                   "\"" PLACE_TAG "\" to that folder",
                   path, run->name);
}

/* checkpoint_newest() of a run, which has to be one that the run wrote. */
static int newest_of_run(const struct run_info *run, int64_t last, char **path,
                         struct err *e)
{
    const char *elsewhere = place_elsewhere(run);
    const char *inside = elsewhere ? elsewhere : run->folder;
    AUTO_FREE char *folder =
        elsewhere ? xstrdup(elsewhere) : path_join(run->folder, OWN_FOLDER);

    *path = NULL;
    if (check_inside(folder, inside, run, e) < 0 ||
        checkpoint_newest(folder, last, path, e) < 0)
        return -1;
    if (!*path)
        return 0;
    if (check_inside(*path, inside, run, e) < 0 ||
        (elsewhere && check_run(*path, run, e) < 0))
        return -1;
    return checkpoint_sums_check(run->artifacts, *path,
                                 checkpoint_step(path_name(*path)), e);
}

/* The folder in a run that resumes, or the one that the tag names, if it is a
 * link to that; if it is none, the tag of an earlier attempt holds no longer.
 */
static int resume_own(struct run *run, const char *root, char **folder,
                      struct err *e)
{
    char *id = xstrdup(run_id(run)), *own = *folder, *real = NULL;
    AUTO(runs_free) struct runs runs = { 0 };
    const char *tag = NULL;
    int ret =
        runs_load_ids(&runs, root, &id, 1, LOAD_NO_METRICS | LOAD_DELETED, e);

    if (ret == 0 && runs.n == 1)
        tag = place_elsewhere(&runs.run[0]);
    if (ret == 0 && path_is_link(own) && path_leaves(own, run_folder(run)) &&
        (!tag || path_leaves(own, tag)))
        ret = err_input(e,
                        "%s is a link that leaves the run; if you keep the "
                        "checkpoints of run %s elsewhere, set its tag "
                        "\"" PLACE_TAG "\" to that folder",
                        own, run_name(run));
    else if (ret == 0 && tag && !path_is_link(own))
        run_tag(run, PLACE_TAG, OWN_FOLDER);
    else if (ret == 0 && tag && (real = realpath(own, NULL))) {
        *folder = real;
        free(own);
    }
    free(id);
    return ret;
}

int checkpoint_place(struct run *run, const struct settings *s, bool resumed,
                     char **folder, struct err *e)
{
    const char *set = s->checkpoint.folder;

    if (*set) {
        AUTO_FREE char *whole = store_absolute(set);

        run_tag(run, PLACE_TAG, whole);
        *folder = xstrdup(set);
        return 0;
    }
    *folder = path_join(run_folder(run), OWN_FOLDER);
    return resumed ? resume_own(run, s->run.root, folder, e) : 0;
}

/* ---- by a word --------------------------------------------------------- */

static bool is_auto(const char *word)
{
    return word && strcmp(word, "auto") == 0;
}

/* Has it their experiment and, if they have one, their name? */
static bool fits_settings(const struct run_info *run, const struct settings *s)
{
    return strcmp(run->experiment, s->run.experiment) == 0 &&
           (!*s->run.name || strcmp(run->name, s->run.name) == 0);
}

/* The runs of the settings' store; none if there is no store.  It is an error
 * if one of them cannot be read. */
static int load_runs(struct runs *runs, const struct settings *s, struct err *e)
{
    struct err why = { 0 };
    int ret = runs_load(runs, s->run.root, LOAD_NO_METRICS, &why);

    if (ret < 0 && why.kind == ERR_MISSING)
        return 0;
    if (ret == 0 && runs->unread.kind) { /* it may be the one */
        why = runs->unread;
        ret = -1;
    }
    if (ret < 0)
        *e = why;
    return ret;
}

/* Runs are in the order in which they began, by the clock.  If it was set back,
 * that does not tell which of two is newer. */
static int check_clock(const struct runs *runs, size_t i,
                       const struct settings *s, struct err *e)
{
    enum { CLOCKS_MS = 600000 }; /* by which those of machines may differ */
    const struct run_info *const run = &runs->run[i];

    if (run->start_ms <= clock_wall_ms() + CLOCKS_MS)
        return 0;
    while (i-- > 0)
        if (fits_settings(&runs->run[i], s))
            return err_input(e,
                             "by the clock of this machine, run %s has not "
                             "begun yet, so that it may not be the newest; "
                             "name the run to resume, as in --resume %s",
                             run->name, run->name);
    return 0;
}

/* The newest run that has a checkpoint: any, or one of the experiment and, if
 * it is given, of the name, or one that has this very name. */
static int find_newest(const struct settings *s, const char *word, char **path,
                       struct err *e)
{
    const bool fits = is_auto(word);
    AUTO(runs_free) struct runs runs = { 0 };
    int ret = load_runs(&runs, s, e);

    for (size_t i = runs.n; i-- > 0 && !*path && ret == 0;)
        if (!word || (fits ? fits_settings(&runs.run[i], s)
                           : strcmp(runs.run[i].name, word) == 0)) {
            ret = newest_of_run(&runs.run[i], INT64_MAX, path, e);
            if (ret == 0 && *path && fits)
                ret = check_clock(&runs, i, s, e);
        }
    return ret;
}

/* Cut "@2000" off the name of a run; without it, INT64_MAX. */
static int64_t cut_step(char *word)
{
    char *at = strrchr(word, '@');
    int64_t step;

    if (!at || at == word || !num_int(at + 1, &step) || step < 0)
        return INT64_MAX;
    *at = '\0';
    return step;
}

static int find_by_run(const struct settings *s, const char *word, char **path,
                       struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };
    AUTO_FREE char *name = xstrdup(word);
    const int64_t step = cut_step(name);
    int ret = runs_select(&runs, s->run.root, &name, 1, LOAD_NO_METRICS, e);

    if (ret == 0)
        ret = newest_of_run(&runs.run[runs.n - 1], step, path, e);
    if (ret == 0 && !*path)
        ret = err_set(e, ERR_MISSING, "run %s has no checkpoint", word);
    else if (ret == 0 && step != INT64_MAX &&
             checkpoint_step(path_name(*path)) != step)
        ret = err_set(e, ERR_MISSING,
                      "run %s has no checkpoint of step %lld; the last one "
                      "before it is %s",
                      name, (long long)step, *path);
    return ret;
}

int checkpoint_find(const struct settings *s, const char *word, char **path,
                    struct err *e)
{
    *path = NULL;
    if ((!word || is_auto(word)) && *s->checkpoint.folder)
        return checkpoint_newest(s->checkpoint.folder, INT64_MAX, path, e);
    if (!word || is_auto(word))
        return find_newest(s, word, path, e);
    if (!path_is_folder(word) && strchr(word, '.') && path_exists(word))
        return err_input(e, "%s is a file; a checkpoint is a folder", word);
    if (!path_is_folder(word))
        return find_by_run(s, word, path, e);
    if (!strchr(word, '/') && find_newest(s, word, path, e) < 0)
        return -1;
    if (*path) {
        log_info("using the run %s; the folder of that name is ./%s", word,
                 word);
        return 0;
    }
    if (path_has(word, "state.json")) {
        if (checkpoint_verify(word, e) < 0)
            return -1;
        *path = path_join(word, "");
        return 0;
    }
    if (checkpoint_newest(word, INT64_MAX, path, e) < 0)
        return -1;
    if (!*path)
        return err_set(e, ERR_MISSING, "%s holds no checkpoint%s", word,
                       path_has(word, "config.json") /* of Hugging Face */
                           ? "; 'gtrain import' makes one of it"
                           : "");
    return 0;
}

/* ---- a run that was interrupted --------------------------------------- */

/* Were these the settings of a run that has not written all of them as
 * parameters?  If it has no artifact with them either, it has nothing yet, and
 * is another one that just begins, or was killed so early. */
static int compare_config(const struct run_info *run, const struct settings *s,
                          bool *same, struct err *e)
{
    AUTO_FREE char *path = path_join(run->folder, "artifacts/config.ini");
    AUTO(buf_clear) struct buf then = BUF_INIT, now = BUF_INIT;
    struct err why = { 0 };
    int ret = buf_read_unlinked(&then, path, 1 << 20, &why);

    conf_dump(&s->conf, &now);
    *same = ret == 0 ? strcmp(then.s, now.s) == 0 : run->status != RUN_RUNNING;
    if (ret < 0 && why.kind == ERR_MISSING)
        ret = 0;
    else if (ret < 0)
        *e = why;
    return ret;
}

/* Did training begin it, with these settings? */
static int compare_settings(const struct run_info *run,
                            const struct settings *s, bool *same, struct err *e)
{
    const char *command = run_info_command(run);
    AUTO(buf_clear) struct buf text = BUF_INIT;
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
    return *same && !whole ? compare_config(run, s, same, e) : 0;
}

/* The id of the newest run of this experiment, name and settings if it did not
 * finish, or NULL. */
static int find_unfinished(const struct settings *s, char **id, struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };
    const struct run_info *run = NULL;
    int ret = load_runs(&runs, s, e);

    for (size_t i = runs.n; i-- > 0 && !run && ret == 0;) {
        bool same = false;

        if (fits_settings(&runs.run[i], s))
            ret = compare_settings(&runs.run[i], s, &same, e);
        run = same ? &runs.run[i] : NULL;
    }
    *id = ret == 0 && run && run->status != RUN_FINISHED &&
                  run->status != RUN_SCHEDULED
              ? xstrdup(run->id)
              : NULL;
    return ret;
}

/* ---- a run that several processes begin at once ------------------------ */

/* The file that names the run of these settings while it is begun. */
static char *claim_path(const struct settings *s, struct err *e)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;
    char name[] = "begin.0123456789abcdef0123456789abcdef";

    buf_printf(&text, "%s\n%s\n", s->run.experiment, s->run.name);
    for (const struct setting *row = settings_table; row->key; row++)
        if (strncmp(row->key, "run.", 4) != 0) {
            conf_text(&s->conf, row, &text);
            buf_char(&text, '\n');
        }
    md5_hex(text.s, text.len, strchr(name, '.') + 1);
    return store_names_file(s->run.root, name, e);
}

/* A process that was killed leaves its claim behind.  The run that it names is
 * another one's by now if it is neither new nor being written. */
static int drop_old_claim(const struct settings *s, const char *path, char **id,
                          struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };
    int ret = runs_load_ids(&runs, s->run.root, id, 1,
                            LOAD_NO_METRICS | LOAD_DELETED, e);

    if (ret == 0 && runs.n == 1 &&
        (runs.run[0].deleted || runs.run[0].status != RUN_RUNNING)) {
        if (unlink(path) < 0 && errno != ENOENT)
            ret = err_sys(e, "cannot remove %s", path);
        free(*id);
        *id = NULL;
    }
    return ret;
}

/* What several processes begin, and the file by which they find it. */
struct beginning {
    const struct settings *set;
    const char *claim;
};

/* A process that began at the same time may have come further since.  Then
 * nobody needs the claim, which is perhaps of this process. */
static int check_progress(const struct beginning *b, struct err *e)
{
    AUTO_FREE char *path = NULL;
    int ret = checkpoint_find(b->set, "auto", &path, e);

    if (ret == 0 && path) {
        unlink(b->claim);
        ret = err_set(e, ERR_BUSY,
                      "another process has just written %s; the same command "
                      "resumes from it",
                      path);
    }
    return ret;
}

/* It may even have ended the run, while this process waited to begin it. */
static int may_begin_again(void *beginning, enum run_status status,
                           struct err *e)
{
    const struct beginning *const b = beginning;

    if (check_progress(b, e) < 0)
        return -1;
    if (status != RUN_FINISHED)
        return 0;
    unlink(b->claim);
    return err_set(e, ERR_BUSY, "another process has just finished this run");
}

/* Who looks after the claim was made sees any run whose claim is gone. */
static int choose(const struct beginning *b, char **claimed, char **begun,
                  struct err *e)
{
    *claimed = *begun = NULL;
    while (!*claimed && !*begun)
        if (claimed_run_id(b->claim, true, claimed, e) < 0 ||
            check_progress(b, e) < 0 || find_unfinished(b->set, begun, e) < 0 ||
            (!*begun && drop_old_claim(b->set, b->claim, claimed, e) < 0))
            return -1;
    return 0;
}

int checkpoint_begin_run(struct run **run, const struct run_conf *c,
                         const struct settings *s, char **claim, struct err *e)
{
    struct beginning b = { .set = s };
    struct run_conf again = *c;
    AUTO_FREE char *claimed = NULL, *begun = NULL;
    bool made = false;
    int ret = store_make(s->run.root, e);

    b.claim = *claim = ret == 0 ? claim_path(s, e) : NULL;
    ret = *claim ? choose(&b, &claimed, &begun, e) : -1;
    again.resume = begun;
    again.may_resume = may_begin_again;
    again.arg = &b;
    if (ret == 0)
        ret = begun ? run_begin(run, &again, e)
                    : claimed_run_begin(run, &again, claimed, &made, e);
    if (ret == 0 && !made)
        run_rewind(*run, -1);
    if (ret == 0)
        log_info("no checkpoint yet; %s",
                 made ? "starting a new run"
                      : "beginning the interrupted run again");
    else if (begun)
        checkpoint_drop_claim(claim);
    return ret;
}

void checkpoint_drop_claim(char **claim)
{
    if (*claim)
        unlink(*claim);
    free(*claim);
    *claim = NULL;
}
