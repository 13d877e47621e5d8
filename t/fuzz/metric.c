/*
 * metric - files of metrics; and numbers, beside strtod()
 */
#include "config.h"
#include "common/num.h"
#include "store/format/metric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "t/fuzz/fuzz.h"

static void count(void *arg, const struct metric_point *p)
{
    (void)p;
    ++*(int64_t *)arg;
}

/* A number is read as strtod() reads it, and printed to be the same again. */
static void number(const uint8_t *data, size_t n)
{
    char text[256], again[NUM_TEXT];
    const char *end;
    double x, y;
    int len;

    if (n >= sizeof text || memchr(data, 0, n))
        return;
    memcpy(text, data, n);
    text[n] = '\0';
    end = num_parse(text, text + n, &x);
    if (!end)
        return;
    text[end - text] = '\0';
    y = strtod(text, NULL);
    FUZZ_CHECK(x == y || (isnan(x) && isnan(y)));
    len = num_shortest(again, x);
    FUZZ_CHECK(num_parse(again, again + len, &y) == again + len);
    FUZZ_CHECK(x == y || (isnan(x) && isnan(y)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct metric_scan scan;
    struct err e = { 0 };
    char path[32];
    const int fd = fuzz_file(data, n, path);
    const struct metric_file f = { .path = path, .key = "x" };
    int64_t points = 0, lines = 0;

    FUZZ_CHECK(metric_read(&f, count, &points, &scan, &e) == 0 ||
               e.kind == ERR_INPUT);
    for (size_t i = 0; i < n; i++)
        lines += data[i] == '\n';
    if (e.kind == ERR_NONE)
        FUZZ_CHECK(points + scan.bad == lines &&
                   scan.torn == (n > 0 && data[n - 1] != '\n'));
    close(fd);
    number(data, n);
    return 0;
}
