#include "config.h"
#include "store/alert/alert_list.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/conf.h"
#include "common/save.h"
#include "common/log.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/sha256.h"
#include "common/sig.h"
#include "common/spawn.h"
#include "common/utf8.h"
#include "common/http/http.h"
#include "common/output/emit.h"
#include "store/format/key.h"
#include "store/format/store.h"
#include "store/query/filter.h"
#include "store/write/edit.h"

const char *const alert_format_words[] = {
    [ALERT_AUTO] = "auto",       [ALERT_JSON] = "json", [ALERT_SLACK] = "slack",
    [ALERT_DISCORD] = "discord", [ALERT_NTFY] = "ntfy", NULL,
};

/* ---- what is sent -------------------------------------------------------- */

static char *write_message(const struct alert *a, const struct run_info *r)
{
    return xasprintf("%s (%s): %s%s%s", r->name, run_status_word(r->status),
                     a->when, r->state_reason ? "; " : "",
                     r->state_reason ? r->state_reason : "");
}

static enum alert_format format_of(const struct alert *a)
{
    static const struct {
        const char *host;
        enum alert_format format;
    } known[] = {
        { "hooks.slack.com", ALERT_SLACK },
        { "discord.com", ALERT_DISCORD },
        { "discordapp.com", ALERT_DISCORD },
        { "ntfy.sh", ALERT_NTFY },
    };
    enum alert_format format = ALERT_JSON;
    AUTO_FREE char *host = NULL;

    if (a->format != ALERT_AUTO)
        return (enum alert_format)a->format;
    host = http_host(a->url.s);
    for (size_t i = 0; host && i < sizeof known / sizeof known[0]; i++)
        if (strcmp(host, known[i].host) == 0)
            format = known[i].format;
    return format;
}

/* The message as one line in which names have no meaning: in Slack, markup
 * begins with <, and in Discord any of these may be. */
static void write_plain(enum alert_format format, const char *message,
                        struct buf *out)
{
    AUTO(buf_clear) struct buf line = BUF_INIT;

    utf8_visible(&line, message);
    for (const char *s = line.s; *s; s++) {
        if (format == ALERT_DISCORD && strchr("\\*_~`|<>[]()#@", *s))
            buf_char(out, '\\');
        if (format == ALERT_SLACK && strchr("&<>", *s))
            buf_str(out, *s == '&' ? "&amp;" : *s == '<' ? "&lt;" : "&gt;");
        else
            buf_char(out, *s);
    }
}

/* Slack and Discord: mentions in the text call nobody. */
static void write_chat(enum alert_format format, const char *message,
                       struct emit *o)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;

    write_plain(format, message, &text);
    emit_text(o, format == ALERT_SLACK ? "text" : "content", text.s);
    if (format == ALERT_SLACK) {
        emit_bool(o, "mrkdwn", false);
        emit_bool(o, "link_names", false);
    } else {
        emit_object(o, "allowed_mentions");
        emit_array(o, "parse");
        emit_array_end(o);
        emit_object_end(o);
    }
}

static void write_body(enum alert_format format, const struct alert *a,
                       const struct run_info *r, const char *message,
                       struct buf *out)
{
    struct emit o = { .b = out };

    if (format == ALERT_NTFY) {
        buf_str(out, message);
        return;
    }
    emit_object(&o, NULL);
    if (format != ALERT_JSON) {
        write_chat(format, message, &o);
    } else {
        emit_text(&o, "message", message);
        emit_text(&o, "when", a->when);
        emit_text(&o, "run_id", r->id);
        emit_text(&o, "run_name", r->name);
        emit_text(&o, "experiment", r->experiment);
        emit_text(&o, "status", run_status_word(r->status));
    }
    emit_object_end(&o);
}

/* ---- how it is sent ------------------------------------------------------ */

/* The end of "https://host:port". */
static size_t origin_length(const char *url)
{
    const char *host = strstr(url, "://");

    return host ? (size_t)(host - url) + 3 + strcspn(host + 3, "/?#") : 0;
}

static void add_origin(const char *url, struct buf *out)
{
    const char *user = memrchr(url, '@', origin_length(url));

    if (user) /* user:password@host */
        buf_printf(out, "%.*s", (int)(strstr(url, "://") - url) + 3, url);
    buf_add(out, user ? user + 1 : url,
            origin_length(url) - (size_t)(user ? user + 1 - url : 0));
    buf_str(out, "/***");
}

static int send_webhook(struct alert *a, const struct run_info *r,
                        const char *message, struct err *e)
{
    static const char *const json[] = { "Content-Type: application/json",
                                        NULL };
    static const char *const text[] = { "Content-Type: text/plain",
                                        "Title: gtrack", NULL };
    const enum alert_format format = format_of(a);
    AUTO(http_reply_clear) struct http_reply reply = HTTP_REPLY_INIT;
    AUTO(buf_clear) struct buf body = BUF_INIT, place = BUF_INIT;
    struct http_call call = {
        .url = a->url.s,
        .header = format == ALERT_NTFY ? text : json,
        .stay = true,
    };
    struct err why = { 0 };
    int ret;

    write_body(format, a, r, message, &body);
    call.body = body.s;
    call.len = body.len;
    ret = http_do(a->http, &call, &reply, &why);
    add_origin(a->url.s, &place);
    if (ret < 0 && reply.status)
        err_set(e, why.kind, "%s: the server answered %ld", place.s,
                reply.status);
    else if (ret < 0)
        err_set(e, why.kind, "%s: no answer from the server", place.s);
    return ret;
}

/* Other alerts wait for a command; after this time it is taken for hanging. */
enum { MOST_SECS = 60 };

static int run_command(const struct alert *a, const char *root,
                       const struct run_info *r, const char *message,
                       struct err *e)
{
    const char *const argv[] = { "sh", "-c", a->command, NULL };
    struct spawn s = { .in = message,
                       .in_len = strlen(message),
                       .secs = MOST_SECS };

    setenv("GTRACK_ALERT", message, 1);
    setenv("GTRACK_RUN_ID", r->id, 1);
    setenv("GTRACK_RUN_NAME", r->name, 1);
    setenv("GTRACK_ROOT", root, 1);
    return spawn_run(argv, &s, e);
}

static int send_mail(const struct alert *a, const struct run_info *r,
                     const char *message, struct err *e)
{
    const char *argv[] = { "sendmail", "-i", "--", a->mail, NULL };
    AUTO_FREE char *text =
        xasprintf("To: %s\nSubject: gtrack: %s\n"
                  "Content-Type: text/plain; charset=utf-8\n\n"
                  "%s\n\n%s\n",
                  a->mail, r->id, message, r->folder);
    struct spawn s = { .in = text, .in_len = strlen(text), .secs = MOST_SECS };
    int ret = spawn_run(argv, &s, e);

    if (ret < 0 && e->kind == ERR_MISSING) { /* few have it in PATH */
        *e = (struct err){ 0 };
        argv[0] = "/usr/sbin/sendmail";
        ret = spawn_run(argv, &s, e);
    }
    return ret;
}

static int send_alert(struct alert *a, const char *root,
                      const struct run_info *r, struct err *e)
{
    AUTO_FREE char *message = write_message(a, r);

    return a->webhook   ? send_webhook(a, r, message, e)
           : a->command ? run_command(a, root, r, message, e)
                        : send_mail(a, r, message, e);
}

/* ---- beginning and end --------------------------------------------------- */

static int open_webhook(struct alert *a, struct err *e)
{
    const struct http_conf conf = { .agent = "gtrack/" PACKAGE_VERSION,
                                    .tries = 1 };

    if (a->webhook[0] != '@')
        buf_str(&a->url, a->webhook);
    else if (buf_read_file(&a->url, a->webhook + 1, 8192, e) < 0)
        return -1;
    buf_trim(&a->url, strcspn(a->url.s, " \t\r\n"));
    if (origin_length(a->url.s) == 0 || strncmp(a->url.s, "http", 4) != 0)
        return err_usage(e, "--webhook expects a URL, such as "
                            "https://hooks.slack.com/..., or @FILE");
    a->http = http_open(&conf, e);
    return a->http ? 0 : -1;
}

static int open_alert(struct alert *a, struct err *e)
{
    if (!a->command + !a->webhook + !a->mail != 2)
        return err_usage(e,
                         "an alert needs --do, --webhook or --mail, and only "
                         "one of them");
    if (a->mail && (a->mail[strcspn(a->mail, " \t\r\n")] || !*a->mail))
        return err_usage(e, "--mail expects one address, not '%s'", a->mail);
    return a->webhook ? open_webhook(a, e) : 0;
}

/* Where alerts go, as "https://hooks.slack.com" and *** for what is secret. */
static void add_target(const struct alert *a, struct buf *out)
{
    if (a->webhook)
        add_origin(a->url.s, out);
    else
        buf_str(out, a->mail ? a->mail : "a command");
}

/* ---- one run ------------------------------------------------------------- */

static bool is_raised(const struct run_info *r, const char *key)
{
    const char *was = run_info_tag(r, key);

    return was && strncmp(was, "raised", 6) == 0;
}

static int note_alert(const struct run_info *r, const struct alert_item *a,
                      const char *word, struct err *e)
{
    AUTO(buf_clear) struct buf value = BUF_INIT;
    char now[32];

    buf_printf(&value, "%s %s: %s; to ", word, clock_utc(now, clock_wall_ms()),
               a->alert.when);
    add_target(&a->alert, &value);
    return edit_tag(r, a->key, value.s, e);
}

/* A file in the run for each alert, since servers know no locks of folders. */
static int lock_alert(const struct run_info *r, const struct alert_item *a,
                      char **path, struct err *e)
{
    *path = xasprintf("%s/" STORE_OWN "/%s.lock", r->folder, a->key);
    for (char *c = *path + strlen(*path) - strlen(a->key); *c; c++)
        *c = *c == '/' ? '.' : *c;
    return filelock_open(*path, 0666, e);
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
        ret = send_alert(&a->alert, root, r, e);
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

/* ---- all runs ------------------------------------------------------------ */

/* One alert; the first error is reported, and the other runs looked at. */
static int look_at_all(struct alert_item *a, const char *root,
                       const struct runs *runs, struct err *e)
{
    struct filter *f = filter_parse(a->alert.when, e);
    int ret = f ? filter_resolve(f, runs, e) : -1;

    if (ret < 0) {
        filter_free(f);
        return err_allow(ret, ERR_MISSING, e);
    }
    for (size_t i = 0; i < runs->n && !sig_caught(); i++) {
        struct err *first = ret == 0 ? e : ERR_IGNORED;

        if (look_at(a, root, &runs->run[i], f, first) < 0)
            ret = -1;
    }
    filter_free(f);
    return ret;
}

int alert_list_look(struct alert_list *l, const char *root,
                    const struct runs *runs, struct err *e)
{
    int ret = 0;

    for (size_t i = 0; i < l->n; i++)
        if (look_at_all(&l->item[i], root, runs, ret == 0 ? e : ERR_IGNORED) <
            0)
            ret = -1;
    return ret;
}

/* ---- which alerts -------------------------------------------------------- */

/* The tag that records the alert from one start to the next: alert.NAME. */
static char *tag_key(const struct alert *a, const char *name)
{
    AUTO(buf_clear) struct buf target = BUF_INIT;
    char text[SHA256_TEXT];
    struct sha256 h;

    if (name)
        return xasprintf("alert.%s", name);
    add_target(a, &target);
    sha256_init(&h);
    sha256_add(&h, a->when, strlen(a->when) + 1);
    sha256_add(&h, target.s, target.len);
    sha256_text(&h, text);
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
    item = &APPEND(l->item, l->n, l->room);
    *item = (struct alert_item){ NULL, *alert };
    if (open_alert(&item->alert, e) < 0)
        return -1;
    item->key = tag_key(&item->alert, name);
    problem = key_problem(item->key);
    return problem ? err_usage(e, "the name of an alert: %s", problem) : 0;
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

static int set_interval(struct alert_file *f, const char *value,
                        const char *where, struct err *e)
{
    if (num_secs(value, &f->every) && f->every >= 0.1)
        return 0;
    return err_usage(e, "%s: every expects 100ms or more, not '%s'", where,
                     value);
}

static int read_setting(void *arg, const char *key, const char *value,
                        const char *where, struct err *e)
{
    struct alert_file *f = arg;
    const char *dot = strrchr(key, '.');
    AUTO_FREE char *name = dot ? xstrndup(key, (size_t)(dot - key)) : NULL;
    struct alert *a = name ? find_section(f, name, where) : NULL;
    const char **text = !a                             ? NULL
                        : strcmp(dot, ".when") == 0    ? &a->when
                        : strcmp(dot, ".do") == 0      ? &a->command
                        : strcmp(dot, ".webhook") == 0 ? &a->webhook
                        : strcmp(dot, ".mail") == 0    ? &a->mail
                                                       : NULL;

    if (strcmp(key, "every") == 0)
        return set_interval(f, value, where, e);
    if (text)
        *text = arena_strdup(f->mem, value);
    else if (!a || strcmp(dot, ".format") != 0)
        err_usage(e,
                  "%s: expected [NAME] and then when, do, webhook, format or "
                  "mail, not %s",
                  where, dot ? dot + 1 : key);
    else if ((a->format = opt_find_word(alert_format_words, value)) < 0)
        err_usage(e,
                  "%s: format expects auto, json, slack, discord or ntfy, not "
                  "'%s'",
                  where, value);
    return e->kind == ERR_NONE ? 0 : -1;
}

static int add_section(struct alert_list *l, const struct section *s,
                       struct err *e)
{
    if (!s->alert.when)
        return err_usage(e, "%s: the alert needs when = FILTER", s->where);
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
        return err_usage(e,
                         "there are no alerts; set GTRACK_ALERTS to a file of "
                         "alerts, or use gtrack alert --when");
    ret = conf_walk(path, false, read_setting, &f, NULL, e);
    for (size_t i = 0; ret == 0 && i < f.n; i++)
        ret = add_section(l, &f.item[i], e);
    if (ret == 0 && f.n == 0)
        ret = err_usage(e, "%s has no alerts", path);
    if (f.every > 0)
        l->every = f.every;
    free(f.item);
    return ret;
}

void alert_list_clear(struct alert_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        http_close(l->item[i].alert.http);
        buf_clear(&l->item[i].alert.url);
        free(l->item[i].key);
    }
    free(l->item);
    arena_clear(&l->mem);
    *l = (struct alert_list){ 0 };
}
