#include "config.h"
#include "trainer/replay/recorded_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/format/secret.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/program.h"
#include "common/sig.h"
#include "common/utf8.h"
#include "kernels/dev.h"
#include "trainer/ranks/launch.h"

/* The values of parameters are cut off, and made UTF-8. */
enum { VALUE_WHOLE = 6000 };

static int64_t step_of(const struct recorded_run *r)
{
    return r->step ? r->step : INT64_MAX;
}

/* The number that a run has recorded under a key, or 0. */
static int64_t recorded(const struct recorded_run *r,
                        const struct run_info *run, const char *key)
{
    const char *text = changed_param(run, key, step_of(r));
    int64_t n;

    return text && num_int(text, &n) ? n : 0;
}

/* ---- the settings ----------------------------------------------------- */

/* config.ini has the settings of the last attempt.  A value that was not whole
 * says nothing. */
static int compare_param(const struct settings *s, const struct setting *row,
                         const struct run_info *run, struct err *e)
{
    const char *shown = changed_param(run, row->key, INT64_MAX);
    AUTO(buf_clear) struct buf value = BUF_INIT, text = BUF_INIT;
    int ret = 0;

    conf_text(&s->conf, row, &value);
    secret_mask_named(&text, row->key, value.s);
    if (shown && strlen(shown) < VALUE_WHOLE && utf8_valid(text.s) &&
        strcmp(shown, text.s) != 0)
        ret = err_input(e,
                        "the parameter %s of %s is %.100s, but its config.ini "
                        "has %.100s",
                        row->key, run->name, shown, text.s);
    return ret;
}

/* Let the settings be those of the attempt that computed the step. */
static int go_back(struct settings *s, const struct recorded_run *r,
                   const struct run_info *run, struct err *e)
{
    const bool is_known = changed_is_known(run);

    if (!is_known)
        log_warn("the record of %s does not say which settings were changed "
                 "when it was resumed",
                 run->name);
    for (const struct setting *row = settings_table; row->key && is_known;
         row++) {
        const char *last = changed_param(run, row->key, INT64_MAX);
        const char *then = changed_param(run, row->key, step_of(r));

        if (compare_param(s, row, run, e) < 0 ||
            (then && strcmp(then, last) != 0 &&
             conf_put(&s->conf, row->key, then, "the run", e) < 0))
            return -1;
    }
    return 0;
}

/* The threads of the run, unless the user chose their number. */
static int put_threads(struct settings *s, const struct recorded_run *r,
                       const struct run_info *run, struct err *e)
{
    const int64_t threads = recorded(r, run, "derived.threads");

    return threads > 0 && !r->device
               ? conf_put_int(&s->conf, "train.threads", threads, "the run", e)
               : 0;
}

/* Questions that are not here are not asked, and named as not computed. */
static int drop_questions(struct settings *s, struct err *e)
{
    AUTO(tasks_clear) struct tasks tasks = { 0 };
    struct err why = { 0 };
    int ret = 0;

    if (engine_data_add_tasks(&tasks, s, &why) < 0 && why.kind == ERR_MISSING)
        ret = conf_put(&s->conf, "eval.tasks", "", "this command", e);
    return ret;
}

static int load_settings(struct settings *s, const struct recorded_run *r,
                         const struct run_info *run, struct err *e)
{
    AUTO_FREE char *path = path_join(run->artifacts, "config.ini");
    int ret = settings_begin(s, path, e);

    if (ret == 0)
        ret = go_back(s, r, run, e);
    if (ret == 0)
        ret = put_threads(s, r, run, e);
    for (size_t i = 0; i < r->sets.n && ret == 0; i++)
        ret = conf_set(&s->conf, r->sets.item[i], e);
    if (ret == 0)
        ret = drop_questions(s, e);
    if (ret == 0)
        settings_finish(s);
    if (ret == 0 && (r->device || dev_is_gpu(s->train.device)))
        ret = conf_put(&s->conf, "train.device", r->device ? r->device : "auto",
                       "--device", e);
    if (ret == 0 && s->train.batch == 0 && s->train.tokens_per_step == 0)
        ret = conf_put_int(&s->conf, "train.tokens_per_step",
                           recorded(r, run, "derived.tokens_per_step"),
                           "the run", e);
    return ret;
}

/* Paths of the data are relative to the folder in which training was started:
 * the one from which `run.root` leads to the store. */
static int name_folder(const struct recorded_run *r, const struct settings *s,
                       struct err *e)
{
    const size_t n = strlen(s->run.root);
    AUTO_FREE char *store = realpath(r->root, NULL);
    AUTO_FREE char *here = realpath(".", NULL);
    const struct err why = *e;

    if (why.kind == ERR_MISSING && store && here && *s->run.root != '/' &&
        str_ends(store, s->run.root) && store[strlen(store) - n - 1] == '/') {
        store[strlen(store) - n - 1] = '\0';
        if (strcmp(store, here) != 0)
            err_set(e, why.kind,
                    "%s; the paths of the run are relative to %s, so change to "
                    "that folder, or give others with --set",
                    why.text, store);
    }
    return -1;
}

/* ---- the job ---------------------------------------------------------- */

static void choose_instructions(const struct recorded_run *r,
                                const struct run_info *run)
{
    const char *device = changed_param(run, "derived.device", step_of(r));
    const char *then = changed_param(run, "derived.instructions", step_of(r));

    if (device && then && strcmp(device, "cpu") == 0 &&
        instructions_present(then))
        setenv("GTRAIN_ISA", then, 0);
}

int64_t recorded_run_ranks(const struct recorded_run *r,
                           const struct run_info *run)
{
    const int64_t before = recorded(r, run, "derived.ranks");

    return r->ranks ? r->ranks : before ? before : 1;
}

int recorded_run_use(const struct recorded_run *r, const struct run_info *run,
                     recorded_run_fn *use, struct err *e)
{
    const int64_t n = recorded_run_ranks(r, run);
    AUTO(settings_clear) struct settings s = { 0 };
    AUTO(engine_close) struct engine eng = { 0 };
    int ret;

    if (n < 1 || n > 1024)
        return err_usage(e, "--ranks expects 1 to 1024, not %" PRId64, n);
    if (n > 1 && !getenv("GTRAIN_SIZE"))
        return local_ranks_run(program_words(), (int)n, e);
    sig_watch();
    choose_instructions(r, run);
    ret = load_settings(&s, r, run, e);
    if (ret == 0)
        ret = engine_open(&eng, &s, ENGINE_TRAIN, e) < 0 ? name_folder(r, &s, e)
                                                         : 0;
    if (ret == 0)
        ret = use(&eng, run, e);
    if (ret < 0)
        local_ranks_report(e);
    return ret;
}

int recorded_run_find(struct runs *runs, const struct recorded_run *r,
                      const char *word, struct err *e)
{
    char *words[] = { (char *)(uintptr_t)(word ? word : "@latest") };

    return runs_select(runs, r->root, words, 1,
                       LOAD_NO_METRICS | LOAD_ONE_NAMED, e);
}

int recorded_run_open(struct recorded_run *r, const char *word,
                      recorded_run_fn *use, struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };
    int ret = recorded_run_find(&runs, r, word, e);

    if (ret == 0)
        ret = recorded_run_use(r, &runs.run[0], use, e);
    free(r->sets.item);
    return ret;
}
