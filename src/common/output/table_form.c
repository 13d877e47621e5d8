/*
 * table_form - tables for people: aligned columns, Markdown and LaTeX
 */
#include "config.h"
#include "common/mem.h"
#include "common/output/table.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/num.h"
#include "common/utf8.h"

/* ---- the forms for people share their texts ---- */

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

int *table_decimals(const struct table *t)
{
    int *places = xcalloc(t->n_columns, sizeof *places);

    for (size_t j = 0; j < t->n_columns; j++)
        places[j] = column_decimals(t, j);
    return places;
}

/* How many decimals show two digits of x. */
static int std_decimals(double x)
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
void table_cell_text(struct buf *b, const struct table_cell *c, int places)
{
    const char *plus_minus =
        c->type == TABLE_SPREAD && utf8_locale() ? " ± " : " +- ";
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
        places = std_decimals(c->std);
        real_text(b, c->x, places);
        buf_str(b, plus_minus);
        real_text(b, c->std, places);
        buf_str(b, " (std; 95%");
        buf_str(b, plus_minus);
        real_text(b, c->ci, places);
        buf_printf(b, ", n=%" PRId64 ")", c->i);
        break;
    }
}

/* A column of numbers is set flush right. */
static bool flush_right(const struct table *t, size_t column)
{
    bool number = false;

    for (size_t i = column; i < t->n_cells; i += t->n_columns) {
        if (t->cell[i].type == TABLE_TEXT || t->cell[i].type == TABLE_TIME)
            return false;
        number = number || t->cell[i].type != TABLE_NONE;
    }
    return number;
}

void table_markdown_text(struct buf *b, const char *s)
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
    AUTO_FREE int *places = table_decimals(t);
    AUTO(buf_clear) struct buf text = BUF_INIT;

    for (size_t j = 0; j < t->n_columns && header; j++) {
        buf_str(out, j ? " | " : "| ");
        table_markdown_text(out, t->column[j]);
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
                table_cell_text(&text, c, places[j]);
            buf_printf(out, "%s%s", j ? " | " : "| ", bold);
            table_markdown_text(out, text.s);
            buf_str(out, bold);
        }
        buf_str(out, " |\n");
    }
}

const char *table_latex(char c)
{
    static const char *const special[128] = {
        /* clang-format off */
        ['&'] = "\\&", ['%'] = "\\%", ['$'] = "\\$", ['#'] = "\\#",
        ['_'] = "\\_", ['{'] = "\\{", ['}'] = "\\}", ['\n'] = " ", ['\r'] = " ",
        ['~'] = "\\textasciitilde{}", ['^'] = "\\textasciicircum{}",
        ['\\'] = "\\textbackslash{}", ['<'] = "\\textless{}",
        ['>'] = "\\textgreater{}", ['"'] = "\\char34{}",
        ['|'] = "\\textbar{}", ['`'] = "\\textasciigrave{}",
        /* clang-format on */
    };

    return c > 0 ? special[(int)c] : NULL;
}

static void put_latex(struct buf *b, const char *s)
{
    for (char was = '\0'; *s; was = *s++) {
        /* not an argument of the preceding \\, a dash or a quotation mark */
        if (was ? *s == was && strchr("-,'", was) : *s == '[' || *s == '*')
            buf_str(b, "{}");
        if (table_latex(*s))
            buf_str(b, table_latex(*s));
        else
            buf_char(b, *s);
    }
}

/* A number in math mode, with a power of ten for an exponent. */
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

void table_cell_latex(struct buf *out, const struct table_cell *c, int places)
{
    const bool bold = c->mark == MARK_BEST;
    AUTO(buf_clear) struct buf text = BUF_INIT;

    switch (c->type) {
    case TABLE_NONE:
        buf_str(out, "--");
        break;
    case TABLE_SPREAD:
        if (c->i > 1) {
            places = std_decimals(c->std);
            buf_str(out, bold ? "$\\mathbf{" : "$");
            real_text(out, c->x, places);
            buf_str(out, bold ? "} \\pm " : " \\pm ");
            real_text(out, c->std, places);
            buf_str(out, "$ (std; 95\\% $\\pm ");
            real_text(out, c->ci, places);
            buf_printf(out, "$, $n=%" PRId64 "$)", c->i);
            break;
        }
        __attribute__((fallthrough));
    case TABLE_INT:
    case TABLE_REAL:
        table_cell_text(&text, c, places);
        latex_number(out, text.s, bold);
        break;
    default:
        table_cell_text(&text, c, places);
        buf_str(out, bold ? "\\textbf{" : "");
        put_latex(out, text.s);
        buf_str(out, bold ? "}" : "");
    }
}

static void latex(const struct table *t, bool header, struct buf *out)
{
    const size_t rows = table_rows(t);
    AUTO_FREE int *places = table_decimals(t);

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
            table_cell_latex(out, &t->cell[i * t->n_columns + j], places[j]);
        }
        buf_str(out, " \\\\\n");
    }
    buf_str(out, "\\bottomrule\n\\end{tabular}\n");
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
    size_t n;      /* columns shown */
    char *dropped; /* what the texts of the first column begin with, or NULL */
};

static void measure(const struct table *t, bool color, struct layout *l)
{
    const size_t rows = table_rows(t) + 1;
    AUTO(buf_clear) struct buf b = BUF_INIT;

    l->text = xcalloc(rows * t->n_columns, sizeof *l->text);
    l->width = xcalloc(t->n_columns, sizeof *l->width);
    l->right = xcalloc(t->n_columns, sizeof *l->right);
    l->n = t->n_columns;
    l->dropped = NULL;
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
                table_cell_text(&b, c, places);
            else
                utf8_visible(&b, t->column[j]);
            if (starred)
                buf_char(&b, c && c->mark == MARK_BEST ? '*' : ' ');
            l->text[i * t->n_columns + j] = xstrdup(b.s);
            w = utf8_width(b.s);
            l->width[j] = w > l->width[j] ? w : l->width[j];
        }
    }
}

static size_t total_width(const struct layout *l)
{
    size_t total = 0;

    for (size_t j = 0; j < l->n; j++)
        total += l->width[j] + (j ? GAP : 0);
    return total;
}

/* Does a part of a name end after n bytes?  "lr1e-" is no part of "lr1e-4". */
static bool ends_part(const char *s, size_t n)
{
    const bool exponent = n > 2 && s[n - 1] == '-' && s[n - 2] == 'e' &&
                          isdigit((unsigned char)s[n - 3]);

    return strchr("-_/:", s[n - 1]) && !exponent;
}

/* How many bytes all texts of the first column begin with, up to a character
 * that separates the parts of a name. */
static size_t common_prefix(const struct layout *l, size_t columns, size_t rows)
{
    const char *first = l->text[columns];
    size_t n = strlen(first);

    for (size_t i = 2; i < rows; i++) {
        const char *s = l->text[i * columns];
        size_t k = 0;

        while (k < n && s[k] == first[k])
            k++;
        n = k;
    }
    while (n > 0 && !ends_part(first, n))
        n--;
    for (size_t i = 1; i < rows; i++)
        if (!l->text[i * columns][n])
            return 0;
    return n;
}

/* Put a mark in the place of what all texts of the first column begin with. */
static void drop_prefix(struct layout *l, size_t columns, size_t rows)
{
    enum { LEAST_PREFIX = 4, FEWEST = 3 }; /* rows, with the header */
    const size_t n =
        rows < FEWEST || l->right[0] ? 0 : common_prefix(l, columns, rows);

    if (n < LEAST_PREFIX)
        return;
    l->dropped = xstrndup(l->text[columns], n);
    l->width[0] = utf8_width(l->text[0]);
    for (size_t i = 1; i < rows; i++) {
        char **text = &l->text[i * columns];
        char *rest = xasprintf("%s%s", utf8_mark(), *text + n);

        free(*text);
        *text = rest;
        l->width[0] =
            utf8_width(rest) > l->width[0] ? utf8_width(rest) : l->width[0];
    }
}

/* Shrink the widest texts, then leave columns out on the right, until a line
 * fits. */
static void fit(struct layout *l, size_t width)
{
    size_t total = total_width(l);

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
    AUTO(buf_clear) struct buf cut = BUF_INIT;
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
}

static bool is_empty(const struct table *t, size_t column)
{
    for (size_t i = column; i < t->n_cells; i += t->n_columns)
        if (t->cell[i].type != TABLE_NONE)
            return false;
    return t->n_cells > 0;
}

/* "(no room for a, b, c and 4 more; ...)"; empty ones at the end are not
 * missed. */
static void name_hidden(const struct table *t, size_t shown, size_t width,
                        struct buf *out)
{
    const char *hint = t->hint ? t->hint : "--csv shows them";
    AUTO(buf_clear) struct buf names = BUF_INIT;
    size_t named = 0, hidden = t->n_columns - shown;

    while (hidden && is_empty(t, shown + hidden - 1))
        hidden--;
    if (!hidden)
        return;
    for (; named < hidden; named++) {
        const char *name = t->column[shown + named];

        if (named && names.len + strlen(name) + strlen(hint) + 32 > width)
            break;
        buf_str(&names, named ? ", " : "");
        utf8_visible(&names, name);
    }
    buf_printf(out, "(no room for %s", names.s);
    if (named < hidden)
        buf_printf(out, " and %zu more", hidden - named);
    buf_printf(out, "; %s)\n", hint);
}

static void aligned(const struct table *t, bool header, bool color,
                    size_t width, struct buf *out)
{
    const size_t rows = table_rows(t) + 1;
    struct layout l;

    measure(t, color, &l);
    if (header && width && total_width(&l) > width)
        drop_prefix(&l, t->n_columns, rows);
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
    if (l.dropped)
        buf_printf(out, "(%s stands for %s)\n", utf8_mark(), l.dropped);
    if (l.n < t->n_columns && header)
        name_hidden(t, l.n, width, out);
    for (size_t i = 0; i < rows * t->n_columns; i++)
        free(l.text[i]);
    FREE(l.text, l.dropped, l.width, l.right);
}

void table_format(const struct table *t, enum table_form form, bool header,
                  bool color, size_t width, struct buf *out)
{
    if (form == TABLE_ALIGNED)
        aligned(t, header, color, width, out);
    else if (form == TABLE_MARKDOWN)
        markdown(t, header, out);
    else if (form == TABLE_LATEX)
        latex(t, header, out);
    else
        table_write_data(t, form, header, out);
}
