#include "config.h"
#include "common/clock.h"

#include <stdlib.h>
#include <time.h>

#include "common/num.h"

double clock_mono(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int64_t clock_wall_ms(void)
{
    const char *fixed = getenv("GT_CLOCK_MS");
    struct timespec t;
    int64_t ms;

    if (fixed && num_int(fixed, &ms))
        return ms;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

char *clock_text(char *out, int64_t wall_ms)
{
    const time_t s = (time_t)(wall_ms / 1000);
    struct tm tm;

    localtime_r(&s, &tm);
    strftime(out, 32, "%Y-%m-%d %H:%M:%S", &tm);
    return out;
}
