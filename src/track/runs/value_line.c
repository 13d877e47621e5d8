#include "config.h"
#include "track/runs/value_line.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"

static void reset_line(struct value_line *v)
{
    for (size_t i = 0; i < v->n; i++)
        free(v->item[i].key);
    v->n = 0;
    v->step = v->ms = -1;
    v->refused = false;
}

void value_line_clear(struct value_line *v)
{
    reset_line(v);
    free(v->item);
    *v = VALUE_LINE_INIT;
}

/* The number as an integer, or one that is no step if that is not exact. */
static int64_t exactly(double x)
{
    return fabs(x) < 9e15 && x == floor(x) ? (int64_t)x : INT64_MAX;
}

static void refuse_step(struct value_line *v, const char *key, double x)
{
    char text[NUM_TEXT];

    num_shortest(text, x);
    if (!v->warned)
        log_warn("a line with %s=%s is not recorded, nor are others like it: "
                 "a step is a whole number below 2^62, in digits",
                 key, text);
    v->refused = v->warned = true;
}

/* Steps and times are not values; seconds since the epoch become ms.  What x is
 * exactly is n. */
static void add_value(struct value_line *v, const char *key, double x,
                      int64_t n)
{
    static const char *const steps[] = { "step",      "_step",       "iter",
                                         "iteration", "global_step", NULL };
    static const char *const times[] = { "_timestamp", "timestamp", NULL };

    if (opt_find_word(steps, key) >= 0 && x == floor(x)) {
        v->step = n;
        if (n > INT64_MAX / 2) /* so that steps can count on from it */
            refuse_step(v, key, x);
    } else if (opt_find_word(times, key) >= 0 && x > 1e8 && x < 1e14) {
        v->ms = (int64_t)(x < 1e11 ? x * 1000 : x);
    } else {
        APPEND(v->item, v->n, v->room) =
            (struct value_line_item){ xstrdup(key), x };
    }
}

/* ---- JSON ---- */

enum { MAX_DEPTH = 16 };

static void add_object(struct value_line *v, const char *prefix, json_t *object,
                       int depth)
{
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        AUTO_FREE char *key =
            *prefix ? xasprintf("%s/%s", prefix, name) : xstrdup(name);
        double x;

        if (json_is_integer(value))
            add_value(v, key, json_number_value(value),
                      json_integer_value(value));
        else if (json_is_real(value))
            add_value(v, key, json_real_value(value),
                      exactly(json_real_value(value)));
        else if (json_is_boolean(value))
            add_value(v, key, json_is_true(value), json_is_true(value));
        else if (json_is_string(value) &&
                 num_real(json_string_value(value), &x) && !isfinite(x))
            add_value(v, key, x, exactly(x));
        else if (json_is_object(value) && depth < MAX_DEPTH)
            add_object(v, key, value, depth + 1);
    }
}

/* Python writes NaN and Infinity bare; quote them, as JSON needs. */
static char *quote_nonfinite(const char *line)
{
    static const char *const words[] = { "-Infinity", "Infinity", "NaN" };
    struct buf out = BUF_INIT;
    bool quoted = false;

    for (const char *p = line; *p;) {
        size_t len = 0;

        if (*p == '"' && (p == line || p[-1] != '\\'))
            quoted = !quoted;
        for (size_t w = 0; !quoted && !len && w < 3; w++)
            if (strncmp(p, words[w], strlen(words[w])) == 0)
                len = strlen(words[w]);
        if (len)
            buf_printf(&out, "\"%.*s\"", (int)len, p);
        else
            buf_char(&out, *p);
        p += len ? len : 1;
    }
    return buf_detach(&out);
}

static bool parse_json(struct value_line *v, const char *line)
{
    json_auto_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);

    if (!object) {
        AUTO_FREE char *quoted = quote_nonfinite(line);

        object = json_loads(quoted, JSON_REJECT_DUPLICATES, NULL);
        if (!object) /* it may have an integer of more than 64 bits */
            object = json_loads(
                quoted, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);
    }
    if (!json_is_object(object))
        return false;
    add_object(v, "", object, 0);
    return true;
}

/* ---- key=value ---- */

static bool is_key_byte(char c)
{
    return isalnum((unsigned char)c) || strchr("_./-:%@", c) ||
           (unsigned char)c >= 0x80;
}

/* The value at p: a number, perhaps with a comma, bracket or unit after it. */
static const char *parse_value(struct value_line *v, const char *key,
                               const char *p)
{
    const size_t n = strcspn(p, " \t,;|)]}\r\n");
    char *text = xstrndup(p, n), *end;
    double x;

    if (num_real(text, &x)) {
        const long long whole = strtoll(text, &end, 10);

        add_value(v, key, x, *end ? exactly(x) : whole);
    }
    free(text);
    return p + n;
}

static void parse_pairs(struct value_line *v, const char *line)
{
    const char *p = line;

    while (*p) {
        const char *from;
        AUTO_FREE char *key = NULL;

        while (*p && !is_key_byte(*p))
            p++;
        from = p;
        while (*p && is_key_byte(*p))
            p++;
        if (*p != '=' || p == from || p[1] == '=')
            continue;
        key = xstrndup(from, (size_t)(p - from));
        p = parse_value(v, key, p + 1);
    }
}

bool value_line_parse(struct value_line *v, const char *line)
{
    reset_line(v);
    while (isspace((unsigned char)*line))
        line++;
    if (*line == '{' && parse_json(v, line))
        return !v->refused && (v->n || v->step >= 0);
    if (strchr(line, '='))
        parse_pairs(v, line);
    return !v->refused && v->n > 0;
}
