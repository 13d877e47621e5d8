#include "config.h"
#include "common/http/http.h"

#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/format/secret.h"
#include "common/http/http_impl.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/rng.h"
#include "common/sig.h"

/* -- libcurl ----------------------------------------------------------- */

static struct libcurl lib;
static struct err lib_error = { 0 };

#define ROW(member, function) DL_ROW(struct libcurl, member, function)
static const struct dl_symbol symbols[] = { CURL_CALLS(ROW){ NULL, 0 } };

static void load_libcurl(void)
{
    if (dl_load(&lib, symbols, "libcurl.so.4", &lib_error) == 0)
        lib.global_init(CURL_GLOBAL_DEFAULT);
}

int libcurl_open(struct err *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load_libcurl);
    if (lib_error.kind == ERR_NONE)
        return 0;
    *e = lib_error;
    return -1;
}

const struct libcurl *libcurl(void)
{
    return &lib;
}

enum { MAX_REPLY = 64 << 20, REDIRECTS = 10 };

struct http {
    CURL *curl;
    struct http_conf conf;
    char *agent, *ca, *cert;
    bool ca_is_folder;
    uint64_t waits; /* so far, for the jitter */
};

/* One call, over all its tries. */
struct http_transfer {
    const struct http_call *call;
    struct http_reply *reply;
    CURL *curl;
    const char *shown; /* the URL, without secrets */
    int64_t done;      /* bytes delivered */

    /* of this try */
    int64_t skip;     /* bytes of the body to drop */
    int64_t first;    /* byte that Content-Range names, or -1 */
    bool judged;      /* the status was looked at */
    bool body_counts; /* it is what was asked for */
    bool range_wrong, changed, too_long;
    char *etag, *date; /* of this reply */
    int64_t sent;      /* of the file */
    char error[CURL_ERROR_SIZE];
};

/* Must a transfer or a wait end? */
static bool is_cancelled(const struct http *h)
{
    return sig_caught() || (h->conf.cancel && atomic_load(h->conf.cancel));
}

/* -- what arrives ------------------------------------------------------ */

/* "bytes 100-199/1000", with a star for an unknown size or no range at all */
static void content_range(struct http_transfer *t, const char *value)
{
    long long first = -1, last, size = -1;

    if (sscanf(value, "bytes %lld-%lld/%lld", &first, &last, &size) >= 2)
        t->first = first;
    else
        (void)sscanf(value, "bytes */%lld", &size);
    if (size >= 0)
        t->reply->size = size;
}

/* A number in a header, or -1. */
static double header_number(const char *value)
{
    char *end;
    const double x = strtod(value, &end);

    return end == value || !isfinite(x) || x < 0 ? -1 : x;
}

/* The value of the header of this name, or NULL if the line holds another. */
static const char *header_value(const char *line, const char *name)
{
    const size_t n = strlen(name);

    if (strncasecmp(line, name, n) != 0 || line[n] != ':')
        return NULL;
    return line + n + 1 + strspn(line + n + 1, " \t");
}

static size_t on_header(char *data, size_t one UNUSED, size_t n, void *arg)
{
    struct http_transfer *t = arg;
    struct http_reply *r = t->reply;
    AUTO_FREE char *line = xstrndup(data, n);
    const char *value;

    for (size_t end = strlen(line); end && strchr("\r\n ", line[end - 1]);)
        line[--end] = '\0';
    if (strncmp(line, "HTTP/", 5) == 0) { /* a new reply begins */
        t->first = -1;
        r->rate_left = r->rate_reset = -1;
        xreplace(&t->etag, NULL);
        xreplace(&t->date, NULL);
    } else if ((value = header_value(line, "etag"))) {
        xreplace(&t->etag, value);
    } else if ((value = header_value(line, "last-modified"))) {
        xreplace(&t->date, value);
    } else if ((value = header_value(line, "content-range"))) {
        content_range(t, value);
    } else if ((value = header_value(line, "ratelimit-remaining"))) {
        r->rate_left = header_number(value);
    } else if ((value = header_value(line, "ratelimit-reset"))) {
        r->rate_reset = header_number(value);
    }
    return n;
}

/* Is a part of the file asked for? */
static bool is_part(const struct http_transfer *t)
{
    return t->call->from + t->done > 0 || t->call->count > 0;
}

/*
 * The version of the file: a strong ETag, or else the date.  It must be the one
 * that the part we already have is from.
 */
static void compare_tags(struct http_transfer *t)
{
    const char *had = t->done ? t->reply->tag : t->call->tag;
    const char *tag = t->etag && t->etag[0] == '"' ? t->etag : t->date;

    if (is_part(t))
        t->changed = had && tag && *tag && strcmp(had, tag) != 0;
    if (t->call->whole && t->reply->status == 206)
        t->changed |= t->reply->size >= 0 && t->reply->size != t->call->whole;
    xreplace(&t->reply->tag, tag && *tag ? tag : NULL);
}

/* On the first piece of a body: is it the file, and from which byte on? */
static void judge(struct http_transfer *t)
{
    curl_off_t length = -1;

    t->judged = true;
    t->skip = 0;
    libcurl()->easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &t->reply->status);
    t->body_counts = t->reply->status / 100 == 2;
    if (t->body_counts)
        compare_tags(t);
    libcurl()->easy_getinfo(t->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T,
                            &length);
    t->range_wrong = t->reply->status == 206
                         ? t->first != t->call->from + t->done ||
                               (t->call->count && t->reply->size < 0)
                         : t->body_counts && t->call->count;
    if (t->reply->status == 206 || !t->body_counts)
        return;
    t->reply->size = length;
    t->skip = t->call->from + t->done;
}

static size_t on_body(char *data, size_t one UNUSED, size_t n, void *arg)
{
    struct http_transfer *t = arg;
    const size_t all = n;
    const size_t max = t->call->max ? t->call->max : MAX_REPLY;

    if (!t->judged)
        judge(t);
    if (t->body_counts && t->call->count)
        t->range_wrong |= (int64_t)n > t->call->count - t->done;
    if (t->body_counts && (t->range_wrong || t->changed))
        return 0;
    if (t->skip) {
        const size_t drop = t->skip < (int64_t)n ? (size_t)t->skip : n;

        t->skip -= (int64_t)drop;
        data += drop;
        n -= drop;
        if (!n)
            return all;
    }
    if (t->body_counts && t->call->sink) {
        t->done += (int64_t)n;
        t->reply->stopped = !t->call->sink(t->call->arg, data, n);
        return t->reply->stopped ? 0 : all;
    }
    if (n > max - t->reply->body.len) {
        t->too_long = t->body_counts;
        return t->too_long ? 0 : all;
    }
    buf_add(&t->reply->body, data, n);
    t->done += t->body_counts ? (int64_t)n : 0;
    return all;
}

static int on_progress(void *arg, curl_off_t a UNUSED, curl_off_t b UNUSED,
                       curl_off_t c UNUSED, curl_off_t d UNUSED)
{
    return is_cancelled(arg);
}

/* -- what is sent from a file ------------------------------------------ */

static size_t on_read(char *data, size_t one UNUSED, size_t n, void *arg)
{
    struct http_transfer *t = arg;
    const int64_t left = (int64_t)t->call->len - t->sent;
    ssize_t got;

    if ((int64_t)n > left)
        n = (size_t)left;
    got = n ? pread(t->call->fd, data, n, t->sent) : 0;
    if (got < 0 || (n && got == 0))
        return CURL_READFUNC_ABORT;
    t->sent += got;
    return (size_t)got;
}

static int on_seek(void *arg, curl_off_t at, int whence)
{
    struct http_transfer *t = arg;

    if (whence != SEEK_SET || at < 0 || at > (curl_off_t)t->call->len)
        return CURL_SEEKFUNC_CANTSEEK;
    t->sent = at;
    return CURL_SEEKFUNC_OK;
}

/* -- one try ----------------------------------------------------------- */

static void set_body(CURL *c, struct http_transfer *t)
{
    libcurl_set_fn *const set = libcurl()->easy_setopt;
    const struct http_call *call = t->call;

    if (call->fd > 0) {
        set(c, CURLOPT_UPLOAD, 1L);
        set(c, CURLOPT_INFILESIZE_LARGE, (curl_off_t)call->len);
        set(c, CURLOPT_READFUNCTION, on_read);
        set(c, CURLOPT_READDATA, (void *)t);
        set(c, CURLOPT_SEEKFUNCTION, on_seek);
        set(c, CURLOPT_SEEKDATA, (void *)t);
    } else if (call->body) {
        set(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->len);
        set(c, CURLOPT_POSTFIELDS, call->body);
    }
    if (call->method && strcmp(call->method, "HEAD") == 0)
        set(c, CURLOPT_NOBODY, 1L);
    else if (call->method)
        set(c, CURLOPT_CUSTOMREQUEST, call->method);
}

static void set_credentials(CURL *c, const struct http_call *call)
{
    libcurl_set_fn *const set = libcurl()->easy_setopt;

    if (call->bearer) {
        set(c, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        set(c, CURLOPT_XOAUTH2_BEARER, call->bearer);
    } else if (call->user) {
        set(c, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        set(c, CURLOPT_USERNAME, call->user);
        set(c, CURLOPT_PASSWORD, call->password ? call->password : "");
    }
}

/* Which servers and protocols are allowed, and for how long. */
static void set_limits(CURL *c, const struct http *h,
                       const struct http_call *call)
{
    libcurl_set_fn *const set = libcurl()->easy_setopt;
    const double secs = call->secs < 0   ? 0
                        : call->secs > 0 ? call->secs
                                         : h->conf.secs;

#if LIBCURL_VERSION_NUM >= 0x075500
    set(c, CURLOPT_PROTOCOLS_STR, "http,https");
    set(c, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
    set(c, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    set(c, CURLOPT_REDIR_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    set(c, CURLOPT_FOLLOWLOCATION, call->stay ? 0L : 1L);
    set(c, CURLOPT_MAXREDIRS, (long)REDIRECTS);
    set(c, CURLOPT_POSTREDIR, (long)CURL_REDIR_POST_ALL);
    set(c, CURLOPT_CONNECTTIMEOUT_MS, lround(h->conf.connect * 1000));
    set(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(c, CURLOPT_LOW_SPEED_TIME, lround(ceil(h->conf.stall)));
    set(c, CURLOPT_TIMEOUT_MS, lround(secs * 1000));
    if (h->ca)
        set(c, h->ca_is_folder ? CURLOPT_CAPATH : CURLOPT_CAINFO, h->ca);
    if (h->cert) {
        set(c, CURLOPT_SSLCERT, h->cert);
        set(c, CURLOPT_SSLKEY, h->cert);
    }
    if (h->conf.insecure) {
        set(c, CURLOPT_SSL_VERIFYPEER, 0L);
        set(c, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

static struct curl_slist *make_headers(const struct http_transfer *t)
{
    const char *const *h = t->call->header;
    const char *tag = t->done ? t->reply->tag : t->call->tag;
    struct curl_slist *list = libcurl()->slist_append(NULL, "Expect:");

    for (; h && *h; h++)
        list = libcurl()->slist_append(list, *h);
    if (is_part(t) && tag) {
        AUTO_FREE char *line = xasprintf("If-Range: %s", tag);

        list = libcurl()->slist_append(list, line);
    }
    return list;
}

/* The reply goes to t->reply, its status included. */
static CURLcode try_once(struct http *h, struct http_transfer *t)
{
    libcurl_set_fn *const set = libcurl()->easy_setopt;
    struct curl_slist *headers;
    int64_t from;
    char range[64];
    CURL *c = h->curl;
    CURLcode code;

    if (!t->call->sink) /* only a sink keeps what it has got */
        t->done = 0;
    from = t->call->from + t->done;
    headers = make_headers(t);
    t->judged = t->body_counts = t->range_wrong = false;
    t->changed = t->too_long = false;
    t->sent = 0;
    t->error[0] = '\0';
    t->reply->status = 0;
    if (!t->done)
        buf_trim(&t->reply->body, 0);
    libcurl()->easy_reset(c);
    set(c, CURLOPT_URL, t->call->url);
    set(c, CURLOPT_USERAGENT, h->agent);
    set(c, CURLOPT_ERRORBUFFER, t->error);
    set(c, CURLOPT_NOSIGNAL, 1L);
    set(c, CURLOPT_HTTPHEADER, headers);
    set(c, CURLOPT_HEADERFUNCTION, on_header);
    set(c, CURLOPT_HEADERDATA, (void *)t);
    set(c, CURLOPT_WRITEFUNCTION, on_body);
    set(c, CURLOPT_WRITEDATA, (void *)t);
    set(c, CURLOPT_NOPROGRESS, 0L);
    set(c, CURLOPT_XFERINFOFUNCTION, on_progress);
    set(c, CURLOPT_XFERINFODATA, h);
    set_limits(c, h, t->call);
    set_credentials(c, t->call);
    set_body(c, t);
    /* libcurl repeats a request where a kept connection turns out dead, even
     * if that was because of the request */
    if (t->call->once)
        set(c, CURLOPT_FRESH_CONNECT, 1L);
    if (t->call->count)
        snprintf(range, sizeof range, "%lld-%lld", (long long)from,
                 (long long)(t->call->from + t->call->count - 1));
    else
        snprintf(range, sizeof range, "%lld-", (long long)from);
    if (is_part(t))
        set(c, CURLOPT_RANGE, range);
    code = libcurl()->easy_perform(c);
    libcurl()->slist_free_all(headers);
    if (!t->judged)
        judge(t);
    t->reply->tries++;
    return code;
}

struct http *http_open(const struct http_conf *conf, struct err *e)
{
    struct http *h;

    if (libcurl_open(e) < 0)
        return NULL;
    h = xcalloc(1, sizeof *h);
    h->curl = libcurl()->easy_init();
    if (!h->curl) {
        err_set(e, ERR_SYSTEM, "cannot start libcurl");
        free(h);
        return NULL;
    }
    if (conf)
        h->conf = *conf;
    h->agent = conf && conf->agent ? xstrdup(conf->agent)
                                   : xasprintf("gtrain/%s", PACKAGE_VERSION);
    h->ca = h->conf.ca ? xstrdup(h->conf.ca) : NULL;
    h->cert = h->conf.cert ? xstrdup(h->conf.cert) : NULL;
    h->ca_is_folder = h->ca && path_is_folder(h->ca);
    h->conf.tries = h->conf.tries ? h->conf.tries : 6;
    if (h->conf.name_tries == 0 || h->conf.name_tries > h->conf.tries)
        h->conf.name_tries = h->conf.tries;
    h->conf.connect = h->conf.connect > 0 ? h->conf.connect : 20;
    h->conf.stall = h->conf.stall > 0 ? h->conf.stall : 60;
    h->conf.wait = h->conf.wait > 0 ? h->conf.wait : 1;
    h->conf.wait_most = h->conf.wait_most > 0 ? h->conf.wait_most : 60;
    return h;
}

void http_close(struct http *h)
{
    if (!h)
        return;
    libcurl()->easy_cleanup(h->curl);
    FREE(h->agent, h->ca, h->cert, h);
}

void http_reply_clear(struct http_reply *r)
{
    buf_clear(&r->body);
    free(r->tag);
    *r = HTTP_REPLY_INIT;
}

enum outcome { DONE, AGAIN, FAILED };

static void describe_status(const struct http_transfer *t, struct err *e)
{
    const char *body = t->reply->body.s;
    const int n = (int)strcspn(body, "\r\n");
    char *to = NULL;

    if (t->call->stay && t->reply->status / 100 == 3)
        libcurl()->easy_getinfo(t->curl, CURLINFO_REDIRECT_URL, &to);
    if (to) {
        AUTO(buf_clear) struct buf b = BUF_INIT;

        secret_mask(&b, to);
        err_set(e, ERR_REMOTE,
                "%s: the server redirects to %s; if you trust it, use that "
                "address",
                t->shown, b.s);
        return;
    }
    err_set(e, ERR_REMOTE, "%s: the server answered %ld%s%.*s", t->shown,
            t->reply->status, n && *body != '<' ? ": " : "",
            *body == '<' ? 0
            : n < 200    ? n
                         : 200,
            body);
}

/* Is this a status that may change with the next try? */
static bool is_passing(long status, bool once)
{
    static const long passing[] = { 429, 503, 408, 425, 500, 502, 504 };
    const size_t n = once ? 2 : sizeof passing / sizeof passing[0];

    for (size_t i = 0; i < n; i++)
        if (status == passing[i])
            return true;
    return false;
}

/* Did it fail before the server could act on the request? */
static bool is_before(CURLcode code)
{
    return code == CURLE_COULDNT_RESOLVE_HOST ||
           code == CURLE_COULDNT_RESOLVE_PROXY ||
           code == CURLE_COULDNT_CONNECT || code == CURLE_SSL_CONNECT_ERROR;
}

/* Failures that no further try would change. */
static bool is_final(CURLcode code)
{
    return code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT ||
           code == CURLE_TOO_MANY_REDIRECTS ||
           code == CURLE_PEER_FAILED_VERIFICATION ||
           code == CURLE_SSL_CACERT_BADFILE || code == CURLE_SSL_CERTPROBLEM ||
           code == CURLE_OUT_OF_MEMORY || code == CURLE_READ_ERROR;
}

static enum outcome after(const struct http_transfer *t, CURLcode code,
                          struct err *e)
{
    const struct http_call *call = t->call;
    struct http_reply *r = t->reply;

    if (r->stopped ||
        (call->count && t->done == call->count && !t->range_wrong))
        return DONE;
    if (code == CURLE_ABORTED_BY_CALLBACK) {
        err_set(e, ERR_INTERRUPTED, "%s: interrupted", t->shown);
        return FAILED;
    }
    r->changed = t->changed;
    if (t->too_long || t->changed || t->range_wrong) {
        err_set(e, ERR_REMOTE, "%s: %s", t->shown,
                t->too_long ? "the reply is too long"
                : t->changed
                    ? "the file changed during the download; start again"
                : call->count ? "the server does not send parts of a file as "
                                "asked; save the file with gdata fetch first"
                              : "the server sent another range than asked for");
        return FAILED;
    }
    if (r->status == 416 && call->from + t->done > 0) {
        if (r->size == call->from + t->done)
            return DONE; /* there is no rest */
        r->changed = true;
        err_set(e, ERR_REMOTE,
                "%s: the file is shorter than the part already downloaded",
                t->shown);
        return FAILED;
    }
    if (code == CURLE_OK && call->count && r->status == 206)
        code = CURLE_PARTIAL_FILE; /* fewer bytes than were asked for */
    if (code != CURLE_OK) {
        err_set(e, ERR_REMOTE, "%s: %s", t->shown,
                t->error[0] ? t->error : libcurl()->easy_strerror(code));
        return is_final(code) || (call->once && !is_before(code)) ? FAILED
                                                                  : AGAIN;
    }
    if (r->status / 100 == 2)
        return DONE;
    describe_status(t, e);
    return is_passing(r->status, call->once) ? AGAIN : FAILED;
}

/* How long the server asks to wait, or else our own growing, jittered wait. */
static double wait_for(struct http *h, int tries)
{
    const double jitter =
        (double)rng_uniform((uint64_t)getpid(), RNG_SAMPLE, h->waits++);
    double secs = h->conf.wait * ldexp(1, tries - 1);
    curl_off_t asked = 0;

    libcurl()->easy_getinfo(h->curl, CURLINFO_RETRY_AFTER, &asked);
    if (asked > 0)
        return (double)asked;
    secs = secs < h->conf.wait_most ? secs : h->conf.wait_most;
    return secs * (0.5 + 0.5 * jitter);
}

static int wait_secs(const struct http *h, double secs, struct err *e)
{
    const double end = clock_mono() + secs;
    double left;

    while ((left = end - clock_mono()) > 0) {
        if (is_cancelled(h))
            return err_set(e, ERR_INTERRUPTED, "interrupted");
        clock_pause(fmin(left, 0.2));
    }
    return 0;
}

static int run_tries(struct http *h, struct http_transfer *t, struct err *e)
{
    for (int tries = 1;; tries++) {
        const int64_t had = t->done;
        struct err why = { 0 };
        const CURLcode code = try_once(h, t);
        const enum outcome o = after(t, code, &why);
        double secs;

        if (o == DONE)
            return 0;
        *e = why;
        if (o == FAILED)
            return -1;
        if (t->call->sink && t->done > had)
            tries = 1; /* there was progress: count the attempts anew */
        t->reply->no_host = code == CURLE_COULDNT_RESOLVE_HOST;
        if (tries >= (t->reply->no_host ? h->conf.name_tries : h->conf.tries))
            return tries == 1 ? -1
                              : err_wrap(e, "gave up after %d attempts", tries);
        secs = wait_for(h, tries);
        if (secs > h->conf.wait_most)
            return err_wrap(e, "the server asked to wait %.0f s", secs);
        log_warn("%s; retrying in %.1f s", why.text, secs);
        *e = (struct err){ 0 };
        if (wait_secs(h, secs, e) < 0)
            return -1;
    }
}

int http_do(struct http *h, const struct http_call *call,
            struct http_reply *reply, struct err *e)
{
    struct http_transfer t = { .call = call, .reply = reply, .curl = h->curl };
    AUTO(buf_clear) struct buf shown = BUF_INIT;
    int ret;

    secret_mask(&shown, call->url);
    t.shown = shown.s;
    http_reply_clear(reply);
    ret = run_tries(h, &t, e);
    FREE(t.etag, t.date);
    return ret;
}

char *http_host(const char *url)
{
    char *part = NULL, *host = NULL;
    CURLU *u;

    if (libcurl_open(ERR_IGNORED) < 0)
        return NULL;
    u = libcurl()->url();
    if (u && libcurl()->url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
        libcurl()->url_get(u, CURLUPART_HOST, &part, 0) == CURLUE_OK) {
        host = xstrdup(part);
        for (char *c = host; *c; c++)
            *c = (char)tolower((unsigned char)*c);
    }
    libcurl()->free(part);
    libcurl()->url_cleanup(u);
    return host;
}
