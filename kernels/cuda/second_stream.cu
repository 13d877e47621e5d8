/*
 * side - a second stream, where collectives run while the first one computes
 *
 * It is made when it is first asked for, with an event for each slot and one
 * that says how far the first stream was.
 */
#include "config.h"
#include "kernels/cuda/launch.cuh"

struct cuda_side {
    cudaStream_t stream;
    cudaEvent_t given;
    cudaEvent_t done[DEV_SIDE_SLOTS];
};

static struct cuda_side *side_of(struct dev *dev)
{
    struct cuda *cuda = cuda_of(dev);
    struct cuda_side *s = cuda->side;

    if (s)
        return s;
    s = (struct cuda_side *)calloc(1, sizeof *s);
    if (!s)
        abort();
    cuda->side = s;
    must(dev, "side",
         cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    must(dev, "side",
         cudaEventCreateWithFlags(&s->given, cudaEventDisableTiming));
    for (int i = 0; i < DEV_SIDE_SLOTS; i++)
        must(dev, "side",
             cudaEventCreateWithFlags(&s->done[i], cudaEventDisableTiming));
    return s;
}

extern "C" void *cuda_side_begin(struct dev *dev)
{
    struct cuda_side *s = side_of(dev);

    must(dev, "side", cudaEventRecord(s->given, STREAM(dev)));
    must(dev, "side", cudaStreamWaitEvent(s->stream, s->given, 0));
    return s->stream;
}

extern "C" void cuda_side_end(struct dev *dev, int i)
{
    struct cuda_side *s = side_of(dev);

    must(dev, "side", cudaEventRecord(s->done[i], s->stream));
}

extern "C" void cuda_side_wait(struct dev *dev, int i)
{
    must(dev, "side",
         cudaStreamWaitEvent(STREAM(dev), side_of(dev)->done[i], 0));
}

extern "C" bool cuda_side_done(struct dev *dev, int i)
{
    const cudaError_t code = cudaEventQuery(side_of(dev)->done[i]);

    if (code != cudaSuccess)
        cudaGetLastError();     /* not yet is no failure */
    if (code != cudaSuccess && code != cudaErrorNotReady)
        must(dev, "side", code);
    return code != cudaErrorNotReady;
}

void cuda_side_close(struct dev *dev)
{
    struct cuda_side *s = cuda_of(dev)->side;

    if (!s)
        return;
    cudaStreamDestroy(s->stream);
    cudaEventDestroy(s->given);
    for (int i = 0; i < DEV_SIDE_SLOTS; i++)
        cudaEventDestroy(s->done[i]);
    free(s);
    cuda_of(dev)->side = nullptr;
}

#ifndef __CUDACC__
/* For what stands for NCCL and cuDNN beside the emulation: call(arg) when the
 * stream comes to it; do all that was given; is this the device's memory? */
extern "C" void emu_submit(void *stream, void (*call)(void *), void *arg);
extern "C" void emu_drain(void);
extern "C" bool emu_on_device(const void *p, size_t n);

extern "C" void emu_submit(void *stream, void (*call)(void *), void *arg)
{
    emu::submit((cudaStream_t)stream, [=] { call(arg); });
}

extern "C" void emu_drain(void)
{
    emu::drain(nullptr);
}

extern "C" bool emu_on_device(const void *p, size_t n)
{
    return emu::on_device(p, n);
}
#endif
