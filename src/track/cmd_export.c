#include "config.h"
#include "track/cmds.h"
#include "track/runs/track.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/num.h"
#include "common/path.h"
#include "common/save.h"
#include "common/spawn.h"
#include "store/store.h"
#include "store/tfevents.h"
#include "track/runs/copy.h"

static struct track_choice choice;
static const char *to, *output;

static const struct opt export_opts[] = {
    TRACK_OPTS,
    TRACK_CHOICE_OPTS(choice),
    { 't', "to", "format", OPT_STRING, &to,
      "write csv, jsonl, mlflow, tensorboard or tar" },
    { 'o', "output", "path", OPT_STRING, &output,
      "write to this file or folder; - is standard output" },
    { 'A', "attempts", NULL, OPT_FLAG, &choice.attempts,
      "csv, jsonl: include points that a later attempt has retracted" },
    { 0 }
};

typedef int export_fn(const struct runs *, struct err *);

/* ---- csv and jsonl: one line a point ---- */

static int flags(void)
{
    return choice.attempts ? LOAD_ALL_ATTEMPTS : 0;
}

static void put_csv(FILE *fp, const char *s)
{
    if (!strpbrk(s, ",\"\r\n")) {
        fputs(s, fp);
        return;
    }
    putc('"', fp);
    for (; *s; s++) {
        if (*s == '"')
            putc('"', fp);
        putc(*s, fp);
    }
    putc('"', fp);
}

static int csv_run(FILE *fp, const struct run_info *r, struct err *e)
{
    for (size_t j = 0; j < r->n_metrics; j++) {
        struct series s;

        if (series_load(&s, r, r->metrics[j].key, flags(), e) < 0)
            return -1;
        for (size_t i = 0; i < s.n; i++) {
            char text[NUM_TEXT];

            num_shortest(text, s.value[i]);
            fprintf(fp, "%s,", r->id);
            put_csv(fp, r->name);
            putc(',', fp);
            put_csv(fp, r->experiment);
            putc(',', fp);
            put_csv(fp, r->metrics[j].key);
            fprintf(fp, ",%" PRId64 ",%" PRId64 ",%s\n", s.step[i], s.ms[i],
                    text);
        }
        series_free(&s);
    }
    return 0;
}

static void jsonl_pairs(struct buf *b, const char *name,
                        const struct pair *pair, size_t n)
{
    buf_printf(b, ", \"%s\": {", name);
    for (size_t i = 0; i < n; i++) {
        buf_str(b, i ? ", " : "");
        table_json_text(b, pair[i].key);
        buf_str(b, ": ");
        table_json_text(b, pair[i].value);
    }
    buf_char(b, '}');
}

static int jsonl_run(FILE *fp, const struct run_info *r, struct err *e)
{
    struct buf b = BUF_INIT;
    int ret = 0;

    buf_printf(&b, "{\"type\": \"run\", \"id\": \"%s\", \"name\": ", r->id);
    table_json_text(&b, r->name);
    buf_str(&b, ", \"experiment\": ");
    table_json_text(&b, r->experiment);
    buf_str(&b, ", \"user\": ");
    table_json_text(&b, r->user ? r->user : "");
    buf_printf(&b,
               ", \"status\": \"%s\", \"start_ms\": %" PRId64
               ", \"end_ms\": %" PRId64,
               run_status_word(r->status), r->start_ms, r->end_ms);
    jsonl_pairs(&b, "params", r->params, r->n_params);
    jsonl_pairs(&b, "tags", r->tags, r->n_tags);
    buf_str(&b, "}\n");
    fwrite(b.s, 1, b.len, fp);
    for (size_t j = 0; j < r->n_metrics && ret == 0; j++) {
        struct series s;

        ret = series_load(&s, r, r->metrics[j].key, flags(), e);
        for (size_t i = 0; ret == 0 && i < s.n; i++) {
            buf_trim(&b, 0);
            buf_printf(&b,
                       "{\"type\": \"point\", \"run\": \"%s\", "
                       "\"metric\": ",
                       r->id);
            table_json_text(&b, r->metrics[j].key);
            buf_printf(&b,
                       ", \"step\": %" PRId64 ", \"time_ms\": %" PRId64
                       ", \"value\": ",
                       s.step[i], s.ms[i]);
            table_json_real(&b, s.value[i]);
            buf_str(&b, "}\n");
            fwrite(b.s, 1, b.len, fp);
        }
        if (ret == 0)
            series_free(&s);
    }
    buf_clear(&b);
    return ret;
}

typedef int write_run_fn(FILE *, const struct run_info *, struct err *);

static int lines(const struct runs *runs, const char *head, write_run_fn *put,
                 struct err *e)
{
    const bool own = output && strcmp(output, "-") != 0;
    struct save s = SAVE_INIT;
    FILE *fp = stdout;
    int ret = 0;

    if (own && save_open(&s, output, e) < 0)
        return -1;
    if (own)
        fp = s.fp;
    fputs(head, fp);
    for (size_t i = 0; i < runs->n && ret == 0; i++)
        ret = put(fp, &runs->run[i], e);
    if (own && ret == 0)
        ret = save_commit(&s, e);
    save_abandon(&s);
    return ret;
}

static int export_csv(const struct runs *runs, struct err *e)
{
    return lines(runs, "run_id,run,experiment,metric,step,time_ms,value\n",
                 csv_run, e);
}

static int export_jsonl(const struct runs *runs, struct err *e)
{
    return lines(runs, "", jsonl_run, e);
}

/* ---- folders ---- */

static int need_folder(struct err *e)
{
    if (output && strcmp(output, "-") != 0)
        return 0;
    return err_set(e, ERR_USAGE, "--to %s wants a folder: --output DIR", to);
}

static int export_mlflow(const struct runs *runs, struct err *e)
{
    struct copies c;
    int ret;

    if (need_folder(e) < 0)
        return -1;
    ret = copy_runs(runs, output, &c, e);
    log_info("%zu runs copied to %s, %zu were there", c.runs, output, c.there);
    return ret;
}

/* A name for a folder: what is no letter, digit or ".-_ =" is "_". */
static char *folder_name(const struct runs *runs, size_t at)
{
    const struct run_info *r = &runs->run[at];
    char *name = xstrdup(r->name);
    bool again = false;

    for (char *p = name; *p; p++)
        if ((unsigned char)*p < 0x20 || strchr("/\\:*?\"<>|", *p))
            *p = '_';
    for (size_t i = 0; i < runs->n; i++)
        again = again || (i != at && strcmp(runs->run[i].name, r->name) == 0);
    if (again || !*name || *name == '.') {
        char *longer = xasprintf("%s-%.8s", name, r->id);

        free(name);
        return longer;
    }
    return name;
}

static void put_params(struct tfevents *t, const struct run_info *r)
{
    struct buf b = BUF_INIT;

    if (r->n_params == 0)
        return;
    buf_str(&b, "| parameter | value |\n|---|---|\n");
    for (size_t i = 0; i < r->n_params; i++)
        buf_printf(&b, "| %s | %s |\n", r->params[i].key, r->params[i].value);
    tfevents_text(t, "parameters", 0, r->start_ms, b.s);
    buf_clear(&b);
}

static int tensorboard_run(const struct run_info *r, const char *folder,
                           struct err *e)
{
    struct tfevents *t = tfevents_create(folder, r->start_ms, e);
    int ret = 0;

    if (!t)
        return -1;
    put_params(t, r);
    for (size_t j = 0; j < r->n_metrics && ret == 0; j++) {
        struct series s;

        ret = series_load(&s, r, r->metrics[j].key, 0, e);
        for (size_t i = 0; ret == 0 && i < s.n; i++)
            tfevents_scalar(t, r->metrics[j].key, s.step[i], s.ms[i],
                            s.value[i]);
        if (ret == 0)
            series_free(&s);
    }
    if (ret == 0)
        return tfevents_close(t, e);
    tfevents_close(t, &(struct err)ERR_INIT);
    return -1;
}

static int export_tensorboard(const struct runs *runs, struct err *e)
{
    if (need_folder(e) < 0)
        return -1;
    for (size_t i = 0; i < runs->n; i++) {
        char *name = folder_name(runs, i);
        char *folder = path_join(output, name);
        const int ret = tensorboard_run(&runs->run[i], folder, e);

        free(folder);
        free(name);
        if (ret < 0)
            return -1;
    }
    log_info("%zu runs; see them with: tensorboard --logdir %s", runs->n,
             output);
    return 0;
}

/* ---- tar ---- */

/* What belongs to a run's experiment, unless an earlier run has named it. */
static void tar_experiment(struct buf *names, const struct runs *runs, size_t i,
                           const char *parent, size_t root)
{
    static const char *const beside[] = { STORE_META, "tags", "datasets" };

    for (size_t k = 0; k < i; k++)
        if (strcmp(runs->run[k].experiment_id, runs->run[i].experiment_id) == 0)
            return;
    for (size_t k = 0; k < sizeof beside / sizeof beside[0]; k++) {
        char *path = path_join(parent, beside[k]);

        if (path_exists(path))
            buf_add(names, path + root, strlen(path + root) + 1);
        free(path);
    }
}

/* Runs and their experiments' own files, as they are, below mlruns/. */
static int export_tar(const struct runs *runs, struct err *e)
{
    const bool own = output && strcmp(output, "-") != 0;
    char *temp = own ? xasprintf("%s.tmp", output) : NULL;
    const char *const argv[] = {
        "tar",         "--create",       "--file",      own ? temp : "-",
        "--directory", track_store(),    "--transform", "s,^,mlruns/,S",
        "--null",      "--files-from=-", NULL
    };
    const size_t root = strlen(track_store()) + 1;
    struct buf names = BUF_INIT, words = BUF_INIT;
    struct spawn s = { .words = &words };
    int ret;

    for (size_t i = 0; i < runs->n; i++) {
        const char *folder = runs->run[i].folder;
        char *parent = path_parent(folder);

        tar_experiment(&names, runs, i, parent, root);
        buf_add(&names, folder + root, strlen(folder + root) + 1);
        free(parent);
    }
    s.in = names.s;
    s.in_len = names.len;
    fflush(stdout);
    ret = spawn_run(argv, &s, e);
    if (ret < 0 && s.status == 1) { /* a run went on meanwhile */
        *e = (struct err)ERR_INIT;
        ret = 0;
    }
    if (ret == 0 && own && rename(temp, output) < 0)
        ret = err_sys(e, "cannot replace %s", output);
    if (ret < 0 && own)
        remove(temp);
    buf_clear(&names);
    buf_clear(&words);
    free(temp);
    return ret;
}

static int export_main(int argc, char **argv, struct err *e)
{
    static const struct {
        const char *name;
        export_fn *fn;
    } formats[] = {
        { "csv", export_csv },       { "jsonl", export_jsonl },
        { "mlflow", export_mlflow }, { "tensorboard", export_tensorboard },
        { "tar", export_tar },
    };
    struct runs runs = RUNS_INIT;
    int ret = -1;
    size_t i = 0;

    if (!to)
        return err_set(e, ERR_USAGE,
                       "--to says the format: csv, jsonl, "
                       "mlflow, tensorboard or tar");
    while (i < sizeof formats / sizeof formats[0] &&
           strcmp(formats[i].name, to) != 0)
        i++;
    if (i == sizeof formats / sizeof formats[0])
        return err_set(e, ERR_USAGE,
                       "--to wants csv, jsonl, mlflow, "
                       "tensorboard or tar, not '%s'",
                       to);
    if (track_choose(&runs, &choice, argv, argc, 0, e) == 0)
        ret = runs.n ? formats[i].fn(&runs, e)
                     : err_set(e, ERR_MISSING, "no run to export in %s",
                               track_store());
    runs_free(&runs);
    return ret;
}

const struct cmd cmd_export = {
    .name = "export",
    .args = "[RUN|FILTER]...",
    .help = "export runs to another format",
    .opts = export_opts,
    .run = export_main,
};
