/*
 * column_parse - read columns from text, and sort runs by them
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "common/num.h"
#include "store/query/run_value.h"
#include "track/runs/column.h"

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
    AUTO_FREE char *text = unquote_key(word, n);
    const char *full;
    enum key_kind found;

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        const char *rest = skip_prefix(text, prefixes[i].prefix);

        if (rest && *rest && !find_key_exists(runs, PARAM, text) &&
            !find_key_exists(runs, METRIC, text)) {
            *kind = prefixes[i].kind;
            *key = unquote_key(rest, strlen(rest));
            return 0;
        }
    }
    found = find_key(runs, text, &full);
    if (found == KINDS && runs->n) {
        find_key_fail(runs->run, runs->n, KINDS, text, run_value_attributes, e);
        e->kind = ERR_USAGE;
        return -1;
    }
    *kind = found == KINDS ? COLUMN_METRIC : kinds[found];
    *key = xstrdup(found == KINDS ? text : full);
    return 0;
}

/* The function in min(val/loss) or at(val/loss, 5000), and what is inside the
 * parentheses; -1 for none. */
static int find_function(const char *word, size_t n, const char **inner,
                         size_t *inner_len)
{
    for (int f = 0; run_value_functions[f]; f++) {
        const size_t len = strlen(run_value_functions[f]);

        if (n > len + 1 && strncmp(word, run_value_functions[f], len) == 0 &&
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
        return err_usage(e, "at(%.*s) has no step; write at(METRIC, STEP)",
                         (int)*n, inner);
    text = unquote_key(comma + 1, *n - (size_t)(comma - inner) - 1);
    number = text + (strncmp(text, "step=", 5) == 0 ? 5 : 0);
    good = num_int(number, step);
    if (!good)
        err_usage(e, "at() expects a step, not '%s'", text);
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
    AUTO_FREE char *title = unquote_key(word, n), *key = NULL;
    const char *rest = skip_prefix(title, "attributes.");
    const int attribute = run_value_find(rest ? rest : title, false);
    enum column_kind kind;
    struct column *out;
    int64_t step = 0;

    if (function < 0 && attribute >= 0) {
        columns_append(c, title, title)->attribute = attribute;
        return 0;
    }
    if ((function == FUNCTION_AT &&
         parse_at(inner, &inner_len, &step, e) < 0) ||
        parse_key(inner, inner_len, runs, &kind, &key, e) < 0)
        return -1;
    out = columns_append(c, key, function < 0 ? key : title);
    out->kind = function < 0 ? kind : COLUMN_METRIC;
    out->function = function >= 0           ? (enum run_function)function
                    : kind == COLUMN_METRIC ? column_usual_function(key)
                                            : FUNCTION_LAST;
    out->step = step;
    return 0;
}

/* Where a column in a list ends: at a comma that is not in parentheses or in
 * quotes, or at the end. */
static const char *columns_end(const char *text)
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
            return err_usage(e, "'%s' has an empty column", text);
        if (parse_column(c, from, (size_t)(end - from), runs, e) < 0)
            return -1;
        if (*end == '\0')
            return 0;
        from = end + 1;
    }
}

/* ---- sorting ----------------------------------------------------------- */

enum { MAX_COLUMNS = 64 };

struct sort_row {
    struct run_info run;
    struct table_cell *cell; /* of each column that is sorted by */
};

struct sort_order {
    size_t n;
    const bool *down;
};

/* Numbers come before other texts; NaN and missing values come last in either
 * order. */
static int compare_cells(const struct table_cell *a, const struct table_cell *b,
                         bool down)
{
    enum { NUMBER, TEXT, NOT_A_NUMBER, MISSING };
    const struct table_cell *cell[] = { a, b };
    double x[2];
    int kind[2], cmp;

    for (int i = 0; i < 2; i++) {
        x[i] = column_cell_number(cell[i]);
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
    const struct sort_order *o = arg;
    const struct sort_row *x = a, *y = b;

    for (size_t i = 0; i < o->n; i++) {
        const int cmp = compare_cells(&x->cell[i], &y->cell[i], o->down[i]);

        if (cmp)
            return cmp;
    }
    return (x->cell > y->cell) - (x->cell < y->cell); /* keep their order */
}

/* Let the numbers of each run, n cells, be the means of its group. */
static void average_groups(struct table_cell *cell, size_t n,
                           const struct runs *runs, const struct columns *by)
{
    AUTO_FREE struct table_cell *key = xcalloc(runs->n * by->n, sizeof *key);
    AUTO_FREE size_t *group = xcalloc(runs->n, sizeof *group);
    AUTO_FREE double *sum = xcalloc(runs->n, sizeof *sum);
    AUTO_FREE double *count = xcalloc(runs->n, sizeof *count);

    for (size_t i = 0; i < runs->n * by->n; i++)
        key[i] = column_cell(&by->item[i % by->n], &runs->run[i / by->n]);
    column_group_cells(key, runs->n, by->n, group);
    for (size_t j = 0; j < n; j++) {
        memset(sum, 0, runs->n * sizeof *sum);
        memset(count, 0, runs->n * sizeof *count);
        for (size_t i = 0; i < runs->n; i++) {
            const double x = column_cell_number(&cell[i * n + j]);

            sum[group[i]] += isfinite(x) ? x : 0;
            count[group[i]] += isfinite(x) != 0;
        }
        for (size_t i = 0; i < runs->n; i++)
            if (count[group[i]] > 0)
                cell[i * n + j] =
                    (struct table_cell){ .type = TABLE_REAL,
                                         .x = sum[group[i]] / count[group[i]] };
    }
}

static void sort_rows(struct runs *runs, const struct columns *c,
                      const bool *down, const struct columns *by)
{
    AUTO_FREE struct sort_row *row = xcalloc(runs->n, sizeof *row);
    AUTO_FREE struct table_cell *cell = xcalloc(runs->n * c->n, sizeof *cell);
    struct sort_order o = { c->n, down };

    for (size_t i = 0; i < runs->n; i++) {
        row[i].run = runs->run[i];
        row[i].cell = cell + i * c->n;
        for (size_t j = 0; j < c->n; j++)
            row[i].cell[j] = column_cell(&c->item[j], &runs->run[i]);
    }
    if (by->n && runs->n)
        average_groups(cell, c->n, runs, by);
    qsort_r(row, runs->n, sizeof *row, by_order, &o);
    for (size_t i = 0; i < runs->n; i++)
        runs->run[i] = row[i].run;
}

/* Cut " DESC" or " ASC" off, which MLflow has after a column. */
static bool cut_word(char *text, const char *word)
{
    const size_t n = strlen(text), m = strlen(word);

    if (n <= m || strcasecmp(text + n - m, word) != 0)
        return false;
    text[n - m] = '\0';
    return true;
}

/* Parse a list; down[i] says which columns have a "-" or a DESC. */
static int parse_sort(struct columns *c, bool down[MAX_COLUMNS],
                      const char *text, const struct runs *runs, struct err *e)
{
    for (const char *from = text; from;) {
        const char *end = columns_end(from);
        AUTO_FREE char *one = NULL;
        bool minus;

        from += strspn(from, " ");
        one = xstrndup(from, (size_t)(end - from));
        if (c->n == MAX_COLUMNS)
            return err_usage(e, "--sort accepts at most %d columns",
                             MAX_COLUMNS);
        minus = *one == '-';
        down[c->n] = cut_word(one, " desc") || minus;
        cut_word(one, " asc");
        if (columns_parse(c, one + minus, runs, e) < 0)
            return -1;
        from = *end ? end + 1 : NULL;
    }
    return 0;
}

int columns_sort(struct runs *runs, const char *text, const char *by,
                 struct err *e)
{
    AUTO(columns_clear) struct columns c = { 0 }, keys = { 0 };
    bool down[MAX_COLUMNS] = { false };

    if (parse_sort(&c, down, text, runs, e) < 0 ||
        (by && columns_parse(&keys, by, runs, e) < 0))
        return -1;
    sort_rows(runs, &c, down, &keys);
    return 0;
}

void columns_add_sorted(struct columns *c, const char *text,
                        const struct runs *runs)
{
    bool down[MAX_COLUMNS] = { false };

    if (text)
        parse_sort(c, down, text, runs, ERR_IGNORED);
}
