/*
 * head - the classifier and its cross-entropy, some rows at a time
 *
 * The logits of a chunk of rows are computed, overwritten with the gradient of
 * the loss, and multiplied into dx and dw before the next chunk.  So the logits
 * of all rows are never in memory, and none are computed twice.
 */
#include "config.h"
#include "kernels/cuda/fp8.cuh"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/head_rows.h"

enum {
    THREADS = 512,
    KEPT_LEAST = 16 << 10, /* bytes of a row that is kept in shared memory;
                                   rows over half of it are not, since a
                                   multiprocessor would have one block */
};

/* v are elements c, c + 1, ... of a row; set those from V on to x. */
template <int W>
static __device__ __forceinline__ void set_beyond(float (&v)[W], int c, int V,
                                                  float x)
{
    if (c + W > V)
#pragma unroll
        for (int k = 0; k < W; k++)
            v[k] = c + k < V ? v[k] : x;
}

/* cap tanh(x / cap); x itself without a cap. */
static __device__ __forceinline__ float capped(float x, float cap)
{
    return cap > 0.0f ? cap - 2.0f * cap / (fast_exp(x * (2.0f / cap)) + 1.0f)
                      : x;
}

static_assert((int)THREADS >= HEAD_TEACHER_MOST, "a thread has one id at most");

/*
 * A block has a row of logits, ld apart, of which V count and the rest, up to
 * padded, become 0.  First it computes the maximum and the sum of exponentials
 * in one pass: each thread scales its sum when its maximum changes.  Then the
 * gradient of scale * loss, if it is wanted, overwrites the logits.  With KEEP
 * the row is first copied to shared memory, so that it is read once and all
 * loads are in flight at the same time; the first pass begins when the first of
 * four stages has arrived.  The ids of a teacher, in n_words words of each row,
 * differ, and each thread corrects the gradient of one.
 */
enum { STAGES = 4 };

/* Wait until stage s has been copied, which later ones may not have been. */
static __device__ __forceinline__ void wait_for_stage(int s)
{
    switch (s) {
    case 0:
        copy_wait<3>();
        break;
    case 1:
        copy_wait<2>();
        break;
    case 2:
        copy_wait<1>();
        break;
    default:
        copy_wait<0>();
    }
}

template <class T, int W, bool KEEP>
static __global__ void __launch_bounds__(THREADS)
    cross_entropy(T *logits, float *loss, const int *target, const int *words,
                  int n_words, float weight, int V, int padded, int64_t ld,
                  float cap, float scale, bool gradient)
{
    begin_kernel();

    DYNAMIC_SHARED(T, kept);
    const int goal = target[blockIdx.x], mine = threadIdx.x * W;
    const int turns = (V + THREADS * W - 1) / (THREADS * W);
    const int stage = (turns + STAGES - 1) / STAGES * THREADS * W;
    T *row = logits + blockIdx.x * ld;
    const T *from = KEEP ? kept : row;
    const int *word = words + blockIdx.x * (int64_t)n_words;
    float most = -INFINITY, sum = 0, all, each, bend, own, v[W];
    float share = 0, shares = 0, logit = 0, part = 0; /* of the teacher */
    int id = -1;

    weight = n_words && word[0] >= 0 ? weight : 0.0f;
    if (goal < 0) { /* this row does not count */
        if (threadIdx.x == 0)
            loss[blockIdx.x] = 0.0f;
#pragma unroll
        for (int k = 0; k < W; k++)
            v[k] = 0.0f;
        for (int c = mine; gradient && c < padded; c += THREADS * W)
            store(row + c, v);
        return;
    }
#pragma unroll
    for (int s = 0; KEEP && s < STAGES; s++) {
        for (int c = mine + s * stage; c < V && c < (s + 1) * stage;
             c += THREADS * W)
            copy_async(kept + c, row + c);
        copy_commit();
    }
#pragma unroll
    for (int s = 0; s < STAGES; s++) {
        if (KEEP)
            wait_for_stage(s);
        for (int c = mine + s * stage; c < V && c < (s + 1) * stage;
             c += THREADS * W) {
            float here;

            load(v, from + c);
#pragma unroll
            for (int k = 0; k < W; k++)
                v[k] = capped(v[k], cap);
            set_beyond(v, c, V, -INFINITY);
            here = v[0];
#pragma unroll
            for (int k = 1; k < W; k++)
                here = fmaxf(here, v[k]);
            if (here > most) {
                sum *= fast_exp(most - here);
                most = here;
            }
#pragma unroll
            for (int k = 0; k < W; k++)
                sum += fast_exp(v[k] - most);
        }
    }
    all = block_max<THREADS>(most);
    sum = block_sum<THREADS>(sum == 0.0f ? 0.0f : sum * fast_exp(most - all));
    if (weight > 0.0f) {
        if ((int)threadIdx.x + 1 < n_words) {
            id = word[threadIdx.x + 1];
            part = -(float)((unsigned)id / HEAD_IDS) / (float)HEAD_UNITS;
            id &= HEAD_IDS - 1;
            logit = capped(to_float(row[id]), cap);
            shares = share = expf(part);
            part = share * (part - logit);
        }
        block_sums<THREADS>(&shares, &part);
        share *= weight / shares;
        part = weight * (part / shares - logf(shares));
    }
    if (threadIdx.x == 0)
        loss[blockIdx.x] = logf(sum) + all -
                           (1.0f - weight) * capped(to_float(row[goal]), cap) +
                           part;
    if (!gradient)
        return;
    __syncthreads(); /* row[goal] has been read */
    own = scale * (1.0f - weight);
    each = scale / sum;
    bend = cap > 0.0f ? 1.0f / (cap * cap) : 0.0f;
    for (int c = mine; c < padded; c += THREADS * W) {
        load(v, from + c);
#pragma unroll
        for (int k = 0; k < W; k++) {
            const float x = capped(v[k], cap);

            v[k] = (fast_exp(x - all) * each - (c + k == goal ? own : 0.0f)) *
                   (1.0f - x * x * bend);
        }
        set_beyond(v, c, V, 0.0f);
        store(row + c, v);
    }
    if (weight > 0.0f)
        __syncthreads(); /* the row has been written */
    if (id >= 0)
        row[id] = from_float<T>((fast_exp(logit - all) * each - scale * share -
                                 (id == goal ? own : 0.0f)) *
                                (1.0f - logit * logit * bend));
}

/* x, w and the gradient of a chunk's logits in fp8. */
struct head_fp8 {
    struct fp8_matrix x, w, dl;
};

struct head_chunk {
    void *logits; /* rows of ld, of which V columns count */
    const struct tensor *x, *w, *target;
    struct tensor *loss;
    const struct head_teacher *teacher; /* or null */
    int64_t vocab, from, rows, ld;
    float cap, scale;
    bool gradient;
    struct head_fp8 q; /* if w->fp8 */
};

static struct tensor logits_of(const struct head_chunk *c)
{
    return tensor_matrix(c->logits, c->x->type, c->rows, c->ld);
}

/* The rows of x, or of dx. */
static struct tensor rows_of(const struct head_chunk *c, const struct tensor *t)
{
    const int64_t C = tensor_cols(t);
    const size_t at = (size_t)(c->from * C) * dtype_size(t->type);

    return tensor_matrix((char *)t->data + at, t->type, c->rows, C);
}

/* logits(rows,V) = x w' */
static void compute_logits(struct dev *dev, const struct head_chunk *c)
{
    const struct tensor x = rows_of(c, c->x), logits = logits_of(c);
    struct gemm p = gemm_of(&logits, &x, c->w, GEMM_B);

    if (c->w->fp8) {
        fp8_operands(&p, &c->q.x, false, &c->q.w, false);
        p.a = c->q.x.q + c->from * c->q.x.ld;
    }
    gemm(dev, &p, "head");
}

/* dx(rows,C) += dlogits w */
static void add_dx(struct dev *dev, struct tensor *dx,
                   const struct head_chunk *c)
{
    const struct tensor part = rows_of(c, dx), logits = logits_of(c);
    struct gemm p = gemm_of(&part, &logits, c->w, GEMM_NEITHER);

    p.k = c->w->dim[0];
    p.beta = dx->overwrite ? 0.0f : 1.0f;
    if (c->w->fp8)
        fp8_operands(&p, &c->q.dl, false, &c->q.w, true);
    gemm(dev, &p, "head");
}

/* dw(V,C) += dlogits' x, in F32 */
static void add_dw(struct dev *dev, struct tensor *dw,
                   const struct head_chunk *c)
{
    const struct tensor x = rows_of(c, c->x), logits = logits_of(c);
    struct gemm p = gemm_of(dw, &logits, &x, GEMM_A);

    p.m = c->w->dim[0];
    p.beta = dw->overwrite && c->from == 0 ? 0.0f : 1.0f;
    if (c->w->fp8) {
        fp8_operands(&p, &c->q.dl, true, &c->q.x, true);
        p.b = c->q.x.turned + c->from;
        p.k = fp8_pad(c->rows);
    }
    gemm(dev, &p, "head");
}

template <class T>
static void launch_cross_entropy(struct dev *dev, const struct head_chunk *c)
{
    const struct head_teacher *t = c->teacher;
    const size_t row = (size_t)c->ld * sizeof(T);
    const int V = (int)c->vocab, padded = (int)c->w->dim[0];
    const int *target = data_of<const int>(c->target) + c->from;
    const int n_words = t ? (int)t->words->dim[1] : 0;
    const int *words =
        t ? data_of<const int>(t->words) + c->from * n_words : nullptr;
    const float weight = t ? (float)t->weight : 0.0f;
    float *loss = data_of<float>(c->loss) + c->from;

    if (c->gradient && row >= KEPT_LEAST &&
        row <= cuda_of(dev)->shared_max / 2) {
        OPT_IN(dev, (cross_entropy<T, WIDTH<T>, true>), row);
        LAUNCH((cross_entropy<T, WIDTH<T>, true>), (unsigned)c->rows, THREADS,
               row, QUEUE(dev), (T *)c->logits, loss, target, words, n_words,
               weight, V, padded, c->ld, c->cap, c->scale, c->gradient);
    } else {
        LAUNCH((cross_entropy<T, WIDTH<T>, false>), (unsigned)c->rows, THREADS,
               0, QUEUE(dev), (T *)c->logits, loss, target, words, n_words,
               weight, V, padded, c->ld, c->cap, c->scale, c->gradient);
    }
}

/* Divide memory, unless base is null, among the logits of `most` rows and the
 * matrices of fp8; how much is needed. */
static size_t lay_out_head(struct head_chunk *c, char *base, int64_t most)
{
    const int64_t N = tensor_rows(c->x), C = tensor_cols(c->x);
    const int64_t V = c->w->dim[0];
    const int want = c->gradient ? FP8_ROWS | FP8_TURNED : FP8_ROWS;
    size_t end = (size_t)(most * c->ld) * dtype_size(c->x->type);

    c->logits = base;
    if (!c->w->fp8)
        return end;
    end = fp8_lay_out(&c->q.x, base, end, DT_E4M3, N, C, want);
    end = fp8_lay_out(&c->q.w, base, end, DT_E4M3, V, C, want);
    return fp8_lay_out(&c->q.dl, base, end, DT_E5M2, most, V,
                       c->gradient ? want : 0);
}

extern "C" void cuda_head(struct dev *dev, struct tensor *loss,
                          struct tensor *dx, struct tensor *dw,
                          const struct tensor *x, const struct tensor *w,
                          const struct tensor *target,
                          const struct head_teacher *t, int64_t vocab,
                          float cap, float scale)
{
    const int64_t N = tensor_rows(x), C = tensor_cols(x);
    const size_t element = dtype_size(x->type) * (w->fp8 ? 2 : 1);
    const int64_t ld = (w->dim[0] + 63) / 64 * 64;
    struct head_chunk c = { nullptr, x, w,  target, loss,  t,        vocab,
                            0,       0, ld, cap,    scale, dx || dw, {} };
    int64_t most;
    char *room;

    most = head_rows((int64_t)dev->memory.total, N, c.ld, element);
    if (w->fp8)
        most = fp8_pad(most);
    room = (char *)cuda_scratch(dev, lay_out_head(&c, nullptr, most), "head");
    if (!room)
        return;
    lay_out_head(&c, room, most);
    if (w->fp8) {
        fp8_fill(dev, &c.q.x, x->data, N, C, 0.0f);
        fp8_fill(dev, &c.q.w, w->data, w->dim[0], C, 0.0f);
    }
    for (; c.from < N; c.from += most) {
        c.rows = N - c.from < most ? N - c.from : most;
        compute_logits(dev, &c);
        /* the logits to the gradient of their losses, if that is wanted */
        WITH_TYPE(T, x->type, launch_cross_entropy<T>(dev, &c))
        if (w->fp8 && c.gradient)
            fp8_fill(dev, &c.q.dl, c.logits, c.rows, ld, fabsf(scale));
        cuda_side_begin(dev, &cuda_of(dev)->weights);
        if (dw)
            add_dw(dev, dw, &c);
        cuda_side_end(dev, &cuda_of(dev)->weights, 0);
        if (dx)
            add_dx(dev, dx, &c);
        cuda_side_wait(dev, &cuda_of(dev)->weights, 0);
    }
    launched(dev, "head");
}
