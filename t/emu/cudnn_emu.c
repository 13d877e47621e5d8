/*
 * cudnn_emu - cuDNN beside the emulation: graphs of operations by plain loops
 *
 * Answers the calls of struct cudnn, so that sdpa.c and the graphs that it
 * makes run whole where there is no GPU.  Refused is what the library refuses:
 * an attribute changed after finalizing or used before, a plan for no handle,
 * tensors of one number that differ, elements that share a place, pointers
 * that are missing, not the device's, too short or less aligned than was said.
 *
 * The emulated device has cuDNN where GT_EMU_CUDNN is set: else attention is
 * that of our own kernels.  GT_EMU_CUDNN=broken plans, and then cannot run.
 */
#include "config.h"
#include "emu/cudnn_emu.h"
#include "kernels/cuda/sdpa_graph.h"

#include "common/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* second_stream.cu's: the emulation's streams and memory */
void emu_submit(void *stream, void (*call)(void *), void *arg);
void emu_drain(void);
bool emu_on_device(const void *p, size_t n);

struct attribute {
    int name, type;
    int64_t n;
    void *values;
};

struct descriptor {
    cudnnBackendDescriptorType_t type;
    bool final;
    struct attribute *attribute;
    int n, room;
    const struct descriptor *graph; /* an offer's */
    int offer;
    struct program *program; /* a plan's */
};

struct cudnnContext {
    void *stream;
    struct program *programs;
    struct job *jobs;
};

static cudnnHandle_t opened; /* the one that there is */
static char why[256];

static cudnnStatus_t refuse(const char *text)
{
    snprintf(why, sizeof why, "%s", text);
    return CUDNN_STATUS_BAD_PARAM;
}

/* ---- descriptors ------------------------------------------------------- */

static size_t size_of(cudnnBackendAttributeType_t type)
{
    switch ((int)type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
        return 8;
    case CUDNN_TYPE_BOOLEAN:
        return 1;
    case CUDNN_TYPE_DATA_TYPE:
    case CUDNN_TYPE_HEUR_MODE:
    case CUDNN_TYPE_POINTWISE_MODE:
    case CUDNN_TYPE_REDUCTION_OPERATOR_TYPE:
        return 4;
    }
    return 0;
}

static const struct attribute *find(const struct descriptor *d, int name)
{
    for (int i = 0; i < d->n; i++)
        if (d->attribute[i].name == name)
            return &d->attribute[i];
    return NULL;
}

/* The first value of an attribute, if it is there. */
static void one(const struct descriptor *d, int name, void *out, size_t n)
{
    const struct attribute *a = find(d, name);

    if (a)
        memcpy(out, a->values, n);
}

static int one_int(const struct descriptor *d, int name)
{
    int v = -1;

    one(d, name, &v, sizeof v);
    return v;
}

static const struct descriptor *one_descriptor(const struct descriptor *d,
                                               int name)
{
    const struct descriptor *v = NULL;

    one(d, name, &v, sizeof v);
    return v;
}

static cudnnStatus_t make(cudnnBackendDescriptorType_t type,
                          cudnnBackendDescriptor_t *out)
{
    struct descriptor *d = xcalloc(1, sizeof *d);

    d->type = type;
    *out = d;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t destroy(cudnnBackendDescriptor_t which)
{
    struct descriptor *d = which;

    for (int i = 0; i < d->n; i++)
        free(d->attribute[i].values);
    free(d->attribute);
    free(d);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t set(cudnnBackendDescriptor_t which,
                         cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t n,
                         const void *values)
{
    struct descriptor *d = which;
    const size_t bytes = (size_t)n * size_of(type);
    struct attribute *a;

    if (!d || d->final || find(d, (int)name) || !bytes)
        return refuse("a descriptor cannot be given this attribute now");
    for (int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < n; i++)
        if (!((struct descriptor *const *)values)[i]->final)
            return refuse("a descriptor is used before it is finalized");
    if (type == CUDNN_TYPE_HANDLE && *(const cudnnHandle_t *)values != opened)
        return refuse("not a handle");
    GROW(d->attribute, d->n, d->room);
    a = &d->attribute[d->n++];
    *a = (struct attribute){ (int)name, (int)type, n, xmalloc(bytes) };
    memcpy(a->values, values, bytes);
    return CUDNN_STATUS_SUCCESS;
}

/* ---- plans ------------------------------------------------------------- */

/* Has each element a place of its own? */
static bool is_apart(const struct view *v)
{
    for (int k = 0; k < RANK; k++) {
        int64_t within = 1;             /* where what is nearer ends */

        for (int i = 0; i < RANK; i++)
            if (i != k && v->dim[i] > 1 && v->stride[i] <= v->stride[k])
                within += (v->dim[i] - 1) * v->stride[i];
        if (v->dim[k] > 1 && v->stride[k] < within)
            return false;
    }
    return true;
}

static bool read_view(const struct descriptor *d, struct view *v)
{
    const struct attribute *dim = find(d, CUDNN_ATTR_TENSOR_DIMENSIONS);
    const struct attribute *stride = find(d, CUDNN_ATTR_TENSOR_STRIDES);

    memset(v, 0, sizeof *v); /* padding too: they are compared */
    if (!dim || !stride || dim->n != RANK || stride->n != RANK)
        return false;
    memcpy(v->dim, dim->values, sizeof v->dim);
    memcpy(v->stride, stride->values, sizeof v->stride);
    v->type = CUDNN_DATA_INT8;
    one(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, &v->uid, sizeof v->uid);
    one(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, &v->align, sizeof v->align);
    one(d, CUDNN_ATTR_TENSOR_DATA_TYPE, &v->type, sizeof v->type);
    one(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, &v->passing, sizeof v->passing);
    one(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, &v->by_value, sizeof v->by_value);
    for (int k = 0; k < RANK; k++)
        if (v->dim[k] < 1 || v->stride[k] < 1)
            return false;
    return v->uid && v->align && v->type != CUDNN_DATA_INT8 && is_apart(v);
}

/* The number of a tensor in the program; -1: none; -2: that cannot be. */
static int tensor(struct program *p, const struct descriptor *op, int name)
{
    const struct attribute *a = find(op, name);
    struct view v;

    if (!a)
        return -1;
    if (!read_view(one_descriptor(op, name), &v))
        return -2;
    for (int t = 0; t < p->tensors; t++)
        if (p->tensor[t].uid == v.uid)
            return memcmp(&p->tensor[t], &v, sizeof v) == 0 ? t : -2;
    if (p->tensors == MOST_TENSORS)
        return -2;
    p->tensor[p->tensors] = v;
    return p->tensors++;
}

static bool fits(const struct program *p, const struct step *s)
{
    const struct view *v = p->tensor, *x = &v[s->x], *y = &v[s->y];

    if (s->x < 0 || s->y < 0 || s->b < -1 || s->t < -1 || y->by_value)
        return false;
    if (s->what != CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
        return true;
    return s->b >= 0 && x->dim[3] == v[s->b].dim[2] && x->dim[2] == y->dim[2] &&
           v[s->b].dim[3] == y->dim[3] && x->dim[0] == y->dim[0] &&
           y->dim[1] % x->dim[1] == 0 && y->dim[1] % v[s->b].dim[1] == 0;
}

static bool add_step(struct program *p, const struct descriptor *op)
{
    struct step *s = &p->step[p->steps++];
    const struct descriptor *how = NULL;

    *s = (struct step){ .what = op->type, .mode = -1, .b = -1, .t = -1 };
    switch ((int)op->type) {
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        how = one_descriptor(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
        if (!how)
            return false;
        s->mode = one_int(how, CUDNN_ATTR_POINTWISE_MODE);
        one(how, CUDNN_ATTR_POINTWISE_AXIS, &s->axis, sizeof s->axis);
        s->x = tensor(p, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
        s->b = tensor(p, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
        s->t = tensor(p, op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
        s->y = tensor(p, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
        break;
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        how = one_descriptor(op, CUDNN_ATTR_OPERATION_REDUCTION_DESC);
        if (!how)
            return false;
        s->mode = one_int(how, CUDNN_ATTR_REDUCTION_OPERATOR);
        s->x = tensor(p, op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
        s->y = tensor(p, op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
        break;
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        s->x = tensor(p, op, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
        s->b = tensor(p, op, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
        s->y = tensor(p, op, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
        break;
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
        s->x = tensor(p, op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
        s->y = tensor(p, op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
        break;
    default:
        return false;
    }
    return fits(p, s);
}

static cudnnStatus_t finalize_plan(struct descriptor *d)
{
    const struct descriptor *offer =
        one_descriptor(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    const struct attribute *ops;
    struct program *p;

    if (!find(d, CUDNN_ATTR_EXECUTION_PLAN_HANDLE) || !offer)
        return refuse("a plan needs a handle and an offer");
    if (offer->offer == 0) {
        refuse("the first offer does not compile");
        return CUDNN_STATUS_NOT_SUPPORTED;
    }
    ops = find(offer->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    if (!ops || ops->n > MOST_STEPS)
        return refuse("a graph needs operations, and not so many");
    p = xcalloc(1, sizeof *p);
    p->next = opened->programs;
    opened->programs = d->program = p;
    for (int64_t i = 0; i < ops->n; i++)
        if (!add_step(p, ((struct descriptor *const *)ops->values)[i]))
            return refuse("an operation whose tensors do not fit");
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t finalize(cudnnBackendDescriptor_t which)
{
    struct descriptor *d = which;
    struct view v;

    if (d->final)
        return refuse("a descriptor is finalized twice");
    if (d->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR && !read_view(d, &v))
        return refuse("a tensor that is not described whole");
    if (d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
        const cudnnStatus_t status = finalize_plan(d);

        if (status != CUDNN_STATUS_SUCCESS)
            return status;
    }
    d->final = true;
    return CUDNN_STATUS_SUCCESS;
}

/* Two offers, the first of which does not compile. */
static cudnnStatus_t get_attribute(cudnnBackendDescriptor_t which,
                                   cudnnBackendAttributeName_t name,
                                   cudnnBackendAttributeType_t type,
                                   int64_t room, int64_t *n, void *out)
{
    const struct descriptor *d = which;

    (void)type;
    if (!d->final)
        return refuse("asked of a descriptor that is not finalized");
    if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
        *(int64_t *)out = WORKSPACE;
        *n = 1;
        return CUDNN_STATUS_SUCCESS;
    }
    if (name != CUDNN_ATTR_ENGINEHEUR_RESULTS)
        return refuse("not an attribute that is known here");
    *n = 2;
    for (int i = 0; i < room && i < 2; i++) {
        struct descriptor *offer = ((struct descriptor **)out)[i];

        offer->graph = one_descriptor(d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
        offer->offer = i;
        offer->final = true;
    }
    return CUDNN_STATUS_SUCCESS;
}

static size_t element(cudnnDataType_t type)
{
    return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_INT32 ? 4 : 2;
}

/* Give a tensor its pointer out of the pack. */
static bool bind(struct job *j, int t, const struct descriptor *pack)
{
    const struct attribute *uid =
        find(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const struct attribute *at =
        find(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    const struct view *v = &j->program->tensor[t];

    if (v->passing)
        return true;
    for (int64_t i = 0; uid && at && uid->n == at->n && i < uid->n; i++) {
        void *p = ((void **)at->values)[i];

        if (((const int64_t *)uid->values)[i] != v->uid)
            continue;
        if (v->by_value)
            memcpy(&j->value[t], p, sizeof j->value[t]);
        j->at[t] = p;
        return v->by_value ||
               ((uintptr_t)p % (uintptr_t)v->align == 0 &&
                emu_on_device(p, (size_t)cudnn_emu_span(v) * element(v->type)));
    }
    return false;
}

static cudnnStatus_t execute(cudnnHandle_t h, cudnnBackendDescriptor_t plan,
                             cudnnBackendDescriptor_t pack)
{
    const struct descriptor *how = plan, *with = pack;
    struct job *j;

    if (!how->final || !with->final)
        return refuse("run before it is finalized");
    if (strcmp(getenv("GT_EMU_CUDNN"), "broken") == 0)
        return refuse("this library is broken");
    j = xcalloc(1, sizeof *j);
    j->next = h->jobs;
    h->jobs = j;
    j->program = how->program;
    one(with, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, &j->workspace,
        sizeof j->workspace);
    if (!emu_on_device(j->workspace, WORKSPACE))
        return refuse("no workspace, or not enough");
    for (int t = 0; t < how->program->tensors; t++)
        if (!bind(j, t, with))
            return refuse("a tensor without its memory");
    emu_submit(h->stream, cudnn_emu_run, j);
    return CUDNN_STATUS_SUCCESS;
}

/* ---- the rest ---------------------------------------------------------- */

static size_t version(void)
{
    return CUDNN_VERSION;
}

static cudnnStatus_t create(cudnnHandle_t *out)
{
    opened = xcalloc(1, sizeof *opened);
    *out = opened;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t close_handle(cudnnHandle_t h)
{
    emu_drain();
    while (h->jobs) {
        struct job *j = h->jobs;

        h->jobs = j->next;
        free(j);
    }
    while (h->programs) {
        struct program *p = h->programs;

        h->programs = p->next;
        free(p);
    }
    free(h);
    opened = NULL;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t set_stream(cudnnHandle_t h, void *stream)
{
    h->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

static void last_error(char *out, size_t room)
{
    snprintf(out, room, "%s", why);
}

int cudnn_load(struct cudnn *api, struct err *e)
{
    if (!getenv("GT_EMU_CUDNN"))
        return err_set(e, ERR_MISSING, "GT_EMU_CUDNN is not set");
    *api = (struct cudnn){
        version,  create, close_handle,  set_stream, make,       destroy,
        finalize, set,    get_attribute, execute,    last_error,
    };
    return 0;
}
