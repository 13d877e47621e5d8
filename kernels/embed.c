/*
 * embed - rows of a table, by token and by position
 */
#include "config.h"
#include "common/mem.h"
#include "kernels/ref.h"

void ref_embed_fwd(struct dev *dev UNUSED, struct tensor *y,
                   const struct tensor *tokens, const struct tensor *wte,
                   const struct tensor *wpe, int64_t T, int64_t from)
{
    const int64_t N = tensor_rows(y), C = tensor_cols(y);

    assert(tensor_count(tokens) == N && tensor_cols(wte) == C);
    for (int64_t n = 0; n < N; n++) {
        const int64_t token = ref_int(tokens, n), position = from + n % T;

        assert(token >= 0 && token < wte->dim[0]);
        for (int64_t c = 0; c < C; c++) {
            double v = ref_get(wte, token * C + c);

            if (wpe)
                v += ref_get(wpe, position * C + c);
            ref_set(y, n * C + c, v);
        }
    }
}

/* dw(row(n)) += dy(n) for all n; row(n) is tokens(n), or n % T without. */
static void add_rows(struct tensor *dw, const struct tensor *tokens, int64_t T,
                     const struct tensor *dy)
{
    const int64_t N = tensor_rows(dy), C = tensor_cols(dy);
    AUTO_FREE double *sum = xcalloc((size_t)tensor_count(dw), sizeof *sum);

    assert(tensor_cols(dw) == C);
    for (int64_t n = 0; n < N; n++) {
        const int64_t row = tokens ? ref_int(tokens, n) : n % T;

        for (int64_t c = 0; c < C; c++)
            sum[row * C + c] += ref_get(dy, n * C + c);
    }
    for (int64_t i = 0; i < tensor_count(dw); i++)
        ref_add(dw, i, sum[i]);
}

void ref_embed_bwd(struct dev *dev UNUSED, struct tensor *dwte,
                   struct tensor *dwpe, const struct tensor *tokens,
                   const struct tensor *dy, int64_t T)
{
    if (dwte)
        add_rows(dwte, tokens, T, dy);
    if (dwpe)
        add_rows(dwpe, NULL, T, dy);
}
