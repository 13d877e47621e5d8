#pragma once

#include "common/buf.h"
#include "common/err.h"
#include "store/read/runs.h"

/*
 * alert - tell somebody that something is true of a run
 *
 *      struct alert a = { .when = "status = 'FAILED'", .mail = "me@lab.org" };
 *
 *      if (alert_open(&a, e) < 0 || alert_send(&a, root, run, e) < 0)
 *          ...
 *      alert_close(&a);
 *
 * One of command, webhook and mail says how.  The command is run by sh -c, with
 * the run in GTRACK_RUN_ID, GTRACK_RUN_NAME and GTRACK_ROOT, and the message in
 * GTRACK_ALERT.
 * A webhook gets what Slack, Discord or ntfy expects, or a JSON object; a URL
 * of the form @FILE is read from that file.  Mail is handed to sendmail(8).
 *
 * The path and the query of a webhook are a secret: they are sent to its host
 * only, without redirects, and errors and alert_target() have *** instead.
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

int alert_open(struct alert *, struct err *);
int alert_send(struct alert *, const char *root, const struct run_info *,
               struct err *);
/* Where alerts go, as "https://hooks.slack.com" and *** for what is secret. */
void alert_target(const struct alert *, struct buf *out);
void alert_close(struct alert *);
