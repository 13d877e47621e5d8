#ifndef COMMON_CONFINE_H
#define COMMON_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * confine - give up the rights that a command does not need
 *
 * After confine(), this process and its children can neither change files
 * outside the given folders, nor open TCP connections unless `connect` is set,
 * nor gain rights by starting a program.  Files that are open already, and
 * those in /dev, can still be written to.  A folder that does not exist stands
 * for the nearest one above it; NULL is skipped.  It is done by Landlock, in
 * Linux 6.2 or newer, and for connections 6.7; elsewhere, or where the system
 * refuses any of the calls for it, nothing happens, since this only limits what
 * a mistake in a reader of hostile files can do.
 */
void confine(const char *const *folders, size_t n, bool connect);

/* What confines here: "Landlock", "Landlock for files" or "none". */
const char *confine_name(void);

#endif
