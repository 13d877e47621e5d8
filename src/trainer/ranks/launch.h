#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "trainer/settings/settings.h"

/*
 * launch - find the rank of this process, and the job it belongs to
 *
 * launch_detect() reads the environment that a launcher has set:
 *
 *      mpirun, srun with PMIx      LAUNCH_MPI, if MPI was built in
 *      gtrain --ranks N            LAUNCH_TCP, from local_ranks_run()
 *      torchrun                    LAUNCH_TCP: RANK WORLD_SIZE LOCAL_RANK
 *                                  MASTER_ADDR MASTER_PORT
 *      srun                        LAUNCH_TCP: SLURM_PROCID and the step's
 *                                  node list; no MPI is needed
 *      nothing                     LAUNCH_ALONE
 *
 * The token by which ranks know each other is a hash of the job's id and of a
 * secret; gtrain(1), RANKS, says where that and the port come from.  Without a
 * secret, others can guess the token.
 */
enum launch_kind { LAUNCH_ALONE, LAUNCH_MPI, LAUNCH_TCP };

struct launch {
    enum launch_kind kind;
    int rank, size, local_rank, local_size;
    char host[256]; /* where rank 0 listens */
    int port;
    int listener;      /* the open socket of rank 0, or -1 */
    bool one_host;     /* all ranks are on this machine */
    bool shared_cores; /* and may use the same processors */
    char token[128];   /* of the job: others are rejected */
    bool guessable;    /* there is no secret in the token */
};

int launch_detect(struct launch *, enum launcher, struct err *);

/* Clear the text of an error in the settings on ranks other than 0, so that it
 * is printed once; -v shows it on every rank. */
void launch_mute(struct err *e);

/* The first host of a Slurm node list: "gpu003" for "gpu[003-006,9],login1". */
int launch_first_host(char *out, size_t size, const char *list, struct err *);

/*
 * local_ranks - a job of several processes on this machine
 *
 * local_ranks_run() starts n processes of argv as ranks 0 to n-1 and waits for
 * them.  The signals of sig.h are passed on to them.  If ranks fail, e is the
 * error that explains most, with its rank unless all ranks report the same, and
 * its kind gives the exit status of that rank.  The other ranks are killed
 * after a grace period.  Ranks that are still running some time after rank 0
 * has succeeded are killed, too; that is not a failure.
 */
int local_ranks_run(char *const *argv, int n, struct err *);

/* Called by a rank before it exits: passes e to the process that started it,
 * which will print it, and clears the text. */
void local_ranks_report(struct err *e);
