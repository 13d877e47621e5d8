#include "config.h"
#include "trainer/model/graph.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "trainer/model/rules.h"

/*
 * Where the activations lie.  Every value, statistic and gradient is a slot,
 * alive from the call that writes it to the last that reads it; a value that
 * is computed again has two such lives.  Slots whose lives do not meet may
 * have the same place.  The largest are placed first, each at the lowest
 * address that is free during its lives.
 */
enum { ALIGN_BYTES = 256 };

enum what { VAL, AUX, GRAD, WHATS };

struct slot {
    size_t bytes, at;
    int lives, from[2], to[2];
};

struct layout {
    struct graph *g;
    struct slot *slot; /* WHATS for each node */
    size_t total;
};

static struct slot *slot_of(struct layout *l, int node, enum what what)
{
    return &l->slot[node * WHATS + (int)what];
}

/* The node whose memory this one's value, or gradient, is in. */
static int root(const struct graph *g, int i, enum what what)
{
    for (;;) {
        const int same = what == GRAD  ? g->node[i].same_grad
                         : what == VAL ? g->node[i].same_val
                                       : GRAPH_NONE;

        if (same == GRAPH_NONE)
            return i;
        i = same;
    }
}

static bool is_activation(const struct node *n)
{
    return n->op != OP_INPUT && n->op != OP_PARAM && n->op != OP_HEAD;
}

/* Used at call t; with `begin`, what it held before does not matter. */
static void touch(struct layout *l, int i, enum what what, int t, bool begin)
{
    const struct node *n = &l->g->node[i];
    struct slot *s = slot_of(l, root(l->g, i, what), what);

    if (!is_activation(n) || (what == GRAD && n->no_grad))
        return;
    if (s->lives == 0 || (begin && s->lives == 1 && s->to[0] < t)) {
        s->from[s->lives] = t;
        s->lives++;
    }
    s->to[s->lives - 1] = t;
}

/* A node's value is written; in place, what it held does matter. */
static void write(struct layout *l, int i, int t)
{
    const struct node *n = &l->g->node[i];

    touch(l, i, VAL, t, n->same_val == GRAPH_NONE);
    touch(l, i, AUX, t, true);
}

static void forward_lives(struct layout *l, int i, int t)
{
    const struct node *n = &l->g->node[i];

    for (int s = 0; s < n->n_src; s++)
        if (n->src[s] != GRAPH_NONE)
            touch(l, n->src[s], VAL, t, false);
    write(l, i, t);
}

static void backward_lives(struct layout *l, int i, int t)
{
    const struct node *n = &l->g->node[i];
    const unsigned needs = rules[n->op].needs;

    touch(l, i, GRAD, t, false);
    touch(l, i, AUX, t, false);
    if (needs & NEEDS_OWN)
        touch(l, i, VAL, t, false);
    for (int s = 0; s < n->n_src; s++) {
        if (n->src[s] == GRAPH_NONE)
            continue;
        if (needs >> s & 1)
            touch(l, n->src[s], VAL, t, false);
        touch(l, n->src[s], GRAD, t, false);
    }
}

/* The two nodes of a fused call: its sources are those of the first. */
static void pair_lives(struct layout *l, int i, int t)
{
    const int first = l->g->node[i].src[0];

    forward_lives(l, first, t);
    write(l, i, t);
}

static void find_lives(struct layout *l)
{
    const struct graph *g = l->g;

    for (int t = 0; t < g->n_calls; t++) {
        const struct call *c = &g->call[t];

        switch (c->kind) {
        case CALL_FORWARD:
            forward_lives(l, c->node, t);
            break;
        case CALL_ADD_NORM:
        case CALL_LINEAR_ACT:
            pair_lives(l, c->node, t);
            break;
        case CALL_BACKWARD:
            backward_lives(l, c->node, t);
            break;
        case CALL_ACT_LINEAR_BACK:
            backward_lives(l, c->node, t);
            backward_lives(l, g->node[c->node].src[0], t);
            break;
        case CALL_HEAD:
            forward_lives(l, c->node, t);
            if (g->training)
                touch(l, g->node[c->node].src[0], GRAD, t, false);
            break;
        }
    }
    touch(l, g->n - 1, VAL, g->n_calls, false); /* the result */
}

static size_t round_up(size_t n)
{
    return (n + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

static void find_sizes(struct layout *l)
{
    for (int i = 0; i < l->g->n; i++) {
        const struct node *n = &l->g->node[i];

        if (!is_activation(n))
            continue;
        slot_of(l, i, VAL)->bytes = round_up(tensor_bytes(&n->val));
        slot_of(l, i, GRAD)->bytes = round_up(tensor_bytes(&n->grad));
        if (n->aux.rank && n->op != OP_DECODE)
            slot_of(l, i, AUX)->bytes = round_up(tensor_bytes(&n->aux));
    }
}

static bool meet(const struct slot *a, const struct slot *b)
{
    for (int i = 0; i < a->lives; i++)
        for (int j = 0; j < b->lives; j++)
            if (a->from[i] <= b->to[j] && b->from[j] <= a->to[i])
                return true;
    return false;
}

static int by_size(const void *a, const void *b)
{
    const struct slot *x = *(struct slot *const *)a;
    const struct slot *y = *(struct slot *const *)b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x < y ? -1 : 1;
}

/* Give s the lowest place that is free; `placed` is sorted by address. */
static size_t lowest(const struct slot *s, struct slot **placed, int n)
{
    size_t at = 0;

    for (int i = 0; i < n; i++) {
        if (placed[i]->at >= at + s->bytes)
            break;
        if (placed[i]->at + placed[i]->bytes > at && meet(s, placed[i]))
            at = placed[i]->at + placed[i]->bytes;
    }
    return at;
}

/* A gap may be closed from below by one that does not meet us but hides one
 * that does; so look at those that meet us only. */
static void place_slot(struct layout *l, struct slot *s, struct slot **placed,
                       struct slot **near, int *n)
{
    int n_near = 0, i;

    for (i = 0; i < *n; i++)
        if (meet(s, placed[i]))
            near[n_near++] = placed[i];
    s->at = lowest(s, near, n_near);
    for (i = *n; i > 0 && placed[i - 1]->at > s->at; i--)
        placed[i] = placed[i - 1];
    placed[i] = s;
    ++*n;
    if (s->at + s->bytes > l->total)
        l->total = s->at + s->bytes;
}

static void layout_make(struct layout *l, struct graph *g)
{
    const size_t room = (size_t)g->n * WHATS;
    struct slot **order = xcalloc(room, sizeof(*order));
    struct slot **placed = xcalloc(room, sizeof(*placed));
    struct slot **near = xcalloc(room, sizeof(*near));
    int n = 0, n_placed = 0;

    *l = (struct layout){ .g = g };
    l->slot = xcalloc(room, sizeof *l->slot);
    find_sizes(l);
    find_lives(l);
    for (size_t i = 0; i < room; i++)
        if (l->slot[i].lives && l->slot[i].bytes)
            order[n++] = &l->slot[i];
    qsort(order, (size_t)n, sizeof(*order), by_size);
    for (int i = 0; i < n; i++)
        place_slot(l, order[i], placed, near, &n_placed);
    free(order);
    free(placed);
    free(near);
}

/* ---- units ------------------------------------------------------------ */

/* Where each unit lies, in elements of its region; returns how many there
 * are.  Shared, the layers take turns in two places behind all others. */
static int64_t place_units(struct graph *g, bool shared, size_t member)
{
    int64_t total = 0, most = 0;
    int turn = 0;

    for (int u = 0; u < g->n_units; u++) {
        struct unit *unit = &g->unit[u];
        int64_t *at = (int64_t *)((char *)unit + member);

        if (shared && unit->layer >= 0) {
            most = unit->count > most ? unit->count : most;
            continue;
        }
        *at = total;
        total += unit->count;
    }
    for (int u = 0; u < g->n_units && most > 0; u++) {
        struct unit *unit = &g->unit[u];

        if (unit->layer >= 0)
            *(int64_t *)((char *)unit + member) =
                total + (turn++ % 2) * most;
    }
    return total + 2 * most;
}

/* ---- sizes, addresses ------------------------------------------------- */

static void sizes(struct graph *g, const struct place *how,
                  const struct layout *l)
{
    const size_t n = (size_t)place_units(g, how->share_weights,
                                         offsetof(struct unit, weights_at));
    const size_t n_grads = (size_t)place_units(g, how->share_grads,
                                               offsetof(struct unit, grads_at));

    if (!how->weights && (g->type == DT_F32 || !how->low_alone))
        g->weights.bytes = n * sizeof(float);
    if (!how->weights && g->type != DT_F32)
        g->copies.bytes = n * dtype_size(g->type);
    g->grads.bytes = how->training ? n_grads * sizeof(float) : 0;
    g->activations.bytes = l->total;
    g->inputs.bytes = g->caches.bytes = 0;
    for (int i = 0; i < g->n; i++) {
        const struct node *node = &g->node[i];

        if (node->op == OP_INPUT || node->op == OP_HEAD)
            g->inputs.bytes += round_up(tensor_bytes(&node->val));
        if (node->op == OP_DECODE)
            g->caches.bytes += 2 * round_up(tensor_bytes(&node->aux));
    }
}

void graph_plan(struct graph *g, const struct place *how, const struct ops *ops)
{
    struct layout l;

    graph_schedule(g, how, ops);
    layout_make(&l, g);
    sizes(g, how, &l);
    free(l.slot);
}

/* What makes a region smaller. */
static const char *const remedy[DEV_USES] = {
    [DEV_WEIGHTS] = "parallel.mode = fsdp shares weights out",
    [DEV_GRADS] = "parallel.mode = zero2 shares gradients out",
    [DEV_MOMENTS] = "parallel.mode = zero1 shares moments out",
    [DEV_ACTIVATIONS] = "a smaller train.micro_batch or train.recompute = "
                        "layer needs less",
    [DEV_INPUTS] = "a smaller train.micro_batch needs less",
};

int region_take(struct region *r, struct dev *dev, enum dev_use use,
                struct err *e)
{
    if (r->bytes == 0)
        return 0;
    r->data = dev_alloc(dev, r->bytes, use, e);
    if (!r->data) {
        const struct err why = *e;

        return err_set(e, why.kind, "%s: %s%s%s", dev_use_names[use], why.text,
                       remedy[use] ? "; " : "", remedy[use] ? remedy[use] : "");
    }
    dev->type->zero(dev, r->data, r->bytes);
    return 0;
}

void region_give(struct region *r, struct dev *dev)
{
    if (r->data)
        dev_free(dev, r->data);
    *r = (struct region){ 0 };
}

static void *plus(const struct region *r, size_t bytes)
{
    return r->data ? (char *)r->data + bytes : NULL;
}

static void point_params(struct graph *g, const struct graph *from)
{
    const bool low = g->type != DT_F32;

    for (int i = 0; i < g->n_params; i++) {
        const struct param *p = &g->param[i];
        struct node *n = &g->node[p->node];
        const struct unit *u = &g->unit[p->unit];
        const size_t at = (size_t)(u->weights_at + p->at - u->at);
        const size_t grad_at = (size_t)(u->grads_at + p->at - u->at);

        if (from)
            n->val.data = from->node[from->param[i].node].val.data;
        else
            n->val.data = low ? plus(&g->copies, at * dtype_size(g->type))
                              : plus(&g->weights, at * sizeof(float));
        n->grad.data = plus(&g->grads, grad_at * sizeof(float));
    }
}

static void point_nodes(struct graph *g, struct layout *l)
{
    size_t input = 0, cache = 0;

    for (int i = 0; i < g->n; i++) {
        struct node *n = &g->node[i];

        if (n->op == OP_INPUT || n->op == OP_HEAD) {
            n->val.data = plus(&g->inputs, input);
            input += round_up(tensor_bytes(&n->val));
        }
        if (n->op == OP_DECODE) {
            n->aux.data = plus(&g->caches, cache);
            cache += round_up(tensor_bytes(&n->aux));
            n->aux2.data = plus(&g->caches, cache);
            cache += round_up(tensor_bytes(&n->aux2));
        }
        if (!is_activation(n))
            continue;
        n->val.data =
            plus(&g->activations, slot_of(l, root(g, i, VAL), VAL)->at);
        n->grad.data =
            plus(&g->activations, slot_of(l, root(g, i, GRAD), GRAD)->at);
        if (n->aux.rank && n->op != OP_DECODE)
            n->aux.data = plus(&g->activations, slot_of(l, i, AUX)->at);
    }
}

int graph_place(struct graph *g, struct dev *dev, const struct place *how,
                struct err *e)
{
    struct layout l;
    int ret = -1;

    g->dev = dev;
    graph_schedule(g, how, dev->ops);
    layout_make(&l, g);
    sizes(g, how, &l);
    if (how->weights) {
        g->borrowed = true;
        g->weights = how->weights->weights;
        g->copies = how->weights->copies;
    }
    if ((g->borrowed ||
         (region_take(&g->weights, dev, DEV_WEIGHTS, e) == 0 &&
          region_take(&g->copies, dev, DEV_WEIGHTS, e) == 0)) &&
        region_take(&g->grads, dev, DEV_GRADS, e) == 0 &&
        region_take(&g->inputs, dev, DEV_INPUTS, e) == 0 &&
        region_take(&g->caches, dev, DEV_CACHES, e) == 0 &&
        region_take(&g->activations, dev, DEV_ACTIVATIONS, e) == 0) {
        point_params(g, how->weights);
        point_nodes(g, &l);
        ret = 0;
    }
    free(l.slot);
    return ret;
}

void graph_clear(struct graph *g)
{
    if (g->dev) {
        if (!g->borrowed) {
            region_give(&g->weights, g->dev);
            region_give(&g->copies, g->dev);
        }
        region_give(&g->grads, g->dev);
        region_give(&g->inputs, g->dev);
        region_give(&g->caches, g->dev);
        region_give(&g->activations, g->dev);
        region_give(&g->bytes, g->dev);
    }
    free(g->node);
    free(g->param);
    free(g->unit);
    free(g->call);
    *g = (struct graph){ 0 };
}
