#include "config.h"
#include "track/track.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "store/edit.h"
#include "store/fsck.h"
#include "store/store.h"

static struct table_style style;
static bool repair, moved;

const struct opt opts_fsck[] = {
    TRACK_OPTS,
    { 0, "repair", NULL, OPT_FLAG, &repair, "put right what can be" },
    { 0, "moved", NULL, OPT_FLAG, &moved,
      "the store was moved: with --repair write the paths of artifacts anew" },
    TABLE_OPTS(style),
    { 0 }
};

struct report {
    struct table table;
    int64_t found, left;
};

static void note(void *arg, const struct run_info *r,
                 const struct fsck_finding *f)
{
    struct report *p = arg;

    table_text(&p->table, r->name);
    table_text(&p->table, r->id);
    table_text(&p->table, f->file);
    table_text(&p->table, f->what);
    table_text(&p->table, f->repaired ? "yes" : "no");
    table_mark(&p->table, f->repaired ? MARK_GOOD : MARK_BAD);
    p->found++;
    p->left += !f->repaired;
}

static void note_experiment(struct report *p, const char *name, const char *id,
                            const char *what)
{
    table_printf(&p->table, "(experiment %s)", name);
    table_text(&p->table, id);
    table_text(&p->table, STORE_META);
    table_text(&p->table, what);
    table_text(&p->table, "no");
    p->found++;
    p->left++;
}

/* Is there a run in this folder? */
static bool has_run(const char *folder)
{
    struct path_list inside;
    struct err none = ERR_INIT;
    bool found = false;

    if (path_list(&inside, folder, &none) < 0)
        return false;
    for (size_t i = 0; i < inside.n && !found; i++) {
        char *meta = xasprintf("%s/%s/" STORE_META, folder, inside.name[i]);

        found = path_exists(meta);
        free(meta);
    }
    path_list_clear(&inside);
    return found;
}

/* Runs in a folder without a meta.yaml are of no experiment; nobody, MLflow
 * neither, lists them. */
static int lost_experiments(struct report *p, struct err *e)
{
    struct path_list names;

    if (path_list(&names, track_store(), e) < 0)
        return -1;
    for (size_t i = 0; i < names.n; i++) {
        const char *id = names.name[i];
        char *folder = path_join(track_store(), id);
        char *meta = path_join(folder, STORE_META);

        if (id[strspn(id, "0123456789")] == '\0' && !path_exists(meta) &&
            has_run(folder))
            note_experiment(p, id, id,
                            "it is missing, so no run in there is listed");
        free(meta);
        free(folder);
    }
    path_list_clear(&names);
    return 0;
}

static int experiments(struct report *p, struct err *e)
{
    struct experiments all = EXPERIMENTS_INIT;
    int ret = experiments_load(&all, track_store(), e);

    for (size_t i = 0; ret == 0 && i < all.n; i++) {
        const struct experiment *x = &all.item[i];

        if (x->damage)
            note_experiment(p, x->name ? x->name : x->id, x->id, x->damage);
    }
    experiments_free(&all);
    return ret < 0 ? -1 : lost_experiments(p, e);
}

CMD(fsck)
{
    struct report p = { .table = TABLE_INIT("gtrack.fsck/1") };
    struct runs runs = RUNS_INIT;
    int ret;

    if (table_form(&style, e) < 0)
        return -1;
    table_column(&p.table, "run");
    table_column(&p.table, "id");
    table_column(&p.table, "file");
    table_column(&p.table, "problem");
    table_column(&p.table, "repaired");
    ret = argc ? runs_select(&runs, track_store(), argv, argc,
                             LOAD_DELETED | LOAD_NO_METRICS, e)
               : runs_load(&runs, track_store(), LOAD_DELETED | LOAD_NO_METRICS,
                           e);
    if (ret == 0 && argc == 0)
        ret = experiments(&p, e);
    for (size_t i = 0; ret == 0 && i < runs.n; i++) {
        if (fsck_run(&runs.run[i], repair, note, &p, e) < 0) {
            const struct fsck_finding f = { "-", e->text, false };

            note(&p, &runs.run[i], &f); /* and on to the next */
            *e = (struct err)ERR_INIT;
        }
    }
    if (ret == 0 && moved && repair) {
        int64_t count = 0;

        ret = edit_uris(track_store(), &count, e);
        log_info("%" PRId64 " paths of artifacts written anew", count);
    }
    if (ret == 0 && p.found)
        ret = table_print(&p.table, &style, e);
    if (ret == 0 && p.left)
        ret = err_set(
            e, ERR_INPUT, "%" PRId64 " of %" PRId64 " problems are left%s",
            p.left, p.found, repair ? "" : "; --repair puts right what can be");
    else if (ret == 0)
        log_info("%zu runs, %" PRId64 " problems%s", runs.n, p.found,
                 p.found ? ", all repaired" : "");
    table_clear(&p.table);
    runs_free(&runs);
    return ret;
}
