#pragma once

/*
 * emu_run - memory, streams and launches of the emulated device
 *
 * Included by emu.cuh.  Work given to a stream runs at once, unless
 * GT_EMU_STREAMS holds a seed: then it is queued, and runs as late as possible,
 * in a random order among those that streams and events allow.  So work that
 * lacks an event runs too early or too late, and the test fails.
 *
 * Streams are numbered as they are made; that of GT_EMU_NO_WAITS waits for no
 * event, so that a test can see that it would notice a missing one.
 *
 * The emulator knows which memory is the device's: a copy of the wrong kind, or
 * a kernel that is passed a pointer to host memory, is an error, as on a GPU.
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
    cudaErrorStreamCaptureUnjoined = 904,
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
    int numRegs, ptxVersion;
};

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlockOptin;
    int major, minor, multiProcessorCount, l2CacheSize;
    struct {
        char bytes[16];
    } uuid;
};

namespace emu
{

typedef std::function<void()> work_fn;

struct event {
    uint64_t stamp;   /* of the last record that was given */
    uint64_t reached; /* of the last one that has run */
    double when;
    bool timed;               /* created with timing */
    int device;               /* the one that its thread had chosen */
    const struct graph *kept; /* the capture it was recorded in, */
    size_t mark;              /* as this mark of it */
};

struct item {
    work_fn work; /* or: */
    event *wait;
    uint64_t stamp;
};

/* What a capture has of a stream: work, the record of a mark, or a wait. */
enum captured_kind { WORK, RECORD, WAIT };

struct captured {
    struct stream *on;
    captured_kind kind;
    work_fn work;
    size_t mark;
};

/* `side` and `marks` are those of a graph that can be launched: a stream for
 * each one that joined the capture, and an event for each mark. */
struct graph {
    struct stream *origin;
    bool spoilt; /* by a call that is invalid in a capture */
    std::vector<captured> items;
    size_t n_marks;
    std::map<struct stream *, struct stream *> side;
    std::deque<event> marks;
};

struct stream {
    std::deque<item> queue;
    int number; /* in the order in which they were made */
    graph *capture;
};

/* The state of the only device. */
struct runtime {
    std::mutex lock;
    std::map<uintptr_t, size_t> device, pinned;
    std::map<const void *, size_t> opted_in;
    std::vector<stream *> streams;
    size_t in_use, limit;
    int streams_made;
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

/* The number of GPUs that programs see; they share everything. */
inline int devices()
{
    const char *s = getenv("GT_EMU_DEVICES");

    return s ? (int)strtol(s, nullptr, 10) : 1;
}

/* The GPU that this thread has chosen. */
inline thread_local int current_device;

/* A call for something of another GPU works, and takes memory of this one. */
inline void check_device(int device)
{
    if (device == current_device)
        return;
    fprintf(stderr, "emu: a thread that chose GPU %d uses GPU %d\n",
            current_device, device);
    die();
}

inline cudaError_t error(cudaError_t code)
{
    if (code != cudaSuccess)
        rt().last = code;
    return code;
}

/* Whether work is captured.  This call then would wait or allocate memory: it
 * fails, and so will the capture. */
inline bool capturing()
{
    for (stream *s : rt().streams) {
        if (!s->capture)
            continue;
        s->capture->spoilt = true;
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

/* The default stream waits for all others and cannot be captured; here it must
 * not be used. */
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
        s->capture->items.push_back({ s, WORK, std::move(work), 0 });
    else if (rt().late)
        s->queue.push_back({ std::move(work), nullptr, 0 });
    else
        work();
}

/* Whether the stream belongs to a capture that a call has spoilt: everything
 * that it is given fails. */
inline bool invalid(stream *s)
{
    if (!of(s)->capture || !s->capture->spoilt)
        return false;
    rt().last = cudaErrorStreamCaptureInvalidated;
    return true;
}

/* N:R asks that a launch after N items of a capture fails on rank R. */
inline size_t most_captured(const char *what)
{
    const char *own = getenv("GTRAIN_RANK");
    const char *rank = what ? strchr(what, ':') : nullptr;

    if (!what || (rank && own && strcmp(rank + 1, own) != 0))
        return 0;
    return strtoul(what, nullptr, 10);
}

/* Whether the environment asks that a launch fails in a capture: always, if the
 * kernel overlaps, or after so many items; that spoils the capture. */
inline bool is_not_captured(stream *s, bool overlaps)
{
    static const char *const what = getenv("GT_EMU_NO_CAPTURE");
    static const size_t n = most_captured(what);

    if (!what || !of(s)->capture ||
        !(strcmp(what, "launches") == 0 ||
          (n && s->capture->items.size() >= n) ||
          (overlaps && strcmp(what, "overlap") == 0)))
        return false;
    s->capture->spoilt = true;
    rt().last = cudaErrorInvalidResourceHandle;
    return true;
}

/* e happens when s has done what it was given so far. */
inline void record(event *e, stream *s)
{
    const uint64_t stamp = ++rt().stamps;

    __atomic_store_n(&e->stamp, stamp, __ATOMIC_RELEASE);
    submit(s, [=] {
        e->when = now();
        __atomic_store_n(&e->reached, stamp, __ATOMIC_RELEASE);
    });
}

inline void wait_for(stream *s, event *e)
{
    static const char *const deaf = getenv("GT_EMU_NO_WAITS");

    if (rt().late && e->reached < e->stamp &&
        !(deaf && strtol(deaf, nullptr, 10) == s->number))
        s->queue.push_back({ nullptr, e, e->stamp });
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

inline stream *new_stream(int number)
{
    stream *s = new stream();

    s->number = number;
    rt().streams.push_back(s);
    return s;
}

inline void delete_stream(stream *s)
{
    drain(s);
    std::erase(rt().streams, s);
    delete s;
}

/* The capture that an event was recorded in, if it goes on. */
inline graph *capture_of(const event *e)
{
    for (stream *s : rt().streams)
        if (s->capture && s->capture == e->kept)
            return s->capture;
    return nullptr;
}

/* Whether the first stream of a capture waits for all that the others have. */
inline bool all_joined(const graph &g)
{
    std::map<const stream *, size_t> left; /* not waited for */
    std::vector<std::pair<const stream *, size_t>> at(g.n_marks);

    for (size_t i = 0; i < g.items.size(); i++) {
        const captured &c = g.items[i];

        if (c.kind == RECORD)
            at[c.mark] = { c.on, i };
        if (c.on != g.origin)
            left[c.on] = i;
        else if (c.kind == WAIT && left.count(at[c.mark].first) &&
                 left[at[c.mark].first] <= at[c.mark].second)
            left.erase(at[c.mark].first);
    }
    return left.empty();
}

template <class A> bool reachable(const A &a)
{
    if constexpr (std::is_pointer_v<A>)
        return !a || on_device((const void *)a, 1);
    return true;
}

/* Without opting in, declared arrays count towards the same 48 KiB. */
template <class F> bool room_for(F *kernel, size_t dynamic, shared_room *room)
{
    const auto it = rt().opted_in.find((const void *)kernel);
    const bool opted_in = it != rt().opted_in.end();

    *room = { dynamic, opted_in ? most_shared() : (size_t)MAX_SHARED_PLAIN };
    return dynamic <= (opted_in ? it->second : (size_t)MAX_SHARED_PLAIN);
}

/* Whether the environment asks that kernels of this name do nothing, always or
 * if they overlap. */
inline bool is_left_out(const char *name, bool overlaps)
{
    static const char *const what = getenv("GT_EMU_LEAVE_OUT");
    static const char *const early = getenv("GT_EMU_EARLY");

    return (what && *what && strstr(name, what)) ||
           (overlaps && early && *early && strstr(name, early));
}

/* What is launched is appended to the file that the environment names. */
inline void note_launch(const char *name)
{
    static FILE *const to = [] {
        const char *path = getenv("GT_EMU_LAUNCHES");
        FILE *file = path ? fopen(path, "ae") : nullptr;

        if (file)
            setlinebuf(file); /* ranks write their lines to one file */
        return file;
    }();

    if (to)
        fprintf(to, "%s\n", name);
}

/* kernel<<<grid, dim, shared, stream>>>(args...) */
template <class... P, class... A>
void launch(const char *name, dim3 grid, dim3 dim, size_t shared,
            const struct cuda_queue *queue, void (*kernel)(P...), A... args)
{
    const bool good = ((reachable<P>((P)args)) && ...);
    kernel_launch k = { name, grid, dim, {}, queue->overlaps };

    static_assert((sizeof(P) + ... + 0) <= MAX_ARGUMENTS);

    if (!good) {
        fprintf(stderr, "emu: kernel %s is passed a host pointer\n", name);
        die();
    }
    if ((uint64_t)dim.x * dim.y * dim.z > MAX_THREADS || dim.z > 64 || !dim.x ||
        !dim.y || !dim.z || !grid.x || !grid.y || !grid.z ||
        grid.x > INT32_MAX || grid.y > MAX_GRID_YZ || grid.z > MAX_GRID_YZ ||
        !room_for(kernel, shared, &k.room)) {
        error(cudaErrorInvalidConfiguration);
        return;
    }
    if (invalid((stream *)queue->stream) ||
        is_not_captured((stream *)queue->stream, queue->overlaps))
        return;
    note_launch(name);
    if (is_left_out(name, queue->overlaps))
        return;
    submit((stream *)queue->stream, [=] {
        auto body = [&] { kernel((P)args...); };

        run_grid(k, body);
    });
}

} /* namespace emu */

#define LAUNCH_NOW(kernel, grid, block, shared, queue, ...)                    \
    emu::launch(#kernel, grid, block, (size_t)(shared), queue, kernel,         \
                __VA_ARGS__)
#define DYNAMIC_SHARED(type, name) type *name = (type *)emu::dynamic_shared()
#define SHARED(type, name, count)                                              \
    type *name = (type *)emu::shared_at(&emu::site<decltype([] {})>,           \
                                        sizeof(type) * (size_t)(count))

typedef emu::stream *cudaStream_t;
typedef emu::event *cudaEvent_t;
typedef emu::graph *cudaGraph_t, *cudaGraphExec_t;

#include "emu/emu_api.cuh"
