#include "config.h"
#include "data/corpus/corpus_parquet.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/output/emit.h"
#include "data/corpus/parquet/parquet.h"
#include "data/corpus/where.h"

/* Logical types, in the old numbering. */
enum { UTF8 = 0, ENUM = 4, UINT_8 = 11, UINT_64 = 14, INT_64 = 18, JSON = 19 };

struct field_column {
    struct parquet *p;
    const struct parquet_leaf *of;
    bool is_unsigned;
    bool is_document; /* the text, which is empty if it is null */
    bool is_named;    /* by the filter */
};

struct corpus_parquet {
    struct parquet_file *file;
    struct parquet *text;
    bool keep_lines;
    struct field_column *column; /* of the filter, and of the lines */
    size_t n;
    struct where_row row; /* of the filter */
    struct buf lines;
};

/* Does a column have numbers, truth values or text, rather than dates or the
 * like? */
static bool is_supported(const struct parquet_leaf *t)
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

/* Open a reader of a column. */
static int add_column(struct corpus_parquet *f, const struct parquet_leaf *t,
                      bool is_named, struct err *e)
{
    const struct parquet_column *all = parquet_column(f->text);
    struct field_column *c = &f->column[f->n];

    if (parquet_open(&c->p, f->file, t->name, e) < 0)
        return -1;
    c->of = t;
    c->is_unsigned = t->converted >= UINT_8 && t->converted <= UINT_64;
    c->is_document = t - all->all == all->leaf;
    c->is_named = is_named;
    f->n++;
    return 0;
}

/* Add each column that the filter names, or that can be written as JSON. */
static int add_columns(struct corpus_parquet *f, const char *path,
                       struct err *e)
{
    const struct parquet_column *all = parquet_column(f->text);
    const struct where *w = f->row.where;
    AUTO(buf_clear) struct buf omitted = BUF_INIT;
    int ret = 0;

    f->column = xcalloc(all->n_all, sizeof *f->column);
    for (size_t i = 0; i < all->n_all && ret == 0; i++) {
        const struct parquet_leaf *t = &all->all[i];
        const bool good = is_supported(t), named = w && where_names(w, t->name);

        if ((named && (!good || t->list)) ||
            (w && where_names_within(w, t->name)))
            ret = err_usage(e,
                            "%s: --where needs columns of texts, numbers or "
                            "truth values, and \"%s\" is none",
                            path, t->name);
        else if (named || (f->keep_lines && (good || (int)i == all->leaf)))
            ret = add_column(f, t, named, e);
        else if (f->keep_lines)
            buf_printf(&omitted, "%s%s", omitted.len > 0 ? ", " : "", t->name);
    }
    if (ret == 0 && omitted.len > 0)
        log_warn("%s: these columns are left out, because they are lists of "
                 "lists or of structures, or have neither text nor numbers: %s",
                 path, omitted.s);
    return ret;
}

/* Open the first column that there is of names separated by '|'. */
static int open_any(struct corpus_parquet *f, const char *names, struct err *e)
{
    const size_t n = strcspn(names, "|");
    AUTO_FREE char *name = xstrndup(names, n);
    const int ret = parquet_open(&f->text, f->file, name, e);

    return ret == 0 || !names[n] ? ret : open_any(f, names + n + 1, e);
}

int corpus_parquet_open(struct corpus_parquet **out, const char *path,
                        const struct http_conf *http, const char *column,
                        bool keep_lines, struct where *w, struct err *e)
{
    struct corpus_parquet *f = xcalloc(1, sizeof *f);
    int ret = parquet_file_open(&f->file, path, http, e);
    const struct parquet_column *text;

    f->keep_lines = keep_lines;
    f->lines = BUF_INIT;
    f->row.where = w;
    if (ret == 0)
        ret = column ? open_any(f, column, e)
                     : parquet_open(&f->text, f->file, NULL, e);
    text = ret == 0 && column ? parquet_column(f->text) : NULL;
    if (text && (text->all[text->leaf].type != PARQUET_BYTES ||
                 text->all[text->leaf].list))
        ret = err_input(e, "%s: the column \"%s\" does not contain strings",
                        path, text->name);
    if (ret == 0 && (keep_lines || w))
        ret = add_columns(f, path, e);
    if (ret == 0)
        *out = f;
    else
        corpus_parquet_close(f);
    return ret;
}

void corpus_parquet_close(struct corpus_parquet *f)
{
    for (size_t i = 0; i < f->n; i++)
        parquet_close(f->column[i].p);
    free(f->column);
    where_row_clear(&f->row);
    buf_clear(&f->lines);
    parquet_close(f->text);
    parquet_file_close(f->file);
    free(f);
}

static double number_of(const struct parquet_string *s)
{
    double x;
    float f;

    if (s->len != sizeof f) {
        memcpy(&x, s->text, sizeof x);
        return x;
    }
    memcpy(&f, s->text, sizeof f);
    return f;
}

static void integer_text(char text[NUM_TEXT], const struct field_column *c,
                         const struct parquet_string *s)
{
    int64_t wide = 0;
    int32_t narrow;

    memcpy(&wide, s->text, s->len);
    memcpy(&narrow, s->text, sizeof narrow);
    if (c->of->type == PARQUET_INT32)
        wide = c->is_unsigned ? (int64_t)(uint32_t)narrow : narrow;
    snprintf(text, NUM_TEXT, c->is_unsigned ? "%" PRIu64 : "%" PRId64, wide);
}

/* A value of a column as text, which may be in `text`; or its bytes, which end
 * without a NUL. */
static const char *value_text(char text[NUM_TEXT], const struct field_column *c,
                              const struct parquet_string *s)
{
    switch (c->of->type) {
    case PARQUET_BOOLEAN:
        return *s->text ? "true" : "false";
    case PARQUET_INT32:
    case PARQUET_INT64:
        integer_text(text, c, s);
        return text;
    case PARQUET_FLOAT:
    case PARQUET_DOUBLE:
        num_shortest(text, number_of(s));
        return text;
    default:
        return s->text;
    }
}

/* JSON has no numbers that are not finite. */
static bool is_finite(const struct field_column *c,
                      const struct parquet_string *s)
{
    return (c->of->type != PARQUET_FLOAT && c->of->type != PARQUET_DOUBLE) ||
           isfinite(number_of(s));
}

static void emit_value(struct emit *o, const char *name,
                       const struct field_column *c,
                       const struct parquet_string *s)
{
    char text[NUM_TEXT];

    if (!s->text)
        emit_text(o, name, c->is_document ? "" : NULL);
    else if (c->of->type == PARQUET_BYTES)
        emit_bytes(o, name, s->text, s->len);
    else if (is_finite(c, s))
        emit_raw(o, name, value_text(text, c, s));
    else
        emit_null(o, name);
}

/* Leave the objects of the column before this one, and enter its own.  Returns
 * its name in there. */
static const char *enter_objects(struct emit *o, const char *before,
                                 const char *column)
{
    const char *dot;
    size_t same = 0;

    for (size_t i = 0; column[i] && column[i] == before[i]; i++)
        same = column[i] == '.' ? i + 1 : same;
    for (before += same; (before = strchr(before, '.')); before++)
        emit_object_end(o);
    for (column += same; (dot = strchr(column, '.')); column = dot + 1) {
        AUTO_FREE char *name = xstrndup(column, (size_t)(dot - column));

        emit_object(o, name);
    }
    return column;
}

/* Go to a row, which must be there. */
static int seek_row(const struct field_column *c, int64_t row, struct err *e)
{
    const int got = parquet_seek(c->p, row, e);

    if (got < 0)
        return err_wrap(e, "column \"%s\"", c->of->name);
    return got > 0 ? 0 : parquet_damaged(e, "its columns differ in length");
}

/* Does the filter choose a row?  1, 0 or -1. */
static int is_chosen(struct corpus_parquet *f, int64_t row, struct err *e)
{
    where_row_begin(&f->row);
    for (size_t i = 0; i < f->n; i++) {
        const struct field_column *c = &f->column[i];
        const struct parquet_string *s;
        char number[NUM_TEXT];
        const char *text;

        if (!c->is_named)
            continue;
        if (seek_row(c, row, e) < 0)
            return -1;
        s = parquet_value(c->p);
        text = s->text ? value_text(number, c, s) : NULL;
        if (text)
            where_row_set(&f->row, c->of->name, text,
                          c->of->type == PARQUET_BYTES ? s->len : strlen(text));
    }
    return where_row_matches(&f->row);
}

static int add_line(struct corpus_parquet *f, int64_t row, struct err *e)
{
    struct emit o = { &f->lines };
    const char *before = "";

    emit_object(&o, NULL);
    for (size_t i = 0; i < f->n; i++) {
        const struct field_column *c = &f->column[i];
        const struct parquet_string *value;
        const char *name;

        if (seek_row(c, row, e) < 0)
            return -1;
        name = enter_objects(&o, before, c->of->name);
        before = c->of->name;
        value = parquet_value(c->p);
        if (!c->of->list) {
            emit_value(&o, name, c, value);
            continue;
        }
        emit_array(&o, name);
        for (size_t k = 0; k < parquet_elements(c->p); k++)
            emit_value(&o, NULL, c, &value[k]);
        emit_array_end(&o);
    }
    enter_objects(&o, before, "");
    emit_object_end(&o);
    return 0;
}

int corpus_parquet_lines(struct buf *out, const char *path, struct err *e)
{
    struct corpus_parquet *f;
    int got;

    if (corpus_parquet_open(&f, path, NULL, NULL, true, NULL, e) < 0)
        return -1;
    got = f->n > 0;
    for (int64_t row = 0; got > 0; row++) {
        got = parquet_seek(f->column[0].p, row, e);
        if (got > 0 && add_line(f, row, e) < 0)
            got = -1;
        if (got > 0)
            buf_char(&f->lines, '\n');
    }
    if (got < 0)
        err_wrap(e, "%s", path);
    buf_add(out, f->lines.s, f->lines.len);
    corpus_parquet_close(f);
    return got;
}

/* Remove the documents of a block that the filter does not choose, and add the
 * lines of the others. */
static int choose_docs(struct corpus_parquet *f, struct corpus_block *b,
                       struct err *e)
{
    const size_t all = b->n;
    size_t at = 0;

    b->n = 0;
    buf_trim(&f->lines, 0);
    for (size_t i = 0; i < all; i++) {
        const int64_t row = b->doc[i].line - 1;
        const int chosen = is_chosen(f, row, e);

        at = f->lines.len;
        if (chosen < 0 || (chosen && f->keep_lines && add_line(f, row, e) < 0))
            return -1;
        b->doc[i].whole_len = f->lines.len - at;
        if (chosen)
            b->doc[b->n++] = b->doc[i];
    }
    if (b->n == 0)
        b->size = 0; /* there are no lines to look for */
    b->left_out = (int64_t)(all - b->n);
    if (!f->keep_lines)
        return 0;
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

int corpus_parquet_next(struct corpus_parquet *f, int64_t row,
                        struct corpus_block *b, struct err *e)
{
    const int got = parquet_seek(f->text, row, e);
    const struct parquet_string *value;
    size_t n = 0, bytes = 0;
    char *to;

    if (got <= 0)
        return got;
    value = parquet_value(f->text);
    while (n < parquet_left(f->text) &&
           (n == 0 || bytes + value[n].len <= CORPUS_BLOCK))
        bytes += value[n++].len;
    if (!b->data || bytes > b->data_room) {
        free(b->data);
        b->data = xmalloc(bytes);
        b->data_room = bytes;
    }
    to = b->data;
    for (size_t i = 0; i < n; i++) {
        if (value[i].len)
            memcpy(to, value[i].text, value[i].len);
        APPEND(b->doc, b->n, b->room) =
            (struct corpus_doc){ .text = to,
                                 .len = value[i].len,
                                 .line = row + (int64_t)i + 1,
                                 .begins = true,
                                 .ends = true };
        to += value[i].len;
    }
    b->size = bytes;
    return f->column && choose_docs(f, b, e) < 0 ? -1 : 1;
}
