#include "config.h"
#include "track/serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 256, TRIES = 20 };

static int open_socket(int family, struct err *e)
{
    const int fd =
        socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    return fd < 0 ? err_sys(e, "cannot open a socket") : fd;
}

/* Close a socket that did not succeed; errno stays. */
static int give_up(int fd)
{
    const int was = errno;

    close(fd);
    errno = was;
    return -1;
}

/* -1 with errno, if the port is in use. */
static int try_port(int fd, int port)
{
    const struct sockaddr_in a = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };

    return bind(fd, (const struct sockaddr *)&a, sizeof a) < 0 ||
                   listen(fd, BACKLOG) < 0
               ? -1
               : 0;
}

static int port_of(int fd)
{
    struct sockaddr_in a = { 0 };
    socklen_t n = sizeof a;

    return getsockname(fd, (struct sockaddr *)&a, &n) < 0 ? 0
                                                          : ntohs(a.sin_port);
}

int listen_tcp(int *port, struct err *e)
{
    const int fd = open_socket(AF_INET, e), on = 1;
    int ret = -1;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (*port)
        ret = try_port(fd, *port);
    for (int i = 0; !*port && ret < 0 && i < TRIES; i++)
        ret = try_port(fd, LISTEN_PORT + i);
    if (!*port && ret < 0)
        ret = try_port(fd, 0);
    if (ret < 0) {
        err_sys(e, "cannot listen on port %d of 127.0.0.1", *port);
        return give_up(fd);
    }
    *port = port_of(fd);
    return fd;
}

/* Does a server still use the socket? */
static bool is_used(const struct sockaddr_un *a)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool used =
        fd >= 0 && connect(fd, (const struct sockaddr *)a, sizeof *a) == 0;

    if (fd >= 0)
        close(fd);
    return used;
}

int listen_unix(const char *path, struct err *e)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    struct stat st;
    mode_t mask;
    int fd, ret;

    if (strlen(path) >= sizeof a.sun_path || !*path)
        return err_set(e, ERR_USAGE,
                       "--listen unix:PATH expects a path of 1 to %zu bytes",
                       sizeof a.sun_path - 1);
    memcpy(a.sun_path, path, strlen(path) + 1);
    if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode)) {
        if (is_used(&a))
            return err_set(e, ERR_USAGE, "another server listens on %s", path);
        unlink(path);
    }
    fd = open_socket(AF_UNIX, e);
    if (fd < 0)
        return -1;
    mask = umask(0077);
    ret = bind(fd, (const struct sockaddr *)&a, sizeof a) < 0 ||
          listen(fd, BACKLOG) < 0;
    umask(mask);
    if (ret) {
        err_sys(e, "cannot listen on %s", path);
        return give_up(fd);
    }
    return fd;
}
