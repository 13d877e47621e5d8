#pragma once

#include "common/buf.h"

/*
 * usage - what this process uses of the machine
 *
 * Values that the system does not tell are NaN.
 */

/* Bytes in memory, and of data in its address space. */
void usage_memory(double *resident, double *reserved);
/* Processor time so far, of all threads, in seconds. */
double usage_cpu_seconds(void);
/* Bytes that it has read from and written to disks so far. */
void usage_disk(double *read, double *written);
/* What is loaded into it: "glibc-2.36 libm.so.6 libgomp.so.1.0.0". */
void usage_libraries(struct buf *out);
