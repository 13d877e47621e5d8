#include "config.h"
#include "track/runs/spark.h"

#include <math.h>
#include <stdlib.h>

#include "common/mem.h"
#include "common/utf8.h"

void spark(struct buf *b, const struct series *s, size_t most)
{
    const size_t width = s->n < most ? s->n : most;
    static const char *const blocks[] = {
        "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"
    };
    static const char *const plain[] = { "_", ".", "-", "=", "*", "#" };
    const bool fine = utf8_locale();
    const size_t levels = fine ? 8 : 6;
    double *sum = xcalloc(width, sizeof *sum);
    size_t *finite = xcalloc(width, sizeof *finite);
    size_t *points = xcalloc(width, sizeof *points);
    double least = (double)INFINITY, greatest = -(double)INFINITY;

    for (size_t i = 0; i < s->n; i++) {
        const double span = (double)(s->step[s->n - 1] - s->step[0]) + 1;
        const double at = (double)(s->step[i] - s->step[0]) / span;
        const size_t k = (size_t)(at * (double)width);

        points[k]++;
        if (isfinite(s->value[i])) {
            sum[k] += s->value[i];
            finite[k]++;
        }
    }
    for (size_t k = 0; k < width; k++) {
        if (!finite[k])
            continue;
        sum[k] /= (double)finite[k];
        least = fmin(least, sum[k]);
        greatest = fmax(greatest, sum[k]);
    }
    for (size_t k = 0; k < width; k++) {
        const double height =
            greatest > least ? (sum[k] - least) / (greatest - least) : 0.5;
        const size_t level = (size_t)(height * (double)(levels - 1) + 0.5);

        if (!points[k])
            buf_char(b, ' ');
        else if (!finite[k])
            buf_char(b, 'x');
        else
            buf_str(b, fine ? blocks[level] : plain[level]);
    }
    free(sum);
    free(finite);
    free(points);
}
