#ifndef EMU_EMU_RUN_CUH
#define EMU_EMU_RUN_CUH

/*
 * emu_run - the part of the CUDA runtime that the device uses
 *
 * Included by emu.cuh.  Work given to a stream runs at once, unless
 * GT_EMU_STREAMS holds a seed: then it is queued, and runs as late as waiting
 * allows, in an order drawn from the seed among those that streams and events
 * leave open.  What was given without a needed event then comes too early or
 * too late, and the test fails.
 *
 * Memory of the device is known to be so: a copy whose ends lie elsewhere than
 * its kind says, or a kernel that is handed a pointer to host memory, is an
 * error here as it would be there.
 */
typedef enum {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInsufficientDriver = 35,
    cudaErrorDevicesUnavailable = 46,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorCapturedEvent = 907,
} cudaError_t;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
};

enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum cudaDeviceAttr {
    cudaDevAttrClockRate = 13,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrMemoryClockRate = 36,
    cudaDevAttrGlobalMemoryBusWidth = 37,
};

struct cudaFuncAttributes {
    int numRegs;
};

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlockOptin;
    int major, minor, multiProcessorCount, l2CacheSize;
};

namespace emu
{

typedef std::function<void()> work_fn;

struct event {
    uint64_t stamp;             /* the last record asked for */
    uint64_t reached;           /* and the last that has come */
    double when;
    bool timed;                 /* made to tell the time */
    const struct graph *kept;   /* recorded into what is captured */
};

struct item {
    work_fn work;               /* or: */
    event *wait;
    uint64_t stamp;
};

struct graph {
    std::vector<item> items;
};

struct stream {
    std::deque<item> queue;
    graph *capture;
    bool spoilt;                /* by a call that a capture does not allow */
};

/* All that the process knows of its one device. */
struct runtime {
    std::mutex lock;
    std::map<uintptr_t, size_t> device, pinned;
    std::map<const void *, size_t> opted_in;
    std::vector<stream *> streams;
    size_t in_use, limit;
    uint64_t seed, stamps;
    cudaError_t last;
    bool late;
    std::thread::id owner;
};

inline runtime &rt()
{
    static runtime *r = [] {
        runtime *n = new runtime();
        const char *s = getenv("GT_EMU_STREAMS");
        const char *m = getenv("GT_EMU_MEMORY_MB");

        n->limit = (m ? strtoul(m, nullptr, 10) : 4096ul) << 20;
        n->late = s != nullptr;
        n->owner = std::this_thread::get_id();
        if (s)
            n->seed = strtoull(s, nullptr, 10) * 2654435761u + 1;
        return n;
    }();
    return *r;
}

/* How many GPUs there seem to be; they share everything. */
inline int devices()
{
    const char *s = getenv("GT_EMU_DEVICES");

    return s ? (int)strtol(s, nullptr, 10) : 1;
}

inline cudaError_t error(cudaError_t code)
{
    if (code != cudaSuccess)
        rt().last = code;
    return code;
}

/* Work is being kept, and this call would wait or take memory: it fails, and
 * so will the capture. */
inline bool capturing()
{
    for (stream *s : rt().streams) {
        if (!s->capture)
            continue;
        s->spoilt = true;
        rt().last = cudaErrorStreamCaptureUnsupported;
        return true;
    }
    return false;
}

inline bool inside(const std::map<uintptr_t, size_t> &all, const void *p,
                   size_t n)
{
    auto it = all.upper_bound((uintptr_t)p);

    if (it == all.begin())
        return false;
    --it;
    return (uintptr_t)p + n <= it->first + it->second;
}

inline bool on_device(const void *p, size_t n)
{
    std::lock_guard<std::mutex> held(rt().lock);

    return inside(rt().device, p, n);
}

inline bool is_pinned(const void *p, size_t n)
{
    std::lock_guard<std::mutex> held(rt().lock);

    return inside(rt().pinned, p, n);
}

inline double now()
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The stream that is meant by none waits for the others, and they for it; it
 * cannot be captured: here nothing may be given to it. */
inline stream *of(stream *s)
{
    if (!s) {
        fputs("emu: work for the default stream\n", stderr);
        die();
    }
    return s;
}

inline void submit(stream *s, work_fn work)
{
    s = of(s);
    if (s->capture)
        s->capture->items.push_back({ std::move(work), nullptr, 0 });
    else if (rt().late)
        s->queue.push_back({ std::move(work), nullptr, 0 });
    else
        work();
}

inline bool blocked(const item &it)
{
    return it.wait && it.wait->reached < it.stamp;
}

/* Run what is queued until `until` is empty, or everything if it is null. */
inline void drain(stream *until)
{
    while (rt().late) {
        std::vector<stream *> busy, free;
        item it;

        if (until && until->queue.empty())
            return;
        for (stream *s : rt().streams) {
            if (s->queue.empty())
                continue;
            busy.push_back(s);
            if (!blocked(s->queue.front()))
                free.push_back(s);
        }
        if (busy.empty())
            return;
        if (free.empty()) {
            fputs("emu: every stream waits for an event\n", stderr);
            die();
        }
        stream *s = free[next_random(&rt().seed) % free.size()];

        it = std::move(s->queue.front());
        s->queue.pop_front();
        if (it.work)
            it.work();
    }
}

template <class A> bool reachable(const A &a)
{
    if constexpr (std::is_pointer_v<A>)
        return !a || on_device((const void *)a, 1);
    return true;
}

/* Without opting in, what is declared counts against the same 48 KiB. */
template <class F> bool room_for(F *kernel, size_t dynamic, shared_room *room)
{
    const auto it = rt().opted_in.find((const void *)kernel);
    const bool opted_in = it != rt().opted_in.end();

    *room = { dynamic, opted_in ? most_shared() : (size_t)MAX_SHARED_PLAIN };
    return dynamic <= (opted_in ? it->second : (size_t)MAX_SHARED_PLAIN);
}

/* kernel<<<grid, dim, shared, s>>>(args...) */
template <class... P, class... A>
void launch(const char *name, dim3 grid, dim3 dim, size_t shared, stream *s,
            void (*kernel)(P...), A... args)
{
    const bool good = ((reachable<P>((P)args)) && ...);
    shared_room room;

    static_assert((sizeof(P) + ... + 0) <= MAX_ARGUMENTS);

    if (!good) {
        fprintf(stderr, "emu: kernel %s is passed a host pointer\n", name);
        die();
    }
    if ((uint64_t)dim.x * dim.y * dim.z > MAX_THREADS || dim.z > 64 ||
        !dim.x || !dim.y || !dim.z || !grid.x || !grid.y || !grid.z ||
        grid.x > INT32_MAX || grid.y > MAX_GRID_YZ || grid.z > MAX_GRID_YZ ||
        !room_for(kernel, shared, &room)) {
        error(cudaErrorInvalidConfiguration);
        return;
    }
    submit(s, [=] {
        auto body = [&] { kernel((P)args...); };

        run_grid(name, grid, dim, room, body);
    });
}

} /* namespace emu */

#define LAUNCH_NOW(kernel, grid, block, shared, stream, ...)                   \
    emu::launch(#kernel, grid, block, (size_t)(shared), stream, kernel,        \
                __VA_ARGS__)
#define DYNAMIC_SHARED(type, name) type *name = (type *)emu::dynamic_shared()
#define SHARED(type, name, count)                                              \
    type *name = (type *)emu::shared_at(&emu::site<decltype([] {})>,           \
                                        sizeof(type) * (size_t)(count))

typedef emu::stream *cudaStream_t;
typedef emu::event *cudaEvent_t;
typedef emu::graph *cudaGraph_t, *cudaGraphExec_t;

/* ---- errors and the device --------------------------------------------- */

static inline cudaError_t cudaPeekAtLastError()
{
    return emu::rt().last;
}

static inline cudaError_t cudaGetLastError()
{
    return std::exchange(emu::rt().last, cudaSuccess);
}

static inline const char *cudaGetErrorString(cudaError_t code)
{
    switch (code) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorNotReady: return "device not ready";
    case cudaErrorDevicesUnavailable:
        return "CUDA-capable device(s) is/are busy or unavailable";
    case cudaErrorNoKernelImageForDevice:
        return "no kernel image is available for execution on the device";
    default: return "unknown error";
    }
}

static inline cudaError_t cudaGetDeviceCount(int *n)
{
    *n = emu::devices();
    return cudaSuccess;
}

static inline cudaError_t cudaSetDevice(int i)
{
    const char *busy = getenv("GT_EMU_BUSY");

    if (busy && strtol(busy, nullptr, 10) == i)
        return emu::error(cudaErrorDevicesUnavailable);
    return emu::error(i >= 0 && i < emu::devices() ? cudaSuccess
                                                   : cudaErrorInvalidDevice);
}

static inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int)
{
    *p = {};
    strncpy(p->name, "emulated GPU", sizeof p->name - 1);
    p->totalGlobalMem = emu::rt().limit;
    p->sharedMemPerBlockOptin = emu::most_shared();
    p->major = emu::capability() / 10;
    p->minor = emu::capability() % 10;
    p->multiProcessorCount = 4;
    p->l2CacheSize = 1 << 20;
    return cudaSuccess;
}

static inline cudaError_t cudaDeviceGetPCIBusId(char *s, int n, int)
{
    snprintf(s, (size_t)n, "0000:00:00.0");
    return cudaSuccess;
}

static inline cudaError_t cudaDeviceGetAttribute(int *v, cudaDeviceAttr, int)
{
    *v = 1;
    return cudaSuccess;
}

static inline cudaError_t cudaDriverGetVersion(int *v)
{
    *v = 0;
    return cudaSuccess;
}

static inline cudaError_t cudaRuntimeGetVersion(int *v)
{
    *v = 0;
    return cudaSuccess;
}

template <class F>
cudaError_t cudaFuncSetAttribute(F *kernel, int, int value)
{
    if (value < 0 || (size_t)value > emu::most_shared())
        return emu::error(cudaErrorInvalidValue);
    emu::rt().opted_in[(const void *)kernel] = (size_t)value;
    return cudaSuccess;
}

/* Kernels are compiled for 8.0 and later. */
template <class F>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *, F *)
{
    return emu::error(emu::capability() < 80 ? cudaErrorNoKernelImageForDevice
                                             : cudaSuccess);
}

/* ---- memory ------------------------------------------------------------ */

static inline cudaError_t cudaMalloc(void **p, size_t n)
{
    emu::runtime &r = emu::rt();
    std::lock_guard<std::mutex> held(r.lock);

    *p = nullptr;
    if (emu::capturing())
        return cudaErrorStreamCaptureUnsupported;
    if (n == 0)                 /* no memory, and no failure */
        return cudaSuccess;
    if (n > r.limit - r.in_use || posix_memalign(p, 256, n) != 0)
        return emu::error(cudaErrorMemoryAllocation);
    memset(*p, 0xff, n);
    r.in_use += n;
    r.device[(uintptr_t)*p] = n;
    return cudaSuccess;
}

static inline cudaError_t cudaFree(void *p)
{
    emu::runtime &r = emu::rt();

    if (!p)
        return cudaSuccess;
    if (emu::capturing())
        return cudaErrorStreamCaptureUnsupported;
    emu::drain(nullptr);
    std::lock_guard<std::mutex> held(r.lock);
    auto it = r.device.find((uintptr_t)p);

    if (it == r.device.end())
        return emu::error(cudaErrorInvalidValue);
    r.in_use -= it->second;
    r.device.erase(it);
    free(p);
    return cudaSuccess;
}

static inline cudaError_t cudaMallocHost(void **p, size_t n)
{
    emu::runtime &r = emu::rt();
    std::lock_guard<std::mutex> held(r.lock);

    if (emu::capturing())
        return cudaErrorStreamCaptureUnsupported;
    if (posix_memalign(p, 256, n) != 0)
        return emu::error(cudaErrorMemoryAllocation);
    r.pinned[(uintptr_t)*p] = n;
    return cudaSuccess;
}

static inline cudaError_t cudaFreeHost(void *p)
{
    emu::runtime &r = emu::rt();

    if (!p)
        return cudaSuccess;
    emu::drain(nullptr);
    std::lock_guard<std::mutex> held(r.lock);
    if (!r.pinned.erase((uintptr_t)p))
        return emu::error(cudaErrorInvalidValue);
    free(p);
    return cudaSuccess;
}

static inline cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    *free = emu::rt().limit - emu::rt().in_use;
    *total = emu::rt().limit;
    return cudaSuccess;
}

/* Pinned host memory is read and written when the stream comes to it; other
 * memory is read before the call returns, and written before it does. */
static inline cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t n,
                                          cudaMemcpyKind kind, cudaStream_t s)
{
    const bool from = kind == cudaMemcpyDeviceToHost ||
                      kind == cudaMemcpyDeviceToDevice;
    const bool to = kind == cudaMemcpyHostToDevice ||
                    kind == cudaMemcpyDeviceToDevice;

    if (n && (emu::on_device(src, n) != from || emu::on_device(dst, n) != to))
        return emu::error(cudaErrorInvalidValue);
    if (emu::of(s)->capture && ((!from && !emu::is_pinned(src, n)) ||
                                (!to && !emu::is_pinned(dst, n))) &&
        emu::capturing())
        return cudaErrorStreamCaptureUnsupported;
    if (from || emu::is_pinned(src, n)) {
        emu::submit(s, [=] { memcpy(dst, src, n); });
    } else {
        auto kept = std::make_shared<std::vector<char>>(
            (const char *)src, (const char *)src + n);

        emu::submit(s, [=] { memcpy(dst, kept->data(), n); });
    }
    if (kind == cudaMemcpyDeviceToHost && !emu::is_pinned(dst, n))
        emu::drain(emu::of(s));
    return cudaSuccess;
}

static inline cudaError_t cudaMemsetAsync(void *dst, int v, size_t n,
                                          cudaStream_t s)
{
    if (n && !emu::on_device(dst, n))
        return emu::error(cudaErrorInvalidValue);
    emu::submit(s, [=] { memset(dst, v, n); });
    return cudaSuccess;
}

/* ---- streams and events ------------------------------------------------ */

static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned)
{
    *s = new emu::stream();
    emu::rt().streams.push_back(*s);
    return cudaSuccess;
}

static inline cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    emu::drain(s);
    std::erase(emu::rt().streams, s);
    delete s;
    return cudaSuccess;
}

static inline cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    if (emu::capturing())
        return cudaErrorStreamCaptureUnsupported;
    emu::drain(emu::of(s));
    return cudaPeekAtLastError();
}

static inline cudaError_t cudaDeviceSynchronize()
{
    if (emu::capturing())
        return cudaErrorStreamCaptureUnsupported;
    emu::drain(nullptr);
    return cudaPeekAtLastError();
}

static inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e,
                                                   unsigned flags)
{
    *e = new emu::event();
    (*e)->timed = !(flags & cudaEventDisableTiming);
    return cudaSuccess;
}

static inline cudaError_t cudaEventCreate(cudaEvent_t *e)
{
    return cudaEventCreateWithFlags(e, 0);
}

static inline cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    emu::drain(nullptr);
    delete e;
    return cudaSuccess;
}

static inline cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    const uint64_t stamp = ++emu::rt().stamps;

    __atomic_store_n(&e->stamp, stamp, __ATOMIC_RELEASE);
    e->kept = emu::of(s)->capture;
    emu::submit(s, [=] {
        e->when = emu::now();
        __atomic_store_n(&e->reached, stamp, __ATOMIC_RELEASE);
    });
    return cudaSuccess;
}

/* What is asked about an event while work is captured, or about one that was
 * captured, fails; so will the capture. */
static inline cudaError_t event_error(cudaEvent_t e)
{
    if (emu::capturing())
        return cudaErrorStreamCaptureUnsupported;
    return e->kept ? emu::error(cudaErrorCapturedEvent) : cudaSuccess;
}

/* Who asks has time to spare: all that was given gets done meanwhile, unless
 * it is another thread than the one that gave it. */
static inline cudaError_t cudaEventQuery(cudaEvent_t e)
{
    const bool ours = std::this_thread::get_id() == emu::rt().owner;

    if (ours && event_error(e) != cudaSuccess)
        return event_error(e);
    if (ours && e->reached < e->stamp)
        emu::drain(nullptr);
    return __atomic_load_n(&e->reached, __ATOMIC_ACQUIRE) <
                   __atomic_load_n(&e->stamp, __ATOMIC_ACQUIRE)
               ? cudaErrorNotReady
               : cudaSuccess;
}

static inline cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    if (event_error(e) != cudaSuccess)
        return event_error(e);
    if (e->reached < e->stamp)
        emu::drain(nullptr);
    return cudaSuccess;
}

static inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t a,
                                               cudaEvent_t b)
{
    if (!a->timed || !b->timed || !a->stamp || !b->stamp)
        return emu::error(cudaErrorInvalidResourceHandle);
    if (a->reached < a->stamp || b->reached < b->stamp)
        return emu::error(cudaErrorNotReady);
    *ms = (float)(1e3 * (b->when - a->when));
    return cudaSuccess;
}

/* A capture must not wait for what is not part of it.  What is part of it
 * draws other streams in, which then have to come back: that is not emulated,
 * so it is refused too. */
static inline cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e,
                                              unsigned)
{
    s = emu::of(s);
    if (e->kept != s->capture) {
        emu::capturing();
        return emu::error(cudaErrorStreamCaptureUnsupported);
    }
    if (!s->capture && emu::rt().late && e->reached < e->stamp)
        s->queue.push_back({ nullptr, e, e->stamp });
    return cudaSuccess;
}

/* ---- graphs: work kept, to be given again ------------------------------ */

static inline cudaError_t cudaStreamBeginCapture(cudaStream_t s,
                                                 cudaStreamCaptureMode)
{
    if (emu::of(s)->capture)
        return emu::error(cudaErrorStreamCaptureUnsupported);
    emu::of(s)->capture = new emu::graph();
    emu::of(s)->spoilt = false;
    return cudaSuccess;
}

static inline cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g)
{
    *g = std::exchange(emu::of(s)->capture, nullptr);
    if (*g && emu::of(s)->spoilt) {
        delete std::exchange(*g, nullptr);
        return emu::error(cudaErrorStreamCaptureInvalidated);
    }
    return *g ? cudaSuccess : emu::error(cudaErrorInvalidValue);
}

static inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *x,
                                               cudaGraph_t g, unsigned)
{
    *x = new emu::graph(*g);
    return cudaSuccess;
}

static inline cudaError_t cudaGraphLaunch(cudaGraphExec_t x, cudaStream_t s)
{
    for (const emu::item &it : x->items)
        emu::submit(s, it.work);
    return cudaSuccess;
}

static inline cudaError_t cudaGraphDestroy(cudaGraph_t g)
{
    delete g;
    return cudaSuccess;
}

static inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t x)
{
    delete x;
    return cudaSuccess;
}

#endif
