#include "config.h"
#include "plot/draw/axis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "common/utf8.h"

void axis_init(struct axis *a, const char *label, enum unit unit)
{
    *a = (struct axis){
        .label = label, .unit = unit, .factor = 1, .lo = NAN, .hi = NAN
    };
}

/* Logarithmic when the middle 98 of 100 values span two decades, so that a
 * linear axis would show most of them as zero; but never for percentages,
 * times, bytes and counts, which are read from zero. */
void axis_scale(struct axis *a, const double *values, size_t n)
{
    enum { SAMPLE = 4096 };
    double some[SAMPLE], lo, hi;
    const size_t step = n / SAMPLE + 1;
    size_t m = 0;

    if (a->scale != SCALE_AUTO)
        return;
    a->scale = SCALE_LINEAR;
    if (a->unit != UNIT_NONE)
        return;
    for (size_t i = 0; i < n; i += step)
        if (isfinite(values[i]))
            some[m++] = values[i];
    for (size_t i = 0; i < n; i++)
        if (values[i] <= 0)
            return;
    if (m < 2)
        return;
    num_sort(some, m);
    lo = some[m / 100];
    hi = some[m - 1 - m / 100];
    if (hi > 100 * lo)
        a->scale = SCALE_LOG;
}

/* The largest number that is shown, so that differences are finite, and the
 * relative difference below which two ends are one: gnuplot gets ten digits. */
static const double MOST = 1e300, LEVEL = 1e-9;

void axis_range(struct axis *a, double lo, double hi, double margin)
{
    const bool log = a->scale == SCALE_LOG;
    double room;

    if (!isfinite(lo) || !isfinite(hi))
        lo = log ? 1 : 0, hi = log ? 10 : 1;
    lo = fmin(fmax(lo, -MOST), MOST);
    hi = fmin(fmax(hi, -MOST), MOST);
    if (hi - lo <= LEVEL * fmax(fabs(lo), fabs(hi)))
        hi = lo;
    if (log && lo <= 0)
        lo = hi > 0 ? hi / 1e3 : 0.1;
    if (log && hi <= lo)
        lo /= 2, hi = lo * 4;
    if (log) {
        room = pow(hi / lo, margin);
        lo /= room;
        hi *= room;
    } else {
        if (hi <= lo) {
            room = lo == 0 ? 1 : fabs(lo) * 0.1;
            lo -= lo == 0 ? 0 : room;
            hi += room;
        }
        room = (hi - lo) * margin;
        if (lo >= 0 &&
            (a->from_zero || lo - room < 0 || (margin > 0 && lo < 0.15 * hi)))
            lo = 0;
        else
            lo -= room;
        hi += room;
    }
    if (isnan(a->lo))
        a->lo = lo;
    if (isnan(a->hi))
        a->hi = hi;
    if (a->hi <= a->lo)
        a->hi = log ? a->lo * 10 : a->lo + 1;
}

size_t axis_widest(const struct axis *a)
{
    size_t widest = 0;

    for (size_t i = 0; i < a->n_ticks; i++)
        if (utf8_width(a->tick[i].label) > widest)
            widest = utf8_width(a->tick[i].label);
    return widest;
}

/* The standard deviation of the steps between values, or between their
 * logarithms, divided by the mean. */
static double unevenness(const double *v, size_t n, bool logs)
{
    double sum = 0, square = 0, mean;

    for (size_t i = 1; i < n; i++) {
        const double step = logs ? log(v[i] / v[i - 1]) : v[i] - v[i - 1];

        sum += step;
        square += step * step;
    }
    mean = sum / (double)(n - 1);
    return sqrt(fmax(square / (double)(n - 1) - mean * mean, 0)) / mean;
}

static bool is_geometric(const double *v, size_t n)
{
    if (n < 2 || v[0] <= 0 || v[n - 1] <= v[0])
        return false;
    if (n == 2)
        return v[1] >= 8 * v[0];
    return unevenness(v, n, true) < unevenness(v, n, false) - 1e-6;
}

bool axis_geometric(const double *values, size_t n)
{
    AUTO_FREE double *sorted = xcalloc(n + 1, sizeof *sorted);

    memcpy(sorted, values, n * sizeof *sorted);
    return is_geometric(sorted, num_unique(sorted, n));
}

static void add_tick(struct axis *a, double at, const char *label)
{
    APPEND(a->tick, a->n_ticks, a->tick_room) = (struct tick){ at, label };
}

/* 0.0006 is "6e-4": no zeros in the exponent or at the end. */
static void exponent_form(char *out, size_t size, double v, int digits)
{
    char *e, *from;
    int power;

    snprintf(out, size, "%.*e", digits, v);
    e = strchr(out, 'e');
    if (!e)
        return;
    power = (int)strtol(e + 1, NULL, 10);
    if (digits > 0) {
        for (from = e; from > out && from[-1] == '0'; from--)
            ;
        if (from > out && from[-1] == '.')
            from--;
        e = from;
    }
    snprintf(e, size - (size_t)(e - out), "e%d", power);
}

/* Digits after the point that a multiple of step needs. */
static int digits_of(double step)
{
    int digits = (int)fmax(0, ceil(-log10(step) - 1e-9));

    /* 2.5 needs one more than its power of ten says */
    if (fabs(step * pow(10, digits) - round(step * pow(10, digits))) > 1e-6)
        digits++;
    return digits > 9 ? 9 : digits;
}

/* A tick of a count: 500, 1500, 20k, 2.5M. */
static void count_label(char *out, size_t size, double v, double step,
                        double largest)
{
    static const char *const unit[] = { "", "k", "M", "B", "T", "P", "E" };
    double div = 1;
    int u = 0;

    while (largest >= 1e4 && largest / div >= 1000 && u < 6) {
        div *= 1000;
        u++;
    }
    if (v == 0)
        snprintf(out, size, "0");
    else
        snprintf(out, size, "%.*f%s",
                 v / div == floor(v / div) ? 0 : digits_of(step / div), v / div,
                 unit[u]);
}

static void plain_label(char *out, size_t size, double v, double step,
                        double largest)
{
    const double unit = pow(10, floor(log10(fabs(v)) + 1e-9));

    if (fabs(v) < step * 1e-6)
        snprintf(out, size, "0");
    else if (largest < 1e-2 || largest >= 1e6)
        exponent_form(out, size, v, digits_of(step / unit));
    else
        snprintf(out, size, "%.*f", digits_of(step), v);
}

/* The step of about `most` ticks: 1, 2, 2.5 or 5 times a power of ten. */
static double nice_step(double span, int most, bool whole)
{
    static const double nice[] = { 1, 2, 2.5, 5, 10 };
    const double power = pow(10, floor(log10(span / most)));

    for (size_t i = 0; i < sizeof nice / sizeof nice[0]; i++) {
        if (nice[i] * power * most < span * (1 - 1e-9))
            continue;
        if (whole && nice[i] * power < 1)
            continue;
        if (whole && nice[i] == 2.5 && power < 10)
            continue;
        return nice[i] * power;
    }
    return 10 * power;
}

/* The first tick and the last one, as multiples of the step. */
static double first_tick(double lo, double step)
{
    return ceil(lo / step - 1e-6);
}

static double last_tick(double hi, double step)
{
    return floor(hi / step + 1e-6);
}

/* The step of linear ticks; at least two of them are in the range. */
static double linear_step(const struct axis *a, double lo, double hi, int most)
{
    static const double hours[] = { 1. / 60, 1. / 30, 1. / 12, 1. / 6,
                                    0.25,    0.5,     1,       2,
                                    3,       6,       12,      24 };
    enum { MORE = 8 };
    const bool count = a->unit == UNIT_COUNT;
    double step = nice_step(hi - lo, most, count);

    if (a->unit == UNIT_SECONDS && (a->factor == 60 || a->factor == 86400) &&
        step >= 1) {
        for (size_t i = 0; i < sizeof hours / sizeof hours[0]; i++) {
            const double s = a->factor == 60 ? hours[i] * 60 : hours[i] * 24;

            if (s * most >= hi - lo && s >= 1) {
                step = s;
                break;
            }
        }
    }
    for (int more = 1;
         more < MORE && first_tick(lo, step) >= last_tick(hi, step); more++)
        step = nice_step(hi - lo, most + more, count);
    return step;
}

static void linear_ticks(struct axis *a, struct arena *mem, int most)
{
    const double lo = a->lo / a->factor, hi = a->hi / a->factor;
    const double largest = fmax(fabs(lo), fabs(hi));
    const double step = linear_step(a, lo, hi, most);

    for (double i = first_tick(lo, step); i <= last_tick(hi, step); i++) {
        char text[48];

        if (a->unit == UNIT_COUNT)
            count_label(text, sizeof text, i * step, step, largest);
        else
            plain_label(text, sizeof text, i * step, step, largest);
        add_tick(a, i * step * a->factor, arena_strdup(mem, text));
    }
}

/* One tick of a log axis: 1e-4, 0.01, 0.5, 20, 3k. */
static void log_label(const struct axis *a, char *out, size_t size, double v)
{
    if (a->unit == UNIT_COUNT)
        count_label(out, size, v, v, v);
    else if (v >= 0.00999 && v < 1e5)
        snprintf(out, size, "%.*f", (int)fmax(0, ceil(-log10(v) - 1e-9)), v);
    else
        exponent_form(out, size, v, 0);
}

static void log_ticks(struct axis *a, struct arena *mem, int most)
{
    /* which multiples of a decade get a label, from many to few */
    static const char *const sets[] = { "123456789", "12357", "125", "13",
                                        "1" };
    const double lo = a->lo / a->factor, hi = a->hi / a->factor;
    const int from = (int)floor(log10(lo) - 1e-9);
    const int to = (int)ceil(log10(hi) + 1e-9);
    size_t set = 0;
    int every = 1;

    if (hi / lo < 3) {
        linear_ticks(a, mem, most);
        return;
    }
    for (; set + 1 < sizeof sets / sizeof sets[0]; set++) {
        int n = 0;

        for (int d = from; d <= to; d++)
            for (const char *s = sets[set]; *s; s++)
                n += (*s - '0') * pow(10, d) >= lo &&
                     (*s - '0') * pow(10, d) <= hi;
        if (n <= most + 1)
            break;
    }
    while (floor(log10(hi) + 1e-9) - ceil(log10(lo) - 1e-9) >=
           (double)(every * (most + 1)))
        every++;
    for (int d = from; d <= to; d++) {
        for (int m = 1; m < 10; m++) {
            const double v = m * pow(10, d);
            const bool named = strchr(sets[set], '0' + m) && d % every == 0;
            char text[48] = "";

            if (v < lo * (1 - 1e-9) || v > hi * (1 + 1e-9) ||
                (m > 1 && to - from > 12))
                continue;
            if (named)
                log_label(a, text, sizeof text, v);
            add_tick(a, v * a->factor, arena_strdup(mem, text));
        }
    }
}

/* Choose what the numbers of the axis are divided by; returns its name. */
static const char *choose_factor(struct axis *a)
{
    static const struct {
        enum unit unit;
        double at_least, factor;
        const char *name;
    } factors[] = {
        { UNIT_BYTES, 0x1p41, 0x1p40, "TiB" },
        { UNIT_BYTES, 0x1p30, 0x1p30, "GiB" },
        { UNIT_BYTES, 0x1p20, 0x1p20, "MiB" },
        { UNIT_BYTES, 0x1p10, 0x1p10, "KiB" },
        { UNIT_BYTES, 0, 1, "B" },
        { UNIT_SECONDS, 4 * 86400, 86400, "days" },
        { UNIT_SECONDS, 2 * 3600, 3600, "h" },
        { UNIT_SECONDS, 180, 60, "min" },
        { UNIT_SECONDS, 1, 1, "s" },
        { UNIT_SECONDS, 1e-3, 1e-3, "ms" },
        { UNIT_SECONDS, 0, 1, "s" },
        { UNIT_PERCENT, 0, 1, "%" },
        { UNIT_FRACTION, 0, 0.01, "%" },
    };
    const double largest = fmax(fabs(a->lo), fabs(a->hi));

    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++)
        if (a->unit == factors[i].unit && largest >= factors[i].at_least) {
            a->factor = factors[i].factor;
            return factors[i].name;
        }
    return NULL;
}

/* Hand the ticks over to the arena. */
static void own_ticks(struct axis *a, struct arena *mem)
{
    arena_take(mem, a->tick);
    a->tick_room = 0;
}

static void choose_ticks(struct axis *a, struct arena *mem, int most)
{
    if (a->scale == SCALE_LOG)
        log_ticks(a, mem, most);
    else
        linear_ticks(a, mem, most);
}

void axis_ticks(struct axis *a, struct arena *mem, int most)
{
    const char *unit;

    if (a->unit == UNIT_NAMED) {
        a->shown = a->label;
        return;
    }
    unit = choose_factor(a);
    a->shown = !unit       ? a->label
               : *a->label ? arena_printf(mem, "%s (%s)", a->label, unit)
                           : unit;
    if (a->n_ticks)
        return;
    if (most < 2)
        most = 2;
    a->most = most;
    choose_ticks(a, mem, most);
    own_ticks(a, mem);
}

double axis_value_at(const struct axis *a, double part)
{
    return a->scale == SCALE_LOG ? a->lo * pow(a->hi / a->lo, part)
                                 : a->lo + part * (a->hi - a->lo);
}

void axis_finer(struct axis *fine, const struct axis *a, struct arena *mem,
                int parts)
{
    *fine = *a;
    fine->tick = NULL;
    fine->n_ticks = fine->tick_room = 0;
    for (int i = 0; i < parts && a->unit != UNIT_NAMED && a->most > 0; i++) {
        fine->lo = axis_value_at(a, (double)i / parts);
        fine->hi = axis_value_at(a, (double)(i + 1) / parts);
        choose_ticks(fine, mem, a->most);
    }
    fine->lo = a->lo;
    fine->hi = a->hi;
    own_ticks(fine, mem);
}

void axis_extend(struct axis *a, double part, double lo, double hi)
{
    a->hi =
        a->scale == SCALE_LOG ? hi * pow(hi / lo, part) : hi + part * (hi - lo);
}

void axis_renew(struct axis *a, struct arena *mem)
{
    if (a->most == 0)
        return;
    a->tick = NULL;
    a->n_ticks = 0;
    axis_ticks(a, mem, a->most);
}

void axis_names(struct axis *a, struct arena *mem, const char *const *name,
                size_t n, int most)
{
    const size_t every = (n + (size_t)most - 1) / (size_t)(most ? most : 1);

    a->unit = UNIT_NAMED;
    a->scale = SCALE_LINEAR;
    a->lo = -0.5;
    a->hi = (double)n - 0.5;
    a->tick = arena_alloc(mem, (n + 1) * sizeof *a->tick);
    a->n_ticks = 0;
    for (size_t i = 0; i < n; i += every ? every : 1)
        a->tick[a->n_ticks++] = (struct tick){ (double)i, name[i] };
}

void axis_thin_names(struct axis *a, int most)
{
    const size_t room = most > 1 ? (size_t)most : 1;
    const size_t every = (a->n_ticks + room - 1) / room;
    size_t n = 0;

    /* a long name at the first tick would leave the page */
    for (size_t i = every ? (every - 1) / 2 : 0; i < a->n_ticks; i += every)
        a->tick[n++] = a->tick[i];
    a->n_ticks = n;
}

char *axis_value(char out[32], enum unit unit, double v)
{
    const double size = fabs(v);

    if (!isfinite(v))
        snprintf(out, 32, "%s", isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
    else if (size <= 0)
        snprintf(out, 32, "0");
    else if (unit == UNIT_BYTES)
        num_bytes(out, v);
    else if (unit == UNIT_SECONDS && size >= 1)
        num_duration(out, v);
    else if (unit == UNIT_SECONDS)
        snprintf(out, 32, "%.3g ms", v * 1e3);
    else if (unit == UNIT_COUNT && size < 1e7)
        snprintf(out, 32, "%.0f", v);
    else if (unit == UNIT_COUNT)
        num_short(out, v);
    else if (unit == UNIT_PERCENT || unit == UNIT_FRACTION)
        snprintf(out, 32, "%.1f%%", unit == UNIT_PERCENT ? v : v * 100);
    else if (size != 0 && (size < 1e-2 || size >= 1e6))
        exponent_form(out, 32, v, 3);
    else
        snprintf(out, 32, "%.*f", size >= 1000 ? 0 : size >= 100 ? 2 : 4, v);
    return out;
}
