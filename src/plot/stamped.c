/*
 * stamped - gplot redo and gplot verify: figures that say how they were drawn
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/output/table.h"
#include "common/spawn.h"
#include "plot/figures.h"
#include "plot/stamp.h"

enum { FILE_MAX = 256 << 20 };

static const struct opt no_opts[] = { { 0 } };

static int load_stamp(struct stamp *s, const char *path, struct err *e)
{
    struct buf file = BUF_INIT;
    int ret = buf_read_file(&file, path, FILE_MAX, e);

    *s = (struct stamp){ .n = 0 };
    if (ret == 0)
        ret = stamp_find(s, &file, e);
    buf_clear(&file);
    return ret;
}

/* The command that drew the figure to this path.  Options may stand before the
 * command (`first`, or NULL) and before the end of the options. */
static const char **make_command(const struct stamp *s, const char *program,
                                 const char *first, const char *path)
{
    const char **argv = xcalloc(s->n + 5, sizeof *argv);
    size_t n = 0, i = 0;

    argv[n++] = program;
    if (first)
        argv[n++] = first;
    for (; i < s->n && strcmp(s->word[i], "--") != 0; i++)
        if (strcmp(s->word[i], "--watch") != 0)
            argv[n++] = s->word[i];
    argv[n++] = "-o";
    argv[n++] = path;
    for (; i < s->n; i++)
        argv[n++] = s->word[i];
    return argv;
}

/* ---- verify ----------------------------------------------------------- */

/* The hash of what the command draws now. */
static int hash_now(const struct stamp *s, const char *path,
                    char out[SHA256_TEXT], struct err *e)
{
    char *gplot = spawn_find("gplot", e);
    struct buf data = BUF_INIT, words = BUF_INIT;
    struct spawn run = { .out = &data, .words = &words };
    struct sha256 h;
    const char **argv;
    int ret;

    if (!gplot)
        return -1;
    argv = make_command(s, gplot, "--data", path);
    ret = spawn_run(argv, &run, e);
    sha256_init(&h);
    sha256_add(&h, data.s, data.len);
    sha256_text(&h, out);
    buf_clear(&data);
    buf_clear(&words);
    free(argv);
    free(gplot);
    return ret;
}

/* Returns whether the data are the same. */
static bool verify_figure(struct table *t, const char *path)
{
    char now[SHA256_TEXT] = "";
    struct err e = ERR_INIT;
    struct buf command = BUF_INIT;
    struct stamp s;
    bool equal =
        load_stamp(&s, path, &e) == 0 && hash_now(&s, path, now, &e) == 0;
    const bool known = equal;

    equal = equal && strcmp(now, s.hash) == 0;
    for (size_t i = 0; i < s.n; i++) {
        buf_str(&command, i ? " " : "gplot ");
        buf_shell_short(&command, s.word[i]);
    }
    table_text(t, path);
    table_text(t, command.len ? command.s : NULL);
    table_text(t, equal   ? "equal"
                  : known ? "differs"
                  : s.n   ? e.text
                          : "unstamped");
    table_mark(t, equal ? MARK_NONE : MARK_BAD);
    buf_clear(&command);
    stamp_clear(&s);
    return equal;
}

/* A file that cannot be read ends the check. */
static int check_readable(char **path, int n, struct err *e)
{
    for (int i = 0; i < n; i++)
        if (access(path[i], R_OK) < 0)
            return err_sys(e, "cannot read %s", path[i]);
    return 0;
}

static int verify_main(int argc, char **argv, struct err *e)
{
    const struct table_style style = { .json = false };
    struct table t = TABLE_INIT("gplot.verify/1");
    char text[NUM_TEXT];
    int bad = 0, ret;

    if (argc == 0)
        return err_set(e, ERR_USAGE, "a figure is expected");
    if (check_readable(argv, argc, e) < 0)
        return -1;
    table_columns(&t, "figure", "command", "result", NULL);
    for (int i = 0; i < argc; i++)
        bad += !verify_figure(&t, argv[i]);
    ret = table_print(&t, &style, e);
    table_clear(&t);
    if (ret == 0 && bad > 0)
        ret = err_set(e, ERR_INPUT,
                      "%d of %s %s not known to show what the runs say; "
                      "'gplot redo' draws a figure again",
                      bad, num_count(text, argc, "figure"),
                      bad == 1 ? "is" : "are");
    return ret;
}

const struct cmd fig_verify = {
    .name = "verify",
    .args = "FILE...",
    .help = "check that figures show what the runs say now",
    .opts = no_opts,
    .run = verify_main,
};

/* ---- redo ------------------------------------------------------------- */

/* A figure may come from somebody else: its command must write nothing but the
 * figure.  "--sc" abbreviates --script. */
static int check_words(const struct stamp *s, const char *path, struct err *e)
{
    for (size_t i = 0; i < s->n; i++)
        if (strncmp(s->word[i], "--sc", 4) == 0)
            return err_set(e, ERR_INPUT,
                           "%s was drawn with %s, which would write another "
                           "file; draw it by hand",
                           path, s->word[i]);
    return 0;
}

static int redo_figure(const char *path, struct err *e)
{
    struct spawn run = { .secs = 0 };
    char *gplot = spawn_find("gplot", e);
    const char **argv;
    struct stamp s;
    int ret = -1;

    if (!gplot)
        return -1;
    if (load_stamp(&s, path, e) == 0 && check_words(&s, path, e) == 0) {
        argv = make_command(&s, gplot, NULL, path);
        ret = spawn_run(argv, &run, e);
        free(argv);
    }
    stamp_clear(&s);
    free(gplot);
    return ret < 0 ? err_wrap(e, "%s", path) : 0;
}

static int redo_main(int argc, char **argv, struct err *e)
{
    if (argc == 0)
        return err_set(e, ERR_USAGE, "a figure is expected");
    for (int i = 0; i < argc; i++)
        if (redo_figure(argv[i], e) < 0)
            return -1;
    return 0;
}

const struct cmd fig_redo = {
    .name = "redo",
    .args = "FILE...",
    .help = "draw figures again, by the commands that drew them",
    .opts = no_opts,
    .run = redo_main,
};
