/*
 * gtrack alert - tell somebody when something becomes true of a run
 *
 * The tag alert.NAME of a run says whether the last alert was raised, or has
 * been cleared because its condition no longer holds; so an event is reported
 * once, by whichever process looks.  The tag is written after the alert was
 * sent: if this process is killed in between, the alert is sent twice.
 */
#include "config.h"
#include "track/cmds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/sha256.h"
#include "common/sig.h"
#include "store/edit.h"
#include "store/query/filter.h"
#include "store/key.h"
#include "track/alert.h"
#include "track/runs/track.h"

static struct track_selection selection = TRACK_SELECTION_INIT;
static struct alert alert = { .url = BUF_INIT };
static const char *name;
static double every = 10;
static bool once;

static const struct opt alert_opts[] = {
    TRACK_OPT_ROOT,
    TRACK_OPT_EXPERIMENT(selection),
    { 0, "when", "filter", OPT_STRING, &alert.when,
      "raise an alert for each run for which FILTER becomes true" },
    { 0, "do", "command", OPT_STRING, &alert.command,
      "run COMMAND with the shell" },
    { 0, "webhook", "url", OPT_STRING, &alert.webhook,
      "send the alert to URL; @FILE reads it from FILE" },
    { 0, "format", "word", OPT_WORD, &alert.format,
      "send what this service expects: %s (default: auto, by the host)",
      alert_format_words },
    { 0, "mail", "address", OPT_STRING, &alert.mail,
      "send mail to ADDRESS with sendmail" },
    { 0, "name", "name", OPT_STRING, &name,
      "note the alert in the tag alert.NAME (default: a digest)" },
    { 0, "every", "time", OPT_SECS, &every,
      "look at the runs at this interval (default: 10s)" },
    { 0, "once", NULL, OPT_FLAG, &once, "look at the runs once, and exit" },
    { 0 }
};

/* The tag that the same alert has next time: alert.NAME. */
static char *tag_key(void)
{
    struct buf target = BUF_INIT;
    char text[SHA256_TEXT];
    struct sha256 h;

    if (name)
        return xasprintf("alert.%s", name);
    alert_target(&alert, &target);
    sha256_init(&h);
    sha256_add(&h, alert.when, strlen(alert.when) + 1);
    sha256_add(&h, target.s, target.len);
    sha256_text(&h, text);
    buf_clear(&target);
    return xasprintf("alert.%.8s", text);
}

static int note_alert(const struct run_info *r, const char *key,
                      const char *word, struct err *e)
{
    struct buf value = BUF_INIT;
    char now[32];
    int ret;

    buf_printf(&value, "%s %s: %s; to ", word, clock_utc(now, clock_wall_ms()),
               alert.when);
    alert_target(&alert, &value);
    ret = edit_tag(r, key, value.s, e);
    buf_clear(&value);
    return ret;
}

/* Raise or clear the alert of one run, if it has to be. */
static int look_at(const struct run_info *r, const struct filter *f,
                   const char *key, struct err *e)
{
    const char *was = run_info_tag(r, key);
    const bool raised = was && strncmp(was, "raised", 6) == 0;
    const bool holds = filter_match(f, r);

    if (raised == holds)
        return 0;
    if (raised)
        return note_alert(r, key, "cleared", e);
    if (alert_send(&alert, r, e) < 0)
        return -1;
    log_info("%s: %s", r->name, alert.when);
    return note_alert(r, key, "raised", e);
}

/* Load the runs and look up the names of the filter. */
static int find_runs(struct runs *runs, struct filter *f, char **words, int n,
                     struct err *e)
{
    if (track_select(runs, &selection, words, n, e) < 0)
        return -1;
    return filter_resolve(f, runs, e);
}

/* Look at all runs, also after one that failed.  A metric that no run has yet,
 * and a store that does not exist yet, are no error. */
static int look_at_all(char **words, int n, const char *key, struct err *e)
{
    struct filter *f = filter_parse(alert.when, e);
    struct runs runs = RUNS_INIT;
    int ret = f ? find_runs(&runs, f, words, n, e) : -1;

    if (ret < 0 && e->kind == ERR_MISSING) {
        *e = (struct err)ERR_INIT;
        runs.n = 0;
        ret = 0;
    }
    for (size_t i = 0; f && i < runs.n && !sig_caught(); i++) {
        struct err why = ERR_INIT;

        if (look_at(&runs.run[i], f, key, &why) < 0 && ret == 0) {
            *e = why;
            ret = -1;
        }
    }
    filter_free(f);
    runs_free(&runs);
    return ret;
}

static void wait_for_next(void)
{
    const struct timespec until = clock_after(CLOCK_MONOTONIC, every);

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static int watch_runs(char **words, int n, struct err *e)
{
    char *key = tag_key();
    const char *problem = key_problem(key);
    int ret = problem ? err_set(e, ERR_USAGE, "--name: %s", problem) : 0;

    while (ret == 0) {
        ret = look_at_all(words, n, key, e);
        if (once || (ret < 0 && e->kind == ERR_USAGE) || sig_caught())
            break;
        if (ret < 0)
            log_warn("%s; trying again", e->text);
        *e = (struct err)ERR_INIT;
        ret = 0;
        wait_for_next();
        if (sig_caught())
            break;
    }
    free(key);
    return ret;
}

static int alert_main(int argc, char **argv, struct err *e)
{
    struct filter *f;
    int ret;

    if (!alert.when)
        return err_set(e, ERR_USAGE,
                       "alert needs --when with a filter, such as --when "
                       "'train/loss is not finite'");
    f = filter_parse(alert.when, e);
    if (!f)
        return -1;
    filter_free(f);
    if (every < 0.1)
        return err_set(e, ERR_USAGE, "--every expects 100ms or more, not %gs",
                       every);
    ret = alert_open(&alert, e);
    sig_watch();
    if (ret == 0)
        ret = watch_runs(argv, argc, e);
    alert_close(&alert);
    return ret;
}

const struct cmd cmd_alert = {
    .name = "alert",
    .args = "[RUN|FILTER]...",
    .help = "tell somebody when something becomes true of a run",
    .opts = alert_opts,
    .run = alert_main,
};
