/*
 * parquet_none - in the place of parquet.c when it was not asked for
 */
#include "config.h"
#include "data/corpus/parquet.h"

int parquet_open(struct parquet **p, const char *path, const char *column,
                 struct err *e)
{
    (void)p;
    (void)column;
    return err_set(e, ERR_INPUT,
                   "%s: this program was built without --with-parquet; "
                   "gdata(1) shows how to pipe such a file in",
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
