#include "config.h"
#include "track/runs/column_parse.h"

#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "store/query/find_key.h"

/* A key without its quotes, if it has any; the caller frees it. */
static char *unquote_key(const char *s, size_t n)
{
    while (n && s[0] == ' ')
        s++, n--;
    while (n && s[n - 1] == ' ')
        n--;
    if (n > 1 && strchr("`\"'", s[0]) && s[n - 1] == s[0])
        return xstrndup(s + 1, n - 2);
    return xstrndup(s, n);
}

static const char *skip_prefix(const char *s, const char *prefix)
{
    const size_t n = strlen(prefix);

    return strncmp(s, prefix, n) == 0 ? s + n : NULL;
}

/* A key of any kind: "metrics.loss", "loss", "lr". */
static int parse_key(const char *word, size_t n, const struct runs *runs,
                     enum column_kind *kind, char **key, struct err *e)
{
    static const struct {
        const char *prefix;
        enum column_kind kind;
    } prefixes[] = {
        { "metrics.", COLUMN_METRIC }, { "metric.", COLUMN_METRIC },
        { "params.", COLUMN_PARAM },   { "param.", COLUMN_PARAM },
        { "tags.", COLUMN_TAG },       { "tag.", COLUMN_TAG },
    };
    static const enum column_kind kinds[] = {
        [PARAM] = COLUMN_PARAM, [METRIC] = COLUMN_METRIC, [TAG] = COLUMN_TAG
    };
    char *text = unquote_key(word, n);
    const char *full;
    enum key_kind found;

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        const char *rest = skip_prefix(text, prefixes[i].prefix);

        if (rest && *rest && !find_key_exists(runs, PARAM, text) &&
            !find_key_exists(runs, METRIC, text)) {
            *kind = prefixes[i].kind;
            *key = unquote_key(rest, strlen(rest));
            free(text);
            return 0;
        }
    }
    found = find_key(runs, text, &full);
    if (found == KINDS && runs->n) {
        find_key_fail(runs->run, runs->n, KINDS, text, column_attributes, e);
        e->kind = ERR_USAGE;
        free(text);
        return -1;
    }
    *kind = found == KINDS ? COLUMN_METRIC : kinds[found];
    *key = xstrdup(found == KINDS ? text : full);
    free(text);
    return 0;
}

/* The function in min(val/loss) or at(val/loss, 5000), and what is inside the
 * parentheses; -1 for none. */
static int find_function(const char *word, size_t n, const char **inner,
                         size_t *inner_len)
{
    for (int f = 0; column_functions[f]; f++) {
        const size_t len = strlen(column_functions[f]);

        if (n > len + 1 && strncmp(word, column_functions[f], len) == 0 &&
            word[len] == '(' && word[n - 1] == ')') {
            *inner = word + len + 1;
            *inner_len = n - len - 2;
            return f;
        }
    }
    return -1;
}

static int parse_at(const char *inner, size_t *n, int64_t *step, struct err *e)
{
    const char *comma = memrchr(inner, ',', *n);
    char *text, *number;
    bool good;

    if (!comma)
        return err_set(e, ERR_USAGE,
                       "at(%.*s) has no step; write at(METRIC, STEP)", (int)*n,
                       inner);
    text = unquote_key(comma + 1, *n - (size_t)(comma - inner) - 1);
    number = text + (strncmp(text, "step=", 5) == 0 ? 5 : 0);
    good = num_int(number, step);
    if (!good)
        err_set(e, ERR_USAGE, "at() expects a step, not '%s'", text);
    free(text);
    *n = (size_t)(comma - inner);
    return good ? 0 : -1;
}

static int parse_column(struct columns *c, const char *word, size_t n,
                        const struct runs *runs, struct err *e)
{
    const char *inner = word;
    size_t inner_len = n;
    const int function = find_function(word, n, &inner, &inner_len);
    char *title = unquote_key(word, n), *key;
    const char *rest = skip_prefix(title, "attributes.");
    const int attribute = column_find_attribute(rest ? rest : title);
    enum column_kind kind;
    struct column *out;
    int64_t step = 0;

    if (function < 0 && attribute >= 0) {
        columns_append(c, title, title)->attribute = attribute;
        free(title);
        return 0;
    }
    if ((function == COLUMN_AT && parse_at(inner, &inner_len, &step, e) < 0) ||
        parse_key(inner, inner_len, runs, &kind, &key, e) < 0) {
        free(title);
        return -1;
    }
    out = columns_append(c, key, function < 0 ? key : title);
    out->kind = function < 0 ? kind : COLUMN_METRIC;
    out->function = function < 0 ? COLUMN_LAST : (enum column_function)function;
    out->step = step;
    free(key);
    free(title);
    return 0;
}

const char *columns_end(const char *text)
{
    const char *p = text;
    char quote = '\0';
    int depth = 0;

    for (; *p && (*p != ',' || depth > 0 || quote); p++) {
        if (quote ? *p == quote : strchr("`\"'", *p) != NULL)
            quote = quote ? '\0' : *p;
        else if (!quote)
            depth += (*p == '(') - (*p == ')');
    }
    return p;
}

int columns_parse(struct columns *c, const char *text, const struct runs *runs,
                  struct err *e)
{
    for (const char *from = text;;) {
        const char *end = columns_end(from);

        from += strspn(from, " ");
        if (from >= end)
            return err_set(e, ERR_USAGE, "'%s' has an empty column", text);
        if (parse_column(c, from, (size_t)(end - from), runs, e) < 0)
            return -1;
        if (*end == '\0')
            return 0;
        from = end + 1;
    }
}
