/*
 * gemm - packing, and the loops around the tiles
 */
#include "config.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/amx.h"
#include "kernels/cpu/vec.h"

#include <omp.h>
#include <stdatomic.h>

/*
 * Sizes, in words (a float, or what takes its place).  A panel of A (MR by
 * GEMM_K, 21 KB) stays in the first cache while GEMM_GROUP columns of B (384
 * by GEMM_K, 590 KB) stream from the second; ROOM bounds each packed block.  A
 * B of NEAR words leaves room in the second cache for what passes through.
 */
enum { ROOM = 1 << 20, NEAR = 160 << 10 };

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

/*
 * What is packed are words: floats, or pairs of bf16 (`per` numbers each), of
 * neighbours in k.  Where the last has no neighbour, that is 0.
 */
static inline int64_t count_words(int64_t numbers, int per)
{
    return (numbers + per - 1) / per;
}

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
 do {                                                                          \
  if ((per) == 1)                                                              \
   VEC_BY_TYPE(type, fn, 1, __VA_ARGS__);                                      \
  else if ((type) == DT_BF16)                                                  \
   fn(DT_BF16, 2, __VA_ARGS__);                                                \
  else                                                                         \
   fn(DT_F32, 2, __VA_ARGS__);                                                 \
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
    const int64_t n = min64(rows, VW), end = count_words(K, per) * width;

    for (int64_t i = 0; i < rows; i += VW) {
        const int64_t row = min64(i, rows - n);

        for (int64_t k = 0; k < count_words(K, per); k += VW) {
            vf v[VW];

#pragma GCC unroll 16
            for (int j = 0; j < VW; j++)
                v[j] = along(type, per, data,
                             at + (row + min64(j, n - 1)) * down + k * per,
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

/* rows of a view whose k, K numbers of it, runs along `right`, from its element
 * at. */
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
    for (int64_t k = 0; cols < GEMM_NR && k < count_words(K, per); k++)
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

/* ---- the loops --------------------------------------------------------- */

/*
 * How a product is cut: the blocks, and their number along each side.  If a
 * block of B is small enough to stay in the second cache, then a thread packs
 * the panel of A it works on, in the first cache, and nothing else of A is
 * ever packed.
 */
struct gemm_blocking {
    enum cpu_words by;
    int per;            /* numbers in a word */
    int64_t K, k_block; /* words */
    int64_t n_k, rows, n_rows, cols, n_cols;
    bool near;
};

static enum cpu_words choose_words(const struct dev *dev, const struct gemm *g)
{
    const struct cpu *cpu = dev->state;

    return g->b.type == DT_BF16 && g->a.type != DT_F16 ? cpu->words
                                                       : CPU_NUMBERS;
}

/* How far apart lines of packed tiles are: whole tiles, zero beyond K. */
static int64_t padded_depth(enum cpu_words by, int64_t K)
{
    return by < CPU_AMX ? K : ceil_div(K, AMX_TILE) * AMX_TILE;
}

static struct gemm_blocking choose_blocking(const struct dev *dev,
                                            const struct gemm *g)
{
    struct gemm_blocking p = { .by = choose_words(dev, g) };

    p.per = p.by == CPU_NUMBERS ? 1 : 2;
    p.K = count_words(g->K, p.per);
    /* What is stored in 16 bits is summed in one go: no rounding between. */
    p.n_k = g->c_type == DT_F32 ? ceil_div(p.K, GEMM_K) : 1;
    p.k_block = padded_depth(p.by, ceil_div(p.K, p.n_k));
    p.cols = ceil_div(ROOM / p.k_block + 1, GEMM_GROUP) * GEMM_GROUP;
    p.cols = min64(p.cols, ceil_div(g->N, GEMM_NR) * GEMM_NR);
    p.n_cols = ceil_div(g->N, p.cols);
    p.near = g->a.right == 1 && p.k_block <= GEMM_K &&
             p.cols * p.k_block <= NEAR && p.n_cols == 1;
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

/* One block of each side, packed; what a team of threads works on. */
struct gemm_block {
    const struct gemm *g;
    enum cpu_words by;
    int per;
    float *a, *b;
    int64_t row, rows, panels; /* of A, cut evenly into panels */
    int64_t col, cols;
    int64_t from, K, depth; /* words */
    bool add, last, near;
};

/* The numbers of its part of k. */
static int64_t first_number(const struct gemm_block *b)
{
    return b->from * b->per;
}

static int64_t count_numbers(const struct gemm_block *b)
{
    return min64(b->K * b->per, b->g->K - first_number(b));
}

static int64_t panel_row(const struct gemm_block *b, int64_t panel)
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

static int64_t count_pieces(int64_t along, int64_t panels, int64_t K)
{
    return along == 1 ? panels : ceil_div(K, PIECE_ROWS);
}

VEC_FN void copy_words(enum dtype type, const int per, float *out,
                       const void *data, int64_t at, int64_t right, int64_t n,
                       bool below)
{
    for (int64_t i = 0; i < n; i += VW)
        vf_give(out, DT_F32, i,
                across(type, per, data, at + i, right, n - i, below), n - i);
}

/* For tiles: out[i * depth + k], zero beyond K.  Rows of A from
 * `row`, whole. */
VEC_FN void pack_rows_amx(enum dtype type, const int per,
                          const struct gemm_block *b, float *out, int64_t row,
                          int64_t rows)
{
    const struct gemm_view *v = &b->g->a;
    const int64_t n = count_numbers(b);

    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = (b->row + row + i) * v->down + first_number(b);

        for (int64_t k = 0; k < b->depth; k += VW)
            vf_store(out + i * b->depth + k,
                     along(type, per, v->data, at + per * k, n - per * k));
    }
}

/* The same where k runs from row to row, of VW words from k. */
VEC_FN void pack_across_amx(enum dtype type, const int per,
                            const struct gemm_block *b, float *out, int64_t row,
                            int64_t rows, int64_t k)
{
    const struct gemm_view *v = &b->g->a;
    vf word[VW];

#pragma GCC unroll 16
    for (int j = 0; j < VW; j++) {
        const int64_t at =
            b->row + row + (first_number(b) + per * (k + j)) * v->right;
        const int64_t left = count_numbers(b) - per * (k + j);

        word[j] = across(type, per, v->data, at, v->right, left > 0 ? rows : 0,
                         left > 1);
    }
    vf_transpose(word);
#pragma GCC unroll 16
    for (int j = 0; j < VW; j++)
        if (j < rows)
            vf_store(out + j * b->depth + k, word[j]);
}

/* A panel, where k runs along the rows of A. */
static void pack_panel(const struct gemm_block *b, float *out, int64_t row,
                       int64_t rows)
{
    if (b->by < CPU_AMX)
        pack_rows(b->per, out, &b->g->a, b->row + row, rows, first_number(b),
                  count_numbers(b));
    else
        BY_WORD(b->g->a.type, 2, pack_rows_amx, b, out, row, rows);
}

static void pack_a(const struct gemm_block *b, int64_t piece)
{
    const struct gemm_view *v = &b->g->a;
    const int64_t first = piece * PIECE_ROWS;
    const int64_t end = min64(first + PIECE_ROWS, b->depth);

    if (v->right == 1) {
        const int64_t row = panel_row(b, piece);

        pack_panel(b, b->a + row * b->depth, row,
                   panel_row(b, piece + 1) - row);
        return;
    }
    if (b->by >= CPU_AMX) {
        for (int64_t p = 0; p < b->panels; p++) {
            const int64_t row = panel_row(b, p);
            const int64_t rows = panel_row(b, p + 1) - row;

            for (int64_t k = first; k < end; k += VW)
                BY_WORD(v->type, 2, pack_across_amx, b, b->a + row * b->depth,
                        row, rows, k);
        }
        return;
    }
    for (int64_t k = first; k < end; k++) {
        const int64_t at = b->row + (b->from + k) * b->per * v->right;
        const bool below = (k + 1) * b->per <= count_numbers(b);

        for (int64_t p = 0; p < b->panels; p++) {
            const int64_t row = panel_row(b, p), n = panel_row(b, p + 1) - row;

            BY_WORD(v->type, b->per, copy_words, b->a + row * b->K + k * n,
                    v->data, at + row, v->right, n, below);
        }
    }
}

static void pack_b(const struct gemm_block *b, int64_t piece)
{
    const struct gemm_view *v = &b->g->b;
    const int64_t end = min64((piece + 1) * PIECE_ROWS, b->K);
    const size_t beyond = (size_t)((b->depth - b->K) * GEMM_NR) * sizeof(float);

    if (v->down == 1) {
        const int64_t col = piece * GEMM_NR;
        float *out = b->b + col * b->depth;

        pack_cols(b->per, out, v, b->col + col, min64(GEMM_NR, b->cols - col),
                  first_number(b), count_numbers(b));
        memset(out + b->K * GEMM_NR, 0, beyond);
        return;
    }
    for (int64_t k = piece * PIECE_ROWS; k < end; k++) {
        const int64_t at = b->col + (b->from + k) * b->per * v->down;
        const bool below = (k + 1) * b->per <= count_numbers(b);

        for (int64_t col = 0; col < b->cols; col += GEMM_NR) {
            const int64_t n = min64(GEMM_NR, b->cols - col);
            float *out = b->b + col * b->depth + k * GEMM_NR;

            BY_WORD(v->type, b->per, copy_words, out, v->data, at + col,
                    v->down, n, below);
            for (int64_t i = n; i < GEMM_NR; i++)
                out[i] = 0.0f;
            if (k == b->K - 1)
                memset(out + GEMM_NR, 0, beyond);
        }
    }
}

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

    gemm_tile_by(b->by, c, GEMM_NR, pa, pb, start, rows, GEMM_NR, b->depth,
                 false);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = (row + i) * g->c_down + col;

        for (int64_t j = 0; j < cols; j += VW) {
            vf v = vf_load(c + i * GEMM_NR + j);

            if (b->add)
                v += vf_take(g->c, g->c_type, at + j, cols - j);
            vf_give(g->c, g->c_type, at + j, v, cols - j);
        }
    }
}

/* A panel of A times a group of columns of B. */
static void multiply_panel(const struct gemm_block *b, const float *pa,
                           int64_t panel, int64_t group)
{
    const struct gemm *g = b->g;
    const int64_t start = panel_row(b, panel), row = b->row + start;
    const int64_t rows = panel_row(b, panel + 1) - start;
    const int64_t first = group * GEMM_GROUP;
    const int64_t end = min64(first + GEMM_GROUP, b->cols);
    float *c = (float *)g->c + row * g->c_down + b->col;

    for (int64_t col = first; col < end; col += GEMM_NR) {
        const float *pb = b->b + col * b->depth;
        const int64_t cols = min64(GEMM_NR, end - col);
        float room[GEMM_NR] = { 0 };
        const float *bias = load_bias(b, b->col + col, cols, room);

        if (g->c_type == DT_F32)
            gemm_tile_by(b->by, c + col, g->c_down, pa, pb, bias, rows, cols,
                         b->depth, b->add);
        else
            half_tile(b, row, b->col + col, pa, pb, bias, rows, cols);
    }
    if (b->last && g->after)
        g->after(g->arg, row, b->col + first, rows, end - first);
}

/* Ask for what this thread will pack next, most likely. */
static void fetch_panel(const struct gemm_block *b, int64_t panel)
{
    const struct gemm_view *a = &b->g->a;
    const int64_t size = (int64_t)dtype_size(a->type);
    const int64_t bytes = count_numbers(b) * size;
    const int64_t from = panel_row(b, panel < b->panels ? panel : b->panels);
    const int64_t to = panel_row(b, panel < b->panels ? panel + 1 : b->panels);

    for (int64_t i = from; i < to; i++) {
        const char *row = (const char *)a->data +
                          ((b->row + i) * a->down + first_number(b)) * size;

        for (int64_t at = 0; at < bytes; at += 64)
            __builtin_prefetch(row + at, 0, 2);
    }
}

/* The same of all groups, with a panel that this thread packs for itself. */
static void multiply_own_panel(const struct gemm_block *b, int64_t panel,
                               int64_t groups)
{
    const int64_t row = panel_row(b, panel);
    float pa[GEMM_MR * GEMM_K] __attribute__((aligned(64)));

    fetch_panel(b, panel + omp_get_num_threads());
    pack_panel(b, pa, row, panel_row(b, panel + 1) - row);
    for (int64_t group = 0; group < groups; group++)
        multiply_panel(b, pa, panel, group);
}

/*
 * What a team shares: the next piece to pack and the next to multiply.  A
 * counter is set back while every thread is at the other kind of work, with a
 * barrier before and after.
 */
struct gemm_team {
    atomic_llong pack, multiply;
};

static void multiply_block(const struct gemm_block *b, struct gemm_team *team,
                           bool new_a)
{
    const struct gemm *g = b->g;
    const int64_t a_pieces =
        new_a ? count_pieces(g->a.right, b->panels, b->K) : 0;
    const int64_t b_pieces =
        count_pieces(g->b.down, ceil_div(b->cols, GEMM_NR), b->K);
    const int64_t groups = ceil_div(b->cols, GEMM_GROUP);
    const int64_t tasks = b->panels * (b->near ? 1 : groups);
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
    while ((i = atomic_fetch_add(&team->multiply, 1)) < tasks) {
        const int64_t panel = i % b->panels;

        if (b->near)
            multiply_own_panel(b, panel, groups);
        else
            multiply_panel(b, b->a + panel_row(b, panel) * b->depth, panel,
                           i / b->panels);
    }
#pragma omp barrier
#pragma omp master
    atomic_store(&team->multiply, 0);
}

static void multiply_blocks(const struct gemm *g, const struct gemm_blocking *p,
                            float *scratch, struct gemm_team *team)
{
    const int64_t a_room = p->near ? 0 : p->rows * p->k_block;
    struct gemm_block b = {
        .g = g,
        .by = p->by,
        .per = p->per,
        .a = scratch,
        .near = p->near,
    };

    b.b = scratch + (a_room + 15) / 16 * 16;
    for (int64_t i = 0; i < p->n_rows; i++) {
        b.row = i * p->rows;
        b.rows = min64(p->rows, g->M - b.row);
        b.panels = gemm_panels(b.rows);
        for (int64_t k = 0; k < p->n_k; k++) {
            b.from = k * p->k_block;
            b.K = min64(p->k_block, p->K - b.from);
            b.depth = padded_depth(p->by, b.K);
            b.add = g->add || k > 0;
            b.last = k == p->n_k - 1;
            for (int64_t j = 0; j < p->n_cols; j++) {
                b.col = j * p->cols;
                b.cols = min64(p->cols, g->N - b.col);
                multiply_block(&b, team, j == 0 && !p->near);
            }
        }
    }
}

void gemm(struct dev *dev, const struct gemm *g, void *scratch)
{
    const double work = (double)g->M * (double)g->N * (double)g->K;
    const struct gemm_blocking p = choose_blocking(dev, g);
    struct gemm_team team = { 0 };

#pragma omp parallel num_threads(cpu_threads(dev)) if (work > SMALL)
    multiply_blocks(g, &p, scratch, &team);
}
