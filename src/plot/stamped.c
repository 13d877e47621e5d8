/*
 * gplot verify and gplot redo, and what gtrack claims takes from them
 */
#include "config.h"
#include "plot/stamp.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/program.h"
#include "common/spawn.h"
#include "plot/figures.h"

enum { FILE_MAX = 256 << 20, MOST_SECS = 600 };

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

/* A figure may come from somebody else: its command must write nothing but the
 * figure, and end.  Options can be abbreviated, "-o" can be a part of a word of
 * short ones, and --watch alone is left out later. */
static int check_words(const struct stamp *s, struct err *e)
{
    static const char *const names[] = { "--output", "--script", "--watch" };

    for (size_t i = 0; i < s->n; i++) {
        const char *word = s->word[i];
        const size_t n = strcspn(word, "=");
        bool bad = strncmp(word, "-o", 2) == 0;

        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
            bad |= n > 3 && strncmp(word, names[k], n) == 0;
        if (bad && strcmp(word, "--watch") != 0)
            return err_set(e, ERR_INPUT,
                           "it was drawn with %s, which may write another "
                           "file or not end; draw it by hand",
                           word);
    }
    return 0;
}

/* Run the command that drew the figure to this path, in a child process.
 * Options stand before the command: `first`, or NULL, and the output, which no
 * word of the stamp can take for its own. */
static int draw_again(const struct stamp *s, const char *first,
                      const char *path, struct spawn *run, struct err *e)
{
    const char **argv = xcalloc(s->n + 4, sizeof *argv);
    char *output = xasprintf("--output=%s", path);
    size_t n = 0;
    int ret = check_words(s, e);

    argv[n++] = "gplot";
    if (first)
        argv[n++] = first;
    argv[n++] = output;
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->word[i], "--watch") != 0)
            argv[n++] = s->word[i];
    if (ret == 0)
        ret = program_call(plot_program_figures(), argv, run, e);
    free(output);
    free(argv);
    return ret;
}

/* ---- verify ----------------------------------------------------------- */

/* The hash of what the command draws now. */
static int hash_now(const struct stamp *s, const char *path,
                    char out[SHA256_TEXT], struct err *e)
{
    struct buf data = BUF_INIT, words = BUF_INIT;
    struct spawn run = { .out = &data, .words = &words, .secs = MOST_SECS };
    struct sha256 h;
    const int ret = draw_again(s, "--data", path, &run, e);

    sha256_init(&h);
    sha256_add(&h, data.s, data.len);
    sha256_text(&h, out);
    buf_clear(&data);
    buf_clear(&words);
    return ret;
}

enum stamped stamped_check(const char *path, struct buf *command,
                           struct err *why)
{
    char now[SHA256_TEXT];
    enum stamped result = STAMPED_UNKNOWN;
    struct stamp s;

    if (load_stamp(&s, path, why) < 0)
        result = why->kind == ERR_MISSING ? STAMPED_NONE : STAMPED_UNKNOWN;
    else if (hash_now(&s, path, now, why) == 0)
        result = strcmp(now, s.hash) == 0 ? STAMPED_EQUAL : STAMPED_DIFFERS;
    for (size_t i = 0; i < s.n; i++) {
        buf_str(command, i ? " " : "gplot ");
        buf_shell_short(command, s.word[i]);
    }
    stamp_clear(&s);
    return result;
}

void stamped_add(struct table *t, enum stamped result, const struct err *why)
{
    static const char *const words[] = { [STAMPED_EQUAL] = "equal",
                                         [STAMPED_DIFFERS] = "differs",
                                         [STAMPED_NONE] = "unstamped" };

    table_text(t, result == STAMPED_UNKNOWN ? why->text : words[result]);
    table_mark(t, result == STAMPED_EQUAL ? MARK_NONE : MARK_BAD);
}

static bool verify_figure(struct table *t, const char *path)
{
    struct err why = { 0 };
    struct buf command = BUF_INIT;
    const enum stamped result = stamped_check(path, &command, &why);

    table_text(t, path);
    table_text(t, command.len ? command.s : NULL);
    stamped_add(t, result, &why);
    buf_clear(&command);
    return result == STAMPED_EQUAL;
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

static int redo_figure(const char *path, struct err *e)
{
    struct spawn run = { .secs = 0 };
    struct stamp s;
    int ret = load_stamp(&s, path, e);

    if (ret == 0)
        ret = draw_again(&s, NULL, path, &run, e);
    stamp_clear(&s);
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
