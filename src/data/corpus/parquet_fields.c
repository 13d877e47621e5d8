/*
 * parquet_fields - the rows of a Parquet file as lines of JSON
 */
#include "config.h"
#include "data/corpus/parquet_impl.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "data/corpus/jsonl.h"

/* Logical types, in the old numbering. */
enum { UTF8 = 0, ENUM = 4, UINT_8 = 11, UINT_64 = 14, INT_64 = 18, JSON = 19 };

struct field_column {
    char *name; /* as the name of a member of JSON */
    struct parquet *p;
    int64_t type;
    bool is_unsigned;
    bool is_document; /* the text, which is empty if it is null */
};

struct parquet_fields {
    struct field_column *column;
    size_t n;
    struct buf lines;
};

/* Is it a number, a truth value or text, and not a date or the like? */
static bool is_supported(const struct parquet_top *t)
{
    const bool is_integer = (t->converted < 0 && t->logical < 0) ||
                            t->logical == 10 ||
                            (t->converted >= UINT_8 && t->converted <= INT_64);

    if (t->nested)
        return false;
    switch (t->type) {
    case PARQUET_BYTES:
        return t->converted == UTF8 || t->converted == ENUM ||
               t->converted == JSON || t->logical == 1;
    case PARQUET_INT32:
    case PARQUET_INT64:
        return is_integer;
    case PARQUET_BOOLEAN:
    case PARQUET_FLOAT:
    case PARQUET_DOUBLE:
        return true;
    default:
        return false;
    }
}

static int add_column(struct parquet_fields *f, const struct parquet_top *t,
                      const char *path, struct err *e)
{
    struct field_column *c = &f->column[f->n];
    struct buf name = BUF_INIT;

    if (parquet_open_column(&c->p, path, t->name, e) < 0)
        return -1;
    jsonl_escape(&name, t->name, strlen(t->name));
    c->name = buf_detach(&name);
    c->type = t->type;
    c->is_unsigned = t->converted >= UINT_8 && t->converted <= UINT_64;
    f->n++;
    return 0;
}

int parquet_fields_open(struct parquet_fields **out, const char *path,
                        const char *column, struct err *e)
{
    struct parquet_fields *f = xcalloc(1, sizeof *f);
    struct parquet *p = NULL;
    const struct parquet_column *all;
    struct buf omitted = BUF_INIT;
    int ret = parquet_open_column(&p, path, column, e);

    f->lines = (struct buf)BUF_INIT;
    all = ret == 0 ? parquet_column(p) : NULL;
    f->column = xcalloc(all ? all->n_top : 1, sizeof *f->column);
    for (size_t i = 0; all && i < all->n_top && ret == 0; i++) {
        const struct parquet_top *t = &all->top[i];

        const bool is_document = strcmp(t->name, column) == 0;

        if (is_supported(t) || is_document)
            ret = add_column(f, t, path, e);
        else
            buf_printf(&omitted, "%s%s", omitted.len > 0 ? ", " : "", t->name);
        if (ret == 0 && is_document)
            f->column[f->n - 1].is_document = true;
    }
    if (ret == 0 && omitted.len > 0)
        log_warn("%s: these columns are left out, because they are nested or "
                 "have neither text nor numbers: %s",
                 path, omitted.s);
    buf_clear(&omitted);
    if (p)
        parquet_close(p);
    if (ret < 0)
        parquet_fields_close(f);
    else
        *out = f;
    return ret;
}

void parquet_fields_close(struct parquet_fields *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->n; i++) {
        parquet_close(f->column[i].p);
        free(f->column[i].name);
    }
    free(f->column);
    buf_clear(&f->lines);
    free(f);
}

static void add_integer(struct buf *b, const struct field_column *c,
                        const struct parquet_string *s)
{
    int64_t wide = 0;
    int32_t narrow;

    memcpy(&wide, s->text, s->len);
    memcpy(&narrow, s->text, sizeof narrow);
    if (c->type == PARQUET_INT32)
        wide = c->is_unsigned ? (int64_t)(uint32_t)narrow : narrow;
    if (c->is_unsigned)
        buf_printf(b, "%" PRIu64, (uint64_t)wide);
    else
        buf_printf(b, "%" PRId64, wide);
}

/* JSON has no numbers that are not finite. */
static void add_real(struct buf *b, const struct parquet_string *s)
{
    char text[NUM_TEXT];
    double x;
    float f;

    if (s->len == sizeof f) {
        memcpy(&f, s->text, sizeof f);
        x = f;
    } else {
        memcpy(&x, s->text, sizeof x);
    }
    num_shortest(text, x);
    buf_str(b, isfinite(x) ? text : "null");
}

static void add_value(struct buf *b, const struct field_column *c,
                      const struct parquet_string *s)
{
    if (!s->text) {
        buf_str(b, c->is_document ? "\"\"" : "null");
        return;
    }
    switch (c->type) {
    case PARQUET_BOOLEAN:
        buf_str(b, *s->text ? "true" : "false");
        return;
    case PARQUET_INT32:
    case PARQUET_INT64:
        add_integer(b, c, s);
        return;
    case PARQUET_FLOAT:
    case PARQUET_DOUBLE:
        add_real(b, s);
        return;
    default:
        buf_char(b, '"');
        jsonl_escape(b, s->text, s->len);
        buf_char(b, '"');
    }
}

static int add_line(struct parquet_fields *f, int64_t row, struct err *e)
{
    struct buf *const b = &f->lines;

    buf_char(b, '{');
    for (size_t i = 0; i < f->n; i++) {
        const struct field_column *c = &f->column[i];
        const int got = parquet_seek(c->p, row, e);

        if (got < 0)
            return err_wrap(e, "column \"%s\"", c->name);
        if (got == 0)
            return parquet_damaged(e, "its columns differ in length");
        buf_printf(b, "%s\"%s\":", i > 0 ? "," : "", c->name);
        add_value(b, c, parquet_value(c->p));
    }
    buf_char(b, '}');
    return 0;
}

int parquet_fields_add(struct parquet_fields *f, struct corpus_block *b,
                       struct err *e)
{
    size_t at = 0;

    buf_trim(&f->lines, 0);
    for (size_t i = 0; i < b->n; i++) {
        at = f->lines.len;
        if (add_line(f, b->doc[i].line - 1, e) < 0)
            return -1;
        b->doc[i].whole_len = f->lines.len - at;
    }
    if (b->lines_room < f->lines.len) {
        b->lines_room = f->lines.len;
        b->lines = xrealloc(b->lines, b->lines_room, 1);
    }
    memcpy(b->lines, f->lines.s, f->lines.len);
    at = 0;
    for (size_t i = 0; i < b->n; i++) {
        b->doc[i].whole = b->lines + at;
        at += b->doc[i].whole_len;
    }
    return 0;
}
