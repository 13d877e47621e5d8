#include "config.h"
#include "store/analysis/histogram.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"

enum { FILE_MAX = 256 << 20 };

/* The numbers of an array; NULL if it has anything else. */
static double *read_numbers(struct arena *mem, const json_t *array)
{
    const size_t n = json_array_size(array);
    double *out = arena_alloc(mem, (n + 1) * sizeof *out);

    for (size_t i = 0; i < n; i++) {
        const json_t *x = json_array_get(array, i);

        if (!json_is_number(x))
            return NULL;
        out[i] = json_number_value(x);
    }
    return out;
}

static bool is_good(const struct histogram *h, const json_t *edges)
{
    if (!h->edge || !h->count || h->n == 0 ||
        json_array_size(edges) != h->n + 1)
        return false;
    for (size_t i = 0; i < h->n; i++)
        if (!(h->edge[i] < h->edge[i + 1]) || !(h->count[i] >= 0))
            return false;
    return isfinite(h->edge[0]) && isfinite(h->edge[h->n]);
}

static bool read_line(struct histogram *h, struct arena *mem, const char *line,
                      size_t len)
{
    json_auto_t *root = json_loadb(line, len, 0, NULL);
    const json_t *step = json_object_get(root, "step");
    const json_t *edges = json_object_get(root, "bins");
    const json_t *counts = json_object_get(root, "values");

    *h = (struct histogram){ .step = json_integer_value(step),
                             .ms = json_integer_value(
                                 json_object_get(root, "time")),
                             .n = json_array_size(counts),
                             .edge = read_numbers(mem, edges),
                             .count = read_numbers(mem, counts) };
    return json_is_integer(step) && is_good(h, edges);
}

/* Lines are nearly always in order; a resumed run repeats some steps. */
static void add_in_order(struct histograms *h, const struct histogram *new)
{
    size_t at = h->n;

    while (at > 0 && h->item[at - 1].step > new->step)
        at--;
    if (at > 0 && h->item[at - 1].step == new->step) {
        h->item[at - 1] = *new;
        return;
    }
    GROW(h->item, h->n, h->room);
    memmove(&h->item[at + 1], &h->item[at], (h->n - at) * sizeof *h->item);
    h->item[at] = *new;
    h->n++;
}

static int read_lines(struct histograms *h, const struct buf *text,
                      const char *path, struct err *e)
{
    const char *line = text->s, *end;

    for (size_t n = 1; (end = strchr(line, '\n')); n++, line = end + 1) {
        struct histogram one;

        if (!read_line(&one, &h->mem, line, (size_t)(end - line)))
            return err_input(e, "%s:%zu: this is no histogram", path, n);
        add_in_order(h, &one);
    }
    return 0;
}

int histograms_load(struct histograms *h, const struct run_info *run,
                    const char *name, struct err *e)
{
    AUTO_FREE char *path =
        xasprintf("%s/histograms/%s.jsonl", run->artifacts, name);
    AUTO(buf_clear) struct buf text = BUF_INIT;
    int ret =
        buf_read_open(&text, path_open(path, run->links, e), path, FILE_MAX, e);

    if (ret < 0 && e->kind == ERR_MISSING)
        err_set(e, ERR_MISSING,
                "run %s has no histograms named %s; gtrack artifacts lists "
                "what it has",
                run->name, name);
    if (ret == 0)
        ret = read_lines(h, &text, path, e);
    if (ret == 0 && h->n == 0)
        ret = err_set(e, ERR_MISSING, "%s is empty", path);
    return ret;
}

void histograms_free(struct histograms *h)
{
    free(h->item);
    arena_clear(&h->mem);
}
