#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"

/*
 * rehearse_place - is a folder, or a job script, fit for a job?
 *
 *      if (!rehearse_place("ckpt", bytes, true, &text))
 *          puts(text.s);
 *
 * Both return whether it is, and append what was found, or what to change.
 */

/* Can files be written below the path, which need not exist, and is there room
 * for `bytes` bytes?  `lasting`: it must not be in memory. */
bool rehearse_place(const char *path, int64_t bytes, bool lasting,
                    struct buf *text);

/* The nearest folder above a path, or the path itself, that exists; the caller
 * frees it. */
char *rehearse_existing(const char *path);

/*
 * Run a job script with srun, mpirun and gtrain replaced by programs that end
 * with status 75, as after a signal, and with a scontrol and an sbatch that
 * only record how they are called.  The script must resume automatically and
 * queue the job again, and for Slurm ask for a signal before the time limit,
 * early enough to write a checkpoint of so many bytes.  The folder is for these
 * programs.
 */
bool rehearse_script(const char *script, const char *folder,
                     const char *checkpoints, int64_t bytes, struct buf *text);
