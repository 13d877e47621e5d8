#pragma once

#include "common/opt.h"
#include "store/read/runs.h"
#include "trainer/engine/engine.h"

/*
 * recorded_run - a command that computes steps of a run again
 *
 *      static struct recorded_run recorded = RECORDED_RUN_INIT;
 *      static const struct opt opts[] = { RECORDED_RUN_OPTS(recorded), { 0 } };
 *
 *      return recorded_run_open(&recorded, "run42", replay_job, e);
 *
 * The engine that the function gets is open for training, with the settings and
 * the data of the run, and with the ranks, the threads and the instructions of
 * the run unless the user chose others, or this machine lacks them.  All of
 * these may have been changed when the run was resumed: they are of the attempt
 * that computed `step`.  A batch that followed from the number of ranks stays
 * that of the run.
 *
 * It is an error if the parameters, which others show, are not the settings in
 * config.ini.
 */
struct recorded_run {
    const char *root, *device;
    struct opt_list sets;
    int64_t ranks; /* 0: those of the run */
    int64_t step;  /* that will be computed; 0: the last one */
};

#define RECORDED_RUN_INIT ((struct recorded_run){ .root = "mlruns" })

/* clang-format off */
#define RECORDED_RUN_OPTS(r) \
    { 0, "root", "dir", OPT_STRING, &(r).root, \
      "look for the run in the store DIR (default: mlruns)" }, \
    { 0, "device", "name", OPT_STRING, &(r).device, \
      "compute on NAME (default: as the run, or the CPU)" }, \
    { 's', "set", "section.key=value", OPT_LIST, &(r).sets, \
      "change one setting (may be given many times)" }
/* clang-format on */

typedef int recorded_run_fn(struct engine *, const struct run_info *,
                            struct err *);

/* The word names one run, as in gtrack(1); NULL is the newest. */
int recorded_run_open(struct recorded_run *, const char *word,
                      recorded_run_fn *use, struct err *);

/* The same in parts, to look at the run before an engine is open. */
struct runs;
int recorded_run_find(struct runs *, const struct recorded_run *,
                      const char *word, struct err *);
int recorded_run_use(const struct recorded_run *, const struct run_info *,
                     recorded_run_fn *use, struct err *);

/* The processes that compute `step`. */
int64_t recorded_run_ranks(const struct recorded_run *,
                           const struct run_info *);
