#include "config.h"
#include "trainer/model/quantize.h"

/* The matrix of a linear operation; NULL for other nodes. */
static struct graph_node *matrix_of(struct graph *g, int i)
{
    const struct graph_node *n = &g->node[i];

    return n->op == OP_LINEAR ? &g->node[n->src[1]] : NULL;
}

static size_t aligned(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

/* Point w to its 8-bit numbers and scales, which begin at `at`; returns where
 * they end. */
static size_t point_int8(struct graph_node *w, char *base, size_t at)
{
    w->aux = (struct tensor){ .type = DT_I8, .rank = 2 };
    w->aux.dim[0] = w->val.dim[0];
    w->aux.dim[1] = w->val.dim[1];
    w->aux2 = (struct tensor){ .type = DT_F32, .rank = 1 };
    w->aux2.dim[0] = w->val.dim[0];
    if (base) {
        w->aux.data = base + at;
        w->aux2.data = base + at + aligned(tensor_bytes(&w->aux));
    }
    return at + aligned(tensor_bytes(&w->aux)) +
           aligned(tensor_bytes(&w->aux2));
}

int quantize_weights(struct graph *g, struct err *e)
{
    const struct ops *ops = g->dev->ops;
    size_t at = 0;

    if (!ops->quantize)
        return err_set(e, ERR_USAGE,
                       "device '%s' has no 8-bit multiplication; "
                       "use the CPU",
                       g->dev->type->name);
    for (int i = 0; i < g->n; i++)
        if (matrix_of(g, i))
            at = point_int8(matrix_of(g, i), NULL, at);
    g->int8.bytes = at;
    g->int8.data = dev_alloc(g->dev, at, DEV_WEIGHTS, e);
    if (!g->int8.data)
        return err_wrap(e, "8-bit weights");
    at = 0;
    for (int i = 0; i < g->n; i++) {
        struct graph_node *w = matrix_of(g, i);

        if (!w)
            continue;
        at = point_int8(w, g->int8.data, at);
        ops->quantize(g->dev, &w->aux, &w->aux2, &w->val);
    }
    return 0;
}
