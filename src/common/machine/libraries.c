#include "config.h"
#include "common/machine/libraries.h"

#include <gnu/libc-version.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "common/path.h"

/* A library's name is a link to a file with the version in its name.  Those of
 * Python's modules have none, and there are many. */
static int library(struct dl_phdr_info *info, size_t size, void *arg)
{
    char *real = info->dlpi_name[0] ? realpath(info->dlpi_name, NULL) : NULL;

    (void)size;
    if (real && !strstr(real, ".cpython-"))
        buf_printf(arg, " %s", path_name(real));
    free(real);
    return 0;
}

void libraries_list(struct buf *out)
{
    buf_printf(out, "glibc-%s", gnu_get_libc_version());
    dl_iterate_phdr(library, out);
}
