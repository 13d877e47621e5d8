#include "config.h"
#include "plot/draw/legend.h"

#include <math.h>
#include <string.h>

#include "common/mem.h"

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

size_t legend_flow(const struct entry *e, size_t n, double room, size_t entry,
                   double *x)
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
