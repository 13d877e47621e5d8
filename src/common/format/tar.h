#pragma once

#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

/*
 * tar - the heads of files in a tar archive, in the format of POSIX (ustar)
 *
 *      tar_write_head(fp, "paper/README", size, e)     for each file
 *      ... write its size bytes ...
 *      tar_write_pad(fp, size);
 *      tar_write_end(fp);                              at the end
 *
 *      while ((n = tar_read_head(fp, &head, e)) > 0)
 *          ... read head.size bytes ...
 *          tar_read_pad(fp, head.size, e)
 *
 * Only regular files are written and read, without owners and times, so the
 * same files give the same archive.  Sizes are of any length.  Writing does not
 * report failures of the disk; the caller looks at the stream at the end.
 */
enum { TAR_NAME = 257 };

struct tar_head {
    char name[TAR_NAME];
    int64_t size;
};

/* Fails if the name is too long for the format. */
int tar_write_head(FILE *, const char *name, int64_t size, struct err *);
void tar_write_pad(FILE *, int64_t size);
void tar_write_end(FILE *);

/* 1, or 0 at the end of the archive, or -1.  Anything but a regular file in the
 * archive is an error; the name may still lead anywhere. */
int tar_read_head(FILE *, struct tar_head *, struct err *);
int tar_read_pad(FILE *, int64_t size, struct err *);

/* Report that less could be read than there should be; -1. */
int tar_ended(FILE *, struct err *);
