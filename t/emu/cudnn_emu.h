#pragma once

#include <cudnn_backend.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * cudnn_emu - what the stand-in for cuDNN computes for an execution plan
 *
 * cudnn_emu.c makes a kernel of an execution plan, and a launch of the pointers
 * that it is run with; cudnn_emu_run.c computes it.  Tensors are in memory by
 * their strides, the virtual ones too; so a reshape reads the same memory with
 * other strides, as the library does.
 */
enum {
    EMU_RANK = 4,
    EMU_TENSORS = 64,
    EMU_OPERATIONS = 32,
    EMU_WORKSPACE = 4096
};

struct emu_tensor {
    int64_t uid, dim[EMU_RANK], stride[EMU_RANK], align;
    cudnnDataType_t type;
    bool is_virtual, by_value;
};

struct emu_operation {
    cudnnBackendDescriptorType_t what;
    int mode;
    int64_t axis;
    int x, b, t, y; /* indices of tensors, or -1 */
};

/* What an execution plan computes; the handle owns it, since streams may run
 * late. */
struct emu_kernel {
    struct emu_kernel *next;
    struct emu_tensor tensor[EMU_TENSORS];
    struct emu_operation operation[EMU_OPERATIONS];
    int tensors, operations;
};

/* A kernel with its pointers. */
struct emu_launch {
    struct emu_launch *next;
    const struct emu_kernel *kernel;
    void *at[EMU_TENSORS];
    float value[EMU_TENSORS];
    void *workspace;
};

/* Elements from the first to the last of a tensor, by its strides. */
int64_t cudnn_emu_span(const struct emu_tensor *);

/* Run a launch; a stream calls this. */
void cudnn_emu_run(void *launch);
