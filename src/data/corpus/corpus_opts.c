/*
 * corpus_opts - turn the options of a command into a struct corpus_conf
 */
#include "config.h"
#include "data/corpus/corpus.h"

const char *const corpus_formats[] = {
    [CORPUS_AUTO] = "auto",
    [CORPUS_TEXT] = "text",
    [CORPUS_JSONL] = "jsonl",
    [CORPUS_PARQUET] = "parquet",
    NULL,
};

const char *const corpus_bad_words[] = {
    [CORPUS_SKIP_LINES] = "lines",
    [CORPUS_SKIP_FILES] = "files",
    [CORPUS_STOP] = "stop",
    NULL,
};

int corpus_conf_set(struct corpus_conf *c, const struct corpus_opts *o,
                    char *const *path, int n, struct err *e)
{
    if (o->separator && !*o->separator)
        return err_set(e, ERR_USAGE, "--separator expects a text");
    if (!(o->max_bad >= 0 && o->max_bad <= 1))
        return err_set(e, ERR_USAGE, "--max-bad expects a share from 0 to 1");
    *c = (struct corpus_conf){
        .path = path,
        .n = (size_t)n,
        .format = (enum corpus_format)o->format,
        .field = o->field,
        .separator = o->separator,
        .bad = (enum corpus_bad)o->bad,
        .good = 1 - o->max_bad,
    };
    return 0;
}
