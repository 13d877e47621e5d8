#include "config.h"
#include "track/runs/track.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/confine.h"
#include "common/log.h"
#include "common/num.h"
#include "common/path.h"
#include "common/utf8.h"
#include "common/output/emit.h"
#include "store/alert/alert_list.h"
#include "store/format/attempt.h"
#include "store/format/store.h"
#include "store/query/filter.h"
#include "store/read/index.h"
#include "track/runs/column.h"

const char *track_root;
bool track_follow_links;

const char *const track_status_words[] = {
    [RUN_RUNNING - RUN_RUNNING] = "running",
    [RUN_SCHEDULED - RUN_RUNNING] = "scheduled",
    [RUN_FINISHED - RUN_RUNNING] = "finished",
    [RUN_FAILED - RUN_RUNNING] = "failed",
    [RUN_KILLED - RUN_RUNNING] = "killed",
    [RUN_PREEMPTED - RUN_RUNNING] = "preempted",
    [RUN_STOPPED - RUN_RUNNING] = "stopped",
    [RUN_STALE - RUN_RUNNING] = "stale",
    [RUN_STALE - RUN_RUNNING + 1] = NULL,
};

const char *track_store(void)
{
    const char *env = getenv("GTRACK_ROOT");

    if (track_root)
        return track_root;
    return env && *env ? env : "mlruns";
}

int track_links(void)
{
    return track_follow_links ? LOAD_LINKS : 0;
}

void track_confine_folders(struct path_list *l, bool connect)
{
    char *cache = index_folder(track_store());

    if (cache)
        path_list_add(l, cache);
    confine((const char *const *)l->name, l->n, connect);
}

void track_confine_output(const char *folder)
{
    AUTO(path_list_clear) struct path_list l = { 0 };

    if (folder)
        path_list_add(&l, xstrdup(folder));
    track_confine_folders(&l, false);
}

void track_confine_reader(void)
{
    track_confine_output(NULL);
}

/* Experiments may be links to folders on other disks, which have a meta.yaml;
 * any other link of a store chooses nothing that may be written. */
static void add_store(struct path_list *folders, const char *root)
{
    AUTO(path_list_clear) struct path_list names = { 0 };

    path_list(&names, root, ERR_IGNORED);
    for (size_t i = 0; i < names.n; i++) {
        const char *folder = path_listed(&names, i);
        AUTO_FREE char *meta = path_join(folder, STORE_META);

        if (path_is_link(folder) && path_exists(meta) && !path_is_link(meta))
            path_list_add(folders, xstrdup(folder));
    }
    path_list_add(folders, xstrdup(root));
}

void track_confine_stores(const char *const *roots, size_t n, bool connect)
{
    AUTO(path_list_clear) struct path_list folders = { 0 };

    for (size_t i = 0; i < n; i++)
        add_store(&folders, roots[i]);
    track_confine_folders(&folders, connect);
}

static void confine_to_store(bool connect)
{
    const char *root = track_store();

    track_confine_stores(&root, 1, connect);
}

void track_confine_writer(void)
{
    confine_to_store(false);
}

void track_confine_push(void)
{
    confine_to_store(true);
}

/* "2h" or "3d" ago; or a date, with or without a time, in local time. */
static int parse_since(const char *text, int64_t *ms, struct err *e)
{
    double secs;

    if (num_secs(text, &secs)) {
        *ms = clock_wall_ms() - (int64_t)(secs * 1000);
        return 0;
    }
    if (clock_parse(text, ms))
        return 0;
    return err_usage(e,
                     "--since expects a time such as 2h, 3d or 2026-11-21, "
                     "not '%s'",
                     text);
}

static int filter_runs(struct runs *runs, const char *where, struct err *e)
{
    struct filter *f = filter_parse(where, e);
    size_t kept = 0;
    int ret = 0;

    if (!f || filter_resolve(f, runs, e) < 0) {
        filter_free(f);
        return -1;
    }
    for (size_t i = 0; i < runs->n && ret >= 0; i++) {
        ret = filter_match(f, &runs->run[i], e);
        if (ret > 0)
            runs->run[kept++] = runs->run[i];
    }
    runs->n = kept;
    filter_free(f);
    return ret < 0 ? -1 : 0;
}

int track_select_one(struct runs *runs, const char *word, int flags,
                     struct err *e)
{
    AUTO_FREE char *words = xstrdup(word ? word : "@latest");
    int ret = runs_select(runs, track_store(), &words, 1,
                          flags | LOAD_ONE_NAMED | track_links(), e);

    if (ret == 0 && runs->n > 1)
        ret =
            err_usage(e, "'%s' names %zu runs (%s, %s%s); only one is expected",
                      word, runs->n, runs->run[0].name, runs->run[1].name,
                      runs->n > 2 ? ", ..." : "");
    if (ret < 0)
        runs_free(runs);
    return ret;
}

/* Report an experiment that does not exist; it may exist without a run. */
static int check_experiment(const char *root, const char *name, struct err *e)
{
    struct opt_nearest near = { .word = name };
    AUTO(experiments_free) struct experiments all = { 0 };
    bool found = false;

    if (experiments_load(&all, root,
                         track_follow_links ? PATH_FOLLOW_LINKS : PATH_NO_LINKS,
                         e) < 0)
        return -1;
    for (size_t i = 0; i < all.n && !found; i++) {
        found = strcmp(all.item[i].name, name) == 0 ||
                strcmp(all.item[i].id, name) == 0;
        opt_nearest_try(&near, all.item[i].name);
    }
    if (!found) {
        err_set(e, ERR_MISSING, "there is no experiment %s", name);
        opt_nearest_add(&near, e);
    }
    return found ? 0 : -1;
}

static int apply_options(struct runs *runs, const char *root,
                         const struct track_selection *o, struct err *e)
{
    int64_t since = INT64_MIN;
    bool in_experiment = !o->experiment;
    size_t kept = 0;

    if (o->since && parse_since(o->since, &since, e) < 0)
        return -1;
    if (o->sweep && runs_keep_sweep(runs, root, o->sweep, track_links(), e) < 0)
        return -1;
    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];

        if (o->experiment && strcmp(r->experiment, o->experiment) != 0 &&
            strcmp(r->experiment_id, o->experiment) != 0)
            continue;
        in_experiment = true;
        if (o->status >= 0 && (int)r->status != RUN_RUNNING + o->status)
            continue;
        if (r->start_ms < since)
            continue;
        runs->run[kept++] = *r;
    }
    runs->n = kept;
    return in_experiment ? 0 : check_experiment(root, o->experiment, e);
}

int track_load(struct runs *runs, int n, char **words, int flags, struct err *e)
{
    flags |= track_links();
    return n ? runs_select(runs, track_store(), words, n, flags, e)
             : runs_load(runs, track_store(), flags, e);
}

int track_narrow(struct runs *runs, const char *root,
                 const struct track_selection *o, int n, char **words,
                 struct err *e)
{
    if ((o->where && filter_runs(runs, o->where, e) < 0) ||
        apply_options(runs, root, o, e) < 0)
        return -1;
    if (n > 1 && !o->sort && runs->n)
        runs_sort_as_named(runs, words, n);
    if (o->sort && columns_sort(runs, o->sort, NULL, e) < 0)
        return -1;
    if (o->limit && runs->n > (size_t)o->limit) {
        /* without an order the newest are wanted; they are last */
        if (!o->sort && n == 0)
            memmove(runs->run, runs->run + runs->n - o->limit,
                    (size_t)o->limit * sizeof *runs->run);
        runs->n = (size_t)o->limit;
    }
    return 0;
}

int track_select(struct runs *runs, const struct track_selection *o, int n,
                 char **words, struct err *e)
{
    const int flags = (o->deleted ? LOAD_DELETED : 0) |
                      (o->attempts ? LOAD_ALL_ATTEMPTS : 0) |
                      (o->fresh ? LOAD_FRESH : 0);

    if (track_load(runs, n, words, flags, e) < 0)
        return -1;
    return track_narrow(runs, track_store(), o, n, words, e);
}

int track_select_words(void *arg, struct runs *runs, struct err *e)
{
    const struct track_words *w = arg;

    return track_select(runs, w->selection, w->n, w->words, e);
}

int track_each(int n, char **words, int flags, track_each_fn *fn, void *arg,
               struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };
    int ret =
        runs_select(&runs, track_store(), words, n, flags | LOAD_NO_METRICS, e);

    if (ret == 0 && (flags & LOAD_AWAIT))
        runs_await_beats(&runs, track_store());
    for (size_t i = 0; ret == 0 && i < runs.n; i++) {
        ret = fn(&runs.run[i], arg, e);
        if (ret < 0)
            err_wrap(e, "run %s", runs.run[i].name);
    }
    return ret;
}

char *track_shown_name(const struct runs *runs, size_t at)
{
    const struct run_info *r = &runs->run[at];

    for (size_t i = 0; i < runs->n; i++)
        if (i != at && strcmp(runs->run[i].name, r->name) == 0)
            return xasprintf("%s %.8s", r->name, r->id);
    return xstrdup(r->name);
}

int track_check_args(int argc, char **argv, int least, int most, struct err *e)
{
    const struct cmd *c = program_command();

    if (most >= 0 && argc > most)
        return err_usage(e, "unexpected argument '%s'", argv[most]);
    if (argc >= least)
        return 0;
    return err_usage(e, "usage: gtrack %s [OPTION]... %s", c->name, c->args);
}

struct pair *track_parse_pairs(struct arena *mem, const char *const *words,
                               size_t n, struct err *e)
{
    struct pair *pair = arena_alloc(mem, (n + 1) * sizeof *pair);

    for (size_t i = 0; i < n; i++) {
        const char *equals = strchr(words[i], '=');

        if (!equals || equals == words[i]) {
            err_usage(e, "expected KEY=VALUE, not '%s'", words[i]);
            return NULL;
        }
        pair[i].key = arena_strndup(mem, words[i], (size_t)(equals - words[i]));
        pair[i].value = equals + 1;
    }
    return pair;
}

void track_add_metric(struct table *t, const struct metric_sum *m)
{
    table_real(t, m->last);
    table_int(t, m->last_step);
    table_real(t, m->min);
    table_int(t, m->min_step);
    table_real(t, m->max);
    table_int(t, m->max_step);
}

void track_emit_pairs(struct emit *o, const char *key, const struct pair *pair,
                      size_t n)
{
    emit_object(o, key);
    for (size_t i = 0; i < n; i++)
        emit_text(o, pair[i].key, pair[i].value);
    emit_object_end(o);
}

int track_begin_run(struct run **run, struct run_conf *c,
                    const struct track_new_run *o, struct err *e)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    const struct pair *params =
        track_parse_pairs(&mem, o->params.item, o->params.n, e);
    const struct pair *tags =
        params ? track_parse_pairs(&mem, o->tags.item, o->tags.n, e) : NULL;
    struct alert_writer alerts;
    int ret = -1;

    c->root = track_store();
    c->experiment = o->experiment;
    run_take_handed(c);
    alert_writer_fork(&alerts);
    if (tags)
        ret = run_begin(run, c, e);
    alert_writer_begin(&alerts, ret == 0 ? run_folder(*run) : NULL);
    for (; ret == 0 && params->key; params++)
        run_param(*run, params->key, params->value);
    for (; ret == 0 && tags->key; tags++)
        run_tag(*run, tags->key, tags->value);
    return ret;
}

bool track_confirm(bool yes, const char *question, struct err *e)
{
    AUTO(buf_clear) struct buf shown = BUF_INIT;
    char answer[16];

    if (yes)
        return true;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        err_usage(e, "%s: use --yes to confirm without a terminal", question);
        return false;
    }
    utf8_visible(&shown, question);
    fprintf(stderr, "%s? [y/N] ", shown.s); /* style: own */
    if (fgets(answer, sizeof answer, stdin) &&
        (answer[0] == 'y' || answer[0] == 'Y'))
        return true;
    err_set(e, ERR_INTERRUPTED, "cancelled; nothing was changed");
    return false;
}

static void tell_one(const struct runs *all, const struct run_info *of)
{
    int64_t runs = 0, deleted = 0, failed = 0;
    char n[NUM_TEXT];

    for (size_t i = 0; i < all->n; i++) {
        const struct run_info *r = &all->run[i];

        if (strcmp(r->experiment_id, of->experiment_id) != 0)
            continue;
        runs++;
        deleted += r->deleted;
        failed +=
            !r->deleted && (r->status == RUN_FAILED || r->status == RUN_STALE);
    }
    if (deleted + failed > 0)
        log_info("the experiment %s has %s, of which %lld %s deleted and %lld "
                 "failed",
                 of->experiment, num_count(n, runs, "run"), (long long)deleted,
                 deleted == 1 ? "is" : "are", (long long)failed);
}

void track_tell_left_out(const struct runs *runs)
{
    AUTO(runs_free) struct runs all = { 0 };

    if (runs_load(&all, track_store(), LOAD_DELETED | LOAD_NO_METRICS,
                  ERR_IGNORED) < 0)
        all.n = 0;
    for (size_t i = 0; i < runs->n; i++) {
        bool told = false;

        for (size_t k = 0; k < i && !told; k++)
            told = strcmp(runs->run[k].experiment_id,
                          runs->run[i].experiment_id) == 0;
        if (!told)
            tell_one(&all, &runs->run[i]);
    }
}

/* ---- what is not written in the files of a run --------------------------- */

int run_facts_next_step(const struct run_info *r, int64_t *next, struct err *e)
{
    const int64_t last = run_info_last_step(r);

    if (r->unread)
        return err_input(e, "the last step of run %s is not known: %s", r->name,
                         r->damage);
    if (last == INT64_MAX)
        return err_usage(e,
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
