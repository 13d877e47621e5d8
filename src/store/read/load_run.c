/*
 * load_run - read the files of one run
 */
#include "config.h"
#include "store/read/index.h"

#include <stdlib.h>
#include <string.h>

#include "common/path.h"
#include "common/utf8.h"
#include "store/format/attempt.h"
#include "store/format/key.h"
#include "store/format/meta.h"
#include "store/format/metric.h"
#include "store/format/store.h"

/* Bytes of parameters and tags that are read of a run at most, so that a
 * damaged one does not delay others. */
enum { TEXT_MAX = 16 << 20 };

struct run_reader {
    struct arena *mem;
    struct run_info *run;
    struct watch *watch; /* of all that is read */
    struct rewind_list rewinds;
    size_t text; /* bytes of parameters and tags so far */
};

static void damaged(struct run_reader *r, const char *what, const char *where)
{
    if (!r->run->damage)
        r->run->damage = arena_printf(r->mem, "%s: %s", where, what);
}

/* Note damage that is a failure to read, which may succeed another time. */
static void failed(struct run_reader *r, const struct err *e, const char *where)
{
    damaged(r, e->text, where);
    r->run->unread = r->run->unread || e->kind == ERR_SYSTEM;
}

/* A parameter or a tag. */
static void load_pair(struct run_reader *r, enum key_kind kind,
                      const char *path, const char *key)
{
    struct pair **pairs = kind == TAG ? &r->run->tags : &r->run->params;
    size_t *n = kind == TAG ? &r->run->n_tags : &r->run->n_params;
    AUTO(buf_clear) struct buf b = BUF_INIT;
    struct err e = { 0 };

    if (r->text >= TEXT_MAX) {
        damaged(r, "not read: the run has more than 16 MiB of such text", path);
    } else if (buf_read_open(
                   &b, path_open_below(r->run->folder, path, r->run->links, &e),
                   path, TEXT_MAX - r->text, &e) < 0) {
        failed(r, &e, path);
    } else {
        r->text += b.len;
        if (!utf8_valid(b.s))
            damaged(r, "is not UTF-8", path);
        *pairs = arena_grow(r->mem, *pairs, *n, sizeof **pairs);
        (*pairs)[(*n)++] = (struct pair){ arena_strdup(r->mem, key),
                                          arena_strndup(r->mem, b.s, b.len) };
    }
}

/* Older stores have "is.NAME" for "derived.NAME".  A run that was resumed since
 * then has both, of which the new one counts. */
static void rename_derived(struct run_reader *r)
{
    struct run_info *run = r->run;
    size_t n = 0, renamed = 0;

    for (size_t i = 0; i < run->n_params; i++) {
        struct pair p = run->params[i];

        if (strncmp(p.key, "is.", 3) == 0) {
            p.key = arena_printf(r->mem, "derived.%s", p.key + 3);
            if (n - renamed > 0 &&
                bsearch(&p, run->params, n - renamed, sizeof p, str_compare))
                continue;
            renamed++;
        }
        run->params[n++] = p;
    }
    run->n_params = n;
    if (renamed)
        SORT(run->params, n, str_compare);
}

static void load_metric(struct run_reader *r, const char *path, const char *key)
{
    const struct metric_file f = { path, key, .rewinds = &r->rewinds,
                                   .links = r->run->links,
                                   .run = r->run->folder };
    struct run_info *run = r->run;
    struct metric_sum m;
    struct metric_scan scan;
    struct err e = { 0 };

    if (metric_sum_up(&m, &f, &scan, &e) < 0) {
        failed(r, &e, path);
        return;
    }
    if (scan.bad)
        damaged(r,
                arena_printf(r->mem, "line %lld is no point",
                             (long long)scan.bad_line),
                path);
    else if (scan.torn && !run->torn)
        run->torn = arena_strdup(r->mem, path);
    else if (m.count + m.retracted == 0 && !scan.torn)
        damaged(r, "is empty", path);
    if (m.count + m.retracted == 0)
        return;
    m.key = arena_strdup(r->mem, key);
    run->metrics = arena_grow(r->mem, run->metrics, run->n_metrics, sizeof m);
    run->metrics[run->n_metrics++] = m;
}

/* May MLflow's page write it anew in place? */
static bool is_of_people(const char *tag)
{
    return !run_info_is_own_tag(tag) || strcmp(tag, "mlflow.note.content") == 0;
}

static void load_folder(struct run_reader *r, const char *folder,
                        enum key_kind kind)
{
    AUTO(path_list_clear) struct path_list keys = { 0 }, folders = { 0 };
    struct err e = { 0 };

    watch_add(r->watch, r->run->folder, folder, WATCH_ALWAYS);
    if (key_list(&keys, &folders, folder, r->run->links, &e) < 0) {
        if (e.kind != ERR_MISSING || path_exists(folder))
            failed(r, &e, folder);
        return;
    }
    if (key_list_full(&keys, &folders))
        damaged(r, "has more than 10,000 files, which are not all read",
                folder);
    for (size_t i = 0; i < folders.n; i++)
        watch_add(r->watch, r->run->folder, path_listed(&folders, i),
                  kind == METRIC ? WATCH_RUNNING : WATCH_ALWAYS);
    for (size_t i = 0; i < keys.n; i++) {
        const char *path = path_listed(&keys, i);
        const char *problem = key_problem(keys.name[i]);

        if (problem)
            damaged(r, problem, path);
        watch_add(r->watch, r->run->folder, path,
                  kind == TAG && is_of_people(keys.name[i]) ? WATCH_ALWAYS
                                                            : WATCH_RUNNING);
        if (kind == METRIC)
            load_metric(r, path, keys.name[i]);
        else
            load_pair(r, kind, path, keys.name[i]);
    }
}

/* Archives and git have no empty folders, so one that is missing is empty. */
static void load_keys(struct run_reader *r, enum key_kind kind)
{
    AUTO_FREE char *folder = path_join(r->run->folder, key_folders[kind]);

    if (path_is_refused(folder, r->run->links))
        damaged(r, "is a symbolic link, which only --follow-links follows",
                folder);
    else
        load_folder(r, folder, kind);
}

static void watch_inside(struct run_reader *r, const char *name,
                         enum watch_when when)
{
    AUTO_FREE char *path = path_join(r->run->folder, name);

    watch_add(r->watch, r->run->folder, path, when);
}

static void load_inputs(struct run_reader *r)
{
    AUTO_FREE char *folder = path_join(r->run->folder, "inputs");
    const char *problem = NULL;
    AUTO(path_list_clear) struct path_list names = { 0 };

    watch_add(r->watch, r->run->folder, folder, WATCH_RUNNING);
    if (path_list_most(&names, folder, DATASETS_MAX, ERR_IGNORED) == 0) {
        for (size_t i = 0; i < names.n; i++) {
            AUTO_FREE char *meta =
                xasprintf("inputs/%s/" STORE_META, names.name[i]);

            watch_inside(r, meta, WATCH_RUNNING);
        }
        datasets_load(&r->run->inputs, &r->run->n_inputs, r->mem,
                      r->run->folder, r->run->links, &problem);
        if (problem)
            damaged(r, problem, folder);
    }
}

void load_run(struct run_info *run, struct arena *mem, struct watch *watch,
              int flags)
{
    struct run_reader r = { .mem = mem, .run = run, .watch = watch };
    struct attempt_list list;
    struct err e = { 0 };
    struct meta meta;
    bool lost;

    watch_inside(&r, STORE_META, WATCH_ALWAYS);
    lost = meta_load(&meta, mem, run->folder, run->links, &e) < 0;
    if (lost) {
        run->unread = e.kind == ERR_SYSTEM;
        meta.id = arena_strdup(mem, path_name(run->folder));
        meta.damage = e.kind == ERR_MISSING ? "meta.yaml is missing"
                                            : arena_strdup(mem, e.text);
    }
    run->id = meta.id;
    run->name = meta.name;
    run->user = meta.user ? meta.user : "";
    run->artifact_uri = meta.artifact_uri;
    run->start_ms = meta.start_ms;
    run->end_ms = meta.end_ms;
    run->status = (enum run_status)meta.status;
    run->deleted = meta.deleted;
    run->damage = meta.damage;
    /* all in there comes by rename */
    watch_inside(&r, STORE_OWN, WATCH_RUNNING);
    if (attempts_load(&list, mem, run->folder, run->links, &e) < 0)
        failed(&r, &e, run->folder);
    run->attempt = list.item;
    run->attempts = (int)list.n;
    if (lost && !run->attempts)
        run->status = RUN_STALE; /* nobody says that it is running */
    if (!(flags & LOAD_ALL_ATTEMPTS) &&
        rewinds_load(&r.rewinds, mem, run->folder, NULL, run->links, &e) < 0) {
        failed(&r, &e, run->folder);
        run->unread = true;
        flags |= LOAD_NO_METRICS; /* rather none than retracted points */
    }
    load_keys(&r, PARAM);
    rename_derived(&r);
    load_keys(&r, TAG);
    if (!(flags & LOAD_NO_METRICS))
        load_keys(&r, METRIC);
    load_inputs(&r);
}
