#ifndef TRAINER_RANKS_LAUNCH_H
#define TRAINER_RANKS_LAUNCH_H

#include <stddef.h>

#include "common/err.h"

/*
 * launch - who am I among the processes of this job?
 *
 * launch_detect() reads the environment that a launcher left:
 *
 *      mpirun, srun with PMIx      LAUNCH_MPI, if MPI was built in
 *      gtrain --ranks N            LAUNCH_TCP, started by local_ranks_run()
 *      torchrun                    LAUNCH_TCP: RANK WORLD_SIZE LOCAL_RANK
 *                                  MASTER_ADDR MASTER_PORT
 *      srun                        LAUNCH_TCP: SLURM_PROCID and the step's
 *                                  node list; no MPI is needed
 *      nothing                     LAUNCH_ALONE
 *
 * Under torchrun MASTER_PORT belongs to torchrun itself, which is listening on
 * it, when TORCHELASTIC_USE_AGENT_STORE is True; then a port made from the run
 * id and the restart count is used.  For srun it is 20000 + job id % 12000.
 *
 * how: "auto", "none", "mpi", "tcp", "torchrun", "slurm".
 */
enum launch_kind { LAUNCH_ALONE, LAUNCH_MPI, LAUNCH_TCP };

struct launch {
    enum launch_kind kind;
    int rank, size, local_rank, local_size;
    char host[256];             /* where rank 0 listens */
    int port;
    int listener;               /* rank 0's socket, open already; or -1 */
    char token[128];            /* of this job: strangers are turned away */
};

int launch_detect(struct launch *, const char *how, struct err *);

/*
 * Start n processes of argv on this machine as ranks 0 to n-1 and wait for
 * them.  The signals of sig.h are passed on.  The first rank to fail is
 * named in e, with its own words, or with those alone where all say the same;
 * the kind is such that this program ends with the same status.  The others are
 * ended after a moment of grace; so are those that linger when rank 0 has ended
 * well, which is no failure.
 */
int local_ranks_run(char **argv, int n, struct err *);

/* A rank of local_ranks_run() leaves reporting e to it: takes the text. */
void local_ranks_report(struct err *e);

/* Settings that are wrong are so for every rank, whoever launched them, and
 * rank 0 says it: takes the text of the others, which -v shows. */
void launch_mute(struct err *e);

/* First host of a Slurm node list: "gpu[003-006,9],login1" is "gpu003". */
int launch_first_host(char *out, size_t room, const char *list, struct err *);

#endif
