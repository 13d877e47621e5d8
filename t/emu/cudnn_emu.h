#ifndef EMU_CUDNN_EMU_H
#define EMU_CUDNN_EMU_H

#include <cudnn_backend.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * cudnn_emu - what a plan of cuDNN comes to beside the emulation
 *
 * cudnn_emu.c makes a program out of a plan and a job out of the pointers that
 * it is run with; cudnn_emu_run.c does it.  Tensors lie in memory by their
 * strides, the virtual ones too; so to reshape is to read what is there by
 * other strides, as it is for the library.
 */
enum { RANK = 4, MOST_TENSORS = 64, MOST_STEPS = 32, WORKSPACE = 4096 };

struct view {
    int64_t uid, dim[RANK], stride[RANK], align;
    cudnnDataType_t type;
    bool passing, by_value; /* passing: never in memory of the device */
};

struct step {
    cudnnBackendDescriptorType_t what;
    int mode;
    int64_t axis;
    int x, b, t, y; /* tensors, or -1 */
};

/* What a plan does; the handle keeps it, for streams may be late. */
struct program {
    struct program *next;
    struct view tensor[MOST_TENSORS];
    struct step step[MOST_STEPS];
    int tensors, steps;
};

/* A program with its pointers. */
struct job {
    struct job *next;
    const struct program *program;
    void *at[MOST_TENSORS];
    float value[MOST_TENSORS];
    void *workspace;
};

/* Elements from the first to the last of a tensor, by its strides. */
int64_t cudnn_emu_span(const struct view *);

/* Run a job; it takes one as its stream will. */
void cudnn_emu_run(void *job);

#endif
