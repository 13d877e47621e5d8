/*
 * gtrack completion - print a completion script for a shell, and complete words
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/program.h"
#include "common/spawn.h"
#include "plot/figures.h"
#include "store/format/store.h"
#include "track/complete.h"
#include "track/runs/column.h"
#include "track/runs/track.h"

/* ---- commands and options of other programs ---------------------------- */

struct setting {
    const char *key, *help;
    const char *const *words; /* its values, ended by NULL; or NULL */
};

/* What gtrain or gdata prints with --dump-options.  The commands have no
 * functions, and their options no variables. */
struct options {
    struct arena mem;
    const struct cmd **cmds; /* ended by NULL */
    struct setting *setting;
    size_t n_settings;
};

enum { COMMAND, LETTER, NAME, ARG, HELP, WORDS, FIELDS };

struct reading {
    struct options *to;
    struct cmd *cmd; /* the last one, with n_opts options so far */
    struct opt *opts;
    size_t n_cmds, n_opts;
};

/* "a|b" as a list. */
static const char *const *split_words(struct arena *mem, char *text)
{
    const char **list = NULL, *word;
    size_t n = 0;

    if (!*text)
        return NULL;
    while ((word = strsep(&text, "|"))) {
        list = arena_grow(mem, list, n, sizeof *list);
        list[n++] = word;
    }
    return arena_grow(mem, list, n, sizeof *list); /* ends with NULL */
}

/* The options of the last command end here. */
static void end_cmd(struct reading *r)
{
    if (!r->cmd)
        return;
    r->cmd->opts = /* ends with zeros */
        arena_grow(&r->to->mem, r->opts, r->n_opts, sizeof *r->opts);
    r->opts = NULL;
    r->n_opts = 0;
}

static void add_cmd(struct reading *r, char **field)
{
    struct arena *mem = &r->to->mem;

    end_cmd(r);
    r->cmd = arena_alloc(mem, sizeof *r->cmd);
    *r->cmd = (struct cmd){ .name = field[COMMAND],
                            .args = *field[ARG] ? field[ARG] : NULL,
                            .help = field[HELP] };
    r->to->cmds = arena_grow(mem, r->to->cmds, r->n_cmds, sizeof *r->to->cmds);
    r->to->cmds[r->n_cmds++] = r->cmd;
}

static void add_opt(struct reading *r, char **field)
{
    struct arena *mem = &r->to->mem;

    r->opts = arena_grow(mem, r->opts, r->n_opts, sizeof *r->opts);
    r->opts[r->n_opts++] = (struct opt){
        .letter = *field[LETTER] == '-' ? '\0' : *field[LETTER],
        .name = field[NAME],
        .arg = *field[ARG] ? field[ARG] : NULL,
        .help = field[HELP],
        .words = split_words(mem, field[WORDS]),
    };
}

static void add_setting(struct options *p, char **field)
{
    p->setting =
        arena_grow(&p->mem, p->setting, p->n_settings, sizeof *p->setting);
    p->setting[p->n_settings++] = (struct setting){
        .key = field[ARG],
        .help = field[HELP],
        .words = split_words(&p->mem, field[WORDS]),
    };
}

static void add_line(struct reading *r, char *line)
{
    char *field[FIELDS];

    for (int i = 0; i < FIELDS; i++) {
        field[i] = strsep(&line, "\t");
        if (!field[i])
            return;
    }
    if (*field[COMMAND] && !*field[NAME])
        add_cmd(r, field);
    else if (*field[COMMAND] && r->cmd)
        add_opt(r, field);
    else if (!*field[NAME])
        add_setting(r->to, field);
}

static int load_options(struct options *p, const char *name, struct err *e)
{
    char *path = spawn_find(name, e);
    const char *const argv[] = { path, "--dump-options", NULL };
    struct buf out = BUF_INIT;
    struct spawn s = { .out = &out, .quiet = true, .secs = 5 };
    struct reading r = { .to = p };
    int ret = path ? spawn_run(argv, &s, e) : -1;
    char *at, *line;

    *p = (struct options){ 0 };
    at = arena_strdup(&p->mem, ret == 0 ? out.s : "");
    while ((line = strsep(&at, "\n")))
        add_line(&r, line);
    end_cmd(&r);
    p->cmds = arena_grow(&p->mem, p->cmds, r.n_cmds, sizeof *p->cmds);
    buf_clear(&out);
    free(path);
    return ret;
}

/* ---- offers ------------------------------------------------------------ */

struct command_line {
    const struct cmd *const *cmds;
    const struct options *other; /* gtrain, gdata; or NULL */
    const struct cmd *cmd;
    const struct opt *open; /* the option that the last word is the value of */
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
    const bool deleted = l->cmd && strcmp(l->cmd->name, "restore") == 0;
    const int flags = LOAD_NO_METRICS | (deleted ? LOAD_ONLY_DELETED : 0);
    struct runs runs = { 0 };

    if (runs_load(&runs, l->root, flags, ERR_IGNORED) < 0)
        return;
    for (size_t i = 0; i < runs.n; i++)
        offer_word(l, runs.run[i].name, run_status_word(runs.run[i].status));
    if (runs.n)
        offer_word(l, "@latest", "the run that was started last");
    runs_free(&runs);
}

static void offer_experiments(const struct command_line *l)
{
    struct experiments all = { 0 };

    if (experiments_load(&all, l->root, PATH_NO_LINKS, ERR_IGNORED) < 0)
        return;
    for (size_t i = 0; i < all.n; i++)
        if (!all.item[i].deleted)
            offer_word(l, all.item[i].name, NULL);
    experiments_free(&all);
}

/* The metrics of a run, or of all runs if it is NULL; for columns also
 * parameters and attributes. */
static void offer_keys(const struct command_line *l, char *run, bool column)
{
    struct runs runs = { 0 };
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
    runs_free(&runs);
}

/* -- options ----------------------------------------------------------- */

static void offer_opts(const struct command_line *l, const struct opt *o)
{
    char help[512];

    for (; o && o->name; o++) {
        char *word = xasprintf("--%s%s", o->name, o->arg ? "=" : "");

        opt_help_text(o, help, sizeof help);
        offer_word(l, word, help);
        free(word);
    }
}

static void offer_cmds(const struct command_line *l)
{
    for (const struct cmd *const *c = l->cmds; *c; c++)
        offer_word(l, (*c)->name, (*c)->help);
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
static void offer_settings(struct command_line *l)
{
    const char *equals = strchr(l->last, '=');

    for (size_t i = 0; i < l->other->n_settings; i++) {
        const struct setting *s = &l->other->setting[i];
        const size_t n = strlen(s->key);
        char *word;

        if (!equals) {
            word = xasprintf("%s=", s->key);
            offer_word(l, word, s->help);
            free(word);
        } else if (strncmp(l->last, s->key, n) == 0 && equals == l->last + n) {
            for (int k = 0; s->words && s->words[k]; k++) {
                word = xasprintf("%s=%s", s->key, s->words[k]);
                offer_word(l, word, NULL);
                free(word);
            }
        }
    }
}

static void offer_value(struct command_line *l)
{
    const char *arg = l->open->arg, *name = l->open->name;

    if (l->other && strcmp(name, "set") == 0)
        offer_settings(l);

    for (int i = 0; l->open->words && l->open->words[i]; i++)
        offer_word(l, l->open->words[i], NULL);
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

static const struct opt *find_in(const struct opt *o, char letter,
                                 const char *name)
{
    const size_t n = letter ? 0 : strcspn(name, "=");

    for (; o && o->name; o++)
        if (letter ? o->letter == letter
                   : strlen(o->name) == n && strncmp(o->name, name, n) == 0)
            return o;
    return NULL;
}

/* Before the command is known, the option of any. */
static const struct opt *find_opt(const struct command_line *l, char letter,
                                  const char *name)
{
    const struct opt *o = NULL;

    if (l->cmd)
        return find_in(l->cmd->opts, letter, name);
    for (const struct cmd *const *c = l->cmds; *c && !o; c++)
        o = find_in((*c)->opts, letter, name);
    return o;
}

static void end_value(struct command_line *l, const char *value)
{
    if (strcmp(l->open->name, "root") == 0)
        l->root = value;
    l->open = NULL;
}

/* -nVALUE, -an VALUE */
static void read_letters(struct command_line *l, const char *letters)
{
    for (; *letters; letters++) {
        const struct opt *o = find_opt(l, *letters, NULL);

        if (o && o->arg) {
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
        const struct opt *o = find_opt(l, '\0', word + 2);

        l->open = o && o->arg ? o : NULL;
        if (l->open && equals)
            end_value(l, equals + 1);
    } else if (word[0] == '-' && word[1]) {
        read_letters(l, word + 1);
    } else if (!l->cmd) {
        l->cmd = opt_find_cmd(l->cmds, word, ERR_IGNORED);
    } else if (l->words++ == 0) {
        l->first = word;
    }
}

/* Offer what the synopsis of the command has next. */
static void offer_arg(struct command_line *l)
{
    const char *args = l->cmd->args ? l->cmd->args : "";

    if (strcmp(args, "SHELL") == 0 && l->words == 0) {
        offer_word(l, "bash", NULL);
        offer_word(l, "fish", NULL);
        offer_word(l, "zsh", NULL);
    } else if (strncmp(args, "start|", 6) == 0 && l->words == 0) {
        offer_word(l, "start", "start a run");
        offer_word(l, "log", "add points, parameters and tags");
        offer_word(l, "end", "end a run, with a status");
    } else if (strncmp(args, "[status|report] ", 16) == 0 && l->words == 0) {
        offer_word(l, "status", NULL);
        offer_word(l, "report", NULL);
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
        char *run = xstrdup(l->first);

        offer_keys(l, run, false);
        free(run);
    } else if (strcmp(args, "[RUN]") == 0 && l->words > 0) {
        return;
    } else if (strstr(args, "RUN") || strncmp(args, "start|", 6) == 0) {
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
    if (l->open && l->open->arg) {
        offer_value(l);
    } else if (l->before) {
        return;
    } else if (l->last[0] == '-') {
        offer_opts(l, l->cmd ? l->cmd->opts : NULL);
        if (!l->other || !l->cmd)
            offer_opts(l, common_opts);
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
    struct command_line l = { .cmds = program_cmds,
                              .last = n > 1 ? words[n - 1] : "",
                              .root = track_store(),
                              .out = out };
    struct options other = { 0 };
    const char *program = n > 0 ? path_name(words[0]) : "gtrack";

    if (strcmp(program, "gplot") == 0) {
        l.cmds = plot_program()->cmds;
    } else if (strcmp(program, "gtrack") != 0) {
        if (load_options(&other, program, ERR_IGNORED) < 0) {
            arena_clear(&other.mem);
            return;
        }
        l.cmds = other.cmds;
        l.other = &other;
    }
    complete_line(&l, n, words);
    arena_clear(&other.mem);
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
        struct buf out = BUF_INIT;

        track_confine_reader();
        complete(&out, argc - 1, argv + 1);
        fputs(out.s, stdout); /* style: own */
        buf_clear(&out);
        return 0;
    }
    for (size_t i = 0; argc == 1 && i < sizeof scripts / sizeof scripts[0];
         i++) {
        if (strcmp(argv[0], scripts[i].shell) == 0) {
            fputs(scripts[i].script, stdout); /* style: own */
            return 0;
        }
    }
    return err_set(e, ERR_USAGE,
                   "completion expects a shell: bash, zsh or fish");
}

const struct cmd cmd_completion = {
    .name = "completion",
    .args = "SHELL",
    .help = "print a completion script for a shell",
    .run = completion_main,
};
