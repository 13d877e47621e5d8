/*
 * table_form - a table as columns, TSV, JSON, CSV, Markdown or LaTeX
 */
#include "config.h"
#include "common/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/num.h"
#include "common/utf8.h"

/* Five digits of such a number are not all of it, but an exponent is worse. */
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
 * Numbers of one column line up when they have equally many decimals.  That is
 * done where it costs little: no exponents, and no more than six digits.
 */
static int column_decimals(const struct table *t, size_t column)
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

static int *all_decimals(const struct table *t)
{
    int *places = xcalloc(t->n_columns, sizeof *places);

    for (size_t j = 0; j < t->n_columns; j++)
        places[j] = column_decimals(t, j);
    return places;
}

/* How many decimals show two digits of x. */
static int decimals_of_std(double x)
{
    const int d = x > 0 && isfinite(x) ? 1 - (int)floor(log10(x)) : 4;

    return d < 0 ? 0 : d > 12 ? 12 : d;
}

static void real_text(struct buf *b, double x, int places)
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
static void human(struct buf *b, const struct table_cell *c, int places)
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
        real_text(b, c->x, places);
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
            real_text(b, c->x, -1);
            break;
        }
        places = decimals_of_std(c->std);
        real_text(b, c->x, places);
        buf_str(b, plus_minus);
        real_text(b, c->std, places);
        buf_str(b, " (95%");
        buf_str(b, plus_minus);
        real_text(b, c->ci, places);
        buf_printf(b, ", n=%" PRId64 ")", c->i);
        break;
    }
}

/* A cell for programs, without quoting; a spread's mean. */
static void exact(struct buf *b, const struct table_cell *c)
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

/* For programs a spread is four columns, this one and three beside it. */
static const char *const spread_part[] = { "", " std", " n", " ci95" };

static bool has_spread(const struct table *t, size_t column)
{
    for (size_t i = column; i < t->n_cells; i += t->n_columns)
        if (t->cell[i].type == TABLE_SPREAD)
            return true;
    return false;
}

static struct table_cell part_of(const struct table_cell *c, int part)
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

static void separated(const struct table *t, char separator, put_fn *put,
                      bool header, struct buf *out)
{
    const size_t rows = table_rows(t);
    bool *spread = xcalloc(t->n_columns, sizeof *spread);
    struct buf text = BUF_INIT;

    for (size_t j = 0; j < t->n_columns; j++)
        spread[j] = has_spread(t, j);
    for (size_t row = header ? 0 : 1; row <= rows; row++) {
        for (size_t j = 0; j < t->n_columns; j++) {
            for (int part = 0; part < (spread[j] ? 4 : 1); part++) {
                buf_trim(&text, 0);
                if (row == 0) {
                    buf_printf(&text, "%s%s", t->column[j], spread_part[part]);
                } else {
                    const struct table_cell c =
                        part_of(&t->cell[(row - 1) * t->n_columns + j], part);

                    exact(&text, &c);
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

static void json(const struct table *t, struct buf *out)
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

/* ---- the forms for people share their texts ---- */

static bool is_number(enum table_type type)
{
    return type != TABLE_TEXT && type != TABLE_NONE && type != TABLE_TIME;
}

/* A column of numbers is set flush right. */
static bool flush_right(const struct table *t, size_t column)
{
    bool number = false;

    for (size_t i = column; i < t->n_cells; i += t->n_columns) {
        if (t->cell[i].type == TABLE_TEXT || t->cell[i].type == TABLE_TIME)
            return false;
        number = number || is_number(t->cell[i].type);
    }
    return number;
}

static void put_markdown(struct buf *b, const char *s)
{
    for (; *s; s++) {
        if (strchr("|\\`*_<>[]", *s))
            buf_char(b, '\\');
        buf_char(b, *s == '\n' || *s == '\r' ? ' ' : *s);
    }
}

static void markdown(const struct table *t, bool header, struct buf *out)
{
    const size_t rows = table_rows(t);
    int *places = all_decimals(t);
    struct buf text = BUF_INIT;

    for (size_t j = 0; j < t->n_columns && header; j++) {
        buf_str(out, j ? " | " : "| ");
        put_markdown(out, t->column[j]);
    }
    for (size_t j = 0; j < t->n_columns && header; j++)
        buf_printf(out, "%s%s", j ? "" : " |\n|",
                   flush_right(t, j) ? "---:|" : "---|");
    buf_str(out, header ? "\n" : "");
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < t->n_columns; j++) {
            const struct table_cell *c = &t->cell[i * t->n_columns + j];
            const char *bold = c->mark == MARK_BEST ? "**" : "";

            buf_trim(&text, 0);
            if (c->type != TABLE_NONE)
                human(&text, c, places[j]);
            buf_printf(out, "%s%s", j ? " | " : "| ", bold);
            put_markdown(out, text.s);
            buf_str(out, bold);
        }
        buf_str(out, " |\n");
    }
    buf_clear(&text);
    free(places);
}

static void put_latex(struct buf *b, const char *s)
{
    /* clang-format off */
    static const struct { char c; const char *as; } special[] = {
        { '&', "\\&" }, { '%', "\\%" }, { '$', "\\$" }, { '#', "\\#" },
        { '_', "\\_" }, { '{', "\\{" }, { '}', "\\}" }, { '\n', " " },
        { '~', "\\textasciitilde{}" }, { '^', "\\textasciicircum{}" },
        { '\\', "\\textbackslash{}" }, { '<', "\\textless{}" },
        { '>', "\\textgreater{}" }, { '"', "\\textquotedbl{}" }, { '\r', " " },
        { '|', "\\textbar{}" }, { '`', "\\textasciigrave{}" }, { 0, NULL },
    };
    /* clang-format on */

    for (char was = '\0'; *s; was = *s++) {
        size_t i = 0;

        /* no argument of the \\ before it, no dash, no quotation mark */
        if (was ? *s == was && strchr("-,'", was) : *s == '[' || *s == '*')
            buf_str(b, "{}");
        while (special[i].c && special[i].c != *s)
            i++;
        if (special[i].c)
            buf_str(b, special[i].as);
        else
            buf_char(b, *s);
    }
}

/* "1e-05" as $10^{-5}$ is set, minus signs as minus, bold where it is best. */
static void latex_number(struct buf *b, const char *s, bool bold)
{
    const char *exponent = strchr(s, 'e');

    if (strcmp(s, "nan") == 0) {
        buf_str(b, "nan");
        return;
    }
    buf_str(b, bold ? "$\\mathbf{" : "$");
    if (strstr(s, "inf"))
        buf_str(b, *s == '-' ? "-\\infty" : "\\infty");
    else if (!exponent)
        buf_str(b, s);
    else
        buf_printf(b, "%.*s \\times 10^{%ld}", (int)(exponent - s), s,
                   strtol(exponent + 1, NULL, 10));
    buf_str(b, bold ? "}$" : "$");
}

static void latex_cell(struct buf *out, const struct table_cell *c, int places)
{
    const bool bold = c->mark == MARK_BEST;
    struct buf text = BUF_INIT;

    switch (c->type) {
    case TABLE_NONE:
        buf_str(out, "--");
        break;
    case TABLE_SPREAD:
        if (c->i > 1) {
            places = decimals_of_std(c->std);
            buf_str(out, bold ? "$\\mathbf{" : "$");
            real_text(out, c->x, places);
            buf_str(out, bold ? "} \\pm " : " \\pm ");
            real_text(out, c->std, places);
            buf_char(out, '$');
            break;
        }
        /* fall through */
    case TABLE_INT:
    case TABLE_REAL:
        human(&text, c, places);
        latex_number(out, text.s, bold);
        break;
    default:
        human(&text, c, places);
        buf_str(out, bold ? "\\textbf{" : "");
        put_latex(out, text.s);
        buf_str(out, bold ? "}" : "");
    }
    buf_clear(&text);
}

static void latex(const struct table *t, bool header, struct buf *out)
{
    const size_t rows = table_rows(t);
    int *places = all_decimals(t);

    buf_str(out, "\\begin{tabular}{");
    for (size_t j = 0; j < t->n_columns; j++)
        buf_char(out, flush_right(t, j) ? 'r' : 'l');
    buf_str(out, "}\n\\toprule\n");
    for (size_t j = 0; j < t->n_columns && header; j++) {
        buf_str(out, j ? " & " : "");
        put_latex(out, t->column[j]);
    }
    buf_str(out, header ? " \\\\\n\\midrule\n" : "");
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < t->n_columns; j++) {
            buf_str(out, j ? " & " : "");
            latex_cell(out, &t->cell[i * t->n_columns + j], places[j]);
        }
        buf_str(out, " \\\\\n");
    }
    buf_str(out, "\\bottomrule\n\\end{tabular}\n");
    free(places);
}

/* ---- aligned ---- */

enum { GAP = 2, LEAST = 8 }; /* between columns; what a text shrinks to */

static const char *const colors[] = {
    [MARK_NONE] = "",         [MARK_BEST] = "\033[1;32m",
    [MARK_DIM] = "\033[2m",   [MARK_GOOD] = "\033[32m",
    [MARK_WARN] = "\033[33m", [MARK_BAD] = "\033[31m",
    [MARK_HEAD] = "\033[1m",
};

struct layout {
    char **text; /* cell texts, the header's first */
    size_t *width;
    bool *right;
    size_t n; /* columns shown */
};

static void measure(const struct table *t, bool color, struct layout *l)
{
    const size_t rows = table_rows(t) + 1;
    struct buf b = BUF_INIT;

    l->text = xcalloc(rows * t->n_columns, sizeof *l->text);
    l->width = xcalloc(t->n_columns, sizeof *l->width);
    l->right = xcalloc(t->n_columns, sizeof *l->right);
    l->n = t->n_columns;
    for (size_t j = 0; j < t->n_columns; j++) {
        const int places = column_decimals(t, j);
        bool starred = false;

        l->right[j] = flush_right(t, j);
        for (size_t i = j; i < t->n_cells && !color; i += t->n_columns)
            starred = starred || t->cell[i].mark == MARK_BEST;
        for (size_t i = 0; i < rows; i++) {
            const struct table_cell *c =
                i ? &t->cell[(i - 1) * t->n_columns + j] : NULL;
            size_t w;

            buf_trim(&b, 0);
            if (c)
                human(&b, c, places);
            else
                utf8_visible(&b, t->column[j]);
            if (starred)
                buf_char(&b, c && c->mark == MARK_BEST ? '*' : ' ');
            l->text[i * t->n_columns + j] = xstrdup(b.s);
            w = utf8_width(b.s);
            l->width[j] = w > l->width[j] ? w : l->width[j];
        }
    }
    buf_clear(&b);
}

/* Shrink the widest texts, then leave columns out on the right, until a line
 * fits. */
static void fit(struct layout *l, size_t width)
{
    size_t total = 0;

    for (size_t j = 0; j < l->n; j++)
        total += l->width[j] + (j ? GAP : 0);
    while (width && total > width) {
        size_t widest = l->n;

        for (size_t j = 0; j < l->n; j++)
            if (!l->right[j] && l->width[j] > 3 * LEAST &&
                (widest == l->n || l->width[j] > l->width[widest]))
                widest = j;
        if (widest == l->n)
            break;
        l->width[widest]--;
        total--;
    }
    while (width && total > width && l->n > 1)
        total -= l->width[--l->n] + GAP;
}

static void put_cell(const struct layout *l, size_t column, const char *s,
                     const char *color, struct buf *out)
{
    const size_t room = l->width[column], w = utf8_width(s);
    const bool last = column + 1 == l->n;
    struct buf cut = BUF_INIT;
    size_t pad;

    if (w > room)
        utf8_cut(&cut, s, room);
    else
        buf_str(&cut, s);
    pad = room - (w > room ? room : w);
    if (l->right[column])
        buf_printf(out, "%*s", (int)pad, "");
    if (*color)
        buf_printf(out, "%s%s\033[0m", color, cut.s);
    else
        buf_str(out, cut.s);
    if (!l->right[column] && !last)
        buf_printf(out, "%*s", (int)pad, "");
    if (!last)
        buf_printf(out, "%*s", GAP, "");
    buf_clear(&cut);
}

static void aligned(const struct table *t, bool header, bool color,
                    size_t width, struct buf *out)
{
    const size_t rows = table_rows(t) + 1;
    struct layout l;

    measure(t, color, &l);
    fit(&l, width);
    for (size_t i = header ? 0 : 1; i < rows; i++) {
        for (size_t j = 0; j < l.n; j++) {
            const enum table_mark mark =
                i ? t->cell[(i - 1) * t->n_columns + j].mark : MARK_HEAD;

            put_cell(&l, j, l.text[i * t->n_columns + j],
                     color ? colors[mark] : "", out);
        }
        while (out->len && out->s[out->len - 1] == ' ')
            buf_trim(out, out->len - 1);
        buf_char(out, '\n');
    }
    if (l.n < t->n_columns && header)
        buf_printf(out, "(%zu more column%s fit; a pipe gets all)\n",
                   t->n_columns - l.n,
                   t->n_columns - l.n > 1 ? "s do not" : " does not");
    for (size_t i = 0; i < rows * t->n_columns; i++)
        free(l.text[i]);
    free(l.text);
    free(l.width);
    free(l.right);
}

void table_format(const struct table *t, enum table_form form, bool header,
                  bool color, size_t width, struct buf *out)
{
    switch (form) {
    case TABLE_AUTO:
    case TABLE_TSV:
        separated(t, '\t', put_tsv, header, out);
        break;
    case TABLE_CSV:
        separated(t, ',', table_csv_text, header, out);
        break;
    case TABLE_JSON:
        json(t, out);
        break;
    case TABLE_MARKDOWN:
        markdown(t, header, out);
        break;
    case TABLE_LATEX:
        latex(t, header, out);
        break;
    case TABLE_ALIGNED:
        aligned(t, header, color, width, out);
        break;
    }
}
