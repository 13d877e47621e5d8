/*
 * hello - several connections to rank 0: each byte above 0xF0 begins another
 *
 * with: src/trainer/ranks/hello.c
 */
#include "config.h"
#include "trainer/ranks/hello.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/clock.h"
#include "t/fuzz/fuzz.h"

/* A socket with an abstract address, so that no file is left. */
static int listen_here(struct sockaddr_un *at)
{
    const int fd =
        socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    *at = (struct sockaddr_un){ .sun_family = AF_UNIX };
    snprintf(at->sun_path + 1, sizeof at->sun_path - 1, "fuzz-%d",
             (int)getpid());
    FUZZ_CHECK(fd >= 0 && bind(fd, (struct sockaddr *)at, sizeof *at) == 0 &&
               listen(fd, 64) == 0);
    return fd;
}

static void say(const struct sockaddr_un *at, const uint8_t *data, size_t n)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    FUZZ_CHECK(fd >= 0 &&
               connect(fd, (const struct sockaddr *)at, sizeof *at) == 0 &&
               send(fd, data, n, MSG_NOSIGNAL) == (ssize_t)n);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char token[HELLO_TOKEN] = "t";
    struct sockaddr_un at;
    struct hello_reader r = { .listener = listen_here(&at),
                              .token = token,
                              .ranks = 3 };
    struct hello h;

    for (int k = 0; n > 0 && k < 32; k++) {
        size_t len = 1;

        while (len < n && data[len] <= 0xF0)
            len++;
        if (len > 4 * sizeof h)
            len = 4 * sizeof h; /* what a socket takes without a reader */
        say(&at, data, len);
        data += len;
        n -= len;
    }
    /* no input answers a challenge that it has not seen */
    FUZZ_CHECK(hello_next(&r, clock_mono(), &h) < 0);
    hello_close(&r);
    close(r.listener);
    return 0;
}
