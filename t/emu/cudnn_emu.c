/*
 * cudnn_emu - a stand-in for cuDNN: graphs of operations, by plain loops
 *
 * It implements the calls of struct cudnn, so that sdpa.c and its graphs can be
 * tested without a GPU.  It rejects what the library rejects: an attribute that
 * is changed after finalizing or used before, an execution plan without a
 * handle, different tensors with one id, elements that overlap, and pointers
 * that are missing, not in memory of the device, too short, or less aligned
 * than promised.  It also rejects a number for each query that is not packed:
 * some of the library's kernels would read it as if it were.
 *
 * The emulated device has cuDNN if GT_EMU_CUDNN is set; else attention uses our
 * own kernels.  With GT_EMU_CUDNN=broken, execution plans cannot be run, and
 * with GT_EMU_CUDNN=refuse they cannot be made.  With GT_EMU_CUDNN=wrong, what
 * is divided is not, so that the sums of probabilities are not 1.
 */
#include "config.h"
#include "emu/cudnn_emu.h"
#include "kernels/cuda/sdpa_graph.h"

#include "common/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The emulator's streams and memory; in cublaslt_emu.cu. */
void emu_submit(void *stream, void (*call)(void *), void (*drop)(void *),
                void *arg);
bool emu_refuses(void *stream);
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
    const struct descriptor *graph; /* of an offer */
    int offer;
    struct emu_kernel *kernel; /* an execution plan's */
};

struct cudnnContext {
    void *stream;
    struct emu_kernel *kernels;
    struct emu_launch *launches;
};

static cudnnHandle_t opened; /* the only handle */
static char why[256];

static cudnnStatus_t reject(const char *text)
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

static const struct attribute *find_attribute(const struct descriptor *d,
                                              int name)
{
    for (int i = 0; i < d->n; i++)
        if (d->attribute[i].name == name)
            return &d->attribute[i];
    return NULL;
}

/* The first value of an attribute, if it is set. */
static void read_value(const struct descriptor *d, int name, void *out,
                       size_t n)
{
    const struct attribute *a = find_attribute(d, name);

    if (a)
        memcpy(out, a->values, n);
}

static int read_int(const struct descriptor *d, int name)
{
    int v = -1;

    read_value(d, name, &v, sizeof v);
    return v;
}

static const struct descriptor *read_descriptor(const struct descriptor *d,
                                                int name)
{
    const struct descriptor *v = NULL;

    read_value(d, name, &v, sizeof v);
    return v;
}

static cudnnStatus_t make_descriptor(cudnnBackendDescriptorType_t type,
                                     cudnnBackendDescriptor_t *out)
{
    struct descriptor *d = xcalloc(1, sizeof *d);

    d->type = type;
    *out = d;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t destroy_descriptor(cudnnBackendDescriptor_t which)
{
    struct descriptor *d = which;

    for (int i = 0; i < d->n; i++)
        free(d->attribute[i].values);
    free(d->attribute);
    free(d);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t set_attribute(cudnnBackendDescriptor_t which,
                                   cudnnBackendAttributeName_t name,
                                   cudnnBackendAttributeType_t type, int64_t n,
                                   const void *values)
{
    struct descriptor *d = which;
    const size_t bytes = (size_t)n * size_of(type);
    struct attribute *a;

    if (!d || d->final || find_attribute(d, (int)name) || !bytes)
        return reject("a descriptor cannot be given this attribute now");
    for (int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < n; i++)
        if (!((struct descriptor *const *)values)[i]->final)
            return reject("a descriptor is used before it is finalized");
    if (type == CUDNN_TYPE_HANDLE && *(const cudnnHandle_t *)values != opened)
        return reject("not a handle");
    GROW(d->attribute, d->n, d->room);
    a = &d->attribute[d->n++];
    *a = (struct attribute){ (int)name, (int)type, n, xmalloc(bytes) };
    memcpy(a->values, values, bytes);
    return CUDNN_STATUS_SUCCESS;
}

/* ---- execution plans --------------------------------------------------- */

/* Whether no two elements share memory. */
static bool has_no_overlap(const struct emu_tensor *v)
{
    for (int k = 0; k < EMU_RANK; k++) {
        int64_t within = 1; /* the extent of dimensions with smaller strides */

        for (int i = 0; i < EMU_RANK; i++)
            if (i != k && v->dim[i] > 1 && v->stride[i] <= v->stride[k])
                within += (v->dim[i] - 1) * v->stride[i];
        if (v->dim[k] > 1 && v->stride[k] < within)
            return false;
    }
    return true;
}

/* Whether a number for each query, (B,H,T,1), is packed, if v is one. */
static bool is_packed_if_column(const struct emu_tensor *v)
{
    const int64_t *n = v->dim, *stride = v->stride;

    return v->is_virtual || v->by_value || n[3] != 1 ||
           (stride[0] == n[1] * n[2] && stride[1] == n[2] && stride[2] == 1);
}

static bool read_tensor(const struct descriptor *d, struct emu_tensor *v)
{
    const struct attribute *dim =
        find_attribute(d, CUDNN_ATTR_TENSOR_DIMENSIONS);
    const struct attribute *stride =
        find_attribute(d, CUDNN_ATTR_TENSOR_STRIDES);

    memset(v, 0, sizeof *v); /* padding too: they are compared */
    if (!dim || !stride || dim->n != EMU_RANK || stride->n != EMU_RANK)
        return false;
    memcpy(v->dim, dim->values, sizeof v->dim);
    memcpy(v->stride, stride->values, sizeof v->stride);
    v->type = CUDNN_DATA_INT8;
    read_value(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, &v->uid, sizeof v->uid);
    read_value(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, &v->align, sizeof v->align);
    read_value(d, CUDNN_ATTR_TENSOR_DATA_TYPE, &v->type, sizeof v->type);
    read_value(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, &v->is_virtual,
               sizeof v->is_virtual);
    read_value(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, &v->by_value,
               sizeof v->by_value);
    for (int k = 0; k < EMU_RANK; k++)
        if (v->dim[k] < 1 || v->stride[k] < 1)
            return false;
    return v->uid && v->align && v->type != CUDNN_DATA_INT8 &&
           has_no_overlap(v);
}

/* The index of a tensor in the kernel; -1: not set; -2: invalid. */
static int add_tensor(struct emu_kernel *p, const struct descriptor *op,
                      int name)
{
    const struct attribute *a = find_attribute(op, name);
    struct emu_tensor v;

    if (!a)
        return -1;
    if (!read_tensor(read_descriptor(op, name), &v))
        return -2;
    for (int t = 0; t < p->tensors; t++)
        if (p->tensor[t].uid == v.uid)
            return memcmp(&p->tensor[t], &v, sizeof v) == 0 ? t : -2;
    if (p->tensors == EMU_TENSORS)
        return -2;
    p->tensor[p->tensors] = v;
    return p->tensors++;
}

static bool tensors_fit(const struct emu_kernel *p,
                        const struct emu_operation *s)
{
    const struct emu_tensor *v = p->tensor, *x = &v[s->x], *y = &v[s->y];

    if (s->x < 0 || s->y < 0 || s->b < -1 || s->t < -1 || y->by_value)
        return false;
    if (s->what != CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
        return true;
    return s->b >= 0 && x->dim[3] == v[s->b].dim[2] && x->dim[2] == y->dim[2] &&
           v[s->b].dim[3] == y->dim[3] && x->dim[0] == y->dim[0] &&
           y->dim[1] % x->dim[1] == 0 && y->dim[1] % v[s->b].dim[1] == 0;
}

static bool add_operation(struct emu_kernel *p, const struct descriptor *op)
{
    struct emu_operation *s = &p->operation[p->operations++];
    const struct descriptor *how = NULL;

    *s = (struct emu_operation){
        .what = op->type, .mode = -1, .b = -1, .t = -1
    };
    switch ((int)op->type) {
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        how = read_descriptor(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
        if (!how)
            return false;
        s->mode = read_int(how, CUDNN_ATTR_POINTWISE_MODE);
        read_value(how, CUDNN_ATTR_POINTWISE_AXIS, &s->axis, sizeof s->axis);
        s->x = add_tensor(p, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
        s->b = add_tensor(p, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
        s->t = add_tensor(p, op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
        s->y = add_tensor(p, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
        break;
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        how = read_descriptor(op, CUDNN_ATTR_OPERATION_REDUCTION_DESC);
        if (!how)
            return false;
        s->mode = read_int(how, CUDNN_ATTR_REDUCTION_OPERATOR);
        s->x = add_tensor(p, op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
        s->y = add_tensor(p, op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
        break;
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        s->x = add_tensor(p, op, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
        s->b = add_tensor(p, op, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
        s->y = add_tensor(p, op, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
        break;
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
        s->x = add_tensor(p, op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
        s->y = add_tensor(p, op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
        break;
    default:
        return false;
    }
    return tensors_fit(p, s);
}

static cudnnStatus_t finalize_plan(struct descriptor *d)
{
    const struct descriptor *offer =
        read_descriptor(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    const struct attribute *ops;
    struct emu_kernel *p;

    if (!find_attribute(d, CUDNN_ATTR_EXECUTION_PLAN_HANDLE) || !offer)
        return reject("a plan needs a handle and an offer");
    if (strcmp(getenv("GT_EMU_CUDNN"), "refuse") == 0) {
        reject("libnvrtc-builtins.so cannot be opened");
        return CUDNN_STATUS_NOT_SUPPORTED;
    }
    if (offer->offer == 0) {
        reject("the first offer does not compile");
        return CUDNN_STATUS_NOT_SUPPORTED;
    }
    ops = find_attribute(offer->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    if (!ops || ops->n > EMU_OPERATIONS)
        return reject("a graph without operations, or with too many");
    p = xcalloc(1, sizeof *p);
    p->next = opened->kernels;
    opened->kernels = d->kernel = p;
    for (int64_t i = 0; i < ops->n; i++)
        if (!add_operation(p, ((struct descriptor *const *)ops->values)[i]))
            return reject("an operation whose tensors do not fit");
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t finalize_descriptor(cudnnBackendDescriptor_t which)
{
    struct descriptor *d = which;
    struct emu_tensor v;

    if (d->final)
        return reject("a descriptor is finalized twice");
    if (d->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR && !read_tensor(d, &v))
        return reject("a tensor that is not described whole");
    if (d->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR && !is_packed_if_column(&v))
        return reject("a number for each query that is not packed");
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
        return reject("a descriptor is queried before it is finalized");
    if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
        *(int64_t *)out = EMU_WORKSPACE;
        *n = 1;
        return CUDNN_STATUS_SUCCESS;
    }
    if (name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) {
        static const char json[] = "{\"kernelName\":\"emulated_sdpa\"}";

        *n = sizeof json;
        if (room > 0)
            memcpy(out, json,
                   (size_t)room < sizeof json ? (size_t)room : sizeof json);
        return CUDNN_STATUS_SUCCESS;
    }
    if (name != CUDNN_ATTR_ENGINEHEUR_RESULTS)
        return reject("not an attribute that is known here");
    *n = 2;
    for (int i = 0; i < room && i < 2; i++) {
        struct descriptor *offer = ((struct descriptor **)out)[i];

        offer->graph =
            read_descriptor(d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
        offer->offer = i;
        offer->final = true;
    }
    return CUDNN_STATUS_SUCCESS;
}

static size_t element_size(cudnnDataType_t type)
{
    return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_INT32 ? 4 : 2;
}

/* Set the pointer of a tensor from the variant pack. */
static bool bind_tensor(struct emu_launch *j, int t,
                        const struct descriptor *pack)
{
    const struct attribute *uid =
        find_attribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const struct attribute *at =
        find_attribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    const struct emu_tensor *v = &j->kernel->tensor[t];

    if (v->is_virtual)
        return true;
    for (int64_t i = 0; uid && at && uid->n == at->n && i < uid->n; i++) {
        void *p = ((void **)at->values)[i];

        if (((const int64_t *)uid->values)[i] != v->uid)
            continue;
        if (v->by_value)
            memcpy(&j->value[t], p, sizeof j->value[t]);
        j->at[t] = p;
        return v->by_value || ((uintptr_t)p % (uintptr_t)v->align == 0 &&
                               emu_on_device(p, (size_t)cudnn_emu_span(v) *
                                                    element_size(v->type)));
    }
    return false;
}

static cudnnStatus_t execute_plan(cudnnHandle_t h,
                                  cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack)
{
    const struct descriptor *how = plan, *with = pack;
    struct emu_launch *j;

    if (!how->final || !with->final)
        return reject("a plan or a variant pack is run before it is finalized");
    if (strcmp(getenv("GT_EMU_CUDNN"), "broken") == 0)
        return reject("this library is broken");
    if (emu_refuses(h->stream)) {
        reject("the kernel cannot be launched");
        return CUDNN_STATUS_EXECUTION_FAILED;
    }
    j = xcalloc(1, sizeof *j);
    j->next = h->launches;
    h->launches = j;
    j->kernel = how->kernel;
    read_value(with, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, &j->workspace,
               sizeof j->workspace);
    if (!emu_on_device(j->workspace, EMU_WORKSPACE))
        return reject("no workspace, or not enough");
    for (int t = 0; t < how->kernel->tensors; t++)
        if (!bind_tensor(j, t, with))
            return reject("a tensor without its memory");
    emu_submit(h->stream, cudnn_emu_run, NULL, j);
    return CUDNN_STATUS_SUCCESS;
}

/* ---- the rest ---------------------------------------------------------- */

static size_t cudnn_version(void)
{
    const char *version = getenv("GT_EMU_CUDNN_VERSION");

    return version ? strtoul(version, NULL, 10) : CUDNN_VERSION;
}

static cudnnStatus_t create_handle(cudnnHandle_t *out)
{
    opened = xcalloc(1, sizeof *opened);
    *out = opened;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t close_handle(cudnnHandle_t h)
{
    emu_drain();
    while (h->launches) {
        struct emu_launch *j = h->launches;

        h->launches = j->next;
        free(j);
    }
    while (h->kernels) {
        struct emu_kernel *p = h->kernels;

        h->kernels = p->next;
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

static void copy_last_error(char *out, size_t room)
{
    snprintf(out, room, "%s", why);
}

int cudnn_load(struct cudnn *api, struct err *e)
{
    if (!getenv("GT_EMU_CUDNN"))
        return err_set(e, ERR_MISSING, "GT_EMU_CUDNN is not set");
    *api = (struct cudnn){
        .version = cudnn_version,
        .create = create_handle,
        .close = close_handle,
        .set_stream = set_stream,
        .make = make_descriptor,
        .destroy = destroy_descriptor,
        .finalize = finalize_descriptor,
        .set = set_attribute,
        .get = get_attribute,
        .execute = execute_plan,
        .last_error = copy_last_error,
    };
    return 0;
}
