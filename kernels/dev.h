#pragma once

#include <stddef.h>

#include "common/err.h"
#include "kernels/ops.h"

BEGIN_EXTERN_C

/* The uses of memory.  The first ones are computed before any is allocated; the
 * device allocates the last two for itself. */
enum dev_use {
    DEV_WEIGHTS,
    DEV_GRADS,
    DEV_MOMENTS,
    DEV_ACTIVATIONS,
    DEV_INPUTS,
    DEV_MODEL_USES,
    DEV_CACHES = DEV_MODEL_USES,
    DEV_TRIALS,
    DEV_SCRATCH,
    DEV_WORKSPACE,
    DEV_USES
};

extern const char *const dev_use_names[DEV_USES];

/* Bytes of a device's memory. */
struct dev_memory {
    struct {
        size_t now, most;
    } of[DEV_USES];
    size_t allocated, peak; /* by dev_alloc(): now, and at most so far */
    size_t reserved;        /* that, and what the device took for itself */
    size_t total;           /* of the device; 0: it is not known */
    bool refused;           /* an allocation failed */
};

/*
 * dev - a device: where the numbers are, and what computes on them
 *
 * A device is opened, given work in order, and closed.  Work may run later than
 * the call that gives it; dev_sync() waits, and reports the first failure since
 * the last wait (as ferror(3) does for a stream), so the code that gives work
 * has no error handling in between.
 *
 *      if (dev_open(&dev, "cpu", e) < 0)
 *          return -1;
 *      p = dev_alloc(&dev, bytes, DEV_WEIGHTS, e);
 *      dev.type->put(&dev, p, host, bytes);
 *      dev.ops->act_fwd(&dev, &y, &x, ACT_GELU);
 *      if (dev_sync(&dev, e) < 0) ...
 *
 * put() has read the host memory when it returns; get() has filled it only
 * after dev_sync() or dev_receive().  Memory is not cleared; it is counted by
 * its use, in dev.memory, and freed by dev_free() or dev_close().
 */
struct dev_type {
    const char *name; /* as in device = NAME */
    int (*open)(struct dev *, struct err *);
    void (*close)(struct dev *);
    void *(*alloc)(struct dev *, size_t n, struct err *);
    void (*free)(struct dev *, void *p);
    void (*put)(struct dev *, void *dst, const void *host, size_t n);
    void (*get)(struct dev *, void *host, const void *src, size_t n);
    void (*copy)(struct dev *, void *dst, const void *src, size_t n);
    void (*zero)(struct dev *, void *dst, size_t n);
    int (*sync)(struct dev *, struct err *);
    /* Wait for what get() was given, but not for later work; or NULL. */
    int (*receive)(struct dev *, struct err *);
    /* One line of text about the hardware; returns out. */
    char *(*describe)(struct dev *, char *out, size_t room);
    /* Whether operations of sizes that are new need no trials. */
    bool any_size;
    /* The members below are NULL if the device does not have the feature. */
    /* The data sheet's operations a second in products of this type; 0: not
     * known. */
    double (*peak)(const struct dev *, enum dtype);
    /* The instruction set that computes with this type: the bits of results
     * depend on it. */
    const char *(*instructions)(const struct dev *, enum dtype);
    /* Compute attention by the device's own kernels from now on; false if it
     * does so already. */
    bool (*own_attention)(struct dev *);
    /* From now on, may work start before the work before it has ended, where
     * that is safe?  Returns the previous setting. */
    bool (*overlap)(struct dev *, bool on);
    /* Record, as mark i of DEV_MARKS, the time at which the work given so far
     * is done; the seconds from mark i to mark j, or < 0 if one is not
     * reached. */
    void (*mark)(struct dev *, int i);
    double (*between)(struct dev *, int i, int j);
    /* Work given between begin and end is recorded, not done; run then gives
     * all of it with one call.  In between, calls that wait for the device or
     * allocate memory, as put(), get() and alloc() do, fail.  If anything did,
     * end returns NULL with the reason, and the device is as before: nothing of
     * the work was done. */
    int (*capture_begin)(struct dev *, struct err *);
    struct dev_capture *(*capture_end)(struct dev *, struct err *);
    void (*capture_run)(struct dev *, struct dev_capture *);
    void (*capture_free)(struct dev *, struct dev_capture *);
    /* A second stream, for work during computing.  begin returns that stream,
     * which waits for all work given so far; until end, operations are given to
     * it, but only those that need no scratch; end records what it was given
     * since then as slot i of DEV_STREAM_SLOTS; wait makes the work given from
     * now on wait for a slot, and for all slots before it; done tells whether a
     * slot is finished.  Between capture_begin and capture_end its work is
     * recorded, too: wait for it before the end, and ask for none of its slots.
     * begin returns NULL if the capture has failed. */
    void *(*second_stream_begin)(struct dev *);
    void (*second_stream_end)(struct dev *, int i);
    void (*second_stream_wait)(struct dev *, int i);
    bool (*second_stream_done)(struct dev *, int i);
};

enum { DEV_MARKS = 64, DEV_STREAM_SLOTS = 64 };

struct dev {
    const struct dev_type *type;
    const struct ops *ops; /* set by open() */
    int index;             /* which of several GPUs */
    int threads;           /* of the CPU; 0 chooses */
    bool deterministic;    /* same bits for any thread count */
    bool tf32;             /* products of F32 may round to TF32 */
    bool fp8;              /* products of fp8 will be needed */
    void *state;           /* private to the device */
    int failed;            /* first failure since the last sync */
    const char *failed_op;
    char address[16]; /* a GPU's on the PCI bus, or "" */
    char unit[64];    /* the very GPU and its driver's version, or "" */
    struct dev_memory memory;
    struct dev_block *blocks; /* what dev_alloc() gave */
};

extern const struct dev_type cpu_dev, cuda_dev;
extern const struct dev_type *const dev_types[]; /* ends with NULL */

/*
 * name: "cpu", "ref" (the CPU with ref_ops), "cuda", "cuda:1", or "auto".
 * threads, deterministic, tf32 and fp8 are read; everything else is set.  With
 * fp8, a device that cannot multiply fp8 does not open.
 */
int dev_open(struct dev *, const char *name, struct err *);
/* Whether this build has a device of this name; nothing is opened. */
int dev_known(const char *name, struct err *);
/* Is it the name of a GPU, or is there one for auto?  May open the device. */
bool dev_is_gpu(const char *name);
/* Can this CPU compute with these instructions, as GTRAIN_ISA names them? */
bool instructions_present(const char *name);
void *dev_alloc(struct dev *, size_t n, enum dev_use, struct err *e);
void dev_free(struct dev *, void *p);
/* For a device: it took n bytes more for itself, or gave them back. */
void dev_took(struct dev *, enum dev_use, size_t n);
void dev_gave(struct dev *, enum dev_use, size_t n);
int dev_sync(struct dev *, struct err *);
/* Like dev_sync(), but work given after the last get() may still run. */
int dev_receive(struct dev *, struct err *);
void dev_close(struct dev *);

END_EXTERN_C
