#include "config.h"
#include "track/cmds.h"
#include "track/runs/track.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "store/bulk.h"
#include "store/edit.h"
#include "store/meta.h"

/*
 * tag, note and mv: what is said about a run after it was made.  All of it is
 * in files that MLflow reads too.
 */
typedef int edit_fn(const struct run_info *, void *arg, struct err *);

static int edit_each(const struct runs *runs, edit_fn *edit, void *arg,
                     struct err *e)
{
    for (size_t i = 0; i < runs->n; i++)
        if (edit(&runs->run[i], arg, e) < 0)
            return err_wrap(e, "run %s", runs->run[i].name);
    return 0;
}

static int select_words(struct runs *runs, char **words, int n, int flags,
                        struct err *e)
{
    return runs_select(runs, track_store(), words, n, flags | LOAD_NO_METRICS,
                       e);
}

/* ---- tag ---- */

static struct opt_list removed;
static struct table_style tag_style;

static const struct opt tag_opts[] = {
    TRACK_OPTS,
    { 'D', "delete", "key", OPT_LIST, &removed,
      "delete this tag; may be given many times" },
    TABLE_OPTS(tag_style),
    { 0 }
};

struct tags {
    char **pair;
    int n;
};

static int set_tags(const struct run_info *r, void *arg, struct err *e)
{
    const struct tags *t = arg;

    for (int i = 0; i < t->n; i++) {
        const char *value;
        char *key;
        int ret;

        if (track_apart(t->pair[i], &key, &value, e) < 0)
            return -1;
        ret = edit_tag(r, key, value, e);
        free(key);
        if (ret < 0)
            return -1;
    }
    for (size_t i = 0; i < removed.n; i++)
        if (edit_tag(r, removed.item[i], NULL, e) < 0)
            return -1;
    return 0;
}

static int list_tags(const struct runs *runs, struct err *e)
{
    struct table t = TABLE_INIT("gtrack.tag/1");
    int ret;

    table_column(&t, "run");
    table_column(&t, "tag");
    table_column(&t, "value");
    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];

        for (size_t j = 0; j < r->n_tags; j++) {
            table_text(&t, r->name);
            table_text(&t, r->tags[j].key);
            table_text(&t, r->tags[j].value);
        }
    }
    ret = table_print(&t, &tag_style, e);
    table_clear(&t);
    return ret;
}

static int tag_main(int argc, char **argv, struct err *e)
{
    struct runs runs = RUNS_INIT;
    struct tags t = { argv + 1, argc - 1 };
    int ret;

    if (track_words(argc, 1, -1, "tag RUN|FILTER [KEY=VALUE]...", e) < 0)
        return -1;
    for (int i = 0; i < t.n; i++) { /* all or none */
        const char *value;
        char *key;

        if (track_apart(t.pair[i], &key, &value, e) < 0)
            return -1;
        free(key);
    }
    ret = select_words(&runs, argv, 1, 0, e);
    if (ret == 0 && (t.n || removed.n))
        ret = edit_each(&runs, set_tags, &t, e);
    else if (ret == 0)
        ret = list_tags(&runs, e);
    runs_free(&runs);
    return ret;
}

/* ---- note ---- */

static bool append;

static const struct opt note_opts[] = {
    TRACK_OPTS,
    { 'a', "append", NULL, OPT_FLAG, &append,
      "append the text to the existing note" },
    { 0 }
};

#define NOTE "mlflow.note.content"

static int set_note(const struct run_info *r, void *arg, struct err *e)
{
    const char *text = arg, *was = run_info_tag(r, NOTE);
    char *both;
    int ret;

    if (!append || !was || !*was)
        return edit_tag(r, NOTE, *text ? text : NULL, e);
    both = xasprintf("%s\n%s", was, text);
    ret = edit_tag(r, NOTE, both, e);
    free(both);
    return ret;
}

static char *read_note(struct err *e)
{
    enum { MOST = 1 << 20 };
    struct buf b = BUF_INIT;
    char chunk[4096];
    size_t n;

    while ((n = fread(chunk, 1, sizeof chunk, stdin)) > 0 && b.len < MOST)
        buf_add(&b, chunk, n);
    if (b.len >= MOST) {
        err_set(e, ERR_USAGE, "a note has at most 1 MiB");
        buf_clear(&b);
        return NULL;
    }
    while (b.len && b.s[b.len - 1] == '\n')
        buf_trim(&b, b.len - 1);
    return b.len ? buf_detach(&b) : xstrdup("");
}

static int note_main(int argc, char **argv, struct err *e)
{
    struct runs runs = RUNS_INIT;
    char *text = NULL;
    int ret;

    if (track_words(argc, 1, 2, "note RUN [TEXT|-]", e) < 0 ||
        track_one(&runs, argv[0], LOAD_NO_METRICS, e) < 0)
        return -1;
    if (argc == 1) {
        const char *note = run_info_tag(&runs.run[0], NOTE);

        if (note)
            puts(note);
        ret = 0;
    } else {
        text = strcmp(argv[1], "-") == 0 ? read_note(e) : xstrdup(argv[1]);
        ret = text ? edit_each(&runs, set_note, text, e) : -1;
    }
    free(text);
    runs_free(&runs);
    return ret;
}

/* ---- mv ---- */

static const char *to_experiment;

static const struct opt mv_opts[] = { TRACK_OPTS,
                                      { 'e', "experiment", "name", OPT_STRING,
                                        &to_experiment,
                                        "move the runs to this experiment" },
                                      { 0 } };

static int move_run(const struct run_info *r, void *arg, struct err *e)
{
    struct bulk p;
    int ret;

    (void)arg;
    if (strcmp(r->experiment, to_experiment) == 0)
        return 0;
    if (r->status == RUN_RUNNING)
        return err_set(e, ERR_USAGE,
                       "it is running; its writer would lose "
                       "its folder");
    if (bulk_open(&p, r->folder, e) < 0)
        return -1;
    ret = bulk_move(&p, track_store(), to_experiment, e);
    bulk_close(&p);
    return ret;
}

static int rename_run(const struct run_info *r, void *arg, struct err *e)
{
    return edit_name(r, arg, e);
}

static int mv_main(int argc, char **argv, struct err *e)
{
    struct runs runs = RUNS_INIT;
    int ret;

    if (to_experiment) {
        if (track_words(argc, 1, -1, "mv -e EXPERIMENT RUN|FILTER...", e) < 0)
            return -1;
        ret = select_words(&runs, argv, argc, 0, e);
        if (ret == 0)
            ret = edit_each(&runs, move_run, NULL, e);
    } else {
        if (track_words(argc, 2, 2, "mv RUN NEW-NAME", e) < 0)
            return -1;
        if (!*argv[1])
            return err_set(e, ERR_USAGE, "a run's name is not empty");
        ret = track_one(&runs, argv[0], LOAD_NO_METRICS, e);
        if (ret == 0)
            ret = edit_each(&runs, rename_run, argv[1], e);
    }
    runs_free(&runs);
    return ret;
}

/* ---- rm, restore, gc ---- */

static bool dry, yes;
static double older = 0;

#define DRY                                                                    \
 {                                                                             \
  0, "dry-run", NULL, OPT_FLAG, &dry,                                          \
      "print what would be done, and do nothing"                               \
 }

static const struct opt rm_opts[] = { TRACK_OPTS, DRY, { 0 } };
static const struct opt restore_opts[] = { TRACK_OPTS, DRY, { 0 } };
static const struct opt gc_opts[] = {
    TRACK_OPTS,
    { 0, "older-than", "time", OPT_SECS, &older,
      "remove only runs deleted at least this long ago: 30d" },
    { 'y', "yes", NULL, OPT_FLAG, &yes, "do not ask for confirmation" },
    DRY,
    { 0 }
};

static int mark_deleted(const struct run_info *r, void *arg, struct err *e)
{
    const bool *deleted = arg;

    if (!dry && (*deleted ? edit_delete(r, e) : edit_restore(r, e)) < 0)
        return -1;
    log_info("%s%s %s (%s)", dry ? "would have " : "",
             *deleted ? "deleted" : "restored", r->name, r->id);
    return 0;
}

static int rm_main(int argc, char **argv, struct err *e)
{
    struct runs runs = RUNS_INIT;
    bool deleted = true;
    int ret;

    if (track_words(argc, 1, -1, "rm RUN|FILTER...", e) < 0)
        return -1;
    ret = select_words(&runs, argv, argc, 0, e);
    if (ret == 0)
        ret = edit_each(&runs, mark_deleted, &deleted, e);
    if (ret == 0 && !dry)
        log_info("'gtrack restore' takes that back, 'gtrack gc' frees the "
                 "space");
    runs_free(&runs);
    return ret;
}

static int restore_main(int argc, char **argv, struct err *e)
{
    struct runs runs = RUNS_INIT;
    bool deleted = false;
    int ret;

    if (track_words(argc, 1, -1, "restore RUN|FILTER...", e) < 0)
        return -1;
    ret = select_words(&runs, argv, argc, LOAD_ONLY_DELETED, e);
    if (ret < 0 && e->kind == ERR_MISSING)
        err_wrap(e, "of the deleted runs");
    if (ret == 0)
        ret = edit_each(&runs, mark_deleted, &deleted, e);
    runs_free(&runs);
    return ret;
}

/* When a run was deleted, as its meta.yaml says. */
static int64_t deleted_ms(const char *folder)
{
    struct arena mem = ARENA_INIT;
    struct err e = ERR_INIT;
    struct meta m;
    const int64_t ms = meta_load(&m, &mem, folder, &e) == 0 ? m.deleted_ms : 0;

    arena_clear(&mem);
    return ms;
}

static int gc_main(int argc, char **argv, struct err *e)
{
    const int64_t before = clock_wall_ms() - (int64_t)(older * 1000);
    struct runs runs = RUNS_INIT;
    char question[64];
    size_t kept = 0;
    int ret;

    (void)argv;
    if (track_words(argc, 0, 0, "gc", e) < 0)
        return -1;
    ret =
        runs_load(&runs, track_store(), LOAD_ONLY_DELETED | LOAD_NO_METRICS, e);
    for (size_t i = 0; i < runs.n; i++)
        if (deleted_ms(runs.run[i].folder) <= before)
            runs.run[kept++] = runs.run[i];
    runs.n = kept;
    if (ret == 0 && kept == 0)
        log_info("nothing to remove");
    snprintf(question, sizeof question, "remove %zu runs for good?", kept);
    if (ret == 0 && kept && !dry && !track_confirm(yes, question, e))
        ret = -1;
    for (size_t i = 0; i < kept && ret == 0; i++) {
        const struct run_info *r = &runs.run[i];

        log_info("%s %s (%s)", dry ? "would remove" : "removing", r->name,
                 r->id);
        if (!dry)
            ret = edit_remove(track_store(), r, e);
    }
    runs_free(&runs);
    return ret;
}

const struct cmd cmd_tag = {
    .name = "tag",
    .args = "RUN|FILTER [KEY=VALUE]...",
    .help = "list, set or delete tags",
    .opts = tag_opts,
    .run = tag_main,
};

const struct cmd cmd_note = {
    .name = "note",
    .args = "RUN [TEXT|-]",
    .help = "print or write the note of a run",
    .opts = note_opts,
    .run = note_main,
};

const struct cmd cmd_mv = {
    .name = "mv",
    .args = "RUN NAME",
    .help = "rename a run, or move runs to another experiment",
    .opts = mv_opts,
    .run = mv_main,
};

const struct cmd cmd_rm = {
    .name = "rm",
    .args = "RUN|FILTER...",
    .help = "mark runs as deleted",
    .opts = rm_opts,
    .run = rm_main,
};

const struct cmd cmd_restore = {
    .name = "restore",
    .args = "RUN|FILTER...",
    .help = "restore deleted runs",
    .opts = restore_opts,
    .run = restore_main,
};

const struct cmd cmd_gc = {
    .name = "gc",
    .help = "remove deleted runs permanently",
    .opts = gc_opts,
    .run = gc_main,
};
