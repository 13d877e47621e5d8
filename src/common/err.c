#include "config.h"
#include "common/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    e->kind = kind;
    e->sys = 0;
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    return -1;
}

static void put_sys(struct err *e, const char *fmt, va_list ap)
{
    size_t n;

    e->kind = ERR_SYSTEM;
    e->sys = errno;
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    n = strlen(e->text);
    snprintf(e->text + n, sizeof e->text - n, ": %s", strerror(e->sys));
}

int err_sys(struct err *e, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    put_sys(e, fmt, ap);
    va_end(ap);
    return -1;
}

int err_open(struct err *e, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    put_sys(e, fmt, ap);
    va_end(ap);
    if (e->sys == ENOENT)
        e->kind = ERR_MISSING;
    return -1;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
    char was[sizeof e->text];
    size_t n;
    va_list ap;

    memcpy(was, e->text, sizeof was);
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    n = strlen(e->text);
    snprintf(e->text + n, sizeof e->text - n, ": %s", was);
    return -1;
}

int err_allow(int ret, enum err_kind kind, struct err *e)
{
    if (ret == 0 || e->kind != kind)
        return ret;
    *e = (struct err){ 0 };
    return 0;
}

int err_status(enum err_kind kind)
{
    static const int status[] = {
        [ERR_NONE] = 0,      [ERR_SYSTEM] = 1,        [ERR_INPUT] = 1,
        [ERR_USAGE] = 2,     [ERR_MISSING] = 3,       [ERR_REMOTE] = 4,
        [ERR_NONFINITE] = 5, [ERR_RANK] = 6,          [ERR_BUSY] = 7,
        [ERR_STOPPED] = 75,  [ERR_INTERRUPTED] = 130, [ERR_COMMAND] = 1,
    };

    return status[kind];
}
