#include "config.h"
#include "store/alert/alert.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/http/http.h"
#include "common/mem.h"
#include "common/output/emit.h"
#include "common/spawn.h"
#include "common/utf8.h"

const char *const alert_format_words[] = {
    [ALERT_AUTO] = "auto",       [ALERT_JSON] = "json", [ALERT_SLACK] = "slack",
    [ALERT_DISCORD] = "discord", [ALERT_NTFY] = "ntfy", NULL,
};

/* ---- what is sent ------------------------------------------------------ */

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
    char *host;

    if (a->format != ALERT_AUTO)
        return (enum alert_format)a->format;
    host = http_host(a->url.s);
    for (size_t i = 0; host && i < sizeof known / sizeof known[0]; i++)
        if (strcmp(host, known[i].host) == 0)
            format = known[i].format;
    free(host);
    return format;
}

/* The message as one line in which names have no meaning: in Slack, markup
 * begins with <, and in Discord any of these may be. */
static void write_plain(enum alert_format format, const char *message,
                        struct buf *out)
{
    struct buf line = BUF_INIT;

    utf8_visible(&line, message);
    for (const char *s = line.s; *s; s++) {
        if (format == ALERT_DISCORD && strchr("\\*_~`|<>[]()#@", *s))
            buf_char(out, '\\');
        if (format == ALERT_SLACK && strchr("&<>", *s))
            buf_str(out, *s == '&' ? "&amp;" : *s == '<' ? "&lt;" : "&gt;");
        else
            buf_char(out, *s);
    }
    buf_clear(&line);
}

/* Slack and Discord: mentions in the text call nobody. */
static void write_chat(enum alert_format format, const char *message,
                       struct emit *o)
{
    struct buf text = BUF_INIT;

    write_plain(format, message, &text);
    emit_text(o, format == ALERT_SLACK ? "text" : "content", text.s);
    buf_clear(&text);
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

/* ---- how it is sent ---------------------------------------------------- */

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
    struct http_reply reply = HTTP_REPLY_INIT;
    struct buf body = BUF_INIT, place = BUF_INIT;
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
    http_reply_clear(&reply);
    buf_clear(&place);
    buf_clear(&body);
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
    char *text = xasprintf("To: %s\nSubject: gtrack: %s\n"
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
    free(text);
    return ret;
}

int alert_send(struct alert *a, const char *root, const struct run_info *r,
               struct err *e)
{
    char *message = write_message(a, r);
    const int ret = a->webhook   ? send_webhook(a, r, message, e)
                    : a->command ? run_command(a, root, r, message, e)
                                 : send_mail(a, r, message, e);

    free(message);
    return ret;
}

/* ---- beginning and end ------------------------------------------------- */

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
        return err_set(e, ERR_USAGE,
                       "--webhook expects a URL, such as "
                       "https://hooks.slack.com/..., or @FILE");
    a->http = http_open(&conf, e);
    return a->http ? 0 : -1;
}

int alert_open(struct alert *a, struct err *e)
{
    if (!a->command + !a->webhook + !a->mail != 2)
        return err_set(e, ERR_USAGE,
                       "an alert needs --do, --webhook or --mail, and only one "
                       "of them");
    if (a->mail && (a->mail[strcspn(a->mail, " \t\r\n")] || !*a->mail))
        return err_set(e, ERR_USAGE, "--mail expects one address, not '%s'",
                       a->mail);
    return a->webhook ? open_webhook(a, e) : 0;
}

void alert_target(const struct alert *a, struct buf *out)
{
    if (a->webhook)
        add_origin(a->url.s, out);
    else
        buf_str(out, a->mail ? a->mail : "a command");
}

void alert_close(struct alert *a)
{
    http_close(a->http);
    buf_clear(&a->url);
}
