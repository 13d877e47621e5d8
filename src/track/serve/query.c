#include "config.h"
#include "track/serve/query.h"

#include <string.h>

#include "common/format/percent.h"
#include "common/num.h"

/* The text with its escapes decoded; NULL if one is wrong. */
static char *decode(struct arena *mem, const char *s, size_t n)
{
    char *out = arena_strndup(mem, s, n);

    for (char *plus = out; (plus = strchr(plus, '+'));)
        *plus = ' ';
    return percent_decode(out) ? out : NULL;
}

int query_parse(struct query *q, const char *text, struct err *e)
{
    while (*text) {
        const size_t n = strcspn(text, "&"), k = strcspn(text, "=&");
        const size_t skip = k < n ? k + 1 : n;

        if (q->n == QUERY_MOST)
            return err_set(e, ERR_USAGE, "the URL has more than %d parameters",
                           QUERY_MOST);
        q->key[q->n] = decode(&q->mem, text, k);
        q->value[q->n] = decode(&q->mem, text + skip, n - skip);
        if (!q->key[q->n] || !q->value[q->n])
            return err_set(e, ERR_USAGE,
                           "the URL has an escape that is wrong in '%.40s'",
                           text);
        q->n++;
        text += n + (text[n] == '&');
    }
    return 0;
}

const char *query_get(const struct query *q, const char *key)
{
    for (size_t i = 0; i < q->n; i++)
        if (strcmp(q->key[i], key) == 0)
            return *q->value[i] ? q->value[i] : NULL;
    return NULL;
}

bool query_flag(const struct query *q, const char *key)
{
    const char *value = query_get(q, key);

    return value && strcmp(value, "1") == 0;
}

int query_number(const struct query *q, const char *key, int most,
                 int otherwise, int *out, struct err *e)
{
    const char *value = query_get(q, key);
    int64_t n;

    *out = otherwise;
    if (!value)
        return 0;
    if (!num_int(value, &n) || n < 0 || n > most)
        return err_set(e, ERR_USAGE,
                       "%s expects a number from 0 to %d, not "
                       "'%s'",
                       key, most, value);
    *out = (int)n;
    return 0;
}

size_t query_list(struct query *q, const char *key, char ***list)
{
    const char *value = query_get(q, key);
    char **item = NULL;
    size_t n = 0;

    while (value && *value) {
        const size_t len = strcspn(value, ",");

        if (len) {
            item = arena_grow(&q->mem, item, n, sizeof *item);
            item[n++] = arena_strndup(&q->mem, value, len);
        }
        value += len + (value[len] == ',');
    }
    *list = item;
    return n;
}

void query_clear(struct query *q)
{
    arena_clear(&q->mem);
    *q = (struct query){ 0 };
}
