#include "config.h"
#include "track/runs/points.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"

static void forget(struct values *v)
{
    for (size_t i = 0; i < v->n; i++)
        free(v->item[i].key);
    v->n = 0;
    v->step = v->ms = -1;
    v->texts = 0;
}

void values_clear(struct values *v)
{
    forget(v);
    free(v->item);
    *v = (struct values)VALUES_INIT;
}

/* Steps and times are not values; seconds since the epoch become ms. */
static void take(struct values *v, const char *key, double x)
{
    static const char *const steps[] = { "step", "_step", "iter", "iteration",
                                         "global_step" };
    static const char *const times[] = { "_timestamp", "timestamp" };

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (strcmp(key, steps[i]) == 0 && fabs(x) < 9e15 && x == floor(x)) {
            v->step = (int64_t)x;
            return;
        }
    }
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        if (strcmp(key, times[i]) == 0 && x > 1e8 && x < 1e14) {
            v->ms = (int64_t)(x < 1e11 ? x * 1000 : x);
            return;
        }
    }
    GROW(v->item, v->n, v->room);
    v->item[v->n++] = (struct values_item){ xstrdup(key), x };
}

/* ---- JSON ---- */

enum { DEEPEST = 16 };

static void flatten(struct values *v, const char *prefix, json_t *object,
                    int depth)
{
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        char *key = *prefix ? xasprintf("%s/%s", prefix, name) : xstrdup(name);
        double x;

        if (json_is_number(value))
            take(v, key, json_number_value(value));
        else if (json_is_boolean(value))
            take(v, key, json_is_true(value));
        else if (json_is_string(value) &&
                 num_real(json_string_value(value), &x) && !isfinite(x))
            take(v, key, x);
        else if (json_is_object(value) && depth < DEEPEST)
            flatten(v, key, value, depth + 1);
        else
            v->texts++;
        free(key);
    }
}

/* Bare NaN and Infinity, which Python writes, as strings that JSON has. */
static char *quote_nonfinite(const char *line)
{
    static const char *const words[] = { "-Infinity", "Infinity", "NaN" };
    const size_t n = strlen(line);
    char *out = xmalloc(n * 2 + 3), *at = out;
    bool quoted = false;

    for (const char *p = line; *p;) {
        size_t w = 0, len = 0;

        if (*p == '"' && (p == line || p[-1] != '\\'))
            quoted = !quoted;
        for (; !quoted && w < sizeof words / sizeof words[0]; w++) {
            len = strlen(words[w]);
            if (strncmp(p, words[w], len) == 0)
                break;
        }
        if (quoted || w == sizeof words / sizeof words[0]) {
            *at++ = *p++;
            continue;
        }
        *at++ = '"';
        memcpy(at, p, len);
        at += len;
        *at++ = '"';
        p += len;
    }
    *at = '\0';
    return out;
}

static bool take_json(struct values *v, const char *line)
{
    json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);

    if (!object && (strstr(line, "NaN") || strstr(line, "Infinity"))) {
        char *quoted = quote_nonfinite(line);

        object = json_loads(quoted, JSON_REJECT_DUPLICATES, NULL);
        free(quoted);
    }
    if (!json_is_object(object)) {
        json_decref(object);
        return false;
    }
    flatten(v, "", object, 0);
    json_decref(object);
    return true;
}

/* ---- key=value ---- */

static bool key_byte(char c)
{
    return isalnum((unsigned char)c) || strchr("_./-:%@", c) ||
           (unsigned char)c >= 0x80;
}

/* The value at p: a number, perhaps with a comma, bracket or unit after it. */
static const char *take_value(struct values *v, const char *key, const char *p)
{
    const size_t n = strcspn(p, " \t,;|)]}\r\n");
    char *text = xstrndup(p, n);
    double x;

    if (num_real(text, &x))
        take(v, key, x);
    else if (n)
        v->texts++;
    free(text);
    return p + n;
}

static void take_pairs(struct values *v, const char *line)
{
    const char *p = line;

    while (*p) {
        const char *from;
        char *key;

        while (*p && !key_byte(*p))
            p++;
        from = p;
        while (*p && key_byte(*p))
            p++;
        if (*p != '=' || p == from || p[1] == '=')
            continue;
        key = xstrndup(from, (size_t)(p - from));
        p = take_value(v, key, p + 1);
        free(key);
    }
}

bool values_line(struct values *v, const char *line)
{
    forget(v);
    while (isspace((unsigned char)*line))
        line++;
    if (*line == '{' && take_json(v, line))
        return v->n || v->step >= 0;
    if (strchr(line, '='))
        take_pairs(v, line);
    return v->n > 0;
}
