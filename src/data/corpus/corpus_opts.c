/*
 * corpus_opts - what options say, as a struct corpus_conf
 */
#include "config.h"
#include "data/corpus/corpus.h"

#include <string.h>

/* The number of a name, 0 if there is none, or -1. */
static int choose(const char *const *names, const char *option,
                  const char *name, struct err *e)
{
    int i = 0;

    if (!name)
        return 0;
    for (; names[i]; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    err_set(e, ERR_USAGE, "%s \"%s\": there are", option, name);
    for (i = 0; names[i]; i++) {
        const size_t n = strlen(e->text);

        strncat(e->text, i ? ", " : " ", sizeof e->text - n - 1);
        strncat(e->text, names[i], sizeof e->text - n - 3);
    }
    return -1;
}

int corpus_conf_set(struct corpus_conf *c, const struct corpus_opts *o,
                    char *const *path, int n, struct err *e)
{
    static const char *const formats[] = {
        [CORPUS_AUTO] = "auto",
        [CORPUS_TEXT] = "text",
        [CORPUS_JSONL] = "jsonl",
        [CORPUS_PARQUET] = "parquet",
        NULL,
    };
    static const char *const bads[] = {
        [CORPUS_SKIP_LINES] = "lines",
        [CORPUS_SKIP_FILES] = "files",
        [CORPUS_STOP] = "stop",
        NULL,
    };
    const int format = choose(formats, "--input", o->input, e);
    const int bad = format < 0 ? -1 : choose(bads, "--bad", o->bad, e);

    if (bad < 0)
        return -1;
    if (o->separator && !*o->separator)
        return err_set(e, ERR_USAGE, "--separator must not be empty");
    *c = (struct corpus_conf){
        .path = path,
        .n = (size_t)n,
        .format = (enum corpus_format)format,
        .field = o->field,
        .separator = o->separator,
        .bad = (enum corpus_bad)bad,
    };
    return 0;
}
