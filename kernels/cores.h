#ifndef KERNELS_CORES_H
#define KERNELS_CORES_H

#include <sched.h>
#include <stdbool.h>

/*
 * cores - how many threads a computation of this process should have
 *
 *      n = cores_count("", &allowed);
 *
 * Two processors of one core (hyper-threads) share its arithmetic units, so a
 * second thread there is no gain for products of matrices.  The count is that
 * of the cores of which the process may use a processor, as its affinity says,
 * but no more than the quota of processor time of its control group, rounded
 * up: containers often limit the time and not the processors.  At least 1.
 *
 * The files of the kernel are read below `root`; "" is the machine's own.
 * They are described in the kernel's documentation, cputopology.rst and
 * cgroup-v2.rst.  Where they are missing, each processor is a core.
 */
int cores_count(const char *root, const cpu_set_t *allowed);

/*
 * The same for one of several ranks of a machine.  `shared`: all have the same
 * affinity.  If that is not known, an affinity that is no larger than an equal
 * share of the machine is taken for one that the launcher gave to this rank
 * alone.
 */
int cores_of_rank(int local_ranks, bool shared);

#endif
