/*
 * table_form - tables for people: aligned columns, Markdown and LaTeX
 */
#include "config.h"
#include "common/output/table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/output/table_impl.h"
#include "common/utf8.h"

/* ---- the forms for people share their texts ---- */

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
    int *places = table_decimals(t);
    struct buf text = BUF_INIT;

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
        { '>', "\\textgreater{}" }, { '"', "\\char34{}" }, { '\r', " " },
        { '|', "\\textbar{}" }, { '`', "\\textasciigrave{}" }, { 0, NULL },
    };
    /* clang-format on */

    for (char was = '\0'; *s; was = *s++) {
        size_t i = 0;

        /* not an argument of the preceding \\, a dash or a quotation mark */
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
            places = table_std_decimals(c->std);
            buf_str(out, bold ? "$\\mathbf{" : "$");
            table_real_text(out, c->x, places);
            buf_str(out, bold ? "} \\pm " : " \\pm ");
            table_real_text(out, c->std, places);
            buf_char(out, '$');
            break;
        }
        /* fall through */
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
    buf_clear(&text);
}

static void latex(const struct table *t, bool header, struct buf *out)
{
    const size_t rows = table_rows(t);
    int *places = table_decimals(t);

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
    size_t n;      /* columns shown */
    char *dropped; /* what the texts of the first column begin with, or NULL */
};

static void measure(const struct table *t, bool color, struct layout *l)
{
    const size_t rows = table_rows(t) + 1;
    struct buf b = BUF_INIT;

    l->text = xcalloc(rows * t->n_columns, sizeof *l->text);
    l->width = xcalloc(t->n_columns, sizeof *l->width);
    l->right = xcalloc(t->n_columns, sizeof *l->right);
    l->n = t->n_columns;
    l->dropped = NULL;
    for (size_t j = 0; j < t->n_columns; j++) {
        const int places = table_column_decimals(t, j);
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
    buf_clear(&b);
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
    struct buf names = BUF_INIT;
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
    buf_clear(&names);
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
    free(l.text);
    free(l.dropped);
    free(l.width);
    free(l.right);
}

void table_format(const struct table *t, enum table_form form, bool header,
                  bool color, size_t width, struct buf *out)
{
    switch (form) {
    case TABLE_AUTO:
    case TABLE_TSV:
        table_write_tsv(t, header, out);
        break;
    case TABLE_CSV:
        table_write_csv(t, header, out);
        break;
    case TABLE_CSV_SAFE:
        table_write_csv_safe(t, header, out);
        break;
    case TABLE_JSON:
        table_write_json(t, out);
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
