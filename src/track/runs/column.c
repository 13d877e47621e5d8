#include "config.h"
#include "track/runs/column.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/num.h"
#include "track/runs/track.h"

enum attribute {
    NAME,
    ID,
    EXPERIMENT,
    EXPERIMENT_ID,
    STATUS,
    STARTED,
    ENDED,
    TIME,
    STEPS,
    USER,
    ATTEMPTS,
    PARENT,
    DELETED,
    DAMAGE,
    FOLDER,
};

const char *const column_attributes[] = {
    [NAME] = "name",
    [ID] = "id",
    [EXPERIMENT] = "experiment",
    [EXPERIMENT_ID] = "experiment_id",
    [STATUS] = "status",
    [STARTED] = "started",
    [ENDED] = "ended",
    [TIME] = "time",
    [STEPS] = "steps",
    [USER] = "user",
    [ATTEMPTS] = "attempts",
    [PARENT] = "parent",
    [DELETED] = "deleted",
    [DAMAGE] = "damage",
    [FOLDER] = "folder",
    [FOLDER + 1] = NULL,
};

/* What MLflow and others call the same. */
static const struct {
    const char *alias;
    enum attribute is;
} aliases[] = {
    { "run_name", NAME },   { "run_id", ID },      { "start_time", STARTED },
    { "created", STARTED }, { "end_time", ENDED }, { "duration", TIME },
    { "user_id", USER },    { "state", STATUS },
};

enum function { LAST, MIN, MAX, MEAN, FIRST, COUNT, ARGMIN, ARGMAX, AT };

static const char *const functions[] = {
    [LAST] = "last",     [MIN] = "min",       [MAX] = "max",
    [MEAN] = "mean",     [FIRST] = "first",   [COUNT] = "count",
    [ARGMIN] = "argmin", [ARGMAX] = "argmax", [AT] = "at",
};

enum { N_FUNCTIONS = sizeof functions / sizeof functions[0], SORT_MOST = 64 };

static int find_attribute(const char *name)
{
    for (int i = 0; column_attributes[i]; i++)
        if (strcmp(name, column_attributes[i]) == 0)
            return i;
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if (strcmp(name, aliases[i].alias) == 0)
            return (int)aliases[i].is;
    return -1;
}

static struct column *add(struct columns *c, enum column_kind kind, int which,
                          const char *key, const char *title)
{
    struct column *out;

    GROW(c->item, c->n, c->room);
    out = &c->item[c->n++];
    *out = (struct column){ .kind = kind, .which = which };
    out->key = xstrdup(key);
    out->title = xstrdup(title);
    return out;
}

static bool has_title(const struct columns *c, const char *title)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->item[i].title, title) == 0)
            return true;
    return false;
}

void columns_add(struct columns *c, enum column_kind kind, const char *key)
{
    if (!has_title(c, key))
        add(c, kind, LAST, key, key);
}

void columns_attribute(struct columns *c, const char *name)
{
    if (!has_title(c, name))
        add(c, COLUMN_ATTRIBUTE, find_attribute(name), name, name);
}

void columns_clear(struct columns *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->item[i].key);
        free(c->item[i].title);
    }
    free(c->item);
    *c = (struct columns)COLUMNS_INIT;
}

static bool in_run(enum column_kind kind, const struct run_info *r,
                   const char *key)
{
    switch (kind) {
    case COLUMN_PARAM:
        return run_info_param(r, key) != NULL;
    case COLUMN_METRIC:
        return run_info_metric(r, key) != NULL;
    case COLUMN_TAG:
        return run_info_tag(r, key) != NULL;
    default:
        return false;
    }
}

static bool in_any(enum column_kind kind, const struct runs *runs,
                   const char *key)
{
    for (size_t i = 0; i < runs->n; i++)
        if (in_run(kind, &runs->run[i], key))
            return true;
    return false;
}

/* Does full end in ".short" or "/short"? */
static bool ends_in(const char *full, const char *part)
{
    const size_t n = strlen(full), m = strlen(part);

    return n > m && strcmp(full + n - m, part) == 0 &&
           (full[n - m - 1] == '.' || full[n - m - 1] == '/');
}

static bool same_or_none(const char **found, const char *key)
{
    if (*found && strcmp(*found, key) != 0)
        return false;
    *found = key;
    return true;
}

/*
 * The one parameter or metric whose key ends in WORD.  Parameters first: they
 * are what an abbreviation is typed for.
 */
static const char *abbreviated(const struct runs *runs, const char *word,
                               enum column_kind *kind)
{
    const char *param = NULL, *metric = NULL;

    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];

        for (size_t j = 0; j < r->n_params; j++)
            if (ends_in(r->params[j].key, word) &&
                !same_or_none(&param, r->params[j].key))
                return NULL;
        for (size_t j = 0; j < r->n_metrics; j++)
            if (ends_in(r->metrics[j].key, word) &&
                !same_or_none(&metric, r->metrics[j].key))
                metric = "";
    }
    *kind = param ? COLUMN_PARAM : COLUMN_METRIC;
    return param ? param : metric && *metric ? metric : NULL;
}

/* A key without its quotes, if it has any; the caller frees it. */
static char *unquoted(const char *s, size_t n)
{
    while (n && s[0] == ' ')
        s++, n--;
    while (n && s[n - 1] == ' ')
        n--;
    if (n > 1 && strchr("`\"'", s[0]) && s[n - 1] == s[0])
        return xstrndup(s + 1, n - 2);
    return xstrndup(s, n);
}

static const char *without(const char *s, const char *prefix)
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
    static const enum column_kind order[] = { COLUMN_PARAM, COLUMN_METRIC,
                                              COLUMN_TAG };
    char *text = unquoted(word, n);
    const char *full;

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        const char *rest = without(text, prefixes[i].prefix);

        if (rest && *rest && !in_any(COLUMN_PARAM, runs, text) &&
            !in_any(COLUMN_METRIC, runs, text)) {
            *kind = prefixes[i].kind;
            *key = unquoted(rest, strlen(rest));
            free(text);
            return 0;
        }
    }
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        if (in_any(order[i], runs, text)) {
            *kind = order[i];
            *key = text;
            return 0;
        }
    }
    full = abbreviated(runs, text, kind);
    if (!full && runs->n) {
        err_set(e, ERR_USAGE,
                "no run has a parameter, metric or tag '%s', "
                "and it is no attribute",
                text);
        free(text);
        return -1;
    }
    *kind = full ? *kind : COLUMN_METRIC;
    *key = full ? xstrdup(full) : xstrdup(text);
    free(text);
    return 0;
}

/* min(val/loss), at(val/loss, 5000): which is it, and of what? */
static int find_function(const char *word, size_t n, const char **inner,
                         size_t *inner_len)
{
    for (int f = 0; f < N_FUNCTIONS; f++) {
        const size_t len = strlen(functions[f]);

        if (n > len + 1 && strncmp(word, functions[f], len) == 0 &&
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
        return err_set(e, ERR_USAGE, "at(%.*s) wants a step: at(METRIC, STEP)",
                       (int)*n, inner);
    text = unquoted(comma + 1, *n - (size_t)(comma - inner) - 1);
    number = text + (strncmp(text, "step=", 5) == 0 ? 5 : 0);
    good = num_int(number, step);
    if (!good)
        err_set(e, ERR_USAGE, "at(): '%s' is not a step", text);
    free(text);
    *n = (size_t)(comma - inner);
    return good ? 0 : -1;
}

static int parse_one(struct columns *c, const char *word, size_t n,
                     const struct runs *runs, struct err *e)
{
    const char *inner = word;
    size_t inner_len = n;
    const int function = find_function(word, n, &inner, &inner_len);
    char *title = unquoted(word, n), *key;
    int64_t step = 0;
    enum column_kind kind;
    const char *rest = without(title, "attributes.");
    const int attribute = find_attribute(rest ? rest : title);
    struct column *out;

    if (function < 0 && attribute >= 0) {
        add(c, COLUMN_ATTRIBUTE, attribute, title, title);
        free(title);
        return 0;
    }
    if ((function == AT && parse_at(inner, &inner_len, &step, e) < 0) ||
        parse_key(inner, inner_len, runs, &kind, &key, e) < 0) {
        free(title);
        return -1;
    }
    if (function >= 0)
        kind = COLUMN_METRIC;
    out = add(c, kind, function < 0 ? LAST : function, key,
              function < 0 ? key : title);
    out->step = step;
    free(key);
    free(title);
    return 0;
}

int columns_parse(struct columns *c, const char *text, const struct runs *runs,
                  struct err *e)
{
    const char *from = text;
    int depth = 0;
    char quote = '\0';

    for (const char *p = text;; p++) {
        if (quote ? *p == quote : *p && strchr("`\"'", *p))
            quote = quote ? '\0' : *p;
        else if (!quote)
            depth += (*p == '(') - (*p == ')');
        if (*p != '\0' && (*p != ',' || depth > 0 || quote))
            continue;
        while (*from == ' ')
            from++;
        if (from == p)
            return err_set(e, ERR_USAGE, "an empty column in '%s'", text);
        if (parse_one(c, from, (size_t)(p - from), runs, e) < 0)
            return -1;
        from = p + 1;
        if (*p == '\0')
            return 0;
    }
}

/* The first value, or the last one at or before a step. */
static bool value_at(const struct run_info *r, const char *key, bool first,
                     int64_t step, double *out)
{
    struct series s = SERIES_INIT;
    struct err e = ERR_INIT;
    bool found = false;

    if (series_load(&s, r, key, 0, &e) < 0)
        return false;
    for (size_t i = 0; i < s.n && (first ? !found : s.step[i] <= step); i++) {
        *out = s.value[i];
        found = true;
    }
    series_free(&s);
    return found;
}

static struct table_cell metric_cell(const struct column *c,
                                     const struct run_info *r)
{
    const struct metric_sum *m = run_info_metric(r, c->key);
    struct table_cell cell = { .type = TABLE_REAL };

    if (!m)
        return (struct table_cell){ .type = TABLE_NONE };
    switch ((enum function)c->which) {
    case LAST:
        cell.x = m->last;
        break;
    case MIN:
        cell.x = m->min;
        break;
    case MAX:
        cell.x = m->max;
        break;
    case MEAN:
        cell.x = m->mean;
        break;
    case FIRST:
    case AT:
        if (!value_at(r, c->key, c->which == FIRST, c->step, &cell.x))
            cell.type = TABLE_NONE;
        break;
    case COUNT:
        cell.type = TABLE_INT;
        cell.i = m->count;
        break;
    case ARGMIN:
    case ARGMAX:
        cell.type = TABLE_INT;
        cell.i = c->which == ARGMIN ? m->min_step : m->max_step;
        break;
    }
    return cell;
}

static struct table_cell text_cell(const char *s)
{
    return (struct table_cell){ .type = s ? TABLE_TEXT : TABLE_NONE,
                                .text = s };
}

static struct table_cell time_cell(int64_t ms)
{
    return (struct table_cell){ .type = ms ? TABLE_TIME : TABLE_NONE, .i = ms };
}

static struct table_cell attribute_cell(int which, const struct run_info *r)
{
    struct table_cell cell = { .type = TABLE_INT };

    switch ((enum attribute)which) {
    case NAME:
        return text_cell(r->name);
    case ID:
        return text_cell(r->id);
    case EXPERIMENT:
        return text_cell(r->experiment);
    case EXPERIMENT_ID:
        return text_cell(r->experiment_id);
    case USER:
        return text_cell(r->user);
    case PARENT:
        return text_cell(r->parent);
    case FOLDER:
        return text_cell(r->folder);
    case STATUS:
        cell = text_cell(run_status_word(r->status));
        cell.mark = track_status_mark(r->status);
        return cell;
    case DAMAGE:
        cell = text_cell(r->damage);
        cell.mark = MARK_BAD;
        return cell;
    case STARTED:
        return time_cell(r->start_ms);
    case ENDED:
        return time_cell(r->end_ms);
    case TIME:
        cell.type = r->start_ms ? TABLE_SECS : TABLE_NONE;
        cell.x = track_seconds(r);
        return cell;
    case STEPS:
        cell.i = track_last_step(r);
        cell.type = cell.i < 0 ? TABLE_NONE : TABLE_INT;
        return cell;
    case ATTEMPTS:
        cell.i = r->attempts;
        return cell;
    case DELETED:
        return text_cell(r->deleted ? "deleted" : NULL);
    }
    return cell;
}

struct table_cell column_cell(const struct column *c, const struct run_info *r)
{
    switch (c->kind) {
    case COLUMN_ATTRIBUTE:
        return attribute_cell(c->which, r);
    case COLUMN_METRIC:
        return metric_cell(c, r);
    case COLUMN_PARAM:
        return text_cell(run_info_param(r, c->key));
    case COLUMN_TAG:
        return text_cell(run_info_tag(r, c->key));
    }
    return text_cell(NULL);
}

int column_direction(const struct column *c)
{
    if (c->kind != COLUMN_METRIC || c->which == COUNT || c->which == ARGMIN ||
        c->which == ARGMAX)
        return 0;
    return track_direction(c->key);
}

struct row {
    struct run_info run;
    struct table_cell *cell; /* of each column that is sorted by */
};

struct order {
    size_t n;
    const bool *down;
};

static double cell_number(const struct table_cell *c)
{
    double x = (double)NAN;

    switch (c->type) {
    case TABLE_INT:
    case TABLE_TIME:
        return (double)c->i;
    case TABLE_REAL:
    case TABLE_SECS:
        return c->x;
    case TABLE_TEXT:
        num_real(c->text, &x);
        return x;
    default:
        return x;
    }
}

double column_number(const struct column *c, const struct run_info *r)
{
    const struct table_cell cell = column_cell(c, r);

    return cell_number(&cell);
}

/* Numbers, then other texts; NaN and what is missing end either direction. */
static int by_cell(const struct table_cell *a, const struct table_cell *b,
                   bool down)
{
    enum { NUMBER, TEXT, NOT_A_NUMBER, MISSING };
    const struct table_cell *cell[] = { a, b };
    double x[2];
    int kind[2], cmp;

    for (int i = 0; i < 2; i++) {
        x[i] = cell_number(cell[i]);
        kind[i] = cell[i]->type == TABLE_NONE   ? MISSING
                  : !isnan(x[i])                ? NUMBER
                  : cell[i]->type == TABLE_TEXT ? TEXT
                                                : NOT_A_NUMBER;
    }
    if (kind[0] != kind[1])
        cmp = kind[0] - kind[1];
    else if (kind[0] == TEXT)
        cmp = strcmp(a->text, b->text);
    else
        cmp = kind[0] == NUMBER ? (x[0] > x[1]) - (x[0] < x[1]) : 0;
    return down && kind[0] <= TEXT && kind[1] <= TEXT ? -cmp : cmp;
}

static int by_order(const void *a, const void *b, void *arg)
{
    const struct order *o = arg;
    const struct row *x = a, *y = b;

    for (size_t i = 0; i < o->n; i++) {
        const int cmp = by_cell(&x->cell[i], &y->cell[i], o->down[i]);

        if (cmp)
            return cmp;
    }
    return (x->cell > y->cell) - (x->cell < y->cell); /* as they stood */
}

static void sort_rows(struct runs *runs, const struct columns *c,
                      const bool *down)
{
    struct row *row = xcalloc(runs->n, sizeof *row);
    struct table_cell *cell = xcalloc(runs->n * c->n, sizeof *cell);
    struct order o = { c->n, down };

    for (size_t i = 0; i < runs->n; i++) {
        row[i].run = runs->run[i];
        row[i].cell = cell + i * c->n;
        for (size_t j = 0; j < c->n; j++)
            row[i].cell[j] = column_cell(&c->item[j], &runs->run[i]);
    }
    qsort_r(row, runs->n, sizeof *row, by_order, &o);
    for (size_t i = 0; i < runs->n; i++)
        runs->run[i] = row[i].run;
    free(cell);
    free(row);
}

/* Take the "-" off; down[i] says where one was. */
static int parse_sort(struct columns *c, bool down[SORT_MOST], const char *text,
                      const struct runs *runs, struct err *e)
{
    struct buf plain = BUF_INIT;
    size_t n = 0;
    int ret;

    for (const char *p = text; *p; p++) {
        const bool begins = p == text || p[-1] == ',';

        if (begins && *p == '-' && n < SORT_MOST)
            down[n] = true;
        else
            buf_char(&plain, *p);
        n += *p == ',';
    }
    ret = n < SORT_MOST
              ? columns_parse(c, plain.s, runs, e)
              : err_set(e, ERR_USAGE, "--sort: at most %d columns", SORT_MOST);
    buf_clear(&plain);
    return ret;
}

int columns_sort(struct runs *runs, const char *text, struct err *e)
{
    struct columns c = COLUMNS_INIT;
    bool down[SORT_MOST] = { false };
    const int ret = parse_sort(&c, down, text, runs, e);

    if (ret == 0)
        sort_rows(runs, &c, down);
    columns_clear(&c);
    return ret;
}

void columns_sorted(struct columns *c, const char *text,
                    const struct runs *runs)
{
    bool down[SORT_MOST] = { false };
    struct err none = ERR_INIT; /* columns_sort() has told */

    if (text)
        parse_sort(c, down, text, runs, &none);
}
