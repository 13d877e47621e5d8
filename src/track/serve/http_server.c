#include "config.h"
#include "track/serve/http_server.h"

#include <inttypes.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "common/clock.h"
#include "common/dl.h"
#include "common/log.h"
#include "common/mem.h"
#include "track/serve/answer.h"
#include "track/serve/guard.h"

/* -- libmicrohttpd --------------------------------------------------------- */

/* It needs a library of cryptography, which takes longer to load than most
 * commands run, so it is opened when it is needed. */
/* clang-format off */
#define MHD_CALLS(X) \
    X(start_daemon, MHD_start_daemon) \
    X(stop_daemon, MHD_stop_daemon) \
    X(run, MHD_run) \
    X(get_timeout, MHD_get_timeout) \
    X(get_daemon_info, MHD_get_daemon_info) \
    X(get_connection_info, MHD_get_connection_info) \
    X(lookup, MHD_lookup_connection_value) \
    X(get_values, MHD_get_connection_values) \
    X(create_response, MHD_create_response_from_buffer) \
    X(create_file, MHD_create_response_from_fd64) \
    X(create_stream, MHD_create_response_from_callback) \
    X(add_header, MHD_add_response_header) \
    X(queue_response, MHD_queue_response) \
    X(destroy_response, MHD_destroy_response) \
    X(suspend, MHD_suspend_connection) \
    X(resume, MHD_resume_connection)

struct mhd { MHD_CALLS(DL_POINTER) };

#define ROW(member, function) DL_ROW(struct mhd, member, function)
/* clang-format on */

static const struct dl_symbol symbols[] = { MHD_CALLS(ROW){ NULL, 0 } };

/* -- the server ------------------------------------------------------------ */

enum {
    MOST_CONNECTIONS = 1000,
    MOST_STRANGERS = 256,
    STRANGER_SECS = 10,
    MOST_HEADERS = 128 << 10, /* bytes: a URL may name a thousand runs */
    MOST_BODY = 1 << 20,
    IDLE_SECS = 30,
    MOST_UNREAD = 1 << 20, /* of a stream that its reader does not take */
};

struct stream {
    struct http_server *server;
    struct MHD_Connection *connection;
    struct buf text; /* not sent yet */
    int store;
    bool waits; /* suspended, since there is nothing to send */
    bool ends;
};

/* A connection that no request with the cookie has come through yet.  Anybody
 * on this machine can open one, so that the oldest one is dropped when there
 * are too many, and each one after a while, however busy it is. */
struct stranger {
    int fd;
    double since;
};

struct http_server {
    struct mhd lib;
    struct stranger **stranger; /* the oldest first */
    size_t n_strangers, stranger_room;
    struct MHD_Daemon *daemon;
    const struct guard *guard;
    http_answer_fn *answer;
    void *arg;
    struct stream **stream;
    size_t n_streams, stream_room;
};

/* A request whose headers, or whose body, are still arriving. */
struct arriving {
    char *url; /* path and query as they were sent */
    struct buf body;
    bool started, too_long;
};

/* -- answers --------------------------------------------------------------- */

static const struct {
    const char *name, *value;
} headers[] = {
    { "X-Content-Type-Options", "nosniff" },
    { "X-Frame-Options", "DENY" },
    { "Referrer-Policy", "no-referrer" },
    { "Cross-Origin-Resource-Policy", "same-origin" },
    { "Cross-Origin-Opener-Policy", "same-origin" },
    { "Cache-Control", "no-store" },
};

static const char page_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; media-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
static const char sandbox_policy[] =
    "default-src 'none'; style-src 'unsafe-inline'; sandbox; "
    "frame-ancestors 'none'";

static void add_headers(struct http_server *h, struct MHD_Response *r,
                        const struct answer *a)
{
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        h->lib.add_header(r, headers[i].name, headers[i].value);
    h->lib.add_header(r, "Content-Security-Policy",
                      a->sandbox ? sandbox_policy : page_policy);
    h->lib.add_header(r, "Content-Type",
                      a->type ? a->type : "application/json; charset=utf-8");
    if (a->mark) {
        char mark[32];

        snprintf(mark, sizeof mark, "\"%016" PRIx64 "\"", a->mark);
        h->lib.add_header(r, "ETag", mark);
    }
    if (a->file) {
        AUTO(buf_clear) struct buf b = BUF_INIT;

        buf_printf(&b, "%s; filename=\"", a->attach ? "attachment" : "inline");
        for (const char *s = a->file; *s; s++)
            buf_char(&b,
                     *s >= ' ' && *s < 127 && !strchr("\"\\%;", *s) ? *s : '_');
        buf_char(&b, '"');
        h->lib.add_header(r, "Content-Disposition", b.s);
    }
}

static const char *header(struct http_server *h, struct MHD_Connection *c,
                          const char *name)
{
    return h->lib.lookup(c, MHD_HEADER_KIND, name);
}

/* Queue a response, and let go of it. */
static enum MHD_Result queue(struct http_server *h, struct MHD_Connection *c,
                             unsigned status, struct MHD_Response *r)
{
    const enum MHD_Result ret =
        r ? h->lib.queue_response(c, status, r) : MHD_NO;

    if (r)
        h->lib.destroy_response(r);
    return ret;
}

static enum MHD_Result send_answer(struct http_server *h,
                                   struct MHD_Connection *c, struct answer *a)
{
    const unsigned status = a->status ? (unsigned)a->status : MHD_HTTP_OK;
    const bool gzip = a->fd < 0 &&
                      answer_gzip_is_wanted(header(h, c, "Accept-Encoding")) &&
                      answer_gzip(&a->body);
    struct MHD_Response *r =
        a->fd >= 0 ? h->lib.create_file(a->size, a->fd)
                   : h->lib.create_response(a->body.len, a->body.s,
                                            MHD_RESPMEM_MUST_COPY);

    if (r)
        a->fd = -1; /* the response closes it */
    if (r)
        add_headers(h, r, a);
    if (r && gzip)
        h->lib.add_header(r, "Content-Encoding", "gzip");
    return queue(h, c, status, r);
}

/* Refuse a request; a person may have opened the URL, so it is plain text. */
static enum MHD_Result refuse(struct http_server *h, struct MHD_Connection *c,
                              int status, const char *why)
{
    AUTO(answer_clear) struct answer a = ANSWER_INIT;

    a.status = status;
    a.type = "text/plain; charset=utf-8";
    buf_printf(&a.body, "%s\n", why);
    return send_answer(h, c, &a);
}

/* Set the cookie and go to the page, whose URL has no token. */
static enum MHD_Result let_in(struct http_server *h, struct MHD_Connection *c)
{
    struct answer a = ANSWER_INIT;
    struct MHD_Response *r =
        h->lib.create_response(0, buf_empty, MHD_RESPMEM_PERSISTENT);
    char session[GUARD_SESSION], *cookie, *page;

    guard_begin(h->guard, time(NULL), session);
    cookie = xasprintf("%s=%s; HttpOnly; SameSite=Lax; Path=/%s/",
                       h->guard->cookie, session, h->guard->path);
    page = xasprintf("/%s/", h->guard->path);

    if (r) {
        add_headers(h, r, &a);
        h->lib.add_header(r, "Set-Cookie", cookie);
        h->lib.add_header(r, "Location", page);
    }
    FREE(page, cookie);
    return queue(h, c, MHD_HTTP_SEE_OTHER, r);
}

/* -- streams --------------------------------------------------------------- */

static ssize_t read_stream(void *arg, uint64_t at UNUSED, char *out,
                           size_t most)
{
    struct stream *s = arg;
    const size_t n = s->text.len < most ? s->text.len : most;

    if (n == 0 && s->ends)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (n == 0) {
        s->waits = true;
        s->server->lib.suspend(s->connection);
        return 0;
    }
    memcpy(out, s->text.s, n);
    memmove(s->text.s, s->text.s + n, s->text.len - n);
    buf_trim(&s->text, s->text.len - n);
    return (ssize_t)n;
}

static void free_stream(void *arg)
{
    AUTO_FREE struct stream *s = arg;
    struct http_server *h = s->server;

    for (size_t i = 0; i < h->n_streams; i++)
        if (h->stream[i] == s)
            h->stream[i] = h->stream[--h->n_streams];
    buf_clear(&s->text);
}

static enum MHD_Result open_stream(struct http_server *h,
                                   struct MHD_Connection *c,
                                   const struct answer *a)
{
    struct stream *s = xcalloc(1, sizeof *s);
    struct MHD_Response *r;

    *s = (struct stream){
        .server = h, .connection = c, .text = BUF_INIT, .store = a->stream - 1
    };
    buf_add(&s->text, a->body.s, a->body.len);
    APPEND(h->stream, h->n_streams, h->stream_room) = s;
    r = h->lib.create_stream(MHD_SIZE_UNKNOWN, 1024, read_stream, s,
                             free_stream);
    if (!r)
        free_stream(s);
    else
        add_headers(h, r, a);
    return queue(h, c, MHD_HTTP_OK, r);
}

static void wake(struct stream *s)
{
    if (s->waits) {
        s->waits = false;
        s->server->lib.resume(s->connection);
    }
}

void http_server_send(struct http_server *h, int store, const char *text)
{
    for (size_t i = 0; i < h->n_streams; i++) {
        struct stream *s = h->stream[i];

        if (store >= 0 && s->store != store)
            continue;
        if (s->text.len > MOST_UNREAD)
            s->ends = true;
        else
            buf_str(&s->text, text);
        wake(s);
    }
}

size_t http_server_streams(const struct http_server *h)
{
    return h->n_streams;
}

/* -- strangers ------------------------------------------------------------- */

static struct stranger *stranger_of(struct http_server *h,
                                    struct MHD_Connection *c)
{
    return h->lib.get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
        ->socket_context;
}

static void forget_stranger(struct http_server *h, struct stranger *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < h->n_strangers; i++)
        if (h->stranger[i] != s)
            h->stranger[kept++] = h->stranger[i];
    h->n_strangers = kept;
}

/* End the oldest connections; libmicrohttpd closes them. */
static void drop_strangers(struct http_server *h)
{
    const double since = clock_mono() - STRANGER_SECS;

    while (h->n_strangers > MOST_STRANGERS ||
           (h->n_strangers && h->stranger[0]->since < since)) {
        shutdown(h->stranger[0]->fd, SHUT_RDWR);
        forget_stranger(h, h->stranger[0]);
    }
}

static void on_connection(void *arg, struct MHD_Connection *c, void **con,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http_server *h = arg;
    struct stranger *s = *con;

    if (what == MHD_CONNECTION_NOTIFY_CLOSED && s) {
        forget_stranger(h, s);
        free(s);
        *con = NULL;
    } else if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *con = s = xcalloc(1, sizeof *s);
        s->fd =
            h->lib.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)
                ->connect_fd;
        s->since = clock_mono();
        APPEND(h->stranger, h->n_strangers, h->stranger_room) = s;
        drop_strangers(h);
    }
}

/* -- requests -------------------------------------------------------------- */

/* Called with the first line of a request; returns what goes with it. */
static void *begin_request(void *arg UNUSED, const char *url,
                           struct MHD_Connection *c UNUSED)
{
    struct arriving *r = xcalloc(1, sizeof *r);

    r->url = xstrdup(url);
    r->body = BUF_INIT;
    return r;
}

static void end_request(void *arg UNUSED, struct MHD_Connection *c UNUSED,
                        void **con, enum MHD_RequestTerminationCode why UNUSED)
{
    struct arriving *r = *con;

    if (r) {
        free(r->url);
        buf_clear(&r->body);
        free(r);
    }
    *con = NULL;
}

/* How often a request has the headers that may be there once. */
struct header_counts {
    int hosts, lengths, encodings;
};

static enum MHD_Result count_header(void *arg, enum MHD_ValueKind kind UNUSED,
                                    const char *name, const char *value UNUSED)
{
    struct header_counts *n = arg;

    n->hosts += strcasecmp(name, "Host") == 0;
    n->lengths += strcasecmp(name, "Content-Length") == 0;
    n->encodings += strcasecmp(name, "Transfer-Encoding") == 0;
    return MHD_YES;
}

static struct header_counts count_headers(struct http_server *h,
                                          struct MHD_Connection *c)
{
    struct header_counts n = { 0 };

    h->lib.get_values(c, MHD_HEADER_KIND, count_header, &n);
    return n;
}

static enum guard_verdict ask_guard(struct http_server *h,
                                    struct MHD_Connection *c, bool post,
                                    const char *query, struct err *e)
{
    AUTO(query_clear) struct query q = { 0 };
    struct guard_request g = {
        header(h, c, "Host"),      header(h, c, "Origin"),
        header(h, c, "Cookie"),    NULL,
        count_headers(h, c).hosts, post
    };

    if (query_parse(&q, query, ERR_IGNORED) == 0)
        g.token = query_get(&q, "token");
    return guard_check(h->guard, &g, e);
}

static enum MHD_Result answer_request(struct http_server *h,
                                      struct MHD_Connection *c,
                                      const struct arriving *r, bool post)
{
    const char *url = guard_path(h->guard, r->url);
    const size_t n = url ? strcspn(url, "?") : 0;
    AUTO_FREE char *path = xstrndup(url ? url : "", n);
    const struct http_request request = {
        .post = post,
        .path = path,
        .query = url && url[n] ? url + n + 1 : "",
        .body = r->body.s,
    };
    AUTO(answer_clear) struct answer a = ANSWER_INIT;
    struct err e = { 0 };
    const enum guard_verdict verdict =
        url ? ask_guard(h, c, post, request.query, &e) : GUARD_REFUSE;
    enum MHD_Result ret;

    if (verdict != GUARD_REFUSE)
        forget_stranger(h, stranger_of(h, c));
    if (!url)
        err_usage(
            &e, "open the URL with the token that gtrack serve printed when it "
                "started");
    if (verdict == GUARD_REFUSE) {
        ret = refuse(h, c, MHD_HTTP_FORBIDDEN, e.text);
    } else if (verdict == GUARD_ENTER) {
        ret = let_in(h, c);
    } else {
        h->answer(h->arg, &request, &a);
        ret = a.stream ? open_stream(h, c, &a) : send_answer(h, c, &a);
    }
    return ret;
}

/* Called when the headers have arrived, then with each part of the body, and
 * then once more. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *c,
                                  const char *url UNUSED, const char *method,
                                  const char *version UNUSED, const char *data,
                                  size_t *size, void **con)
{
    struct http_server *h = arg;
    struct arriving *r = *con;
    const bool post = strcmp(method, "POST") == 0;

    if (!post && strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return refuse(h, c, MHD_HTTP_METHOD_NOT_ALLOWED,
                      "this server answers GET only");
    if (!r->started) {
        const struct header_counts n = count_headers(h, c);

        r->started = true;
        if (n.encodings > 0 || n.lengths > 1)
            return refuse(h, c, MHD_HTTP_BAD_REQUEST,
                          "the length of a request is a single Content-Length");
        return MHD_YES;
    }
    if (*size) {
        r->too_long = r->too_long || r->body.len + *size > MOST_BODY;
        if (!r->too_long)
            buf_add(&r->body, data, *size);
        *size = 0;
        return MHD_YES;
    }
    if (r->too_long)
        return refuse(h, c, 413, "the body of the request is too long");
    return answer_request(h, c, r, post);
}

static void log_trouble(void *arg UNUSED, const char *format, va_list ap)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;

    buf_vprintf(&b, format, ap);
    while (b.len && b.s[b.len - 1] == '\n')
        buf_trim(&b, b.len - 1);
    log_debug("%s", b.s);
}

struct http_server *http_server_open(int fd, const struct guard *guard,
                                     http_answer_fn *answer, void *arg,
                                     struct err *e)
{
    struct http_server *h = xcalloc(1, sizeof *h);

    h->guard = guard;
    h->answer = answer;
    h->arg = arg;
    if (dl_load(&h->lib, symbols, "libmicrohttpd.so.12", e) < 0) {
        err_wrap(e, "gtrack serve needs libmicrohttpd");
        free(h);
        return NULL;
    }
    h->daemon = h->lib.start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL,
        NULL, on_request, h, MHD_OPTION_EXTERNAL_LOGGER, log_trouble, NULL,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)MOST_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_SECS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)MOST_HEADERS, MHD_OPTION_URI_LOG_CALLBACK, begin_request, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, end_request, NULL,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_END);
    if (!h->daemon) {
        err_set(e, ERR_SYSTEM, "libmicrohttpd cannot serve on this socket");
        free(h);
        return NULL;
    }
    return h;
}

int http_server_fd(const struct http_server *h)
{
    return h->lib.get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)
        ->epoll_fd;
}

double http_server_wait(const struct http_server *h, double most)
{
    MHD_UNSIGNED_LONG_LONG ms;

    if (h->lib.get_timeout(h->daemon, &ms) != MHD_YES ||
        (double)ms > most * 1000)
        return most;
    return (double)ms / 1000;
}

void http_server_run(struct http_server *h)
{
    drop_strangers(h);
    h->lib.run(h->daemon);
}

void http_server_close(struct http_server *h)
{
    for (size_t i = 0; i < h->n_streams; i++) {
        h->stream[i]->ends = true;
        wake(h->stream[i]);
    }
    h->lib.run(h->daemon);
    h->lib.stop_daemon(h->daemon);
    FREE(h->stream, h->stranger, h);
}
