#include "config.h"
#include "common/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static const char *log_program = "";
static enum log_level log_lowest = LOG_INFO;
static log_sink_fn *log_sink_call;
static void *log_sink_arg;
static void (*log_hook)(void);
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
static void tame(char *text, enum log_level level)
{
    for (; *text; text++)
        if (*text == '\n' && level >= LOG_WARN)
            *text = ' ';
        else if (((unsigned char)*text < ' ' && *text != '\n' &&
                  *text != '\t') ||
                 *text == '\x7f')
            *text = '?';
        else if (*text == '\xc2' && (text[1] & '\xe0') == '\x80')
            *text = text[1] = '?'; /* a control character above 0x7f */
}

static void log_line(enum log_level level, const char *fmt, va_list ap)
{
    static const char *const word[] = { "debug: ", "", "warning: ", "" };
    char text[1024];

    if (!log_shows(level))
        return;
    vsnprintf(text, sizeof text, fmt, ap);
    tame(text, level);
    pthread_mutex_lock(&log_lock);
    if (log_hook)
        log_hook();
    fprintf(stderr, "%s: %s%s\n", log_program, word[level], text);
    if (log_sink_call)
        log_sink_call(log_sink_arg, level, text);
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
