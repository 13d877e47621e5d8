/*
 * cudnn_emu_run - compute a launch of cudnn_emu.h, by plain loops
 */
#include "config.h"
#include "emu/cudnn_emu.h"

#include "common/mem.h"
#include "kernels/half.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t cudnn_emu_span(const struct emu_tensor *v)
{
    int64_t n = 1;

    for (int k = 0; k < EMU_RANK; k++)
        n += (v->dim[k] - 1) * v->stride[k];
    return n;
}

/* The offset in v of element i of a tensor `of`, which may be larger: if v has
 * fewer heads, for example, each of them is used several times. */
static int64_t offset_of(const struct emu_tensor *v,
                         const struct emu_tensor *of, const int64_t i[EMU_RANK])
{
    int64_t at = 0;

    for (int k = 0; k < EMU_RANK; k++)
        at += i[k] * v->dim[k] / of->dim[k] * v->stride[k];
    return at;
}

static float round_to(cudnnDataType_t type, float x)
{
    return type == CUDNN_DATA_BFLOAT16 ? float_from_bf16(bf16_from_float(x))
           : type == CUDNN_DATA_HALF   ? float_from_f16(f16_from_float(x))
                                       : x;
}

/* Virtual tensors are stored as floats, rounded to their type. */
static float read_element(const struct emu_launch *l, int t, int64_t at)
{
    const struct emu_tensor *v = &l->kernel->tensor[t];
    const uint16_t *half = l->at[t];
    const float *wide = l->at[t];

    if (v->by_value)
        return l->value[t];
    if (v->is_virtual || v->type == CUDNN_DATA_FLOAT)
        return wide[at];
    return v->type == CUDNN_DATA_BFLOAT16 ? float_from_bf16(half[at])
                                          : float_from_f16(half[at]);
}

static void write_element(const struct emu_launch *l, int t, int64_t at,
                          float x)
{
    const struct emu_tensor *v = &l->kernel->tensor[t];

    if (v->is_virtual || v->type == CUDNN_DATA_FLOAT)
        ((float *)l->at[t])[at] = round_to(v->type, x);
    else
        ((uint16_t *)l->at[t])[at] = v->type == CUDNN_DATA_BFLOAT16
                                         ? bf16_from_float(x)
                                         : f16_from_float(x);
}

/* The next index in these bounds; false after the last. */
static bool next_index(int64_t i[EMU_RANK], const struct emu_tensor *v)
{
    for (int k = EMU_RANK - 1; k >= 0; k--) {
        if (++i[k] < v->dim[k])
            return true;
        i[k] = 0;
    }
    return false;
}

static float compute_pointwise(const struct emu_operation *s, float x, float b,
                               float t, const int64_t i[EMU_RANK])
{
    switch (s->mode) {
    case CUDNN_POINTWISE_ADD:
        return x + b;
    case CUDNN_POINTWISE_SUB:
        return x - b;
    case CUDNN_POINTWISE_MUL:
        return x * b;
    case CUDNN_POINTWISE_DIV:
        return strcmp(getenv("GT_EMU_CUDNN"), "wrong") == 0 ? x : x / b;
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

static void run_pointwise(const struct emu_launch *l,
                          const struct emu_operation *s)
{
    const struct emu_tensor *v = l->kernel->tensor, *y = &v[s->y];
    int64_t i[EMU_RANK] = { 0 };

    do {
        const float x = read_element(l, s->x, offset_of(&v[s->x], y, i));
        const float b =
            s->b < 0 ? 0.0f : read_element(l, s->b, offset_of(&v[s->b], y, i));
        const float t =
            s->t < 0 ? 0.0f : read_element(l, s->t, offset_of(&v[s->t], y, i));

        write_element(l, s->y, offset_of(y, y, i),
                      compute_pointwise(s, x, b, t, i));
    } while (next_index(i, y));
}

static void run_reduction(const struct emu_launch *l,
                          const struct emu_operation *s)
{
    const struct emu_tensor *x = &l->kernel->tensor[s->x];
    const struct emu_tensor *y = &l->kernel->tensor[s->y];
    const bool max = s->mode == CUDNN_REDUCE_TENSOR_MAX;
    double *sum = xcalloc((size_t)cudnn_emu_span(y), sizeof *sum);
    int64_t i[EMU_RANK] = { 0 };

    do
        sum[offset_of(y, y, i)] = max ? -(double)INFINITY : 0.0;
    while (next_index(i, y));
    do {
        const double one = (double)read_element(l, s->x, offset_of(x, x, i));
        double *to = &sum[offset_of(y, x, i)];

        *to = max ? fmax(*to, one) : *to + one;
    } while (next_index(i, x));
    do
        write_element(l, s->y, offset_of(y, y, i),
                      (float)sum[offset_of(y, y, i)]);
    while (next_index(i, y));
    free(sum);
}

static void run_matmul(const struct emu_launch *l,
                       const struct emu_operation *s)
{
    const struct emu_tensor *a = &l->kernel->tensor[s->x];
    const struct emu_tensor *b = &l->kernel->tensor[s->b];
    const struct emu_tensor *y = &l->kernel->tensor[s->y];
    int64_t i[EMU_RANK] = { 0 };

    do {
        const int64_t left[EMU_RANK] = { i[0], i[1], i[2], 0 };
        const int64_t right[EMU_RANK] = { i[0], i[1], 0, i[3] };
        const struct emu_tensor rows = { .dim = { y->dim[0], y->dim[1],
                                                  a->dim[2], a->dim[3] } };
        const struct emu_tensor columns = { .dim = { y->dim[0], y->dim[1],
                                                     b->dim[2], b->dim[3] } };
        const int64_t x = offset_of(a, &rows, left),
                      z = offset_of(b, &columns, right);
        double sum = 0;

        for (int64_t k = 0; k < a->dim[3]; k++)
            sum += (double)read_element(l, s->x, x + k * a->stride[3]) *
                   (double)read_element(l, s->b, z + k * b->stride[2]);
        write_element(l, s->y, offset_of(y, y, i), (float)sum);
    } while (next_index(i, y));
}

static void run_reshape(const struct emu_launch *l,
                        const struct emu_operation *s)
{
    const struct emu_tensor *y = &l->kernel->tensor[s->y];
    int64_t i[EMU_RANK] = { 0 };

    do
        write_element(l, s->y, offset_of(y, y, i),
                      read_element(l, s->x, offset_of(y, y, i)));
    while (next_index(i, y));
}

/* Of the sequences, the last ones that the environment says are left out. */
static void leave_out(const struct emu_launch *l, const struct emu_tensor *v,
                      int t)
{
    const char *which = getenv("GT_EMU_CUDNN");
    const int64_t from = strcmp(which, "first") == 0 ? 1
                         : strcmp(which, "two") == 0 && v->dim[0] > 2
                             ? v->dim[0] - 1
                             : v->dim[0];
    int64_t i[EMU_RANK] = { 0 };

    do
        if (i[0] >= from)
            write_element(l, t, offset_of(v, v, i), 0);
    while (next_index(i, v));
}

void cudnn_emu_run(void *arg)
{
    struct emu_launch *l = arg;
    const struct emu_kernel *p = l->kernel;

    memset(l->workspace, 0xff, EMU_WORKSPACE);
    for (int t = 0; t < p->tensors; t++)
        if (p->tensor[t].is_virtual)
            l->at[t] =
                xcalloc((size_t)cudnn_emu_span(&p->tensor[t]), sizeof(float));
    for (int i = 0; i < p->operations; i++) {
        const struct emu_operation *s = &p->operation[i];

        switch ((int)s->what) {
        case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
            run_pointwise(l, s);
            break;
        case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
            run_reduction(l, s);
            break;
        case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
            run_matmul(l, s);
            break;
        default:
            run_reshape(l, s);
        }
        if (!p->tensor[s->y].is_virtual)
            leave_out(l, &p->tensor[s->y], s->y);
    }
    for (int t = 0; t < p->tensors; t++)
        if (p->tensor[t].is_virtual)
            free(l->at[t]);
}
