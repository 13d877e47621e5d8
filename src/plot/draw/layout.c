#include "config.h"
#include "plot/draw/layout.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "common/mem.h"
#include "common/utf8.h"
#include "plot/draw/axis.h"

/* Add an entry, unless one of those from `first` on has its label. */
static void add_entry(struct panel *p, size_t first, const struct entry *e)
{
    for (size_t i = first; i < p->n_entries; i++)
        if (strcmp(p->entry[i].label, e->label) == 0)
            return;
    APPEND(p->entry, p->n_entries, p->entry_room) = *e;
}

/* The entries that can be left out: owners, else all. */
static size_t count_names(const struct panel *p)
{
    return p->n_owners ? p->n_owners : p->n_entries;
}

static void count_hidden(struct figure *f, struct panel *p)
{
    p->entry[count_names(p) - 1] = (struct entry){
        .label = arena_printf(&f->mem, "and %zu more", p->n_hidden),
        .colour = COLOUR_NONE,
    };
}

bool legend_shorten(struct figure *f, struct panel *p)
{
    const size_t names = count_names(p);

    if (names < 4 || p->owners != OWNERS_LISTED)
        return false;
    /* the last entry becomes the number of those left out, or stays that */
    p->n_hidden += p->n_hidden ? 1 : 2;
    memmove(&p->entry[names - 2], &p->entry[names - 1],
            (p->n_entries - names + 1) * sizeof *p->entry);
    p->n_entries--;
    p->n_owners -= p->n_owners > 0;
    count_hidden(f, p);
    return true;
}

/* Name ten. */
static void cut_entries(struct figure *f, struct panel *p)
{
    enum { MOST = 10 };

    while (count_names(p) > MOST + 1 && legend_shorten(f, p))
        ;
}

static const char *label_of(struct figure *f, const struct curve *c,
                            const char *label)
{
    return c->best ? arena_printf(&f->mem, "best: %s", label) : label;
}

/* An entry for each colour, then one for each kind of line, if there are
 * several. */
static bool split_entries(struct figure *f, struct panel *p)
{
    size_t labels = 0, owners;
    bool alone = true;

    /* the best one is the first */
    for (size_t k = 0; k < 2 * p->n_curves; k++) {
        const struct curve *c = &p->curve[k % p->n_curves];

        if (!c->label || c->unlisted || c->best != (k < p->n_curves))
            continue;
        if (!c->owner)
            return false;
        labels++;
        alone = alone && strcmp(c->label, c->owner) == 0;
        if (c->best || !c->value)
            add_entry(p, 0,
                      &(struct entry){ label_of(f, c, c->owner), c->colour, 0,
                                       STYLE_LINE, 0 });
        if (c->value)
            add_entry(p, 0,
                      &(struct entry){ c->value, c->colour, 0, STYLE_LINE, 0 });
    }
    owners = p->n_owners = p->n_entries;
    cut_entries(f, p);
    if (owners < 2 || alone)
        return owners > 1;
    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *c = &p->curve[i];

        if (c->label && c->line && !c->unlisted)
            add_entry(
                p, p->n_owners,
                &(struct entry){ c->line, COLOUR_GREY, c->dash, c->style, 0 });
    }
    if (p->n_entries > p->n_owners + 1)
        return true;
    p->n_entries = p->n_owners;
    return labels > owners;
}

void legend_entries(struct figure *f, struct panel *p)
{
    /* without colours, the dashes of an owner and a line would be confused */
    if (f->look.theme != THEME_MONO && split_entries(f, p))
        return;
    p->n_entries = p->n_owners = p->n_hidden = 0;
    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *c = &p->curve[i];

        if (c->label && !c->unlisted)
            add_entry(p, p->n_entries,
                      &(struct entry){ label_of(f, c, c->label), c->colour,
                                       c->dash, c->style, 0 });
    }
    cut_entries(f, p);
}

void legend_share(struct figure *f, struct panel *p)
{
    if (p->legend != LEGEND_AUTO || p->n_owners == 0)
        return;
    p->owners = OWNERS_SHARED;
    for (size_t i = 0; i < p->n_owners; i++) {
        bool known = false;

        for (size_t k = 0; k < f->n_entries; k++)
            known = known || strcmp(f->entry[k].label, p->entry[i].label) == 0;
        if (known)
            continue;
        APPEND(f->entry, f->n_entries, f->entry_room) = p->entry[i];
    }
}

bool legend_has(const struct panel *p, const struct entry *e,
                const struct curve *c)
{
    if (e->colour != c->colour)
        return false;
    if (p->n_owners == 0)
        return e->dash == c->dash && e->style == c->style;
    return c->best || c->value || !c->owner || strcmp(c->owner, e->label) == 0;
}

size_t legend_first(const struct panel *p)
{
    return p->owners == OWNERS_LISTED ? 0 : p->n_owners;
}

static double entry_width(const struct entry *e)
{
    return 0.92 * figure_text_width(e->label) +
           (e->colour == COLOUR_NONE ? 1.2 : 3.4);
}

double legend_width(const struct entry *e, size_t n)
{
    double widest = 0;

    for (size_t i = 0; i < n; i++)
        widest = fmax(widest, entry_width(&e[i]));
    return widest;
}

/* Entries one after the other, like words in lines: the line of one of them,
 * and its x.  With entry SIZE_MAX, the number of lines. */
static size_t legend_flow(const struct entry *e, size_t n, double room,
                          size_t entry, double *x)
{
    size_t line = 0;
    double used = 0;

    for (size_t i = 0; i < n; i++) {
        const double width = entry_width(&e[i]);

        if (used > 0 && used + width > room) {
            line++;
            used = 0;
        }
        if (i == entry) {
            *x = used;
            return line;
        }
        used += width;
    }
    return line + 1;
}

static const double note_size = 0.85;

double layout_em_x(const struct figure *f, double ems)
{
    return ems * f->look.font_size / f->look.width;
}

double layout_em_y(const struct figure *f, double ems)
{
    return ems * f->look.font_size / f->look.height;
}

size_t layout_note_width(const struct figure *f)
{
    return (size_t)((f->look.width - 2 * f->look.font_size) /
                    (f->look.font_size * note_size * 0.53));
}

size_t layout_line(const char *text, size_t width)
{
    const char *space = NULL, *at = text;

    for (size_t k = 0; *at && k < width; k++) {
        utf8_next(&at);
        if (*at == ' ' || *at == '\0')
            space = at;
    }
    return (size_t)((*at && space ? space : at) - text);
}

size_t layout_notes(const struct figure *f)
{
    const size_t width = layout_note_width(f);
    size_t lines = 0;

    for (size_t i = 0; i < f->n_notes; i++)
        for (const char *s = f->note[i]; *s; s += *s == ' ') {
            s += layout_line(s, width);
            lines++;
        }
    return lines;
}

/* The widest tick label, in ems. */
static double tick_width(const struct axis *a)
{
    double widest = 0;

    for (size_t i = 0; i < a->n_ticks; i++)
        widest = fmax(widest, figure_text_width(a->tick[i].label));
    return widest;
}

/* Below: columns of one width, if they need no more lines than a flow. */
static size_t legend_lines(struct layout *l, const struct entry *e, size_t n)
{
    double x;
    const size_t most =
        (size_t)fmax(1, floor(l->legend_room / legend_width(e, n)));
    const size_t lines = legend_flow(e, n, l->legend_room, SIZE_MAX, &x);
    const size_t grid = (n + most - 1) / most;

    l->legend_cols = grid <= lines ? (n + grid - 1) / grid : 0;
    return grid <= lines ? grid : lines;
}

void layout_legend(const struct layout *l, const struct figure *f,
                   const struct panel *p, size_t entry, double *x, double *y)
{
    const size_t first = legend_first(p), n = p->n_entries - first;
    const struct entry *e = p->entry + first;
    size_t line;
    double ems = 0;

    entry -= first;
    if (l->legend_cols > 0) {
        const size_t lines = (n + l->legend_cols - 1) / l->legend_cols;

        ems = (double)(entry / lines) * legend_width(e, n);
        line = entry % lines;
    } else {
        line = legend_flow(e, n, l->legend_room, entry, &ems);
    }
    *x = l->legend_x + layout_em_x(f, ems);
    *y = l->legend_y - layout_em_y(f, LEGEND_LINE * (double)line);
}

size_t layout_shared(const struct figure *f, size_t entry, double *x, double *y)
{
    const double room = (1 - 2 * layout_left(f)) / layout_em_x(f, 1);
    const size_t lines = legend_flow(f->entry, f->n_entries, room, entry, x);

    *x = layout_left(f) + layout_em_x(f, *x);
    *y = 1 - f->look.margin / f->look.height -
         layout_em_y(f, (f->title ? 2.9 : 0.9) + LEGEND_LINE * (double)lines);
    return f->n_entries ? lines : 0;
}

/* A legend inside the axes: its upper left entry. */
static void place_inside(struct layout *l, const struct figure *f,
                         const struct panel *p)
{
    const size_t first = legend_first(p), n = p->n_entries - first;
    const size_t rows = (n + p->legend_cols - 1) / p->legend_cols;
    const double wide =
        legend_width(p->entry + first, n) * (double)p->legend_cols;
    const double high = LEGEND_LINE * (double)rows + 0.4;

    l->legend_cols = p->legend_cols;
    l->legend_x =
        l->plot.x0 + layout_em_x(f, 0.6) +
        p->legend_x * (l->plot.x1 - l->plot.x0 - layout_em_x(f, wide + 0.6));
    l->legend_y =
        l->plot.y1 - layout_em_y(f, 0.9) -
        (1 - p->legend_y) * (l->plot.y1 - l->plot.y0 - layout_em_y(f, high));
}

double layout_left(const struct figure *f)
{
    return f->look.margin / f->look.width + layout_em_x(f, 0.8);
}

double layout_title(const struct figure *f)
{
    return 1 - f->look.margin / f->look.height - layout_em_y(f, 1.2);
}

double layout_top(const struct figure *f)
{
    double x, y;

    return 1 - f->look.margin / f->look.height -
           layout_em_y(f, (f->title ? 2.2 : 0.4) + 1.1 * (double)f->n_lines +
                              LEGEND_LINE *
                                  (double)layout_shared(f, SIZE_MAX, &x, &y));
}

/* The space around the axes of a panel, in ems. */
struct sides {
    double left, right, below, above;
};

static struct sides sides_of(const struct figure *f, const struct panel *p,
                             struct layout *l)
{
    const size_t first = legend_first(p), n = p->n_entries - first;
    struct sides s = { 2.9 + tick_width(&p->y), 1.6, 3.9,
                       p->title || p->ramp ? 1.8 : 0.6 };

    if (!*p->y.shown)
        s.left -= 1.2;
    if (f->look.font_size < 2) /* characters: no fractions */
        s.left += 1;
    if (p->heat) {
        char text[32];

        s.right =
            2.9 + figure_text_width(heat_text(text, p->heat, p->heat->hi));
    }
    if (p->has_y2)
        s.right = 3.4 + tick_width(&p->y2);
    if (p->owners == OWNERS_AT_ENDS)
        s.right += legend_width(p->entry, first) - 3.2;
    l->bar = p->has_y2 || p->owners == OWNERS_AT_ENDS ? s.right : 0;
    if (p->ramp)
        s.right += 5.5;
    if (p->legend == LEGEND_RIGHT)
        s.right += legend_width(p->entry + first, n) + 0.6;
    if (p->legend == LEGEND_BELOW && n)
        s.below +=
            LEGEND_LINE * (double)legend_lines(l, p->entry + first, n) + 0.2;
    return s;
}

void layout_panel(struct layout *l, const struct figure *f, size_t panel)
{
    const struct panel *p = f->panel[panel];
    const size_t row = panel / f->cols, col = panel % f->cols;
    const double top = layout_top(f);
    const double bottom = layout_em_y(f, (double)layout_notes(f) * 1.15 + 0.3) +
                          f->look.margin / f->look.height;
    const double high = (top - bottom) / (double)f->rows;
    const double edge = f->look.margin / f->look.width;
    /* the last row is filled by fewer, wider panels */
    const size_t in_row =
        row + 1 == f->rows ? f->n_panels - row * f->cols : f->cols;
    const double wide = (1 - 2 * edge) / (double)in_row;
    const struct box cell =
        (struct box){ edge + (double)col * wide, top - (double)(row + 1) * high,
                      edge + (double)(col + 1) * wide,
                      top - (double)row * high };
    const bool full = f->n_panels == f->rows * f->cols;
    struct sides most = { 0 };

    l->legend_room = (cell.x1 - cell.x0) / layout_em_x(f, 1) - 1.5;
    /* the axes of a row and those of a column are aligned */
    for (size_t i = 0; i < f->n_panels; i++) {
        const struct sides s = sides_of(f, f->panel[i], l);

        if (i % f->cols == col &&
            (in_row == f->cols) == (i / f->cols + 1 < f->rows || full)) {
            most.left = fmax(most.left, s.left);
            most.right = fmax(most.right, s.right);
        }
        if (i / f->cols == row) {
            most.below = fmax(most.below, s.below);
            most.above = fmax(most.above, s.above);
        }
    }
    l->legend_cols = 1;
    if (p->legend == LEGEND_BELOW)
        sides_of(f, p, l);
    l->plot.x0 = cell.x0 + layout_em_x(f, most.left);
    l->plot.x1 = cell.x1 - layout_em_x(f, most.right);
    l->plot.y0 = cell.y0 + layout_em_y(f, most.below);
    l->plot.y1 = cell.y1 - layout_em_y(f, most.above);
    l->y_label = l->plot.x0 - layout_em_x(f, sides_of(f, p, l).left - 1.1);
    l->y2_label = l->plot.x1 + layout_em_x(f, tick_width(&p->y2) + 2.2);
    l->x_label = l->plot.y0 - layout_em_y(f, 2.95);
    l->legend_x = cell.x0 + layout_em_x(f, 1);
    l->legend_y = l->plot.y0 - layout_em_y(f, 4.2);
    if (p->legend == LEGEND_RIGHT) {
        l->legend_x = l->plot.x1 + layout_em_x(f, p->ramp ? 6.5 : 1);
        l->legend_y = l->plot.y1 - layout_em_y(f, 0.9);
    }
    if (p->legend == LEGEND_INSIDE)
        place_inside(l, f, p);
    l->window = (struct box){
        l->plot.x0 + p->inset.x0 * (l->plot.x1 - l->plot.x0),
        l->plot.y0 + p->inset.y0 * (l->plot.y1 - l->plot.y0),
        l->plot.x0 + p->inset.x1 * (l->plot.x1 - l->plot.x0),
        l->plot.y0 + p->inset.y1 * (l->plot.y1 - l->plot.y0),
    };
    l->inset = (struct box){
        l->window.x0 + layout_em_x(f, tick_width(&p->inset_y) + 0.6),
        l->window.y0 + layout_em_y(f, 1.6),
        l->window.x1 - layout_em_x(f, 0.9),
        l->window.y1 - layout_em_y(f, 0.5),
    };
}
