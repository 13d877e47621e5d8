#pragma once

#include <stdbool.h>

/*
 * nvml - read the utilisation, memory and power of an NVIDIA GPU
 *
 * The library comes with the driver.  It is loaded at run time, so it is not
 * needed to build.  If it is missing, nvml_open() returns NULL, which the other
 * functions accept.
 *
 * A GPU is named by its PCI address, because CUDA_VISIBLE_DEVICES changes the
 * numbers of CUDA, but not those of NVML.  A value that the GPU does not report
 * is NaN.  Some calls take a lock of the driver that launching a kernel takes,
 * too.  Therefore slow calls are avoided, and values that change slowly are
 * read in every fifth call of nvml_read() only.
 */
struct nvml;

enum nvml_value {
    NVML_UTILISATION, /* percent of time with any kernel running */
    NVML_MEMORY,      /* bytes used on the device, by all processes */
    NVML_POWER,       /* watts */
    NVML_ENERGY,      /* joules since nvml_open() */
    NVML_TEMPERATURE, /* degrees Celsius; this and the next change slowly */
    NVML_CLOCK,       /* MHz */
    NVML_MEMORY_CLOCK,
    NVML_THROTTLED, /* bits: NVML's reasons for a low clock */
    NVML_VALUES
};

/* Names for metrics: "gpu_util". */
extern const char *const nvml_names[NVML_VALUES];

/* Without an address, the GPU of this number, from 0; NULL if there is none. */
struct nvml *nvml_open(const char *pci_address, unsigned number);
void nvml_close(struct nvml *);
bool nvml_read(struct nvml *, double value[NVML_VALUES]);
/* Warn if the memory of the GPU at this address is known to be faulty. */
void nvml_warn(struct nvml *, const char *pci_address);
