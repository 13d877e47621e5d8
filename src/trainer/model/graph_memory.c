/*
 * graph_memory - give every tensor of a graph its place in memory
 */
#include "config.h"
#include "trainer/model/graph.h"

#include <stddef.h>

#include "common/mem.h"
#include "trainer/model/graph_calls.h"
#include "trainer/model/rules.h"

/* ---- regions ---------------------------------------------------------- */

/* Advice for making a region smaller. */
static const char *const remedies[DEV_USES] = {
    [DEV_WEIGHTS] = "; set parallel.mode = fsdp to shard weights",
    [DEV_GRADS] = "; set parallel.mode = zero2 to shard gradients",
    [DEV_MOMENTS] = "; set parallel.mode = zero1 to shard moments",
    [DEV_ACTIVATIONS] = "; reduce train.micro_batch or set train.recompute = "
                        "layer",
    [DEV_INPUTS] = "; reduce train.micro_batch",
};

int region_alloc(struct region *r, struct dev *dev, enum dev_use use,
                 struct err *e)
{
    if (r->bytes == 0)
        return 0;
    r->data = dev_alloc(dev, r->bytes, use, e);
    if (!r->data) {
        const struct err why = *e;

        return err_set(e, why.kind, "%s: %s%s", dev_use_names[use], why.text,
                       remedies[use] ? remedies[use] : "");
    }
    dev->type->zero(dev, r->data, r->bytes);
    return 0;
}

void region_free(struct region *r, struct dev *dev)
{
    if (r->data)
        dev_free(dev, r->data);
    *r = (struct region){ 0 };
}

/* ---- the places of tensors -------------------------------------------- */

/*
 * Every value, statistic and gradient of an activation is a slot, live from
 * the call that writes it to the last call that reads it; a value that is
 * computed again has two such live ranges.  Slots whose ranges do not overlap
 * may have the same address.  The largest slots are placed first, each at the
 * lowest address that is free during its ranges.
 */
enum { ALIGN_BYTES = 256 };

enum slot_kind { SLOT_VAL, SLOT_AUX, SLOT_GRAD, SLOT_KINDS };

struct memory_slot {
    size_t bytes, at;
    int ranges, from[2], to[2];
};

struct memory_layout {
    struct graph *g;
    struct memory_slot *slot; /* SLOT_KINDS for each node */
    size_t total;
};

static struct memory_slot *slot_of(struct memory_layout *l, int node,
                                   enum slot_kind kind)
{
    return &l->slot[node * SLOT_KINDS + (int)kind];
}

/* The node whose memory holds the value, or gradient, of this one. */
static int owner_of(const struct graph *g, int i, enum slot_kind kind)
{
    for (;;) {
        const int same = kind == SLOT_GRAD  ? g->node[i].same_grad
                         : kind == SLOT_VAL ? g->node[i].same_val
                                            : GRAPH_NONE;

        if (same == GRAPH_NONE)
            return i;
        i = same;
    }
}

static bool is_activation(const struct graph_node *n)
{
    return n->op != OP_INPUT && n->op != OP_PARAM && n->op != OP_HEAD;
}

/* Used at call t; with `begin`, the earlier contents do not matter. */
static void touch_slot(struct memory_layout *l, int i, enum slot_kind kind,
                       int t, bool begin)
{
    const struct graph_node *n = &l->g->node[i];
    struct memory_slot *s = slot_of(l, owner_of(l->g, i, kind), kind);

    if (!is_activation(n) || (kind == SLOT_GRAD && n->no_grad))
        return;
    if (s->ranges == 0 || (begin && s->ranges == 1 && s->to[0] < t)) {
        s->from[s->ranges] = t;
        s->ranges++;
    }
    s->to[s->ranges - 1] = t;
}

/* A node's value is written; where that is done in place, the earlier contents
 * matter. */
static void write_node(struct memory_layout *l, int i, int t)
{
    const struct graph_node *n = &l->g->node[i];

    touch_slot(l, i, SLOT_VAL, t, n->same_val == GRAPH_NONE);
    touch_slot(l, i, SLOT_AUX, t, true);
}

static void forward_ranges(struct memory_layout *l, int i, int t)
{
    const struct graph_node *n = &l->g->node[i];

    for (int s = 0; s < n->n_src; s++)
        if (n->src[s] != GRAPH_NONE)
            touch_slot(l, n->src[s], SLOT_VAL, t, false);
    write_node(l, i, t);
}

static void backward_ranges(struct memory_layout *l, int i, int t)
{
    const struct graph_node *n = &l->g->node[i];
    const unsigned needs = rules[n->op].needs;

    touch_slot(l, i, SLOT_GRAD, t, false);
    touch_slot(l, i, SLOT_AUX, t, false);
    if (needs & NEEDS_OWN)
        touch_slot(l, i, SLOT_VAL, t, false);
    for (int s = 0; s < n->n_src; s++) {
        if (n->src[s] == GRAPH_NONE)
            continue;
        if (needs >> s & 1)
            touch_slot(l, n->src[s], SLOT_VAL, t, false);
        touch_slot(l, n->src[s], SLOT_GRAD, t, false);
    }
}

/* The two nodes of a fused call, which reads the sources of the first. */
static void pair_ranges(struct memory_layout *l, int i, int t)
{
    const int first = l->g->node[i].src[0];

    forward_ranges(l, first, t);
    write_node(l, i, t);
}

static void find_ranges(struct memory_layout *l)
{
    const struct graph *g = l->g;

    for (int t = 0; t < g->n_calls; t++) {
        const struct graph_call *c = &g->call[t];

        switch (c->kind) {
        case CALL_FORWARD:
            forward_ranges(l, c->node, t);
            break;
        case CALL_ADD_NORM:
        case CALL_LINEAR_ACT:
            pair_ranges(l, c->node, t);
            break;
        case CALL_BACKWARD:
            backward_ranges(l, c->node, t);
            break;
        case CALL_ACT_LINEAR_BACK:
            backward_ranges(l, c->node, t);
            backward_ranges(l, g->node[c->node].src[0], t);
            break;
        case CALL_HEAD:
            forward_ranges(l, c->node, t);
            if (g->training)
                touch_slot(l, g->node[c->node].src[0], SLOT_GRAD, t, false);
            break;
        }
    }
    touch_slot(l, g->n - 1, SLOT_VAL, g->n_calls, false); /* the result */
}

static size_t round_up(size_t n)
{
    return (n + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

static void find_sizes(struct memory_layout *l)
{
    for (int i = 0; i < l->g->n; i++) {
        const struct graph_node *n = &l->g->node[i];

        if (!is_activation(n))
            continue;
        slot_of(l, i, SLOT_VAL)->bytes = round_up(tensor_bytes(&n->val));
        slot_of(l, i, SLOT_GRAD)->bytes = round_up(tensor_bytes(&n->grad));
        if (n->aux.rank)
            slot_of(l, i, SLOT_AUX)->bytes = round_up(tensor_bytes(&n->aux));
    }
}

static bool ranges_overlap(const struct memory_slot *a,
                           const struct memory_slot *b)
{
    for (int i = 0; i < a->ranges; i++)
        for (int j = 0; j < b->ranges; j++)
            if (a->from[i] <= b->to[j] && b->from[j] <= a->to[i])
                return true;
    return false;
}

static int by_size(const void *a, const void *b)
{
    const struct memory_slot *x = *(struct memory_slot *const *)a;
    const struct memory_slot *y = *(struct memory_slot *const *)b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x < y ? -1 : 1;
}

/* The lowest free address for s; `placed` is sorted by address. */
static size_t lowest_free(const struct memory_slot *s,
                          struct memory_slot **placed, int n)
{
    size_t at = 0;

    for (int i = 0; i < n; i++) {
        if (placed[i]->at >= at + s->bytes)
            break;
        if (placed[i]->at + placed[i]->bytes > at &&
            ranges_overlap(s, placed[i]))
            at = placed[i]->at + placed[i]->bytes;
    }
    return at;
}

/* Only slots whose live ranges overlap ours take part in the search for an
 * address: another could end above one of them and hide it. */
static void place_slot(struct memory_layout *l, struct memory_slot *s,
                       struct memory_slot **placed, struct memory_slot **rivals,
                       int *n)
{
    int n_rivals = 0, i;

    for (i = 0; i < *n; i++)
        if (ranges_overlap(s, placed[i]))
            rivals[n_rivals++] = placed[i];
    s->at = lowest_free(s, rivals, n_rivals);
    for (i = *n; i > 0 && placed[i - 1]->at > s->at; i--)
        placed[i] = placed[i - 1];
    placed[i] = s;
    ++*n;
    if (s->at + s->bytes > l->total)
        l->total = s->at + s->bytes;
}

static void lay_out_activations(struct memory_layout *l, struct graph *g)
{
    const size_t room = (size_t)g->n * SLOT_KINDS;
    AUTO_FREE struct memory_slot **order = xcalloc(room, sizeof(*order));
    AUTO_FREE struct memory_slot **placed = xcalloc(room, sizeof(*placed));
    AUTO_FREE struct memory_slot **rivals = xcalloc(room, sizeof(*rivals));
    int n = 0, n_placed = 0;

    *l = (struct memory_layout){ .g = g };
    l->slot = xcalloc(room, sizeof *l->slot);
    find_sizes(l);
    find_ranges(l);
    for (size_t i = 0; i < room; i++)
        if (l->slot[i].ranges && l->slot[i].bytes)
            order[n++] = &l->slot[i];
    qsort(order, (size_t)n, sizeof(*order), by_size);
    for (int i = 0; i < n; i++)
        place_slot(l, order[i], placed, rivals, &n_placed);
}

/* ---- units ----------------------------------------------------------- */

/* Set the member at offset `member` of each unit to its address, in elements
 * of its region; returns the size of the region.  If shared, the layers take
 * turns in two places behind all others. */
static int64_t place_units(struct graph *g, bool shared, size_t member)
{
    int64_t total = 0, most = 0;
    int turn = 0;

    for (int u = 0; u < g->n_units; u++) {
        struct graph_unit *unit = &g->unit[u];
        int64_t *at = (int64_t *)((char *)unit + member);

        if (shared && unit->layer >= 0) {
            most = unit->count > most ? unit->count : most;
            continue;
        }
        *at = total;
        total += unit->count;
    }
    for (int u = 0; u < g->n_units && most > 0; u++) {
        struct graph_unit *unit = &g->unit[u];

        if (unit->layer >= 0)
            *(int64_t *)((char *)unit + member) = total + (turn++ % 2) * most;
    }
    return total + 2 * most;
}

/* ---- sizes, addresses ------------------------------------------------ */

static void set_region_sizes(struct graph *g, const struct graph_conf *conf,
                             const struct memory_layout *l)
{
    const size_t n = (size_t)place_units(
        g, conf->share_weights, offsetof(struct graph_unit, weights_at));
    const size_t n_grads = (size_t)place_units(
        g, conf->share_grads, offsetof(struct graph_unit, grads_at));

    if (!conf->borrow && !(graph_has_copies(g) && conf->masters_elsewhere))
        g->weights.bytes = n * dtype_size(g->masters);
    if (!conf->borrow && graph_has_copies(g))
        g->copies.bytes = n * dtype_size(g->type);
    g->grads.bytes = conf->training ? n_grads * sizeof(float) : 0;
    g->activations.bytes = l->total;
    g->inputs.bytes = g->caches.bytes = 0;
    for (int i = 0; i < g->n; i++) {
        const struct graph_node *node = &g->node[i];

        if (node->op == OP_INPUT || node->op == OP_HEAD)
            g->inputs.bytes += round_up(tensor_bytes(&node->val));
        if (node->op == OP_DECODE)
            g->caches.bytes += 2 * round_up(tensor_bytes(&node->keys));
    }
}

static void lay_out(struct graph *g, const struct graph_conf *conf,
                    struct memory_layout *l)
{
    g->masters = conf->borrow ? conf->borrow->masters : conf->masters;
    graph_calls_make(g, conf);
    lay_out_activations(l, g);
    set_region_sizes(g, conf, l);
}

void graph_memory_size(struct graph *g, const struct graph_conf *conf)
{
    struct memory_layout l;

    lay_out(g, conf, &l);
    free(l.slot);
}

static void *address_in(const struct region *r, size_t bytes)
{
    return r->data ? (char *)r->data + bytes : NULL;
}

static void point_params(struct graph *g, const struct graph *from)
{
    const struct region *weights = graph_read_weights(g);

    for (int i = 0; i < g->n_params; i++) {
        const struct graph_param *p = &g->param[i];
        struct graph_node *n = &g->node[p->node];
        const struct graph_unit *u = &g->unit[p->unit];
        const size_t at = (size_t)(u->weights_at + p->at - u->at);
        const size_t grad_at = (size_t)(u->grads_at + p->at - u->at);

        if (from)
            n->val.data = from->node[from->param[i].node].val.data;
        else
            n->val.data = address_in(weights, at * dtype_size(g->type));
        n->grad.data = address_in(&g->grads, grad_at * sizeof(float));
    }
}

static void point_nodes(struct graph *g, struct memory_layout *l)
{
    size_t input = 0, cache = 0;

    for (int i = 0; i < g->n; i++) {
        struct graph_node *n = &g->node[i];

        if (n->op == OP_INPUT || n->op == OP_HEAD) {
            n->val.data = address_in(&g->inputs, input);
            input += round_up(tensor_bytes(&n->val));
        }
        if (n->op == OP_DECODE) {
            n->keys.data = address_in(&g->caches, cache);
            cache += round_up(tensor_bytes(&n->keys));
            n->values.data = address_in(&g->caches, cache);
            cache += round_up(tensor_bytes(&n->values));
        }
        if (!is_activation(n))
            continue;
        n->val.data =
            address_in(&g->activations,
                       slot_of(l, owner_of(g, i, SLOT_VAL), SLOT_VAL)->at);
        n->grad.data =
            address_in(&g->activations,
                       slot_of(l, owner_of(g, i, SLOT_GRAD), SLOT_GRAD)->at);
        if (n->aux.rank)
            n->aux.data =
                address_in(&g->activations, slot_of(l, i, SLOT_AUX)->at);
    }
}

int graph_memory_alloc(struct graph *g, struct dev *dev,
                       const struct graph_conf *conf, struct err *e)
{
    struct memory_layout l;
    int ret = -1;

    g->dev = dev;
    lay_out(g, conf, &l);
    if (conf->borrow) {
        g->borrowed = true;
        g->weights = conf->borrow->weights;
        g->copies = conf->borrow->copies;
    }
    if ((g->borrowed || (region_alloc(&g->weights, dev, DEV_WEIGHTS, e) == 0 &&
                         region_alloc(&g->copies, dev, DEV_WEIGHTS, e) == 0)) &&
        region_alloc(&g->grads, dev, DEV_GRADS, e) == 0 &&
        region_alloc(&g->inputs, dev, DEV_INPUTS, e) == 0 &&
        region_alloc(&g->caches, dev, DEV_CACHES, e) == 0 &&
        region_alloc(&g->activations, dev, DEV_ACTIVATIONS, e) == 0) {
        point_params(g, conf->borrow);
        point_nodes(g, &l);
        ret = 0;
    }
    free(l.slot);
    return ret;
}
