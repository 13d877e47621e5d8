#pragma once

/*
 * emu_api - the functions of the CUDA runtime that the device calls
 *
 * Included by emu_run.cuh.
 */

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
    case cudaSuccess:
        return "no error";
    case cudaErrorInvalidValue:
        return "invalid argument";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInvalidConfiguration:
        return "invalid configuration argument";
    case cudaErrorNoDevice:
        return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
        return "invalid device ordinal";
    case cudaErrorNotReady:
        return "device not ready";
    case cudaErrorDevicesUnavailable:
        return "CUDA-capable device(s) is/are busy or unavailable";
    case cudaErrorNoKernelImageForDevice:
        return "no kernel image is available for execution on the device";
    case cudaErrorInvalidResourceHandle:
        return "invalid resource handle";
    case cudaErrorStreamCaptureUnsupported:
        return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
        return "operation failed due to a previous error during capture";
    default:
        return "unknown error";
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
    if (i < 0 || i >= emu::devices())
        return emu::error(cudaErrorInvalidDevice);
    emu::current_device = i;
    return cudaSuccess;
}

static inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int i)
{
    *p = {};
    p->uuid.bytes[15] = (char)i;
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
    const char *s = getenv("GT_EMU_DRIVER");

    *v = s ? (int)strtol(s, nullptr, 10) : 13000;
    return cudaSuccess;
}

static inline cudaError_t cudaRuntimeGetVersion(int *v)
{
    *v = 0;
    return cudaSuccess;
}

template <class F> cudaError_t cudaFuncSetAttribute(F *kernel, int, int value)
{
    if (value < 0 || (size_t)value > emu::most_shared())
        return emu::error(cudaErrorInvalidValue);
    emu::rt().opted_in[(const void *)kernel] = (size_t)value;
    return cudaSuccess;
}

/* Kernels are compiled for 8.0 and later. */
template <class F>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *of, F *)
{
    of->ptxVersion = emu::capability();
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
    if (n == 0) /* no memory, and no failure */
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

/* Pinned host memory is read and written when the stream runs the copy; other
 * host memory is read and written before the call returns. */
static inline cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t n,
                                          cudaMemcpyKind kind, cudaStream_t s)
{
    const bool from =
        kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    const bool to =
        kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;

    if (n && (emu::on_device(src, n) != from || emu::on_device(dst, n) != to))
        return emu::error(cudaErrorInvalidValue);
    if (emu::invalid(s))
        return cudaErrorStreamCaptureInvalidated;
    if (emu::of(s)->capture &&
        ((!from && !emu::is_pinned(src, n)) ||
         (!to && !emu::is_pinned(dst, n))) &&
        emu::capturing())
        return cudaErrorStreamCaptureUnsupported;
    if (from || emu::is_pinned(src, n)) {
        emu::submit(s, [=] { memcpy(dst, src, n); });
    } else {
        auto kept = std::make_shared<std::vector<char>>((const char *)src,
                                                        (const char *)src + n);

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
    if (emu::invalid(s))
        return cudaErrorStreamCaptureInvalidated;
    emu::submit(s, [=] { memset(dst, v, n); });
    return cudaSuccess;
}

/* ---- streams and events ------------------------------------------------ */

static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned)
{
    *s = emu::new_stream(emu::rt().streams_made++);
    return cudaSuccess;
}

static inline cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    emu::delete_stream(s);
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
    (*e)->device = emu::current_device;
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
    emu::graph *capture = emu::of(s)->capture;

    if (emu::invalid(s))
        return cudaErrorStreamCaptureInvalidated;
    __atomic_store_n(&e->kept, capture, __ATOMIC_RELEASE);
    if (!capture) {
        emu::record(e, s);
        return cudaSuccess;
    }
    e->mark = capture->n_marks++;
    capture->items.push_back({ s, emu::RECORD, {}, e->mark });
    return cudaSuccess;
}

/* A query of an event during a capture, or of an event that was captured,
 * fails, and so will the capture. */
static inline cudaError_t event_error(cudaEvent_t e)
{
    if (emu::capturing())
        return cudaErrorStreamCaptureUnsupported;
    return e->kept ? emu::error(cudaErrorCapturedEvent) : cudaSuccess;
}

/* All queued work runs first, unless another thread than the one that queued it
 * asks. */
static inline cudaError_t cudaEventQuery(cudaEvent_t e)
{
    const bool ours = std::this_thread::get_id() == emu::rt().owner;

    emu::check_device(e->device);
    if (!ours && __atomic_load_n(&e->kept, __ATOMIC_ACQUIRE)) {
        fputs("emu: a thread asks about an event of a capture\n", stderr);
        emu::die();
    }
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
    *ms = getenv("GT_EMU_TIMELESS") ? 1 : (float)(1e3 * (b->when - a->when));
    return cudaSuccess;
}

/* A captured stream must not wait for an event outside the capture; another one
 * that waits for an event inside it joins the capture. */
static inline cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e,
                                              unsigned)
{
    emu::graph *capture = emu::capture_of(e);

    s = emu::of(s);
    if (emu::invalid(s))
        return cudaErrorStreamCaptureInvalidated;
    if (e->kept && capture && !s->capture)
        s->capture = capture;
    if (e->kept != s->capture) {
        emu::capturing();
        return emu::error(cudaErrorStreamCaptureUnsupported);
    }
    if (capture)
        capture->items.push_back({ s, emu::WAIT, {}, e->mark });
    else
        emu::wait_for(s, e);
    return cudaSuccess;
}

/* ---- graphs ------------------------------------------------------------ */

static inline cudaError_t cudaStreamBeginCapture(cudaStream_t s,
                                                 cudaStreamCaptureMode)
{
    const char *no = getenv("GT_EMU_NO_CAPTURE");

    if (emu::of(s)->capture || (no && strcmp(no, "begin") == 0))
        return emu::error(cudaErrorStreamCaptureUnsupported);
    s->capture = new emu::graph();
    s->capture->origin = s;
    return cudaSuccess;
}

static inline cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g)
{
    bool joined, spoilt;

    *g = emu::of(s)->capture;
    if (!*g)
        return emu::error(cudaErrorInvalidValue);
    spoilt = (*g)->spoilt;
    joined = emu::all_joined(**g);
    for (emu::stream *other : emu::rt().streams)
        if (other->capture == *g)
            other->capture = nullptr;
    if (!spoilt && joined)
        return cudaSuccess;
    delete std::exchange(*g, nullptr);
    return emu::error(spoilt ? cudaErrorStreamCaptureInvalidated
                             : cudaErrorStreamCaptureUnjoined);
}

static inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *x,
                                               cudaGraph_t g, unsigned)
{
    *x = new emu::graph(*g);
    (*x)->marks.resize(g->n_marks);
    for (const emu::captured &c : g->items)
        if (c.on != g->origin && !(*x)->side.count(c.on))
            (*x)->side[c.on] = emu::new_stream(c.on->number);
    return cudaSuccess;
}

static inline cudaError_t cudaGraphLaunch(cudaGraphExec_t x, cudaStream_t s)
{
    const size_t n = x->items.size() / (getenv("GT_EMU_SHORT_GRAPHS") ? 2 : 1);

    emu::note_launch("graph");
    for (size_t i = 0; i < n; i++) {
        const emu::captured &c = x->items[i];
        emu::stream *on = c.on == x->origin ? s : x->side[c.on];

        if (c.kind == emu::RECORD)
            emu::record(&x->marks[c.mark], on);
        else if (c.kind == emu::WAIT)
            emu::wait_for(on, &x->marks[c.mark]);
        else
            emu::submit(on, c.work);
    }
    return cudaSuccess;
}

static inline cudaError_t cudaGraphDestroy(cudaGraph_t g)
{
    delete g;
    return cudaSuccess;
}

static inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t x)
{
    emu::drain(nullptr);
    for (const auto &pair : x->side)
        emu::delete_stream(pair.second);
    delete x;
    return cudaSuccess;
}
