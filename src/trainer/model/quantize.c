/*
 * quantize - weights of 8 or 4 bits for inference
 */
#include "config.h"
#include "trainer/model/graph.h"

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

/* Point w to its numbers of `bits` bits and their scales, which begin at `at`;
 * returns where they end. */
static size_t point_copy(struct graph_node *w, int bits, char *base, size_t at)
{
    const int64_t blocks = (w->val.dim[0] + QUANT_ROWS - 1) / QUANT_ROWS;
    const int64_t groups = (w->val.dim[1] + QUANT_GROUP - 1) / QUANT_GROUP;

    w->aux = (struct tensor){ .type = DT_I8, .rank = 3 };
    w->aux.dim[0] = blocks;
    w->aux.dim[1] = groups;
    w->aux.dim[2] = QUANT_ROWS * QUANT_GROUP * bits / 8;
    w->aux2 = w->aux;
    w->aux2.type = DT_F32;
    w->aux2.dim[2] = QUANT_ROWS;
    if (base) {
        w->aux.data = base + at;
        w->aux2.data = base + at + aligned(tensor_bytes(&w->aux));
    }
    return at + aligned(tensor_bytes(&w->aux)) +
           aligned(tensor_bytes(&w->aux2));
}

int quantize_weights(struct graph *g, int bits, struct err *e)
{
    const struct ops *ops = g->dev->ops;
    size_t at = 0;

    if (!ops->quantize)
        return err_set(e, ERR_USAGE,
                       "device '%s' has no products of %d bits; use the CPU",
                       g->dev->type->name, bits);
    if (g->fetch)
        return err_set(e, ERR_USAGE,
                       "weights that are divided among ranks cannot be stored "
                       "in %d bits; use parallel.mode = ddp",
                       bits);
    for (int i = 0; i < g->n; i++)
        if (matrix_of(g, i))
            at = point_copy(matrix_of(g, i), bits, NULL, at);
    g->quantized.bytes = at;
    g->quantized.data = dev_alloc(g->dev, at, DEV_WEIGHTS, e);
    if (!g->quantized.data)
        return err_wrap(e, "weights of %d bits", bits);
    at = 0;
    for (int i = 0; i < g->n; i++) {
        struct graph_node *w = matrix_of(g, i);

        if (!w)
            continue;
        at = point_copy(w, bits, g->quantized.data, at);
        ops->quantize(g->dev, &w->aux, &w->aux2, &w->val);
    }
    return 0;
}

void quantize_borrow(struct graph *to, const struct graph *from)
{
    for (int i = 0; i < to->n_params; i++) {
        struct graph_node *w = &to->node[to->param[i].node];
        const struct graph_node *copied = &from->node[from->param[i].node];

        w->aux = copied->aux;
        w->aux2 = copied->aux2;
    }
}
