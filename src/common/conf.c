#include "config.h"
#include "common/conf.h"

#include <assert.h>
#include <ini.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "common/opt.h"

static size_t index_of(const struct conf *c, const struct setting *s)
{
    return (size_t)(s - c->table);
}

static void *setting_at(const struct conf *c, const struct setting *s)
{
    return (char *)c->target + s->at;
}

/* ---- one value -------------------------------------------------------- */

/* "375M tokens", "1%", "700" or "700 steps" */
bool conf_span_parse(const char *text, struct conf_span *out)
{
    char number[64];
    const size_t len = strcspn(text, " ");
    const char *unit = text + len + strspn(text + len, " ");
    int64_t n;

    if (len >= sizeof number)
        return false;
    memcpy(number, text, len);
    number[len] = '\0';
    if (len && number[len - 1] == '%') {
        out->unit = SPAN_FRACTION;
        return *unit == '\0' && num_real(number, &out->n) && out->n >= 0 &&
               out->n <= 1;
    }
    if (!num_int(number, &n) || n < 0)
        return false;
    out->n = (double)n;
    out->unit = strcmp(unit, "tokens") == 0 ? SPAN_TOKENS : SPAN_STEPS;
    return *unit == '\0' || strcmp(unit, "steps") == 0 ||
           out->unit == SPAN_TOKENS;
}

/* A span, or a time with a unit: "10m" */
static bool every_parse(const char *text, struct conf_span *out)
{
    if (conf_span_parse(text, out))
        return true;
    out->unit = SPAN_TIME;
    return num_secs(text, &out->n);
}

static bool reals_parse(const char *text, struct conf_reals *out)
{
    enum { MOST = sizeof out->x / sizeof out->x[0] };

    out->n = 0;
    while (*text) {
        const size_t len = strcspn(text, ", ");
        char number[64];

        if (len >= sizeof number || out->n == MOST)
            return false;
        memcpy(number, text, len);
        number[len] = '\0';
        if (!num_real(number, &out->x[out->n++]))
            return false;
        text += len;
        text += strspn(text, ", ");
    }
    return true;
}

static bool in_bounds(const struct setting *s, double x)
{
    return (s->min == 0.0 && s->max == 0.0) || (x >= s->min && x <= s->max);
}

static const char *const expected[] = {
    [CONF_INT] = "a whole number (12, 512k, 10B)",
    [CONF_REAL] = "a number (0.1, 3e-4, 1%)",
    [CONF_BOOL] = "yes or no",
    [CONF_SECS] = "a time (90s, 2h30m)",
    [CONF_SPAN] = "steps, tokens or a fraction (715, 375M tokens, 1%)",
    [CONF_EVERY] =
        "steps, tokens, a fraction or a time (250, 1M tokens, 10%, 5m)",
    [CONF_REALS] = "at most 16 numbers, separated by commas",
};

static int bad_value(const struct setting *s, const char *text, struct err *e)
{
    const int digits = s->type == CONF_INT ? 16 : 15; /* as they are written */
    char words[256];

    if (s->type == CONF_WORD) {
        opt_list_words(s->words, words, sizeof words);
        err_usage(e, "%s expects %s, not '%s'", s->key, words, text);
        return opt_nearest_word(s->words, text, e);
    }
    if (s->min == 0.0 && s->max == 0.0)
        return err_usage(e, "%s expects %s, not '%s'", s->key,
                         expected[s->type], text);
    return err_usage(e, "%s expects %s from %.*g to %.*g, not '%s'", s->key,
                     expected[s->type], digits, s->min, digits, s->max, text);
}

static int set_value(struct conf *c, const struct setting *s, const char *text,
                     struct err *e)
{
    void *at = setting_at(c, s);
    int64_t n = 0;
    double x = 0;

    switch (s->type) {
    case CONF_INT:
        if (!num_int(text, &n) || !in_bounds(s, (double)n))
            return bad_value(s, text, e);
        *(int64_t *)at = n;
        return 0;
    case CONF_REAL:
    case CONF_SECS:
        if (!(s->type == CONF_SECS ? num_secs : num_real)(text, &x) ||
            isnan(x) || !in_bounds(s, x))
            return bad_value(s, text, e);
        *(double *)at = x;
        return 0;
    case CONF_BOOL:
        return num_bool(text, at) ? 0 : bad_value(s, text, e);
    case CONF_TEXT:
        *(const char **)at = arena_strdup(&c->mem, text);
        return 0;
    case CONF_WORD:
        n = opt_find_word(s->words, text);
        if (n < 0)
            return bad_value(s, text, e);
        *(int *)at = (int)n;
        return 0;
    case CONF_SPAN:
        return conf_span_parse(text, at) ? 0 : bad_value(s, text, e);
    case CONF_EVERY:
        return every_parse(text, at) ? 0 : bad_value(s, text, e);
    case CONF_REALS:
        return reals_parse(text, at) ? 0 : bad_value(s, text, e);
    }
    return -1;
}

/* ---- the table -------------------------------------------------------- */

void conf_init(struct conf *c, const struct setting *table, void *target)
{
    size_t n = 0;

    *c = (struct conf){ .table = table, .target = target };
    for (const struct setting *s = table; s->key; s++) {
        const int ret = set_value(c, s, s->value, ERR_IGNORED);

        assert(ret == 0); /* a default is a legal value */
        (void)ret;
        n++;
    }
    c->origin = arena_alloc(&c->mem, (n + 1) * sizeof *c->origin);
}

void conf_clear(struct conf *c)
{
    arena_clear(&c->mem);
    *c = (struct conf){ 0 };
}

const struct setting *conf_find(const struct conf *c, const char *key)
{
    for (const struct setting *s = c->table; s->key; s++)
        if (strcmp(s->key, key) == 0)
            return s;
    return NULL;
}

const char *conf_origin(const struct conf *c, const char *key)
{
    const struct setting *s = conf_find(c, key);

    return s ? c->origin[index_of(c, s)] : NULL;
}

/* Name the key that was probably meant: the same name in another section, or
 * else the nearest. */
static int refuse_key(const struct conf *c, const char *key, struct err *e)
{
    struct opt_nearest near = { .word = key };
    const char *last = strrchr(key, '.');

    for (const struct setting *s = c->table; s->key; s++) {
        if (last && strcmp(strrchr(s->key, '.'), last) == 0) {
            near.best = s->key;
            break;
        }
        opt_nearest_try(&near, s->key);
    }
    err_usage(e, "unknown setting %s", key);
    return opt_nearest_add(&near, e);
}

bool conf_same_file(const char *a, const char *b)
{
    const char *colon = strrchr(a, ':');

    return colon && strncmp(a, b, (size_t)(colon - a) + 1) == 0;
}

/* A number that belongs to a group is given unless it is 0. */
static bool is_given(const struct conf *c, const struct setting *s)
{
    const void *at = setting_at(c, s);

    return s->type == CONF_INT ? *(const int64_t *)at != 0
                               : *(const double *)at != 0.0;
}

/* Reset the other settings of the group of s, except those of the same file:
 * a file that contradicts itself is an error for the program to report. */
static void override_group(struct conf *c, const struct setting *s,
                           const char *where)
{
    for (const struct setting *o = c->table; o->key; o++) {
        const char *before = c->origin[index_of(c, o)];

        if (o == s || o->group != s->group || !before ||
            conf_same_file(where, before))
            continue;
        set_value(c, o, o->value, ERR_IGNORED);
        c->origin[index_of(c, o)] = NULL;
    }
}

int conf_put(struct conf *c, const char *key, const char *value,
             const char *where, struct err *e)
{
    const struct setting *s = conf_find(c, key);

    if ((s ? set_value(c, s, value, e) : refuse_key(c, key, e)) < 0)
        return err_wrap(e, "%s", where);
    c->origin[index_of(c, s)] = arena_strdup(&c->mem, where);
    if (s->group && is_given(c, s))
        override_group(c, s, where);
    return 0;
}

int conf_put_int(struct conf *c, const char *key, int64_t value,
                 const char *where, struct err *e)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)value);
    return conf_put(c, key, text, where, e);
}

int conf_set(struct conf *c, const char *assignment, struct err *e)
{
    const char *equals = strchr(assignment, '=');
    AUTO_FREE char *key = NULL;

    if (!equals || equals == assignment)
        return err_usage(e, "--set expects section.key=value, not '%s'",
                         assignment);
    key = xstrndup(assignment, (size_t)(equals - assignment));
    return conf_put(c, key, equals + 1, "--set", e);
}

int conf_fail(const struct conf *c, const char *key, struct err *e,
              const char *fmt, ...)
{
    const char *where = conf_origin(c, key);
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return err_usage(e, "%s%s%s: %s", where ? where : "", where ? ": " : "",
                     key, text);
}

int conf_wrap(const struct conf *c, const char *key, struct err *e)
{
    const char *where = conf_origin(c, key);

    return err_wrap(e, "%s%s%s", where ? where : "", where ? ": " : "", key);
}

/* ---- a file ----------------------------------------------------------- */

/* A file that was read or, while it is open, is being read. */
struct walked {
    const struct walked *before;
    const char *path; /* the real one */
    bool open;
};

struct walk {
    conf_walk_fn *call;
    void *arg;
    bool alone; /* the file extends no other */
    struct path_list *files;
    struct arena mem;
    const struct walked *last;
};

struct reading {
    struct walk *walk;
    const char *path;
    FILE *fp;
    int line;
    bool begun; /* there was a setting */
    struct err *e;
};

static int walk_file(struct walk *, const char *path, struct err *);

static void skip_line(FILE *fp)
{
    int c;

    do
        c = getc(fp);
    while (c != EOF && c != '\n');
}

/* fgets() that counts lines, and skips the rest of long comments as well as
 * indentation, which libinih would take for the continuation of a value. */
static char *next_line(char *out, int room, void *arg)
{
    struct reading *r = arg;
    size_t blanks;

    if (r->e->kind != ERR_NONE || !fgets(out, room, r->fp))
        return NULL;
    r->line++;
    blanks = strspn(out, " \t");
    if (!strchr(out, '\n') && strlen(out) + 1 == (size_t)room) {
        if (!strchr(";#", out[blanks])) {
            err_usage(r->e, "%s:%d: the line is longer than %d bytes", r->path,
                      r->line, room - 2);
            return NULL;
        }
        skip_line(r->fp);
    }
    memmove(out, out + blanks, strlen(out + blanks) + 1);
    /* libinih would read the next lines and then report one of those */
    if (out[0] == '[' && !strchr(out, ']')) {
        err_usage(r->e, "%s:%d: the section needs a closing ]", r->path,
                  r->line);
        return NULL;
    }
    return out;
}

/* Read the files of "a.ini, b.ini", relative to the folder of this one. */
static void extend(struct reading *r, const char *list, const char *where)
{
    const int folder = (int)(path_name(r->path) - r->path);

    if (r->begun)
        err_usage(r->e, "%s: extends must come before all settings", where);
    while (r->e->kind == ERR_NONE && *(list += strspn(list, ", \t"))) {
        size_t n = strcspn(list, ",");
        const char *path;

        while (strchr(" \t", list[n - 1]))
            n--;
        path = arena_printf(&r->walk->mem, "%.*s%.*s",
                            *list == '/' ? 0 : folder, r->path, (int)n, list);
        if (walk_file(r->walk, path, r->e) < 0)
            err_wrap(r->e, "%s", where);
        list += n;
    }
}

static int take_line(void *arg, const char *section, const char *name,
                     const char *value)
{
    struct reading *r = arg;
    struct walk *w = r->walk;
    AUTO_FREE char *where = xasprintf("%s:%d", r->path, r->line);
    AUTO_FREE char *key =
        xasprintf("%s%s%s", section, *section ? "." : "", name);

    if (!w->alone && strcmp(key, "extends") == 0) {
        extend(r, value, where);
    } else {
        r->begun = true;
        w->call(w->arg, key, value, where, r->e);
    }
    return r->e->kind == ERR_NONE;
}

/* Note that a file is being read; NULL if it was before. */
static struct walked *begin_file(struct walk *w, const char *path,
                                 struct err *e)
{
    char *real = realpath(path, NULL); /* a pipe has none */
    struct walked *new = arena_alloc(&w->mem, sizeof *new);

    arena_take(&w->mem, real);
    *new = (struct walked){ w->last, real ? real : path, true };
    for (const struct walked *f = w->last; f; f = f->before) {
        if (strcmp(f->path, new->path) != 0)
            continue;
        if (f->open)
            err_usage(e, "%s extends itself", path);
        return NULL;
    }
    w->last = new;
    if (w->files)
        path_list_add(w->files, xstrdup(path));
    return new;
}

static int walk_file(struct walk *w, const char *path, struct err *e)
{
    struct reading r = { .walk = w, .path = path, .e = e };
    struct walked *file = begin_file(w, path, e);
    int bad;

    if (!file)
        return e->kind == ERR_NONE ? 0 : -1;
    r.fp = fopen(path, "re");
    if (!r.fp)
        return err_open(e, "cannot open %s", path);
    bad = ini_parse_stream(next_line, &r, take_line, &r);
    if (e->kind == ERR_NONE && ferror(r.fp))
        err_sys(e, "cannot read %s", path);
    fclose(r.fp);
    if (e->kind == ERR_NONE && bad != 0)
        err_usage(e, "%s:%d: expected [section], key = value or a comment",
                  path, bad);
    file->open = false;
    return e->kind == ERR_NONE ? 0 : -1;
}

int conf_walk(const char *path, bool alone, conf_walk_fn *call, void *arg,
              struct path_list *files, struct err *e)
{
    struct walk w = { call, arg, alone, files, { 0 }, NULL };
    int ret;

    /* a path may be longer than the 200 bytes that libinih allows for a line;
     * newer versions of the library have a variable for the limit */
#if HAVE_DECL_INI_MAX_LINE
    ini_max_line = 8192;
#endif
    ret = walk_file(&w, path, e);
    arena_clear(&w.mem);
    return ret;
}

static int put_once(void *arg, const char *key, const char *value,
                    const char *where, struct err *e)
{
    struct conf *c = arg;
    const char *before = conf_origin(c, key);

    if (before && conf_same_file(where, before))
        return err_usage(e, "%s: %s was already set at %s", where, key, before);
    return conf_put(c, key, value, where, e);
}

int conf_read(struct conf *c, const char *path, bool alone, struct err *e)
{
    return conf_walk(path, alone, put_once, c, NULL, e);
}

/* ---- back to text ----------------------------------------------------- */

static void real_text(double x, struct buf *out)
{
    char text[NUM_TEXT];

    num_shortest(text, x);
    buf_str(out, text);
}

void conf_span_text(const struct conf_span *span, struct buf *out)
{
    static const char *const units[SPAN_UNITS] = {
        [SPAN_STEPS] = "",
        [SPAN_TOKENS] = " tokens",
        [SPAN_FRACTION] = "%",
        [SPAN_TIME] = "s",
    };

    if (span->unit == SPAN_STEPS || span->unit == SPAN_TOKENS)
        buf_printf(out, "%.0f", span->n);
    else
        real_text(span->unit == SPAN_FRACTION ? span->n * 100 : span->n, out);
    buf_str(out, units[span->unit]);
}

void conf_text(const struct conf *c, const struct setting *s, struct buf *out)
{
    const void *at = setting_at(c, s);

    switch (s->type) {
    case CONF_INT:
        buf_printf(out, "%lld", (long long)*(const int64_t *)at);
        break;
    case CONF_REAL:
    case CONF_SECS:
        real_text(*(const double *)at, out);
        buf_str(out, s->type == CONF_SECS ? "s" : "");
        break;
    case CONF_BOOL:
        buf_str(out, *(const bool *)at ? "yes" : "no");
        break;
    case CONF_TEXT:
        buf_str(out, *(const char *const *)at);
        break;
    case CONF_WORD:
        buf_str(out, s->words[*(const int *)at]);
        break;
    case CONF_SPAN:
    case CONF_EVERY:
        conf_span_text(at, out);
        break;
    case CONF_REALS: {
        const struct conf_reals *r = at;

        for (int i = 0; i < r->n; i++) {
            buf_str(out, i ? ", " : "");
            real_text(r->x[i], out);
        }
        break;
    }
    }
}

void conf_dump(const struct conf *c, struct buf *out)
{
    const char *section = "";
    size_t len = 0;

    for (const struct setting *s = c->table; s->key; s++) {
        const size_t n = strcspn(s->key, ".");
        const char *where = c->origin[index_of(c, s)];

        if (n != len || strncmp(section, s->key, n) != 0) {
            section = s->key;
            len = n;
            buf_printf(out, "%s[%.*s]\n", out->len ? "\n" : "", (int)n,
                       section);
        }
        buf_printf(out, "; %s", s->help);
        for (int i = 0; s->words && s->words[i]; i++)
            buf_printf(out, "%s%s", i ? "|" : ": ", s->words[i]);
        if (where)
            buf_printf(out, " (from %s)", where);
        buf_printf(out, "\n%s = ", s->key + n + 1);
        conf_text(c, s, out);
        buf_char(out, '\n');
    }
}
