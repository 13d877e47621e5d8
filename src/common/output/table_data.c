/*
 * table_data - tables for programs: TSV, CSV and JSON
 */
#include "config.h"
#include "common/output/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/num.h"
#include "common/output/emit.h"

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

/* A cell for programs, without quoting; a spread has four parts, other cells
 * one. */
static void put_exact(struct buf *b, const struct table_cell *c, int part)
{
    char text[NUM_TEXT];

    if (part > 0 && c->type != TABLE_SPREAD)
        return;
    switch (part == 2 ? TABLE_INT : c->type) {
    case TABLE_NONE:
        break;
    case TABLE_TEXT:
        buf_str(b, c->text);
        break;
    case TABLE_INT:
    case TABLE_BYTES:
        buf_printf(b, "%" PRId64, c->i);
        break;
    case TABLE_REAL:
    case TABLE_SECS:
    case TABLE_SPREAD:
        num_shortest(text, part == 0 ? c->x : part == 1 ? c->std : c->ci);
        buf_str(b, text);
        break;
    case TABLE_TIME:
        buf_str(b, clock_utc(text, c->i));
        break;
    }
}

static bool has_spread(const struct table *t, size_t column)
{
    for (size_t i = column; i < t->n_cells; i += t->n_columns)
        if (t->cell[i].type == TABLE_SPREAD)
            return true;
    return false;
}

static void write_separated(const struct table *t, enum table_form form,
                            bool header, struct buf *out)
{
    /* a spread has four columns */
    static const char *const spread_part[] = { "", " std", " n", " ci95" };
    const bool csv = form == TABLE_CSV || form == TABLE_CSV_SAFE;
    void (*const put)(struct buf *, const char *) =
        form == TABLE_CSV        ? table_csv_text
        : form == TABLE_CSV_SAFE ? table_csv_safe
                                 : table_tsv_text;
    const size_t rows = table_rows(t);
    bool *spread = xcalloc(t->n_columns, sizeof *spread);
    struct buf text = BUF_INIT;

    for (size_t j = 0; j < t->n_columns; j++)
        spread[j] = has_spread(t, j);
    for (size_t row = header ? 0 : 1; row <= rows; row++) {
        for (size_t j = 0; j < t->n_columns; j++) {
            for (int part = 0; part < (spread[j] ? 4 : 1); part++) {
                buf_trim(&text, 0);
                if (row == 0)
                    buf_printf(&text, "%s%s", t->column[j], spread_part[part]);
                else
                    put_exact(&text, &t->cell[(row - 1) * t->n_columns + j],
                              part);
                if (j || part)
                    buf_char(out, csv ? ',' : '\t');
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

static void write_json(const struct table *t, struct buf *out)
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

void table_write_data(const struct table *t, enum table_form form, bool header,
                      struct buf *out)
{
    if (form == TABLE_JSON)
        write_json(t, out);
    else
        write_separated(t, form, header, out);
}
