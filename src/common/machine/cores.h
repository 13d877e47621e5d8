#pragma once

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"

/*
 * cores - how many threads a computation of this process should have, and where
 *
 *      cores_read_own(&c);
 *      dev.threads = c.threads;
 *
 * Two processors of one core (hyper-threads) share its arithmetic units, so a
 * second thread there is no gain for products of matrices: cores are counted,
 * of which the process may use a processor, as its affinity says.
 *
 * On a hybrid machine, operations whose work is divided into equal shares wait
 * for the slowest thread.  So the slow cores have threads only where all cores
 * at the speed of the slowest one do more than the fast cores alone.  Fast
 * cores have at least three quarters of the speed of the fastest one.  Speeds
 * are the capacities that the kernel tells; where it has none, an efficiency
 * core of Intel's has half the speed of the others.  Frequencies are not read:
 * they say nothing of what a core does in a cycle.
 *
 * There are no more threads than the quota of processor time (limits.h),
 * rounded up: containers often limit the time and not the processors.
 *
 * The files of the kernel are described in its documentation: cputopology.rst,
 * sysfs-devices-system-cpu and sysfs-devices-node.  Where they are missing or
 * cannot be parsed, each processor is a core, all cores are equally fast, and
 * the machine has one node.
 */
enum { CORES_NODES = 64 };

struct cores {
    int cpus, n, fast; /* processors, their cores, and the fast ones */
    int threads;       /* that a computation should have, at least 1 */
    int nodes;         /* NUMA nodes of the cores; 1 if they are unknown */
    struct cores_node {
        cpu_set_t cpus; /* the processors that may be used */
        int cores;
    } node[CORES_NODES];
};

/* Read the files below `root`; "" is this machine. */
void cores_read(struct cores *, const char *root, const cpu_set_t *allowed);

/* The cores that this process may use. */
void cores_read_own(struct cores *);

/* The processors that this process may use, within the quota, at least 1: as
 * many threads as work should have that hyper-threads speed up. */
int cores_processors(void);

/*
 * The threads of one of several ranks of this machine.  `shared`: all have the
 * same affinity.  If that is not known, an affinity that is no larger than an
 * equal share of the machine is taken for one that the launcher gave to this
 * rank alone.
 */
int cores_of_rank(int local_ranks, bool shared);

/*
 * Append a value of OMP_PLACES that keeps the threads of a rank on the NUMA
 * nodes where its share of the cores is: a place for each of these nodes.  The
 * ranks' shares are contiguous, in the order of the nodes.  With
 * OMP_PROC_BIND=spread, the first threads are then on the first node, and so
 * on, so that a thread that has the same share of two loops finds its memory
 * where it was.
 *
 * Returns false if threads should go wherever the kernel wants: if there is one
 * node, or fewer threads than cores, or fewer cores than ranks, or if the nodes
 * have different numbers of cores.
 */
bool cores_places(const struct cores *, int rank, int ranks, struct buf *out);

/*
 * Set OMP_PLACES and OMP_PROC_BIND for a program that this process executes
 * next, as a rank that has its share of what this process may use.  For one of
 * several ranks, OMP_NUM_THREADS is set to the cores of its share, unless it is
 * set.  If the user has set OMP_PLACES or OMP_PROC_BIND, or if cores_places()
 * has none, nothing is set, and the result is false.
 */
bool cores_place(int rank, int ranks);

/* "", or what is special about the cores: ", 8 fast and 4 slow cores". */
void cores_describe(const struct cores *, char *out, size_t room);

/*
 * threads - do the parts of a work at once
 *
 *      struct part part[8] = ...;
 *
 *      threads_run(read_part, part, sizeof part[0], 8);
 *
 * Calls the function with each of n parts, which are of this size, or with the
 * same one n times if the size is 0: one in this thread, and each other in a
 * thread of its own.  If one cannot be started, this thread does that part as
 * well, later.
 */
void threads_run(void (*work)(void *), void *part, size_t size, int n);

/* Like pthread_create(), for a thread that takes no signals: they are for the
 * program's own threads. */
int threads_start(pthread_t *, void *(*work)(void *), void *arg);
