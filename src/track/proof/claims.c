#include "config.h"
#include "track/proof/claims.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

/* The syntax of a claim: the text before, between and after its parts. */
static const struct form {
    const char *begin, *middle, *end;
    bool braces; /* braces within the parts are balanced */
} forms[] = {
    { "\\gtrack{", "}{", "}", true },
    { "<!-- gtrack:", "-->", "<!-- /gtrack -->", false },
};

enum { FORMS = sizeof forms / sizeof forms[0] };

struct parser {
    struct claims *claims;
    const char *at, *end; /* of the text */
    const char *file;
    long line;
    bool tex;
};

/* ---- the parts -------------------------------------------------------- */

static bool starts_with(const char *at, const char *end, const char *word)
{
    const size_t n = strlen(word);

    return (size_t)(end - at) >= n && memcmp(at, word, n) == 0;
}

/* Where the word begins, outside of braces if these count; or NULL. */
static const char *find_word(const char *at, const char *end, const char *word,
                             bool braces)
{
    int depth = 0;

    for (; at < end; at++) {
        if (depth == 0 && starts_with(at, end, word))
            return at;
        if (braces && *at == '{')
            depth++;
        else if (braces && *at == '}' && --depth < 0)
            return NULL;
    }
    return NULL;
}

static char *trimmed(const char *from, const char *to)
{
    size_t n = (size_t)(to - from);

    str_trim(&from, &n);
    return xstrndup(from, n);
}

/* "run | column | format", "mean: runs | column" or "table: command" */
static bool parse_query(struct claim *c, const char *from, const char *to)
{
    const char *bar = memchr(from, '|', (size_t)(to - from));
    const char *second =
        bar ? memchr(bar + 1, '|', (size_t)(to - bar - 1)) : NULL;

    while (from < to && isspace((unsigned char)*from))
        from++;
    if (starts_with(from, to, "table:")) {
        c->command = trimmed(from + strlen("table:"), to);
        return true;
    }
    if (!bar)
        return false;
    c->mean = starts_with(from, bar, "mean:");
    c->run = trimmed(from + (c->mean ? strlen("mean:") : 0), bar);
    c->column = trimmed(bar + 1, second ? second : to);
    c->format = second ? trimmed(second + 1, to) : NULL;
    return *c->run && *c->column;
}

static int parse_claim(struct parser *p, const struct form *form, struct err *e)
{
    struct claims *all = p->claims;
    const char *query = p->at + strlen(form->begin);
    const char *middle = find_word(query, p->end, form->middle, form->braces);
    const char *value = middle ? middle + strlen(form->middle) : NULL;
    const char *end =
        value ? find_word(value, p->end, form->end, form->braces) : NULL;
    struct claim *c;

    if (!end)
        return err_input(e, "%s:%ld: expected %s RUN | COLUMN %s%s", p->file,
                         p->line, form->begin, form->middle, form->end);
    c = &APPEND(all->item, all->n, all->room);
    *c = (struct claim){ .value = value,
                         .len = (size_t)(end - value),
                         .line = p->line };
    if (!parse_query(c, query, middle))
        return err_input(e,
                         "%s:%ld: expected a run and a column with a | between "
                         "them, not '%.*s'",
                         p->file, p->line, (int)(middle - query), query);
    for (; p->at < end; p->at++)
        p->line += *p->at == '\n';
    return 0;
}

/* ---- the text --------------------------------------------------------- */

static const struct form *find_form(const struct parser *p)
{
    for (int i = 0; i < FORMS; i++)
        if (starts_with(p->at, p->end, forms[i].begin))
            return &forms[i];
    return NULL;
}

/* Is this the % of a comment, not one that is escaped? */
static bool begins_comment(const struct parser *p)
{
    return p->tex && *p->at == '%' &&
           (p->at == p->claims->text || p->at[-1] != '\\');
}

/* The length of the number that begins here, and has a point; not of a version,
 * nor of a length such as 1.5cm or 0.8\linewidth. */
static size_t number_at(const struct parser *p)
{
    static const char digits[] = "0123456789";
    const char before = p->at > p->claims->text ? p->at[-1] : ' ';
    const size_t whole = strspn(p->at, digits);
    const size_t part =
        whole && p->at[whole] == '.' ? strspn(p->at + whole + 1, digits) : 0;
    const char *end = p->at + whole + 1 + part;
    size_t macro = 0;

    if (part == 0 || isalnum((unsigned char)before) || strchr("._", before) ||
        isalpha((unsigned char)*end) || *end == '_' ||
        (*end == '.' && isdigit((unsigned char)end[1])))
        return 0;
    while (*end == '\\' && isalpha((unsigned char)end[1 + macro]))
        macro++;
    if (macro > 5 && memcmp(end + macro - 4, "width", 5) == 0)
        return 0;
    return (size_t)(end - p->at);
}

static void add_number(struct parser *p, size_t len)
{
    struct claims *c = p->claims;

    APPEND(c->number, c->n_numbers, c->room_for_numbers) =
        (struct claims_number){ p->at, len, p->line };
    p->at += len;
}

int claims_parse(struct claims *c, const char *text, size_t n, const char *file,
                 struct err *e)
{
    struct parser p = { .claims = c,
                        .at = text,
                        .end = text + n,
                        .file = file,
                        .line = 1,
                        .tex = str_ends(file, ".tex") };

    *c = (struct claims){ .text = text, .size = n, .tex = p.tex };
    while (p.at < p.end) {
        const struct form *form = find_form(&p);
        const size_t number = form ? 0 : number_at(&p);

        if (form) {
            if (parse_claim(&p, form, e) < 0)
                return -1;
        } else if (number > 0) {
            add_number(&p, number);
        } else if (begins_comment(&p)) {
            while (p.at < p.end && *p.at != '\n')
                p.at++;
        } else {
            p.line += *p.at++ == '\n';
        }
    }
    return 0;
}

void claims_write(const struct claims *c, struct buf *out)
{
    const char *at = c->text;

    for (size_t i = 0; i < c->n; i++) {
        const struct claim *k = &c->item[i];

        if (!k->now)
            continue;
        buf_add(out, at, (size_t)(k->value - at));
        buf_str(out, k->now);
        at = k->value + k->len;
    }
    buf_add(out, at, c->size - (size_t)(at - c->text));
}

void claims_clear(struct claims *c)
{
    for (size_t i = 0; i < c->n; i++)
        FREE(c->item[i].run, c->item[i].column, c->item[i].format,
             c->item[i].command, c->item[i].now, c->item[i].changes);
    FREE(c->item, c->number);
    *c = (struct claims){ 0 };
}

/* ---- formats ---------------------------------------------------------- */

int claims_format(struct buf *out, const char *format, double x, struct err *e)
{
    const char *at = format + (*format == '+');
    int precision = 6;

    if (*at == '.' && isdigit((unsigned char)at[1])) {
        precision = (int)strtol(at + 1, NULL, 10);
        at += 1 + strspn(at + 1, "0123456789");
    }
    if (!*at || at[1] || !strchr("efgEG", *at) || precision > 17)
        return err_usage(
            e, "expected a format such as .3f, .2e or .4g, not '%s'", format);
    if (*format == '+' && x >= 0)
        buf_char(out, '+');
    if (*at == 'e')
        buf_printf(out, "%.*e", precision, x);
    else if (*at == 'E')
        buf_printf(out, "%.*E", precision, x);
    else if (*at == 'f')
        buf_printf(out, "%.*f", precision, x);
    else if (*at == 'G')
        buf_printf(out, "%.*G", precision, x);
    else
        buf_printf(out, "%.*g", precision, x);
    return 0;
}
