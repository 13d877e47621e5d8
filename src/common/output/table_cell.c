/*
 * table_cell - the text of a cell, for people and for programs
 */
#include "config.h"
#include "common/output/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/num.h"
#include "common/output/table_impl.h"
#include "common/utf8.h"

/* Is it so large that all digits before the point are shown, not five? */
static bool is_large(double x)
{
    return fabs(x) >= 99999.5 && fabs(x) < 1e12;
}

/* Decimals of a number written with five significant digits; -1 if it needs an
 * exponent. */
static int decimals(double x)
{
    char s[NUM_TEXT];
    const char *dot;

    if (is_large(x))
        return 0;
    snprintf(s, sizeof s, "%.5g", x);
    if (strchr(s, 'e'))
        return -1;
    dot = strchr(s, '.');
    return dot ? (int)strlen(dot + 1) : 0;
}

/*
 * Numbers of a column are aligned by giving them the same number of decimals,
 * if that needs neither exponents nor more than six digits.
 */
int table_column_decimals(const struct table *t, size_t column)
{
    int most = 0;
    double largest = 0;

    for (size_t i = column; i < t->n_cells; i += t->n_columns) {
        const struct table_cell *c = &t->cell[i];
        int d;

        if (c->type != TABLE_REAL || !isfinite(c->x))
            continue;
        d = decimals(c->x);
        if (d < 0)
            return -1;
        most = d > most ? d : most;
        largest = fmax(largest, fabs(c->x));
    }
    return most + (int)log10(fmax(largest, 1)) > 6 ? -1 : most;
}

int *table_decimals(const struct table *t)
{
    int *places = xcalloc(t->n_columns, sizeof *places);

    for (size_t j = 0; j < t->n_columns; j++)
        places[j] = table_column_decimals(t, j);
    return places;
}

/* How many decimals show two digits of x. */
int table_std_decimals(double x)
{
    const int d = x > 0 && isfinite(x) ? 1 - (int)floor(log10(x)) : 4;

    return d < 0 ? 0 : d > 12 ? 12 : d;
}

void table_real_text(struct buf *b, double x, int places)
{
    if (isnan(x))
        buf_str(b, "nan");
    else if (isinf(x))
        buf_str(b, x < 0 ? "-inf" : "inf");
    else if (places >= 0 || is_large(x))
        buf_printf(b, "%.*f", places < 0 ? 0 : places, x);
    else
        buf_printf(b, "%.5g", x);
}

/* A cell for people. */
void table_cell_text(struct buf *b, const struct table_cell *c, int places)
{
    const char *plus_minus = utf8_locale() ? " ± " : " +- ";
    char text[NUM_TEXT];

    switch (c->type) {
    case TABLE_NONE:
        buf_char(b, '-');
        break;
    case TABLE_TEXT:
        utf8_visible(b, c->text);
        break;
    case TABLE_INT:
        buf_printf(b, "%" PRId64, c->i);
        break;
    case TABLE_REAL:
        table_real_text(b, c->x, places);
        break;
    case TABLE_TIME:
        buf_add(b, clock_text(text, c->i), strlen("2026-11-21 14:03"));
        break;
    case TABLE_SECS:
        buf_str(b, num_duration(text, c->x));
        break;
    case TABLE_BYTES:
        buf_str(b, num_bytes(text, (double)c->i));
        break;
    case TABLE_SPREAD:
        if (c->i < 2) {
            table_real_text(b, c->x, -1);
            break;
        }
        places = table_std_decimals(c->std);
        table_real_text(b, c->x, places);
        buf_str(b, plus_minus);
        table_real_text(b, c->std, places);
        buf_str(b, " (95%");
        buf_str(b, plus_minus);
        table_real_text(b, c->ci, places);
        buf_printf(b, ", n=%" PRId64 ")", c->i);
        break;
    }
}

/* A cell for programs, without quoting; a spread's mean. */
void table_cell_exact(struct buf *b, const struct table_cell *c)
{
    char text[NUM_TEXT];

    switch (c->type) {
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
        num_shortest(text, c->x);
        buf_str(b, text);
        break;
    case TABLE_TIME:
        buf_str(b, clock_utc(text, c->i));
        break;
    }
}

bool table_has_spread(const struct table *t, size_t column)
{
    for (size_t i = column; i < t->n_cells; i += t->n_columns)
        if (t->cell[i].type == TABLE_SPREAD)
            return true;
    return false;
}

struct table_cell table_cell_part(const struct table_cell *c, int part)
{
    struct table_cell out = *c;

    if (part == 0)
        return out;
    out = (struct table_cell){ .type = TABLE_NONE };
    if (c->type != TABLE_SPREAD)
        return out;
    out.type = part == 2 ? TABLE_INT : TABLE_REAL;
    out.i = c->i;
    out.x = part == 1 ? c->std : c->ci;
    return out;
}
