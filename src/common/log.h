#pragma once

#include <stdbool.h>

#include "common/err.h"

BEGIN_EXTERN_C

/*
 * log - say something to a person, on standard error
 *
 * Each call prints one line, which begins with the name of the program.  -v and
 * -q change the level.  A run adds a sink that stores the same lines in its
 * log; a progress line sets a hook to make room for them.  What another program
 * should read is printed on standard output or stored as a metric, never
 * logged.
 */
enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* Called with each line that is shown, without its newline. */
typedef void log_sink_fn(void *arg, enum log_level, const char *line);

void log_setup(const char *program, enum log_level lowest);
bool log_shows(enum log_level);
void log_sink(log_sink_fn *, void *arg); /* NULL: none */
void log_before(void (*hook)(void));     /* before a line is printed */

void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Say why a result lacks something, once however often it does.  A program of
 * which log_lacks() is true does not end with status 0. */
void log_lack(const char *why);
bool log_lacks(void);

END_EXTERN_C
