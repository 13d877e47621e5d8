#pragma once

/*
 * provenance - tags that tell where a run comes from
 *
 *      mlflow.source.git.commit .branch .repoURL .dirty .diff
 *      gtrack.host .system .cpu .memory .gpus .driver .libraries
 *      gtrack.slurm.job_id ...
 *
 * They describe the git repository of the working directory, the machine, the
 * libraries that are loaded, and Slurm's variables.  The difference from the
 * commit is stored as the artifact git.diff, up to a mebibyte of it, and its
 * beginning as a tag.  What cannot be found out is left out.  As git may take
 * some time, this is done in a thread, which takes a few seconds at most.
 */
#include <stdbool.h>
#include <stddef.h>

struct buf;
struct point_queue;
struct provenance;

/* The tags go to the queue of the run that is in this folder. */
struct provenance *provenance_start(struct point_queue *, const char *run);
void provenance_end(struct provenance *); /* wait, and free; may be NULL */

/* The configuration of a repository may come with it, and name programs to run:
 * those are switched off here and in the arguments of the calls. */
#define PROVENANCE_GIT                                                         \
    "git", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never"

/* The output of a command line of git, of at most max bytes (0: 256 MiB); false
 * if it fails, or takes longer than this time (0: any). */
bool provenance_git(struct buf *out, size_t max, double secs,
                    const char *const *argv);
/* Does the repository of the working directory itself, not the user, configure
 * filters, which git would run to compare or pack files? */
bool provenance_has_filter(void);
