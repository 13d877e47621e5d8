/*
 * embed - rows of a table on the CPU
 *
 * The gradient is computed by token, not by row: the rows are sorted by token
 * first (a stable counting sort), and a thread adds up all rows of a token.  So
 * there are no atomics, and rows are added in their order.
 */
#include "config.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"

#include <assert.h>

VEC_FN void embed_row(enum dtype type, struct tensor *y, int64_t n,
                      const struct tensor *wte, int64_t token,
                      const struct tensor *wpe, int64_t position)
{
    const int64_t C = tensor_cols(y);

    for (int64_t c = 0; c < C; c += VW) {
        vf v = vf_take(wte->data, wte->type, token * C + c, C - c);

        if (wpe)
            v += vf_take(wpe->data, wpe->type, position * C + c, C - c);
        vf_give(y->data, type, n * C + c, v, C - c);
    }
}

void cpu_embed_fwd(struct dev *dev, struct tensor *y,
                   const struct tensor *tokens, const struct tensor *wte,
                   const struct tensor *wpe, int64_t T, int64_t from)
{
    const int64_t N = tensor_rows(y);
    const int32_t *token = tokens->data;

#pragma omp parallel for num_threads(cpu_threads(dev)) if (tensor_count(y) >   \
                                                           ROWS_PIECE)
    for (int64_t n = 0; n < N; n++) {
        assert(token[n] >= 0 && token[n] < wte->dim[0]);
        VEC_BY_TYPE(y->type, embed_row, y, n, wte, token[n], wpe, from + n % T);
    }
}

/* out(C) += row n of dy, or = if set. */
VEC_FN void add_row(enum dtype type, float *out, const struct tensor *dy,
                    int64_t n, bool set)
{
    const int64_t C = tensor_cols(dy);

    for (int64_t c = 0; c < C; c += VW)
        vf_give_or_add(out, DT_F32, c,
                       vf_take(dy->data, type, n * C + c, C - c), C - c, !set);
}

/*
 * The rows of token v are order[start[v]] .. order[start[v + 1] - 1].  start
 * has V + 2 elements: rows are counted one element further on, and filling
 * `order` moves each start to its end, which is the start of the next.
 */
static void sort_rows(int32_t *start, int32_t *order, const int32_t *token,
                      int64_t N, int64_t V)
{
    memset(start, 0, (size_t)(V + 2) * sizeof *start);
    for (int64_t n = 0; n < N; n++)
        start[token[n] + 2]++;
    for (int64_t v = 1; v < V; v++)
        start[v + 1] += start[v];
    for (int64_t n = 0; n < N; n++)
        order[start[token[n] + 1]++] = (int32_t)n;
}

static void token_gradient(struct dev *dev, struct tensor *dw,
                           const struct tensor *tokens, const struct tensor *dy)
{
    const int64_t N = tensor_rows(dy), C = tensor_cols(dy), V = dw->dim[0];
    int32_t *start =
        cpu_scratch(dev, (size_t)(V + 2 + N) * sizeof *start, "embed_bwd");

    if (!start)
        return;
    sort_rows(start, start + V + 2, tokens->data, N, V);
#pragma omp parallel for num_threads(cpu_threads(dev)) schedule(dynamic, 64)
    for (int64_t v = 0; v < V; v++) {
        float *out = (float *)dw->data + v * C;
        bool set = dw->overwrite;

        for (int32_t i = start[v]; i < start[v + 1]; i++) {
            VEC_BY_TYPE(dy->type, add_row, out, dy, start[V + 2 + i], set);
            set = false;
        }
        if (set)
            memset(out, 0, (size_t)C * sizeof *out);
    }
}

static void position_gradient(struct dev *dev, struct tensor *dw,
                              const struct tensor *dy, int64_t T)
{
    const int64_t N = tensor_rows(dy), C = tensor_cols(dy);
    const int64_t places = dw->dim[0];

#pragma omp parallel for num_threads(cpu_threads(dev)) if (N * C > ROWS_PIECE)
    for (int64_t t = 0; t < places; t++) {
        float *out = (float *)dw->data + t * C;
        bool set = dw->overwrite;

        for (int64_t n = t; t < T && n < N; n += T) {
            VEC_BY_TYPE(dy->type, add_row, out, dy, n, set);
            set = false;
        }
        if (set)
            memset(out, 0, (size_t)C * sizeof *out);
    }
}

void cpu_embed_bwd(struct dev *dev, struct tensor *dwte, struct tensor *dwpe,
                   const struct tensor *tokens, const struct tensor *dy,
                   int64_t T)
{
    if (dwte)
        token_gradient(dev, dwte, tokens, dy);
    if (dwpe)
        position_gradient(dev, dwpe, dy, T);
}
