#include "config.h"
#include "plot/curves.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/machine/cores.h"
#include "plot/expression.h"
#include "plot/smooth_choice.h"
#include "store/query/differ.h"
#include "store/query/run_value.h"

/* A panel being drawn. */
struct drawing {
    struct build *b;
    struct figure *f;
    struct panel *p;
    const struct run_set *set;
    const struct request *r;
    bool together;    /* several runs, each a curve of its own */
    bool lines_named; /* the labels name lines */
    bool validates;   /* there is a validation line */
    bool many;        /* runs, of which the best one stands out */
    size_t best;
    size_t every;      /* of more runs than can be told apart, one of so many */
    struct smooth how; /* that was chosen for all runs */
    struct smooth_sample sample;
    const char *how_for; /* the metric */
    struct tally bad, spikes;
    struct part *next; /* that are to be drawn */
    int n_next;
};

enum { MOST_RUNS = 1000, AT_ONCE = 8 };

/* One curve: a metric of a run, or of the runs that are stitched. */
struct part {
    size_t run; /* of the set */
    const char *key, *line;
    const char *kind;         /* of line, without its rank */
    const char *owner;        /* whose colour it has, in a single run */
    const char *const *names; /* of the metric, in other runs */
    enum style style;
    int slot, dash;
    bool right;
    bool planned; /* never smoothed */
    struct smooth how;
    unsigned marks; /* those of --mark that this curve may have */
    /* what load_part() makes of it */
    struct drawing *d;
    struct history h;
    struct err e;
    int ret;
};

static struct tally tally_of(struct build *b)
{
    return (struct tally){
        .run = b->set.run,
        .seen = arena_alloc(&b->figure->mem, b->set.n + 1),
        .text = BUF_INIT,
    };
}

static struct drawing drawing_of(struct build *b, struct panel *p)
{
    return (struct drawing){
        .b = b,
        .f = b->figure,
        .p = p,
        .set = &b->set,
        .r = b->request,
        .together = b->set.n > 1 && !b->request->stitch,
        .every = (b->set.n + MOST_RUNS - 1) / MOST_RUNS,
        .bad = tally_of(b),
        .spikes = tally_of(b),
    };
}

static bool is_drawn(const struct drawing *d, size_t run)
{
    return run % d->every == 0 || run == d->best;
}

/* Note it if the values of the runs do not compare. */
static void note_caution(const struct drawing *d, const char *key)
{
    const char *why = differ_caution(d->set->run, d->set->n, key);

    if (why && d->together)
        figure_note(d->f, "Note that %s.", why);
}

static const char *label_of(struct drawing *d, const struct part *part,
                            int attempt)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;

    if (d->together || !d->lines_named)
        buf_str(&b, d->set->shown[part->run]);
    if (d->lines_named)
        buf_printf(&b, "%s%s", b.len ? ", " : "", part->line);
    if (attempt > 0)
        buf_printf(&b, ", attempt %d", attempt);
    return arena_strdup(&d->f->mem, b.s);
}

static struct curve *new_curve(struct drawing *d, const struct part *part,
                               struct history *h, const char *label)
{
    struct curve *c = history_curve(d->f, d->p, label, h);

    c->run = d->set->name[part->run];
    c->id = d->set->run[part->run].id;
    c->rank = part->owner;
    if (!d->r->attempts) { /* which have colours or dashes of their own */
        c->owner = d->together ? d->set->shown[part->run] : part->owner;
        c->value =
            d->together && d->set->value ? d->set->value[part->run] : NULL;
        c->line = part->kind;
    }
    if (d->many) {
        c->best = part->run == d->best;
        c->thin = !c->best;
        c->unlisted = !c->best && d->set->ramp;
    }
    c->outlined = h->coarse;
    c->style = part->style;
    c->colour = part->slot;
    c->dash = part->dash;
    c->right = part->right;
    /* a line of two points, or of one, needs the points to be seen */
    if (c->style == STYLE_LINE && h->n < 3)
        c->style = STYLE_LINE_POINTS;
    return c;
}

static bool is_smoothed(const struct part *part, const struct history *h)
{
    return part->how.kind != SMOOTH_NONE &&
           (double)h->n >= smooth_points(&part->how);
}

/* The curve, or its smoothed values before the raw ones. */
static void draw_attempt(struct drawing *d, const struct part *part,
                         struct history *h, int attempt)
{
    const char *label = label_of(d, part, attempt);
    const struct marked m = { .figure = d->f,
                              .panel = d->p,
                              .run = &d->set->run[part->run],
                              .key = part->key,
                              .history = h,
                              .slot = part->slot,
                              .bad = d->together ? &d->bad : NULL,
                              .spikes = d->together ? &d->spikes : NULL };
    const unsigned marks = d->r->marks & part->marks;
    const bool smooth = is_smoothed(part, h);
    struct curve *c;

    mark_bad(&m);
    if (smooth) {
        /* what is skipped counts for the values after it */
        size_t skipped = h->n;

        history_smooth(h, &part->how);
        history_skip(h, d->r->skip);
        skipped -= h->n;
        if (!d->many || part->run == d->best) {
            c = new_curve(d, part, h, NULL);
            c->faint = c->raw = true;
        }
        c = new_curve(d, part, h, label);
        c->smoothed = true;
        c->y = h->smooth + skipped;
        smooth_note(d->f, &part->how, d->many ? "" : RAW_BEHIND);
        if (h->coarse)
            figure_note(d->f, "Long curves are smoothed by means of several "
                              "points; zoom in for single ones.");
    } else {
        history_skip(h, d->r->skip);
        new_curve(d, part, h, label);
    }
    mark_wanted(&m, d->r->attempts ? marks & ~(1U << SHOW_RESUME) : marks);
}

static int draw_attempts(struct drawing *d, const struct part *part,
                         struct err *e)
{
    const struct run_info *run = &d->set->run[part->run];
    struct history *h;
    size_t n;
    int ret = history_attempts(&h, &n, run, part->key, d->r, e);

    for (size_t i = 0; i < n; i++) {
        if (ret == 0) {
            struct part one = *part;

            /* attempts have colours only if there is one run and one line */
            if (d->set->n == 1 && !d->lines_named)
                one.slot += (int)i;
            else
                one.dash = (int)i % PALETTE_DASHES;
            draw_attempt(d, &one, &h[i], n > 1 ? h[i].attempt : 0);
        }
        history_free(&h[i]);
    }
    free(h);
    return ret;
}

/* Validation and plans are never smoothed; memory and utilisation, whose single
 * values matter, only if that was asked for. */
static bool may_smooth(const struct drawing *d, const struct part *part)
{
    const enum unit unit = part->right ? d->p->y2.unit : d->p->y.unit;

    return part->style == STYLE_LINE && !part->planned &&
           (d->r->how.kind != SMOOTH_AUTO ||
            (unit != UNIT_BYTES && unit != UNIT_PERCENT));
}

/* The rows of a curve below the figure. */
static void summarise(struct drawing *d, struct part *part)
{
    const struct curve_summary c = {
        .run = &d->set->run[part->run],
        .name = (d->set->labelled ? d->set->shown : d->set->name)[part->run],
        .key = part->key,
        .unit = part->right ? d->p->y2.unit : d->p->y.unit,
        .history = &part->h,
        .how = is_smoothed(part, &part->h) ? &part->how : NULL,
    };

    if (d->b->summary)
        curve_summarise(d->b->summary, &c, d->r);
}

/* In a thread: nothing of the figure. */
static void load_part(void *arg)
{
    struct part *part = arg;
    struct drawing *d = part->d;
    const struct run_info *run = &d->set->run[part->run];

    part->ret =
        d->r->stitch && d->set->n > 1
            ? history_stitch(&part->h, run, d->set->n, part->names, d->r,
                             &part->e)
            : smooth_take(&d->sample, &part->h, run, part->key, d->r, &part->e);
    if (part->ret < 0)
        return;
    part->how = !may_smooth(d, part) ? (struct smooth){ SMOOTH_NONE, 0 }
                : d->together        ? d->how
                                     : smooth_choice(&part->h, d->r);
    if (is_smoothed(part, &part->h))
        history_smooth(&part->h, &part->how);
}

static int draw_part(struct drawing *d, struct part *part, struct err *e)
{
    const struct run_info *run = &d->set->run[part->run];
    int ret = 0;

    if (part->ret < 0) {
        *e = part->e;
        return -1;
    }
    if (d->r->stitch)
        for (size_t i = 1; i < d->set->n && part->marks; i++)
            mark_seam(d->p, &d->set->run[i], part->names, &part->h);
    summarise(d, part);
    if (d->r->attempts)
        ret = draw_attempts(d, part, e);
    else
        draw_attempt(d, part, &part->h, 0);
    if (d->r->forecast && !part->planned && !part->right)
        curve_forecast(d->b, d->p, run, part->key, part->slot);
    return ret;
}

static int draw_parts(struct drawing *d, struct err *e)
{
    int ret = 0;

    /* several runs are smoothed alike */
    for (int i = 0; i < d->n_next && d->together; i++) {
        const char *const *names = d->next[i].names;

        if (!may_smooth(d, &d->next[i]) || d->how_for == names[0])
            continue;
        d->how_for = names[0];
        d->how = smooth_choice_set(d->set, names, d->r, &d->sample);
    }
    threads_run(load_part, d->next, sizeof *d->next, d->n_next);
    for (int i = 0; i < d->n_next; i++) {
        ret = ret < 0 ? ret : draw_part(d, &d->next[i], e);
        history_free(&d->next[i].h);
    }
    free(d->next);
    d->next = NULL;
    d->n_next = 0;
    return ret;
}

/* Draw it after those before it, at the latest by draw_parts(). */
static int add_part(struct drawing *d, const struct part *part, struct err *e)
{
    if (!d->next)
        d->next = xcalloc(AT_ONCE, sizeof *d->next);
    d->next[d->n_next] = *part;
    d->next[d->n_next++].d = d;
    return d->n_next < AT_ONCE ? 0 : draw_parts(d, e);
}

/*
 * Kinds
 */

/* Several runs have one colour each; the lines or the ranks of a run have
 * colours of their own if it is the only one. */
static int slot_of(const struct drawing *d, size_t run, int line)
{
    const int own = d->set->slot[run];

    if (d->together)
        return own;
    return (own + line) % PALETTE_COLOURS +
           line / PALETTE_COLOURS * PALETTE_COLOURS;
}

/* Events are marked on the first line; the best value on the validation line,
 * if there is one. */
static unsigned marks_of(const struct drawing *d,
                         const struct curve_kind_line *l, int index)
{
    const bool best =
        d->validates ? strcmp(l->label, "validation") == 0 : index == 0;

    return (index == 0 ? ~(1U << SHOW_BEST) : 0) | (best ? 1U << SHOW_BEST : 0);
}

/* Of a metric that was named, a few values are points. */
static enum style style_of(const struct curve_kind_line *l,
                           const struct run_info *run, const char *key)
{
    const struct metric_sum *m = run_info_metric(run, key);

    return l->named && !l->right && m && m->count < 40 ? STYLE_LINE_POINTS
                                                       : l->style;
}

/* The curves of a line of the figure: one of each run, or of each rank. */
static int draw_line(struct drawing *d, const struct curve_kind_line *l,
                     int index, struct err *e)
{
    enum { MOST_RANKS = 1024 };
    AUTO_FREE const char **key = xcalloc(MOST_RANKS, sizeof *key);
    const struct curve_kind *kind = curve_kind_of_metric(l->names[0], NULL);
    /* do the lines of a run share its colour? */
    const bool own = d->together || (d->f->shared && !l->named);
    int ret = 0;

    for (size_t i = 0; i < d->set->n && ret == 0; i++) {
        const struct run_info *run = &d->set->run[i];
        const size_t n =
            is_drawn(d, i) ? curve_kind_line_keys(run, l, key, MOST_RANKS) : 0;

        for (size_t k = 0; k < n && ret == 0; k++) {
            const int colour = n > 1 ? (int)k : own ? 0 : index;
            struct part part = { .run = i,
                                 .key = key[k],
                                 .line = l->label,
                                 .kind = l->label,
                                 .names = l->names,
                                 .style = style_of(l, run, key[k]),
                                 .slot = slot_of(d, i, colour),
                                 .dash = n > 1 || own || l->right ? l->dash : 0,
                                 .right = l->right,
                                 .planned = kind && kind->planned,
                                 .marks = k == 0 ? marks_of(d, l, index) : 0 };
            char plain[256];

            if (n > 1) {
                part.owner =
                    arena_printf(&d->f->mem, "rank %d",
                                 curve_kind_rank(key[k], plain, sizeof plain));
                part.line = arena_printf(&d->f->mem, "%s%s%s", l->label,
                                         *l->label ? ", " : "", part.owner);
                d->lines_named = true;
            }
            /* the second line of a run differs by its dashes, too */
            if (part.dash == 0 && index > 0 && own && !l->named)
                part.dash = 1;
            ret = add_part(d, &part, e);
        }
        if (d->r->stitch)
            break;
    }
    ret = ret < 0 ? ret : draw_parts(d, e);
    smooth_sample_clear(&d->sample);
    return ret;
}

static bool is_found(const struct drawing *d, const struct curve_kind_line *l)
{
    for (size_t i = 0; i < d->set->n; i++)
        if (curve_kind_line_key(&d->set->run[i], l))
            return true;
    return false;
}

static int add_y2(struct drawing *d, struct err *e)
{
    enum { OTHER = 3 }; /* its colour is not one of the first lines */
    const char *name = d->r->y2;
    const struct curve_kind *k = curve_kind_find(name);
    const struct curve_kind_line *of = NULL;
    struct curve_kind_line l = { .label = name, .names = { name } };

    if (k)
        l = *(of = k->line);
    else
        k = curve_kind_of_metric(name, &of);
    if (k)
        l.label = k->line[1].label
                      ? arena_printf(&d->f->mem, "%s, %s", k->title, of->label)
                      : of->label;
    l.style = STYLE_LINE;
    l.dash = 2;
    l.ranks = l.gpu = false;
    l.named = l.right = d->p->has_y2 = d->lines_named = true;
    curve_kind_axis(k, name, &d->p->y2);
    return is_found(d, &l) ? draw_line(d, &l, OTHER, e)
                           : err_set(e, ERR_MISSING,
                                     "no run has the metric %s of --y2", name);
}

static int draw_baselines(struct drawing *d, struct err *e)
{
    for (size_t i = 0; i < d->r->baseline.n; i++) {
        const char *text = d->r->baseline.item[i];
        const char *equals = strrchr(text, '=');
        struct mark *m;
        double y;

        if (!equals || !request_bound(equals + 1, strlen(equals + 1), &y) ||
            isnan(y))
            return err_usage(e, "--baseline expects NAME=VALUE, not '%s'",
                             text);
        m = panel_mark(d->p, MARK_AT_Y, 0, y);
        m->label = arena_strndup(&d->f->mem, text, (size_t)(equals - text));
    }
    return 0;
}

/* Draw everything but the curves: marks, notes, baselines. */
static int draw_rest(struct drawing *d, struct err *e)
{
    size_t drawn = 0;

    if (d->r->y2 && add_y2(d, e) < 0)
        return -1;
    for (size_t i = 0; i < d->set->n; i++)
        drawn += is_drawn(d, i);
    if (drawn < d->set->n && d->together && !d->r->group_by)
        figure_note(d->f, "%zu of %zu runs are drawn, the best one included.",
                    drawn, d->set->n);
    if (draw_baselines(d, e) < 0)
        return -1;
    mark_tally(d->f, &d->bad, "Not finite (\xc3\x97)");
    if (d->together && d->r->marks & 1U << SHOW_SPIKE && d->spikes.n == 0 &&
        !d->r->columns)
        figure_note(d->f, "0 spikes circled.");
    mark_tally(d->f, &d->spikes, "Spikes circled");
    curves_inset(d->b, d->p);
    return 0;
}

/* Draw lines over the axis that is chosen already. */
static int draw_lines(struct drawing *d, const struct curve_kind_line *line,
                      int n, struct err *e)
{
    history_axis(d->r, &d->p->x);
    request_axes(d->r, d->p);
    d->lines_named = n > 1;
    d->many = d->together && d->set->n > PALETTE_COLOURS && d->best < d->set->n;
    for (int i = 0; i < n; i++)
        d->validates = d->validates || strcmp(line[i].label, "validation") == 0;
    if (d->set->ramp && !d->r->group_by &&
        (!d->f->shared || d->f->n_panels == 1))
        d->p->ramp = d->set->ramp;
    for (int i = 0; i < n; i++) {
        note_caution(d, line[i].names[0]);
        if ((d->r->group_by ? curves_group(d->b, d->p, &line[i], n > 1, e)
                            : draw_line(d, &line[i], i, e)) < 0)
            return -1;
    }
    return draw_rest(d, e);
}

int curves_kind(struct build *b, struct panel *p, const struct curve_kind *k,
                struct err *e)
{
    struct drawing d = drawing_of(b, p);
    struct curve_kind_line line[KIND_LINES];
    int n = 0;

    for (int i = 0; i < KIND_LINES && k->line[i].label; i++)
        if (is_found(&d, &k->line[i]))
            line[n++] = k->line[i];
    if (n == 0)
        return curve_kind_none(k, d.set->run, d.set->n, e);
    /* the title says which line it is, if there is just one: "Loss, train" */
    if (n == 1 && p->title && k->line[1].label && *line[0].label)
        p->title = arena_printf(&d.f->mem, "%s, %s", p->title, line[0].label);
    curve_kind_axis(k, NULL, &p->y);
    p->high_is_good = k->high_is_good;
    /* by the validation, the last line of a loss */
    d.best = curve_kind_best(d.set->run, d.set->n, line[n - 1].names);
    return draw_lines(&d, line, n, e);
}

/* The metrics of all runs that match a pattern, each once. */
static size_t match_metrics(const struct run_set *set, const char *pattern,
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

/* Is it an expression over metrics of one of the runs? */
static int check_expression(const struct run_set *set, const char *text,
                            struct err *e)
{
    const int n = expression_check(text, NULL, e);

    if (n == 0 || (n < 0 && !strpbrk(text, " (")))
        return find_key_fail(set->run, set->n, METRIC, text, NULL, e);
    for (size_t i = 1; n > 0 && i < set->n; i++)
        if (expression_check(text, &set->run[i], ERR_IGNORED) > 0)
            return 0;
    return n > 0 && expression_check(text, &set->run[0], e) > 0 ? 0 : -1;
}

static int draw_metrics(struct build *b, const struct curve_kind_line *line,
                        int n, struct err *e)
{
    const char *key = line[0].label;
    const struct curve_kind *k = curve_kind_of_metric(key, NULL);
    struct panel *p = figure_panel(b->figure, NULL);
    struct drawing d = drawing_of(b, p);

    if (n == 1 && k) /* "loss" does not say which one */
        p->title = arena_strdup(&d.f->mem, key);
    curve_kind_axis(k, n == 1 ? key : "value", &p->y);
    p->high_is_good = curve_kind_high_is_good(key);
    d.best = curve_kind_best(d.set->run, d.set->n, line[0].names);
    return draw_lines(&d, line, n, e);
}

int curves_metrics(struct build *b, const char *names, struct err *e)
{
    enum { MOST = 64 };
    const char *key[MOST];
    struct curve_kind_line line[MOST];
    bool named = true; /* without a pattern */
    bool drawn[MOST] = { false };
    size_t n = 0;

    while (*names) {
        const size_t len = strcspn(names, ",");
        const char *pattern = arena_strndup(&b->figure->mem, names, len);
        const size_t found = match_metrics(&b->set, pattern, key + n, MOST - n);

        if (found == 0) {
            if (check_expression(&b->set, pattern, e) < 0)
                return -1;
            key[n++] = pattern;
        } else if (strpbrk(pattern, "*?[")) {
            named = false;
        }
        n += found;
        names += len + (names[len] == ',');
    }
    for (size_t i = 0; i < n; i++) {
        int lines = 0;

        for (size_t k = i; k < n && !drawn[i]; k++)
            if (!drawn[k] && curve_kind_share(key[i], key[k], named)) {
                line[lines] = (struct curve_kind_line){
                    .label = key[k],
                    .names = { key[k] },
                    .named = true,
                    .dash = lines % PALETTE_DASHES,
                };
                lines++;
                drawn[k] = k > i;
            }
        if (lines && draw_metrics(b, line, lines, e) < 0)
            return -1;
    }
    return 0;
}
