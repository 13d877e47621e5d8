/*
 * import_histogram - the histograms of an imported run
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "store/format/key.h"
#include "track/import/import.h"

static struct import_histograms *find_name(struct import_run *in,
                                           const char *name)
{
    for (size_t i = 0; i < in->n_histograms; i++)
        if (strcmp(in->histograms[i].name, name) == 0)
            return &in->histograms[i];
    GROW(in->histograms, in->n_histograms, in->room_histograms);
    in->histograms[in->n_histograms] =
        (struct import_histograms){ xstrdup(name), BUF_INIT };
    return &in->histograms[in->n_histograms++];
}

bool import_run_histogram(struct import_run *in, const char *key, int64_t step,
                          int64_t ms, const json_t *counts, const json_t *edges)
{
    const size_t n = json_array_size(counts);
    json_t *line;
    char *text, *name;
    bool good;

    if (n == 0 || json_array_size(edges) != n + 1)
        return false;
    line = json_pack("{s:I, s:I, s:O, s:O}", "step", (json_int_t)step, "time",
                     (json_int_t)ms, "values", counts, "bins", edges);
    text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    if (text) {
        name = key_clean(key);
        buf_printf(&find_name(in, name)->lines, "%s\n", text);
        free(name);
    }
    good = text;
    free(text);
    json_decref(line);
    return good;
}

int import_histograms_write(const struct import_run *in, struct stored_run *b,
                            struct err *e)
{
    int ret = 0;

    for (size_t i = 0; ret == 0 && i < in->n_histograms; i++) {
        const struct import_histograms *h = &in->histograms[i];
        char *name = xasprintf("histograms/%s.jsonl", h->name);
        char *path = stored_run_artifact(b, name, e);
        FILE *fp = path ? fopen(path, "we") : NULL;

        ret = path ? 0 : -1;
        if (fp)
            fputs(h->lines.s, fp);
        if (ret == 0 && (!fp || ferror(fp)))
            ret = err_sys(e, "cannot write %s", path);
        if (fp && fclose(fp) != 0 && ret == 0)
            ret = err_sys(e, "cannot write %s", path);
        free(path);
        free(name);
    }
    return ret;
}

void import_histograms_clear(struct import_run *in)
{
    for (size_t i = 0; i < in->n_histograms; i++) {
        free(in->histograms[i].name);
        buf_clear(&in->histograms[i].lines);
    }
    free(in->histograms);
}
