/*
 * side_stream - work beside the first stream
 *
 * Gradients of weights have one.  The product that makes a weight's gradient
 * has few tiles of output, and the one that makes its input's gradient seldom
 * fills the last wave of its blocks.  Neither needs the other, so they share
 * the GPU.  The order of the sums in each is the same as without this.
 *
 * Collectives have another, dev.h's second stream, which is opened when first
 * used.  Its queue has no workspace.
 */
#include "config.h"
#include "kernels/cuda/launch.cuh"

static void new_event(struct dev *dev, void **event)
{
    must(
        dev, "side stream",
        cudaEventCreateWithFlags((cudaEvent_t *)event, cudaEventDisableTiming));
}

extern "C" void cuda_side_open(struct dev *dev, struct cuda_side *s)
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

extern "C" void cuda_side_close(struct cuda_side *s)
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
        cuda_side_open(dev, s);
    return s;
}

extern "C" void *cuda_second_stream_begin(struct dev *dev)
{
    return cuda_side_begin(dev, second_of(dev));
}

extern "C" void cuda_second_stream_end(struct dev *dev, int i)
{
    cuda_side_end(dev, second_of(dev), i);
}

extern "C" void cuda_second_stream_wait(struct dev *dev, int i)
{
    cuda_side_wait(dev, second_of(dev), i);
}

/* Another thread may ask, which has chosen no GPU yet: without a choice its
 * calls would take memory of the first one.  It must not mark the device as
 * failed; the next call that waits for the device reports the failure. */
extern "C" bool cuda_second_stream_done(struct dev *dev, int i)
{
    cudaError_t code = cudaSetDevice(cuda_of(dev)->index);

    if (code == cudaSuccess)
        code = cudaEventQuery((cudaEvent_t)second_of(dev)->done[i]);
    if (code != cudaSuccess)
        cudaGetLastError(); /* clears "not ready" */
    return code != cudaErrorNotReady;
}
