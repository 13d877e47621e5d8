/*
 * table_data - tables for programs: TSV, CSV and JSON
 */
#include "config.h"
#include "common/output/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/num.h"
#include "common/output/table_impl.h"
#include "common/utf8.h"

/* For programs a spread has four columns. */
static const char *const spread_part[] = { "", " std", " n", " ci95" };

/* ---- tab- and comma-separated ---- */

static void put_tsv(struct buf *b, const char *s)
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

void table_json_text(struct buf *b, const char *s)
{
    buf_char(b, '"');
    for (const char *p = s; *p;) {
        const unsigned char c = (unsigned char)*p;
        const char *from = p;
        const int32_t code = utf8_next(&p);

        if (code < 0)
            buf_str(b, "\xef\xbf\xbd"); /* U+FFFD for what is not UTF-8 */
        else if (c == '"' || c == '\\')
            buf_printf(b, "\\%c", c);
        else if (c == '\n')
            buf_str(b, "\\n");
        else if (c == '\t')
            buf_str(b, "\\t");
        else if (c < 0x20 || c == 0x7f)
            buf_printf(b, "\\u%04x", c);
        else
            buf_add(b, from, (size_t)(p - from));
    }
    buf_char(b, '"');
}

void table_json_real(struct buf *b, double x)
{
    char text[NUM_TEXT];

    if (isnan(x)) {
        buf_str(b, "\"NaN\"");
    } else if (isinf(x)) {
        buf_str(b, x < 0 ? "\"-Infinity\"" : "\"Infinity\"");
    } else {
        num_shortest(text, x);
        buf_str(b, text);
    }
}

static void json_cell(struct buf *b, const struct table_cell *c)
{
    char text[NUM_TEXT];

    switch (c->type) {
    case TABLE_NONE:
        buf_str(b, "null");
        break;
    case TABLE_TEXT:
        table_json_text(b, c->text);
        break;
    case TABLE_TIME:
        table_json_text(b, clock_utc(text, c->i));
        break;
    case TABLE_REAL:
    case TABLE_SECS:
        table_json_real(b, c->x);
        break;
    case TABLE_INT:
    case TABLE_BYTES:
        buf_printf(b, "%" PRId64, c->i);
        break;
    case TABLE_SPREAD:
        buf_str(b, "{\"mean\": ");
        table_json_real(b, c->x);
        buf_str(b, ", \"std\": ");
        table_json_real(b, c->std);
        buf_printf(b, ", \"n\": %" PRId64 ", \"ci95\": ", c->i);
        table_json_real(b, c->ci);
        buf_char(b, '}');
        break;
    }
}

void table_json_row(struct buf *b, const struct table *t, size_t row)
{
    for (size_t j = 0; j < t->n_columns; j++) {
        buf_str(b, j ? ", " : "{");
        table_json_text(b, t->column[j]);
        buf_str(b, ": ");
        json_cell(b, &t->cell[row * t->n_columns + j]);
    }
    buf_str(b, t->n_columns ? "}" : "{}");
}

void table_write_json(const struct table *t, struct buf *out)
{
    const size_t rows = table_rows(t);

    buf_str(out, "{\n  \"schema\": ");
    table_json_text(out, t->schema);
    buf_str(out, ",\n  \"columns\": [");
    for (size_t j = 0; j < t->n_columns; j++) {
        buf_str(out, j ? ", " : "");
        table_json_text(out, t->column[j]);
    }
    buf_str(out, "],\n  \"rows\": [");
    for (size_t i = 0; i < rows; i++) {
        buf_str(out, i ? ",\n    " : "\n    ");
        table_json_row(out, t, i);
    }
    buf_str(out, rows ? "\n  ]\n}\n" : "]\n}\n");
}

void table_write_tsv(const struct table *t, bool header, struct buf *out)
{
    write_separated(t, '\t', put_tsv, header, out);
}

void table_write_csv(const struct table *t, bool header, struct buf *out)
{
    write_separated(t, ',', table_csv_text, header, out);
}
