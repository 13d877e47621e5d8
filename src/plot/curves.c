#include "config.h"
#include "plot/curves.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "plot/curve_groups.h"
#include "plot/draw/axis.h"
#include "plot/history.h"
#include "plot/marks.h"
#include "plot/summary.h"

void run_set_init(struct run_set *c, const struct run_info *run, size_t n,
                  struct arena *mem)
{
    bool taken[PALETTE_COLOURS] = { false };

    *c = (struct run_set){ run, n, arena_alloc(mem, (n + 1) * sizeof(int)),
                           arena_alloc(mem, (n + 1) * sizeof(char *)) };
    for (size_t i = 0; i < n; i++) {
        int slot = palette_slot(run[i].name);
        bool shared = false;

        /* a colour of its own while there are free ones, then dashes */
        for (int k = 0; k < PALETTE_COLOURS && taken[slot]; k++)
            slot = (slot + 1) % PALETTE_COLOURS;
        taken[slot] = true;
        c->slot[i] = slot + (int)(i / PALETTE_COLOURS) * PALETTE_COLOURS;
        if (i % PALETTE_COLOURS == PALETTE_COLOURS - 1)
            memset(taken, 0, sizeof taken);
        for (size_t k = 0; k < n; k++)
            shared =
                shared || (k != i && strcmp(run[k].name, run[i].name) == 0);
        c->name[i] =
            shared ? arena_printf(mem, "%s (%.8s)", run[i].name, run[i].id)
                   : arena_strdup(mem, run[i].name);
    }
}

/* One panel being filled. */
struct drawing {
    struct figure *f;
    struct panel *p;
    const struct run_set *set;
    const struct request *r;
    struct table *summary;
    bool lines_named;        /* more than one line: say which */
    bool validates;          /* there is a validation line */
    const struct kind *kind; /* NULL for metrics by name */
};

/* One curve to be. */
struct part {
    size_t run; /* of the set */
    const char *key, *line;
    const char *const *names;
    enum style style;
    int slot, dash;
    bool right;
    bool planned;   /* not to be smoothed */
    unsigned marks; /* the marks of --mark that this line shows */
};

static const char *label_of(struct drawing *d, const struct part *part,
                            int attempt)
{
    const bool many = d->set->n > 1 && !d->r->stitch;
    const char *name = d->set->name[part->run];
    struct buf b = BUF_INIT;
    char *label;

    if (many || !d->lines_named)
        buf_str(&b, name);
    if (d->lines_named)
        buf_printf(&b, "%s%s", b.len ? ", " : "", part->line);
    if (attempt > 0)
        buf_printf(&b, ", attempt %d", attempt);
    label = arena_strdup(&d->f->mem, b.s);
    buf_clear(&b);
    return label;
}

static struct curve *new_curve(struct drawing *d, const struct part *part,
                               const struct history *h, const char *label)
{
    struct curve *c = panel_curve(d->f, d->p, label, h->n);

    memcpy(c->x, h->x, h->n * sizeof *c->x);
    memcpy(c->y, h->y, h->n * sizeof *c->y);
    c->run = d->set->name[part->run];
    c->style = part->style;
    c->colour = part->slot;
    c->dash = part->dash;
    c->right = part->right;
    /* few points are seen only when they are drawn as such */
    if (c->style == STYLE_LINE && h->n < 3)
        c->style = STYLE_LINE_POINTS;
    return c;
}

/* Smoothed, with the raw one behind, or as it is. */
static void draw_attempt(struct drawing *d, const struct part *part,
                         struct history *h, int attempt)
{
    const char *label = label_of(d, part, attempt);
    const bool smooth = d->r->how.kind != SMOOTH_NONE &&
                        part->style == STYLE_LINE && !part->planned;
    char name[64];

    mark_bad(d->f, d->p, h, part->slot);
    history_skip(h, d->r->skip);
    if (smooth) {
        struct curve *raw = new_curve(d, part, h, NULL), *c;

        raw->faint = true;
        c = new_curve(d, part, h, label);
        smooth_apply(&d->r->how, h->y, c->y, h->n);
        figure_note(d->f, "Smoothed: %s; the raw values are behind.",
                    smooth_name(name, &d->r->how));
    } else {
        new_curve(d, part, h, label);
    }
    mark_wanted(d->f, d->p, d->r->marks & part->marks, d->r->attempts,
                &d->set->run[part->run], part->key, h, part->slot);
}

static int draw_attempts(struct drawing *d, struct part *part, struct err *e)
{
    const struct run_info *run = &d->set->run[part->run];
    struct history *h;
    size_t n;
    int ret = history_attempts(&h, &n, run, part->key, d->r, e);

    for (size_t i = 0; i < n; i++) {
        if (ret == 0) {
            /* attempts of one run: colours of their own when it is alone */
            const int slot = part->slot;

            if (d->set->n == 1 && !d->lines_named)
                part->slot = slot + (int)i;
            else
                part->dash = (int)i % PALETTE_DASHES;
            draw_attempt(d, part, &h[i], n > 1 ? h[i].attempt : 0);
            part->slot = slot;
        }
        history_free(&h[i]);
    }
    free(h);
    return ret;
}

static int draw_part(struct drawing *d, struct part *part, struct err *e)
{
    const struct run_info *run = &d->set->run[part->run];
    const enum unit unit = part->right ? d->p->y2.unit : d->p->y.unit;
    struct history h;
    int ret;

    if (d->r->stitch && d->set->n > 1) {
        ret = history_stitch(&h, run, d->set->n, part->names, d->r, e);
        for (size_t i = 1; i < d->set->n && ret == 0 && part->marks; i++)
            mark_seam(d->p, &d->set->run[i], part->names, &h);
    } else {
        ret = history_load(&h, run, part->key, d->r, e);
    }
    if (ret < 0)
        return -1;
    if (d->summary)
        summary_add(d->summary, d->set->name[part->run], part->key, unit, h.y,
                    h.step, h.n);
    if (d->r->attempts) {
        history_free(&h);
        return draw_attempts(d, part, e);
    }
    draw_attempt(d, part, &h, 0);
    history_free(&h);
    return 0;
}

/*
 * Kinds
 */

/* The keys of a line in a run: one, or one a rank, in their order. */
static size_t line_keys(const struct run_info *run, const struct kind_line *l,
                        const char **key, size_t room)
{
    const char *first = history_find(run, l->names);
    size_t n = 0;

    if (first)
        key[n++] = first;
    if (!l->ranks)
        return n;
    for (int rank = 1; rank < 4096 && n < room; rank++) {
        size_t before = n;

        for (int k = 0; k < KIND_NAMES && l->names[k] && n == before; k++) {
            const char *slash = strchr(l->names[k], '/');
            char name[256];
            const struct metric_sum *m;

            if (!slash)
                continue;
            snprintf(name, sizeof name, "%.*s/%d%s", (int)(slash - l->names[k]),
                     l->names[k], rank, slash);
            m = run_info_metric(run, name);
            if (m)
                key[n++] = m->key;
        }
        if (n == before && rank > (int)n + 8)
            break;
    }
    return n;
}

static int none_found(const struct kind *k, const struct run_set *set,
                      struct err *e)
{
    const struct run_info *run = &set->run[0];
    struct buf has = BUF_INIT, wants = BUF_INIT;
    int ret;

    for (size_t i = 0; i < run->n_metrics && i < 12; i++)
        buf_printf(&has, "%s%s", i ? ", " : "", run->metrics[i].key);
    for (int i = 0; i < KIND_LINES && k->line[i].label; i++)
        buf_printf(&wants, "%s%s", i ? " or " : "", k->line[i].names[0]);
    ret = err_set(e, ERR_MISSING,
                  "%s has no metric for %s (%s); %s%s; "
                  "'gplot metric NAME RUN' draws any",
                  run->name, k->cmd.name, wants.s,
                  has.len ? "it has " : "it has none at all",
                  has.len ? has.s : "");
    buf_clear(&has);
    buf_clear(&wants);
    return ret;
}

static int colour_of(const struct drawing *d, size_t run, int line, int rank,
                     int n_ranks)
{
    const int own = d->set->slot[run];
    const int step = n_ranks > 1 ? rank : line;

    /* A run alone spends its colours on lines, or on ranks; runs together
     * have one colour each. */
    if (d->set->n > 1 && !d->r->stitch)
        return own;
    return (own + step) % PALETTE_COLOURS +
           step / PALETTE_COLOURS * PALETTE_COLOURS;
}

/* What happened is marked on the first line; the best is that of validation,
 * where there is one. */
static unsigned marks_of(const struct drawing *d, const struct kind_line *l,
                         int index)
{
    const bool best =
        d->validates ? strcmp(l->label, "validation") == 0 : index == 0;

    return (index == 0 ? ~(unsigned)SHOW_BEST : 0) | (best ? SHOW_BEST : 0);
}

static int draw_line(struct drawing *d, const struct kind_line *l, int index,
                     struct err *e)
{
    enum { MOST_RANKS = 1024 };
    const char **key = xcalloc(MOST_RANKS, sizeof *key);
    const bool together = d->set->n > 1 && !d->r->stitch;
    int ret = 0;

    for (size_t i = 0; i < d->set->n && ret == 0; i++) {
        const size_t n = line_keys(&d->set->run[i], l, key, MOST_RANKS);

        for (size_t k = 0; k < n && ret == 0; k++) {
            char plain[256];
            const int rank = kind_rank(key[k], plain, sizeof plain);
            struct part part = { .run = i,
                                 .key = key[k],
                                 .line = l->label,
                                 .names = l->names,
                                 .style = l->style,
                                 .planned = d->kind && d->kind->planned,
                                 .marks = k == 0 ? marks_of(d, l, index) : 0 };

            if (n > 1) {
                part.line =
                    arena_printf(&d->f->mem, "%s, rank %d", l->label, rank);
                d->lines_named = true;
            }
            part.slot = colour_of(d, i, index, (int)k, (int)n);
            part.dash = together || n > 1 ? l->dash : 0;
            if (together && d->lines_named && l->style == STYLE_LINE_POINTS)
                part.dash = 1;
            ret = draw_part(d, &part, e);
        }
        if (d->r->stitch)
            break;
    }
    free(key);
    return ret;
}

static int add_y2(struct drawing *d, struct err *e)
{
    const char *name = d->r->y2;
    const char *const names[] = { name, NULL };
    const struct kind_line *line = NULL;
    const struct kind *k = kind_find(name);
    const char *const *wanted = names;
    bool found = false;

    if (k) {
        line = &k->line[0];
        wanted = line->names;
    } else {
        k = kind_of_metric(name, &line);
    }
    d->p->has_y2 = true;
    axis_init(&d->p->y2, k ? k->label : arena_strdup(&d->f->mem, name),
              k ? k->unit : UNIT_NONE);
    d->p->y2.from_zero = k && k->from_zero;
    d->lines_named = true;
    for (size_t i = 0; i < d->set->n; i++) {
        const char *key = history_find(&d->set->run[i], wanted);
        struct part part = { .run = i,
                             .key = key,
                             .names = wanted,
                             .line = k ? line->label : name,
                             .style = STYLE_LINE,
                             .dash = 2,
                             .right = true,
                             .planned = k && k->planned };

        if (!key)
            continue;
        found = true;
        part.slot = d->set->n > 1 && !d->r->stitch ? d->set->slot[i]
                                                   : d->set->slot[i] + 3;
        if (draw_part(d, &part, e) < 0)
            return -1;
        if (d->r->stitch)
            break;
    }
    return found ? 0
                 : err_set(e, ERR_MISSING,
                           "no run has the metric %s of "
                           "--y2",
                           name);
}

static void name_axes(struct drawing *d, const struct kind *k)
{
    history_axis(d->r, &d->p->x);
    axis_init(&d->p->y, k->label, k->unit);
    d->p->y.from_zero = k->from_zero;
    request_axes(d->r, d->p);
}

static int baselines(struct drawing *d, struct err *e)
{
    for (size_t i = 0; i < d->r->baseline.n; i++) {
        const char *text = d->r->baseline.item[i];
        const char *equals = strrchr(text, '=');
        struct mark *m;
        double y;

        if (!equals || !request_bound(equals + 1, strlen(equals + 1), &y) ||
            isnan(y))
            return err_set(e, ERR_USAGE,
                           "--baseline expects NAME=VALUE, "
                           "not '%s'",
                           text);
        m = panel_mark(d->p, MARK_AT_Y, 0, y);
        m->label = arena_strndup(&d->f->mem, text, (size_t)(equals - text));
    }
    return 0;
}

int curves_kind(struct figure *f, struct panel *p, const struct kind *k,
                const struct run_set *set, const struct request *r,
                struct table *summary, struct err *e)
{
    struct drawing d = {
        .f = f, .p = p, .set = set, .r = r, .summary = summary
    };
    int found = 0, index = 0;

    d.kind = k;
    name_axes(&d, k);
    for (int i = 0; i < KIND_LINES && k->line[i].label; i++) {
        bool any = false;

        for (size_t n = 0; n < set->n; n++)
            any = any || history_find(&set->run[n], k->line[i].names);
        found += any;
        d.validates =
            d.validates || (any && strcmp(k->line[i].label, "validation") == 0);
    }
    if (found == 0)
        return none_found(k, set, e);
    d.lines_named = found > 1;
    for (int i = 0; i < KIND_LINES && k->line[i].label; i++) {
        const struct kind_line *l = &k->line[i];

        if (r->group_by) {
            if (curves_group(f, p, l, found > 1, set, r, summary, e) < 0)
                return -1;
        } else if (draw_line(&d, l, index, e) < 0) {
            return -1;
        }
        for (size_t n = 0; n < set->n; n++)
            if (history_find(&set->run[n], l->names)) {
                index++;
                break;
            }
    }
    if (r->y2 && add_y2(&d, e) < 0)
        return -1;
    return baselines(&d, e);
}

/* All metrics that match, of all runs, each once, sorted. */
static size_t matching(const struct run_set *set, const char *pattern,
                       const char **key, size_t room)
{
    size_t n = 0;

    for (size_t i = 0; i < set->n; i++) {
        const struct run_info *run = &set->run[i];

        for (size_t k = 0; k < run->n_metrics && n < room; k++) {
            bool known = false;

            if (fnmatch(pattern, run->metrics[k].key, 0) != 0)
                continue;
            for (size_t m = 0; m < n; m++)
                known = known || strcmp(key[m], run->metrics[k].key) == 0;
            if (!known)
                key[n++] = run->metrics[k].key;
        }
    }
    return n;
}

static int draw_metric(struct drawing *d, const char *key, int index,
                       struct err *e)
{
    const char *const *names =
        memcpy(arena_alloc(&d->f->mem, 2 * sizeof(char *)), &key, sizeof key);
    const bool together = d->set->n > 1 && !d->r->stitch;

    for (size_t i = 0; i < d->set->n; i++) {
        const struct metric_sum *m = run_info_metric(&d->set->run[i], key);
        const struct kind *k = kind_of_metric(key, NULL);
        struct part part = { .run = i,
                             .key = key,
                             .line = key,
                             .names = names,
                             .style = STYLE_LINE,
                             .planned = k && k->planned,
                             .marks = index == 0 ? ~0U : 0 };

        if (!m)
            continue;
        if (m->count < 40)
            part.style = STYLE_LINE_POINTS;
        part.slot = d->set->slot[i] + (together ? 0 : index);
        part.dash = together ? index % PALETTE_DASHES : 0;
        if (draw_part(d, &part, e) < 0)
            return -1;
        if (d->r->stitch)
            break;
    }
    return 0;
}

int curves_metrics(struct figure *f, struct panel *p, const char *names,
                   const struct run_set *set, const struct request *r,
                   struct table *summary, struct err *e)
{
    enum { MOST = 64 };
    struct drawing d = {
        .f = f, .p = p, .set = set, .r = r, .summary = summary
    };
    const char *key[MOST];
    const struct kind *k = NULL;
    bool same = true;
    size_t n = 0;

    while (*names) {
        const size_t len = strcspn(names, ",");
        char *pattern = xstrndup(names, len);
        const size_t found = matching(set, pattern, key + n, MOST - n);

        if (found == 0) {
            err_set(e, ERR_MISSING,
                    "no run has a metric '%s'; 'gtrack show "
                    "%s' lists those it has",
                    pattern, set->name[0]);
            free(pattern);
            return -1;
        }
        free(pattern);
        n += found;
        names += len + (names[len] == ',');
    }
    for (size_t i = 0; i < n; i++) {
        const struct kind *other = kind_of_metric(key[i], NULL);

        same = same && (i == 0 || other == k);
        k = other;
    }
    history_axis(r, &p->x);
    axis_init(&p->y,
              same && k ? k->label
              : n == 1  ? arena_strdup(&f->mem, key[0])
                        : "value",
              same && k ? k->unit : UNIT_NONE);
    request_axes(r, p);
    d.lines_named = n > 1;
    for (size_t i = 0; i < n; i++) {
        if (r->group_by) {
            const struct kind_line l = { .label = arena_strdup(&f->mem, key[i]),
                                         .names = { key[i] } };

            if (curves_group(f, p, &l, n > 1, set, r, summary, e) < 0)
                return -1;
        } else if (draw_metric(&d, key[i], (int)i, e) < 0) {
            return -1;
        }
    }
    if (r->y2 && add_y2(&d, e) < 0)
        return -1;
    return baselines(&d, e);
}
