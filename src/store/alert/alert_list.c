#include "config.h"
#include "store/alert/alert_list.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/conf.h"
#include "common/filelock.h"
#include "common/log.h"
#include "common/num.h"
#include "common/sha256.h"
#include "common/sig.h"
#include "store/format/key.h"
#include "store/format/store.h"
#include "store/query/filter.h"
#include "store/write/edit.h"

/* ---- one run ----------------------------------------------------------- */

static bool is_raised(const struct run_info *r, const char *key)
{
    const char *was = run_info_tag(r, key);

    return was && strncmp(was, "raised", 6) == 0;
}

static int note_alert(const struct run_info *r, const struct alert_item *a,
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

/* A file in the run for each alert, since servers know no locks of folders. */
static int lock_alert(const struct run_info *r, const struct alert_item *a,
                      char **path, struct err *e)
{
    *path = xasprintf("%s/" STORE_OWN "/%s.lock", r->folder, a->key);
    for (char *c = *path + strlen(*path) - strlen(a->key); *c; c++)
        *c = *c == '/' ? '.' : *c;
    return filelock_open(*path, e);
}

/* Raise the alert, unless another process has just done so, or does it now. */
static int raise_alert(struct alert_item *a, const char *root,
                       const struct run_info *r, struct err *e)
{
    char *const ids[] = { (char *)(uintptr_t)r->id };
    struct runs now = { 0 };
    struct err why = { 0 };
    char *path;
    const int fd = lock_alert(r, a, &path, &why);
    int ret = 0;

    if (why.kind == ERR_BUSY)
        goto out;
    ret = runs_load_ids(&now, root, ids, 1,
                        LOAD_NO_METRICS | (r->links ? LOAD_LINKS : 0), e);
    if (ret == 0 && now.n == 1 && !is_raised(&now.run[0], a->key)) {
        ret = alert_send(&a->alert, root, r, e);
        if (ret == 0) {
            log_info("%s: %s", r->name, a->alert.when);
            ret = note_alert(r, a, "raised", e);
        }
    }
    runs_free(&now);

out:
    if (fd >= 0) {
        unlink(path);
        close(fd);
    }
    free(path);
    return ret;
}

/* Raise or clear the alert of one run, if it has to be. */
static int look_at(struct alert_item *a, const char *root,
                   const struct run_info *r, const struct filter *f,
                   struct err *e)
{
    const int holds = filter_match(f, r, e);

    if (holds < 0)
        return -1;
    if (is_raised(r, a->key) == holds)
        return 0;
    return holds ? raise_alert(a, root, r, e) : note_alert(r, a, "cleared", e);
}

/* ---- all runs ---------------------------------------------------------- */

/* One alert; the first error is reported, and the other runs looked at. */
static int look_at_all(struct alert_item *a, const char *root,
                       const struct runs *runs, struct err *e)
{
    struct filter *f = filter_parse(a->alert.when, e);
    int ret = f ? filter_resolve(f, runs, e) : -1;

    if (ret < 0) {
        filter_free(f);
        if (e->kind != ERR_MISSING)
            return -1;
        *e = (struct err){ 0 };
        return 0;
    }
    for (size_t i = 0; i < runs->n && !sig_caught(); i++) {
        struct err why = { 0 };

        if (look_at(a, root, &runs->run[i], f, &why) < 0 && ret == 0) {
            *e = why;
            ret = -1;
        }
    }
    filter_free(f);
    return ret;
}

int alert_list_look(struct alert_list *l, const char *root,
                    const struct runs *runs, struct err *e)
{
    int ret = 0;

    for (size_t i = 0; i < l->n; i++) {
        struct err why = { 0 };

        if (look_at_all(&l->item[i], root, runs, &why) < 0 && ret == 0) {
            *e = why;
            ret = -1;
        }
    }
    return ret;
}

/* ---- which alerts ------------------------------------------------------ */

/* The tag that records the alert from one start to the next: alert.NAME. */
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

int alert_list_add(struct alert_list *l, const struct alert *alert,
                   const char *name, struct err *e)
{
    struct filter *f = filter_parse(alert->when, e);
    struct alert_item *item;
    const char *problem;

    if (!f)
        return -1;
    filter_free(f);
    GROW(l->item, l->n, l->room);
    item = &l->item[l->n++];
    *item = (struct alert_item){ NULL, *alert };
    if (alert_open(&item->alert, e) < 0)
        return -1;
    item->key = tag_key(&item->alert, name);
    problem = key_problem(item->key);
    return problem ? err_set(e, ERR_USAGE, "the name of an alert: %s", problem)
                   : 0;
}

/* The file while it is read. */
struct alert_file {
    struct arena *mem;
    struct section {
        const char *name, *where;
        struct alert alert;
    } * item;
    size_t n, room;
    double every;
};

static struct alert *find_section(struct alert_file *f, const char *name,
                                  const char *where)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->item[i].name, name) == 0)
            return &f->item[i].alert;
    GROW(f->item, f->n, f->room);
    f->item[f->n] = (struct section){ arena_strdup(f->mem, name),
                                      arena_strdup(f->mem, where),
                                      { .url = BUF_INIT } };
    return &f->item[f->n++].alert;
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

static int set_interval(struct alert_file *f, const char *value,
                        const char *where, struct err *e)
{
    if (num_secs(value, &f->every) && f->every >= 0.1)
        return 0;
    return err_set(e, ERR_USAGE, "%s: every expects 100ms or more, not '%s'",
                   where, value);
}

static int read_setting(void *arg, const char *key, const char *value,
                        const char *where, struct err *e)
{
    struct alert_file *f = arg;
    const char *dot = strrchr(key, '.');
    char *name = dot ? xstrndup(key, (size_t)(dot - key)) : NULL;
    struct alert *a = name ? find_section(f, name, where) : NULL;
    const char **text = !a                             ? NULL
                        : strcmp(dot, ".when") == 0    ? &a->when
                        : strcmp(dot, ".do") == 0      ? &a->command
                        : strcmp(dot, ".webhook") == 0 ? &a->webhook
                        : strcmp(dot, ".mail") == 0    ? &a->mail
                                                       : NULL;

    free(name);
    if (strcmp(key, "every") == 0)
        return set_interval(f, value, where, e);
    if (text)
        *text = arena_strdup(f->mem, value);
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

static int add_section(struct alert_list *l, const struct section *s,
                       struct err *e)
{
    if (!s->alert.when)
        return err_set(e, ERR_USAGE, "%s: the alert needs when = FILTER",
                       s->where);
    return alert_list_add(l, &s->alert, s->name, e) < 0
               ? err_wrap(e, "%s", s->where)
               : 0;
}

int alert_list_read(struct alert_list *l, struct err *e)
{
    const char *path = getenv("GTRACK_ALERTS");
    struct alert_file f = { .mem = &l->mem };
    int ret;

    if (!path || !*path)
        return err_set(e, ERR_USAGE,
                       "there are no alerts; set GTRACK_ALERTS to a file of "
                       "alerts, or use gtrack alert --when");
    ret = conf_walk(path, read_setting, &f, e);
    for (size_t i = 0; ret == 0 && i < f.n; i++)
        ret = add_section(l, &f.item[i], e);
    if (ret == 0 && f.n == 0)
        ret = err_set(e, ERR_USAGE, "%s has no alerts", path);
    if (f.every > 0)
        l->every = f.every;
    free(f.item);
    return ret;
}

void alert_list_clear(struct alert_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        alert_close(&l->item[i].alert);
        free(l->item[i].key);
    }
    free(l->item);
    arena_clear(&l->mem);
    *l = (struct alert_list){ 0 };
}
