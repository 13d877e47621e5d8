#ifndef TRACK_ALERTS_H
#define TRACK_ALERTS_H

#include "common/mem.h"
#include "track/alert.h"
#include "track/runs/track.h"

/*
 * alerts - look at runs, and raise the alerts whose conditions hold
 *
 *      struct alerts a = ALERTS_INIT;
 *
 *      if (alerts_read(&a, "alerts.ini", e) < 0 ||
 *          alerts_look(&a, &selection, NULL, 0, e) < 0)
 *          ...
 *      alerts_clear(&a);
 *
 * The tag alert.NAME of a run says whether the last alert was raised, or has
 * been cleared because its condition no longer holds; so an event is reported
 * once, by whichever process looks.  The run is locked in between, unless its
 * file system has no locks.  The tag is written after the alert was sent: if
 * this process is killed in between, the alert is sent twice.
 *
 * In the file, each section is an alert: its name, and what the options of the
 * same names say.  Before them may be how often to look.
 *
 *      every = 30s
 *      [lost]
 *      when = train/loss is not finite
 *      mail = me@lab.org
 */
struct alerts {
    struct arena mem;
    struct alerts_item {
        char *key; /* of the tag */
        struct alert alert;
    } * item;
    size_t n, room;
    double every; /* seconds; 0 if no file says so */
    bool running; /* of the runs that were looked at last, some were */
};

#define ALERTS_INIT                                                            \
 {                                                                             \
  ARENA_INIT, NULL, 0, 0, 0, false                                             \
 }

/* Add an alert, opened; without a name, it gets a digest of itself. */
int alerts_add(struct alerts *, const struct alert *, const char *name,
               struct err *);
/* Add those of a file. */
int alerts_read(struct alerts *, const char *path, struct err *);
/* Add those of the file that GTRACK_ALERTS names. */
int alerts_read_default(struct alerts *, struct err *);
/* Look at the runs, at all of them also after one that failed.  A metric that
 * no run has yet, and a store that does not exist yet, are no error. */
int alerts_look(struct alerts *, const struct track_selection *, char **words,
                int n, struct err *);
void alerts_clear(struct alerts *);

#endif
