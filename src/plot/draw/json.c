#include "config.h"
#include "plot/draw/json.h"

#include <math.h>

#include "plot/draw/axis.h"
#include "plot/draw/figure.h"

static const char *const styles[] = {
    [STYLE_LINE] = "line",
    [STYLE_POINTS] = "points",
    [STYLE_LINE_POINTS] = "line-points",
    [STYLE_AREA] = "area",
};

static const char *const mark_types[] = {
    [MARK_AT_X] = "at-x",   [MARK_AT_Y] = "at-y",   [MARK_AT_XY] = "at-xy",
    [MARK_NAN] = "nan",     [MARK_ABOVE] = "above", [MARK_BEYOND] = "beyond",
    [MARK_BELOW] = "below",
};

static const char *const owners[] = {
    [OWNERS_LISTED] = "listed",
    [OWNERS_AT_ENDS] = "at-ends",
    [OWNERS_SHARED] = "shared",
};

static void write_rgb(struct emit *o, const char *key, uint32_t rgb)
{
    emit_printf(o, key, "#%06x", rgb);
}

void json_colours(struct emit *o, int slot)
{
    if (slot == COLOUR_NONE)
        return;
    write_rgb(o, "colour", palette_curve(THEME_LIGHT, slot));
    write_rgb(o, "colour_dark", palette_curve(THEME_DARK, slot));
}

static void write_theme(struct emit *o, enum theme t)
{
    const struct palette *p = palette_of(t);

    emit_object(o, p->name);
    write_rgb(o, "ground", p->ground);
    write_rgb(o, "text", p->text);
    write_rgb(o, "grid", p->grid);
    write_rgb(o, "grey", p->grey);
    emit_object_end(o);
}

/* Ticks for zooms: of each level, the labelled ones as [AT,LABEL,...].  A level
 * has those of parts that are a quarter of the ones before. */
static void write_finer(struct emit *o, const struct axis *a, int levels)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    struct axis fine;
    int parts = 1;

    emit_array(o, "finer");
    for (int level = 0; level < levels; level++) {
        double last = -INFINITY;

        axis_finer(&fine, a, &mem, parts *= 4);
        emit_array(o, NULL);
        for (size_t i = 0; i < fine.n_ticks; i++) {
            if (!*fine.tick[i].label || fine.tick[i].at <= last)
                continue; /* parts share their ends */
            last = fine.tick[i].at;
            emit_real(o, NULL, last);
            emit_text(o, NULL, fine.tick[i].label);
        }
        emit_array_end(o);
    }
    emit_array_end(o);
}

void json_axis(struct emit *o, const char *key, const struct axis *a, int finer)
{
    emit_object(o, key);
    emit_text(o, "title", a->shown ? a->shown : a->label);
    emit_bool(o, "log", a->scale == SCALE_LOG);
    emit_real(o, "from", a->lo);
    emit_real(o, "to", a->hi);
    emit_real(o, "factor", a->factor);
    emit_array(o, "ticks");
    for (size_t i = 0; i < a->n_ticks; i++) {
        emit_object(o, NULL);
        emit_real(o, "at", a->tick[i].at);
        emit_text(o, "label", a->tick[i].label);
        emit_object_end(o);
    }
    emit_array_end(o);
    if (finer)
        write_finer(o, a, finer);
    emit_object_end(o);
}

static void write_curve(struct emit *o, const struct curve *c)
{
    emit_object(o, NULL);
    emit_text(o, "run", c->id);
    emit_text(o, "name", c->run);
    emit_text(o, "label", c->label);
    emit_text(o, "line", c->line);
    emit_text(o, "rank", c->rank);
    emit_text(o, "value", c->value);
    json_colours(o, c->colour);
    emit_int(o, "dash", palette_dash(THEME_LIGHT, c->colour, c->dash));
    emit_text(o, "style", styles[c->style]);
    emit_int(o, "every", (int64_t)c->every);
    emit_bool(o, "thin", c->thin);
    emit_bool(o, "faint", c->faint);
    emit_bool(o, "best", c->best);
    emit_bool(o, "right", c->right);
    emit_bool(o, "bars", c->bars);
    emit_reals(o, "x", c->x, c->n);
    emit_reals(o, "y", c->y, c->n);
    if (c->lo) {
        emit_reals(o, "y_low", c->lo, c->n);
        emit_reals(o, "y_high", c->hi, c->n);
    }
    emit_object_end(o);
}

static void write_marks(struct emit *o, const struct panel *p)
{
    emit_array(o, "marks");
    for (size_t i = 0; i < p->n_marks; i++) {
        const struct mark *m = &p->mark[i];

        emit_object(o, NULL);
        emit_text(o, "kind", mark_types[m->type]);
        emit_bool(o, "small", m->small);
        emit_bool(o, "left", m->left);
        emit_real(o, "at_x", mark_is_level(m) ? (double)NAN : m->x);
        emit_real(o, "at_y", m->y);
        emit_text(o, "label", m->label);
        emit_text(o, "command", m->command);
        json_colours(o, m->colour);
        emit_object_end(o);
    }
    emit_array_end(o);
}

static void write_legend(struct emit *o, const struct panel *p)
{
    emit_object(o, "legend");
    emit_text(o, "place",
              p->legend == LEGEND_INSIDE ? "inside"
                                         : figure_legends[p->legend]);
    emit_text(o, "owners", owners[p->owners]);
    emit_array(o, "entries");
    for (size_t i = 0; i < p->n_entries; i++) {
        const struct entry *e = &p->entry[i];

        emit_object(o, NULL);
        emit_text(o, "label", e->label);
        json_colours(o, e->colour);
        emit_int(o, "dash", palette_dash(THEME_LIGHT, e->colour, e->dash));
        emit_text(o, "style", styles[e->style]);
        emit_object_end(o);
    }
    emit_array_end(o);
    emit_object_end(o);
}

static void write_names(struct emit *o, const char *key,
                        const char *const *name, size_t n)
{
    emit_array(o, key);
    for (size_t i = 0; i < n; i++)
        emit_text(o, NULL, name[i]);
    emit_array_end(o);
}

/* A cell has its text and its colours; "best" is the index of one. */
static void write_heat(struct emit *o, const struct heat *h)
{
    char text[32];

    emit_object(o, "heat");
    emit_text(o, "label", h->label);
    write_names(o, "x", h->x_name, h->nx);
    write_names(o, "y", h->y_name, h->ny);
    emit_int(o, "best", (int64_t)h->best);
    emit_array(o, "cells");
    for (size_t i = 0; i < h->nx * h->ny; i++) {
        uint32_t rgb;

        if (isnan(h->value[i])) {
            emit_null(o, NULL);
            continue;
        }
        rgb = palette_ramp(THEME_LIGHT, heat_part(h, h->value[i]));
        emit_object(o, NULL);
        emit_real(o, "value", h->value[i]);
        emit_text(o, "text", heat_text(text, h, h->value[i]));
        write_rgb(o, "colour", rgb);
        write_rgb(o, "text_colour", palette_on(rgb));
        emit_object_end(o);
    }
    emit_array_end(o);
    emit_object_end(o);
}

static void write_ramp(struct emit *o, const struct ramp *r)
{
    enum { STOPS = 9 };

    emit_object(o, "ramp");
    emit_text(o, "label", r->label);
    emit_real(o, "from", r->lo);
    emit_real(o, "to", r->hi);
    emit_bool(o, "log", r->log);
    emit_array(o, "stops");
    for (int i = 0; i < STOPS; i++) {
        emit_object(o, NULL);
        json_colours(o, palette_ramp_slot((double)i / (STOPS - 1)));
        emit_object_end(o);
    }
    emit_array_end(o);
    emit_object_end(o);
}

static void write_panel(struct emit *o, const struct panel *p, int finer)
{
    emit_object(o, NULL);
    emit_text(o, "title", p->title);
    json_axis(o, "x", &p->x, finer);
    json_axis(o, "y", &p->y, finer);
    if (p->has_y2)
        json_axis(o, "y2", &p->y2, finer);
    else
        emit_null(o, "y2");
    emit_bool(o, "high_is_good", p->high_is_good);
    emit_array(o, "curves");
    for (int level = 0; level < CURVE_LEVELS; level++)
        for (size_t i = 0; i < p->n_curves; i++)
            if (curve_level(&p->curve[i]) == level)
                write_curve(o, &p->curve[i]);
    emit_array_end(o);
    write_marks(o, p);
    write_legend(o, p);
    if (p->heat)
        write_heat(o, p->heat);
    if (p->ramp)
        write_ramp(o, p->ramp);
    emit_object_end(o);
}

void json_figure(struct emit *o, const struct figure *f)
{
    emit_text(o, "schema", "gplot.figure/1");
    emit_text(o, "title", f->title);
    write_names(o, "notes", f->note, f->n_notes);
    emit_int(o, "rows", (int64_t)f->rows);
    emit_int(o, "columns", (int64_t)f->cols);
    emit_array(o, "panels");
    for (size_t i = 0; i < f->n_panels; i++)
        write_panel(o, f->panel[i], f->look.finer);
    emit_array_end(o);
    emit_object(o, "theme");
    write_theme(o, THEME_LIGHT);
    write_theme(o, THEME_DARK);
    emit_object_end(o);
}
