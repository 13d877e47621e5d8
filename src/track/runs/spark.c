#include "config.h"
#include "track/runs/spark.h"

#include <math.h>
#include <stdlib.h>

#include "common/mem.h"
#include "common/utf8.h"

void spark(struct buf *b, const struct series *s, size_t max_width)
{
    const size_t width = s->n < max_width ? s->n : max_width;
    static const char *const blocks[] = {
        "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"
    };
    static const char *const plain[] = { "_", ".", "-", "=", "*", "#" };
    const bool utf8 = utf8_locale();
    const size_t levels = utf8 ? 8 : 6;
    double *sum = xcalloc(width, sizeof *sum);
    size_t *finite = xcalloc(width, sizeof *finite);
    size_t *points = xcalloc(width, sizeof *points);
    double lowest = (double)INFINITY, highest = -(double)INFINITY;

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
        lowest = fmin(lowest, sum[k]);
        highest = fmax(highest, sum[k]);
    }
    for (size_t k = 0; k < width; k++) {
        const double height =
            highest > lowest ? (sum[k] - lowest) / (highest - lowest) : 0.5;
        const size_t level = (size_t)(height * (double)(levels - 1) + 0.5);

        if (!points[k])
            buf_char(b, ' ');
        else if (!finite[k])
            buf_char(b, 'x');
        else
            buf_str(b, utf8 ? blocks[level] : plain[level]);
    }
    free(sum);
    free(finite);
    free(points);
}
