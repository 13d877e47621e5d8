/*
 * parquet_none - replaces parquet.c if it is not configured
 */
#include "config.h"
#include "data/corpus/parquet.h"

int parquet_open(struct parquet **p, const char *path, const char *column,
                 struct err *e)
{
    (void)p;
    (void)column;
    return err_set(e, ERR_INPUT,
                   "%s: gdata was built without Parquet support (configure "
                   "--with-parquet); gdata(1) shows how to convert the file in "
                   "a pipe",
                   path);
}

int parquet_next(struct parquet *p, int64_t row, struct corpus_block *b,
                 struct err *e)
{
    (void)p;
    (void)row;
    (void)b;
    (void)e;
    return 0;
}

void parquet_close(struct parquet *p)
{
    (void)p;
}

int parquet_fields_open(struct parquet_fields **f, const char *path,
                        const char *column, struct err *e)
{
    (void)f;
    (void)path;
    (void)column;
    (void)e;
    return 0;
}

int parquet_fields_add(struct parquet_fields *f, struct corpus_block *b,
                       struct err *e)
{
    (void)f;
    (void)b;
    (void)e;
    return 0;
}

void parquet_fields_close(struct parquet_fields *f)
{
    (void)f;
}
