#include "config.h"
#include "trainer/plan/plan_memory.h"

#include "kernels/head_rows.h"

/* As in kernels/cuda/: each queue has a workspace for products; scratch memory
 * is allocated in steps, one of which holds the sums of a bias before they are
 * added to the sums of earlier micro-steps. */
enum { QUEUES = 2, WORKSPACE = 64 << 20, SCRATCH_STEP = 2 << 20 };

/* The logits of a chunk of rows; in fp8 also their gradient, the activations
 * and the weights, each of them twice: as it is and transposed. */
static int64_t head_bytes(const struct settings *s, int64_t N, double gib)
{
    const int64_t V = s->is.vocab_padded, ld = (V + 63) / 64 * 64;
    const bool fp8 = s->train.fp8 != FP8_OFF;
    const size_t element = s->train.precision == PRECISION_FP32 ? 4 : 2;
    const int64_t rows =
        head_rows((int64_t)(gib * 0x1p30), N, ld, fp8 ? 2 * element : element);

    return rows * ld * (int64_t)element +
           (fp8 ? 2 * (rows * V + (N + V) * s->model.width) : 0);
}

/* The gradient of attention: a sum for each query of a head and, in 16 bits,
 * where cuDNN adds up the gradient of the queries. */
static int64_t attention_bytes(const struct settings *s, int64_t N)
{
    const bool wide = s->train.precision != PRECISION_FP32;

    return 4 * N * s->model.heads * (1 + (wide ? s->is.head_dim : 0));
}

/* Scratch memory has the size of the operation that needs most. */
static int64_t gpu_scratch(const struct settings *s, int64_t B, double gib)
{
    const int64_t N = B * s->model.context;
    const int64_t head = head_bytes(s, N, gib), attn = attention_bytes(s, N);
    const int64_t most = head > attn ? head : attn;

    return QUEUES * (int64_t)WORKSPACE +
           (s->is.accumulate > 1 ? SCRATCH_STEP : 0) +
           (most + SCRATCH_STEP - 1) / SCRATCH_STEP * SCRATCH_STEP;
}

void plan_memory_find(struct settings *s, int ranks, enum parallel_mode mode,
                      int64_t B, double gib, struct plan_memory *most)
{
    *most = (struct plan_memory){ .scratch = 0 };
    rank_memory_find(s, ranks, mode, B, &most->rank);
    if (gib > 0)
        most->scratch = gpu_scratch(s, B, gib);
}

int64_t plan_memory_sum(const struct plan_memory *m)
{
    return m->scratch + rank_memory_sum(&m->rank);
}

static double sum_bytes(struct settings *s, int ranks, int64_t B, double gib)
{
    struct plan_memory m;

    plan_memory_find(s, ranks, s->parallel.mode, B, gib, &m);
    return (double)plan_memory_sum(&m);
}

/* A tenth is left to other uses. */
static double usable(double gib)
{
    return 0.9 * gib * 0x1p30;
}

int64_t plan_memory_batch(struct settings *s, int ranks, double gib)
{
    const double limit = usable(gib);
    const bool given = s->train.batch || s->train.tokens_per_step;
    int64_t low = 0, high = 1;

    while (high < 65536 && sum_bytes(s, ranks, high, gib) <= limit) {
        low = high;
        high *= 2;
    }
    while (low + 1 < high) {
        const int64_t mid = (low + high) / 2;

        if (sum_bytes(s, ranks, mid, gib) <= limit)
            low = mid;
        else
            high = mid;
    }
    while (given && low > 1 && s->is.windows % (low * ranks) != 0)
        low--;
    return low;
}

double plan_memory_model(struct settings *s, int ranks, double gib)
{
    struct plan_memory m;
    double state;

    plan_memory_find(s, ranks, s->parallel.mode, 1, gib, &m);
    state = (double)(m.rank.bytes[DEV_WEIGHTS] + m.rank.bytes[DEV_GRADS] +
                     m.rank.bytes[DEV_MOMENTS]);
    return usable(gib) / state * (double)s->is.parameters;
}
