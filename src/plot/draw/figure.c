#include "config.h"
#include "plot/draw/figure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/hash.h"
#include "common/num.h"
#include "common/output/table.h"
#include "common/utf8.h"

const char *const figure_legends[] = { [LEGEND_AUTO] = "auto",
                                       [LEGEND_NONE] = "none",
                                       [LEGEND_TOP_RIGHT] = "top-right",
                                       [LEGEND_TOP_LEFT] = "top-left",
                                       [LEGEND_BOTTOM_RIGHT] = "bottom-right",
                                       [LEGEND_BOTTOM_LEFT] = "bottom-left",
                                       [LEGEND_RIGHT] = "right",
                                       [LEGEND_BELOW] = "below",
                                       NULL };

double heat_part(const struct heat *h, double value)
{
    const double part = h->hi > h->lo ? (value - h->lo) / (h->hi - h->lo) : 0.5;

    return h->low_is_good ? 1 - part : part;
}

char *heat_text(char out[32], const struct heat *h, double value)
{
    if (fabs(h->hi) < 1e6 && fabs(h->lo) < 1e6)
        snprintf(out, 32, "%.*f", h->digits, value);
    else
        snprintf(out, 32, "%.3e", value);
    return out;
}

double ramp_value(const struct ramp *r, double part)
{
    return r->log ? r->lo * pow(r->hi / r->lo, part)
                  : r->lo + part * (r->hi - r->lo);
}

struct panel *figure_panel(struct figure *f, const char *title)
{
    struct panel *p = arena_alloc(&f->mem, sizeof *p);

    p->title = title ? arena_strdup(&f->mem, title) : NULL;
    axis_init(&p->x, "step", UNIT_COUNT);
    axis_init(&p->y, "", UNIT_NONE);
    axis_init(&p->y2, "", UNIT_NONE);
    p->inset_lo = p->inset_hi = NAN;
    APPEND(f->panel, f->n_panels, f->panel_room) = p;
    return p;
}

struct curve *panel_curve(struct figure *f, struct panel *p, const char *label,
                          size_t n)
{
    struct curve *c = &APPEND(p->curve, p->n_curves, p->curve_room);

    *c = (struct curve){
        .label = label ? arena_strdup(&f->mem, label) : NULL,
        .run = "",
        .n = n,
        .x = arena_alloc(&f->mem, (n + 1) * sizeof(double)),
        .y = arena_alloc(&f->mem, (n + 1) * sizeof(double)),
    };
    return c;
}

void curve_band(struct figure *f, struct curve *c)
{
    c->lo = arena_alloc(&f->mem, (c->n + 1) * sizeof *c->lo);
    c->hi = arena_alloc(&f->mem, (c->n + 1) * sizeof *c->hi);
}

bool mark_is_level(const struct mark *m)
{
    return m->type == MARK_AT_Y || m->type == MARK_BEYOND;
}

int curve_level(const struct curve *c)
{
    return c->faint ? 0 : c->best ? 2 : 1;
}

const struct axis *curve_y(const struct panel *p, const struct curve *c)
{
    return c->right ? &p->y2 : &p->y;
}

double figure_between(const double *x, const double *y, size_t n, double at,
                      size_t *from)
{
    size_t i = *from;

    while (i < n && x[i] < at)
        i++;
    *from = i;
    if (i < n && x[i] == at)
        return y[i];
    return i == 0 || i == n ? (double)NAN
                            : y[i - 1] + (y[i] - y[i - 1]) * (at - x[i - 1]) /
                                             (x[i] - x[i - 1]);
}

bool panel_shows(const struct panel *p)
{
    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *c = &p->curve[i];
        bool from = false, to = false; /* a line may cross the range */

        for (size_t k = 0; k < c->n; k++) {
            from = from || (isfinite(c->y[k]) && !(c->x[k] > p->x.hi));
            to = to || (isfinite(c->y[k]) && !(c->x[k] < p->x.lo));
            if (from && to)
                return true;
        }
    }
    return p->heat;
}

struct mark *panel_mark(struct panel *p, enum mark_type type, double x,
                        double y)
{
    struct mark *m = &APPEND(p->mark, p->n_marks, p->mark_room);

    *m = (struct mark){ .type = type, .x = x, .y = y, .colour = COLOUR_GREY };
    return m;
}

void figure_note(struct figure *f, const char *fmt, ...)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;
    bool known = false;
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < f->n_notes; i++)
        known = known || strcmp(f->note[i], b.s) == 0;
    if (!known)
        APPEND(f->note, f->n_notes, f->note_room) = arena_strdup(&f->mem, b.s);
}

void figure_line(struct figure *f, const char *text)
{
    APPEND(f->line, f->n_lines, f->line_room) = arena_strdup(&f->mem, text);
}

void figure_free(struct figure *f)
{
    for (size_t i = 0; i < f->n_panels; i++)
        FREE(f->panel[i]->curve, f->panel[i]->mark, f->panel[i]->entry);
    FREE(f->entry, f->panel, f->note, f->line);
    arena_clear(&f->mem);
    *f = FIGURE_INIT;
}

double figure_text_width(const char *s)
{
    static const struct {
        const char *letters;
        double width;
    } kinds[] = { { ".,:;'|!ijl I", 0.34 },
                  { "frt-()[]/\"", 0.42 },
                  { "mwMW%@", 0.95 },
                  { "ABCDEGHKNOQRUV&+=<>~", 0.75 } };
    double ems = 0;

    while (*s) {
        const int32_t c = utf8_next(&s);
        /* U+2070 and so on are exponents */
        double width = c >= 0x2070 && c < 0x20A0 ? 0.42 : 0.64;

        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
            if (c > 0 && c < 128 && strchr(kinds[i].letters, (int)c))
                width = kinds[i].width;
        ems += c < 0x2E80 ? width : 1.1;
    }
    return ems;
}

/* A tab and the shortest text that reads back as the number. */
static void add_number(struct buf *b, double x)
{
    char text[NUM_TEXT];
    const int n = num_shortest(text, x);
    const bool whole = n > 2 && strcmp(text + n - 2, ".0") == 0;

    buf_char(b, '\t');
    buf_add(b, text, (size_t)(whole ? n - 2 : n));
}

/* What its lines begin with: the panel, the run and the name. */
static void curve_names(const struct panel *p, const struct curve *c,
                        struct buf *names)
{
    const char *name = (c + c->raw)->label;

    table_tsv_text(names, p->title ? p->title : p->y.label);
    buf_char(names, '\t');
    table_tsv_text(names, c->run);
    buf_char(names, '\t');
    table_tsv_text(names, name ? name : "raw");
    if (c->smoothed)
        buf_str(names, ", smoothed");
}

static void curve_data(const struct panel *p, const struct curve *c,
                       struct buf *b)
{
    AUTO(buf_clear) struct buf names = BUF_INIT;

    curve_names(p, c, &names);
    for (size_t j = 0; j < c->n; j++) {
        buf_add(b, names.s, names.len);
        add_number(b, c->x[j]);
        add_number(b, c->y[j]);
        if (c->lo) {
            add_number(b, c->lo[j]);
            add_number(b, c->hi[j]);
        }
        buf_str(b, c->lo ? "\n" : "\t\t\n");
    }
}

static void heat_data(const struct panel *p, struct buf *b)
{
    for (size_t k = 0; p->heat && k < p->heat->nx * p->heat->ny; k++) {
        table_tsv_text(b, p->title ? p->title : "");
        buf_str(b, "\t\t");
        table_tsv_text(b, p->heat->label);
        buf_char(b, '\t');
        table_tsv_text(b, p->heat->x_name[k % p->heat->nx]);
        buf_char(b, '\t');
        table_tsv_text(b, p->heat->y_name[k / p->heat->nx]);
        add_number(b, p->heat->value[k]);
        buf_str(b, "\t\n");
    }
}

void figure_data(const struct figure *f, struct buf *b)
{
    buf_str(b, "panel\trun\tcurve\tx\ty\tlow\thigh\n");
    for (size_t i = 0; i < f->n_panels; i++) {
        const struct panel *p = f->panel[i];

        for (size_t k = 0; k < p->n_curves; k++)
            curve_data(p, &p->curve[k], b);
        heat_data(p, b);
    }
}

/* Add numbers, with the same bytes for every NaN. */
static void hash_numbers(struct sha256 *h, const double *v, size_t n)
{
    double part[512];

    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < 512 ? n - i : 512;
        for (size_t k = 0; k < m; k++)
            part[k] = isnan(v[i + k]) ? (double)NAN : v[i + k];
        sha256_add(h, part, m * sizeof *part);
    }
}

void figure_hash(const struct figure *f, char out[SHA256_TEXT])
{
    AUTO(buf_clear) struct buf text = BUF_INIT;
    struct sha256 h;

    sha256_init(&h);
    for (size_t i = 0; i < f->n_panels; i++) {
        const struct panel *p = f->panel[i];

        for (size_t k = 0; k < p->n_curves; k++) {
            const struct curve *c = &p->curve[k];

            curve_names(p, c, &text);
            buf_printf(&text, "\t%zu%s\n", c->n, c->lo ? " with a band" : "");
            sha256_add(&h, text.s, text.len);
            buf_trim(&text, 0);
            hash_numbers(&h, c->x, c->n);
            hash_numbers(&h, c->y, c->n);
            hash_numbers(&h, c->lo, c->lo ? c->n : 0);
            hash_numbers(&h, c->hi, c->lo ? c->n : 0);
        }
        heat_data(p, &text);
    }
    sha256_add(&h, text.s, text.len);
    sha256_text(&h, out);
}

/* ---- colours ------------------------------------------------------------- */

/* clang-format off */
static const struct palette palettes[THEMES] = {
    [THEME_LIGHT] = {
        "light", 0xFFFFFF, 0x1A1A1A, 0xE4E4E4, 0x6E6E6E,
        { 0x0446A3, 0xD55E00, 0x037F44, 0xA12676,
          0x109AEE, 0x693100, 0xD17498, 0x2C3532 },
    },
    [THEME_DARK] = {
        "dark", 0x161B22, 0xE6EDF3, 0x30363D, 0x9AA4AF,
        { 0x4C86E4, 0xE4983C, 0x3FD6A1, 0xB16EA7,
          0xB0CBFF, 0xF9D724, 0xD95C55, 0xFFF9FF },
    },
    [THEME_MONO] = {
        "mono", 0xFFFFFF, 0x000000, 0xDDDDDD, 0x666666,
        { 0x000000, 0x555555, 0x7D7D7D, 0x2A2A2A,
          0x000000, 0x555555, 0x7D7D7D, 0x2A2A2A },
    },
};

/* Viridis at nine places (Smith and van der Walt, 2015; CC0): the lightness
 * grows evenly, with every kind of sight. */
static const uint32_t ramp[] = {
    0x440154, 0x472D7B, 0x3B528B, 0x2C728E, 0x21918C,
    0x28AE80, 0x5EC962, 0xADDC30, 0xFDE725,
};
/* clang-format on */

const struct palette *palette_of(enum theme t)
{
    return &palettes[t];
}

int palette_dash(enum theme t, int slot, int dash)
{
    if (dash)
        return dash % PALETTE_DASHES;
    if (slot < 0 || slot >= COLOUR_RAMP)
        return 0;
    return (t == THEME_MONO ? slot : slot / PALETTE_COLOURS) % PALETTE_DASHES;
}

static int byte_of(uint32_t colour, int shift)
{
    return (int)(colour >> shift & 0xFF);
}

uint32_t palette_mix(uint32_t a, uint32_t b, double part)
{
    uint32_t out = 0;

    for (int shift = 16; shift >= 0; shift -= 8) {
        const double v =
            part * byte_of(a, shift) + (1 - part) * byte_of(b, shift);

        out |= (uint32_t)lround(v) << shift;
    }
    return out;
}

uint32_t palette_ramp(enum theme t, double part)
{
    const int last = (int)(sizeof ramp / sizeof ramp[0]) - 1;
    const double at = fmin(fmax(part, 0), 1) * last;
    const int i = at >= last ? last - 1 : (int)at;

    if (t == THEME_MONO)
        return palette_mix(0xFFFFFF, 0x222222, fmin(fmax(part, 0), 1));
    return palette_mix(ramp[i + 1], ramp[i], at - i);
}

uint32_t palette_curve(enum theme t, int slot)
{
    if (slot >= COLOUR_RAMP) {
        const double part = (slot - COLOUR_RAMP) / 1000.0;

        return palette_ramp(t, t == THEME_LIGHT  ? 0.85 * part
                               : t == THEME_DARK ? 0.3 + 0.7 * part
                                                 : 0.75 * part);
    }
    return slot < 0 ? palettes[t].grey
                    : palettes[t].curve[slot % PALETTE_COLOURS];
}

int palette_ramp_slot(double part)
{
    return COLOUR_RAMP + (int)lround(fmin(fmax(part, 0), 1) * 1000);
}

static double luminance(uint32_t colour)
{
    static const double weight[] = { 0.0722, 0.7152, 0.2126 };
    double sum = 0;

    for (int i = 0; i < 3; i++) {
        const double c = byte_of(colour, 8 * i) / 255.0;

        sum += weight[i] *
               (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
}

double palette_contrast(uint32_t a, uint32_t b)
{
    const double la = luminance(a), lb = luminance(b);

    return (fmax(la, lb) + 0.05) / (fmin(la, lb) + 0.05);
}

uint32_t palette_on(uint32_t colour)
{
    return palette_contrast(colour, 0xFFFFFF) > palette_contrast(colour, 0)
               ? 0xFFFFFF
               : 0;
}

int palette_slot(const char *name)
{
    const unsigned hash = hash_name32(name);

    /* the last is almost the colour of the axes */
    return (int)((hash ^ hash >> 15) % (PALETTE_COLOURS - 1));
}
