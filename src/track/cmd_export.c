/*
 * gtrack export - export runs to another format
 */
#include "config.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/output/pager.h"
#include "common/path.h"
#include "common/save.h"
#include "common/spawn.h"
#include "common/output/emit.h"
#include "store/format/store.h"
#include "store/format/tfevents.h"
#include "track/runs/file_tree.h"
#include "track/runs/track.h"

static struct track_selection selection = TRACK_SELECTION_INIT;
static const char *output;
static bool safe;
static int to = -1;

enum export_format { CSV, JSONL, MLFLOW, TENSORBOARD, TAR };

static const char *const format_words[] = {
    [CSV] = "csv",       [JSONL] = "jsonl",
    [MLFLOW] = "mlflow", [TENSORBOARD] = "tensorboard",
    [TAR] = "tar",       [TAR + 1] = NULL,
};

static const struct opt export_opts[] = {
    TRACK_OPT_ROOT,
    TRACK_OPT_LINKS,
    TRACK_OPTS_SELECTION(selection),
    { 't', "to", "format", OPT_WORD, &to, "write %s", format_words },
    { 'o', "output", "path", OPT_STRING, &output,
      "write to this file or folder; - is standard output" },
    { 'A', "attempts", NULL, OPT_FLAG, &selection.attempts,
      "csv, jsonl: include points that a later attempt has retracted" },
    { 0, "safe", NULL, OPT_FLAG, &safe,
      "csv: begin no text as a formula of a spreadsheet" },
    { 0 }
};

/* -- CSV and JSON Lines: one line per point ------------------------------- */

static int load_flags(void)
{
    return selection.attempts ? LOAD_ALL_ATTEMPTS : 0;
}

enum { ENOUGH = 1 << 16 }; /* bytes, to be written together */

/* Write lines to a file or, where it is a terminal, what it may show. */
static int write_lines(FILE *fp, struct buf *lines, struct err *e)
{
    int ret = 0;

    if (fp == stdout)
        ret = pager_data(lines->s, lines->len, e);
    else
        fwrite(lines->s, 1, lines->len, fp); /* save_commit() looks */
    buf_trim(lines, 0);
    return ret;
}

static int write_csv_run(FILE *fp, const struct run_info *r, struct err *e)
{
    void (*const text)(struct buf *, const char *) =
        safe ? table_csv_safe : table_csv_text;
    AUTO(buf_clear) struct buf head = BUF_INIT, lines = BUF_INIT;
    int ret = 0;

    for (size_t j = 0; j < r->n_metrics && ret == 0; j++) {
        AUTO(series_free) struct series s = { 0 };

        buf_trim(&head, 0);
        buf_printf(&head, "%s,", r->id);
        text(&head, r->name);
        buf_char(&head, ',');
        text(&head, r->experiment);
        buf_char(&head, ',');
        text(&head, r->metrics[j].key);
        ret = series_load(&s, r, r->metrics[j].key, load_flags(), e);
        for (size_t i = 0; i < s.n && ret == 0; i++) {
            char value[NUM_TEXT];

            num_shortest(value, s.value[i]);
            buf_printf(&lines, "%s,%" PRId64 ",%" PRId64 ",%s\n", head.s,
                       s.step[i], s.ms[i], value);
            if (lines.len > ENOUGH)
                ret = write_lines(fp, &lines, e);
        }
    }
    if (ret == 0)
        ret = write_lines(fp, &lines, e);
    return ret;
}

static void emit_run(struct emit *o, const struct run_info *r)
{
    emit_object(o, NULL);
    emit_text(o, "type", "run");
    emit_text(o, "id", r->id);
    emit_text(o, "name", r->name);
    emit_text(o, "experiment", r->experiment);
    emit_text(o, "user", r->user ? r->user : "");
    emit_text(o, "status", run_status_word(r->status));
    if (r->state_reason)
        emit_text(o, "reason", r->state_reason);
    emit_int(o, "start_ms", r->start_ms);
    emit_int(o, "end_ms", r->end_ms);
    track_emit_pairs(o, "params", r->params, r->n_params);
    track_emit_pairs(o, "tags", r->tags, r->n_tags);
    emit_object_end(o);
    emit_newline(o);
}

static int write_jsonl_run(FILE *fp, const struct run_info *r, struct err *e)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;
    struct emit o = { &b, .reals = EMIT_QUOTED, .spaced = true };
    int ret = 0;

    emit_run(&o, r);
    for (size_t j = 0; j < r->n_metrics && ret == 0; j++) {
        AUTO(series_free) struct series s = { 0 };

        ret = series_load(&s, r, r->metrics[j].key, load_flags(), e);
        for (size_t i = 0; i < s.n && ret == 0; i++) {
            emit_object(&o, NULL);
            emit_text(&o, "type", "point");
            emit_text(&o, "run", r->id);
            emit_text(&o, "metric", r->metrics[j].key);
            emit_int(&o, "step", s.step[i]);
            emit_int(&o, "time_ms", s.ms[i]);
            emit_real(&o, "value", s.value[i]);
            emit_object_end(&o);
            emit_newline(&o);
            if (b.len > ENOUGH)
                ret = write_lines(fp, &b, e);
        }
    }
    if (ret == 0)
        ret = write_lines(fp, &b, e);
    return ret;
}

/* Is the output a path, or else standard output? */
static bool is_path(const char *name)
{
    return name && strcmp(name, "-") != 0;
}

static int export_lines(const struct runs *runs, struct err *e)
{
    const bool to_file = is_path(output);
    struct save s = { 0 };
    FILE *fp = stdout;
    int ret = 0;

    if (to_file && save_open(&s, output, e) < 0)
        return -1;
    if (to_file)
        fp = s.fp;
    if (to == CSV)
        fputs("run_id,run,experiment,metric,step,time_ms,value\n", fp);
    for (size_t i = 0; i < runs->n && ret == 0; i++)
        ret = to == CSV ? write_csv_run(fp, &runs->run[i], e)
                        : write_jsonl_run(fp, &runs->run[i], e);
    if (to_file && ret == 0)
        ret = save_commit(&s, e);
    save_abandon(&s);
    return ret;
}

/* -- folders ------------------------------------------------------------- */

static int export_mlflow(const struct runs *runs, struct err *e)
{
    struct copies c;
    const int ret = copy_runs(runs, output, &c, e);

    log_info("%zu runs copied to %s, %zu already existed", c.runs, output,
             c.existing);
    return ret;
}

static void write_params(struct tfevents *t, const struct run_info *r)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;

    if (r->n_params == 0)
        return;
    buf_str(&b, "| parameter | value |\n|---|---|\n");
    for (size_t i = 0; i < r->n_params; i++)
        buf_printf(&b, "| %s | %s |\n", r->params[i].key, r->params[i].value);
    tfevents_text(t, "parameters", 0, r->start_ms, b.s);
}

static int write_tensorboard_run(const struct run_info *r, struct err *e)
{
    struct tfevents *t =
        tfevents_create(output, r->name, r->id, r->start_ms, e);
    int ret = 0;

    if (!t)
        return -1;
    write_params(t, r);
    for (size_t j = 0; j < r->n_metrics && ret == 0; j++) {
        AUTO(series_free) struct series s = { 0 };

        ret = series_load(&s, r, r->metrics[j].key, 0, e);
        for (size_t i = 0; i < s.n; i++)
            tfevents_scalar(t, r->metrics[j].key, s.step[i], s.ms[i],
                            s.value[i]);
    }
    if (ret == 0)
        return tfevents_close(t, e);
    tfevents_close(t, ERR_IGNORED);
    return -1;
}

static int export_tensorboard(const struct runs *runs, struct err *e)
{
    for (size_t i = 0; i < runs->n; i++)
        if (write_tensorboard_run(&runs->run[i], e) < 0)
            return -1;
    if (save_sync_all(output, e) < 0)
        return -1;
    log_info("%zu runs exported; to view them, run: tensorboard --logdir %s",
             runs->n, output);
    return 0;
}

/* -- tar ----------------------------------------------------------------- */

/* The files of the experiment of run i, unless an earlier run is of it, too. */
static void add_experiment_files(struct buf *names, const struct runs *runs,
                                 size_t i, const char *parent, size_t root)
{
    static const char *const files[] = { STORE_META, "tags", "datasets" };

    for (size_t k = 0; k < i; k++)
        if (strcmp(runs->run[k].experiment_id, runs->run[i].experiment_id) == 0)
            return;
    for (size_t k = 0; k < sizeof files / sizeof files[0]; k++) {
        AUTO_FREE char *path = path_join(parent, files[k]);

        if (path_exists(path))
            buf_add(names, path + root, strlen(path + root) + 1);
    }
}

static int run_tar(const char *path, struct spawn *s, struct err *e)
{
    /* clang-format off */
    const char *const argv[] = {
        "tar", "--create", "--sparse", "--force-local", "--file", path,
        "--directory", track_store(), "--transform", "s,^,mlruns/,S",
        "--exclude", STORE_OWN "/push.*", "--null", "--files-from=-", NULL
    };
    /* clang-format on */

    return spawn_run(argv, s, e);
}

/* The folders of the runs and the files of their experiments, below mlruns/. */
static int export_tar(const struct runs *runs, struct err *e)
{
    const bool to_file = is_path(output);
    struct save save = { 0 };
    const size_t root = strlen(track_store()) + 1;
    AUTO(buf_clear) struct buf names = BUF_INIT;
    struct spawn s = { .quiet = true };
    int ret;

    /* tar writes nothing to /dev/null, which stands for a closed one */
    if (!to_file && write(STDOUT_FILENO, "", 0) < 0)
        return err_sys(e, "cannot write standard output");
    if (to_file && save_open(&save, output, e) < 0)
        return -1;
    for (size_t i = 0; i < runs->n; i++) {
        const char *folder = runs->run[i].folder;
        AUTO_FREE char *parent = path_parent(folder);

        add_experiment_files(&names, runs, i, parent, root);
        buf_add(&names, folder + root, strlen(folder + root) + 1);
    }
    s.in = names.s;
    s.in_len = names.len;
    fflush(stdout);
    ret = run_tar(!to_file ? "-" : save.temp ? save.temp : save.path, &s, e);
    /* a file changed meanwhile, or the reader of the pipe has gone */
    if (ret < 0 && (s.status == 1 || s.status == 128 + SIGPIPE)) {
        *e = (struct err){ 0 };
        ret = 0;
    }
    if (ret == 0 && to_file)
        ret = save_commit(&save, e);
    save_abandon(&save);
    return ret;
}

static int export_main(int argc, char **argv, struct err *e)
{
    typedef int export_fn(const struct runs *, struct err *);
    static export_fn *const formats[] = {
        [CSV] = export_lines,     [JSONL] = export_lines,
        [MLFLOW] = export_mlflow, [TENSORBOARD] = export_tensorboard,
        [TAR] = export_tar,
    };
    AUTO(runs_free) struct runs runs = { 0 };

    if (to < 0)
        return err_usage(e, "export needs a format; use --to");
    if (track_select(&runs, &selection, argc, argv, e) < 0)
        return -1;
    if (runs.n == 0)
        return err_set(e, ERR_MISSING, "there are no runs to export in %s",
                       track_store());
    if ((to == MLFLOW || to == TENSORBOARD) && !is_path(output))
        return err_usage(e, "--to %s needs a folder; use --output",
                         format_words[to]);
    runs_warn_damage(&runs);
    return formats[to](&runs, e);
}

static void confine_export(void)
{
    AUTO_FREE char *folder = path_of_output(output);

    track_confine_output(to == MLFLOW || to == TENSORBOARD ? output : folder);
}

const struct cmd cmd_export = {
    .name = "export",
    .args = "[RUN|FILTER]...",
    .help = "export runs to another format",
    .opts = export_opts,
    .confine = confine_export,
    .run = export_main,
};
