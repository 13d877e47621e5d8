#ifndef STORE_WRITE_WATCHER_H
#define STORE_WRITE_WATCHER_H

/*
 * watcher - the process that raises the alerts of a run while it is written
 *
 *      export GTRACK_ALERTS=~/alerts.ini
 *
 * If GTRACK_ALERTS names a file with alerts, whoever begins or resumes a run
 * starts `gtrack alert --detach`, which looks at the run until it has ended.
 * It is a process of its own, so it also reports that the writer was killed.
 */
void watcher_start(const char *folder, const char *id);

#endif
