/*
 * emu - the emulation of CUDA finds the mistakes that it is there to find
 *
 * Each wrong kernel runs in a process of its own, which must end with status
 * 86 and say why; the right ones beside them must pass.
 */
#include "config.h"
#include "kernels/cuda/reduce.cuh"

#include <stdio.h>
#include <unistd.h>

#include <sys/wait.h>

#include "t/lib/tap.h"

static cudaStream_t stream;
static struct cuda_queue queue;

static void *device(size_t n)
{
    void *p = nullptr;

    cudaMalloc(&p, n);
    return p;
}

/* ---- kernels that are right -------------------------------------------- */

/* Sums of a warp, a block and by atomics, and a vote, of ones. */
static __global__ void sums(int *out)
{
    const int w = warp_sum(1), b = block_sum<96>(1);

    atomicAdd(&out[0], 1);
    if (threadIdx.x == 5) {
        out[1] = w;
        out[2] = b;
    }
    if (__ballot_sync(~0u, (int)threadIdx.x % 32 == 3) != 8)
        out[3] = -1;
    if (!__syncthreads_or(threadIdx.x == 77))
        out[3] = -2;
}

/* A 16 x 16 by 16 x 8 product of whole numbers. */
template <class T> static __global__ void tensor_core(float *out)
{
    SHARED(T, a, 16 * 16);
    SHARED(T, b, 16 * 16);
    const int lane = (int)threadIdx.x, i = lane / 8, r = lane % 8;
    uint32_t left[4], right[4];
    float d[4] = {};

    for (int k = lane; k < 256; k += 32) {
        a[k] = from_float<T>((float)(k / 16 - k % 16));
        b[k] = from_float<T>((float)(k / 16 + 2 * (k % 16)));
    }
    __syncwarp();
    ldmatrix4(left, a + (i % 2 * 8 + r) * 16 + i / 2 * 8);
    ldmatrix4_trans(right, b + (i % 2 * 8 + r) * 16 + i / 2 * 8);
    mma_16816<T>(d, left, right);
    for (int e = 0; e < 4; e++)
        out[(lane / 4 + e / 2 * 8) * 8 + lane % 4 * 2 + e % 2] = d[e];
}

static bool product_is_right(const float *got)
{
    for (int r = 0; r < 16; r++) {
        for (int c = 0; c < 8; c++) {
            float want = 0;

            for (int k = 0; k < 16; k++)
                want += (float)(r - k) * (float)(k + 2 * c);
            if (got[r * 8 + c] != want)
                return false;
        }
    }
    return true;
}

/* ---- kernels that are wrong -------------------------------------------- */

static __global__ void divergent_barrier(int *out)
{
    if (threadIdx.x < 40)
        __syncthreads();
    else
        (void)__shfl_xor_sync(~0u, 1, 1);
    out[threadIdx.x] = 1;
}

static __global__ void wrong_mask(int *out)
{
    if (threadIdx.x % 32 < 16)
        return;
    out[threadIdx.x] = __shfl_xor_sync(~0u, 1, 1);
}

static __global__ void too_much_shared(int *out)
{
    SHARED(int, room, 16384);

    room[threadIdx.x] = 1;
    out[threadIdx.x] = room[threadIdx.x];
}

static __global__ void plain(int *out)
{
    out[threadIdx.x] = 1;
}

/* 16 bytes at an address that is a multiple of 4. */
static __global__ void askew(float *out)
{
    const float four[4] = { 1, 2, 3, 4 };

    store(out + 1, four);
}

/* The neighbour's number, with or without the barrier that it needs. */
template <bool BARRIER> static __global__ void neighbour(int *out)
{
    SHARED(int, s, 256);

    s[threadIdx.x] = (int)threadIdx.x;
    if (BARRIER)
        __syncthreads();
    out[threadIdx.x] = s[(threadIdx.x + 1) % 256];
}

/* A copy of 16 bytes that is not waited for. */
template <int PENDING> static __global__ void early(int *out, const int *in)
{
    SHARED(int, s, 4);

    copy_async(s, in);
    copy_commit();
    copy_wait<PENDING>();
    out[0] = s[3];
}

static void launch_divergent(void)
{
    LAUNCH(divergent_barrier, 1, 64, 0, &queue, (int *)device(256));
}

static void launch_mask(void)
{
    LAUNCH(wrong_mask, 1, 64, 0, &queue, (int *)device(256));
}

static void launch_shared(void)
{
    LAUNCH(too_much_shared, 1, 32, 0, &queue, (int *)device(256));
}

static void launch_shared_twice(void)
{
    LAUNCH(neighbour<true>, 1, 256, 48 << 10, &queue, (int *)device(1024));
}

static void launch_host_pointer(void)
{
    static int host[32];

    LAUNCH(plain, 1, 32, 0, &queue, host);
}

static void launch_askew(void)
{
    LAUNCH(askew, 1, 1, 0, &queue, (float *)device(64));
}

static void launch_default_stream(void)
{
    const struct cuda_queue none = {};

    LAUNCH(plain, 1, 32, 0, &none, (int *)device(128));
}

static void launch_without_begin(void)
{
    struct cuda_queue overlapping = queue;

    overlapping.overlaps = true;
    LAUNCH(plain, 1, 32, 0, &overlapping, (int *)device(128));
}

/* A thread begins with the first GPU, whatever the others have chosen. */
static void query_from_a_thread(void)
{
    cudaEvent_t e;

    setenv("GT_EMU_DEVICES", "2", 1);
    cudaSetDevice(1);
    cudaEventCreate(&e);
    std::thread([=] { cudaEventQuery(e); }).join();
}

static void query_a_captured_event(void)
{
    cudaEvent_t e;

    cudaEventCreate(&e);
    cudaStreamBeginCapture((cudaStream_t)queue.stream,
                           cudaStreamCaptureModeThreadLocal);
    cudaEventRecord(e, (cudaStream_t)queue.stream);
    std::thread([=] { cudaEventQuery(e); }).join();
}

static const struct {
    const char *what, *says;
    void (*launch)(void);
} wrong[] = {
    { "a barrier that some threads do not reach", "not reached",
      launch_divergent },
    { "a mask that names lanes which return", "kernel wrong_mask",
      launch_mask },
    { "64 KiB of shared memory", "more shared memory", launch_shared },
    { "48 KiB of it dynamic, and some declared", "more shared memory",
      launch_shared_twice },
    { "a host pointer", "host pointer", launch_host_pointer },
    { "a wide access at an odd address", "not aligned", launch_askew },
    { "work for the default stream", "default stream", launch_default_stream },
    { "a kernel that need not wait for the one before it and does not",
      "without begin_kernel", launch_without_begin },
    { "a thread that uses another GPU than it chose", "uses GPU 1",
      query_from_a_thread },
    { "a thread that asks about an event of a capture", "event of a capture",
      query_a_captured_event },
};

/* Run it in a child; its status, and what it wrote on standard error. */
static int status_of(void (*launch)(void), char *text, size_t room)
{
    int fd[2], status = -1;
    ssize_t n = 0, got;
    pid_t pid;

    fflush(stdout);
    if (pipe(fd) < 0 || (pid = fork()) < 0)
        return -1;
    if (pid == 0) {
        dup2(fd[1], 2);
        launch();
        cudaDeviceSynchronize();
        _exit(0);
    }
    close(fd[1]);
    while ((size_t)n + 1 < room &&
           (got = read(fd[0], text + n, room - 1 - (size_t)n)) > 0)
        n += got;
    text[n] = '\0';
    close(fd[0]);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void check_wrong(void)
{
    for (const auto &w : wrong) {
        char text[2048];
        const int status = status_of(w.launch, text, sizeof text);

        if (!ok(status == 86 && strstr(text, w.says), "the emulation finds %s",
                w.what))
            diag("status %d: %s", status, text);
    }
}

static int wrong_neighbours(const int *out)
{
    int n = 0;

    cudaDeviceSynchronize();
    for (int i = 0; i < 256; i++)
        n += out[i] != (i + 1) % 256;
    return n;
}

static void check_barrier(void)
{
    int *out = (int *)device(1024);

    LAUNCH(neighbour<true>, 1, 256, 0, &queue, out);
    ok(wrong_neighbours(out) == 0,
       "neighbours see each other's writes with a barrier");
    LAUNCH(neighbour<false>, 1, 256, 0, &queue, out);
    /* in the reverse order of threads each neighbour happens to be there */
    if (emu::the_order().reverse)
        skip("this order of threads hides it",
             "neighbours need a barrier to see each other's writes");
    else
        ok(wrong_neighbours(out) > 0,
           "neighbours need a barrier to see each other's writes");
    cudaFree(out);
}

static void check_copies(void)
{
    int *out = (int *)device(16), *in = (int *)device(16);

    in[3] = 7;
    LAUNCH((early<0>), 1, 1, 0, &queue, out, (const int *)in);
    cudaDeviceSynchronize();
    ok(out[0] == 7, "an asynchronous copy has arrived after a wait");
    LAUNCH((early<1>), 1, 1, 0, &queue, out, (const int *)in);
    cudaDeviceSynchronize();
    ok(out[0] != 7, "an asynchronous copy has not arrived before a wait");
    cudaFree(out);
    cudaFree(in);
}

static void check_limits(void)
{
    int *out = (int *)device(16);

    LAUNCH(plain, 1, 1025, 0, &queue, out);
    ok(cudaGetLastError() == cudaErrorInvalidConfiguration,
       "a block of 1025 threads is refused");
    LAUNCH(plain, dim3(1, 65536), 1, 0, &queue, out);
    ok(cudaGetLastError() == cudaErrorInvalidConfiguration,
       "a grid 65536 high is refused");
    LAUNCH(plain, 1, 1, 49 << 10, &queue, out);
    ok(cudaGetLastError() == cudaErrorInvalidConfiguration,
       "49 KiB of dynamic shared memory are refused");
    cudaFuncSetAttribute(plain, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         49 << 10);
    LAUNCH(plain, 1, 1, 49 << 10, &queue, out);
    ok(cudaGetLastError() == cudaSuccess,
       "49 KiB of dynamic shared memory are granted on request");
    ok(cudaMemcpyAsync(out, out, 4, cudaMemcpyHostToDevice, stream) ==
           cudaErrorInvalidValue,
       "a copy from a host address that is the device's is refused");
    cudaGetLastError();
    cudaFree(out);
}

/* A producer on one stream, a consumer on another, with the event between
 * them or without.  Only late streams show that it is missing. */
static bool handed_over(bool event)
{
    int *made = (int *)device(1024), *seen = (int *)device(1024);
    struct cuda_queue on_other = {};
    cudaStream_t other;
    cudaEvent_t e;
    bool good;

    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    on_other.stream = other;
    cudaEventCreate(&e);
    LAUNCH(neighbour<true>, 1, 256, 0, &on_other, made);
    if (event) {
        cudaEventRecord(e, other);
        cudaStreamWaitEvent(stream, e, 0);
    }
    cudaMemcpyAsync(seen, made, 1024, cudaMemcpyDeviceToDevice, stream);
    cudaStreamSynchronize(stream);
    good = seen[0] == 1;
    cudaDeviceSynchronize();
    cudaStreamDestroy(other);
    cudaEventDestroy(e);
    cudaFree(made);
    cudaFree(seen);
    return good;
}

static void check_streams(void)
{
    int with = 0, without = 0;

    for (int i = 0; i < 32; i++) {
        with += handed_over(true);
        without += handed_over(false);
    }
    ok(with == 32, "an event orders two streams");
    if (emu::rt().late)
        ok(without < 32, "two streams without an event run in any order");
    else
        skip("GT_EMU_STREAMS is not set",
             "two streams without an event run in any order");
}

static void check_graph(void)
{
    int *out = (int *)device(1024);
    cudaGraph_t g;
    cudaGraphExec_t x;

    cudaMemsetAsync(out, 0, 1024, stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    LAUNCH(sums, 1, 96, 0, &queue, out);
    cudaStreamEndCapture(stream, &g);
    cudaGraphInstantiate(&x, g, 0);
    cudaStreamSynchronize(stream);
    ok(out[0] == 0, "captured work does not run at once");
    for (int i = 0; i < 3; i++)
        cudaGraphLaunch(x, stream);
    cudaStreamSynchronize(stream);
    ok(out[0] == 3 * 96 && out[1] == 32 && out[2] == 96 && out[3] == 0,
       "captured work runs each time that its graph is launched");
    cudaGraphExecDestroy(x);
    cudaGraphDestroy(g);
    cudaFree(out);
}

/* A captured stream hands work to another one, which joins the capture, and
 * waits for it; or forgets to wait. */
static cudaError_t capture_two(cudaGraph_t *g, cudaStream_t other, int *made,
                               int *seen, bool join)
{
    struct cuda_queue on_other = {};
    cudaEvent_t e[2];
    cudaError_t code;

    on_other.stream = other;
    for (cudaEvent_t &one : e)
        cudaEventCreateWithFlags(&one, cudaEventDisableTiming);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    cudaMemsetAsync(made, 0, 1024, stream);
    cudaEventRecord(e[0], stream);
    cudaStreamWaitEvent(other, e[0], 0);
    LAUNCH(neighbour<true>, 1, 256, 0, &on_other, made);
    cudaEventRecord(e[1], other);
    if (join)
        cudaStreamWaitEvent(stream, e[1], 0);
    cudaMemcpyAsync(seen, made, 1024, cudaMemcpyDeviceToDevice, stream);
    code = cudaStreamEndCapture(stream, g);
    for (cudaEvent_t one : e)
        cudaEventDestroy(one);
    return code;
}

static void check_graph_of_two(void)
{
    int *made = (int *)device(1024), *seen = (int *)device(1024), good = 0;
    cudaStream_t other;
    cudaGraph_t g;
    cudaGraphExec_t x;

    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    ok(capture_two(&g, other, made, seen, false) ==
           cudaErrorStreamCaptureUnjoined,
       "a capture cannot end before a stream that joined it");
    cudaGetLastError();
    ok(capture_two(&g, other, made, seen, true) == cudaSuccess,
       "a stream that waits for captured work joins the capture");
    cudaGraphInstantiate(&x, g, 0);
    for (int i = 0; i < 32; i++) {
        cudaMemsetAsync(seen, 0, 1024, stream);
        cudaGraphLaunch(x, stream);
        cudaStreamSynchronize(stream);
        good += seen[0] == 1;
    }
    ok(good == 32, "a graph keeps the order of two streams");
    cudaGraphExecDestroy(x);
    cudaGraphDestroy(g);
    cudaStreamDestroy(other);
    cudaFree(made);
    cudaFree(seen);
}

/* What may not be asked of an event, and when. */
static void check_events(void)
{
    cudaStream_t other;
    cudaEvent_t before, timeless;
    cudaGraph_t g;
    float ms;

    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaEventCreate(&before);
    cudaEventCreateWithFlags(&timeless, cudaEventDisableTiming);
    ok(cudaEventElapsedTime(&ms, before, before) ==
           cudaErrorInvalidResourceHandle,
       "an event that was never recorded has no time");
    cudaEventRecord(before, other);
    cudaEventRecord(timeless, other);
    cudaEventSynchronize(timeless);
    ok(cudaEventElapsedTime(&ms, before, timeless) ==
           cudaErrorInvalidResourceHandle,
       "an event made without timing has no time");
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    ok(cudaEventQuery(before) == cudaErrorStreamCaptureUnsupported &&
           cudaStreamEndCapture(stream, &g) ==
               cudaErrorStreamCaptureInvalidated,
       "an event cannot be queried while work is captured");
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    ok(cudaStreamWaitEvent(stream, before, 0) != cudaSuccess &&
           cudaStreamEndCapture(stream, &g) ==
               cudaErrorStreamCaptureInvalidated,
       "captured work cannot wait for other work");
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    cudaEventRecord(timeless, stream);
    cudaStreamEndCapture(stream, &g);
    ok(cudaEventQuery(timeless) == cudaErrorCapturedEvent,
       "an event that was captured does not happen");
    cudaGetLastError();
    cudaGraphDestroy(g);
    cudaEventDestroy(before);
    cudaEventDestroy(timeless);
    cudaStreamDestroy(other);
}

int main(void)
{
    float *out = (float *)device(16 * 8 * sizeof(float));

    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    queue.stream = stream;
    check_wrong();
    check_barrier();
    check_copies();
    check_limits();
    check_streams();
    check_graph();
    check_graph_of_two();
    check_events();
    LAUNCH(tensor_core<bf16>, 1, 32, 0, &queue, out);
    cudaStreamSynchronize(stream);
    ok(product_is_right(out), "mma.sync multiplies bf16");
    LAUNCH(tensor_core<f16>, 1, 32, 0, &queue, out);
    cudaStreamSynchronize(stream);
    ok(product_is_right(out), "mma.sync multiplies f16");
    cudaFree(out);
    cudaStreamDestroy(stream);
    return done_testing();
}
