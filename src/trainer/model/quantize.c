#include "config.h"
#include "trainer/model/graph.h"

/* The matrix of a linear operation, or NULL if the node is another. */
static struct node *matrix_of(struct graph *g, int i)
{
    const struct node *n = &g->node[i];

    return n->op == OP_LINEAR ? &g->node[n->src[1]] : NULL;
}

static size_t aligned(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

/* Give w its place for 8-bit numbers and scales; returns where it ends. */
static size_t place_bytes(struct node *w, char *base, size_t at)
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

int graph_quantize(struct graph *g, struct err *e)
{
    const struct ops *ops = g->dev->ops;
    size_t at = 0;

    if (!ops->quantize)
        return err_set(e, ERR_USAGE, "%s has no 8-bit products; use the CPU",
                       g->dev->type->name);
    for (int i = 0; i < g->n; i++)
        if (matrix_of(g, i))
            at = place_bytes(matrix_of(g, i), NULL, at);
    g->bytes.bytes = at;
    g->bytes.data = dev_alloc(g->dev, at, DEV_WEIGHTS, e);
    if (!g->bytes.data)
        return err_wrap(e, "8-bit weights");
    at = 0;
    for (int i = 0; i < g->n; i++) {
        struct node *w = matrix_of(g, i);

        if (!w)
            continue;
        at = place_bytes(w, g->bytes.data, at);
        ops->quantize(g->dev, &w->aux, &w->aux2, &w->val);
    }
    return 0;
}
