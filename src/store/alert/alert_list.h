#pragma once

#include "common/buf.h"
#include "common/err.h"
#include "common/mem.h"
#include "store/read/runs.h"

/*
 * alert_list - look at runs, and raise the alerts whose conditions hold
 *
 *      struct alert_list list = { 0 };
 *
 *      if (alert_list_read(&list, e) < 0 ||
 *          alert_list_look(&list, "mlruns", &runs, e) < 0)
 *          ...
 *      alert_list_clear(&list);
 *
 * The tag alert.NAME of a run says whether the last alert was raised, or has
 * been cleared because its condition no longer holds; so an event is reported
 * once, by whichever process looks.  A file in the run, of this alert, is
 * locked meanwhile, unless its file system has no locks; a process that finds
 * it locked leaves the event until its next look.  The tag is written after the
 * alert was sent: if this process is killed in between, the alert is sent
 * twice.
 *
 * gtrack(1), alert, describes the file.
 */

/*
 * An alert tells somebody that something is true of a run:
 *
 *      struct alert a = { .when = "status = 'FAILED'", .mail = "me@lab.org" };
 *
 * One of command, webhook and mail says how, like the options of gtrack alert.
 * A webhook of the form @FILE is read from that file.
 *
 * The path and the query of a webhook are a secret: they are sent to its host
 * only, without redirects, and errors and tags have *** instead.
 */
enum alert_format {
    ALERT_AUTO, /* by the host of the webhook */
    ALERT_JSON,
    ALERT_SLACK,
    ALERT_DISCORD,
    ALERT_NTFY,
};

extern const char *const alert_format_words[];

struct alert {
    const char *when;
    const char *command, *webhook, *mail; /* exactly one is set */
    int format;                           /* enum alert_format */
    struct buf url;                       /* of the webhook */
    struct http *http;
};

struct alert_list {
    struct arena mem;
    struct alert_item {
        char *key; /* of the tag */
        struct alert alert;
    } * item;
    size_t n, room;
    double every; /* seconds; 0 if no file says so */
};

/* Add an alert, opened; without a name, it gets a digest of itself. */
int alert_list_add(struct alert_list *, const struct alert *, const char *name,
                   struct err *);
/* Add the alerts of the file that GTRACK_ALERTS names. */
int alert_list_read(struct alert_list *, struct err *);
/* Look at runs of the store `root`, at all of them also after one that failed.
 * A metric that no run has yet is no error. */
int alert_list_look(struct alert_list *, const char *root, const struct runs *,
                    struct err *);
void alert_list_clear(struct alert_list *);

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
