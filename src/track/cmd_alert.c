/*
 * gtrack alert - tell somebody when something becomes true of a run
 */
#include "config.h"

#include "common/log.h"
#include "common/opt.h"
#include "common/sig.h"
#include "store/alert/alert_list.h"
#include "store/query/filter.h"
#include "track/runs/track.h"

static struct track_selection selection = TRACK_SELECTION_INIT;
static struct alert alert = { .url = BUF_INIT };
static const char *name;
static double every;
static bool once, detach;

static const struct opt alert_opts[] = {
    TRACK_OPT_ROOT,
    TRACK_OPT_EXPERIMENT(selection),
    { 0, "when", "filter", OPT_STRING, &alert.when,
      "raise an alert for each run for which FILTER becomes true (default: "
      "the alerts of the file that GTRACK_ALERTS names)" },
    { 0, "do", "command", OPT_STRING, &alert.command,
      "run COMMAND with the shell" },
    { 0, "webhook", "url", OPT_SECRET, &alert.webhook,
      "send the alert to URL; @FILE reads it from FILE" },
    { 0, "format", "word", OPT_WORD, &alert.format,
      "send what this service expects: %s (default: auto, by the host)",
      alert_format_words },
    { 0, "mail", "address", OPT_STRING, &alert.mail,
      "send mail to ADDRESS with sendmail" },
    { 0, "name", "name", OPT_STRING, &name,
      "note the alert in the tag alert.NAME (default: a digest)" },
    { 0, "every", "time", OPT_SECS, &every,
      "look at the runs at this interval (default: that of the file, or 10s)",
      .range = OPT_FROM(0.1) },
    { 0, "once", NULL, OPT_FLAG, &once, "look at the runs once, and exit" },
    { 0, "detach", NULL, OPT_FLAG, &detach,
      "look in the background until the runs have ended, and an hour longer "
      "while alerts cannot be delivered" },
    { 0 }
};

static int read_alerts(struct alert_list *list, struct err *e)
{
    if (alert.when)
        return alert_list_add(list, &alert, name, e);
    if (name || alert.command || alert.webhook || alert.mail)
        return err_usage(e, "alert needs --when with a filter, such as --when "
                            "'train/loss is not finite'");
    return alert_list_read(list, e);
}

/* What is not there may come, or is a mistake. */
static void warn_of_missing(const struct alert_list *list,
                            struct track_words *words)
{
    AUTO(runs_free) struct runs runs = { 0 };
    struct err e = { 0 };

    if (track_select_words(words, &runs, &e) < 0 && e.kind == ERR_MISSING)
        log_warn("waiting, as %s", e.text);
    for (size_t i = 0; i < list->n; i++) {
        struct err why = { 0 };
        struct filter *f = filter_parse(list->item[i].alert.when, &why);

        if (f && filter_resolve(f, &runs, &why) < 0)
            log_warn("waiting, as %s", why.text);
        filter_free(f);
    }
}

static int alert_main(int argc, char **argv, struct err *e)
{
    AUTO(alert_list_clear) struct alert_list list = { 0 };
    struct track_words words = { &selection, argc, argv };
    struct alert_watch watch = { .list = &list,
                                 .root = track_store(),
                                 .every = every,
                                 .once = once,
                                 .to_end = detach,
                                 .load = track_select_words,
                                 .arg = &words };

    if (read_alerts(&list, e) < 0)
        return -1;
    warn_of_missing(&list, &words);
    if (detach && daemon(1, 0) < 0)
        return err_sys(e, "cannot continue in the background");
    sig_watch();
    return alert_watch(&watch, e);
}

const struct cmd cmd_alert = {
    .name = "alert",
    .args = "[RUN|FILTER]...",
    .help = "tell somebody when something becomes true of a run",
    .opts = alert_opts,
    .run = alert_main,
};
