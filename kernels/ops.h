#pragma once

#include "common/err.h"
#include "kernels/rope.h"
#include "kernels/tensor.h"

BEGIN_EXTERN_C

/*
 * ops - what a device can compute
 *
 * Each operation is written down once, as a function type.  Every
 * implementation is declared with that type, so a wrong signature does not
 * compile: not in C, and not in CUDA, where entry points say extern "C".  The
 * ref_ one is the specification: plain loops, double sums, no library.  The
 * others must agree with it (t/unit/kernels.c).
 *
 * The caller provides the right shapes; they are asserted.  Letters: N rows
 * (batch times time), T positions of a sequence, C width, F width of the MLP, V
 * vocabulary, H query heads, K key and value heads, D width of a head.
 *
 * _fwd sets its outputs.  _bwd adds into gradients, so a value used twice
 * needs no special case; a gradient marked `overwrite` (tensor.h) is set.
 * Activations and their gradients may be F32, BF16 or F16, all of one call
 * alike; statistics, losses, parameters' gradients and optimizer state are
 * F32, sums of squares F64.  An argument said to be optional may be NULL.
 * A launch that fails marks the device (dev.h); an operation returns nothing.
 */
struct dev;

/* ---- embedding -------------------------------------------------------- */

/*
 * y(N,C) = wte(V,C)[tokens(N)] + wpe(T',C)[from + row % T].  wpe optional.
 * Rows come in sequences of T; tokens lie in [0, V).
 */
typedef void embed_fwd_fn(struct dev *, struct tensor *y,
                          const struct tensor *tokens, const struct tensor *wte,
                          const struct tensor *wpe, int64_t T, int64_t from);
/* dwte(V,C) += rows of dy(N,C) by token, dwpe by position; either optional.
 * The order of the sum depends on the input alone. */
typedef void embed_bwd_fn(struct dev *, struct tensor *dwte,
                          struct tensor *dwpe, const struct tensor *tokens,
                          const struct tensor *dy, int64_t T);

/* ---- linear ----------------------------------------------------------- */

/*
 * If w->fp8, the operands of each product of x, w and dy are first rounded to
 * fp8, with a scale for each matrix (fp8.h): x and w to E4M3, dy to E5M2.  All
 * are BF16 then.  Biases and their gradients are as without it.
 */

/* y(N,M) = x(N,C) w(M,C)' + b(M).  b optional. */
typedef void linear_fwd_fn(struct dev *, struct tensor *y,
                           const struct tensor *x, const struct tensor *w,
                           const struct tensor *b);
/* dx += dy w,  dw += dy' x,  db += column sums of dy.  Each optional. */
typedef void linear_bwd_fn(struct dev *, struct tensor *dx, struct tensor *dw,
                           struct tensor *db, const struct tensor *x,
                           const struct tensor *w, const struct tensor *dy);

/*
 * Weights of 8 or 4 bits, for inference; a device may lack both operations.
 * QUANT_GROUP neighbours in a row of w(M,C) are a group, which has a scale; the
 * last group of a row may be shorter.  A number is stored as the nearest
 * multiple of the scale, ties to even, plus a zero point, so that it is not
 * negative:
 *
 *      8 bits: scale = largest magnitude / 127, zero point 128
 *      4 bits: scale = e / -8, where e is the first number of the largest
 *              magnitude; multiples above 7 become 7; zero point 8
 *
 * QUANT_ROWS rows are stored together: q(M / QUANT_ROWS, C / QUANT_GROUP,
 * bytes), rounded up, and scale of the same shape with QUANT_ROWS instead of
 * bytes.  The numbers of a group lie in the order (c / 4, m, c % 4); with 4
 * bits, the second half of this order lies in the upper halves of the bytes.
 */
enum { QUANT_ROWS = 16, QUANT_GROUP = 64 };

static inline int quant_bits(const struct tensor *q)
{
    return (int)(q->dim[2] * 8 / (QUANT_ROWS * QUANT_GROUP));
}

static inline int quant_zero(int bits)
{
    return 1 << (bits - 1);
}

/* q is I8, which stands for bytes; scale is F32. */
typedef void quantize_fn(struct dev *, struct tensor *q, struct tensor *scale,
                         const struct tensor *w);
/* y(N,M) = x(N,C) w(M,C)' + b(M), where x is rounded in the same way to 8 bits.
 * b optional. */
typedef void linear_quantized_fwd_fn(struct dev *, struct tensor *y,
                                     const struct tensor *x,
                                     const struct tensor *q,
                                     const struct tensor *scale,
                                     const struct tensor *b);

/* ---- normalisation ---------------------------------------------------- */

enum norm { NORM_LAYER, NORM_RMS };

/*
 * y(N,C) = (x - mean) * rstd * w(C) + bias(C) for each row; mean is 0 for
 * NORM_RMS.  rstd = 1 / sqrt(var + eps).  w and bias optional.  stat(N,2) keeps
 * (mean, rstd) for the gradient.  x is a or, if b is not NULL, a + b, which sum
 * keeps.  y may be a, and so may sum.
 */
typedef void norm_fwd_fn(struct dev *, struct tensor *sum, struct tensor *y,
                         struct tensor *stat, const struct tensor *a,
                         const struct tensor *b, const struct tensor *w,
                         const struct tensor *bias, enum norm kind, float eps);
/* dx, dw and db are optional, w is as it was forward. */
typedef void norm_bwd_fn(struct dev *, struct tensor *dx, struct tensor *dw,
                         struct tensor *db, const struct tensor *x,
                         const struct tensor *w, const struct tensor *stat,
                         const struct tensor *dy, enum norm kind);

/*
 * qk-norm: RMS of each query and key head of qkv(N,(H+2K)*D) on its own, times
 * wq(D) and wk(D); values are copied.  stat(N,H+K) keeps rstd.  y may be x.
 */
typedef void qknorm_fwd_fn(struct dev *, struct tensor *y, struct tensor *stat,
                           const struct tensor *x, const struct tensor *wq,
                           const struct tensor *wk, int H, int K, float eps);
typedef void qknorm_bwd_fn(struct dev *, struct tensor *dx, struct tensor *dwq,
                           struct tensor *dwk, const struct tensor *x,
                           const struct tensor *wq, const struct tensor *wk,
                           const struct tensor *stat, const struct tensor *dy,
                           int H, int K);

/* ---- pointwise -------------------------------------------------------- */

enum act {
    ACT_GELU,      /* x Phi(x), by erf */
    ACT_GELU_TANH, /* its tanh approximation, GPT-2's */
    ACT_RELU,
    ACT_RELU2, /* relu squared */
    ACT_SILU,  /* x sigmoid(x) */
};

/* y(n) = act(x(n)).  y may be x.  Gated, if x(N,2F) has two columns for each of
 * y(N,F): y = act(x[:, :F]) * x[:, F:].  SwiGLU is ACT_SILU. */
typedef void act_fwd_fn(struct dev *, struct tensor *y, const struct tensor *x,
                        enum act kind);
/* dx(n) += act'(x(n)) * dy(n).  dx may be dy if it is overwritten and there is
 * no gate. */
typedef void act_bwd_fn(struct dev *, struct tensor *dx, const struct tensor *x,
                        const struct tensor *dy, enum act kind);
/* pre = x w' + b, y = act(pre).  b and pre optional. */
typedef void linear_act_fwd_fn(struct dev *, struct tensor *y,
                               struct tensor *pre, const struct tensor *x,
                               const struct tensor *w, const struct tensor *b,
                               enum act kind);

/* Back through pre -> x = act(pre) -> y = x w' + b: dpre = act'(pre) * (dy w),
 * dw += dy' x, db += column sums of dy.  dpre is overwritten; dw and
 * db are optional. */
typedef void act_linear_bwd_fn(struct dev *, struct tensor *dpre,
                               struct tensor *dw, struct tensor *db,
                               const struct tensor *pre, const struct tensor *x,
                               const struct tensor *w, const struct tensor *dy,
                               enum act kind);

/* Value embeddings: the values of qkv(N,(H+2K)*D) += gate(n,k) e(n,k D + d),
 * where gate(N,K) = 2 sigmoid(x(n,:G) w(K,G)') of the first G columns of x(N,C)
 * is kept for the gradient. */
typedef void value_fwd_fn(struct dev *, struct tensor *qkv, struct tensor *gate,
                          const struct tensor *x, const struct tensor *w,
                          const struct tensor *e);
/* The gradient of qkv is dqkv, before and after; dx, dw and de are optional. */
typedef void value_bwd_fn(struct dev *, struct tensor *dx, struct tensor *dw,
                          struct tensor *de, const struct tensor *x,
                          const struct tensor *w, const struct tensor *e,
                          const struct tensor *gate, const struct tensor *dqkv);

/* y(n) = a(n) + b(n).  y may be a. */
typedef void add_fwd_fn(struct dev *, struct tensor *y, const struct tensor *a,
                        const struct tensor *b);
/* y(n) = wa(1) a(n) + wb(1) b(n). */
typedef void mix_fwd_fn(struct dev *, struct tensor *y, const struct tensor *a,
                        const struct tensor *b, const struct tensor *wa,
                        const struct tensor *wb);
/* Each gradient is optional.  db may be da, but is not overwritten then. */
typedef void mix_bwd_fn(struct dev *, struct tensor *da, struct tensor *db,
                        struct tensor *dwa, struct tensor *dwb,
                        const struct tensor *a, const struct tensor *b,
                        const struct tensor *wa, const struct tensor *wb,
                        const struct tensor *dy);
/* y(n) += x(n), or y = x if y is overwritten.  The two may have different
 * types; F32 is the widest, and narrower ones are rounded to nearest even. */
typedef void accum_fn(struct dev *, struct tensor *y, const struct tensor *x);
/*
 * y(n) = x(n), from F32 to one of its two neighbours in BF16 at random: the
 * upper one with the probability (x - lower) / (upper - lower), so that the
 * mean of many is x.  Word first + i of a stream (rng.h) decides for element i.
 */
typedef void cast_random_fn(struct dev *, struct tensor *y,
                            const struct tensor *x, uint64_t seed,
                            uint64_t stream, uint64_t first);

/*
 * Dropout: element i is kept, and divided by 1 - p, where
 * rng_uniform(seed, stream, first + i) >= p; else it is 0.  The result is added
 * to y, or y is set to it if y is overwritten; then y may be x.  So the
 * gradient is the same, with the same numbers.
 */
struct dropout {
    float p;
    uint64_t seed, stream;
    uint64_t first; /* index of this rank's first element */
};

typedef void dropout_fn(struct dev *, struct tensor *y, const struct tensor *x,
                        const struct dropout *);

/* ---- attention -------------------------------------------------------- */

/*
 * One row of qkv holds H queries, K keys and K values of width D, in this
 * order.  Query head h attends to key head h * K / H.  Rows come in sequences
 * of T; position t sees positions 0..t of its own sequence, or the newest
 * `window` of them, or those of its document.
 */
struct attn {
    int H, K, D;
    int64_t T;
    float scale;    /* of the scores: 1 / sqrt(D) */
    int64_t window; /* 0: no bound */
    /* begins(N): the position in its sequence at which the document of each
     * position begins, the first that it sees; NULL: 0 */
    const int32_t *begins;
    struct dropout drop; /* of the probabilities; p = 0 for none.
                                   element ((n H + h) T + t) T + t' */
};

/* Whether there is nothing to do between scale, softmax and the values, as
 * libraries assume. */
static inline bool attn_is_plain(const struct attn *a)
{
    return a->drop.p <= 0.0f && !a->window && !a->begins;
}

/* Whether a position sees the one `back` positions before it. */
static inline bool attn_sees(const struct attn *a, int64_t back)
{
    return !a->window || back < a->window;
}

/* The first position of its sequence that row n sees.  It grows with n. */
static inline int64_t attn_first(const struct attn *a, int64_t n)
{
    const int64_t from = a->window ? n % a->T + 1 - a->window : 0;
    const int64_t begin = a->begins ? a->begins[n] : 0;

    return from > begin ? from : begin;
}

/* Rotate queries and keys of qkv(N,(H+2K)*D) in place by position from + n % T.
 * Halves: pair (i, i + D/2), angle position * theta^(-2i/D), as Llama does, or
 * less (rope.h).
 * inverse turns the other way, which is the gradient. */
typedef void rope_fn(struct dev *, struct tensor *qkv, int H, int K, int64_t T,
                     int64_t from, const struct rope *, bool inverse);

/* y(N,H*D); lse(N/T,H,T) keeps log(sum(exp(scores))) for the gradient. */
typedef void attn_fwd_fn(struct dev *, struct tensor *y, struct tensor *lse,
                         const struct tensor *qkv, const struct attn *);
typedef void attn_bwd_fn(struct dev *, struct tensor *dqkv,
                         const struct tensor *qkv, const struct tensor *y,
                         const struct tensor *lse, const struct tensor *dy,
                         const struct attn *);

/*
 * New positions from `at` on, n for each of B sequences: store the keys and
 * values of qkv(B*n,(H+2K)*D) in keys and values(B,T',K,D), and let each attend
 * to those up to its own.  A single one is stored at place at % T', and attends
 * to the newest T' positions; n > 1 must fit, at + n <= T', and is for devices
 * of any_size.  For sampling; a->T is T', the size of the cache.
 */
typedef void attn_decode_fn(struct dev *, struct tensor *y, struct tensor *keys,
                            struct tensor *values, const struct tensor *qkv,
                            int64_t at, const struct attn *a);
/* Store the keys and values of the first T positions of B sequences,
 * qkv(B*T,(H+2K)*D), in keys and values(B,T',K,D), where T <= T'. */
typedef void attn_store_fn(struct dev *, struct tensor *keys,
                           struct tensor *values, const struct tensor *qkv,
                           const struct attn *a);

/* ---- the head --------------------------------------------------------- */

/*
 * Classifier and cross-entropy together, so that the logits need not all be in
 * memory at once.
 *
 *      logits(N,V) = x(N,C) w(V,C)'       columns from `vocab` up do not count
 *      logits = cap tanh(logits / cap)    unless cap is 0
 *      loss(n) = -log softmax(logits(n))[target(n)], or 0 if target(n) < 0
 *
 * With dx and dw given, also the gradient of scale * sum of loss(n), which is
 * added into dx and dw (or overwrites them).  Both NULL: the losses alone.
 *
 * If w->fp8, x and w are rounded to E4M3 for each product, and the gradient of
 * the logits to E5M2, with the scale of |scale|, the most that it can be.
 *
 * A teacher, optional, has words(N,1+K), I32.  In rows that do not begin with a
 * negative number, the other words are K different ids with probabilities: the
 * lowest 18 bits are the id, the others -log p in units of 2^-10.  With p
 * divided by its sum over the K ids, and q = softmax(logits(n)),
 *
 *      loss(n) = (1 - weight) (-log q[target(n)])
 *                + weight sum of p(n,k) (log p(n,k) - log q[id(n,k)])
 */
enum { HEAD_TEACHER_MOST = 512, HEAD_IDS = 1 << 18, HEAD_UNITS = 1 << 10 };

struct head_teacher {
    const struct tensor *words;
    double weight;
};

typedef void head_fn(struct dev *, struct tensor *loss, struct tensor *dx,
                     struct tensor *dw, const struct tensor *x,
                     const struct tensor *w, const struct tensor *target,
                     const struct head_teacher *, int64_t vocab, float cap,
                     float scale);

/* ---- the optimiser ---------------------------------------------------- */

/*
 * out(1), F64: the sum of the squares of g.  Added in chunks of SUMSQ_CHUNK
 * elements, counted from the start of g, each in double, chunk sums in order:
 * the same bits for any number of threads, and for ranks that share the
 * chunks.  Not finite if any element is not.  Added to out unless out is to be
 * overwritten.
 */
enum { SUMSQ_CHUNK = 65536 };
typedef void sumsq_fn(struct dev *, struct tensor *out, const struct tensor *g);

/* out(1), F64: the sum of x, F32, in an order that depends on the number of
 * elements alone.  Added to out unless out is to be overwritten. */
typedef void sum_fn(struct dev *, struct tensor *out, const struct tensor *x);

/*
 * One step on a range of parameters that share their settings.  w, g and the
 * state are F32; copy, optional, receives w in the type of the forward pass.
 *
 * The gradient is first multiplied by g_scale, and then, if clip > 0, by
 * min(1, clip / (g_scale * sqrt(sumsq))), where sumsq(1) is on the device, so
 * that no step waits for it.  If sumsq or loss(1) is not finite, nothing
 * changes.
 */
enum update_rule { UPDATE_ADAMW, UPDATE_LION, UPDATE_SGD };
enum muon_kind { MUON_ORIGINAL, MUON_POLAR, MUON_KINDS };
struct update {
    enum update_rule rule; /* but for Muon, which is an operation of its own */
    float lr, beta1, beta2, eps;
    float decay;  /* decoupled: w -= lr * decay * w */
    int64_t step; /* 1 for the first: bias correction */
    float g_scale, clip;
    const struct tensor *sumsq; /* optional */
    const struct tensor *loss;  /* optional, F64 */
    bool nesterov;              /* SGD and Muon */
    float scale;                /* Muon */
    enum muon_kind muon;        /* its coefficients */
    bool cautious;              /* Muon: decay what the step brings nearer 0 */
    bool l2;                    /* decay is added to the gradient (Adam, SGD) */
};

/* The factor of a gradient on the host; false if w must stay as it is. */
bool update_factor(const struct update *, double *out);

/*
 *      AdamW   m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2;
 *              w -= lr * mhat / (sqrt(vhat) + eps)
 *      Lion    w -= lr sign(b1 m + (1-b1) g); m = b2 m + (1-b2) g
 *              (Chen et al. 2023)
 *      SGD     m = b1 m + g; w -= lr m, or with nesterov lr (g + b1 m), as
 *              PyTorch's
 *
 * v is for AdamW only.
 */
typedef void update_fn(struct dev *, struct tensor *w, struct tensor *m,
                       struct tensor *v, struct tensor *copy,
                       const struct tensor *g, const struct update *);
/*
 * Muon (Jordan 2024) on one matrix w(R,C): m = b1 m + g, u = m or with
 * nesterov g + b1 m, x = u / (margin |u| + 1e-7), five iterations in F32
 *
 *      x <- a x + (b y + c y y) x,   y = x x'
 *
 * and w -= lr * scale * x.  With v(R), a moment for each row (NorMuon, Li and
 * others 2025), v = b2 v + (1 - b2) mean(x^2) of the row, and x is divided by
 * sqrt(v) + eps first, with |x| as before.  If cautious, only those elements of
 * w decay that have the sign of x.  work holds muon_work(R, C) floats.
 */
enum { MUON_ROUNDS = 5 };
struct muon_round {
    float a, b, c;
};
extern const struct muon_coefficients {
    float margin;
    struct muon_round round[MUON_ROUNDS];
} muon_coefficients[MUON_KINDS];
typedef void muon_fn(struct dev *, struct tensor *w, struct tensor *m,
                     struct tensor *v, struct tensor *copy, struct tensor *work,
                     const struct tensor *g, const struct update *);

static inline int64_t muon_work(int64_t R, int64_t C)
{
    const int64_t s = R < C ? R : C;

    return 2 * R * C + 2 * s * s;
}

/* ---- weights at the start --------------------------------------------- */

/*
 * y(n) = std * normal number first + n, where first is even; a device may lack
 * it.  Numbers 2i and 2i + 1 are Box and Muller's of the first two words of
 * block i of a stream (rng.h): u = (w0 + 1/2) / 2^32, v = (w1 + 1/2) / 2^32,
 * sqrt(-2 ln u) times the cosine and the sine of 2 pi v.
 */
typedef void normal_fn(struct dev *, struct tensor *y, uint64_t seed,
                       uint64_t stream, int64_t first, float std);

/* ----------------------------------------------------------------------- */

/* Every operation by name, once: types, declarations and tables follow. */
/* clang-format off */
#define OPS(X) \
    X(embed_fwd) X(embed_bwd) X(linear_fwd) X(linear_bwd) \
    X(norm_fwd) X(norm_bwd) X(qknorm_fwd) X(qknorm_bwd) X(act_fwd) X(act_bwd) \
    X(linear_act_fwd) X(act_linear_bwd) X(value_fwd) X(value_bwd) \
    X(add_fwd) X(mix_fwd) X(mix_bwd) X(accum) X(cast_random) X(dropout) \
    X(rope) X(attn_fwd) X(attn_bwd) X(attn_decode) X(attn_store) X(head) \
    X(sumsq) X(sum) X(update) X(muon)
/* clang-format on */

/* A GPU does not have these; they are NULL in its table. */
#define OPS_CPU(X) X(quantize) X(linear_quantized_fwd) X(normal)

/* Each of these has a reference.  An operation that has nothing else yet is
 * listed here, as X(name): the CPU then uses the reference. */
#define OPS_ALL(X) OPS(X) OPS_CPU(X)

#define OPS_DECLARE(op) extern op##_fn ref_##op;
OPS_ALL(OPS_DECLARE)
#undef OPS_DECLARE

struct ops {
    const char *name;
#define OPS_MEMBER(op) op##_fn *op;
    OPS_ALL(OPS_MEMBER)
#undef OPS_MEMBER
};

extern const struct ops ref_ops;

END_EXTERN_C
