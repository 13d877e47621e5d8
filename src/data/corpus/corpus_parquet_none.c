/*
 * corpus_parquet_none - replaces corpus_parquet.c if it is not configured
 */
#include "config.h"
#include "data/corpus/corpus_parquet.h"

int corpus_parquet_open(struct corpus_parquet **p, const char *path,
                        const char *column, bool keep_lines, struct err *e)
{
    (void)p;
    (void)column;
    (void)keep_lines;
    return err_set(e, ERR_INPUT,
                   "%s: gdata was built without Parquet support (configure "
                   "--with-parquet); gdata(1) shows how to convert the file in "
                   "a pipe",
                   path);
}

int corpus_parquet_next(struct corpus_parquet *p, int64_t row,
                        struct corpus_block *b, struct err *e)
{
    (void)p;
    (void)row;
    (void)b;
    (void)e;
    return 0;
}

int corpus_parquet_open_where(struct corpus_parquet *p, const char *path,
                              struct where *w, struct err *e)
{
    (void)p;
    (void)path;
    (void)w;
    (void)e;
    return 0;
}

int64_t corpus_parquet_filter(struct corpus_parquet *p, struct corpus_block *b,
                              struct err *e)
{
    (void)p;
    (void)b;
    (void)e;
    return 0;
}

void corpus_parquet_close(struct corpus_parquet *p)
{
    (void)p;
}
