/*
 * gtrack du - print how much disk space experiments or runs take
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "common/opt.h"
#include "store/format/store.h"
#include "track/runs/file_tree.h"
#include "track/runs/track.h"

static struct table_style style;
static bool by_run;

static const struct opt du_opts[] = {
    TRACK_OPT_ROOT,
    { 0, "runs", NULL, OPT_FLAG, &by_run,
      "print one row per run, the largest first" },
    TABLE_OPTS(style),
    { 0 }
};

/* The disk space of an experiment or a run. */
struct disk_use {
    const char *name, *id;
    int64_t runs, files;
    int64_t metrics, artifacts, other; /* bytes */
};

static int64_t total_bytes(const struct disk_use *u)
{
    return u->metrics + u->artifacts + u->other;
}

static int by_size(const void *a, const void *b)
{
    const int64_t x = total_bytes(a), y = total_bytes(b);

    return (x < y) - (x > y);
}

static int add_run(struct disk_use *u, const struct run_info *r, struct err *e)
{
    struct file_tree f;

    if (file_tree_list(&f, r->folder, r->folder, e) < 0)
        return -1;
    for (size_t i = 0; i < f.n; i++) {
        const struct file_tree_file *x = &f.file[i];

        u->files++;
        if (strncmp(x->path, STORE_METRICS "/", sizeof STORE_METRICS) == 0)
            u->metrics += x->size;
        else if (strncmp(x->path, STORE_ARTIFACTS "/",
                         sizeof STORE_ARTIFACTS) == 0)
            u->artifacts += x->size;
        else
            u->other += x->size;
    }
    u->runs++;
    file_tree_clear(&f);
    return 0;
}

/* Sum over runs into use[], which has room for as many; -1 or how many. */
static int sum_runs(struct disk_use *use, const struct runs *runs,
                    struct err *e)
{
    int n = 0;

    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];
        const char *id = by_run ? r->id : r->experiment_id;
        int at = by_run ? n : 0; /* no two runs have one id */

        while (at < n && strcmp(use[at].id, id) != 0)
            at++;
        if (at == n)
            use[n++] =
                (struct disk_use){ .name = by_run ? r->name : r->experiment,
                                   .id = id };
        if (add_run(&use[at], r, e) < 0)
            return -1;
    }
    SORT(use, (size_t)n, by_size);
    return n;
}

static int print_table(const struct disk_use *use, int n, struct err *e)
{
    struct table t = TABLE_INIT(by_run ? "gtrack.du-runs/1" : "gtrack.du/1");

    table_columns(&t, by_run ? "run" : "experiment", "id", NULL);
    if (!by_run)
        table_column(&t, "runs");
    table_columns(&t, "files", "metrics", "artifacts", "other", "bytes", NULL);
    for (int i = 0; i < n; i++) {
        table_text(&t, use[i].name);
        table_text(&t, use[i].id);
        if (!by_run)
            table_int(&t, use[i].runs);
        table_int(&t, use[i].files);
        table_bytes(&t, use[i].metrics);
        table_bytes(&t, use[i].artifacts);
        table_bytes(&t, use[i].other);
        table_bytes(&t, total_bytes(&use[i]));
    }
    return table_finish(&t, 0, &style, e);
}

static int du_main(int argc, char **argv, struct err *e)
{
    struct runs runs = { 0 };
    struct disk_use *use;
    int n;

    if (table_form(&style, e) < 0 ||
        track_load(&runs, argc, argv, LOAD_DELETED | LOAD_NO_METRICS, e) < 0)
        return -1;
    use = xcalloc(runs.n, sizeof *use);
    n = sum_runs(use, &runs, e);
    if (n >= 0)
        n = print_table(use, n, e);
    free(use);
    runs_free(&runs);
    return n;
}

const struct cmd cmd_du = {
    .name = "du",
    .args = "[RUN|FILTER]...",
    .help = "print how much disk space runs take",
    .opts = du_opts,
    .confine = track_confine_reader,
    .run = du_main,
};
