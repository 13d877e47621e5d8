/*
 * gemm - packing, the tile in registers, and the loops around them
 */
#include "config.h"
#include "kernels/gemm.h"
#include "kernels/vec.h"

#include <omp.h>
#include <stdatomic.h>

/*
 * Sizes, in floats.  A panel of A (MR by K_BLOCK, 21 KB) stays in the first
 * cache while GEMM_GROUP columns of B (384 by K_BLOCK, 590 KB) stream from the
 * second; ROOM bounds each packed block.
 */
enum { K_BLOCK = 384, ROOM = 1 << 20 };

/* Below this many multiplications more threads cost more than they bring. */
static const double SMALL = 1 << 17;

static inline int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* ---- packing ----------------------------------------------------------- */

/* A square of 4 by 4, turned. */
VEC_FN void turn_square(enum dtype type, float *out, int64_t width,
                        const void *data, int64_t at, int64_t down)
{
    const v4 a = v4_get(data, type, at), b = v4_get(data, type, at + down);
    const v4 c = v4_get(data, type, at + 2 * down);
    const v4 d = v4_get(data, type, at + 3 * down);
    const v4 ab = __builtin_shuffle(a, b, (v4i){ 0, 4, 1, 5 });
    const v4 AB = __builtin_shuffle(a, b, (v4i){ 2, 6, 3, 7 });
    const v4 cd = __builtin_shuffle(c, d, (v4i){ 0, 4, 1, 5 });
    const v4 CD = __builtin_shuffle(c, d, (v4i){ 2, 6, 3, 7 });
    const v4 p = __builtin_shuffle(ab, cd, (v4i){ 0, 1, 4, 5 });
    const v4 q = __builtin_shuffle(ab, cd, (v4i){ 2, 3, 6, 7 });
    const v4 r = __builtin_shuffle(AB, CD, (v4i){ 0, 1, 4, 5 });
    const v4 t = __builtin_shuffle(AB, CD, (v4i){ 2, 3, 6, 7 });

    memcpy(out, &p, sizeof p);
    memcpy(out + width, &q, sizeof q);
    memcpy(out + 2 * width, &r, sizeof r);
    memcpy(out + 3 * width, &t, sizeof t);
}

/*
 * out[k * width + i] = data[i * down + k]: the side in k is contiguous.  Rows
 * go by fours; the last four may overlap those before.
 */
VEC_FN void turn(enum dtype type, float *out, int64_t width, const void *data,
                 int64_t at, int64_t down, int64_t rows, int64_t K)
{
    for (int64_t i = 0; i < rows && rows >= 4; i += 4) {
        const int64_t row = i + 4 <= rows ? i : rows - 4;
        int64_t k = 0;

        for (; k + 4 <= K; k += 4)
            turn_square(type, out + k * width + row, width, data,
                        at + row * down + k, down);
        for (; k < K; k++) {
            for (int64_t j = row; j < row + 4; j++)
                out[k * width + j] = num_get(data, type, at + j * down + k);
        }
    }
    for (int64_t i = 0; i < rows && rows < 4; i++) {
        for (int64_t k = 0; k < K; k++)
            out[k * width + i] = num_get(data, type, at + i * down + k);
    }
}

/* out[k * width + i] = data[i + k * right]: the side in i is contiguous. */
VEC_FN void copy(enum dtype type, float *out, int64_t width, const void *data,
                 int64_t at, int64_t right, int64_t rows, int64_t K)
{
    const int64_t size = (int64_t)dtype_size(type);

    for (int64_t k = 0; k < K; k++, out += width, at += right) {
        const int64_t ahead = at + (K - k > 8 ? 8 : 0) * right;
        int64_t i = 0;

        for (int64_t line = 0; line < rows; line += 16)
            __builtin_prefetch((const char *)data + (ahead + line) * size);

        for (; i + VW <= rows; i += VW)
            vf_store(out + i, vf_get(data, type, at + i));
        if (i < rows)
            vf_store_n(out + i, vf_get_n(data, type, at + i, rows - i),
                       rows - i);
    }
}

/* rows of a view whose k runs along `right`, from its element at. */
static void pack(float *out, int64_t width, const struct view *v, int64_t at,
                 int64_t down, int64_t right, int64_t rows, int64_t K)
{
    if (right == 1)
        VEC_BY_TYPE(v->type, turn, out, width, v->data, at, down, rows, K);
    else
        VEC_BY_TYPE(v->type, copy, out, width, v->data, at, right, rows, K);
}

void gemm_pack_a(float *out, const struct view *a, int64_t i, int64_t rows,
                 int64_t from, int64_t K)
{
    pack(out, rows, a, i * a->down + from * a->right, a->down, a->right, rows,
         K);
}

void gemm_pack_b(float *out, const struct view *b, int64_t j, int64_t cols,
                 int64_t from, int64_t K)
{
    pack(out, GEMM_NR, b, from * b->down + j * b->right, b->right, b->down,
         cols, K);
    for (int64_t k = 0; cols < GEMM_NR && k < K; k++)
        memset(out + k * GEMM_NR + cols, 0,
               (size_t)(GEMM_NR - cols) * sizeof *out);
}

/* ---- the tile ---------------------------------------------------------- */

/* c(rows, cols) += or = sum(rows, NR): a tile at the right edge of C. */
static void store_edge(float *c, int64_t c_down, const float *sum, int64_t rows,
                       int64_t cols, bool add)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++)
            c[i * c_down + j] =
                sum[i * GEMM_NR + j] + (add ? c[i * c_down + j] : 0.0f);
    }
}

/*
 * rows, and how far apart the numbers of A are, are constants where this is
 * inlined: acc lives in registers.
 */
VEC_FN void tile(const int rows, const int down, const int right, float *c,
                 int64_t c_down, const float *restrict a,
                 const float *restrict b, int64_t cols, int64_t K, bool add)
{
    vf acc[GEMM_MR][2];

#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
        acc[i][0] = acc[i][1] = vf_set(0.0f);
    for (int64_t k = 0; k < K; k++, a += right, b += GEMM_NR) {
        const vf low = vf_load(b), high = vf_load(b + VW);

#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            const vf x = vf_set(a[i * down]);

            acc[i][0] += x * low;
            acc[i][1] += x * high;
        }
    }
    if (cols < GEMM_NR) {
        float sum[GEMM_MR * GEMM_NR];

#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            vf_store(sum + i * GEMM_NR, acc[i][0]);
            vf_store(sum + i * GEMM_NR + VW, acc[i][1]);
        }
        store_edge(c, c_down, sum, rows, cols, add);
        return;
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++, c += c_down) {
        if (add) {
            acc[i][0] += vf_load(c);
            acc[i][1] += vf_load(c + VW);
        }
        vf_store(c, acc[i][0]);
        vf_store(c + VW, acc[i][1]);
    }
}

#if defined(__AVX512F__)
# define EACH_ROWS(X)                                                          \
  X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#else
# define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#endif

void gemm_tile(float *c, int64_t c_down, const float *a, const float *b,
               int64_t rows, int64_t cols, int64_t K, bool add)
{
    switch (rows) {
#define CASE(n)                                                                \
 case n:                                                                       \
  tile(n, 1, n, c, c_down, a, b, cols, K, add);                                \
  return;
        EACH_ROWS(CASE)
#undef CASE
    }
}

void gemm_tile_rows(float *c, int64_t c_down, const float *a, const float *b,
                    int64_t rows, int64_t cols, int64_t K, bool add)
{
    switch (rows) {
#define CASE(n)                                                                \
 case n:                                                                       \
  tile(n, GEMM_NR, 1, c, c_down, a, b, cols, K, add);                          \
  return;
        EACH_ROWS(CASE)
#undef CASE
    }
}

/* ---- the loops --------------------------------------------------------- */

/* How a product is cut: the blocks, and their number along each side. */
struct plan {
    int64_t k_block, n_k, rows, n_rows, cols, n_cols;
};

static struct plan plan(const struct gemm *g)
{
    struct plan p;

    /* What is stored in 16 bits is summed in one go: no rounding between. */
    p.n_k = g->c_type == DT_F32 ? ceil_div(g->K, K_BLOCK) : 1;
    p.k_block = ceil_div(g->K, p.n_k);
    p.n_rows =
        ceil_div(g->M, ceil_div(ROOM / p.k_block + 1, GEMM_MR) * GEMM_MR);
    p.rows = ceil_div(g->M, p.n_rows);
    p.cols = ceil_div(ROOM / p.k_block + 1, GEMM_GROUP) * GEMM_GROUP;
    p.cols = min64(p.cols, ceil_div(g->N, GEMM_NR) * GEMM_NR);
    p.n_cols = ceil_div(g->N, p.cols);
    return p;
}

size_t gemm_scratch(const struct gemm *g)
{
    const struct plan p = plan(g);

    return (size_t)((p.rows + p.cols) * p.k_block + 64) * sizeof(float);
}

/* One block of each side, packed; what a team of threads works on. */
struct block {
    const struct gemm *g;
    float *a, *b;
    int64_t row, rows, panels; /* of A, cut evenly into panels */
    int64_t col, cols;
    int64_t from, K;
    bool add, last;
};

static int64_t panel_row(const struct block *b, int64_t panel)
{
    return gemm_panel(b->rows, panel, b->panels);
}

/*
 * Where k runs along the rows of memory (both sides of y = x w'), a piece of
 * packing is a panel.  Where it runs across them (both of dw = dy' x), a piece
 * is some rows, which are read from end to end into all panels: a panel alone
 * would take a few numbers of each row, and wait for each.
 */
enum { PIECE_ROWS = 16 };

static int64_t pieces(int64_t along, int64_t panels, int64_t K)
{
    return along == 1 ? panels : ceil_div(K, PIECE_ROWS);
}

VEC_FN void copy_run(enum dtype type, float *out, const void *data, int64_t at,
                     int64_t n)
{
    for (int64_t i = 0; i < n; i += VW)
        vf_give(out, DT_F32, i, vf_take(data, type, at + i, n - i), n - i);
}

static void pack_a(const struct block *b, int64_t piece)
{
    const struct view *v = &b->g->a;
    const int64_t end = min64((piece + 1) * PIECE_ROWS, b->K);

    if (v->right == 1) {
        const int64_t row = panel_row(b, piece);

        gemm_pack_a(b->a + row * b->K, v, b->row + row,
                    panel_row(b, piece + 1) - row, b->from, b->K);
        return;
    }
    for (int64_t k = piece * PIECE_ROWS; k < end; k++) {
        const int64_t at = b->row + (b->from + k) * v->right;

        for (int64_t p = 0; p < b->panels; p++) {
            const int64_t row = panel_row(b, p), n = panel_row(b, p + 1) - row;

            VEC_BY_TYPE(v->type, copy_run, b->a + row * b->K + k * n, v->data,
                        at + row, n);
        }
    }
}

static void pack_b(const struct block *b, int64_t piece)
{
    const struct view *v = &b->g->b;
    const int64_t end = min64((piece + 1) * PIECE_ROWS, b->K);

    if (v->down == 1) {
        const int64_t col = piece * GEMM_NR;

        gemm_pack_b(b->b + col * b->K, v, b->col + col,
                    min64(GEMM_NR, b->cols - col), b->from, b->K);
        return;
    }
    for (int64_t k = piece * PIECE_ROWS; k < end; k++) {
        const int64_t at = b->col + (b->from + k) * v->down;

        for (int64_t col = 0; col < b->cols; col += GEMM_NR) {
            const int64_t n = min64(GEMM_NR, b->cols - col);
            float *out = b->b + col * b->K + k * GEMM_NR;

            VEC_BY_TYPE(v->type, copy_run, out, v->data, at + col, n);
            for (int64_t i = n; i < GEMM_NR; i++)
                out[i] = 0.0f;
        }
    }
}

/* c(n) += bias(col + n) */
static void add_bias(float *c, const struct tensor *bias, int64_t col,
                     int64_t n)
{
    for (int64_t i = 0; i < n; i += VW)
        vf_give(c, DT_F32, i,
                vf_take(c, DT_F32, i, n - i) +
                    vf_take(bias->data, bias->type, col + i, n - i),
                n - i);
}

/* A tile that goes to 16-bit numbers, by way of floats. */
static void tile_half(const struct block *b, int64_t row, int64_t col,
                      const float *pa, const float *pb, int64_t rows,
                      int64_t cols)
{
    const struct gemm *g = b->g;
    float c[GEMM_MR * GEMM_NR];

    gemm_tile(c, GEMM_NR, pa, pb, rows, GEMM_NR, b->K, false);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = (row + i) * g->c_down + col;

        if (g->bias)
            add_bias(c + i * GEMM_NR, g->bias, col, cols);
        for (int64_t j = 0; j < cols; j += VW) {
            vf v = vf_load(c + i * GEMM_NR + j);

            if (b->add)
                v += vf_take(g->c, g->c_type, at + j, cols - j);
            vf_give(g->c, g->c_type, at + j, v, cols - j);
        }
    }
}

/* A panel of A times a group of columns of B. */
static void multiply(const struct block *b, int64_t panel, int64_t group)
{
    const struct gemm *g = b->g;
    const int64_t start = panel_row(b, panel), row = b->row + start;
    const int64_t rows = panel_row(b, panel + 1) - start;
    const int64_t first = group * GEMM_GROUP;
    const int64_t end = min64(first + GEMM_GROUP, b->cols);
    const float *pa = b->a + start * b->K;
    float *c = (float *)g->c + row * g->c_down + b->col;

    for (int64_t col = first; col < end; col += GEMM_NR) {
        const float *pb = b->b + col * b->K;
        const int64_t cols = min64(GEMM_NR, end - col);

        if (g->c_type == DT_F32)
            gemm_tile(c + col, g->c_down, pa, pb, rows, cols, b->K, b->add);
        else
            tile_half(b, row, b->col + col, pa, pb, rows, cols);
    }
    if (!b->last)
        return;
    for (int64_t i = 0; g->bias && g->c_type == DT_F32 && i < rows; i++)
        add_bias(c + i * g->c_down + first, g->bias, b->col + first,
                 end - first);
    if (g->after)
        g->after(g->arg, row, b->col + first, rows, end - first);
}

/*
 * What a team shares: the next piece to pack and the next to multiply.  A
 * counter is set back while every thread is at the other kind of work, with a
 * barrier before and after.
 */
struct team {
    atomic_llong pack, multiply;
};

static void run_block(const struct block *b, struct team *team, bool new_a)
{
    const struct gemm *g = b->g;
    const int64_t a_pieces = new_a ? pieces(g->a.right, b->panels, b->K) : 0;
    const int64_t b_pieces =
        pieces(g->b.down, ceil_div(b->cols, GEMM_NR), b->K);
    const int64_t tasks = b->panels * ceil_div(b->cols, GEMM_GROUP);
    int64_t i;

    while ((i = atomic_fetch_add(&team->pack, 1)) < a_pieces + b_pieces) {
        if (i < a_pieces)
            pack_a(b, i);
        else
            pack_b(b, i - a_pieces);
    }
#pragma omp barrier
#pragma omp master
    atomic_store(&team->pack, 0);
    while ((i = atomic_fetch_add(&team->multiply, 1)) < tasks)
        multiply(b, i % b->panels, i / b->panels);
#pragma omp barrier
#pragma omp master
    atomic_store(&team->multiply, 0);
}

static void run(const struct gemm *g, const struct plan *p, float *scratch,
                struct team *team)
{
    struct block b = { .g = g, .a = scratch };

    b.b = scratch + (p->rows * p->k_block + 15) / 16 * 16;
    for (int64_t i = 0; i < p->n_rows; i++) {
        b.row = i * p->rows;
        b.rows = min64(p->rows, g->M - b.row);
        b.panels = gemm_panels(b.rows);
        for (int64_t k = 0; k < p->n_k; k++) {
            b.from = k * p->k_block;
            b.K = min64(p->k_block, g->K - b.from);
            b.add = g->add || k > 0;
            b.last = k == p->n_k - 1;
            for (int64_t j = 0; j < p->n_cols; j++) {
                b.col = j * p->cols;
                b.cols = min64(p->cols, g->N - b.col);
                run_block(&b, team, j == 0);
            }
        }
    }
}

void gemm(struct dev *dev, const struct gemm *g, void *scratch)
{
    const double work = (double)g->M * (double)g->N * (double)g->K;
    const struct plan p = plan(g);
    struct team team = { 0 };

#pragma omp parallel num_threads(cpu_threads(dev)) if (work > SMALL)
    run(g, &p, scratch, &team);
}
