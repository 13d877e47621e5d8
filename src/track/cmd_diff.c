#include "config.h"
#include "track/cmds.h"
#include "track/runs/track.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/log.h"
#include "store/attempt.h"

static struct table_style style;
static bool all;

static const struct opt diff_opts[] = {
    TRACK_OPTS,
    { 'a', "all", NULL, OPT_FLAG, &all,
      "print long values in full, and include tags that differ between any two "
      "runs" },
    TABLE_OPTS(style),
    { 0 }
};

/* Tags that are another for every run, or told elsewhere. */
static bool always_differs(const char *tag)
{
    static const char *const names[] = { "mlflow.runName",
                                         "mlflow.note.content",
                                         "gtrack.exit_status" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(tag, names[i]) == 0)
            return true;
    return false;
}

static const char *section_of(const char *tag)
{
    if (strncmp(tag, "mlflow.source.git", 17) == 0)
        return "git";
    if (strncmp(tag, "mlflow.", 7) == 0 || strncmp(tag, "gtrack.", 7) == 0)
        return "environment";
    return "tag";
}

/* A value for one line of a table: a diff is told by its size. */
static void put_value(struct table *t, const char *s)
{
    size_t lines = 0;

    for (const char *p = s; p && *p; p++)
        lines += *p == '\n';
    if (s && !all && lines > 2)
        table_printf(t, "(%zu lines, %zu bytes)", lines, strlen(s));
    else
        table_text(t, s);
}

static void row(struct table *t, const char *section, const char *key,
                const char *a, const char *b)
{
    if (a && b && strcmp(a, b) == 0)
        return;
    table_text(t, section);
    table_text(t, key);
    put_value(t, a);
    put_value(t, b);
}

/* Walk two sorted lists in step. */
static void pairs(struct table *t, const struct pair *a, size_t na,
                  const struct pair *b, size_t nb, bool tags)
{
    size_t i = 0, j = 0;

    while (i < na || j < nb) {
        const int cmp = i == na ? 1 : j == nb ? -1 : strcmp(a[i].key, b[j].key);
        const char *key = cmp <= 0 ? a[i].key : b[j].key;

        if (!tags || all || !always_differs(key))
            row(t, tags ? section_of(key) : "param", key,
                cmp <= 0 ? a[i].value : NULL, cmp >= 0 ? b[j].value : NULL);
        i += cmp <= 0;
        j += cmp >= 0;
    }
}

static int diff_main(int argc, char **argv, struct err *e)
{
    struct table t = TABLE_INIT("gtrack.diff/1");
    struct runs a = RUNS_INIT, b = RUNS_INIT;
    int ret = -1;

    if (table_form(&style, e) < 0 ||
        track_words(argc, 2, 2, "diff RUN RUN", e) < 0 ||
        track_one(&a, argv[0], LOAD_NO_METRICS | LOAD_DELETED, e) < 0)
        return -1;
    if (track_one(&b, argv[1], LOAD_NO_METRICS | LOAD_DELETED, e) < 0)
        goto out;
    table_column(&t, "kind");
    table_column(&t, "key");
    if (strcmp(a.run->name, b.run->name) == 0) {
        table_column(&t, a.run->id);
        table_column(&t, b.run == a.run ? "" : b.run->id);
    } else {
        table_column(&t, a.run->name);
        table_column(&t, b.run->name);
    }
    row(&t, "run", "experiment", a.run->experiment, b.run->experiment);
    row(&t, "run", "user", a.run->user, b.run->user);
    if (a.run->attempt && b.run->attempt) {
        row(&t, "run", "command", a.run->attempt->command,
            b.run->attempt->command);
        row(&t, "run", "host", a.run->attempt->host, b.run->attempt->host);
    }
    pairs(&t, a.run->params, a.run->n_params, b.run->params, b.run->n_params,
          false);
    pairs(&t, a.run->tags, a.run->n_tags, b.run->tags, b.run->n_tags, true);
    if (t.n_cells == 0)
        log_info("no difference");
    ret = table_print(&t, &style, e);

out:
    table_clear(&t);
    runs_free(&a);
    runs_free(&b);
    return ret;
}

/* ---- cmd: a line that runs it again ---- */

static const struct opt cmd_opts[] = { TRACK_OPTS, { 0 } };

static int cmd_main(int argc, char **argv, struct err *e)
{
    struct runs runs = RUNS_INIT;
    struct buf b = BUF_INIT;
    const struct run_info *r;
    const char *command, *folder, *commit, *dirty;
    int ret = 0;

    if (track_words(argc, 0, 1, "cmd [RUN]", e) < 0 ||
        track_one(&runs, argv[0], LOAD_NO_METRICS | LOAD_DELETED, e) < 0)
        return -1;
    r = runs.run;
    command = r->attempt && r->attempt->command
                  ? r->attempt->command
                  : run_info_tag(r, "mlflow.source.name");
    folder = run_info_tag(r, "gtrack.folder");
    commit = run_info_tag(r, "mlflow.source.git.commit");
    dirty = run_info_tag(r, "mlflow.source.git.dirty");
    if (!command) {
        ret =
            err_set(e, ERR_MISSING, "run %s has no command on record", r->name);
    } else {
        if (folder) {
            buf_str(&b, "cd ");
            buf_shell_word(&b, folder);
            buf_str(&b, " && ");
        }
        if (commit && commit[0] &&
            strspn(commit, "0123456789abcdef") == strlen(commit))
            buf_printf(&b, "git checkout %s && ", commit);
        printf("%s%s\n", b.s, command);
        if (dirty && strcasecmp(dirty, "true") == 0)
            log_info("the work tree had changes that no commit has; tag "
                     "mlflow.source.git.diff of the run has them");
    }
    buf_clear(&b);
    runs_free(&runs);
    return ret;
}

const struct cmd cmd_diff = {
    .name = "diff",
    .args = "RUN RUN",
    .help = "print the differences between two runs",
    .opts = diff_opts,
    .run = diff_main,
};

const struct cmd cmd_cmd = {
    .name = "cmd",
    .args = "[RUN]",
    .help = "print a shell command that repeats a run",
    .opts = cmd_opts,
    .run = cmd_main,
};
