#include "config.h"
#include "store/write/run_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"

enum { KEPT_MAX = 64 << 20 };

static void open_file(struct run_output *o)
{
    const char *run = run_folder(o->run);
    AUTO_FREE char *path = xasprintf("%s/artifacts/%s", run, o->name);
    struct path_pin pin;

    if (path_pin(&pin, path, run, &o->why) == 0) {
        o->fd = open(pin.name,
                     O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK |
                         O_CLOEXEC,
                     0666);
        if (o->fd < 0)
            err_sys(&o->why, "cannot create %s", path);
    }
    path_unpin(&pin, &o->why);
}

static void write_kept(struct run_output *o)
{
    size_t done = 0;

    if (o->fd < 0)
        open_file(o);
    while (o->fd >= 0 && done < o->kept.len) {
        const ssize_t n = write(o->fd, o->kept.s + done, o->kept.len - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            err_sys(&o->why, "cannot write %s", o->name);
            break;
        }
        done += (size_t)n;
    }
    memmove(o->kept.s, o->kept.s + done, o->kept.len - done);
    buf_trim(&o->kept, o->kept.len - done);
}

void run_output_open(struct run_output *o, struct run *run, const char *name)
{
    *o = (struct run_output){
        .run = run, .name = name, .fd = -1, .kept = BUF_INIT
    };
    write_kept(o);
}

void run_output_write(struct run_output *o, const char *text, size_t n)
{
    if (!o->run)
        return;
    if (o->kept.len + n <= KEPT_MAX)
        buf_add(&o->kept, text, n);
    else
        o->lost += n;
    write_kept(o);
}

void run_output_printf(struct run_output *o, const char *fmt, ...)
{
    const size_t before = o->kept.len;
    va_list ap;

    if (!o->run)
        return;
    va_start(ap, fmt);
    buf_vprintf(&o->kept, fmt, ap); /* memory is taken once only */
    va_end(ap);
    if (o->kept.len > KEPT_MAX) {
        o->lost += o->kept.len - before;
        buf_trim(&o->kept, before);
    }
    write_kept(o);
}

void run_output_close(struct run_output *o)
{
    size_t lost;

    if (!o->run)
        return;
    write_kept(o);
    lost = o->lost + o->kept.len;
    if (o->fd >= 0)
        close(o->fd);
    if (lost) {
        log_warn("%s: %zu bytes of %s are lost: %s", run_name(o->run), lost,
                 o->name, o->why.text);
        run_lacks_output(o->run);
    }
    buf_clear(&o->kept);
    *o = (struct run_output){ 0 };
}
