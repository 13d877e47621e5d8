#pragma once

#include <stddef.h>

#include "common/err.h"

/*
 * dl - use a library if the machine has it
 *
 * The libraries of a GPU are large and often missing, and libcurl is slow to
 * load, so a program opens them when it needs them.  The functions that it
 * calls are pointers in a struct, and a table says which symbol goes where:
 *
 *      static const struct dl_symbol symbols[] = {
 *          { "nvmlInit_v2", offsetof(struct nvml_api, init) },
 *          { NULL, 0 }
 *      };
 *
 *      if (dl_load(&api, symbols, "libnvidia-ml.so.1", e) < 0) ...
 *
 * names is a list of file names, separated by blanks, which are tried in turn:
 * first in the packages of Python, which users choose, and where pip installs
 * NVIDIA's libraries: in site-packages/nvidia/NAME/lib of the environment that
 * the program is in, $VIRTUAL_ENV, $CONDA_PREFIX, the user's folder .local,
 * /usr/local and /usr; then in the CUDA toolkit that configure found; then
 * where the system looks.  The name of a symbol that was renamed may be such a
 * list, too; the pointer to one that is missing stays NULL if "?" is in that
 * list.  A library stays open until the program ends.
 *
 * dl_where() is the path of an open library whose file name begins so, or NULL;
 * the caller frees it.
 *
 * dl_preload() opens all libraries whose names fit a pattern in the packages of
 * Python and in the toolkit, so that libraries which look for them by name find
 * them.
 */
struct dl_symbol {
    const char *name;
    size_t offset; /* of the pointer in the struct */
};

/*
 * Where a header declares the functions, one list can say both: a macro that
 * calls its argument with each pointer and its function.
 *
 *      #define CALLS(X) X(open, sqlite3_open_v2) X(close, sqlite3_close)
 *
 *      struct lib { CALLS(DL_POINTER) };
 *      #define ROW(member, name) DL_ROW(struct lib, member, name)
 *      static const struct dl_symbol symbols[] = { CALLS(ROW) { NULL, 0 } };
 */
#define DL_POINTER(member, function)   __typeof__(function) *member;
#define DL_ROW(type, member, function) { #function, offsetof(type, member) },

int dl_load(void *api, const struct dl_symbol *table, const char *names,
            struct err *);
char *dl_where(const char *begins);
void dl_preload(const char *pattern);
