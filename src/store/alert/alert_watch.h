#pragma once

#include "store/alert/alert_list.h"

/*
 * alert_watch - look at runs again and again, and raise their alerts
 *
 *      struct alert_watch w = { .list = &list, .root = "mlruns",
 *                               .load = load, .arg = &selection };
 *
 *      ret = alert_watch(&w, e);
 *
 * Looks until a signal arrives.  What fails is tried again the next time, with
 * a warning; only a mistake of the user (ERR_USAGE) is returned at once.
 *
 *      struct alert_writer a;
 *
 *      alert_writer_fork(&a);
 *      ret = run_begin(&run, &conf, e);
 *      alert_writer_begin(&a, ret == 0 ? run_folder(run) : NULL);
 *
 * If GTRACK_ALERTS names a file with alerts, a program that writes a run thus
 * makes a process that looks at this run until it has ended.  It is not a
 * thread, so it also reports that the writer was killed, and a command that it
 * runs or a slow server does not delay the writer.  As it shares the memory of
 * the program, it has to be made before there are threads or devices; it waits
 * until it is told the run.  If no process can be made, or the file has
 * mistakes, alert_writer_begin() warns, and the run is written without alerts.
 */
struct alert_watch {
    struct alert_list *list;
    const char *root;
    double every; /* seconds; 0: what the file says, or 10 */
    bool once;    /* look once */
    bool to_end;  /* until the runs have ended, and an hour longer while alerts
                   * cannot be delivered */
    int (*load)(void *arg, struct runs *, struct err *);
    void *arg;
};

int alert_watch(struct alert_watch *, struct err *);

struct alert_writer {
    int fd; /* to the process; -1: there is none */
    struct err problem;
};

void alert_writer_fork(struct alert_writer *);
/* The folder of the run; NULL if it did not begin. */
void alert_writer_begin(struct alert_writer *, const char *folder);
