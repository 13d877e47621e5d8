#include "config.h"
#include "track/compare_documents.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/num.h"
#include "common/path.h"
#include "common/stats/paired.h"

enum { FILE_MAX = 1 << 30 };

/* ---- the artifact ----------------------------------------------------- */

struct document {
    char *source, *training, *losses; /* in the text of the file */
};

struct documents {
    struct buf text;
    struct document *item;
    size_t n, room;
};

/* SOURCE, COUNT, MEAN, TRAINING and LOSSES, with tabs between them. */
static bool parse_line(struct documents *d, char *line)
{
    char *field[5];

    for (int i = 0; i < 5; i++) {
        field[i] = strsep(&line, "\t");
        if (!field[i])
            return false;
    }
    GROW(d->item, d->n, d->room);
    d->item[d->n++] = (struct document){ .source = field[0],
                                         .training = field[3],
                                         .losses = field[4] };
    return true;
}

static int load_documents(struct documents *d, const struct run_info *run,
                          const char *name, struct err *e)
{
    char *path = xasprintf("%s/documents/%s.tsv", run->artifacts, name);
    const int fd = path_open_inside(path, run->folder, e);
    char *at, *line;
    int ret = -1;

    d->text = (struct buf)BUF_INIT;
    if (fd >= 0)
        ret = buf_read_open(&d->text, fd, path, FILE_MAX, e);
    else if (e->kind == ERR_MISSING)
        err_set(e, ERR_MISSING,
                "%s has no losses of %s; 'gtrain eval --documents' keeps them",
                run->name, name);
    at = d->text.s;
    for (long n = 1; ret == 0 && (line = strsep(&at, "\n")) && *line; n++)
        if (!parse_line(d, line))
            ret =
                err_set(e, ERR_INPUT, "%s:%ld: expected five fields", path, n);
    free(path);
    return ret;
}

static void clear_documents(struct documents *d)
{
    buf_clear(&d->text);
    free(d->item);
}

/* ---- differences ------------------------------------------------------ */

struct change {
    const struct document *document;
    double a, b; /* mean losses */
    struct paired diff;
    double half; /* of its interval */
};

struct changes {
    struct change *item;
    size_t n;
};

/* The losses of the second run minus those of the first; false unless both have
 * the same number. */
static bool subtract_losses(struct change *c, char *x, char *y)
{
    const size_t most = strlen(x) / 2 + 1;
    double *diff = xcalloc(most, sizeof *diff);
    char *p = NULL, *q = NULL;
    bool good = true;
    size_t n = 0;

    for (;;) {
        double a, b;

        p = strsep(&x, " ");
        q = strsep(&y, " ");
        if (!p || !q)
            break;
        good &= num_real(p, &a) && num_real(q, &b);
        if (!good)
            break;
        c->a += a;
        c->b += b;
        diff[n++] = b - a;
    }
    good = good && !p && !q && n > 0;
    c->diff = paired_series(diff, n);
    c->half = paired_half(&c->diff, 0.05);
    c->a /= (double)n;
    c->b /= (double)n;
    free(diff);
    return good;
}

static int find_changes(struct changes *c, const struct documents *a,
                        const struct documents *b, struct err *e)
{
    if (a->n != b->n || a->n == 0)
        return err_set(e, ERR_INPUT,
                       "the runs were evaluated on %zu and %zu documents", a->n,
                       b->n);
    c->item = xcalloc(a->n, sizeof *c->item);
    for (; c->n < a->n; c->n++) {
        const struct document *x = &a->item[c->n], *y = &b->item[c->n];

        c->item[c->n].document = y;
        if (strcmp(x->source, y->source) != 0 ||
            !subtract_losses(&c->item[c->n], x->losses, y->losses))
            return err_set(e, ERR_INPUT,
                           "document %zu is %s in one run and %s in the "
                           "other, or has other tokens",
                           c->n + 1, x->source, y->source);
    }
    return 0;
}

static int by_difference(const void *a, const void *b)
{
    const double x = ((const struct change *)a)->diff.mean;
    const double y = ((const struct change *)b)->diff.mean;

    return (x > y) - (x < y);
}

static const char *judge(const struct change *c)
{
    if (isnan(c->half))
        return "unknown";
    if (c->diff.mean + c->half < 0)
        return "better";
    return c->diff.mean - c->half > 0 ? "worse" : "equal";
}

/* ---- output ----------------------------------------------------------- */

static void fill_table(struct table *t, const struct changes *c)
{
    table_columns(t, "document", "tokens", "first", "second", "difference",
                  "low", "high", "result", "in_training_text", NULL);
    for (size_t i = 0; i < c->n; i++) {
        const struct change *x = &c->item[i];

        table_text(t, x->document->source);
        table_int(t, (int64_t)x->diff.n);
        table_real(t, x->a);
        table_real(t, x->b);
        table_real(t, x->diff.mean);
        table_real_or_none(t, x->diff.mean - x->half);
        table_real_or_none(t, x->diff.mean + x->half);
        table_text(t, judge(x));
        table_text(t, *x->document->training ? x->document->training : NULL);
    }
}

/* The mean difference over the documents that the training text contains as a
 * whole, or over the others. */
static void show_mean(const struct changes *c, const char *name, bool training)
{
    double *diff = xcalloc(c->n, sizeof *diff), half;
    size_t n = 0, better = 0, worse = 0;
    struct paired p;
    char text[NUM_TEXT];

    for (size_t i = 0; i < c->n; i++) {
        const struct change *x = &c->item[i];

        if ((strcmp(x->document->training, "whole") == 0) != training)
            continue;
        diff[n++] = x->diff.mean;
        better += strcmp(judge(x), "better") == 0;
        worse += strcmp(judge(x), "worse") == 0;
    }
    p = paired_independent(diff, n);
    half = paired_half(&p, 0.05);
    free(diff);
    if (n == 0)
        return;
    log_info("%s%s: %s is better on %zu and worse on %zu; the mean difference "
             "is %.4f, from %.4f to %.4f",
             num_count(text, (int64_t)n, "document"),
             training ? " of the training text" : "", name, better, worse,
             p.mean, p.mean - half, p.mean + half);
}

int compare_documents(struct table *t, const struct run_info *first,
                      const struct run_info *second, const char *name,
                      struct err *e)
{
    struct documents a = { .n = 0 }, b = { .n = 0 };
    struct changes c = { NULL, 0 };
    int ret = load_documents(&a, first, name, e);

    if (ret == 0)
        ret = load_documents(&b, second, name, e);
    if (ret == 0)
        ret = find_changes(&c, &a, &b, e);
    if (ret == 0) {
        qsort(c.item, c.n, sizeof *c.item, by_difference);
        fill_table(t, &c);
        show_mean(&c, second->name, false);
        show_mean(&c, second->name, true);
    }
    free(c.item);
    clear_documents(&a);
    clear_documents(&b);
    return ret;
}
