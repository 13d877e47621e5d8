/*
 * import_csv - import points from comma-separated values
 *
 * There are three kinds of file, recognised by the first line:
 *
 *      run_id,run,experiment,metric,step,time_ms,value     by gtrack export
 *      "Step","run1 - train/loss","run1 - train/loss__MIN",...     by W&B
 *      step,loss,lr                                        by other programs
 *
 * In the last kind each column of numbers is a metric; without a column of
 * steps the rows are counted.  gtrack(1), import, says what separates fields.
 */
#include "config.h"
#include "track/import/import.h"

#include <math.h>
#include <search.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/num.h"
#include "store/format/store.h"

struct csv_row {
    char **field;
    size_t n, room;
};

static void row_clear(struct csv_row *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->field[i]);
    r->n = 0;
}

/* Blanks around a field without quotes do not belong to it. */
static void add_field(struct csv_row *r, struct buf *b, bool was_quoted)
{
    const size_t from = was_quoted ? 0 : strspn(b->s, " ");

    while (!was_quoted && b->len > from && b->s[b->len - 1] == ' ')
        buf_trim(b, b->len - 1);
    APPEND(r->field, r->n, r->room) = xstrdup(b->s + from);
    buf_trim(b, 0);
}

/* Read a record, in which quoted fields may span lines; false at the end, or if
 * it cannot be read. */
static bool read_row(FILE *fp, char separator, struct csv_row *r)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;
    bool quoted = false, was_quoted = false, any = false;
    int c;

    row_clear(r);
    while ((c = getc(fp)) != EOF) {
        if (!any && (c == '\n' || c == '\r'))
            continue;
        any = true;
        if (quoted && c == '"') {
            const int next = getc(fp);

            if (next == '"') {
                buf_char(&b, '"');
            } else {
                quoted = false;
                ungetc(next, fp);
            }
        } else if (quoted) {
            buf_char(&b, (char)c);
        } else if (c == '"') {
            quoted = was_quoted = true;
        } else if (c == separator) {
            add_field(r, &b, was_quoted);
            was_quoted = false;
        } else if (c == '\n') {
            break;
        } else if (c != '\r') {
            buf_char(&b, (char)c);
        }
    }
    any = any && !ferror(fp);
    if (any)
        add_field(r, &b, was_quoted);
    return any;
}

/* Lines before the names of the columns. */
static bool is_note(const char *line)
{
    return *line == '#' || strncasecmp(line, "sep=", 4) == 0 ||
           line[strspn(line, "\r\n")] == '\0';
}

/* Read the first line that is no note.  A byte order mark is skipped. */
static void read_names(FILE *fp, struct buf *b)
{
    static const char mark[] = "\xEF\xBB\xBF";
    bool quoted = false;
    int c;

    while ((c = getc(fp)) != EOF) {
        buf_char(b, (char)c);
        if (strcmp(b->s, mark) == 0)
            buf_trim(b, 0);
        if (c == '"' && *b->s != '#')
            quoted = !quoted;
        if (c != '\n' || quoted)
            continue;
        if (!is_note(b->s))
            return;
        buf_trim(b, 0);
    }
    if (is_note(b->s))
        buf_trim(b, 0);
}

/* Read the names of the columns, and find out what separates them: of what may,
 * the most frequent outside quotes. */
static bool read_head(FILE *fp, char *separator, struct csv_row *r)
{
    static const char may_be[] = ",;\t";
    size_t count[sizeof may_be] = { 0 }, best = 0;
    bool quoted = false, any;
    AUTO(buf_clear) struct buf b = BUF_INIT;
    FILE *line;

    read_names(fp, &b);
    for (size_t i = 0; i < b.len; i++) {
        const char *at = b.s[i] ? strchr(may_be, b.s[i]) : NULL;

        if (b.s[i] == '"')
            quoted = !quoted;
        else if (at && !quoted)
            count[at - may_be]++;
    }
    for (size_t i = 1; may_be[i]; i++)
        best = count[i] > count[best] ? i : best;
    *separator = may_be[best];
    line = b.len ? fmemopen(b.s, b.len, "r") : NULL;
    any = line && !ferror(fp) && read_row(line, *separator, r);
    if (line)
        fclose(line);
    return any;
}

static int find_column(const struct csv_row *head, const char *const *names)
{
    for (size_t i = 0; i < head->n; i++)
        for (size_t k = 0; names[k]; k++)
            if (strcasecmp(head->field[i], names[k]) == 0)
                return (int)i;
    return -1;
}

static const char *const steps[] = { "step", "_step",     "global_step",
                                     "iter", "iteration", "trainer/global_step",
                                     NULL };
static const char *const times[] = { "time_ms",   "_timestamp", "timestamp",
                                     "wall time", "wall_time",  NULL };

struct place {
    char *source;
    size_t at; /* its run */
};

struct csv {
    struct import *import;
    struct csv_row head, row;
    struct import_run *run; /* some files have several */
    size_t n, room;
    void *places; /* a tree by source */
    char separator;
    int step, time;
    int64_t mtime, count;
    size_t texts;        /* values that are no numbers */
    bool commas, points; /* numbers with decimal commas, or points */
    char *source;        /* of a file with one run */
};

/* Where commas do not separate fields, they may be decimal: "0,5". */
static bool parse_real(struct csv *c, const char *s, double *x)
{
    AUTO_FREE char *text = NULL;
    bool good;

    if (num_real(s, x)) {
        c->points = c->points || strchr(s, '.');
        return true;
    }
    if (c->separator == ',' || !strchr(s, ','))
        return false;
    text = xstrdup(s);
    *strchr(text, ',') = '.';
    good = num_real(text, x);
    c->commas = c->commas || good;
    return good;
}

/* In a file with decimal commas, "1.000" is a thousand or one. */
static int check_points(const struct csv *c, struct err *e)
{
    if (!c->commas || !c->points)
        return 0;
    return err_input(e,
                     "%s: row %lld: some numbers have decimal commas, others "
                     "have points; write all of them in one way",
                     c->import->path, (long long)c->count + 1);
}

static int check_names(struct csv *c, struct err *e)
{
    const char *first = c->head.field[0];
    double x;

    if (strncmp(first, "\xFF\xFE", 2) == 0 ||
        strncmp(first, "\xFE\xFF", 2) == 0)
        return err_input(e, "%s is UTF-16; save it as UTF-8", c->import->path);
    for (size_t i = 0; i < c->head.n; i++)
        if (!parse_real(c, c->head.field[i], &x))
            return 0;
    return err_input(e,
                     "%s: the first line has numbers; it should have the names "
                     "of the columns",
                     c->import->path);
}

/* Seconds or milliseconds since the epoch, as ms; 0 if it is neither. */
static int64_t parse_time(struct csv *c, const char *s)
{
    double x;

    if (!parse_real(c, s, &x) || !(x > 1e8) || x > 1e14)
        return 0;
    return (int64_t)(x < 1e11 ? x * 1000 : x);
}

/* The run from this source, which is freed or kept; a new one gets the name. */
static struct import_run *find_run(struct csv *c, char *source,
                                   const char *name, struct err *e)
{
    struct place *new = xcalloc(1, sizeof *new), **place;
    struct import_run *in;

    *new = (struct place){ source, c->n };
    place = tsearch(new, &c->places, str_compare);
    if (!place || *place != new) {
        FREE(new, source);
        if (!place)
            err_set(e, ERR_SYSTEM, "out of memory for %s", c->import->path);
        return place ? &c->run[(*place)->at] : NULL;
    }
    in = &APPEND(c->run, c->n, c->room);
    import_run_init(in, source);
    import_run_name(in, name);
    return in;
}

/* run_id, run, experiment, metric, step, time_ms, value */
static int add_own_row(struct csv *c, struct err *e)
{
    char **f = c->row.field;
    struct import_run *in;
    int64_t step, ms = 0;
    double x;

    if (c->row.n != 7 || !num_int(f[4], &step) || !num_real(f[6], &x))
        return err_input(e, "%s: row %lld is not a point", c->import->path,
                         (long long)c->count + 1);
    in = find_run(c, xasprintf("run %s", f[0]), f[1], e);
    if (!in)
        return -1;
    import_run_experiment(in, f[2]);
    num_int(f[5], &ms);
    import_run_point(in, f[3], step, ms, x);
    return 0;
}

/* The step in a row; programs that know only one kind of number write 10.0. */
static int parse_step(struct csv *c, int64_t *step, struct err *e)
{
    const char *s = (size_t)c->step < c->row.n ? c->row.field[c->step] : "";
    double x;

    if (!parse_real(c, s, &x) || x != floor(x) || fabs(x) > 9e15)
        return err_input(e,
                         "%s: row %lld: the step is '%s', not a whole number",
                         c->import->path, (long long)c->count + 1, s);
    *step = num_whole(x);
    return 0;
}

static int add_wide_row(struct csv *c, struct err *e)
{
    int64_t step = c->count, ms = c->mtime;

    for (size_t i = c->head.n; i < c->row.n; i++)
        if (*c->row.field[i])
            return err_input(e,
                             "%s: row %lld has %zu values, but the first line "
                             "has %zu names",
                             c->import->path, (long long)c->count + 1, c->row.n,
                             c->head.n);
    if (c->step >= 0 && parse_step(c, &step, e) < 0)
        return -1;
    if (c->time >= 0 && (size_t)c->time < c->row.n &&
        parse_time(c, c->row.field[c->time]))
        ms = parse_time(c, c->row.field[c->time]);
    for (size_t i = 0; i < c->row.n && i < c->head.n; i++) {
        const char *title = c->head.field[i];
        const char *dash = strstr(title, " - ");
        struct import_run *in;
        char *name, *source;
        double x;

        if ((int)i == c->step || (int)i == c->time ||
            str_ends(title, "__MIN") || str_ends(title, "__MAX"))
            continue;
        if (!parse_real(c, c->row.field[i], &x)) {
            c->texts += *c->row.field[i] != '\0';
            continue;
        }
        name = dash ? xstrndup(title, (size_t)(dash - title)) : NULL;
        source =
            dash ? xasprintf("%s: %s", c->source, name) : xstrdup(c->source);
        in = find_run(c, source, name, e);
        free(name);
        if (!in)
            return -1;
        import_run_point(in, dash ? dash + 3 : title, step, ms, x);
    }
    return check_points(c, e);
}

int import_csv(struct import *import, struct err *e)
{
    struct csv c = { .import = import, .mtime = import_mtime(import->path) };
    FILE *fp = fopen(import->path, "re");
    bool points;
    int ret = 0;

    if (!fp)
        return err_open(e, "cannot read %s", import->path);
    c.source = store_absolute(import->path);
    if (read_head(fp, &c.separator, &c.head))
        ret = check_names(&c, e);
    else
        ret = ferror(fp) ? err_sys(e, "cannot read %s", import->path)
                         : err_input(e, "%s is empty", import->path);
    points = c.head.n > 3 && strcasecmp(c.head.field[0], "run_id") == 0 &&
             strcasecmp(c.head.field[3], "metric") == 0;
    c.step = find_column(&c.head, steps);
    c.time = find_column(&c.head, times);
    while (ret == 0 && read_row(fp, c.separator, &c.row)) {
        ret = points ? add_own_row(&c, e) : add_wide_row(&c, e);
        c.count++;
    }
    if (ret == 0 && ferror(fp))
        ret = err_sys(e, "cannot read %s", import->path);
    if (ret == 0 && c.n == 0)
        ret = err_input(e, "%s has no column of numbers", import->path);
    while (ret == 0 && c.texts--)
        import_run_leave(&c.run[0], "text");
    tdestroy(c.places, free);
    for (size_t i = 0; i < c.n; i++)
        ret = import_run_end(&c.run[i], import, ret, e);
    FREE(c.run, c.source);
    row_clear(&c.head);
    row_clear(&c.row);
    FREE(c.head.field, c.row.field);
    fclose(fp);
    return ret;
}
