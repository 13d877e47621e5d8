#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * confine - give up the rights that a command does not need
 *
 * After confine(), this thread, those that it starts, and its children can
 * change no files outside the given folders, no owner, mode, time or attribute
 * of any file, and nothing of other processes but where they run.  They gain no
 * rights by a program, and leave no memory in a file when they crash.  Unless
 * `connect` is set, they can open no sockets.  Open files and sockets,
 * terminals and /dev/null can still be written to.  A folder that does not
 * exist stands for the nearest one above it; NULL is skipped.
 *
 * Landlock does it, in Linux 6.2 or newer, and for signals in 6.12, and so does
 * a filter of system calls, on x86-64.  Where one of these is missing, or the
 * system refuses any of the calls for it, log_debug() says so and the command
 * goes on, since this only limits what a mistake in a reader of hostile files
 * can do.
 */
void confine(const char *const *folders, size_t n, bool connect);

/* confine() for a command that writes to the folder of this file and to
 * temporary files. */
void confine_output(const char *output, bool connect);

/* What confines here, such as "Landlock 7, seccomp", or "none". */
const char *confine_name(void);

/* The filter of system calls alone; false where there is none. */
bool confine_calls(bool connect);
bool confine_has_calls(void);
