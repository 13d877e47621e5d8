/*
 * ask - the choices of a sweep, for bench/searches.py
 *
 *      ask SAMPLER SEED SAMPLES KEY=RANGE...
 *
 * Prints the values of a cell, reads the result from standard input, a lower
 * one being better, and so on.
 */
#include "config.h"
#include "sweep/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"

static double *result;

static int by_result(const void *a, const void *b)
{
    const double x = result[*(const size_t *)a], y = result[*(const size_t *)b];

    return (x > y) - (x < y);
}

static void choose(struct sweep *s, size_t cell, uint64_t draw)
{
    const char **value = xcalloc(s->n_axes, sizeof *value);
    size_t *order = xcalloc(cell, sizeof *order);

    for (size_t i = 0; i < cell; i++)
        order[i] = i;
    qsort(order, cell, sizeof *order, by_result);
    sweep_tpe_draw(s, order, cell, draw, value);
    sweep_add_group(s, value);
    free(order);
    free(value);
}

static int ask(struct sweep *s)
{
    char line[100];
    uint64_t draw = 0;

    result = xcalloc((size_t)s->samples, sizeof *result);
    for (size_t c = 0; c < (size_t)s->samples; c++) {
        while (c == s->n_cells && s->sampler == SAMPLER_TPE)
            choose(s, c, draw++);
        if (c == s->n_cells)
            return 0;
        for (size_t i = 0; i < s->n_axes; i++)
            printf("%s%c", s->cell[c].value[i],
                   i + 1 < s->n_axes ? '\t' : '\n');
        fflush(stdout);
        if (!fgets(line, sizeof line, stdin))
            return 0;
        line[strcspn(line, "\n")] = '\0';
        if (!num_real(line, &result[c]))
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct sweep s;
    struct err e = { 0 };
    int ret;

    sweep_init(&s, "seed");
    for (int i = 1; i < argc && e.kind == ERR_NONE; i++) {
        static const char *const keys[] = { "sampler", "seed", "samples" };

        if (i < 4) {
            char *key = xasprintf("sweep.%s", keys[i - 1]);

            sweep_put(&s, key, argv[i], "argument", &e);
            free(key);
        } else {
            sweep_assign(&s, SWEEP_RANDOM, argv[i], "argument", &e);
        }
    }
    ret = argc < 5 || e.kind || sweep_expand(&s, &e) < 0 || ask(&s);
    if (ret)
        fprintf(stderr, "ask: %s\n", e.kind ? e.text : "wrong usage");
    free(result);
    sweep_clear(&s);
    return ret;
}
