#ifndef TRAINER_TRAINING_NVML_H
#define TRAINER_TRAINING_NVML_H

#include <stdbool.h>

/*
 * nvml - what an NVIDIA GPU is doing
 *
 * The library comes with the driver; it is opened when the program runs, so
 * nothing is needed to build.  Where it is missing nvml_open() returns NULL,
 * and the other functions take that.
 *
 * A GPU is named by its PCI address, because its number here may be another
 * one there (CUDA_VISIBLE_DEVICES).  What it does not tell, or may not, is NaN.
 * Some calls hold a lock of the driver that launching kernels needs too; so
 * nothing is asked that is slow, and what changes slowly is asked for every
 * fifth time only, and otherwise repeated.
 */
struct nvml;

struct nvml_reading {
    double utilisation;         /* percent of time with any kernel running */
    double memory;              /* bytes used on the device, by everyone */
    double power;               /* watts */
    double energy;              /* joules since nvml_open() */
    double temperature;         /* degrees Celsius */
    double clock, memory_clock; /* MHz */
    double throttled;           /* bits of NVML's reasons for a low clock */
};

struct nvml *nvml_open(const char *pci_address);
void nvml_close(struct nvml *);
bool nvml_read(struct nvml *, struct nvml_reading *);

#endif
