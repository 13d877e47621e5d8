#pragma once

#include <stdatomic.h>

#include "store/write/run.h"

/*
 * monitor - record what a program uses of the machine
 *
 *      struct monitor *m = monitor_start(run, 10, &step);
 *      ...
 *      monitor_stop(m);                before run_end()
 *
 * At regular intervals a thread reads the processor time and memory of this
 * process, what it has read from and written to disks, the traffic of the
 * machine's network, and the GPUs, by NVML.  The metrics are named as in
 * gtrain: system/cpu_util, system/rss_bytes, system/gpu_util; and
 * system/1/gpu_util for the second GPU.  The first reading is taken after the
 * first interval, so that a short run has none.
 */
struct monitor;

/* The metrics are logged at *step.  NULL if no thread can be started. */
struct monitor *monitor_start(struct run *, double every,
                              const atomic_llong *step);
void monitor_stop(struct monitor *); /* may be NULL */
