#include "config.h"
#include "common/opt.h"

#include <ctype.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "common/num.h"

enum { MAX_OPTS = 96, LONG_ONLY = 256 };

/* Words of other programs, and what they are called here. */
static const char *const synonyms[][2] = {
    { "delete", "rm" },        { "fit", "train" }, { "gpu", "cuda" },
    { "learning_rate", "lr" }, { "list", "ls" },   { "remove", "rm" },
    { "rename", "mv" },        { "run", "train" }, { "tokenise", "encode" },
    { "tokenize", "encode" },
};

/* Capitals are as good as others, and so is anything that separates parts. */
static char fold(char c)
{
    return strchr("_./ ", c) ? '-' : (char)tolower((unsigned char)c);
}

/* A name farther than this from a word is not what was meant by it. */
static size_t farthest(size_t word)
{
    return word / 3 + 2;
}

/* Levenshtein's distance, of words short enough to be options; at least the
 * difference of their lengths. */
static size_t distance(const char *a, const char *b)
{
    enum { LONGEST = 64 };
    size_t row[LONGEST + 1];
    const size_t na = strlen(a), nb = strlen(b);

    if (na > LONGEST || nb > LONGEST || na + farthest(na) < nb ||
        nb + farthest(na) < na)
        return LONGEST;
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            const size_t up = row[j];
            size_t best = diagonal + (fold(a[i - 1]) != fold(b[j - 1]));

            if (up + 1 < best)
                best = up + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
            diagonal = up;
        }
    }
    return row[nb];
}

/* "lr" means optim.lr: the last part of a name may stand for all of it. */
static size_t distance_to_name(const char *word, const char *name)
{
    const size_t whole = distance(word, name);
    const char *last = name;
    size_t part;

    for (const char *p = name; *p; p++)
        if ((*p == '.' || *p == '/') && p[1])
            last = p + 1;
    part = distance(word, last);
    part += part > 0; /* of two parts as near as each other, prefer the whole */
    return part < whole ? part : whole;
}

void opt_nearest_try(struct opt_nearest *n, const char *name)
{
    size_t d = distance_to_name(n->word, name);

    for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++)
        if (strcmp(synonyms[i][0], n->word) == 0 &&
            distance_to_name(synonyms[i][1], name) == 0)
            d = 0;
    if (d < (n->best ? n->distance : farthest(strlen(n->word)))) {
        n->best = name;
        n->distance = d;
    }
}

int opt_nearest_add(const struct opt_nearest *n, struct err *e)
{
    const size_t used = strlen(e->text);

    if (n->best && strcmp(n->best, n->word) != 0)
        snprintf(e->text + used, sizeof e->text - used, "; did you mean %s?",
                 n->best);
    return -1;
}

int opt_nearest_word(const char *const *words, const char *text, struct err *e)
{
    struct opt_nearest near = { .word = text };

    while (*words)
        opt_nearest_try(&near, *words++);
    return opt_nearest_add(&near, e);
}

static int bad_value(const struct opt *o, const char *what, const char *text,
                     struct err *e)
{
    return err_usage(e, "--%s expects %s, not '%s'", o->name, what, text);
}

int opt_find_word(const char *const *words, const char *text)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], text) == 0)
            return i;
    return -1;
}

void opt_list_words(const char *const *words, char *text, size_t size)
{
    size_t n = 0;

    *text = '\0';
    for (int i = 0; words[i] && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%s",
                              i == 0         ? ""
                              : words[i + 1] ? ", "
                                             : " or ",
                              words[i]);
}

static int set_word(const struct opt *o, const char *text, struct err *e)
{
    char list[256];
    int i = 0;

    while (o->words[i] && strcasecmp(o->words[i], text) != 0)
        i++;
    if (!o->words[i]) {
        opt_list_words(o->words, list, sizeof list);
        bad_value(o, list, text, e);
        return opt_nearest_word(o->words, text, e);
    }
    *(int *)o->value = i;
    return 0;
}

/* Refuse a number that is out of the range of an option. */
static int check_range(const struct opt *o, double x, const char *text,
                       struct err *e)
{
    const struct opt_range r = o->range;
    char least[NUM_TEXT], what[2 * NUM_TEXT];

    if ((r.least == 0 && r.most == 0) || (x >= r.least && x <= r.most))
        return 0;
    if (o->type == OPT_SIZE)
        num_bytes(least, r.least);
    else if (o->type == OPT_SECS)
        snprintf(least, sizeof least, "%gms", r.least * 1000);
    else
        snprintf(least, sizeof least, "%g", r.least);
    if (isinf(r.most))
        snprintf(what, sizeof what, "%s or more", least);
    else
        snprintf(what, sizeof what, "%s to %.10g", least, r.most);
    return bad_value(o, what, text, e);
}

static int opt_set(const struct opt *o, const char *text, struct err *e)
{
    int64_t n;

    switch (o->type) {
    case OPT_FLAG:
        *(bool *)o->value = true;
        return 0;
    case OPT_STRING:
    case OPT_SECRET:
        *(const char **)o->value = text;
        return 0;
    case OPT_WORD:
        return set_word(o, text, e);
    case OPT_LIST: {
        struct opt_list *l = o->value;

        APPEND(l->item, l->n, l->room) = text;
        return 0;
    }
    case OPT_INT:
        if (!num_int(text, &n) || n != (int)n)
            return bad_value(o, "a whole number", text, e);
        *(int *)o->value = (int)n;
        return check_range(o, (double)n, text, e);
    case OPT_LONG:
        return num_int(text, o->value)
                   ? check_range(o, (double)*(int64_t *)o->value, text, e)
                   : bad_value(o, "a whole number (512k, 10B)", text, e);
    case OPT_REAL:
        return num_real(text, o->value)
                   ? check_range(o, *(double *)o->value, text, e)
                   : bad_value(o, "a number", text, e);
    case OPT_SIZE:
        return num_size(text, o->value)
                   ? check_range(o, (double)*(uint64_t *)o->value, text, e)
                   : bad_value(o, "a size (64MiB)", text, e);
    case OPT_SECS:
        return num_secs(text, o->value)
                   ? check_range(o, *(double *)o->value, text, e)
                   : bad_value(o, "a time (90s, 2h30m)", text, e);
    }
    return -1;
}

static int unknown_option(const struct opt *opts, const char *word,
                          struct err *e)
{
    char name[64];
    struct opt_nearest near = { .word = name };

    if (word[0] == '-' && word[1] != '-')
        return err_usage(e, "unknown option %s; try --help", word);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (; opts && opts->name; opts++)
        opt_nearest_try(&near, opts->name);
    if (near.best)
        return err_usage(e, "unknown option --%s; did you mean --%s?", name,
                         near.best);
    return err_usage(e, "unknown option --%s; try --help", name);
}

int opt_parse(const struct opt *opts, int argc, char **argv, struct err *e)
{
    char letters[2 * MAX_OPTS + 3] = ":", *at = letters + 1;
    struct option names[MAX_OPTS + 1] = { { 0 } };
    int n = 0, c;

    for (const struct opt *o = opts; o && o->name; o++, n++) {
        if (n == MAX_OPTS)
            abort();
        names[n].name = o->name;
        names[n].has_arg = o->arg ? required_argument : no_argument;
        names[n].val = LONG_ONLY + n;
        if (o->letter) {
            *at++ = o->letter;
            if (o->arg)
                *at++ = ':';
        }
    }
    *at = '\0';
    optind = 0;
    while ((c = getopt_long(argc, argv, letters, names, NULL)) != -1) {
        const struct opt *o = opts;

        if (c == ':')
            return err_usage(e, "%s expects an argument", argv[optind - 1]);
        if (c == '?') {
            const char letter[] = { '-', (char)optopt, '\0' };

            if (optopt >= LONG_ONLY)
                return err_usage(e, "--%s takes no argument",
                                 opts[optopt - LONG_ONLY].name);
            return unknown_option(opts, optopt ? letter : argv[optind - 1], e);
        }
        if (c >= LONG_ONLY)
            o = &opts[c - LONG_ONLY];
        else
            while (o->letter != c)
                o++;
        if (o->type == OPT_SECRET) {
            *(const char **)o->value = xstrdup(optarg);
            memset(optarg, '*', strlen(optarg));
        } else if (opt_set(o, optarg, e) < 0) {
            return -1;
        }
    }
    memmove(argv, argv + optind, (size_t)(argc - optind + 1) * sizeof *argv);
    return argc - optind;
}

void opt_help_text(const struct opt *o, char *text, size_t size)
{
    const char *gap = o->words ? strstr(o->help, "%s") : NULL;
    char list[256];

    if (!gap) {
        snprintf(text, size, "%s", o->help);
        return;
    }
    opt_list_words(o->words, list, sizeof list);
    snprintf(text, size, "%.*s%s%s", (int)(gap - o->help), o->help, list,
             gap + 2);
}

/* Words of a text from column `at` on, in lines of 80. */
static void print_words(int at, const char *text)
{
    int column = at;

    while (*text) {
        const int n = (int)strcspn(text, " ");

        if (column > at && column + 1 + n > 80) {
            printf("\n%*s", at, "");
            column = at;
        }
        column += printf("%s%.*s", column > at ? " " : "", n, text);
        text += n + (text[n] == ' ');
    }
    putchar('\n');
}

void opt_help(const struct opt *opts)
{
    enum { HELP = 30 };
    char text[512];

    for (const struct opt *o = opts; o && o->name; o++) {
        int n = o->letter ? printf("  -%c, ", o->letter) : printf("      ");

        n += printf("--%s%s%s", o->name, o->arg ? "=" : "",
                    o->arg ? o->arg : "");
        printf(n < HELP - 1 ? "%*s" : "\n%*s", n < HELP - 1 ? HELP - n : HELP,
               "");
        opt_help_text(o, text, sizeof text);
        print_words(HELP, text);
    }
}

void opt_help_cmds(const struct cmd *const *cmds)
{
    for (; *cmds; cmds++) {
        printf("  %-12s ", (*cmds)->name);
        print_words(15, (*cmds)->help);
    }
}

const struct cmd *opt_find_cmd(const struct cmd *const *cmds, const char *name,
                               struct err *e)
{
    struct opt_nearest near = { .word = name };

    for (; *cmds; cmds++) {
        if (strcmp((*cmds)->name, name) == 0)
            return *cmds;
        opt_nearest_try(&near, (*cmds)->name);
    }
    if (near.best)
        err_usage(e, "unknown command '%s'; did you mean '%s'?", name,
                  near.best);
    else
        err_usage(e, "unknown command '%s'; try --help", name);
    return NULL;
}
