/*
 * gemm_pack - copy both sides of a product into the order in which it is read
 */
#include "config.h"
#include "kernels/cpu/gemm_block.h"
#include "kernels/cpu/vec.h"

/* Where k runs along a row; n numbers are left. */
VEC_FN vf along(enum dtype type, const int per, const void *data, int64_t at,
                int64_t n)
{
    return per == 2 ? vf_pairs_along(data, type, at, n)
                    : vf_take(data, type, at, n);
}

/* Where k runs from row to row, and n numbers of this one are left. */
VEC_FN vf across(enum dtype type, const int per, const void *data, int64_t at,
                 int64_t right, int64_t n, bool below)
{
    return per == 2 ? vf_pairs_down(data, type, at, right, n, below)
                    : vf_take(data, type, at, n);
}

/* Call fn with the type and `per` as constants. */
#define BY_WORD(type, per, fn, ...)                                            \
    do {                                                                       \
        if ((per) == 1)                                                        \
            VEC_BY_TYPE(type, fn, 1, __VA_ARGS__);                             \
        else if ((type) == DT_BF16)                                            \
            fn(DT_BF16, 2, __VA_ARGS__);                                       \
        else                                                                   \
            fn(DT_F32, 2, __VA_ARGS__);                                        \
    } while (0)

/*
 * out[k * width + i] = data[i * down + k]: the side in k is contiguous.  Rows
 * go by vectors, the last of which overlaps the one before; where there are
 * fewer rows than that, what is written beyond them is written again after.
 */
VEC_FN void pack_transposed(enum dtype type, const int per, float *out,
                            int64_t width, const void *data, int64_t at,
                            int64_t down, int64_t rows, int64_t K)
{
    const int64_t n = gemm_min(rows, VW),
                  end = gemm_count_words(K, per) * width;

    for (int64_t i = 0; i < rows; i += VW) {
        const int64_t row = gemm_min(i, rows - n);

        for (int64_t k = 0; k < gemm_count_words(K, per); k += VW) {
            vf v[VW];

#pragma GCC unroll 16
            for (int j = 0; j < VW; j++)
                v[j] = along(type, per, data,
                             at + (row + gemm_min(j, n - 1)) * down + k * per,
                             K - k * per);
            vf_transpose(v);
#pragma GCC unroll 16
            for (int j = 0; j < VW; j++) {
                const int64_t to = (k + j) * width + row;

                if (to + VW <= end)
                    vf_store(out + to, v[j]);
                else if (to < end)
                    vf_store_n(out + to, v[j], n);
            }
        }
    }
}

/* out[k * width + i] = data[i + k * right]: the side in i is contiguous. */
VEC_FN void pack_straight(enum dtype type, const int per, float *out,
                          int64_t width, const void *data, int64_t at,
                          int64_t right, int64_t rows, int64_t K)
{
    const int64_t size = (int64_t)dtype_size(type);

    for (int64_t k = 0; k < K; k += per, out += width, at += per * right) {
        const int64_t ahead = at + (K - k > 8 * per ? 8 * per : 0) * right;

        for (int64_t line = 0; line < rows; line += 16)
            __builtin_prefetch((const char *)data + (ahead + line) * size);
        for (int64_t i = 0; i < rows; i += VW)
            vf_give(out, DT_F32, i,
                    across(type, per, data, at + i, right, rows - i, k + 1 < K),
                    rows - i);
    }
}

/* Pack rows of a view from element `at` on; k runs along `right`, for K
 * numbers. */
static void pack_side(int per, float *out, int64_t width,
                      const struct gemm_view *v, int64_t at, int64_t down,
                      int64_t right, int64_t rows, int64_t K)
{
    if (right == 1)
        BY_WORD(v->type, per, pack_transposed, out, width, v->data, at, down,
                rows, K);
    else
        BY_WORD(v->type, per, pack_straight, out, width, v->data, at, right,
                rows, K);
}

static void pack_rows(int per, float *out, const struct gemm_view *a, int64_t i,
                      int64_t rows, int64_t from, int64_t K)
{
    pack_side(per, out, rows, a, i * a->down + from * a->right, a->down,
              a->right, rows, K);
}

static void pack_cols(int per, float *out, const struct gemm_view *b, int64_t j,
                      int64_t cols, int64_t from, int64_t K)
{
    pack_side(per, out, GEMM_NR, b, from * b->down + j * b->right, b->right,
              b->down, cols, K);
    for (int64_t k = 0; cols < GEMM_NR && k < gemm_count_words(K, per); k++)
        memset(out + k * GEMM_NR + cols, 0,
               (size_t)(GEMM_NR - cols) * sizeof *out);
}

void gemm_pack_a(float *out, const struct gemm_view *a, int64_t i, int64_t rows,
                 int64_t from, int64_t K)
{
    pack_rows(1, out, a, i, rows, from, K);
}

void gemm_pack_b(float *out, const struct gemm_view *b, int64_t j, int64_t cols,
                 int64_t from, int64_t K)
{
    pack_cols(1, out, b, j, cols, from, K);
}

/* ---- blocks ------------------------------------------------------------ */

VEC_FN void copy_words(enum dtype type, const int per, float *out,
                       const void *data, int64_t at, int64_t right, int64_t n,
                       bool below)
{
    for (int64_t i = 0; i < n; i += VW)
        vf_give(out, DT_F32, i,
                across(type, per, data, at + i, right, n - i, below), n - i);
}

void gemm_block_pack_panel(const struct gemm_block *b, float *out, int64_t row,
                           int64_t rows)
{
    pack_rows(b->per, out, &b->g->a, b->row + row, rows, gemm_block_first(b),
              gemm_block_numbers(b));
}

void gemm_block_pack_a(const struct gemm_block *b, int64_t piece)
{
    const struct gemm_view *v = &b->g->a;
    const int64_t first = piece * GEMM_PIECE_ROWS;
    const int64_t end = gemm_min(first + GEMM_PIECE_ROWS, b->K);

    if (v->right == 1) {
        const int64_t row = gemm_block_row(b, piece);

        gemm_block_pack_panel(b, b->a + row * b->K, row,
                              gemm_block_row(b, piece + 1) - row);
        return;
    }
    for (int64_t k = first; k < end; k++) {
        const int64_t at = b->row + (b->from + k) * b->per * v->right;
        const bool below = (k + 1) * b->per <= gemm_block_numbers(b);

        for (int64_t p = 0; p < b->panels; p++) {
            const int64_t row = gemm_block_row(b, p),
                          n = gemm_block_row(b, p + 1) - row;

            BY_WORD(v->type, b->per, copy_words, b->a + row * b->K + k * n,
                    v->data, at + row, v->right, n, below);
        }
    }
}

void gemm_block_pack_b(const struct gemm_block *b, int64_t piece)
{
    const struct gemm_view *v = &b->g->b;
    const int64_t end = gemm_min((piece + 1) * GEMM_PIECE_ROWS, b->K);

    if (v->down == 1) {
        const int64_t col = piece * GEMM_NR;

        pack_cols(b->per, b->b + col * b->K, v, b->col + col,
                  gemm_min(GEMM_NR, b->cols - col), gemm_block_first(b),
                  gemm_block_numbers(b));
        return;
    }
    for (int64_t k = piece * GEMM_PIECE_ROWS; k < end; k++) {
        const int64_t at = b->col + (b->from + k) * b->per * v->down;
        const bool below = (k + 1) * b->per <= gemm_block_numbers(b);

        for (int64_t col = 0; col < b->cols; col += GEMM_NR) {
            const int64_t n = gemm_min(GEMM_NR, b->cols - col);
            float *out = b->b + col * b->K + k * GEMM_NR;

            BY_WORD(v->type, b->per, copy_words, out, v->data, at + col,
                    v->down, n, below);
            for (int64_t i = n; i < GEMM_NR; i++)
                out[i] = 0.0f;
        }
    }
}
