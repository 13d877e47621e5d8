#include "config.h"
#include "plot/run_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "common/utf8.h"
#include "plot/draw/axis.h"
#include "store/format/store.h"
#include "store/query/differ.h"

const char *run_set_value(const struct run_info *run, const char *param)
{
    const char *value = run_info_param(run, param);

    if (!value)
        value = run_info_tag(run, param);
    if (!value && strcmp(param, "name") == 0)
        value = run->name;
    /* "lr" finds "optim.lr" if nothing has just this name */
    for (size_t i = 0; i < run->n_params && !value; i++) {
        const char *dot = strrchr(run->params[i].key, '.');

        if (dot && strcmp(dot + 1, param) == 0)
            value = run->params[i].value;
    }
    return value;
}

bool run_set_has(const struct run_set *c, const char *param)
{
    for (size_t i = 0; i < c->n; i++)
        if (run_set_value(&c->run[i], param))
            return true;
    return false;
}

static bool equal_values(const struct run_info *a, const struct run_info *b,
                         const char *const *param, size_t n)
{
    size_t i = 0;

    while (i < n &&
           str_same(run_set_value(a, param[i]), run_set_value(b, param[i])))
        i++;
    return i == n;
}

size_t *run_set_alike(const struct run_info *run, size_t n,
                      const char *const *param, size_t n_params)
{
    size_t *first = xcalloc(n + 1, sizeof *first);

    for (size_t i = 0; i < n; i++)
        while (first[first[i]] != first[i] ||
               !equal_values(&run[i], &run[first[i]], param, n_params))
            first[i]++;
    return first;
}

bool run_set_apart(const struct run_info *run, size_t n, const size_t *alike,
                   const char *key)
{
    for (size_t i = 0; i < n && !strstr(str_after(key, '.'), "seed"); i++)
        if (!equal_values(&run[i], &run[alike[i]], &key, 1))
            return true;
    return false;
}

const char *run_set_mixed(const struct run_info *run, size_t n,
                          const char *const *param, size_t n_params,
                          struct arena *mem)
{
    enum { MOST = 4 };
    size_t *alike = run_set_alike(run, n, param, n_params), found = 0;
    const char *keys = NULL;
    AUTO(differ_clear) struct differ d = { 0 };

    differ_params(&d, run, n);
    for (size_t i = 0; i < d.n && found <= MOST; i++) {
        if (!run_set_apart(run, n, alike, d.item[i].key))
            continue;
        keys = found++ == 0 ? arena_strdup(mem, d.item[i].key)
               : found <= MOST
                   ? arena_printf(mem, "%s, %s", keys, d.item[i].key)
                   : arena_printf(mem, "%s and more", keys);
    }
    free(alike);
    return keys;
}

/* Where a text may be cut: not within a character. */
static size_t whole_character(const char *s, size_t at)
{
    while (at > 0 && ((unsigned char)s[at] & 0xC0) == 0x80)
        at--;
    return at;
}

/* The number of bytes with which all names begin alike. */
static size_t common_start(const struct run_set *c)
{
    size_t n = strlen(c->name[0]);

    for (size_t i = 1; i < c->n; i++) {
        size_t k = 0;

        while (k < n && c->name[i][k] == c->name[0][k])
            k++;
        n = k;
    }
    return whole_character(c->name[0], n);
}

/* Where the part of a name begins in which the names differ after n bytes. */
static size_t part_start(const char *name, size_t n)
{
    enum { MOST = 12, TAIL = 4, LEAST = 2 }; /* that is shown before n */
    size_t at = n > LEAST ? n - LEAST : 0;

    while (at > 0 && n - at < MOST && !strchr("-_/ ", name[at - 1]))
        at--;
    if (at > 0 && n - at < MOST)
        return at;
    return n > TAIL ? whole_character(name, n - TAIL) : 0;
}

/* Cut what long names have in common, except its ends: "gpt2-w…lr3e-4". */
static void show_names(struct run_set *c, struct arena *mem)
{
    enum { LONG = 24, HEAD = 6 };
    const size_t same = c->n > 1 ? part_start(c->name[0], common_start(c)) : 0;
    size_t widest = 0;

    for (size_t i = 0; i < c->n; i++)
        if (utf8_width(c->name[i]) > widest)
            widest = utf8_width(c->name[i]);
    for (size_t i = 0; i < c->n; i++) {
        const char *name = c->name[i];

        c->shown[i] = name;
        if (widest > LONG && same > HEAD + 2)
            c->shown[i] = arena_printf(
                mem, "%.*s%s%s", (int)whole_character(name, HEAD), name,
                utf8_locale() ? "\xe2\x80\xa6" : "~", name + same);
    }
}

/* Label the cells of sweeps by what was swept, if that tells them apart. */
static bool label_cells(struct run_set *c, struct arena *mem)
{
    AUTO(differ_clear) struct differ d = { 0 };

    c->labelled = c->n > 1;
    for (size_t i = 0; i < c->n && c->labelled; i++)
        c->labelled = run_info_tag(&c->run[i], DIFFER_KEYS_TAG) != NULL;
    if (c->labelled) {
        differ_params(&d, c->run, c->n);
        d.n = d.swept;
        c->labelled =
            differ_labels(&d, c->run, c->n, d.n, mem, c->shown) == c->n;
    }
    return c->labelled;
}

/* The numbers of a parameter, NaN where it is missing.  Returns how many are
 * different; 0 if one of its values is no number. */
static size_t read_numbers(const struct run_set *c, const char *param,
                           double *number)
{
    AUTO_FREE double *known = xcalloc(c->n + 1, sizeof *known);
    bool all = true;
    size_t n = 0;

    for (size_t i = 0; i < c->n && all; i++) {
        const char *value = run_set_value(&c->run[i], param);

        number[i] = (double)NAN;
        if (!value)
            continue;
        all = num_real(value, &number[i]) && isfinite(number[i]);
        known[n++] = number[i];
    }
    return all ? num_unique(known, n) : 0;
}

static bool has_all(const struct run_set *c, const char *param)
{
    size_t i = 0;

    while (i < c->n && run_info_param(&c->run[i], param))
        i++;
    return i == c->n;
}

size_t run_set_numbers(const struct run_set *c, const char *key[2])
{
    AUTO_FREE double *number = xcalloc(c->n + 1, sizeof *number);
    size_t most[2] = { 2, 1 };
    AUTO(differ_clear) struct differ d = { 0 };

    differ_params(&d, c->run, c->n);
    if (d.swept) /* two values are enough */
        most[0] = 1;
    key[0] = key[1] = NULL;
    for (size_t i = 0; i < (d.swept ? d.swept : d.n); i++) {
        const char *name = d.item[i].key;
        const size_t n = strstr(name, "seed") || !has_all(c, name)
                             ? 0
                             : read_numbers(c, name, number);

        if (n > most[0]) {
            key[1] = key[0];
            most[1] = key[0] ? most[0] : most[1];
            key[0] = name;
            most[0] = n;
        } else if (n > most[1]) {
            key[1] = name;
            most[1] = n;
        }
    }
    return !key[0] ? 0 : key[1] ? 2 : 1;
}

/* Colour runs by a number, on a ramp, and those without it grey; by their place
 * among all if there is no parameter.  False if fewer numbers are different. */
static bool colour_by_ramp(struct run_set *c, const char *param,
                           const char *label, size_t least, struct arena *mem)
{
    AUTO_FREE double *number = xcalloc(c->n + 1, sizeof *number);
    AUTO_FREE double *known = xcalloc(c->n + 1, sizeof *known);
    struct ramp r = { .label = label, .lo = INFINITY, .hi = -INFINITY };
    const bool enough = !param || read_numbers(c, param, number) >= least;
    size_t n = 0;

    for (size_t i = 0; i < c->n && enough; i++) {
        number[i] = param ? number[i] : (double)i + 1;
        if (isnan(number[i]))
            continue;
        known[n++] = number[i];
        r.lo = fmin(r.lo, number[i]);
        r.hi = fmax(r.hi, number[i]);
    }
    r.log = axis_geometric(known, n);
    for (size_t i = 0; i < c->n && enough; i++)
        c->slot[i] = isnan(number[i])
                         ? COLOUR_GREY
                         : palette_ramp_slot(
                               r.log ? log(number[i] / r.lo) / log(r.hi / r.lo)
                                     : (number[i] - r.lo) / (r.hi - r.lo));
    if (enough) {
        r.label = arena_strdup(mem, label);
        c->ramp = arena_alloc(mem, sizeof r);
        *c->ramp = r;
    }
    return enough;
}

/* Colour runs by a number in which they differ; false if there is none. */
static bool colour_by_number(struct run_set *c, struct arena *mem)
{
    const char *key[2];

    return run_set_numbers(c, key) > 0 &&
           colour_by_ramp(c, key[0], str_after(key[0], '.'), 0, mem);
}

/* Returns how many different values there are. */
static int colour_by_word(struct run_set *c, const char *param,
                          struct arena *mem)
{
    AUTO_FREE size_t *alike = run_set_alike(c->run, c->n, &param, 1);
    int next = 0;

    c->value = arena_alloc(mem, (c->n + 1) * sizeof *c->value);
    for (size_t i = 0; i < c->n; i++) {
        const char *value = run_set_value(&c->run[i], param);

        c->value[i] = arena_printf(mem, "%s %s", str_after(param, '.'),
                                   value ? value : "\xe2\x80\x93");
        c->slot[i] = !value         ? COLOUR_GREY
                     : alike[i] < i ? c->slot[alike[i]]
                                    : next++;
    }
    return next;
}

/* Colour runs by a word, or by one of two numbers, in which they differ; false
 * if there is none of up to eight values. */
static bool colour_by_difference(struct run_set *c, struct arena *mem)
{
    AUTO(differ_clear) struct differ d = { 0 };
    bool found = false;

    differ_params(&d, c->run, c->n);
    for (size_t i = 0; i < d.n && !found; i++)
        found = !strstr(d.item[i].key, "seed") &&
                colour_by_word(c, d.item[i].key, mem) <= PALETTE_COLOURS;
    if (!found)
        c->value = NULL;
    return found;
}

int run_set_colour_by(struct run_set *c, const char *param, struct arena *mem,
                      struct err *e)
{
    const bool any = run_set_has(c, param);

    c->ramp = NULL;
    c->value = NULL;
    if (any && !colour_by_ramp(c, param, param, 3, mem))
        colour_by_word(c, param, mem);
    return any ? 0
               : err_set(e, ERR_MISSING,
                         "none of these runs has a parameter %s", param);
}

/* The colour that a run has been given, or -1. */
static int own_slot(const struct run_info *run)
{
    const char *tag = run_info_tag(run, STORE_COLOUR_TAG);
    int64_t n;

    return tag && num_int(tag, &n) && n >= 1 && n <= PALETTE_COLOURS
               ? (int)n - 1
               : -1;
}

/* Runs that have a colour of their own come first, then the oldest. */
static int by_claim(const void *a, const void *b)
{
    const struct run_info *x = *(const struct run_info *const *)a;
    const struct run_info *y = *(const struct run_info *const *)b;

    return (own_slot(x) < 0) - (own_slot(y) < 0) ?:
           (x->start_ms > y->start_ms) - (x->start_ms < y->start_ms) ?:
           strcmp(x->id, y->id);
}

/* The runs in another order. */
static const struct run_info **sorted(const struct run_set *c,
                                      int (*by)(const void *, const void *))
{
    const struct run_info **run = xcalloc(c->n, sizeof *run);

    for (size_t i = 0; i < c->n; i++)
        run[i] = &c->run[i];
    SORT(run, c->n, by);
    return run;
}

/* Give each run its own colour; or the next free one, if an older run of the
 * figure has it.  Eight runs have different colours, the next eight also
 * dashes. */
static void colour_runs(struct run_set *c)
{
    AUTO_FREE const struct run_info **run = sorted(c, by_claim);
    bool taken[PALETTE_COLOURS] = { false };

    for (size_t i = 0; i < c->n; i++) {
        const int own = own_slot(run[i]);
        int slot = own < 0 ? palette_slot(run[i]->name) : own;

        if (i % PALETTE_COLOURS == 0)
            memset(taken, 0, sizeof taken);
        while (taken[slot])
            slot = (slot + 1) % PALETTE_COLOURS;
        taken[slot] = true;
        c->slot[run[i] - c->run] =
            slot + (int)(i / PALETTE_COLOURS) * PALETTE_COLOURS;
    }
}

static int by_name(const void *a, const void *b)
{
    const struct run_info *x = *(const struct run_info *const *)a;
    const struct run_info *y = *(const struct run_info *const *)b;

    return strcmp(x->name, y->name);
}

/* Names that runs share are followed by the id. */
static void name_runs(struct run_set *c, struct arena *mem)
{
    AUTO_FREE const struct run_info **run = sorted(c, by_name);

    for (size_t i = 0; i < c->n; i++) {
        const char *name = run[i]->name;
        const bool shared =
            (i > 0 && strcmp(run[i - 1]->name, name) == 0) ||
            (i + 1 < c->n && strcmp(run[i + 1]->name, name) == 0);

        c->name[run[i] - c->run] =
            shared ? arena_printf(mem, "%s (%.8s)", name, run[i]->id) : name;
    }
}

void run_set_init(struct run_set *c, const struct run_info *run, size_t n,
                  struct arena *mem)
{
    *c = (struct run_set){
        .run = run,
        .n = n,
        .slot = arena_alloc(mem, (n + 1) * sizeof *c->slot),
        .name = arena_alloc(mem, (n + 1) * sizeof *c->name),
        .shown = arena_alloc(mem, (n + 1) * sizeof *c->shown),
    };
    name_runs(c, mem);
    if (!label_cells(c, mem))
        show_names(c, mem);
    colour_runs(c);
    if (n > PALETTE_COLOURS && !colour_by_number(c, mem) &&
        !colour_by_difference(c, mem))
        colour_by_ramp(c, NULL, "run", 0, mem);
}
