/*
 * gtrack tag, note, mv - change the tags, the note, the name or the experiment
 */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/opt.h"
#include "common/output/pager.h"
#include "common/save.h"
#include "store/format/meta.h"
#include "store/write/edit.h"
#include "store/write/new_run.h"
#include "track/runs/track.h"

/* ---- tag ----------------------------------------------------------------- */

static struct opt_list deleted;
static struct table_style style;

static const struct opt tag_opts[] = {
    TRACK_OPT_ROOT,
    { 'D', "delete", "key", OPT_LIST, &deleted,
      "delete this tag; may be given many times" },
    TABLE_OPTS(style),
    { 0 }
};

static int set_tags(const struct run_info *r, void *arg, struct err *e)
{
    for (const struct pair *p = arg; p->key; p++)
        if (edit_tag(r, p->key, p->value, e) < 0)
            return -1;
    for (size_t i = 0; i < deleted.n; i++)
        if (edit_tag(r, deleted.item[i], NULL, e) < 0)
            return -1;
    return 0;
}

static int add_tags(const struct run_info *r, void *arg, struct err *e UNUSED)
{
    struct table *t = arg;

    for (size_t i = 0; i < r->n_tags; i++) {
        table_text(t, r->name);
        table_text(t, r->tags[i].key);
        table_text(t, r->tags[i].value);
    }
    return 0;
}

static int list_tags(char **words, struct err *e)
{
    struct table t = TABLE_INIT("gtrack.tag/1");
    int ret;

    table_columns(&t, "run", "tag", "value", NULL);
    ret = track_each(1, words, 0, add_tags, &t, e);
    return table_finish(&t, ret, &style, e);
}

static int tag_main(int argc, char **argv, struct err *e)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    struct pair *pairs;
    int ret = -1;

    if (track_check_args(argc, argv, 1, -1, e) < 0)
        return -1;
    if (argc == 1 && !deleted.n)
        return list_tags(argv, e);
    pairs = track_parse_pairs(&mem, (const char *const *)argv + 1,
                              (size_t)argc - 1, e);
    if (pairs)
        ret = track_each(1, argv, LOAD_ONE_NAMED, set_tags, pairs, e);
    return ret;
}

const struct cmd cmd_tag = {
    .name = "tag",
    .args = "RUN|FILTER [KEY=VALUE]...",
    .help = "list, set or delete tags",
    .opts = tag_opts,
    .confine = track_confine_writer,
    .run = tag_main,
};

/* ---- note ---------------------------------------------------------------- */

static const char note_tag[] = "mlflow.note.content";

static const struct opt note_opts[] = { TRACK_OPT_ROOT, { 0 } };

static int print_note(const char *note, struct err *e)
{
    AUTO_FREE char *line = xasprintf("%s\n", note);

    return pager_data(line, strlen(line), e);
}

static char *read_note(struct err *e)
{
    enum { MOST = 1 << 20 };
    AUTO(buf_clear) struct buf b = BUF_INIT;

    if (buf_read_open(&b, dup(STDIN_FILENO), "standard input", MOST, e) < 0)
        return NULL;
    while (b.len && b.s[b.len - 1] == '\n')
        buf_trim(&b, b.len - 1);
    return b.len ? buf_detach(&b) : xstrdup("");
}

static int note_main(int argc, char **argv, struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };
    int ret = 0;

    if (track_check_args(argc, argv, 1, 2, e) < 0 ||
        track_select_one(&runs, argv[0], LOAD_NO_METRICS, e) < 0)
        return -1;
    if (argc == 1) {
        const char *note = run_info_tag(&runs.run[0], note_tag);

        if (note)
            ret = print_note(note, e);
    } else {
        AUTO_FREE char *text =
            strcmp(argv[1], "-") == 0 ? read_note(e) : xstrdup(argv[1]);

        ret = text ? edit_tag(&runs.run[0], note_tag, *text ? text : NULL, e)
                   : -1;
        if (ret < 0)
            err_wrap(e, "run %s", runs.run[0].name);
    }
    return ret;
}

const struct cmd cmd_note = {
    .name = "note",
    .args = "RUN [TEXT|-]",
    .help = "print or write the note of a run",
    .opts = note_opts,
    .confine = track_confine_writer,
    .run = note_main,
};

/* ---- mv ------------------------------------------------------------------ */

static const char *experiment;

static const struct opt mv_opts[] = { TRACK_OPT_ROOT,
                                      { 'e', "experiment", "name", OPT_STRING,
                                        &experiment,
                                        "move the runs to this experiment" },
                                      { 0 } };

static int move_run(const struct run_info *r, void *arg UNUSED, struct err *e)
{
    struct stored_run b;
    int ret;

    if (strcmp(r->experiment, experiment) == 0)
        return r->status == RUN_RUNNING ? 0
                                        : meta_change(r->folder, NULL, NULL, e);
    if (r->status == RUN_RUNNING)
        return err_usage(e, "a run cannot be moved while it is running");
    if (stored_run_open(&b, r->folder, e) < 0)
        return -1;
    ret = stored_run_move(&b, track_store(), experiment, e);
    stored_run_close(&b);
    return ret;
}

/* Several runs may have one name, but then it does not name one of them. */
static void warn_if_shared(const struct runs *all, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < all->n; i++)
        n += strcmp(all->run[i].name, name) == 0;
    if (n > 1)
        log_warn("%zu runs are named %s now", n, name);
}

static int rename_run(char *word, const char *name, struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 }, all = { 0 };
    int ret;

    if (!*name)
        return err_usage(e, "the name of a run cannot be empty");
    if (track_select_one(&runs, word, LOAD_NO_METRICS, e) < 0)
        return -1;
    ret = edit_name(&runs.run[0], name, e);
    if (ret < 0)
        err_wrap(e, "run %s", runs.run[0].name);
    if (ret == 0 && track_load(&all, 0, NULL, LOAD_NO_METRICS, e) == 0)
        warn_if_shared(&all, name);
    return ret;
}

static int mv_main(int argc, char **argv, struct err *e)
{
    if (experiment)
        return track_check_args(argc, argv, 1, -1, e) < 0 ||
                       track_each(argc, argv, LOAD_ONE_NAMED | LOAD_AWAIT,
                                  move_run, NULL, e) < 0
                   ? -1
                   : save_sync_all(track_store(), e);
    return track_check_args(argc, argv, 2, 2, e) < 0
               ? -1
               : rename_run(argv[0], argv[1], e);
}

const struct cmd cmd_mv = {
    .name = "mv",
    .args = "RUN NAME | -e EXPERIMENT RUN|FILTER...",
    .help = "rename a run, or move runs to another experiment",
    .opts = mv_opts,
    .confine = track_confine_writer,
    .run = mv_main,
};
