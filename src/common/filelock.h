#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "common/err.h"

/*
 * filelock - whether a process that holds a file open is alive
 *
 *      if (filelock_get(fd) == FILELOCK_HELD)
 *          another process writes this
 *
 * The lock belongs to the open file, not to the process (fcntl(2): open file
 * description locks).  It ends when the last descriptor is closed, also by a
 * kill, and reaches other containers, and other machines where the file system
 * passes locks on.  NONE says that locks are not possible here, so that nothing
 * is known.
 */
enum filelock {
    FILELOCK_NONE, /* impossible here */
    FILELOCK_OURS, /* filelock_get(): taken; filelock_look(): free */
    FILELOCK_HELD, /* by another open file */
};

/* Take the lock of a file that is open for writing, without waiting. */
enum filelock filelock_get(int fd);
/* Who has it?  Changes nothing; the file may be open for reading only. */
enum filelock filelock_look(int fd);

/*
 * Open or create a file for reading and writing, with its lock; -1 with
 * ERR_BUSY if another process has it.  The file may be removed while it is
 * locked: whoever opened it before opens it again.  A symbolic link at the end
 * of the path is refused, and without locks there is none.
 */
int filelock_open(const char *path, mode_t mode, struct err *);

/* Does the path still name this open file? */
bool filelock_is_at(int fd, const char *path);
