#include "config.h"
#include "common/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/utf8.h"

static const char *log_program = "";
static enum log_level log_lowest = LOG_INFO;
static log_sink_fn *log_sink_call;
static void *log_sink_arg;
static void (*log_hook)(void);
static char log_lacking[1024]; /* what log_lack() said last */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

void log_setup(const char *program, enum log_level lowest)
{
    log_program = program;
    log_lowest = lowest;
}

bool log_shows(enum log_level level)
{
    return level >= log_lowest;
}

void log_sink(log_sink_fn *sink, void *arg)
{
    pthread_mutex_lock(&log_lock);
    log_sink_call = sink;
    log_sink_arg = arg;
    pthread_mutex_unlock(&log_lock);
}

void log_before(void (*hook)(void))
{
    log_hook = hook;
}

/* A message may quote anything: nothing in it may control the terminal, or
 * split a warning into two lines. */
static void tame(struct buf *out, char *text, enum log_level level)
{
    for (char *at = text; level >= LOG_WARN && (at = strchr(at, '\n'));)
        *at = ' ';
    utf8_visible_lines(out, text, strlen(text));
}

static void log_line(enum log_level level, const char *fmt, va_list ap)
{
    static const char *const word[] = { "debug: ", "", "warning: ", "" };
    char text[1024];
    AUTO(buf_clear) struct buf out = BUF_INIT;

    if (!log_shows(level))
        return;
    vsnprintf(text, sizeof text, fmt, ap);
    tame(&out, text, level);
    pthread_mutex_lock(&log_lock);
    if (log_hook)
        log_hook();
    fprintf(stderr, "%s: %s%s\n", log_program, word[level], out.s);
    if (log_sink_call)
        log_sink_call(log_sink_arg, level, out.s);
    pthread_mutex_unlock(&log_lock);
}

#define LOG_FUNCTION(name, level)                                              \
    void name(const char *fmt, ...)                                            \
    {                                                                          \
        va_list ap;                                                            \
                                                                               \
        va_start(ap, fmt);                                                     \
        log_line(level, fmt, ap);                                              \
        va_end(ap);                                                            \
    }

LOG_FUNCTION(log_debug, LOG_DEBUG)
LOG_FUNCTION(log_info, LOG_INFO)
LOG_FUNCTION(log_warn, LOG_WARN)
LOG_FUNCTION(log_error, LOG_ERROR)

void log_lack(const char *why)
{
    bool said;

    pthread_mutex_lock(&log_lock);
    said = strncmp(log_lacking, why, sizeof log_lacking - 1) == 0;
    snprintf(log_lacking, sizeof log_lacking, "%s", why);
    pthread_mutex_unlock(&log_lock);
    if (!said)
        log_error("%s", why);
}

bool log_lacks(void)
{
    return *log_lacking;
}
