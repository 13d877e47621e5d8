/*
 * sdpa - attention as graphs of operations that cuDNN compiles
 *
 * The graphs follow cuDNN's developer guide for attention and its
 * gradient, built with the C interface: tensors are described by strides into
 * the (B, T, H + 2 K, D) buffer as it is, intermediate tensors are virtual, and
 * numbers are passed by value.  In the backward pass, the sums of y dy and an
 * F32 dq are real tensors, in scratch memory.
 */
#include "config.h"
#include "kernels/cuda/sdpa.h"

#include "common/log.h"
#include "common/mem.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/sdpa_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KERNELS = 16 };

struct sdpa_kernel {
    struct sdpa_shape shape;
    struct sdpa_graph graph;
    cudnnBackendDescriptor_t execution_plan, pack;
    int64_t workspace;
    bool usable;
};

struct sdpa {
    struct cudnn api;
    cudnnHandle_t handle;
    struct err why;
    bool usable;
    struct sdpa_kernel kernel[MAX_KERNELS];
    int n;
};

/* Whether the environment asks to do without the library. */
static bool is_off(void)
{
    const char *off = getenv("GT_CUDNN");

    return off && strcmp(off, "off") == 0;
}

static struct sdpa *open_sdpa(struct dev *dev)
{
    struct cuda *cuda = cuda_of(dev);
    struct sdpa *s = cuda->sdpa;

    if (s)
        return s;
    s = cuda->sdpa = xcalloc(1, sizeof *s);
    if (is_off())
        err_set(&s->why, ERR_MISSING, "GT_CUDNN is off");
    if (s->why.kind != ERR_NONE || cudnn_load(&s->api, &s->why) < 0)
        return s;
    if (s->api.create(&s->handle) != CUDNN_STATUS_SUCCESS)
        err_set(&s->why, ERR_SYSTEM, "cannot initialize cuDNN %zu on this GPU",
                s->api.version());
    else if (s->api.set_stream(s->handle, cuda->main.stream) !=
             CUDNN_STATUS_SUCCESS)
        err_set(&s->why, ERR_SYSTEM, "cuDNN %zu cannot use a stream",
                s->api.version());
    s->usable = s->why.kind == ERR_NONE;
    return s;
}

void sdpa_close(struct dev *dev)
{
    struct sdpa *s = cuda_of(dev)->sdpa;

    if (!s)
        return;
    for (int i = 0; i < s->n; i++) {
        if (s->kernel[i].execution_plan)
            s->api.destroy(s->kernel[i].execution_plan);
        if (s->kernel[i].pack)
            s->api.destroy(s->kernel[i].pack);
        sdpa_graph_clear(&s->kernel[i].graph);
    }
    if (s->handle)
        s->api.close(s->handle);
    free(s);
    cuda_of(dev)->sdpa = NULL;
}

bool sdpa_switch_off(struct dev *dev)
{
    struct sdpa *s = open_sdpa(dev);
    const bool was = s->usable;

    s->usable = false;
    err_set(&s->why, ERR_MISSING, "cuDNN is switched off");
    return was;
}

char *sdpa_describe(struct dev *dev, char *out, size_t room)
{
    const struct sdpa *s = open_sdpa(dev);

    if (s->usable)
        snprintf(out, room, "cuDNN %zu", s->api.version());
    else
        snprintf(out, room, "%s", s->why.text);
    return out;
}

/* ---- kernels ----------------------------------------------------------- */

/* The first of cuDNN's offers that it can compile.  The execution plan is made
 * with a handle of the GPU: one that is made for a description of it might not
 * run. */
static void choose_kernel(struct sdpa *s, struct sdpa_kernel *p)
{
    cudnnBackendDescriptor_t offer[8];
    const int n = sdpa_graph_offers(&p->graph, NULL, offer, 8);
    int64_t count = 0;

    if (n == 0 && !p->graph.why[0])
        snprintf(p->graph.why, sizeof p->graph.why, "it has no kernel");

    for (int i = 0; i < n && !p->usable; i++) {
        cudnnBackendDescriptor_t plan;

        if (s->api.make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan) !=
            CUDNN_STATUS_SUCCESS)
            return;
        p->usable = s->api.set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE,
                               CUDNN_TYPE_HANDLE, 1,
                               &s->handle) == CUDNN_STATUS_SUCCESS &&
                    s->api.set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                               CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                               &offer[i]) == CUDNN_STATUS_SUCCESS &&
                    s->api.finalize(plan) == CUDNN_STATUS_SUCCESS &&
                    s->api.get(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                               CUDNN_TYPE_INT64, 1, &count,
                               &p->workspace) == CUDNN_STATUS_SUCCESS;
        if (p->usable) {
            p->execution_plan = plan;
        } else {
            s->api.last_error(p->graph.why, sizeof p->graph.why);
            s->api.destroy(plan);
        }
    }
}

static void say_chosen(const struct sdpa *s, const struct sdpa_kernel *p)
{
    const char *what = p->shape.backward ? "gradient" : "forward pass";
    char name[160];

    if (p->usable)
        log_info("cuDNN's kernel for the %s of attention: %s (cuDNN %zu)", what,
                 sdpa_graph_kernel_name(&s->api, p->execution_plan, name,
                                        sizeof name),
                 s->api.version());
    else
        log_warn("cuDNN %zu is not used for the %s of attention (%s); using a "
                 "slower kernel",
                 s->api.version(), what, p->graph.why);
}

/*
 * Versions of cuDNN, from `from` to before `before`, whose attention is known
 * to be wrong or missing on GPUs of compute capability `least` to `most` (0: no
 * limit): all of it, or only the gradient, or only where T is not a multiple,
 * or at most `longest`.
 */
static const struct {
    size_t from, before;
    int least, most;
    bool gradient;
    int64_t multiple, longest;
    const char *why;
} bad[] = {
    /* cudnn-frontend: its nodes of attention, forward and backward */
    { .from = 91000,
      .before = 91002,
      .why = "this version computes attention wrongly" },
    /* TransformerEngine, fused_attn.cpp */
    { .before = 90700, .least = 100, .why = "9.7 is needed on this GPU" },
    { .before = 91801,
      .least = 120,
      .most = 129,
      .why = "9.18.1 is needed on this GPU" },
    /* cudnn-frontend issue 160 and its padding mask up to 9.15.0, which
     * TransformerEngine, fused_attn.cpp, does not use in a graph either */
    { .before = 91501,
      .gradient = true,
      .multiple = 128,
      .why = "9.15.1 is needed where the context is not a multiple of 128" },
    /* cudnn-frontend issue 1072: NaN in 9.25 and 9.26 */
    { .before = (size_t)-1,
      .gradient = true,
      .longest = 1,
      .why = "it may be NaN for one position" },
};

/* Why a version is not used for a shape, or NULL. */
static const char *known_bad(size_t version, int capability,
                             const struct sdpa_shape *s)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (version >= bad[i].from && version < bad[i].before &&
            capability >= bad[i].least &&
            (!bad[i].most || capability <= bad[i].most) &&
            (!bad[i].gradient || s->backward) &&
            (!bad[i].multiple || s->T % bad[i].multiple != 0) &&
            (!bad[i].longest || s->T <= bad[i].longest))
            return bad[i].why;
    return NULL;
}

static struct sdpa_kernel *kernel_for(struct dev *dev,
                                      const struct sdpa_shape *shape)
{
    struct sdpa *s = open_sdpa(dev);
    struct sdpa_kernel *p;
    const char *why;

    for (int i = 0; i < s->n; i++)
        if (memcmp(&s->kernel[i].shape, shape, sizeof *shape) == 0)
            return s->kernel[i].usable ? &s->kernel[i] : NULL;
    if (cuda_of(dev)->recording) {
        cuda_failed(dev, "attention", "cuDNN compiles nothing in a capture");
        return NULL;
    }
    if (s->n == MAX_KERNELS) {
        attention_say_slow(dev, "cuDNN is not used for so many shapes");
        return NULL;
    }
    p = &s->kernel[s->n++];
    p->shape = *shape;
    why = known_bad(s->api.version(), cuda_of(dev)->capability, shape);
    if (why)
        snprintf(p->graph.why, sizeof p->graph.why, "%s", why);
    else if (sdpa_graph_build(&p->graph, &s->api, s->handle, shape))
        choose_kernel(s, p);
    say_chosen(s, p);
    return p->usable ? p : NULL;
}

/* Describe the case for cuDNN; false if cuDNN is not used for it. */
static bool shape_of(struct sdpa_shape *out, const struct tensor *qkv,
                     const struct attn *a, bool backward)
{
    if (qkv->type == DT_F32 || !attn_is_plain(a))
        return false;
    memset(out, 0, sizeof *out); /* padding too: they are compared */
    out->B = tensor_rows(qkv) / a->T;
    out->H = a->H;
    out->K = a->K;
    out->T = a->T;
    out->D = a->D;
    out->bf16 = qkv->type == DT_BF16;
    out->backward = backward;
    return true;
}

/* ---- running ----------------------------------------------------------- */

struct sdpa_pointers {
    int64_t uid[SDPA_UIDS];
    void *p[SDPA_UIDS];
    int n;
};

static void bind_pointer(struct sdpa_pointers *b, enum sdpa_uid uid, void *p)
{
    b->uid[b->n] = uid;
    b->p[b->n++] = p;
}

/* False: it cannot be run, and is not used again.  What fails while work is
 * recorded is the recording. */
static bool run_kernel(struct dev *dev, struct sdpa_kernel *p,
                       const struct sdpa_pointers *b, void *workspace,
                       const char *op)
{
    struct sdpa *s = cuda_of(dev)->sdpa;
    char why[256] = "";
    bool ran;

    if (p->pack)
        s->api.destroy(p->pack);
    p->pack = NULL;
    ran = s->api.make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &p->pack) ==
              CUDNN_STATUS_SUCCESS &&
          s->api.set(p->pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
                     CUDNN_TYPE_INT64, b->n, b->uid) == CUDNN_STATUS_SUCCESS &&
          s->api.set(p->pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                     CUDNN_TYPE_VOID_PTR, b->n, b->p) == CUDNN_STATUS_SUCCESS &&
          s->api.set(p->pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
                     CUDNN_TYPE_VOID_PTR, 1,
                     &workspace) == CUDNN_STATUS_SUCCESS &&
          s->api.finalize(p->pack) == CUDNN_STATUS_SUCCESS &&
          s->api.execute(s->handle, p->execution_plan, p->pack) ==
              CUDNN_STATUS_SUCCESS;
    if (ran)
        return true;
    s->api.last_error(why, sizeof why);
    if (cuda_of(dev)->recording) {
        cuda_failed(dev, op, why);
        return true;
    }
    p->usable = false;
    log_warn("cuDNN cannot run its kernel for %s (%s); using another one", op,
             why);
    return false;
}

/* Query, key and value of a buffer of rows (H + 2 K) D. */
static void bind_qkv(struct sdpa_pointers *b, enum sdpa_uid first,
                     const struct tensor *t, const struct attn *a)
{
    char *p = t->data;
    const size_t head = (size_t)a->D * dtype_size(t->type);

    bind_pointer(b, first, p);
    bind_pointer(b, first + 1, p + (size_t)a->H * head);
    bind_pointer(b, first + 2, p + (size_t)(a->H + a->K) * head);
}

bool sdpa_fwd(struct dev *dev, struct tensor *y, struct tensor *lse,
              const struct tensor *qkv, const struct attn *a)
{
    struct sdpa *s = open_sdpa(dev);
    struct sdpa_shape shape;
    struct sdpa_pointers b = { .n = 0 };
    struct sdpa_kernel *p;
    float scale = a->scale, low = SDPA_LOW;
    void *scratch;

    if (!shape_of(&shape, qkv, a, false))
        return false;
    if (!s->usable) {
        if (!is_off())
            attention_say_slow(dev, s->why.text);
        return false;
    }
    p = kernel_for(dev, &shape);
    if (!p)
        return false;
    scratch = cuda_scratch(dev, (size_t)p->workspace + 256, "attn_fwd");
    if (!scratch)
        return true; /* the device is marked as failed */
    bind_qkv(&b, SDPA_Q, qkv, a);
    bind_pointer(&b, SDPA_O, y->data);
    bind_pointer(&b, SDPA_LSE, lse->data);
    bind_pointer(&b, SDPA_SCALE, &scale);
    bind_pointer(&b, SDPA_LOWEST, &low);
    return run_kernel(dev, p, &b, scratch, "attn_fwd");
}

bool sdpa_bwd(struct dev *dev, struct tensor *dqkv, const struct tensor *qkv,
              const struct tensor *y, const struct tensor *lse,
              const struct tensor *dy, const struct attn *a)
{
    struct sdpa *s = open_sdpa(dev);
    const size_t heads = (size_t)(tensor_rows(dy) * a->H);
    const size_t sums = (heads * sizeof(float) + 255) & ~(size_t)255;
    const size_t wide =
        (heads * (size_t)a->D * sizeof(float) + 255) & ~(size_t)255;
    struct sdpa_shape shape;
    struct sdpa_pointers b = { .n = 0 };
    struct sdpa_kernel *p;
    float scale = a->scale, low = SDPA_LOW, one = 1.0f;
    char *scratch;

    /* cuDNN adds up dq in any order, and cannot add to a gradient. */
    if (!s->usable || dev->deterministic || !dqkv->overwrite ||
        !shape_of(&shape, qkv, a, true))
        return false;
    p = kernel_for(dev, &shape);
    if (!p)
        return false;
    scratch =
        cuda_scratch(dev, sums + wide + (size_t)p->workspace + 256, "attn_bwd");
    if (!scratch)
        return true;
    bind_qkv(&b, SDPA_Q, qkv, a);
    bind_qkv(&b, SDPA_DQ, dqkv, a);
    bind_pointer(&b, SDPA_O, y->data);
    bind_pointer(&b, SDPA_DO, dy->data);
    bind_pointer(&b, SDPA_LSE, lse->data);
    bind_pointer(&b, SDPA_SUM, scratch);
    bind_pointer(&b, SDPA_WIDE_DQ, scratch + sums);
    bind_pointer(&b, SDPA_SCALE, &scale);
    bind_pointer(&b, SDPA_LOWEST, &low);
    bind_pointer(&b, SDPA_ONE, &one);
    return run_kernel(dev, p, &b, scratch + sums + wide, "attn_bwd");
}
