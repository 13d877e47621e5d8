#include "config.h"
#include "trainer/model/optim.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/rng.h"

/* Parameters updated at a time where moments or weights are in bf16. */
enum { PIECE = 1 << 20 };

/* ---- ranges ---------------------------------------------------------- */

/* Which optimiser updates a parameter, and how fast. */
static struct optim_range range_of(const struct optim_settings *c,
                                   const struct graph_param *p,
                                   const struct tensor *t)
{
    struct optim_range r = {
        .at = p->at, .count = p->count, .v_at = -1, .name = c->name
    };

    if (r.name == OPTIM_MUON && p->group == GROUP_MATRIX) {
        r.rows = t->dim[0];
        r.cols = t->dim[1];
        memcpy(r.stack, p->stack, sizeof r.stack);
    } else if (r.name == OPTIM_MUON) {
        r.name = OPTIM_ADAMW;
    }
    r.rates = param_rates_of(c, p, r.name == OPTIM_MUON, t->rank > 1);
    return r;
}

/* The second moments of a range: of each parameter, of each row, or none. */
static int64_t second_count(const struct optim_settings *c,
                            const struct optim_range *r)
{
    if (r->name == OPTIM_MUON)
        return c->muon_rows ? r->rows : 0;
    return r->name == OPTIM_ADAMW || r->name == OPTIM_ADAM ? r->count : 0;
}

enum dtype optim_moment_type(const struct optim *o)
{
    return o->conf->moments == STATE_BF16 ? DT_BF16 : DT_F32;
}

static int64_t in_piece(int64_t n, int64_t at)
{
    return n - at < PIECE ? n - at : PIECE;
}

/* Rounded up to what is aligned. */
static int64_t aligned(int64_t n)
{
    return (n + 15) / 16 * 16;
}

/* A piece of all that is stored in bf16, in fp32. */
static int64_t piece_floats(const struct optim *o)
{
    const int n_rounded =
        2 * (optim_moment_type(o) != DT_F32) + (o->graph->masters != DT_F32);
    int64_t most = 0;

    for (int i = 0; i < o->n_ranges; i++) {
        const int64_t n = in_piece(o->range[i].count, 0);

        most = n > most ? n : most;
    }
    return n_rounded * aligned(most);
}

/* For muon, or for moments and weights in bf16. */
static int64_t work_floats(const struct optim *o)
{
    int64_t most = piece_floats(o);

    for (int i = 0; i < o->n_ranges; i++)
        for (int k = 0; k < GRAPH_STACK; k++) {
            const struct optim_range *r = &o->range[i];
            const int64_t n = muon_work(r->stack[k], r->cols);

            most = n > most ? n : most;
        }
    return most;
}

static void set_region_sizes(struct optim *o)
{
    const size_t size = dtype_size(optim_moment_type(o));

    o->m.bytes = (size_t)o->m_count * size;
    o->v.bytes = (size_t)o->v_count * size;
    o->work.bytes = (size_t)work_floats(o) * sizeof(float);
    o->sum.bytes = 64;
}

static int by_address(const void *a, const void *b)
{
    const struct graph_param *x = *(const struct graph_param *const *)a;
    const struct graph_param *y = *(const struct graph_param *const *)b;

    return x->at < y->at ? -1 : x->at > y->at;
}

static void append_second_moments(struct optim *o, struct optim_range *r)
{
    r->v_at = o->v_count;
    o->v_count += aligned(second_count(o->conf, r));
}

void optim_lay_out(struct optim *o, const struct optim_settings *conf,
                   struct graph *g)
{
    AUTO_FREE const struct graph_param **order =
        xcalloc((size_t)g->n_params + 1, sizeof(*order));

    *o = (struct optim){ .conf = conf, .graph = g, .decay_left = 1 };
    for (int i = 0; i < g->n_params; i++)
        order[i] = &g->param[i];
    qsort(order, (size_t)g->n_params, sizeof(*order), by_address);
    for (int i = 0; i < g->n_params; i++) {
        const struct graph_param *p = order[i];
        struct optim_range r = range_of(conf, p, &g->node[p->node].val);
        struct optim_range *last =
            o->n_ranges ? &o->range[o->n_ranges - 1] : NULL;

        if (last && last->name == r.name && r.name != OPTIM_MUON &&
            memcmp(&last->rates, &r.rates, sizeof r.rates) == 0) {
            last->count = p->at + p->count - last->at;
            continue;
        }
        APPEND(o->range, o->n_ranges, o->room_ranges) = r;
    }
    for (int i = 0; i < o->n_ranges; i++) {
        struct optim_range *r = &o->range[i];

        r->own = r->at;
        if (second_count(conf, r) == 0)
            continue;
        o->seconds = true;
        append_second_moments(o, r);
    }
    o->m_count = g->count;
    set_region_sizes(o);
}

/* Add the part of range r that lies in a piece. */
static void add_part(struct optim *o, const struct optim_range *r,
                     const struct optim_piece *p)
{
    const int64_t from = r->at > p->at ? r->at : p->at;
    const int64_t r_end = r->at + r->count, p_end = p->at + p->count;
    const int64_t end = r_end < p_end ? r_end : p_end;
    struct optim_range *part;

    if (from >= end)
        return;
    part = &APPEND(o->range, o->n_ranges, o->room_ranges);
    *part = *r;
    part->at = from;
    part->count = end - from;
    part->own = p->own + from - p->at;
    if (r->v_at >= 0)
        append_second_moments(o, part);
}

void optim_keep_pieces(struct optim *o, const struct optim_piece *piece, int n,
                       int64_t total)
{
    struct optim_range *whole = o->range;
    const int n_whole = o->n_ranges;

    o->range = NULL;
    o->n_ranges = o->room_ranges = 0;
    o->v_count = 0;
    for (int i = 0; i < n_whole; i++)
        for (int k = 0; k < n; k++)
            add_part(o, &whole[i], &piece[k]);
    free(whole);
    o->m_count = total;
    set_region_sizes(o);
}

int64_t optim_second_count(const struct optim *o, const struct graph_param *p)
{
    const struct optim_range r =
        range_of(o->conf, p, &o->graph->node[p->node].val);

    return second_count(o->conf, &r);
}

int64_t optim_range_seconds(const struct optim *o, const struct optim_range *r)
{
    return second_count(o->conf, r);
}

/* ---- state ----------------------------------------------------------- */

int optim_open(struct optim *o, struct err *e)
{
    struct region *const all[] = { &o->m, &o->v, &o->work, &o->sum };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (region_alloc(all[i], o->graph->dev, DEV_MOMENTS, e) < 0)
            return -1;
    return 0;
}

void optim_close(struct optim *o)
{
    struct region *const all[] = { &o->m, &o->v, &o->work, &o->sum };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i]->data)
            region_free(all[i], o->graph->dev);
    free(o->range);
    *o = (struct optim){ 0 };
}

/* ---- a step ---------------------------------------------------------- */

static struct tensor view_of(const struct region *r, enum dtype type,
                             int64_t at, const struct optim_range *range)
{
    struct tensor t = tensor_vector(
        r->data ? (char *)r->data + (size_t)at * dtype_size(type) : NULL, type,
        range->count);

    if (range->rows) {
        t.rank = 2;
        t.dim[0] = range->rows;
        t.dim[1] = range->cols;
    }
    return t;
}

/* Indices in the region of sums. */
enum { SUM_SQUARES, SUM_LOSSES, SUM_FIRST };

static struct tensor sum_view(const struct optim *o, int which)
{
    struct tensor t = tensor_vector((double *)o->sum.data + which, DT_F64, 1);

    t.overwrite = true;
    return t;
}

void optim_add_losses(struct optim *o, const struct tensor *losses, bool first)
{
    struct dev *dev = o->graph->dev;
    struct tensor sum = sum_view(o, SUM_LOSSES);

    sum.overwrite = first;
    dev->ops->sum(dev, &sum, losses);
}

void optim_add_squares(struct optim *o, void *to, float *grad, int64_t n,
                       bool first)
{
    struct dev *dev = o->graph->dev;
    const struct tensor part = tensor_vector(grad, DT_F32, n);
    struct tensor sum = tensor_vector(to, DT_F64, 1);

    sum.overwrite = first;
    dev->ops->sumsq(dev, &sum, &part);
}

void optim_add_first(struct optim *o, float *grad, int64_t n, bool first)
{
    optim_add_squares(o, (double *)o->sum.data + SUM_FIRST, grad, n, first);
}

void optim_read_sums(struct optim *o)
{
    struct dev *dev = o->graph->dev;
    const double *sum = o->sum.data;

    dev->type->get(dev, &o->losses, sum + SUM_LOSSES, sizeof *sum);
    dev->type->get(dev, &o->first_sumsq, sum + SUM_FIRST, sizeof *sum);
}

void optim_measure(struct optim *o)
{
    struct graph *g = o->graph;
    struct dev *dev = g->dev;

    optim_add_squares(o, o->sum.data, g->grads.data, g->count, true);
    dev->type->get(dev, &o->sumsq, o->sum.data, sizeof o->sumsq);
}

void optim_set_norm(struct optim *o, double sumsq)
{
    struct dev *dev = o->graph->dev;

    o->sumsq = sumsq;
    dev->type->put(dev, o->sum.data, &o->sumsq, sizeof o->sumsq);
}

/* The own pieces if they have a region, else the whole block. */
static struct tensor piece_of(const struct region *own,
                              const struct region *whole, enum dtype type,
                              const struct optim_range *r)
{
    return own->data ? view_of(own, type, r->own, r)
                     : view_of(whole, type, r->at, r);
}

/* Each has random numbers of its own. */
enum rounded { ROUNDED_WEIGHTS, ROUNDED_M, ROUNDED_V };

/* The numbers begin at `at` in the block. */
static void round_randomly(const struct optim *o, struct tensor *to,
                           const struct tensor *from, enum rounded what,
                           int64_t at)
{
    struct dev *dev = o->graph->dev;

    dev->ops->cast_random(
        dev, to, from, o->seed,
        rng_stream(RNG_ROUND, (uint64_t)o->steps, (uint64_t)what),
        (uint64_t)at);
}

void optim_round(const struct optim *o, struct dev *dev, struct tensor *rounded,
                 const struct tensor *w, int64_t at)
{
    rounded->overwrite = true;
    if (o->rounds_randomly)
        round_randomly(o, rounded, w, ROUNDED_WEIGHTS, at);
    else
        dev->ops->accum(dev, rounded, w);
}

/* Rows of a matrix. */
static struct tensor rows_of(const struct tensor *t, int64_t from, int64_t n)
{
    struct tensor rows = *t;

    if (t->data)
        rows.data =
            (char *)t->data + (size_t)(from * t->dim[1]) * dtype_size(t->type);
    rows.dim[0] = n;
    return rows;
}

static double muon_scale(enum muon_scale how, int64_t rows, int64_t cols)
{
    const double R = (double)rows, C = (double)cols;

    return how == MUON_SCALE_ORIGINAL ? sqrt(fmax(1, R / C))
                                      : 0.2 * sqrt(fmax(R, C));
}

static struct tensor part_of(const struct tensor *t, int64_t from, int64_t n)
{
    return tensor_vector((char *)t->data + (size_t)from * dtype_size(t->type),
                         t->type, n);
}

static void update_stack(struct optim *o, const struct optim_range *r,
                         const struct tensor *w, const struct tensor *m,
                         const struct tensor *v, const struct tensor *copy,
                         const struct tensor *grad, const struct update *u)
{
    struct dev *dev = o->graph->dev;
    struct update part = *u;
    int64_t from = 0;

    for (int k = 0; k < GRAPH_STACK && r->stack[k] > 0; k++) {
        const int64_t n = r->stack[k];
        struct tensor work =
            tensor_vector(o->work.data, DT_F32, muon_work(n, r->cols));
        struct tensor wk = rows_of(w, from, n), mk = rows_of(m, from, n);
        struct tensor gk = rows_of(grad, from, n), ck, vk;

        if (r->v_at >= 0)
            vk = part_of(v, from, n);
        if (copy)
            ck = rows_of(copy, from, n);
        part.scale = (float)muon_scale(o->conf->muon_scale, n, r->cols);
        dev->ops->muon(dev, &wk, &mk, r->v_at >= 0 ? &vk : NULL,
                       copy ? &ck : NULL, &work, &gk, &part);
        from += n;
    }
}

/* A piece in fp32: itself, or a copy at *room, which is moved behind it. */
static struct tensor widen_piece(const struct optim *o,
                                 const struct tensor *piece, float **room)
{
    struct dev *dev = o->graph->dev;
    struct tensor wide = tensor_vector(*room, DT_F32, piece->dim[0]);

    if (piece->type == DT_F32)
        return *piece;
    wide.overwrite = true;
    dev->ops->accum(dev, &wide, piece);
    *room += aligned(piece->dim[0]);
    return wide;
}

/* Tensors stored in bf16 are rounded at random: a small change would be lost if
 * it were always rounded to the nearest.  The parts are listed in enum rounded,
 * and there is the gradient. */
static void update_pieces(struct optim *o, const struct optim_range *r,
                          struct tensor *const part[4], struct tensor *copy,
                          const struct update *u)
{
    struct dev *dev = o->graph->dev;

    for (int64_t at = 0; at < r->count; at += PIECE) {
        const int64_t n = in_piece(r->count, at);
        const struct tensor grad = part_of(part[3], at, n);
        struct tensor piece[3], wide[3], rounded;
        float *room = o->work.data;

        for (int i = 0; i < 3; i++) {
            piece[i] = part_of(part[i], at, n);
            wide[i] = widen_piece(o, &piece[i], &room);
        }
        if (copy)
            rounded = part_of(copy, at, n);
        dev->ops->update(dev, &wide[0], &wide[1], &wide[2],
                         copy ? &rounded : NULL, &grad, u);
        for (int i = 0; i < 3; i++)
            if (piece[i].type != DT_F32)
                round_randomly(o, &piece[i], &wide[i], (enum rounded)i,
                               r->at + at);
    }
}

static void update_range(struct optim *o, const struct optim_range *r,
                         const struct update *u)
{
    struct graph *g = o->graph;
    struct dev *dev = g->dev;
    struct tensor w = piece_of(&o->own_weights, &g->weights, g->masters, r);
    struct tensor m = view_of(&o->m, optim_moment_type(o), r->own, r);
    struct tensor v = view_of(&o->v, optim_moment_type(o), r->v_at, r);
    struct tensor grad = piece_of(&o->own_grads, &g->grads, DT_F32, r);
    struct tensor rounded = piece_of(&o->own_copies, &g->copies, g->type, r);
    struct tensor *copy = rounded.data && !o->rounds_randomly ? &rounded : NULL;

    if (r->name == OPTIM_MUON)
        update_stack(o, r, &w, &m, &v, copy, &grad, u);
    else if (m.type != DT_F32 || w.type != DT_F32)
        update_pieces(o, r, (struct tensor *[]){ &w, &m, &v, &grad }, copy, u);
    else
        dev->ops->update(dev, &w, &m, &v, copy, &grad, u);
    if (rounded.data && o->rounds_randomly)
        optim_round(o, dev, &rounded, &w, r->at);
}

void optim_step(struct optim *o, double lr, double scale)
{
    const struct optim_settings *c = o->conf;
    const struct tensor sum = sum_view(o, SUM_SQUARES);
    const struct tensor losses = sum_view(o, SUM_LOSSES);

    o->steps++;
    for (int i = 0; i < o->n_ranges; i++) {
        const struct optim_range *r = &o->range[i];
        const bool momentum = r->name == OPTIM_SGD || r->name == OPTIM_MUON;
        const struct update u = {
            .rule = r->name == OPTIM_LION  ? UPDATE_LION
                    : r->name == OPTIM_SGD ? UPDATE_SGD
                                           : UPDATE_ADAMW,
            .lr = (float)(lr * r->rates.lr_factor),
            .beta1 = (float)(r->rates.beta1 >= 0 ? r->rates.beta1
                             : momentum          ? c->momentum
                                                 : c->beta1),
            .beta2 = (float)c->beta2,
            .eps = (float)c->eps,
            .decay = (float)(r->rates.decay * o->decay_left),
            .step = o->steps,
            .g_scale = (float)scale,
            .clip = (float)c->clip,
            .sumsq = &sum,
            .loss = o->needs_losses ? &losses : NULL,
            .nesterov = c->nesterov,
            .muon = c->muon_coefficients,
            .cautious = c->cautious,
            .l2 = r->name == OPTIM_ADAM || r->name == OPTIM_SGD,
        };

        update_range(o, r, &u);
    }
}

void optim_undo_step(struct optim *o)
{
    o->steps--;
}

double optim_norm(const struct optim *o, double scale)
{
    return scale * sqrt(o->sumsq);
}

static const char *const kinds[GROUP_COUNT] = {
    [GROUP_MATRIX] = "matrix",
    [GROUP_EMBED] = "embed",
    [GROUP_HEAD] = "head",
    [GROUP_VECTOR] = "vector",
};

/* What a group says; -1 stands for what it does not. */
struct group {
    char pattern[64];
    double lr, beta1, decay;
    bool is_factor; /* lr */
};

/* The next word of a group; false at the end, or if it is too long. */
static bool next_word(const char **at, char word[64])
{
    const char *separators = ", \t";
    const char *from = *at + strspn(*at, separators);
    const size_t n = strcspn(from, separators);

    *at = from + n;
    if (n == 0 || n >= 64)
        return false;
    memcpy(word, from, n);
    word[n] = '\0';
    return true;
}

/* key=number, and for the rate also key=numberx */
static bool read_value(struct group *g, char *word)
{
    const struct {
        const char *key;
        double *to, most;
    } keys[] = { { "lr=", &g->lr, 1e6 },
                 { "beta1=", &g->beta1, 0.9999999 },
                 { "decay=", &g->decay, 100 } };
    const size_t n = strlen(word);

    if (strncmp(word, "lr=", 3) == 0 && word[n - 1] == 'x') {
        g->is_factor = true;
        word[n - 1] = '\0';
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const size_t skip = strlen(keys[i].key);

        if (strncmp(word, keys[i].key, skip) == 0)
            return *keys[i].to < 0 && num_real(word + skip, keys[i].to) &&
                   *keys[i].to >= 0 && *keys[i].to <= keys[i].most;
    }
    return false;
}

static bool read_group(const char *text, struct group *g)
{
    char word[64];

    *g = (struct group){ .lr = -1, .beta1 = -1, .decay = -1 };
    if (!next_word(&text, g->pattern) || strchr(g->pattern, '='))
        return false;
    while (next_word(&text, word))
        if (!read_value(g, word))
            return false;
    return !*text && (g->lr >= 0 || g->beta1 >= 0 || g->decay >= 0);
}

static bool is_in(const struct group *g, const struct graph_param *p)
{
    return strcmp(g->pattern, kinds[p->group]) == 0 ||
           fnmatch(g->pattern, p->name, 0) == 0;
}

int64_t param_rates_count(const char *group, const struct graph *graph)
{
    struct group g;
    int64_t n = 0;

    for (int i = 0; read_group(group, &g) && i < graph->n_params; i++)
        n += is_in(&g, &graph->param[i]) ? graph->param[i].count : 0;
    return n;
}

int param_rates_check(const struct settings *c, const struct graph *graph,
                      struct err *e)
{
    for (int i = 0; i < OPTIM_GROUPS; i++) {
        const char *text = c->optim.group[i];
        struct group g;
        char key[32];

        snprintf(key, sizeof key, "optim.group.%d", i + 1);
        if (!*text)
            continue;
        if (!read_group(text, &g))
            return conf_fail(&c->conf, key, e,
                             "expects a pattern and values, such as "
                             "'embed, lr=0.3x, beta1=0.8, decay=0', not '%s'",
                             text);
        if (param_rates_count(text, graph) == 0)
            return conf_fail(&c->conf, key, e,
                             "no parameter of the model is '%s'; use embed, "
                             "head, matrix, vector, or a pattern for names "
                             "such as %s",
                             g.pattern, graph->param[0].name);
        if (g.lr >= 0 && !g.is_factor && c->optim.lr <= 0)
            return conf_fail(&c->conf, key, e,
                             "lr=%g requires optim.lr > 0, whose schedule it "
                             "follows",
                             g.lr);
    }
    return 0;
}

/* What a rate is divided by for a matrix whose inputs are `width` times those
 * at the base: Adam's updates have elements of one size, Muon's one norm,
 * unless they are scaled to be like Adam's (Yang and others 2022,
 * arXiv:2203.03466, table 3).  The decay per step stays (Wang and Aitchison
 * 2024, arXiv:2405.13698). */
static double by_width(const struct optim_settings *c, double width, bool muon)
{
    if (!muon)
        return width;
    return c->muon_scale == MUON_SCALE_ORIGINAL ? 1 : sqrt(width);
}

struct param_rates param_rates_of(const struct optim_settings *c,
                                  const struct graph_param *p, bool muon,
                                  bool decayed)
{
    const double usual = !muon ? 1 : c->lr > 0 ? c->muon_lr / c->lr : 0;
    struct param_rates r = { usual, -1, decayed ? c->decay : 0 };
    struct group g;

    for (int i = 0; i < OPTIM_GROUPS; i++) {
        if (!read_group(c->group[i], &g) || !is_in(&g, p))
            continue;
        if (g.lr >= 0)
            r.lr_factor = g.is_factor ? usual * g.lr : g.lr / c->lr;
        if (g.beta1 >= 0)
            r.beta1 = g.beta1;
        if (g.decay >= 0)
            r.decay = g.decay;
    }
    if (p->width > 0) {
        const double by = by_width(c, p->width, muon);

        r.lr_factor /= by;
        r.decay *= by;
    }
    return r;
}
