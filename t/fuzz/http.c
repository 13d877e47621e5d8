/*
 * http - the answer of a server, header and body, to one of several requests;
 * the first byte says which
 */
#include "config.h"
#include "common/http/http.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/http/http_impl.h"
#include "t/fuzz/fuzz.h"

enum { FROM = 3, MOST = 4096 };

static struct {
    const uint8_t *data;
    size_t n;
    int theirs; /* the server's end of the connection, or -1 */
} answer = { NULL, 0, -1 };

static CURLcode (*perform)(CURL *);

/* A connection on which the answer has already arrived. */
static curl_socket_t open_answered(void *arg, curlsocktype purpose,
                                   struct curl_sockaddr *at)
{
    int pair[2];

    (void)arg;
    (void)purpose;
    (void)at;
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    FUZZ_CHECK(send(pair[1], answer.data, answer.n, MSG_NOSIGNAL) ==
               (ssize_t)answer.n);
    shutdown(pair[1], SHUT_WR);
    if (answer.theirs >= 0)
        close(answer.theirs);
    answer.theirs = pair[1];
    return pair[0];
}

static int is_connected(void *arg, curl_socket_t fd, curlsocktype purpose)
{
    (void)arg;
    (void)fd;
    (void)purpose;
    return CURL_SOCKOPT_ALREADY_CONNECTED;
}

static CURLcode perform_here(CURL *c)
{
    libcurl()->easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_answered);
    libcurl()->easy_setopt(c, CURLOPT_SOCKOPTFUNCTION, is_connected);
    libcurl()->easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L);
    return perform(c);
}

static struct http *open_here(void)
{
    const struct http_conf conf = { .tries = 1 };
    struct err e = { 0 };
    struct http *http = http_open(&conf, &e);
    struct libcurl *lib = (struct libcurl *)(uintptr_t)libcurl();

    FUZZ_CHECK(http);
    perform = lib->easy_perform;
    lib->easy_perform = perform_here;
    return http;
}

static bool count_bytes(void *arg, const void *data, size_t n)
{
    size_t *sum = arg;

    FUZZ_CHECK(n > 0 && data);
    *sum += n;
    return *sum < MOST;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct http *http;
    struct http_reply reply = HTTP_REPLY_INIT;
    struct err e = { 0 };
    size_t sum = 0;
    struct http_call call = {
        .url = "http://127.0.0.1/file", .stay = true, .max = MOST, .arg = &sum
    };

    if (n == 0)
        return 0;
    if (!http)
        http = open_here();
    if (data[0] & 1)
        call.sink = count_bytes;
    if (data[0] & 2)
        call.method = "HEAD";
    if (data[0] & 4) {
        call.from = FROM;
        call.tag = "\"a\"";
    }
    answer.data = data + 1;
    answer.n = n - 1;
    if (http_do(http, &call, &reply, &e) == 0)
        FUZZ_CHECK(reply.stopped || reply.status / 100 == 2 ||
                   reply.status == 416);
    else
        FUZZ_CHECK(e.kind == ERR_REMOTE && e.text[0]);
    FUZZ_CHECK(reply.body.len <= MOST && reply.size >= -1);
    http_reply_clear(&reply);
    return 0;
}
