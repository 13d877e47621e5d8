#pragma once

#include <stddef.h>

#include "common/buf.h"

/*
 * limits - how much processor time and memory this process may use
 *
 *      if (limits_processors("") < threads)
 *          ...
 *      if (need > limits_memory("", from, sizeof from))
 *          log_warn("%s allows less", from);
 *
 * The least limit of the process's control groups and of the groups above them
 * counts, in either version of control groups.  Files are read below `root`;
 * "" is this machine.  What the kernel does not tell is INFINITY.
 */

/* The quota of processor time, as a number of processors. */
double limits_processors(const char *root);

/*
 * The bytes of memory.  `from`, if it is not NULL, becomes the path of the file
 * that limits them, or "" if the machine has no more.
 */
double limits_memory(const char *root, char *from, size_t room);

double limits_machine_memory(const char *root);

/* Read the first line of a file below `root` into room; "" if there is none. */
const char *limits_line(char *room, size_t size, const char *root,
                        const char *path);

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
