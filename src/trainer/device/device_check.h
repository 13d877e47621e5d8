#pragma once

#include "kernels/dev.h"
#include "trainer/ranks/coll.h"
#include "trainer/settings/settings.h"

/*
 * device_check - does a device compute what the CPU computes?
 *
 * device_check() runs one micro-step of a model on a device and on the CPU:
 * two sequences of half the context through one layer, at the widths and types
 * of the settings, which have gone through resolve_settings().  After each
 * operation its results are compared, and the device is given those of the CPU,
 * so that every operation is judged by itself.  Attention then runs with the
 * micro-batch and the context of the settings, and the optimiser makes one step
 * on both.  At last the micro-step runs as a whole, with kernels that wait for
 * each other, with kernels that overlap, and as a graph of the device, if it
 * has these, and must give the same gradients each time.
 *
 * If another library's attention is wrong, or if kernels that overlap are, the
 * device stops using them, which is a warning, and device_check() returns a sum
 * of DEVICE_ values; it returns 0 if all is right.  That a micro-step cannot be
 * recorded is a warning, too.  Anything else that is wrong is an error that
 * names the operation.
 *
 * device_check_once() does this if the same program has not passed it before
 * with the same device, libraries and model, and remembers that.  It does
 * nothing for the CPU.  The environment variable GT_DEVICE_CHECK=off leaves the
 * check out; a line then says that the device has not been checked, as
 * device_check_remind() does for programs that do not train.
 *
 * device_check_sum() adds known numbers over the ranks' devices.
 */
enum {
    DEVICE_WITHOUT_CUDNN = 1,
    DEVICE_WAITS = 2,
    DEVICE_WITHOUT_GRAPHS = 4,
};

int device_check(struct dev *, const struct settings *, struct err *);
int device_check_once(struct dev *, const struct settings *, struct err *);
/* Remember the result of device_check(). */
void device_passed_add(struct dev *, const struct settings *, int result);
void device_check_remind(struct dev *, const struct settings *);
int device_check_sum(struct dev *, struct coll *, struct err *);

/* Parts of the check: attention of sequences that are at most so long, and
 * whether numbers agree but for rounding; with `qkv`, those of queries, of keys
 * and of values, each relative to its own size. */
int device_check_attention(struct dev *, struct dev *cpu,
                           const struct settings *, int64_t longest,
                           double tolerance, bool *wrong, struct err *);
bool device_numbers_agree(const struct tensor *is, const struct tensor *want,
                          const struct attn *qkv, double tolerance);
