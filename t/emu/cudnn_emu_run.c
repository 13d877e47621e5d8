/*
 * cudnn_run - run a job of cudnn_emu.h, by plain loops
 */
#include "config.h"
#include "emu/cudnn_emu.h"

#include "common/mem.h"
#include "kernels/half.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t cudnn_emu_span(const struct view *v)
{
    int64_t n = 1;

    for (int k = 0; k < RANK; k++)
        n += (v->dim[k] - 1) * v->stride[k];
    return n;
}

/* Where an element of `of` is, for one of a tensor that may be larger: what
 * this has less of, heads or everything, serves several of those. */
static int64_t place(const struct view *v, const struct view *of,
                     const int64_t i[RANK])
{
    int64_t at = 0;

    for (int k = 0; k < RANK; k++)
        at += i[k] * v->dim[k] / of->dim[k] * v->stride[k];
    return at;
}

static float rounded(cudnnDataType_t type, float x)
{
    return type == CUDNN_DATA_BFLOAT16 ? float_from_bf16(bf16_from_float(x))
           : type == CUDNN_DATA_HALF   ? float_from_f16(f16_from_float(x))
                                       : x;
}

/* Virtual tensors are floats, rounded to their type; others are as they are. */
static float get(const struct job *j, int t, int64_t at)
{
    const struct view *v = &j->program->tensor[t];
    const uint16_t *half = j->at[t];
    const float *wide = j->at[t];

    if (v->by_value)
        return j->value[t];
    if (v->passing || v->type == CUDNN_DATA_FLOAT)
        return wide[at];
    return v->type == CUDNN_DATA_BFLOAT16 ? float_from_bf16(half[at])
                                          : float_from_f16(half[at]);
}

static void put(const struct job *j, int t, int64_t at, float x)
{
    const struct view *v = &j->program->tensor[t];

    if (v->passing || v->type == CUDNN_DATA_FLOAT)
        ((float *)j->at[t])[at] = rounded(v->type, x);
    else
        ((uint16_t *)j->at[t])[at] = v->type == CUDNN_DATA_BFLOAT16
                                         ? bf16_from_float(x)
                                         : f16_from_float(x);
}

/* The next index in these bounds; false after the last. */
static bool next_index(int64_t i[RANK], const struct view *v)
{
    for (int k = RANK - 1; k >= 0; k--) {
        if (++i[k] < v->dim[k])
            return true;
        i[k] = 0;
    }
    return false;
}

static float point(const struct step *s, float x, float b, float t,
                   const int64_t i[RANK])
{
    switch (s->mode) {
    case CUDNN_POINTWISE_ADD:
        return x + b;
    case CUDNN_POINTWISE_SUB:
        return x - b;
    case CUDNN_POINTWISE_MUL:
        return x * b;
    case CUDNN_POINTWISE_DIV:
        return x / b;
    case CUDNN_POINTWISE_EXP:
        return expf(x);
    case CUDNN_POINTWISE_LOG:
        return logf(x);
    case CUDNN_POINTWISE_IDENTITY:
        return x;
    case CUDNN_POINTWISE_GEN_INDEX:
        return (float)i[s->axis];
    case CUDNN_POINTWISE_CMP_GE:
        return x >= b ? 1.0f : 0.0f;
    case CUDNN_POINTWISE_BINARY_SELECT:
        return t > 0.0f ? x : b;
    }
    abort();
}

static void run_pointwise(const struct job *j, const struct step *s)
{
    const struct view *v = j->program->tensor, *y = &v[s->y];
    int64_t i[RANK] = { 0 };

    do {
        const float x = get(j, s->x, place(&v[s->x], y, i));
        const float b = s->b < 0 ? 0.0f : get(j, s->b, place(&v[s->b], y, i));
        const float t = s->t < 0 ? 0.0f : get(j, s->t, place(&v[s->t], y, i));

        put(j, s->y, place(y, y, i), point(s, x, b, t, i));
    } while (next_index(i, y));
}

static void run_reduction(const struct job *j, const struct step *s)
{
    const struct view *x = &j->program->tensor[s->x];
    const struct view *y = &j->program->tensor[s->y];
    const bool max = s->mode == CUDNN_REDUCE_TENSOR_MAX;
    double *sum = xcalloc((size_t)cudnn_emu_span(y), sizeof *sum);
    int64_t i[RANK] = { 0 };

    do
        sum[place(y, y, i)] = max ? -(double)INFINITY : 0.0;
    while (next_index(i, y));
    do {
        const double one = (double)get(j, s->x, place(x, x, i));
        double *to = &sum[place(y, x, i)];

        *to = max ? fmax(*to, one) : *to + one;
    } while (next_index(i, x));
    do
        put(j, s->y, place(y, y, i), (float)sum[place(y, y, i)]);
    while (next_index(i, y));
    free(sum);
}

static void run_matmul(const struct job *j, const struct step *s)
{
    const struct view *a = &j->program->tensor[s->x];
    const struct view *b = &j->program->tensor[s->b];
    const struct view *y = &j->program->tensor[s->y];
    int64_t i[RANK] = { 0 };

    do {
        const int64_t left[RANK] = { i[0], i[1], i[2], 0 };
        const int64_t right[RANK] = { i[0], i[1], 0, i[3] };
        const struct view rows = { .dim = { y->dim[0], y->dim[1], a->dim[2],
                                            a->dim[3] } };
        const struct view columns = { .dim = { y->dim[0], y->dim[1], b->dim[2],
                                               b->dim[3] } };
        const int64_t x = place(a, &rows, left), z = place(b, &columns, right);
        double sum = 0;

        for (int64_t k = 0; k < a->dim[3]; k++)
            sum += (double)get(j, s->x, x + k * a->stride[3]) *
                   (double)get(j, s->b, z + k * b->stride[2]);
        put(j, s->y, place(y, y, i), (float)sum);
    } while (next_index(i, y));
}

static void run_reshape(const struct job *j, const struct step *s)
{
    const struct view *y = &j->program->tensor[s->y];
    int64_t i[RANK] = { 0 };

    do
        put(j, s->y, place(y, y, i), get(j, s->x, place(y, y, i)));
    while (next_index(i, y));
}

void cudnn_emu_run(void *arg)
{
    struct job *j = arg;
    const struct program *p = j->program;

    memset(j->workspace, 0xff, WORKSPACE);
    for (int t = 0; t < p->tensors; t++)
        if (p->tensor[t].passing)
            j->at[t] =
                xcalloc((size_t)cudnn_emu_span(&p->tensor[t]), sizeof(float));
    for (int i = 0; i < p->steps; i++) {
        const struct step *s = &p->step[i];

        switch ((int)s->what) {
        case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
            run_pointwise(j, s);
            break;
        case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
            run_reduction(j, s);
            break;
        case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
            run_matmul(j, s);
            break;
        default:
            run_reshape(j, s);
        }
    }
    for (int t = 0; t < p->tensors; t++)
        if (p->tensor[t].passing)
            free(j->at[t]);
}
