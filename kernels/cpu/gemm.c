/*
 * gemm - how a product is divided and packed, and the loops around its tiles
 */
#include "config.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/vec.h"

#include <omp.h>

/*
 * Sizes, in words (a float, or what takes its place).  A panel of A (MR by
 * GEMM_K, 21 KB) stays in the first cache while GEMM_GROUP columns of B (384
 * by GEMM_K, 590 KB) stream from the second.  If that has less space, strips of
 * STRIP columns (98 KB) take turns in it, each for RUN panels.  ROOM bounds
 * each packed block.
 */
enum { ROOM = 1 << 20, STRIP = 64, RUN = 8 };

/* Fewer multiplications than this are done by one thread. */
static const double SMALL = 1 << 17;

/*
 * One block of each side of a product, packed in pieces that the threads of a
 * team share.  What is packed are words: floats, or pairs of bf16 (`per`
 * numbers each) that are neighbours in k.  Where the last number has no
 * neighbour, that is 0.
 */
struct gemm_block {
    const struct gemm *g;
    int per;
    float *a, *b;
    int64_t row, rows, panels; /* of A, divided evenly into panels */
    int64_t col, cols;
    int64_t from, K;    /* words */
    int64_t strip, run; /* columns of B in a strip, panels of A in a run */
    bool add, last, near;
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* The numbers of its part of k: where they begin, and how many there are. */
static int64_t first_number(const struct gemm_block *b)
{
    return b->from * b->per;
}

static int64_t count_numbers(const struct gemm_block *b)
{
    return smaller(b->K * b->per, b->g->K - first_number(b));
}

static int64_t block_row(const struct gemm_block *b, int64_t panel)
{
    return gemm_panel(b->rows, panel, b->panels);
}

/*
 * The pieces of packing.  Where k runs along the rows of memory (both sides of
 * y = x w'), a piece is a panel.  Where k runs across them (both sides of dw =
 * dy' x), a piece is some rows, which go into all panels: a single panel would
 * need a few numbers of every row, and wait for each.
 */
enum { PIECE_ROWS = 16 };

static int64_t count_pieces(int64_t along, int64_t panels, int64_t K)
{
    return along == 1 ? panels : ceil_div(K, PIECE_ROWS);
}

/* ---- packing ----------------------------------------------------------- */

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
    const int64_t n = smaller(rows, VW), end = ceil_div(K, per) * width;

    for (int64_t i = 0; i < rows; i += VW) {
        const int64_t row = smaller(i, rows - n);

        for (int64_t k = 0; k < ceil_div(K, per); k += VW) {
            vf v[VW];

#pragma GCC unroll 16
            for (int j = 0; j < VW; j++)
                v[j] = along(type, per, data,
                             at + (row + smaller(j, n - 1)) * down + k * per,
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
    const int64_t whole = rows / VW * VW, left = rows - whole;

    for (int64_t k = 0; k < K; k += per, out += width, at += per * right) {
        const bool below = k + 1 < K;

        for (int64_t i = 0; i < whole; i += VW)
            vf_store(out + i,
                     across(type, per, data, at + i, right, VW, below));
        if (left)
            vf_store_n(out + whole,
                       across(type, per, data, at + whole, right, left, below),
                       left);
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
    for (int64_t k = 0; cols < GEMM_NR && k < ceil_div(K, per); k++)
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

/* The numbers of k in a piece that begins at word `first`. */
static int64_t piece_numbers(const struct gemm_block *b, bool along,
                             int64_t first)
{
    const int64_t n = count_numbers(b) - first * b->per;

    return along ? n : smaller(n, PIECE_ROWS * b->per);
}

static void pack_a_piece(const struct gemm_block *b, int64_t piece)
{
    const bool along = b->g->a.right == 1;
    const int64_t first = along ? 0 : piece * PIECE_ROWS;
    const int64_t end = along ? piece + 1 : b->panels;

    for (int64_t p = along ? piece : 0; p < end; p++) {
        const int64_t row = block_row(b, p), n = block_row(b, p + 1) - row;

        pack_rows(b->per, b->a + row * b->K + first * n, &b->g->a, b->row + row,
                  n, first_number(b) + first * b->per,
                  piece_numbers(b, along, first));
    }
}

static void pack_b_piece(const struct gemm_block *b, int64_t piece)
{
    const bool along = b->g->b.down == 1;
    const int64_t first = along ? 0 : piece * PIECE_ROWS;
    const int64_t end = along ? (piece + 1) * GEMM_NR : b->cols;

    for (int64_t col = along ? piece * GEMM_NR : 0; col < end; col += GEMM_NR)
        pack_cols(b->per, b->b + col * b->K + first * GEMM_NR, &b->g->b,
                  b->col + col, smaller(GEMM_NR, b->cols - col),
                  first_number(b) + first * b->per,
                  piece_numbers(b, along, first));
}

/* ---- dividing ---------------------------------------------------------- */

/*
 * How a product is divided: the blocks, and their number along each side.  If a
 * block of B is small enough to stay in the second cache (near), and leaves
 * space there for what passes through it, each thread packs the panel of A that
 * it works on, in the first cache, and no block of A is packed.
 */
struct gemm_blocking {
    int per;            /* numbers in a word */
    int64_t K, k_block; /* words */
    int64_t n_k, rows, n_rows, cols, n_cols;
    int64_t strip, run; /* columns of B in a strip, panels of A in a run */
    bool near;
};

static struct gemm_blocking choose_blocking(const struct dev *dev,
                                            const struct gemm *g)
{
    const struct cpu *cpu = dev->state;
    const bool pairs = g->b.type == DT_BF16 && g->a.type != DT_F16;
    struct gemm_blocking p = { .per = pairs ? cpu->per_word : 1 };
    bool fits;

    p.K = ceil_div(g->K, p.per);
    /* Sums stored in 16 bits are rounded once: K is not divided. */
    p.n_k = g->c_type == DT_F32 ? ceil_div(p.K, GEMM_K) : 1;
    p.k_block = ceil_div(p.K, p.n_k);
    p.cols = ceil_div(ROOM / p.k_block + 1, GEMM_GROUP) * GEMM_GROUP;
    p.cols = smaller(p.cols, ceil_div(g->N, GEMM_NR) * GEMM_NR);
    p.n_cols = ceil_div(g->N, p.cols);
    p.near = g->a.right == 1 && p.k_block <= GEMM_K &&
             p.cols * p.k_block <= cpu->near && p.n_cols == 1;
    fits = GEMM_GROUP * p.k_block <= cpu->near;
    p.strip = fits ? GEMM_GROUP : STRIP;
    p.run = fits ? 1 : RUN;
    p.n_rows =
        p.near
            ? 1
            : ceil_div(g->M, ceil_div(ROOM / p.k_block + 1, GEMM_MR) * GEMM_MR);
    p.rows = ceil_div(g->M, p.n_rows);
    return p;
}

size_t gemm_scratch(const struct dev *dev, const struct gemm *g)
{
    const struct gemm_blocking p = choose_blocking(dev, g);
    const int64_t rows = p.near ? 0 : p.rows;

    return (size_t)((rows + p.cols) * p.k_block + 64) * sizeof(float);
}

/* ---- multiplying ------------------------------------------------------- */

/* The bias of up to GEMM_NR columns as floats: what their sums start from. */
static const float *load_bias(const struct gemm_block *b, int64_t col,
                              int64_t cols, float *room)
{
    const struct tensor *bias = b->from == 0 ? b->g->bias : NULL;

    for (int64_t j = 0; bias && j < cols; j += VW)
        vf_store(room + j, vf_take(bias->data, bias->type, col + j, cols - j));
    return bias ? room : NULL;
}

/* A tile that goes to 16-bit numbers, by way of floats. */
static void half_tile(const struct gemm_block *b, int64_t row, int64_t col,
                      const float *pa, const float *pb, const float *start,
                      int64_t rows, int64_t cols)
{
    const struct gemm *g = b->g;
    float c[GEMM_MR * GEMM_NR];

    gemm_tile(b->per, c, GEMM_NR, pa, pb, start, rows, GEMM_NR, b->K, false);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = (row + i) * g->c_down + col;

        for (int64_t j = 0; j < cols; j += VW)
            vf_give_or_add(g->c, g->c_type, at + j,
                           vf_load(c + i * GEMM_NR + j), cols - j, b->add);
    }
}

/* A panel of A, which begins in this row, times columns of B. */
static void multiply_panel(const struct gemm_block *b, const float *pa,
                           int64_t row, int64_t rows, int64_t first,
                           int64_t end)
{
    const struct gemm *g = b->g;
    float *c = (float *)g->c + row * g->c_down + b->col;

    if (g->symmetric) /* whole tiles, up to the diagonal */
        end = smaller(end, ceil_div(row + rows - b->col, GEMM_NR) * GEMM_NR);
    for (int64_t col = first; col < end; col += GEMM_NR) {
        const float *pb = b->b + col * b->K;
        const int64_t cols = smaller(GEMM_NR, end - col);
        float room[GEMM_NR] = { 0 };
        const float *bias = load_bias(b, b->col + col, cols, room);

        if (g->c_type == DT_F32)
            gemm_tile(b->per, c + col, g->c_down, pa, pb, bias, rows, cols,
                      b->K, b->add);
        else
            half_tile(b, row, b->col + col, pa, pb, bias, rows, cols);
    }
}

/* The panels from one to another, which lie at pa, times a group of columns. */
static void multiply_run(const struct gemm_block *b, const float *pa,
                         int64_t from, int64_t to, int64_t group)
{
    const struct gemm *g = b->g;
    const int64_t top = block_row(b, from);
    const int64_t first = group * GEMM_GROUP;
    const int64_t end = smaller(first + GEMM_GROUP, b->cols);

    for (int64_t col = first; col < end; col += b->strip) {
        for (int64_t i = from; i < to; i++) {
            const int64_t row = block_row(b, i);

            multiply_panel(b, pa + (row - top) * b->K, b->row + row,
                           block_row(b, i + 1) - row, col,
                           smaller(col + b->strip, end));
        }
    }
    if (b->last && g->after)
        g->after(g->arg, b->row + top, b->col + first, block_row(b, to) - top,
                 end - first);
}

/* Prefetch what this thread will most likely pack next. */
static void fetch_panel(const struct gemm_block *b, int64_t panel)
{
    const struct gemm_view *a = &b->g->a;
    const int64_t size = (int64_t)dtype_size(a->type);
    const int64_t bytes = count_numbers(b) * size;
    const int64_t from = block_row(b, panel < b->panels ? panel : b->panels);
    const int64_t to = block_row(b, panel < b->panels ? panel + 1 : b->panels);

    for (int64_t i = from; i < to; i++) {
        const char *row = (const char *)a->data +
                          ((b->row + i) * a->down + first_number(b)) * size;

        for (int64_t at = 0; at < bytes; at += 64)
            __builtin_prefetch(row + at, 0, 2);
    }
}

/* A panel that this thread packs itself, times all groups of columns. */
static void multiply_own_panel(const struct gemm_block *b, int64_t panel,
                               int64_t groups)
{
    const int64_t row = block_row(b, panel);
    float pa[GEMM_MR * GEMM_K] __attribute__((aligned(64)));

    fetch_panel(b, panel + 1);
    pack_rows(b->per, pa, &b->g->a, b->row + row, block_row(b, panel + 1) - row,
              first_number(b), count_numbers(b));
    for (int64_t group = 0; group < groups; group++)
        multiply_run(b, pa, panel, panel + 1, group);
}

/* In how many runs the panels are multiplied: few, but with several pieces of
 * work for each thread. */
static int64_t count_runs(const struct gemm_block *b, int64_t groups)
{
    const int64_t least = ceil_div(4 * omp_get_num_threads(), groups);
    const int64_t runs = ceil_div(b->panels, b->run);

    return smaller(b->panels, runs > least ? runs : least);
}

/* What the threads of a team share.  Counters are reset while all threads do
 * the other kind of work, with a barrier before and after. */
enum { PACK_A, PACK_B, MULTIPLY };

static void multiply_block(const struct gemm_block *b, struct cpu_share *share,
                           bool new_a)
{
    const struct gemm *g = b->g;
    const int64_t a_pieces =
        new_a ? count_pieces(g->a.right, b->panels, b->K) : 0;
    const int64_t b_pieces =
        count_pieces(g->b.down, ceil_div(b->cols, GEMM_NR), b->K);
    const int64_t groups = ceil_div(b->cols, GEMM_GROUP);
    const int64_t runs = count_runs(b, groups);
    int64_t *own = share[omp_get_thread_num() % CPU_SHARES].taken;
    int64_t i;

    while ((i = cpu_take(share, PACK_A, a_pieces, 1)) >= 0)
        pack_a_piece(b, i);
    while ((i = cpu_take(share, PACK_B, b_pieces, 1)) >= 0)
        pack_b_piece(b, i);
#pragma omp barrier
    own[PACK_A] = own[PACK_B] = 0;
    while (b->near && (i = cpu_take(share, MULTIPLY, b->panels, 1)) >= 0)
        multiply_own_panel(b, i, groups);
    while (!b->near && (i = cpu_take(share, MULTIPLY, runs, groups)) >= 0) {
        const int64_t from = b->panels * (i / groups) / runs;
        const int64_t to = b->panels * (i / groups + 1) / runs;

        multiply_run(b, b->a + block_row(b, from) * b->K, from, to, i % groups);
    }
#pragma omp barrier
    own[MULTIPLY] = 0;
}

static void multiply_blocks(const struct gemm *g, const struct gemm_blocking *p,
                            float *scratch, struct cpu_share *share)
{
    const int64_t a_room = p->near ? 0 : p->rows * p->k_block;
    struct gemm_block b = {
        .g = g,
        .per = p->per,
        .a = scratch,
        .near = p->near,
        .strip = p->strip,
        .run = p->run,
    };

    b.b = scratch + (a_room + 15) / 16 * 16;
    for (int64_t i = 0; i < p->n_rows; i++) {
        b.row = i * p->rows;
        b.rows = smaller(p->rows, g->M - b.row);
        b.panels = gemm_panels(b.rows);
        for (int64_t k = 0; k < p->n_k; k++) {
            b.from = k * p->k_block;
            b.K = smaller(p->k_block, p->K - b.from);
            b.add = g->add || k > 0;
            b.last = k == p->n_k - 1;
            for (int64_t j = 0; j < p->n_cols; j++) {
                b.col = j * p->cols;
                b.cols = smaller(p->cols, g->N - b.col);
                multiply_block(&b, share, j == 0 && !p->near);
            }
        }
    }
}

/* What is above the diagonal, from what is below; some columns at a time. */
static void mirror(const struct gemm *g)
{
    float *c = g->c;

#pragma omp for
    for (int64_t from = 0; from < g->M; from += PIECE_ROWS) {
        const int64_t end = smaller(from + PIECE_ROWS, g->M);

        for (int64_t i = 0; i < end; i++)
            for (int64_t j = i < from ? from : i + 1; j < end; j++)
                c[i * g->c_down + j] = c[j * g->c_down + i];
    }
}

void gemm(struct dev *dev, const struct gemm *g, void *scratch)
{
    const double work = (double)g->M * (double)g->N * (double)g->K;
    const struct gemm_blocking p = choose_blocking(dev, g);
    struct cpu_share share[CPU_SHARES] = { 0 };

#pragma omp parallel num_threads(cpu_threads(dev)) if (work > SMALL)
    {
        multiply_blocks(g, &p, scratch, share);
        if (g->symmetric)
            mirror(g);
    }
}

void gemm_run(struct dev *dev, const struct gemm *g, const char *op)
{
    void *scratch = cpu_scratch(dev, gemm_scratch(dev, g), op);

    if (scratch)
        gemm(dev, g, scratch);
}
