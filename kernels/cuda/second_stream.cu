/*
 * second_stream - a stream where collectives run while the first one computes
 *
 * It is created on first use, with an event for each slot, and one for the work
 * that the first stream had been given.
 */
#include "config.h"
#include "kernels/cuda/launch.cuh"

#include "common/mem.h"

struct cuda_second_stream {
    struct cuda_queue queue; /* without a workspace */
    cudaEvent_t given;
    cudaEvent_t done[DEV_STREAM_SLOTS];
};

static cudaStream_t stream_of(const struct cuda_second_stream *s)
{
    return (cudaStream_t)s->queue.stream;
}

static struct cuda_second_stream *second_stream_of(struct dev *dev)
{
    struct cuda *cuda = cuda_of(dev);
    struct cuda_second_stream *s = cuda->second_stream;

    if (s)
        return s;
    s = (struct cuda_second_stream *)xcalloc(1, sizeof *s);
    cuda->second_stream = s;
    must(dev, "second stream",
         cudaStreamCreateWithFlags((cudaStream_t *)&s->queue.stream,
                                   cudaStreamNonBlocking));
    must(dev, "second stream",
         cudaEventCreateWithFlags(&s->given, cudaEventDisableTiming));
    for (int i = 0; i < DEV_STREAM_SLOTS; i++)
        must(dev, "second stream",
             cudaEventCreateWithFlags(&s->done[i], cudaEventDisableTiming));
    return s;
}

extern "C" void *cuda_second_stream_begin(struct dev *dev)
{
    struct cuda_second_stream *s = second_stream_of(dev);

    must(dev, "second stream", cudaEventRecord(s->given, STREAM(dev)));
    must(dev, "second stream", cudaStreamWaitEvent(stream_of(s), s->given, 0));
    if (cuda_of(dev)->recording && dev->failed)
        return nullptr; /* that stream is not recorded: it would do the work */
    cuda_of(dev)->now = &s->queue;
    return stream_of(s);
}

extern "C" void cuda_second_stream_end(struct dev *dev, int i)
{
    struct cuda_second_stream *s = second_stream_of(dev);

    cuda_of(dev)->now = &cuda_of(dev)->main;
    must(dev, "second stream", cudaEventRecord(s->done[i], stream_of(s)));
}

extern "C" void cuda_second_stream_wait(struct dev *dev, int i)
{
    must(dev, "second stream",
         cudaStreamWaitEvent(STREAM(dev), second_stream_of(dev)->done[i], 0));
}

/* Another thread may ask, which has chosen no GPU yet: without a choice its
 * calls would take memory of the first one.  It must not mark the device as
 * failed; the next call that waits for the device reports the failure. */
extern "C" bool cuda_second_stream_done(struct dev *dev, int i)
{
    cudaError_t code = cudaSetDevice(cuda_of(dev)->index);

    if (code == cudaSuccess)
        code = cudaEventQuery(second_stream_of(dev)->done[i]);
    if (code != cudaSuccess)
        cudaGetLastError(); /* clears "not ready" */
    return code != cudaErrorNotReady;
}

void cuda_second_stream_close(struct dev *dev)
{
    struct cuda_second_stream *s = cuda_of(dev)->second_stream;

    if (!s)
        return;
    cudaStreamDestroy(stream_of(s));
    cudaEventDestroy(s->given);
    for (int i = 0; i < DEV_STREAM_SLOTS; i++)
        cudaEventDestroy(s->done[i]);
    free(s);
    cuda_of(dev)->second_stream = nullptr;
}
