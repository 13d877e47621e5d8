/*
 * table_data - tables for programs: TSV, CSV and JSON
 */
#include "config.h"
#include "common/output/table.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/num.h"
#include "common/output/emit.h"
#include "common/output/table_impl.h"

/* For programs a spread has four columns. */
static const char *const spread_part[] = { "", " std", " n", " ci95" };

/* ---- tab- and comma-separated ---- */

void table_tsv_text(struct buf *b, const char *s)
{
    static const char special[] = "\t\n\r\\", letter[] = "tnr\\";

    for (;;) {
        const size_t n = strcspn(s, special);

        buf_add(b, s, n);
        s += n;
        if (!*s)
            return;
        buf_char(b, '\\');
        buf_char(b, letter[strchr(special, *s++) - special]);
    }
}

void table_csv_text(struct buf *b, const char *s)
{
    if (!strpbrk(s, ",\"\r\n") && *s != ' ') {
        buf_str(b, s);
        return;
    }
    buf_char(b, '"');
    for (; *s; s++) {
        if (*s == '"')
            buf_char(b, '"');
        buf_char(b, *s);
    }
    buf_char(b, '"');
}

void table_csv_safe(struct buf *b, const char *s)
{
    double x;
    char *quoted;

    if (!*s || !strchr("=+-@\t\r\n", *s) || num_real(s, &x)) {
        table_csv_text(b, s);
        return;
    }
    quoted = xasprintf("'%s", s);
    table_csv_text(b, quoted);
    free(quoted);
}

typedef void put_fn(struct buf *, const char *);

static void write_separated(const struct table *t, char separator, put_fn *put,
                            bool header, struct buf *out)
{
    const size_t rows = table_rows(t);
    bool *spread = xcalloc(t->n_columns, sizeof *spread);
    struct buf text = BUF_INIT;

    for (size_t j = 0; j < t->n_columns; j++)
        spread[j] = table_has_spread(t, j);
    for (size_t row = header ? 0 : 1; row <= rows; row++) {
        for (size_t j = 0; j < t->n_columns; j++) {
            for (int part = 0; part < (spread[j] ? 4 : 1); part++) {
                buf_trim(&text, 0);
                if (row == 0) {
                    buf_printf(&text, "%s%s", t->column[j], spread_part[part]);
                } else {
                    const struct table_cell c = table_cell_part(
                        &t->cell[(row - 1) * t->n_columns + j], part);

                    table_cell_exact(&text, &c);
                }
                if (j || part)
                    buf_char(out, separator);
                put(out, text.s);
            }
        }
        buf_char(out, '\n');
    }
    buf_clear(&text);
    free(spread);
}

/* ---- JSON ---- */

static void emit_cell(struct emit *o, const char *key,
                      const struct table_cell *c)
{
    char text[NUM_TEXT];

    switch (c->type) {
    case TABLE_NONE:
        emit_null(o, key);
        break;
    case TABLE_TEXT:
        emit_text(o, key, c->text);
        break;
    case TABLE_TIME:
        emit_text(o, key, clock_utc(text, c->i));
        break;
    case TABLE_REAL:
    case TABLE_SECS:
        emit_real(o, key, c->x);
        break;
    case TABLE_INT:
    case TABLE_BYTES:
        emit_int(o, key, c->i);
        break;
    case TABLE_SPREAD:
        emit_object(o, key);
        emit_real(o, "mean", c->x);
        emit_real(o, "std", c->std);
        emit_int(o, "n", c->i);
        emit_real(o, "ci95", c->ci);
        emit_object_end(o);
        break;
    }
}

void table_emit_row(struct emit *o, const char *key, const struct table *t,
                    size_t row)
{
    emit_object(o, key);
    for (size_t j = 0; j < t->n_columns; j++)
        emit_cell(o, t->column[j], &t->cell[row * t->n_columns + j]);
    emit_object_end(o);
}

void table_write_json(const struct table *t, struct buf *out)
{
    struct emit o = { out, .reals = EMIT_QUOTED, .spaced = true, .lines = 1 };

    emit_object(&o, NULL);
    emit_text(&o, "schema", t->schema);
    emit_array(&o, "columns");
    for (size_t j = 0; j < t->n_columns; j++)
        emit_text(&o, NULL, t->column[j]);
    emit_array_end(&o);
    emit_array(&o, "rows");
    o.lines = 2;
    for (size_t i = 0; i < table_rows(t); i++)
        table_emit_row(&o, NULL, t, i);
    emit_array_end(&o);
    emit_object_end(&o);
    emit_newline(&o);
}

void table_write_tsv(const struct table *t, bool header, struct buf *out)
{
    write_separated(t, '\t', table_tsv_text, header, out);
}

void table_write_csv(const struct table *t, bool header, struct buf *out)
{
    write_separated(t, ',', table_csv_text, header, out);
}

void table_write_csv_safe(const struct table *t, bool header, struct buf *out)
{
    write_separated(t, ',', table_csv_safe, header, out);
}
