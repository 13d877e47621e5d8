#include "config.h"
#include "common/clock.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void clock_pause(double seconds)
{
    const double whole = floor(fmax(seconds, 0));
    const struct timespec t = { .tv_sec = (time_t)whole,
                                .tv_nsec = (long)((seconds - whole) * 1e9) };

    nanosleep(&t, NULL);
}

struct timespec clock_after(clockid_t clock, double seconds)
{
    const double whole = floor(seconds);
    struct timespec t;

    clock_gettime(clock, &t);
    t.tv_nsec += (long)((seconds - whole) * 1e9);
    t.tv_sec += (time_t)whole + t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

void clock_cond(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

bool clock_wait(pthread_mutex_t *lock, pthread_cond_t *wake, const bool *stop,
                double seconds)
{
    const struct timespec until = clock_after(CLOCK_MONOTONIC, seconds);
    bool stopped;

    pthread_mutex_lock(lock);
    while (!*stop && pthread_cond_timedwait(wake, lock, &until) != ETIMEDOUT)
        ;
    stopped = *stop;
    pthread_mutex_unlock(lock);
    return stopped;
}

char *clock_text(char *out, int64_t wall_ms)
{
    const time_t s = (time_t)(wall_ms / 1000);
    struct tm tm;

    localtime_r(&s, &tm);
    strftime(out, 32, "%Y-%m-%d %H:%M:%S", &tm);
    return out;
}

char *clock_ago(char *out, int64_t wall_ms)
{
    static const struct {
        int64_t secs, most;
        const char *unit;
    } units[] = {
        { 1, 60, "s" }, { 60, 60, "m" }, { 3600, 48, "h" }, { 86400, 31, "d" }
    };
    const int64_t secs = (clock_wall_ms() - wall_ms) / 1000;

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (secs >= 0 && secs < units[i].secs * units[i].most) {
            snprintf(out, 32, "%lld%s ago", (long long)(secs / units[i].secs),
                     units[i].unit);
            return out;
        }
    }
    clock_text(out, wall_ms);
    out[strcspn(out, " ")] = '\0';
    return out;
}

bool clock_parse(const char *text, int64_t *wall_ms)
{
    static const char *const forms[] = { "%Y-%m-%d", "%Y-%m-%d %H:%M",
                                         "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S",
                                         "%Y-%m-%dT%H:%M:%S" };

    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct tm tm = { .tm_isdst = -1 };
        const char *end = strptime(text, forms[i], &tm);

        if (end && *end == '\0') {
            *wall_ms = (int64_t)mktime(&tm) * 1000;
            return true;
        }
    }
    return false;
}

static void put_digits(char *at, int n, int x)
{
    for (; n > 0; x /= 10)
        at[--n] = (char)('0' + x % 10);
}

char *clock_utc(char *out, int64_t wall_ms)
{
    static const int64_t first = -62167219200000, last = 253402300799999;
    const int64_t at = wall_ms < first  ? first
                       : wall_ms > last ? last
                                        : wall_ms;
    const int ms = (int)((at % 1000 + 1000) % 1000);
    const time_t secs = (time_t)((at - ms) / 1000);
    struct tm tm;

    gmtime_r(&secs, &tm);
    memcpy(out, "0000-00-00T00:00:00.000Z", 25);
    put_digits(out, 4, tm.tm_year + 1900);
    put_digits(out + 5, 2, tm.tm_mon + 1);
    put_digits(out + 8, 2, tm.tm_mday);
    put_digits(out + 11, 2, tm.tm_hour);
    put_digits(out + 14, 2, tm.tm_min);
    put_digits(out + 17, 2, tm.tm_sec);
    put_digits(out + 20, 3, ms);
    return out;
}
