/*
 * race - the check for races on memory finds those that were planted
 *
 * Each kernel runs in a process of its own.  The wrong ones compute the right
 * numbers in the order in which the emulator runs threads, and must end with
 * status 86; the right ones must pass.
 */
#include "config.h"
#include "kernels/cuda/launch.cuh"

#include <stdio.h>
#include <unistd.h>

#include <sys/wait.h>

#include "t/lib/tap.h"

enum { N = 64 };

static struct cuda_queue queue;
static int *out;

/* Each thread reads what another one wrote, if it is to. */
template <bool BARRIER> static __global__ void read_other(int *to)
{
    begin_kernel();

    SHARED(int, s, N);

    s[threadIdx.x] = 1;
    if (BARRIER)
        __syncthreads();
    to[threadIdx.x] = threadIdx.x ? s[threadIdx.x - 1] : 0;
}

/* Thread 0 writes again after the others have read. */
template <bool BARRIER> static __global__ void write_again(int *to)
{
    begin_kernel();

    SHARED(int, s, 1);

    if (threadIdx.x == 0)
        s[0] = 1;
    __syncthreads();
    to[threadIdx.x] = s[0];
    if (BARRIER)
        __syncthreads();
    if (threadIdx.x == N - 1)
        s[0] = 2;
}

/* All threads write one number. */
template <bool ATOMIC> static __global__ void write_both(int *to)
{
    begin_kernel();

    SHARED(int, s, 1);

    if (ATOMIC)
        atomicAdd(s, 1);
    else
        s[0] = 1;
    __syncthreads();
    to[threadIdx.x] = s[0];
}

/* Lanes of one warp: a shuffle does not order memory, __syncwarp() does. */
template <bool SYNC> static __global__ void within_warp(int *to)
{
    begin_kernel();

    SHARED(int, s, 32);
    int other;

    s[threadIdx.x] = 1;
    if (SYNC)
        __syncwarp();
    else
        (void)__shfl_xor_sync(~0u, 1, 1);
    other = s[threadIdx.x ^ 1];
    to[threadIdx.x] = other;
}

/* An asynchronous copy over numbers that another warp may still read. */
template <bool BARRIER> static __global__ void copy_over(int *to)
{
    begin_kernel();

    SHARED(int, s, 4);

    if (threadIdx.x < 4)
        s[threadIdx.x] = 1;
    __syncthreads();
    to[threadIdx.x] = s[threadIdx.x % 4];
    if (BARRIER)
        __syncthreads();
    if (threadIdx.x == 0) {
        copy_async(s, to);
        copy_commit();
        copy_wait<0>();
    }
}

/* Memory of the device before or after it is known that nobody writes to it. */
template <bool BEFORE> static __global__ void begin_late(int *to)
{
    int was = 0;

    if (BEFORE)
        was = to[threadIdx.x];
    begin_kernel();
    to[threadIdx.x] = was + 1;
}

#define RUN(kernel, threads) [] { LAUNCH(kernel, 2, threads, 0, &queue, out); }

static const struct {
    const char *what;
    bool wrong;
    void (*launch)(void);
} tests[] = {
    { "a read after another thread's write", true, RUN(read_other<false>, N) },
    { "a read after a barrier", false, RUN(read_other<true>, N) },
    { "a write after another thread's read", true, RUN(write_again<false>, N) },
    { "a write after a barrier", false, RUN(write_again<true>, N) },
    { "two writes of the same number", true, RUN(write_both<false>, N) },
    { "atomic additions", false, RUN(write_both<true>, N) },
    { "a shuffle in place of __syncwarp()", true, RUN(within_warp<false>, 32) },
    { "__syncwarp()", false, RUN(within_warp<true>, 32) },
    { "a copy over numbers that are being read", true,
      RUN(copy_over<false>, N) },
    { "a copy after a barrier", false, RUN(copy_over<true>, N) },
    { "memory that is used before begin_kernel()", true,
      RUN(begin_late<true>, N) },
    { "memory that is used after it", false, RUN(begin_late<false>, N) },
};

/* The status of a kernel that runs in a process of its own. */
static int status_of(void (*launch)(void))
{
    int status = -1;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        launch();
        cudaDeviceSynchronize();
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
    void *p = nullptr;

    cudaMalloc(&p, 2 * N * sizeof *out);
    out = (int *)p;
    cudaStreamCreateWithFlags((cudaStream_t *)&queue.stream,
                              cudaStreamNonBlocking);
    queue.overlaps = true;
    for (const auto &t : tests)
        ok(status_of(t.launch) == (t.wrong ? 86 : 0),
           "the check for races %s %s", t.wrong ? "finds" : "allows", t.what);
    return done_testing();
}
