#include "config.h"
#include "trainer/replay/recorded_run.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/num.h"
#include "common/path.h"
#include "common/program.h"
#include "common/sig.h"
#include "trainer/ranks/local_ranks.h"

/* The number that a run has recorded under a key, or 0. */
static int64_t recorded(const struct run_info *run, const char *key)
{
    const char *text = run_info_param(run, key);
    int64_t n;

    return text && num_int(text, &n) ? n : 0;
}

static int load_settings(struct settings *s, const struct recorded_run *r,
                         const struct run_info *run, struct err *e)
{
    char *path = path_join(run->artifacts, "config.ini");
    int ret = settings_load(s, path, r->sets.item, r->sets.n, e);

    if (ret == 0 && r->device)
        ret = conf_put(&s->conf, "train.device", r->device, "--device", e);
    if (ret == 0 && s->train.batch == 0 && s->train.tokens_per_step == 0)
        ret = conf_put_int(&s->conf, "train.tokens_per_step",
                           recorded(run, "derived.tokens_per_step"), "the run",
                           e);
    free(path);
    return ret;
}

static int open_job(struct recorded_run *r, const struct run_info *run,
                    recorded_run_fn *use, struct err *e)
{
    const int64_t before = recorded(run, "derived.ranks");
    const int64_t n = r->ranks ? r->ranks : before ? before : 1;
    struct settings s = { 0 };
    struct engine eng = { 0 };
    int ret;

    if (n < 1 || n > 1024)
        return err_set(e, ERR_USAGE, "--ranks expects 1 to 1024, not %" PRId64,
                       n);
    if (n > 1 && !getenv("GTRAIN_SIZE"))
        return local_ranks_run(program_words(), (int)n, e);
    sig_watch();
    ret = load_settings(&s, r, run, e);
    if (ret == 0)
        ret = engine_open(&eng, &s, ENGINE_TRAIN, e);
    if (ret == 0)
        ret = use(&eng, run, e);
    if (ret < 0)
        local_ranks_report(e);
    engine_close(&eng);
    settings_clear(&s);
    return ret;
}

static int find_run(struct runs *runs, const struct recorded_run *r,
                    const char *word, struct err *e)
{
    char *words[] = { (char *)(uintptr_t)(word ? word : "@latest") };

    return runs_select(runs, r->root, words, 1,
                       LOAD_NO_METRICS | LOAD_ONE_NAMED, e);
}

int recorded_run_open(struct recorded_run *r, const char *word,
                      recorded_run_fn *use, struct err *e)
{
    struct runs runs = { 0 };
    int ret = find_run(&runs, r, word, e);

    if (ret == 0)
        ret = open_job(r, &runs.run[0], use, e);
    runs_free(&runs);
    free(r->sets.item);
    return ret;
}

int recorded_run_read(struct recorded_run *r, const char *word,
                      recorded_run_fn *use, struct err *e)
{
    struct runs runs = { 0 };
    int ret = find_run(&runs, r, word, e);

    if (ret == 0)
        ret = use(NULL, &runs.run[0], e);
    runs_free(&runs);
    free(r->sets.item);
    return ret;
}
