/*
 * device - the GPU as a device: memory, copies, failures, streams, graphs
 *
 * Copies between host and device go through pinned memory, so that neither
 * put() nor a small get() waits for the device: put() uses the next of a few
 * slots, waiting only if the copy from it is not done; get() copies to a
 * buffer, which sync() copies from.
 */
#include "config.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/sdpa.h"

#include "common/mem.h"
#include "kernels/gpus.h"

#include <stdio.h>

static void fill_table(struct ops *ops)
{
    ops->name = "cuda";
#define FILL(op) ops->op = cuda_##op;
    OPS(FILL)
#undef FILL
}

enum {
    SLOTS = 8,
    SLOT = 1 << 20,         /* bytes */
    RETURNS = 4096,         /* small gets between two syncs */
    RETURN_SIZE = 16 << 20, /* the losses of many micro-batches */
};

struct cuda_stage {
    char *out; /* SLOTS of SLOT, to the device */
    cudaEvent_t free[SLOTS];
    int slot;
    char *back;      /* RETURN_SIZE, from it */
    cudaEvent_t got; /* the last of what is in it */
    size_t used;
    int n;
    struct {
        void *host;
        size_t from, n;
    } to[RETURNS];
};

struct dev_capture {
    cudaGraphExec_t exec;
};

void cuda_failed(struct dev *dev, const char *op, const char *why)
{
    if (dev->failed)
        return;
    dev->failed = 1;
    dev->failed_op = op;
    snprintf(cuda_of(dev)->why, sizeof cuda_of(dev)->why, "%.159s", why);
}

/* ---- memory ------------------------------------------------------------ */

static void *device_alloc(struct dev *dev, size_t n, struct err *e)
{
    size_t free = 0, total = 0;
    void *p = nullptr;
    const cudaError_t code = cudaMalloc(&p, n ? n : 1);

    if (code == cudaSuccess)
        return p;
    cudaGetLastError();
    cudaMemGetInfo(&free, &total);
    err_set(e, ERR_SYSTEM,
            "cuda: cannot allocate %.2f GiB: %.2f GiB are in use here, and "
            "%.2f GiB are free: %s",
            (double)n / 0x1p30, (double)dev->memory.reserved / 0x1p30,
            (double)free / 0x1p30, cudaGetErrorString(code));
    return nullptr;
}

static void device_free(struct dev *dev, void *p)
{
    must(dev, "free", cudaFree(p)); /* waits for work that uses it */
}

void *cuda_alloc(struct dev *dev, size_t n, enum dev_use use, const char *op)
{
    struct err e = {};
    void *p = dev_alloc(dev, n, use, &e);

    if (!p)
        cuda_failed(dev, op, e.text + strlen("cuda: "));
    return p;
}

void *cuda_scratch(struct dev *dev, size_t n, const char *op)
{
    struct cuda_queue *q = cuda_of(dev)->now;

    if (n <= q->scratch_size)
        return q->scratch;
    if (cuda_of(dev)->recording) { /* recorded work has the old address */
        cuda_failed(dev, op, "scratch memory cannot grow in a CUDA graph");
        return nullptr;
    }
    n = (n + ((2 << 20) - 1)) & ~(size_t)((2 << 20) - 1);
    if (!cuda_of(dev)->captures) /* they may have the old address */
        dev_free(dev, q->scratch);
    q->scratch = cuda_alloc(dev, n, DEV_SCRATCH, op);
    q->scratch_size = q->scratch ? n : 0;
    return q->scratch;
}

/* ---- copies ------------------------------------------------------------ */

static void device_put(struct dev *dev, void *dst, const void *host, size_t n)
{
    struct cuda_stage *s = cuda_of(dev)->stage;

    for (size_t done = 0; done < n; done += SLOT) {
        const size_t part = n - done < SLOT ? n - done : (size_t)SLOT;
        char *slot = s->out + (size_t)s->slot * SLOT;

        must(dev, "put", cudaEventSynchronize(s->free[s->slot]));
        memcpy(slot, (const char *)host + done, part);
        must(dev, "put",
             cudaMemcpyAsync((char *)dst + done, slot, part,
                             cudaMemcpyHostToDevice, STREAM(dev)));
        must(dev, "put", cudaEventRecord(s->free[s->slot], STREAM(dev)));
        s->slot = (s->slot + 1) % SLOTS;
    }
}

static void device_get(struct dev *dev, void *host, const void *src, size_t n)
{
    struct cuda_stage *s = cuda_of(dev)->stage;
    void *to = host;

    if (n <= RETURN_SIZE - s->used && s->n < RETURNS) {
        to = s->back + s->used;
        s->to[s->n++] = { host, s->used, n };
        s->used += n;
    }
    must(dev, "get",
         cudaMemcpyAsync(to, src, n, cudaMemcpyDeviceToHost, STREAM(dev)));
    must(dev, "get", cudaEventRecord(s->got, STREAM(dev)));
}

static void device_copy(struct dev *dev, void *dst, const void *src, size_t n)
{
    must(dev, "copy",
         cudaMemcpyAsync(dst, src, n, cudaMemcpyDeviceToDevice, STREAM(dev)));
}

static void device_zero(struct dev *dev, void *dst, size_t n)
{
    must(dev, "zero", cudaMemsetAsync(dst, 0, n, STREAM(dev)));
}

/* Wait for the copies of get(), hand them over, and report a failure. */
static int finish_wait(struct dev *dev, cudaError_t waited, struct err *e)
{
    struct cuda *cuda = cuda_of(dev);
    struct cuda_stage *s = cuda->stage;

    must(dev, "an earlier kernel or copy", waited);
    for (int i = 0; i < s->n; i++)
        memcpy(s->to[i].host, s->back + s->to[i].from, s->to[i].n);
    s->n = 0;
    s->used = 0;
    if (!dev->failed)
        return 0;
    dev->failed = 0;
    return err_set(e, ERR_SYSTEM, "cuda: %s: %s%s", dev->failed_op, cuda->why,
                   cuda->careful ? ""
                                 : "; set GT_CUDA_CAREFUL=1 to find which");
}

static int device_sync(struct dev *dev, struct err *e)
{
    return finish_wait(dev, cudaStreamSynchronize(STREAM(dev)), e);
}

static int device_receive(struct dev *dev, struct err *e)
{
    return finish_wait(dev, cudaEventSynchronize(cuda_of(dev)->stage->got), e);
}

/* ---- time -------------------------------------------------------------- */

static void device_mark(struct dev *dev, int i)
{
    cudaEvent_t *e = (cudaEvent_t *)&cuda_of(dev)->mark[i];

    assert(i >= 0 && i < DEV_MARKS);
    if (!*e)
        must(dev, "mark", cudaEventCreate(e));
    must(dev, "mark", cudaEventRecord(*e, STREAM(dev)));
}

static double device_between(struct dev *dev, int i, int j)
{
    const cudaEvent_t a = (cudaEvent_t)cuda_of(dev)->mark[i];
    const cudaEvent_t b = (cudaEvent_t)cuda_of(dev)->mark[j];
    float ms = 0;

    if (!a || !b || cudaEventQuery(a) != cudaSuccess ||
        cudaEventQuery(b) != cudaSuccess ||
        cudaEventElapsedTime(&ms, a, b) != cudaSuccess) {
        cudaGetLastError(); /* clears "not ready" */
        return -1.0;
    }
    return (double)ms / 1e3;
}

/* ---- streams beside the first ------------------------------------------ */

/*
 * Gradients of weights have one.  The product that makes a weight's gradient
 * has few tiles of output, and the one that makes its input's gradient seldom
 * fills the last wave of its blocks.  Neither needs the other, so they share
 * the GPU.  The order of the sums in each is the same as without this.
 *
 * Collectives have another, dev.h's second stream, which is opened when first
 * used.  Its queue has no workspace.
 */
static void new_event(struct dev *dev, void **event)
{
    must(
        dev, "side stream",
        cudaEventCreateWithFlags((cudaEvent_t *)event, cudaEventDisableTiming));
}

static void side_open(struct dev *dev, struct cuda_side *s)
{
    must(dev, "side stream",
         cudaStreamCreateWithFlags((cudaStream_t *)&s->queue.stream,
                                   cudaStreamNonBlocking));
    new_event(dev, &s->given);
    for (void *&done : s->done)
        new_event(dev, &done);
}

extern "C" void *cuda_side_begin(struct dev *dev, struct cuda_side *s)
{
    const cudaEvent_t given = (cudaEvent_t)s->given;
    const cudaStream_t stream = (cudaStream_t)s->queue.stream;

    must(dev, "side stream", cudaEventRecord(given, STREAM(dev)));
    must(dev, "side stream", cudaStreamWaitEvent(stream, given, 0));
    if (cuda_of(dev)->recording && dev->failed)
        return nullptr; /* that stream is not recorded: it would do the work */
    cuda_of(dev)->now = &s->queue;
    return stream;
}

extern "C" void cuda_side_end(struct dev *dev, struct cuda_side *s, int i)
{
    must(dev, "side stream",
         cudaEventRecord((cudaEvent_t)s->done[i], STREAM(dev)));
    cuda_of(dev)->now = &cuda_of(dev)->main;
}

extern "C" void cuda_side_wait(struct dev *dev, struct cuda_side *s, int i)
{
    must(dev, "side stream",
         cudaStreamWaitEvent(STREAM(dev), (cudaEvent_t)s->done[i], 0));
}

static void side_close(struct cuda_side *s)
{
    if (!s->queue.stream)
        return;
    cudaStreamDestroy((cudaStream_t)s->queue.stream);
    cudaEventDestroy((cudaEvent_t)s->given);
    for (void *done : s->done)
        cudaEventDestroy((cudaEvent_t)done);
}

static struct cuda_side *second_of(struct dev *dev)
{
    struct cuda_side *s = &cuda_of(dev)->second;

    if (!s->queue.stream)
        side_open(dev, s);
    return s;
}

static void *second_stream_begin(struct dev *dev)
{
    return cuda_side_begin(dev, second_of(dev));
}

static void second_stream_end(struct dev *dev, int i)
{
    cuda_side_end(dev, second_of(dev), i);
}

static void second_stream_wait(struct dev *dev, int i)
{
    cuda_side_wait(dev, second_of(dev), i);
}

/* Another thread may ask, which has chosen no GPU yet: without a choice its
 * calls would take memory of the first one.  It must not mark the device as
 * failed; the next call that waits for the device reports the failure. */
static bool second_stream_done(struct dev *dev, int i)
{
    cudaError_t code = cudaSetDevice(cuda_of(dev)->index);

    if (code == cudaSuccess)
        code = cudaEventQuery((cudaEvent_t)second_of(dev)->done[i]);
    if (code != cudaSuccess)
        cudaGetLastError(); /* clears "not ready" */
    return code != cudaErrorNotReady;
}

/* ---- graphs ------------------------------------------------------------ */

static int device_capture_begin(struct dev *dev, struct err *e)
{
    const cudaError_t code =
        cudaStreamBeginCapture(STREAM(dev), cudaStreamCaptureModeThreadLocal);

    if (code != cudaSuccess) {
        cudaGetLastError();
        return err_set(e, ERR_SYSTEM, "cuda: capture_begin: %s",
                       cudaGetErrorString(code));
    }
    cuda_of(dev)->failed_before = dev->failed;
    cuda_of(dev)->recording = true;
    return 0;
}

static struct dev_capture *device_capture_end(struct dev *dev, struct err *e)
{
    struct cuda *cuda = cuda_of(dev);
    struct dev_capture *g = (struct dev_capture *)xcalloc(1, sizeof *g);
    const bool failed = dev->failed && !cuda->failed_before;
    cudaGraph_t graph = nullptr;
    cudaError_t code;

    cuda->recording = false;
    code = cudaStreamEndCapture(STREAM(dev), &graph);
    if (code == cudaSuccess && !failed)
        code = cudaGraphInstantiate(&g->exec, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    if (code == cudaSuccess && !failed) {
        cuda->captures++;
        return g;
    }
    cudaGetLastError();
    free(g);
    err_set(e, ERR_SYSTEM, "cuda: %s: %s",
            failed ? dev->failed_op : "capture_end",
            failed ? cuda->why : cudaGetErrorString(code));
    if (failed) /* the recording failed, not the work */
        dev->failed = 0;
    return nullptr;
}

static void device_capture_run(struct dev *dev, struct dev_capture *g)
{
    must(dev, "capture_run", cudaGraphLaunch(g->exec, STREAM(dev)));
}

static void device_capture_free(struct dev *dev, struct dev_capture *g)
{
    if (g) {
        must(dev, "capture_free", cudaGraphExecDestroy(g->exec));
        cuda_of(dev)->captures--;
    }
    free(g);
}

/* ---- the device -------------------------------------------------------- */

static char *device_describe(struct dev *dev, char *out, size_t room)
{
    const struct cuda *cuda = cuda_of(dev);
    char cublaslt[128], sdpa[128];

    snprintf(out, room,
             "%s, compute capability %d.%d, %d multiprocessors, %.1f GiB; "
             "%s; %s",
             cuda->name, cuda->capability / 10, cuda->capability % 10,
             cuda->sms, (double)dev->memory.total / 0x1p30,
             gemm_describe(dev, cublaslt, sizeof cublaslt),
             sdpa_describe(dev, sdpa, sizeof sdpa));
    return out;
}

static double device_peak(const struct dev *dev, enum dtype type)
{
    const struct cuda *cuda = cuda_of(dev);

    for (const struct gpu *g = gpu_table; g->name; g++) {
        const double share = gpu_share(g, cuda->name, cuda->sms);

        if (share > 0)
            return 1e12 * share *
                   (type != DT_F32 ? g->half
                    : dev->tf32    ? g->tf32
                                   : g->f32);
    }
    return 0.0;
}

/* No device, ERR_MISSING, or one that cannot be used, ERR_SYSTEM. */
static int no_device(struct err *e, cudaError_t code)
{
    int has = 0, needs = 0;

    cudaGetLastError();
    if (code == cudaErrorInsufficientDriver &&
        cudaDriverGetVersion(&has) == cudaSuccess &&
        cudaRuntimeGetVersion(&needs) == cudaSuccess)
        return has == 0 ? err_set(e, ERR_MISSING,
                                  "no CUDA device: the driver is not installed")
                        : err_set(e, ERR_SYSTEM,
                                  "no CUDA device: the driver supports CUDA "
                                  "%d.%d, but %d.%d is needed",
                                  has / 1000, has % 1000 / 10, needs / 1000,
                                  needs % 1000 / 10);
    return err_set(e, code == cudaErrorNoDevice ? ERR_MISSING : ERR_SYSTEM,
                   "no CUDA device: %s", cudaGetErrorString(code));
}

/* What tells this GPU from others of its model, and the driver from others. */
static void set_unit(struct dev *dev, const struct cudaDeviceProp *prop)
{
    int driver = 0;
    size_t at = 0;

    cudaDriverGetVersion(&driver);
    for (const char c : prop->uuid.bytes)
        at += (size_t)snprintf(dev->unit + at, sizeof dev->unit - at, "%02x",
                               (unsigned char)c);
    snprintf(dev->unit + at, sizeof dev->unit - at, ", driver %d", driver);
}

/* Kernels that are compiled for an older GPU do not wait in begin_kernel(), and
 * with a driver before CUDA 12.3 a graph cannot have launches that overlap. */
enum { OVERLAP_CAPABILITY = 90, OVERLAP_DRIVER = 12030 };

/* Any kernel, to check whether kernels were compiled for this GPU or the driver
 * can compile them: all are compiled in the same way. */
static __global__ void any_kernel()
{
    begin_kernel();
}

static int check_kernels(const struct cudaDeviceProp *prop, int index,
                         bool *overlap, struct err *e)
{
    struct cudaFuncAttributes of;
    const cudaError_t code = cudaFuncGetAttributes(&of, any_kernel);
    int driver = 0;

    if (code == cudaSuccess) {
        *overlap = of.ptxVersion >= OVERLAP_CAPABILITY &&
                   cudaDriverGetVersion(&driver) == cudaSuccess &&
                   driver >= OVERLAP_DRIVER;
        return 0;
    }
    cudaGetLastError();
    if (prop->major * 10 < GPU_CAPABILITY)
        return err_set(e, ERR_SYSTEM,
                       "cuda:%d, %.64s, has compute capability %d.%d, and 8.0 "
                       "is needed",
                       index, prop->name, prop->major, prop->minor);
    return err_set(e, ERR_SYSTEM,
                   "cuda:%d, %.64s of compute capability %d.%d: %s; "
                   "configure with CUDA_ARCH=%d%d to build for it",
                   index, prop->name, prop->major, prop->minor,
                   cudaGetErrorString(code), prop->major, prop->minor);
}

enum { FP8_CAPABILITY = 89 };

static int check_fp8(const struct cudaDeviceProp *prop, int index,
                     struct err *e)
{
    if (prop->major * 10 + prop->minor >= FP8_CAPABILITY)
        return 0;
    return err_set(e, ERR_USAGE,
                   "cuda:%d, %.64s of compute capability %d.%d, cannot "
                   "multiply fp8, which needs 8.9 or higher; set train.fp8 = "
                   "off",
                   index, prop->name, prop->major, prop->minor);
}

static struct cuda_stage *new_stage(void)
{
    struct cuda_stage *s = (struct cuda_stage *)xcalloc(1, sizeof *s);

    if (cudaMallocHost((void **)&s->out, (size_t)SLOTS * SLOT) != cudaSuccess ||
        cudaMallocHost((void **)&s->back, RETURN_SIZE) != cudaSuccess) {
        cudaFreeHost(s->out);
        free(s);
        return nullptr;
    }
    for (int i = 0; i < SLOTS; i++)
        cudaEventCreateWithFlags(&s->free[i], cudaEventDisableTiming);
    cudaEventCreateWithFlags(&s->got, cudaEventDisableTiming);
    return s;
}

static void free_stage(struct cuda_stage *s)
{
    if (!s)
        return;
    for (int i = 0; i < SLOTS; i++)
        cudaEventDestroy(s->free[i]);
    cudaEventDestroy(s->got);
    cudaFreeHost(s->out);
    cudaFreeHost(s->back);
    free(s);
}

static bool device_overlap(struct dev *dev, bool on)
{
    struct cuda *cuda = cuda_of(dev);
    const bool was = cuda->main.overlaps;

    cuda->main.overlaps = on;
    cuda->weights.queue.overlaps = on;
    return was;
}

static void device_close(struct dev *dev)
{
    struct cuda *cuda = cuda_of(dev);

    if (!cuda)
        return;
    side_close(&cuda->second);
    gemm_close(dev);
    sdpa_close(dev);
    side_close(&cuda->weights);
    free_stage(cuda->stage);
    for (int i = 0; i < DEV_MARKS; i++)
        if (cuda->mark[i])
            cudaEventDestroy((cudaEvent_t)cuda->mark[i]);
    cudaStreamDestroy((cudaStream_t)cuda->main.stream);
    free(cuda);
    dev->state = nullptr;
}

static int device_open(struct dev *dev, struct err *e)
{
    struct cudaDeviceProp prop;
    const char *careful = getenv("GT_CUDA_CAREFUL");
    const char *off = getenv("GT_OVERLAP");
    bool overlap = false;
    cudaStream_t stream;
    cudaError_t code;
    struct cuda *cuda;
    int n = 0;

    if ((code = cudaGetDeviceCount(&n)) != cudaSuccess)
        return no_device(e, code);
    if (n == 0)
        return no_device(e, cudaErrorNoDevice);
    if (dev->index >= n)
        return err_set(e, ERR_USAGE, "no device cuda:%d: there %s %d",
                       dev->index, n == 1 ? "is" : "are", n);
    if ((code = cudaSetDevice(dev->index)) != cudaSuccess ||
        (code = cudaGetDeviceProperties(&prop, dev->index)) != cudaSuccess ||
        (code = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)) !=
            cudaSuccess) {
        cudaGetLastError(); /* or the next device would seem to fail */
        return err_set(e, ERR_SYSTEM, "cannot use cuda:%d: %s", dev->index,
                       cudaGetErrorString(code));
    }
    if (check_kernels(&prop, dev->index, &overlap, e) < 0 ||
        (dev->fp8 && check_fp8(&prop, dev->index, e) < 0)) {
        cudaStreamDestroy(stream);
        return -1;
    }
    cuda = (struct cuda *)xcalloc(1, sizeof *cuda);
    cuda->main.stream = stream;
    cuda->now = &cuda->main;
    cuda->index = dev->index;
    cuda->sms = prop.multiProcessorCount;
    cuda->capability = prop.major * 10 + prop.minor;
    cuda->shared_max = prop.sharedMemPerBlockOptin;
    cuda->cache = (size_t)prop.l2CacheSize;
    dev->memory.total = prop.totalGlobalMem;
    cuda->careful = careful && *careful && *careful != '0';
    snprintf(cuda->name, sizeof cuda->name, "%.*s", (int)sizeof cuda->name - 1,
             prop.name);
    dev->state = cuda;
    fill_table(&cuda->ops);
    dev->ops = &cuda->ops;
    if (cudaDeviceGetPCIBusId(dev->address, sizeof dev->address, dev->index) !=
        cudaSuccess)
        dev->address[0] = '\0';
    set_unit(dev, &prop);
    side_open(dev, &cuda->weights);
    device_overlap(dev, overlap && !(off && strcmp(off, "off") == 0));
    cuda->stage = new_stage();
    if (!cuda->stage) {
        device_close(dev);
        return err_set(e, ERR_SYSTEM,
                       "cuda: cannot allocate pinned host memory");
    }
    return 0;
}

const struct dev_type cuda_dev = {
    .name = "cuda",
    .open = device_open,
    .close = device_close,
    .alloc = device_alloc,
    .free = device_free,
    .put = device_put,
    .get = device_get,
    .copy = device_copy,
    .zero = device_zero,
    .sync = device_sync,
    .receive = device_receive,
    .describe = device_describe,
    .any_size = false,
    .peak = device_peak,
    .instructions = NULL,
    .own_attention = sdpa_switch_off,
    .overlap = device_overlap,
    .mark = device_mark,
    .between = device_between,
    .capture_begin = device_capture_begin,
    .capture_end = device_capture_end,
    .capture_run = device_capture_run,
    .capture_free = device_capture_free,
    .second_stream_begin = second_stream_begin,
    .second_stream_end = second_stream_end,
    .second_stream_wait = second_stream_wait,
    .second_stream_done = second_stream_done,
};
