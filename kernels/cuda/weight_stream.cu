/*
 * weight_stream - gradients of weights on a second stream
 *
 * The product that makes a weight's gradient has few tiles of output, and the
 * one that makes its input's gradient seldom fills the last wave of its blocks.
 * Neither needs the other, so they share the GPU.  The order of the sums in
 * each is the same as without this.
 */
#include "config.h"
#include "kernels/cuda/launch.cuh"

static cudaEvent_t *given_of(struct dev *dev)
{
    return (cudaEvent_t *)&cuda_of(dev)->weights_event[0];
}

static cudaEvent_t *done_of(struct dev *dev)
{
    return (cudaEvent_t *)&cuda_of(dev)->weights_event[1];
}

extern "C" void cuda_weights_open(struct dev *dev)
{
    must(
        dev, "weight stream",
        cudaStreamCreateWithFlags((cudaStream_t *)&cuda_of(dev)->weights.stream,
                                  cudaStreamNonBlocking));
    for (cudaEvent_t *e : { given_of(dev), done_of(dev) })
        must(dev, "weight stream",
             cudaEventCreateWithFlags(e, cudaEventDisableTiming));
}

extern "C" void cuda_weights_begin(struct dev *dev)
{
    struct cuda *cuda = cuda_of(dev);

    must(dev, "weight stream", cudaEventRecord(*given_of(dev), STREAM(dev)));
    if (cuda->recording && dev->failed)
        return; /* that stream is not recorded: it would do the work */
    cuda->now = &cuda->weights;
    must(dev, "weight stream",
         cudaStreamWaitEvent(STREAM(dev), *given_of(dev), 0));
}

extern "C" void cuda_weights_end(struct dev *dev)
{
    must(dev, "weight stream", cudaEventRecord(*done_of(dev), STREAM(dev)));
    cuda_of(dev)->now = &cuda_of(dev)->main;
}

extern "C" void cuda_weights_join(struct dev *dev)
{
    must(dev, "weight stream",
         cudaStreamWaitEvent(STREAM(dev), *done_of(dev), 0));
}

extern "C" void cuda_weights_close(struct dev *dev)
{
    struct cuda *cuda = cuda_of(dev);

    if (cuda->weights.stream)
        cudaStreamDestroy((cudaStream_t)cuda->weights.stream);
    for (cudaEvent_t *e : { given_of(dev), done_of(dev) })
        if (*e)
            cudaEventDestroy(*e);
}
