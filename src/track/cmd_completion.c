/*
 * gtrack completion - print a completion script for a shell, and complete words
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/path.h"
#include "common/spawn.h"
#include "store/format/store.h"
#include "track/complete.h"
#include "track/runs/column.h"
#include "track/runs/track.h"

/* ---- what a program takes ------------------------------------------------ */

/* The fields of a line of --dump-options: a command, which has no name of an
 * option; an option of a command, or of all; or a setting, which has neither
 * and stands in the place of the argument. */
enum { COMMAND, LETTER, NAME, ARG, HELP, WORDS, FIELDS };

struct row {
    const char *field[FIELDS];
};

struct rows {
    struct buf text; /* of which the fields are parts */
    struct row *item;
    size_t n, room;
};

static void add_line(struct rows *r, char *line)
{
    struct row row;

    for (int i = 0; i < FIELDS; i++) {
        row.field[i] = strsep(&line, "\t");
        if (!row.field[i])
            return;
    }
    APPEND(r->item, r->n, r->room) = row;
}

static int load_rows(struct rows *r, const char *program, struct err *e)
{
    AUTO_FREE char *path = spawn_find(program, e);
    const char *const argv[] = { path, "--dump-options", NULL };
    struct spawn s = { .out = &r->text, .quiet = true, .secs = 5 };
    const int ret = path ? spawn_run(argv, &s, e) : -1;
    char *at = r->text.s, *line;

    while (ret == 0 && (line = strsep(&at, "\n")))
        add_line(r, line);
    return ret;
}

/* ---- offers ------------------------------------------------------------ */

struct command_line {
    const struct rows *rows;
    const struct row *cmd;
    const struct row *open; /* the option that the last word is the value of */
    const char *first;      /* the first word after the command */
    int words;              /* after the command, before the last word */
    const char *last;       /* what is completed */
    const char *before; /* the beginning of the word, which stays as it is */
    size_t before_len;
    const char *root; /* the store that the command line names */
    struct buf *out;
};

static void offer_word(const struct command_line *l, const char *word,
                       const char *help)
{
    if (strncmp(word, l->last, strlen(l->last)) != 0)
        return;
    for (const char *s = word; *s; s++)
        if ((unsigned char)*s < ' ' || *s == '\x7f')
            return;
    buf_add(l->out, l->before, l->before_len);
    buf_printf(l->out, help ? "%s\t%s\n" : "%s\n", word, help);
}

/* -- words of a store -------------------------------------------------- */

static void add_name(struct opt_list *names, const char *name)
{
    APPEND(names->item, names->n, names->room) = name;
}

static void offer_runs(const struct command_line *l)
{
    const bool deleted =
        l->cmd && strcmp(l->cmd->field[COMMAND], "restore") == 0;
    const int flags = LOAD_NO_METRICS | (deleted ? LOAD_ONLY_DELETED : 0);
    AUTO(runs_free) struct runs runs = { 0 };

    if (runs_load(&runs, l->root, flags, ERR_IGNORED) < 0)
        return;
    for (size_t i = 0; i < runs.n; i++)
        offer_word(l, runs.run[i].name, run_status_word(runs.run[i].status));
    if (runs.n)
        offer_word(l, "@latest", "the run that was started last");
}

static void offer_experiments(const struct command_line *l)
{
    AUTO(experiments_free) struct experiments all = { 0 };

    if (experiments_load(&all, l->root, PATH_NO_LINKS, ERR_IGNORED) < 0)
        return;
    for (size_t i = 0; i < all.n; i++)
        if (!all.item[i].deleted)
            offer_word(l, all.item[i].name, NULL);
}

/* The metrics of a run, or of all runs if it is NULL; for columns also
 * parameters and attributes. */
static void offer_keys(const struct command_line *l, char *run, bool column)
{
    AUTO(runs_free) struct runs runs = { 0 };
    struct opt_list names = { NULL, 0, 0 };

    if ((run ? runs_select(&runs, l->root, &run, 1, 0, ERR_IGNORED)
             : runs_load(&runs, l->root, 0, ERR_IGNORED)) < 0)
        return;
    for (size_t i = 0; i < runs.n; i++) {
        const struct run_info *r = &runs.run[i];

        for (size_t k = 0; k < r->n_metrics; k++)
            add_name(&names, r->metrics[k].key);
        for (size_t k = 0; column && k < r->n_params; k++)
            add_name(&names, r->params[k].key);
    }
    for (int i = 0; column && run_value_attributes[i]; i++)
        add_name(&names, run_value_attributes[i]);
    SORT(names.item, names.n, str_compare);
    for (size_t i = 0; i < names.n; i++)
        if (i == 0 || strcmp(names.item[i], names.item[i - 1]) != 0)
            offer_word(l, names.item[i], NULL);
    free(names.item);
}

/* -- rows --------------------------------------------------------------- */

static bool is_cmd(const struct row *r)
{
    return *r->field[COMMAND] && !*r->field[NAME];
}

/* Is it an option of this command, or of the program for none? */
static bool is_opt(const struct row *r, const struct row *cmd)
{
    return *r->field[NAME] &&
           strcmp(r->field[COMMAND], cmd ? cmd->field[COMMAND] : "") == 0;
}

static void offer_opts(const struct command_line *l)
{
    for (size_t i = 0; i < l->rows->n; i++) {
        const struct row *r = &l->rows->item[i];
        AUTO_FREE char *word =
            xasprintf("--%s%s", r->field[NAME], *r->field[ARG] ? "=" : "");

        if (is_opt(r, l->cmd))
            offer_word(l, word, r->field[HELP]);
    }
}

static void offer_cmds(const struct command_line *l)
{
    for (size_t i = 0; i < l->rows->n; i++)
        if (is_cmd(&l->rows->item[i]))
            offer_word(l, l->rows->item[i].field[COMMAND],
                       l->rows->item[i].field[HELP]);
}

/* The words of "a|b", up to a blank, each after the same beginning. */
static void offer_words(const struct command_line *l, const char *begin,
                        const char *list)
{
    for (const char *end; *list && *list != ' '; list = end + (*end == '|')) {
        AUTO_FREE char *word = NULL;

        end = list + strcspn(list, "| ");
        word = xasprintf("%s%.*s", begin, (int)(end - list), list);
        offer_word(l, word, NULL);
    }
}

/* Complete what is after the last comma. */
static void skip_to_comma(struct command_line *l)
{
    const char *comma = strrchr(l->last, ',');

    if (!comma)
        return;
    if (!l->before)
        l->before = l->last;
    l->before_len = (size_t)(comma + 1 - l->before);
    l->last = comma + 1;
}

/* A setting of gtrain, or after the "=" its values. */
static void offer_settings(const struct command_line *l)
{
    const char *equals = strchr(l->last, '=');

    for (size_t i = 0; i < l->rows->n; i++) {
        const struct row *r = &l->rows->item[i];
        AUTO_FREE char *word = xasprintf("%s=", r->field[ARG]);

        if (is_cmd(r) || *r->field[NAME])
            ;
        else if (!equals)
            offer_word(l, word, r->field[HELP]);
        else if (strncmp(l->last, word, strlen(word)) == 0)
            offer_words(l, word, r->field[WORDS]);
    }
}

static void offer_value(struct command_line *l)
{
    const char *arg = l->open->field[ARG], *name = l->open->field[NAME];

    if (strcmp(name, "set") == 0)
        offer_settings(l);
    offer_words(l, "", l->open->field[WORDS]);
    if (strcmp(arg, "run") == 0)
        offer_runs(l);
    if (strcmp(name, "experiment") == 0)
        offer_experiments(l);
    if (strcmp(arg, "list") == 0)
        skip_to_comma(l);
    if (strcmp(arg, "metric") == 0)
        offer_keys(l, NULL, false);
    else if (strcmp(arg, "column") == 0 || strcmp(arg, "list") == 0 ||
             strcmp(arg, "param") == 0)
        offer_keys(l, NULL, true);
}

/* -- the command line -------------------------------------------------- */

/* Before the command is known, the option of any. */
static const struct row *find_opt(const struct command_line *l, char letter,
                                  const char *name)
{
    const size_t n = letter ? 0 : strcspn(name, "=");

    for (size_t i = 0; i < l->rows->n; i++) {
        const struct row *r = &l->rows->item[i];

        if ((l->cmd ? is_opt(r, l->cmd) : *r->field[NAME] != '\0') &&
            (letter ? *r->field[LETTER] == letter
                    : strlen(r->field[NAME]) == n &&
                          strncmp(r->field[NAME], name, n) == 0))
            return r;
    }
    return NULL;
}

static const struct row *find_cmd(const struct command_line *l,
                                  const char *name)
{
    for (size_t i = 0; i < l->rows->n; i++)
        if (is_cmd(&l->rows->item[i]) &&
            strcmp(l->rows->item[i].field[COMMAND], name) == 0)
            return &l->rows->item[i];
    return NULL;
}

static void end_value(struct command_line *l, const char *value)
{
    if (strcmp(l->open->field[NAME], "root") == 0)
        l->root = value;
    l->open = NULL;
}

/* -nVALUE, -an VALUE */
static void read_letters(struct command_line *l, const char *letters)
{
    for (; *letters; letters++) {
        const struct row *o = find_opt(l, *letters, NULL);

        if (o && *o->field[ARG]) {
            l->open = o;
            if (letters[1])
                end_value(l, letters + 1);
            return;
        }
    }
}

static void read_word(struct command_line *l, const char *word)
{
    const char *equals = strchr(word, '=');

    if (l->open) {
        end_value(l, word);
    } else if (strncmp(word, "--", 2) == 0 && word[2]) {
        const struct row *o = find_opt(l, '\0', word + 2);

        l->open = o && *o->field[ARG] ? o : NULL;
        if (l->open && equals)
            end_value(l, equals + 1);
    } else if (word[0] == '-' && word[1]) {
        read_letters(l, word + 1);
    } else if (!l->cmd) {
        l->cmd = find_cmd(l, word);
    } else if (l->words++ == 0) {
        l->first = word;
    }
}

/* Offer what the synopsis of the command has next. */
static void offer_arg(struct command_line *l)
{
    const char *args = l->cmd->field[ARG];
    const bool has_words = strncmp(args, "start|", 6) == 0;

    if (l->words == 0 && has_words) {
        offer_words(l, "", args);
    } else if (l->words == 0 && strncmp(args, "[status|", 8) == 0) {
        offer_words(l, "", "status|report");
    } else if (l->words == 0 && strcmp(args, "SHELL") == 0) {
        offer_words(l, "", "bash|fish|zsh");
    } else if (strncmp(args, "METRIC ", 7) == 0 && l->words == 0) {
        offer_keys(l, NULL, false);
    } else if ((strncmp(args, "NAME[,", 6) == 0 ||
                strncmp(args, "PARAM[,", 7) == 0) &&
               l->words == 0) {
        skip_to_comma(l);
        offer_keys(l, NULL, *args == 'P');
    } else if (strncmp(args, "PARAM[,", 7) == 0 && l->words == 1) {
        offer_keys(l, NULL, false);
    } else if (strcmp(args, "[RUN [METRIC]...]") == 0 && l->words > 0) {
        AUTO_FREE char *run = xstrdup(l->first);

        offer_keys(l, run, false);
    } else if (strcmp(args, "[RUN]") == 0 && l->words > 0) {
        return;
    } else if (strstr(args, "RUN") || has_words) {
        offer_runs(l);
    }
}

static void complete_line(struct command_line *l, int n, char **words)
{
    const char *equals;

    for (int i = 1; i < n - 1; i++)
        read_word(l, words[i]);
    equals = strncmp(l->last, "--", 2) == 0 ? strchr(l->last, '=') : NULL;
    if (!l->open && equals) {
        l->open = find_opt(l, '\0', l->last + 2);
        l->before = l->last;
        l->before_len = (size_t)(equals + 1 - l->last);
        l->last = equals + 1;
    }
    if (l->open && *l->open->field[ARG]) {
        offer_value(l);
    } else if (l->before) {
        return;
    } else if (l->last[0] == '-') {
        offer_opts(l);
    } else if (!l->cmd) {
        offer_cmds(l);
    } else {
        offer_arg(l);
    }
}

/* The first word may be the name of any program of the suite.  Append a line
 * for each word that may take the place of the last one: the word and, where
 * there is one, a tab and a help text.  Where a file or any text is expected,
 * nothing is appended, and the shell completes the names of files.  Words with
 * control characters are left out. */
static void complete(struct buf *out, int n, char **words)
{
    struct rows rows = { .text = BUF_INIT };
    struct command_line l = { .rows = &rows,
                              .last = n > 1 ? words[n - 1] : "",
                              .root = track_store(),
                              .out = out };

    if (load_rows(&rows, n > 0 ? path_name(words[0]) : "gtrack", ERR_IGNORED) ==
        0)
        complete_line(&l, n, words);
    free(rows.item);
    buf_clear(&rows.text);
}

/* ---- the command -------------------------------------------------------- */

static int completion_main(int argc, char **argv, struct err *e)
{
    static const struct {
        const char *shell, *script;
    } scripts[] = {
        { "bash", complete_bash },
        { "zsh", complete_zsh },
        { "fish", complete_fish },
    };

    if (argc > 1 && strcmp(argv[0], "words") == 0) {
        AUTO(buf_clear) struct buf out = BUF_INIT;

        track_confine_reader();
        complete(&out, argc - 1, argv + 1);
        fputs(out.s, stdout); /* style: own */
        return 0;
    }
    for (size_t i = 0; argc == 1 && i < sizeof scripts / sizeof scripts[0];
         i++) {
        if (strcmp(argv[0], scripts[i].shell) == 0) {
            fputs(scripts[i].script, stdout); /* style: own */
            return 0;
        }
    }
    return err_usage(e, "completion expects a shell: bash, zsh or fish");
}

const struct cmd cmd_completion = {
    .name = "completion",
    .args = "SHELL",
    .help = "print a completion script for a shell",
    .run = completion_main,
};
