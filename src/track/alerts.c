#include "config.h"
#include "track/alerts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/conf.h"
#include "common/log.h"
#include "common/num.h"
#include "common/sha256.h"
#include "common/sig.h"
#include "store/format/key.h"
#include "store/query/filter.h"
#include "store/write/edit.h"

/* ---- one run ----------------------------------------------------------- */

static bool is_raised(const struct run_info *r, const char *key)
{
    const char *was = run_info_tag(r, key);

    return was && strncmp(was, "raised", 6) == 0;
}

static int note_alert(const struct run_info *r, const struct alerts_item *a,
                      const char *word, struct err *e)
{
    struct buf value = BUF_INIT;
    char now[32];
    int ret;

    buf_printf(&value, "%s %s: %s; to ", word, clock_utc(now, clock_wall_ms()),
               a->alert.when);
    alert_target(&a->alert, &value);
    ret = edit_tag(r, a->key, value.s, e);
    buf_clear(&value);
    return ret;
}

static int send_alert(struct alerts_item *a, const struct run_info *r,
                      struct err *e)
{
    if (alert_send(&a->alert, r, e) < 0)
        return -1;
    log_info("%s: %s", r->name, a->alert.when);
    return note_alert(r, a, "raised", e);
}

/* Raise the alert, unless another process has just done so. */
static int raise_alert(struct alerts_item *a, const struct run_info *r,
                       struct err *e)
{
    const int fd = open(r->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char *const ids[] = { (char *)(uintptr_t)r->id };
    struct runs now = RUNS_INIT;
    int ret;

    if (fd >= 0)
        flock(fd, LOCK_EX);
    ret = runs_load_ids(&now, track_store(), ids, 1, LOAD_NO_METRICS, e);
    if (ret == 0 && now.n == 1 && !is_raised(&now.run[0], a->key))
        ret = send_alert(a, r, e);
    runs_free(&now);
    if (fd >= 0)
        close(fd);
    return ret;
}

/* Raise or clear the alert of one run, if it has to be. */
static int look_at(struct alerts_item *a, const struct run_info *r,
                   const struct filter *f, struct err *e)
{
    const bool holds = filter_match(f, r);

    if (is_raised(r, a->key) == holds)
        return 0;
    return holds ? raise_alert(a, r, e) : note_alert(r, a, "cleared", e);
}

/* ---- all runs ---------------------------------------------------------- */

/* One alert; the first error is reported, and the other runs looked at. */
static int look_at_all(struct alerts_item *a, const struct runs *runs,
                       struct err *e)
{
    struct filter *f = filter_parse(a->alert.when, e);
    int ret = f ? filter_resolve(f, runs, e) : -1;

    if (ret < 0) {
        filter_free(f);
        if (e->kind != ERR_MISSING)
            return -1;
        *e = (struct err)ERR_INIT;
        return 0;
    }
    for (size_t i = 0; i < runs->n && !sig_caught(); i++) {
        struct err why = ERR_INIT;

        if (look_at(a, &runs->run[i], f, &why) < 0 && ret == 0) {
            *e = why;
            ret = -1;
        }
    }
    filter_free(f);
    return ret;
}

static int look_at_runs(struct alerts *a, const struct runs *runs,
                        struct err *e)
{
    int ret = 0;

    for (size_t i = 0; i < runs->n; i++)
        a->running = a->running || runs->run[i].status == RUN_RUNNING;
    for (size_t i = 0; i < a->n; i++) {
        struct err why = ERR_INIT;

        if (look_at_all(&a->item[i], runs, &why) < 0 && ret == 0) {
            *e = why;
            ret = -1;
        }
    }
    return ret;
}

int alerts_look(struct alerts *a, const struct track_selection *selection,
                char **words, int n, struct err *e)
{
    struct runs runs = RUNS_INIT;
    int ret = track_select(&runs, selection, words, n, e);

    a->running = false;
    if (ret == 0)
        ret = look_at_runs(a, &runs, e);
    else if (e->kind == ERR_MISSING) {
        *e = (struct err)ERR_INIT;
        ret = 0;
    }
    runs_free(&runs);
    return ret;
}

/* ---- which alerts ------------------------------------------------------ */

/* The tag that the same alert has next time: alert.NAME. */
static char *tag_key(const struct alert *a, const char *name)
{
    struct buf target = BUF_INIT;
    char text[SHA256_TEXT];
    struct sha256 h;

    if (name)
        return xasprintf("alert.%s", name);
    alert_target(a, &target);
    sha256_init(&h);
    sha256_add(&h, a->when, strlen(a->when) + 1);
    sha256_add(&h, target.s, target.len);
    sha256_text(&h, text);
    buf_clear(&target);
    return xasprintf("alert.%.8s", text);
}

int alerts_add(struct alerts *a, const struct alert *alert, const char *name,
               struct err *e)
{
    struct filter *f = filter_parse(alert->when, e);
    struct alerts_item *item;
    const char *problem;

    if (!f)
        return -1;
    filter_free(f);
    GROW(a->item, a->n, a->room);
    item = &a->item[a->n++];
    *item = (struct alerts_item){ NULL, *alert };
    if (alert_open(&item->alert, e) < 0)
        return -1;
    item->key = tag_key(&item->alert, name);
    problem = key_problem(item->key);
    return problem ? err_set(e, ERR_USAGE, "the name of an alert: %s", problem)
                   : 0;
}

/* The alerts of a file while it is read. */
struct reading {
    struct arena *mem;
    struct section {
        const char *name, *where;
        struct alert alert;
    } * item;
    size_t n, room;
    double every;
};

static struct alert *find_section(struct reading *r, const char *name,
                                  const char *where)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->item[i].name, name) == 0)
            return &r->item[i].alert;
    GROW(r->item, r->n, r->room);
    r->item[r->n] = (struct section){ arena_strdup(r->mem, name),
                                      arena_strdup(r->mem, where),
                                      { .url = BUF_INIT } };
    return &r->item[r->n++].alert;
}

static int set_format(struct alert *a, const char *word)
{
    for (int i = 0; alert_format_words[i]; i++)
        if (strcmp(alert_format_words[i], word) == 0) {
            a->format = i;
            return 0;
        }
    return -1;
}

static int set_interval(struct reading *r, const char *value, const char *where,
                        struct err *e)
{
    if (num_secs(value, &r->every) && r->every >= 0.1)
        return 0;
    return err_set(e, ERR_USAGE, "%s: every expects 100ms or more, not '%s'",
                   where, value);
}

static int read_setting(void *arg, const char *key, const char *value,
                        const char *where, struct err *e)
{
    struct reading *r = arg;
    const char *dot = strrchr(key, '.');
    char *name = dot ? xstrndup(key, (size_t)(dot - key)) : NULL;
    struct alert *a = name ? find_section(r, name, where) : NULL;
    const char **text = !a                             ? NULL
                        : strcmp(dot, ".when") == 0    ? &a->when
                        : strcmp(dot, ".do") == 0      ? &a->command
                        : strcmp(dot, ".webhook") == 0 ? &a->webhook
                        : strcmp(dot, ".mail") == 0    ? &a->mail
                                                       : NULL;

    free(name);
    if (strcmp(key, "every") == 0)
        return set_interval(r, value, where, e);
    if (text)
        *text = arena_strdup(r->mem, value);
    else if (!a || strcmp(dot, ".format") != 0)
        err_set(e, ERR_USAGE,
                "%s: expected [NAME] and then when, do, webhook, format or "
                "mail, not %s",
                where, dot ? dot + 1 : key);
    else if (set_format(a, value) < 0)
        err_set(e, ERR_USAGE,
                "%s: format expects auto, json, slack, discord or ntfy, not "
                "'%s'",
                where, value);
    return e->kind == ERR_NONE ? 0 : -1;
}

static int add_section(struct alerts *a, const struct section *s, struct err *e)
{
    if (!s->alert.when)
        return err_set(e, ERR_USAGE, "%s: the alert needs when = FILTER",
                       s->where);
    return alerts_add(a, &s->alert, s->name, e) < 0
               ? err_wrap(e, "%s", s->where)
               : 0;
}

int alerts_read(struct alerts *a, const char *path, struct err *e)
{
    struct reading r = { .mem = &a->mem };
    int ret = conf_walk(path, read_setting, &r, e);

    for (size_t i = 0; ret == 0 && i < r.n; i++)
        ret = add_section(a, &r.item[i], e);
    if (ret == 0 && r.n == 0)
        ret = err_set(e, ERR_USAGE, "%s has no alerts", path);
    if (r.every > 0)
        a->every = r.every;
    free(r.item);
    return ret;
}

int alerts_read_default(struct alerts *a, struct err *e)
{
    const char *path = getenv("GTRACK_ALERTS");

    if (!path || !*path)
        return err_set(e, ERR_USAGE,
                       "there are no alerts; set GTRACK_ALERTS to a file of "
                       "alerts, or use gtrack alert --when");
    return alerts_read(a, path, e);
}

void alerts_clear(struct alerts *a)
{
    for (size_t i = 0; i < a->n; i++) {
        alert_close(&a->item[i].alert);
        free(a->item[i].key);
    }
    free(a->item);
    arena_clear(&a->mem);
    *a = (struct alerts)ALERTS_INIT;
}
