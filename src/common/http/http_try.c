/*
 * http_try - one HTTP request, through libcurl
 */
#include "config.h"
#include "common/http/http_impl.h"

#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/mem.h"

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

static size_t on_header(char *data, size_t one, size_t n, void *arg)
{
    struct http_transfer *t = arg;
    struct http_reply *r = t->reply;
    char *line = xstrndup(data, n);
    const char *value;

    (void)one;
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
    free(line);
    return n;
}

/*
 * The version of the file: a strong ETag, or else the date.  It must be the one
 * that the part we already have is from.
 */
static void compare_tags(struct http_transfer *t)
{
    const char *had = t->done ? t->reply->tag : t->call->tag;
    const char *tag = t->etag && t->etag[0] == '"' ? t->etag : t->date;

    if (t->call->from + t->done > 0)
        t->changed = had && tag && *tag && strcmp(had, tag) != 0;
    free(t->reply->tag);
    t->reply->tag = tag && *tag ? xstrdup(tag) : NULL;
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
    t->range_wrong =
        t->reply->status == 206 && t->first != t->call->from + t->done;
    if (t->reply->status == 206 || !t->body_counts)
        return;
    t->reply->size = length;
    t->skip = t->call->from + t->done;
}

static size_t on_body(char *data, size_t one, size_t n, void *arg)
{
    struct http_transfer *t = arg;
    const size_t all = n;
    const size_t max = t->call->max ? t->call->max : MAX_REPLY;

    (void)one;
    if (!t->judged)
        judge(t);
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

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c,
                       curl_off_t d)
{
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return http_cancelled(arg);
}

/* -- what is sent from a file ------------------------------------------ */

static size_t on_read(char *data, size_t one, size_t n, void *arg)
{
    struct http_transfer *t = arg;
    const int64_t left = (int64_t)t->call->len - t->sent;
    ssize_t got;

    (void)one;
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
    if (t->call->from + t->done > 0 && tag) {
        char *line = xasprintf("If-Range: %s", tag);

        list = libcurl()->slist_append(list, line);
        free(line);
    }
    return list;
}

CURLcode http_try(struct http *h, struct http_transfer *t)
{
    libcurl_set_fn *const set = libcurl()->easy_setopt;
    struct curl_slist *headers;
    int64_t from;
    char range[32];
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
    if (from > 0) {
        snprintf(range, sizeof range, "%lld-", (long long)from);
        set(c, CURLOPT_RANGE, range);
    }
    code = libcurl()->easy_perform(c);
    libcurl()->slist_free_all(headers);
    if (!t->judged)
        judge(t);
    t->reply->tries++;
    return code;
}
