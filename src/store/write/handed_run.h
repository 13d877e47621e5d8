#ifndef STORE_WRITE_HANDED_RUN_H
#define STORE_WRITE_HANDED_RUN_H

#include <stdbool.h>

#include "store/write/run.h"

/*
 * handed_run - the run that was prepared for this program
 *
 *      struct run_conf c = { .root = "mlruns", .experiment = "c4" };
 *
 *      handed_run_take(&c);
 *      ret = run_begin(&run, &c, e);
 *
 * A program that starts others, such as gtrack sweep, creates a run for each of
 * them and names it in GTRACK_RESUME; GTRACK_ROOT is its store.  The first run
 * that the other program would begin is then this one, resumed, so the program
 * need not know about it.  A conf that has an id, a parent or a run to resume
 * asks for another run and is left alone.
 *
 * handed_run_take() returns true once; it removes the variable, so that the
 * programs that this one starts do not write the same run.
 */
bool handed_run_take(struct run_conf *);

#endif
