/*
 * import_sqlite_none - a build without SQLite reads no databases
 */
#include "config.h"
#include "track/import/import.h"

int import_sqlite(struct import *import, struct err *e)
{
    return err_usage(e,
                     "%s is a database, and this gtrack was built without "
                     "SQLite (Debian: libsqlite3-dev)",
                     import->path);
}
