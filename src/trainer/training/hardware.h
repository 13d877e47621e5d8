#ifndef TRAINER_TRAINING_HARDWARE_H
#define TRAINER_TRAINING_HARDWARE_H

#include "common/err.h"

/*
 * hardware - what machines that people train on can do
 *
 * Rates are dense peaks from the makers' data sheets (NVIDIA, Google Cloud)
 * of the year in `source`, in TFLOP/s, of all
 * devices of the row together.
 */
struct hardware {
    const char *name;
    double tflops[3]; /* fp32 (TF32 where there is), bf16, fp16 */
    double gib;       /* memory of one device */
    int devices;
    const char *source;
};

extern const struct hardware hardware_table[]; /* ends with a NULL name */

/* One row of "name:tflops:GiB:devices, ..."; *text moves on.  1, 0 at the
 * end, or -1.  The name is written to `name`. */
int hardware_parse(const char **text, char name[32], struct hardware *,
                   struct err *);

#endif
