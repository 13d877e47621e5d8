/*
 * gtrack diff - print the differences between two runs
 */
#include "config.h"

#include <string.h>

#include "common/log.h"
#include "common/opt.h"
#include "store/format/attempt.h"
#include "track/runs/track.h"

static struct table_style style;
static bool all;

static const struct opt diff_opts[] = {
    TRACK_OPT_ROOT,
    TRACK_OPT_LINKS,
    { 'a', "all", NULL, OPT_FLAG, &all,
      "print long values in full, and include tags that differ between any two "
      "runs" },
    TABLE_OPTS(style),
    { 0 }
};

/* Tags that differ between any two runs or that other rows show. */
static const char *const differing_tags[] = { "mlflow.runName",
                                              "mlflow.note.content",
                                              "gtrack.exit_status", NULL };

static const char *kind_of_tag(const char *tag)
{
    if (strncmp(tag, "mlflow.source.git", 17) == 0)
        return "git";
    return run_info_is_own_tag(tag) ? "environment" : "tag";
}

/* A value that fits on a line; of a long one, only its size. */
static void add_value(struct table *t, const char *s)
{
    size_t lines = 0;

    for (const char *p = s; p && *p; p++)
        lines += *p == '\n';
    if (s && !all && lines > 2)
        table_printf(t, "(%zu lines, %zu bytes)", lines, strlen(s));
    else
        table_text(t, s);
}

static void add_row(struct table *t, const char *kind, const char *key,
                    const char *a, const char *b)
{
    if (a && b && strcmp(a, b) == 0)
        return;
    table_text(t, kind);
    table_text(t, key);
    add_value(t, a);
    add_value(t, b);
}

/* Merge two lists, both sorted by key. */
static void add_pairs(struct table *t, const struct pair *a, size_t na,
                      const struct pair *b, size_t nb, bool tags)
{
    size_t i = 0, j = 0;

    while (i < na || j < nb) {
        const int cmp = i == na ? 1 : j == nb ? -1 : strcmp(a[i].key, b[j].key);
        const char *key = cmp <= 0 ? a[i].key : b[j].key;

        if (!tags || all ||
            (opt_find_word(differing_tags, key) < 0 && !changed_is_tag(key)))
            add_row(t, tags ? kind_of_tag(key) : "param", key,
                    cmp <= 0 ? a[i].value : NULL, cmp >= 0 ? b[j].value : NULL);
        i += cmp <= 0;
        j += cmp >= 0;
    }
}

static void fill_table(struct table *t, const struct run_info *a,
                       const struct run_info *b)
{
    const bool same_name = strcmp(a->name, b->name) == 0;

    table_columns(t, "kind", "key", same_name ? a->id : a->name,
                  same_name ? b->id : b->name, NULL);
    add_row(t, "run", "experiment", a->experiment, b->experiment);
    add_row(t, "run", "user", a->user, b->user);
    if (a->attempt && b->attempt) {
        add_row(t, "run", "command", a->attempt->command, b->attempt->command);
        add_row(t, "run", "host", a->attempt->host, b->attempt->host);
    }
    add_row(t, "run", "changed", a->changed ? a->changed : "",
            b->changed ? b->changed : "");
    add_pairs(t, a->params, a->n_params, b->params, b->n_params, false);
    add_pairs(t, a->tags, a->n_tags, b->tags, b->n_tags, true);
}

static int diff_main(int argc, char **argv, struct err *e)
{
    struct table t = TABLE_INIT("gtrack.diff/1");
    struct runs a = { 0 }, b = { 0 };
    const int flags = LOAD_NO_METRICS | LOAD_DELETED;
    int ret = -1;

    if (table_form(&style, e) < 0 || track_check_args(argc, argv, 2, 2, e) < 0)
        return -1;
    if (track_select_one(&a, argv[0], flags, e) == 0 &&
        track_select_one(&b, argv[1], flags, e) == 0) {
        fill_table(&t, a.run, b.run);
        if (t.n_cells == 0)
            log_info("the runs do not differ");
        ret = table_print(&t, &style, e);
    }
    table_clear(&t);
    runs_free(&a);
    runs_free(&b);
    return ret;
}

const struct cmd cmd_diff = {
    .name = "diff",
    .args = "RUN RUN",
    .help = "print the differences between two runs",
    .opts = diff_opts,
    .confine = track_confine_reader,
    .run = diff_main,
};
