#include "config.h"
#include "common/format/source_list.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/num.h"

enum { MILLION = 1000000 };

/* The length of the name before a colon at the beginning, or 0. */
static size_t name_length(const char *s)
{
    size_t n = 0;

    if (!isalpha((unsigned char)*s))
        return 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '-')
        n++;
    return s[n] == ':' ? n : 0;
}

/* Cut the text at the next comma that is not within braces. */
static char *next_entry(char **at)
{
    char *start = *at, *p = start;
    int depth = 0;

    for (; *p && (*p != ',' || depth > 0); p++)
        depth += (*p == '{') - (*p == '}' && depth > 0);
    *at = *p ? p + 1 : NULL;
    *p = '\0';
    start += strspn(start, " \t\n");
    while (p > start && isspace((unsigned char)p[-1]))
        *--p = '\0';
    return start;
}

/* A share such as 0.25, 25% or 3; the sum of all need not be 1. */
static int parse_share(struct source_part *p, const char *text, struct err *e)
{
    double share;

    if (!num_real(text, &share) || !(share > 0 && share <= MILLION) ||
        fabs(rint(share * MILLION) - share * MILLION) > 1e-4)
        return err_usage(e,
                         "%s: the share expects a number above 0, with at most "
                         "6 decimals, not '%s'",
                         p->name, text);
    p->share = (int64_t)rint(share * MILLION);
    return 0;
}

static bool parse_word(struct source_part *p, const char *word)
{
    const char *value = strchr(word, '=') + 1;
    const size_t n = (size_t)(value - word);

    if (n == 5 && strncmp(word, "from=", n) == 0)
        return conf_span_parse(value, &p->from);
    if (n == 6 && strncmp(word, "until=", n) == 0)
        return conf_span_parse(value, &p->until) && p->until.n > 0;
    if (n == 7 && strncmp(word, "epochs=", n) == 0)
        return num_int(value, &p->epochs) && p->epochs > 0;
    return false;
}

/* Take words such as from=80% from the end of an entry. */
static int cut_words(struct source_part *p, char *text, struct err *e)
{
    for (;;) {
        char *word = strrchr(text, ' ');
        char *value = word ? strchr(word, '=') : NULL;

        if (!value || strcspn(word, "/*?[{.") < (size_t)(value - word))
            break;
        if (!parse_word(p, word + 1))
            return err_usage(e,
                             "%s: expected from=STEP, until=STEP or epochs=N, "
                             "not '%s'",
                             p->name, word + 1);
        while (word > text && word[-1] == ' ')
            word--;
        *word = '\0';
    }
    return 0;
}

/* The share, if the entry has one, and the files. */
static int parse_rest(struct source_list *l, struct source_part *p, char *text,
                      struct err *e)
{
    const size_t n = strcspn(text, ":");
    const bool alone = text[n] == '\0';
    double any;

    text[n] = '\0';
    if (!alone || num_real(text, &any)) {
        if (parse_share(p, text, e) < 0)
            return -1;
        text += n + !alone;
    }
    if (*text)
        p->files = arena_strdup(&l->mem, text);
    return 0;
}

/* Find the source of a part, which its first part must describe. */
static int find_source(struct source_list *l, struct source_part *p,
                       struct err *e)
{
    for (size_t i = 0; i < l->n; i++) {
        if (strcmp(l->part[i].name, p->name) != 0)
            continue;
        p->source = l->part[i].source;
        if (p->files || p->epochs)
            return err_usage(e,
                             "%s is named twice; only its first entry can have "
                             "files and epochs=",
                             p->name);
        return 0;
    }
    if (!p->files)
        return err_usage(e, "%s has no files; write %s:SHARE:FILES", p->name,
                         p->name);
    p->source = l->sources++;
    return 0;
}

static int parse_entry(struct source_list *l, char *text, struct err *e)
{
    struct source_part *p = &l->part[l->n];
    const size_t n = name_length(text);

    if (n == 0 || n >= SOURCE_LIST_NAME)
        return err_usage(e,
                         "expected NAME:SHARE:FILES, with a name of letters, "
                         "digits, _ and -, not '%s'",
                         text);
    if (l->n == SOURCE_LIST_MOST)
        return err_usage(e, "there are more than %d entries", SOURCE_LIST_MOST);
    *p = (struct source_part){ .name = arena_strndup(&l->mem, text, n) };
    if (cut_words(p, text, e) < 0 || parse_rest(l, p, text + n + 1, e) < 0 ||
        find_source(l, p, e) < 0)
        return -1;
    l->n++;
    return 0;
}

int source_list_parse(struct source_list *l, const char *text, struct err *e)
{
    char *copy, *at;
    int ret = 0;

    *l = (struct source_list){ .n = 0 };
    at = copy = arena_strdup(&l->mem, text);
    if (name_length(text) == 0) {
        l->part[l->n++] = (struct source_part){ .name = "", .files = copy };
        l->sources = 1;
        return 0;
    }
    while (at && ret == 0)
        ret = parse_entry(l, next_entry(&at), e);
    if (ret < 0)
        source_list_clear(l);
    return ret;
}

void source_list_clear(struct source_list *l)
{
    arena_clear(&l->mem);
    l->n = l->sources = 0;
}

const struct source_part *source_list_first(const struct source_list *l,
                                            size_t source)
{
    const struct source_part *p = l->part;

    while (p->source != source)
        p++;
    return p;
}

static void add_span(struct buf *out, const char *word,
                     const struct conf_span *s)
{
    if (!(s->n > 0))
        return;
    buf_printf(out, " %s=", word);
    conf_span_text(s, out);
}

void source_list_text(const struct source_part *p, const char *files,
                      struct buf *out)
{
    if (!*p->name) {
        buf_str(out, files);
        return;
    }
    buf_printf(out, "%s:", p->name);
    if (p->share > 0)
        buf_printf(out, "%.6f", (double)p->share / MILLION);
    if (files)
        buf_printf(out, "%s%s", p->share > 0 ? ":" : "", files);
    add_span(out, "from", &p->from);
    add_span(out, "until", &p->until);
    if (p->epochs)
        buf_printf(out, " epochs=%" PRId64, p->epochs);
}
