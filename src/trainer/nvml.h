#ifndef TRAINER_NVML_H
#define TRAINER_NVML_H

#include <stdbool.h>

/*
 * nvml - what an NVIDIA GPU is doing
 *
 * The library comes with the driver; it is opened when the program runs, so
 * nothing is needed to build.  Where it is missing nvml_open() returns NULL,
 * and the other functions take that.
 */
struct nvml;

struct nvml_reading {
    double utilisation; /* percent */
    double memory;      /* bytes used on the device, by everyone */
    double power;       /* watts */
};

struct nvml *nvml_open(int index);
void nvml_close(struct nvml *);
bool nvml_read(struct nvml *, struct nvml_reading *); /* NaN: not told */

#endif
