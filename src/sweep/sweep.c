#include "config.h"
#include "sweep/sweep.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/rng.h"
#include "common/sha256.h"

static const char *const goals[] = {
    [SWEEP_MIN] = "min", [SWEEP_MAX] = "max", NULL
};
static const char *const methods[] = {
    [SWEEP_ALL] = "all", [SWEEP_HALVING] = "halving", NULL
};

static const char *const samplers[] = {
    [SAMPLER_RANDOM] = "random", [SAMPLER_TPE] = "tpe", NULL
};

/* clang-format off */
#define AT(member) offsetof(struct sweep, member)

static const struct setting table[] = {
    { "sweep.name", CONF_TEXT, AT(name), "",
      "name of the sweep; empty: that of the file" },
    { "sweep.base", CONF_TEXT, AT(base), "",
      "configuration with the settings of every cell" },
    { "sweep.metric", CONF_TEXT, AT(metric), "val/loss",
      "metric that tells which cell is best" },
    { "sweep.goal", CONF_WORD, AT(goal), "min",
      "whether the lowest or the highest value is best", goals },
    { "sweep.method", CONF_WORD, AT(method), "all",
      "run every cell to its end, or halve their number in rungs",
      methods },
    { "sweep.sampler", CONF_WORD, AT(sampler), "random",
      "draw the values of [random] independently, or where results are good",
      samplers },
    { "sweep.samples", CONF_INT, AT(samples), "10",
      "number of samples of the axes in [random]", .min = 1,
      .max = SWEEP_MAX_CELLS },
    { "sweep.seeds", CONF_INT, AT(seeds), "1",
      "number of seeds", .min = 1, .max = 1000 },
    { "sweep.parallel", CONF_INT, AT(parallel), "1",
      "cells that run at the same time on this machine", .min = 1,
      .max = 1024 },
    { "sweep.gpus", CONF_INT, AT(gpus), "0",
      "GPUs that each cell has for itself; 0: all cells use the same",
      .min = 0, .max = 64 },
    { "sweep.ranks", CONF_INT, AT(ranks), "0",
      "processes of each cell; 0: one", .min = 0, .max = 1024 },
    { "sweep.rungs", CONF_INT, AT(rungs), "3",
      "with halving, rungs; the last is the whole training", .min = 2,
      .max = 20 },
    { "sweep.eta", CONF_INT, AT(eta), "3",
      "with halving, one of this many cells continues", .min = 2,
      .max = 100 },
    { "sweep.steps", CONF_INT, AT(steps), "0",
      "with halving, steps of a whole training", .min = 0, .max = 1e15 },
    { "sweep.resume", CONF_BOOL, AT(resume), "no",
      "whether a cell that is tried again continues its run" },
    { "sweep.drop", CONF_REAL, AT(drop), "0",
      "with halving, drop what is worse, with this probability of an error, "
      "instead of a fixed number", .min = 0, .max = 0.5 },
    { "sweep.seed", CONF_INT, AT(seed), "1", "seed of the values of [random]",
      .min = 0, .max = 1e15 },
    { "slurm.account", CONF_TEXT, AT(account), "", "account to charge" },
    { "slurm.partition", CONF_TEXT, AT(partition), "",
      "partition to run in" },
    { "slurm.time", CONF_TEXT, AT(time), "", "time limit of a cell: 12:00:00" },
    { "slurm.gres", CONF_TEXT, AT(gres), "", "resources of a cell: gpu:1" },
    { "slurm.cpus", CONF_INT, AT(cpus), "0", "cores of a cell; 0: its default",
      .min = 0, .max = 4096 },
    { "slurm.signal", CONF_INT, AT(signal), "120",
      "seconds before the time limit at which a cell writes a checkpoint",
      .min = 1, .max = 65535 },
    { "slurm.extra", CONF_TEXT, AT(extra), "",
      "more options of sbatch: --mem=16G --constraint=a100" },
    { 0 }
};
/* clang-format on */

void sweep_init(struct sweep *s, const char *seed_key)
{
    *s = (struct sweep){ .seed_key = seed_key };
    conf_init(&s->conf, table, s);
}

void sweep_clear(struct sweep *s)
{
    conf_clear(&s->conf);
    FREE(s->set, s->axis, s->slot);
    arena_clear(&s->mem);
    *s = (struct sweep){ 0 };
}

/* ---- axes ------------------------------------------------------------- */

enum { MAX_ARGS = 1000 };

static char *trimmed(struct arena *a, const char *s, size_t n)
{
    while (n && strchr(" \t", s[0])) {
        s++;
        n--;
    }
    while (n && strchr(" \t", s[n - 1]))
        n--;
    return arena_strndup(a, s, n);
}

/* "name(a, b)" or "a, b" */
static int parse_range(struct sweep *s, const char *text, struct sweep_axis *a,
                       struct err *e)
{
    const size_t open = strcspn(text, "(,");
    const char *at = text, *end = text + strlen(text);

    a->range = "";
    if (text[open] == '(') {
        a->range = trimmed(&s->mem, text, open);
        at = text + open + 1;
        if (end[-1] != ')')
            return err_usage(e, "%s: '%s' needs a closing )", a->where, text);
        end--;
    }
    for (;;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end;
        const char *arg = trimmed(&s->mem, at, (size_t)(stop - at));

        if (!arg[0])
            return err_usage(e, "%s: '%s' has an empty value", a->where, text);
        a->arg = arena_grow(&s->mem, a->arg, a->n_args, sizeof *a->arg);
        a->arg[a->n_args++] = arg;
        if (!comma)
            return 0;
        at = comma + 1;
    }
}

/* "KEY = a, b", of an axis that depends on another one. */
static int parse_condition(struct sweep *s, const char *text,
                           struct sweep_axis *a, struct err *e)
{
    const char *equals = strchr(text, '=');
    struct sweep_axis values = { .where = a->where };
    const char *key = trimmed(&s->mem, text, strcspn(text, "="));

    while (a->when < s->n_axes && strcmp(s->axis[a->when].key, key) != 0)
        a->when++;
    if (!equals || a->when == s->n_axes)
        return err_usage(e,
                         "%s: expects 'if KEY = value' with an axis before "
                         "this one, not 'if %s'",
                         a->where, text);
    if (parse_range(s, equals + 1, &values, e) < 0)
        return -1;
    a->when_value = values.arg;
    a->n_when = values.n_args;
    return 0;
}

/* The values as numbers, of which the first is below the second. */
static int parse_numbers(const struct sweep_axis *a, size_t want, double *x,
                         struct err *e)
{
    if (a->n_args != want)
        return err_usage(e, "%s: %s() expects %zu values, not %zu", a->where,
                         a->range, want, a->n_args);
    for (size_t i = 0; i < want; i++)
        if (!num_real(a->arg[i], &x[i]) || !isfinite(x[i]))
            return err_usage(e, "%s: %s() expects numbers, not '%s'", a->where,
                             a->range, a->arg[i]);
    if (!(x[0] < x[1]))
        return err_usage(e, "%s: %s(): %s is not below %s", a->where, a->range,
                         a->arg[0], a->arg[1]);
    if (strncmp(a->range, "log", 3) == 0 && x[0] <= 0)
        return err_usage(e, "%s: %s() expects numbers above 0", a->where,
                         a->range);
    return 0;
}

/* Seven digits are precise enough, and fit into a table. */
static const char *short_number(struct arena *a, double x)
{
    char text[NUM_TEXT], digits[32];

    snprintf(digits, sizeof digits, "%.7g", x);
    num_real(digits, &x);
    num_shortest(text, x);
    if (strlen(text) > 2 && strcmp(text + strlen(text) - 2, ".0") == 0)
        text[strlen(text) - 2] = '\0';
    return arena_strdup(a, text);
}

/* The value at t, from 0 to 1, between two numbers or their logarithms. */
static double interpolate(const double x[2], double t, bool logs)
{
    return logs ? exp(log(x[0]) + t * (log(x[1]) - log(x[0])))
                : x[0] + t * (x[1] - x[0]);
}

/* The values of an axis of the grid. */
static int space_axis(struct sweep *s, struct sweep_axis *a, struct err *e)
{
    const bool logs = strcmp(a->range, "logspace") == 0;
    double x[3];

    if (!a->range[0]) {
        a->n = a->n_args;
        a->value = a->arg;
        return 0;
    }
    if (!logs && strcmp(a->range, "linspace") != 0)
        return err_usage(e, "%s: expects logspace() or linspace(), not '%s()'",
                         a->where, a->range);
    if (parse_numbers(a, 3, x, e) < 0)
        return -1;
    if (!(x[2] >= 2 && x[2] <= MAX_ARGS && x[2] == floor(x[2])))
        return err_usage(e, "%s: %s() expects 2 to %d values", a->where,
                         a->range, MAX_ARGS);
    a->n = (size_t)x[2];
    a->value = arena_alloc(&s->mem, (a->n + 1) * sizeof *a->value);
    for (size_t i = 0; i < a->n; i++)
        a->value[i] = short_number(
            &s->mem, interpolate(x, (double)i / (double)(a->n - 1), logs));
    return 0;
}

/* An axis of a file takes the place of one of the files that it extends. */
int sweep_axis_add(struct sweep *s, const struct sweep_axis *axis,
                   struct err *e)
{
    size_t i = 0;

    while (i < s->n_axes && strcmp(s->axis[i].key, axis->key) != 0)
        i++;
    if (i < s->n_axes && (!strchr(axis->where, ':') ||
                          conf_same_file(axis->where, s->axis[i].where)))
        return err_usage(e, "%s: %s is already an axis", axis->where,
                         axis->key);
    if (axis->n_when && axis->when >= i)
        return err_usage(e, "%s: %s depends on an axis after it", axis->where,
                         axis->key);
    if (axis->n_args > MAX_ARGS)
        return err_usage(e, "%s: more than %d values", axis->where, MAX_ARGS);
    if (i == s->n_axes)
        APPEND(s->axis, s->n_axes, s->room_axes) = *axis;
    s->axis[i] = *axis;
    s->axis[i].arg = /* ends with NULL */
        arena_grow(&s->mem, axis->arg, axis->n_args, sizeof *axis->arg);
    return axis->random ? 0 : space_axis(s, &s->axis[i], e);
}

/* An axis of the grid, or of [random]. */
static int add_axis(struct sweep *s, bool random, const char *key,
                    const char *text, const char *where, struct err *e)
{
    const char *when = strstr(text, " if ");
    struct sweep_axis a = { .key = arena_strdup(&s->mem, key),
                            .where = arena_strdup(&s->mem, where),
                            .random = random };

    if (when && parse_condition(s, when + 4, &a, e) < 0)
        return -1;
    text = trimmed(&s->mem, text, when ? (size_t)(when - text) : strlen(text));
    return parse_range(s, text, &a, e) < 0 ? -1 : sweep_axis_add(s, &a, e);
}

const char *sweep_value_at(struct sweep *s, const struct sweep_axis *a,
                           double t)
{
    const double x[2] = { a->low, a->high };
    const double v = a->kind >= RANGE_INTEGER
                         ? floor(x[0] + t * (x[1] - x[0] + 1))
                         : interpolate(x, t, a->kind == RANGE_LOG);

    return a->kind == RANGE_CHOICE ? a->arg[(size_t)v]
                                   : short_number(&s->mem, v);
}

/* Draw the values of an axis, once the number of samples is known. */
static int draw_axis(struct sweep *s, struct sweep_axis *a, struct err *e)
{
    static const char *const words[] = { [RANGE_LOG] = "loguniform",
                                         [RANGE_UNIFORM] = "uniform",
                                         [RANGE_INTEGER] = "integer",
                                         [RANGE_CHOICE] = "choice",
                                         NULL };
    const uint64_t stream = rng_stream(RNG_SWEEP, hash_name(a->key), 0);
    const int kind = opt_find_word(words, a->range);
    double x[2] = { 0, (double)a->n_args - 1 };

    if (kind < 0)
        return err_usage(e,
                         "%s: expects loguniform(low, high), uniform(low, "
                         "high), integer(low, high) or choice(a, b), not "
                         "'%s%s'",
                         a->where, a->range[0] ? a->range : a->arg[0],
                         a->range[0] ? "()" : "");
    if (kind != RANGE_CHOICE && parse_numbers(a, 2, x, e) < 0)
        return -1;
    a->kind = (enum sweep_range)kind;
    a->low = x[0];
    a->high = x[1];
    a->n = (size_t)s->samples;
    a->value = arena_alloc(&s->mem, a->n * sizeof *a->value);
    for (size_t i = 0; i < a->n; i++)
        a->value[i] = sweep_value_at(
            s, a, (double)rng_uniform((uint64_t)s->seed, stream, i));
    return 0;
}

/* What depends on a value that an axis never has would be left out silently. */
static int check_condition(const struct sweep_axis *a,
                           const struct sweep_axis *on, struct err *e)
{
    const bool range = on->random && on->kind != RANGE_CHOICE;
    const char *const *list = on->random ? on->arg : on->value;
    char words[256];
    int64_t n;

    for (size_t i = 0; i < a->n_when; i++) {
        const char *v = a->when_value[i];

        if (!range ? opt_find_word(list, v) >= 0
                   : on->kind == RANGE_INTEGER && num_int(v, &n) &&
                         (double)n >= on->low && (double)n <= on->high)
            continue;
        if (range)
            snprintf(words, sizeof words, "%s(%s, %s)", on->range, list[0],
                     list[1]);
        else
            opt_list_words(list, words, sizeof words);
        return err_usage(e,
                         "%s: %s is for %s = %s, but the values of %s are %s",
                         a->where, a->key, on->key, v, on->key, words);
    }
    return 0;
}

/* ---- settings and files ----------------------------------------------- */

int sweep_put(struct sweep *s, const char *key, const char *value,
              const char *where, struct err *e)
{
    if (strncmp(key, "sweep.", 6) == 0 || strncmp(key, "slurm.", 6) == 0)
        return conf_put(&s->conf, key, value, where, e);
    APPEND(s->set, s->n_sets, s->room_sets) = (struct sweep_set){
        .key = arena_strdup(&s->mem, key),
        .value = arena_strdup(&s->mem, value),
        .where = arena_strdup(&s->mem, where),
    };
    return 0;
}

int sweep_assign(struct sweep *s, enum sweep_part part, const char *assignment,
                 const char *where, struct err *e)
{
    const char *equals = strchr(assignment, '=');
    const char *key;

    if (!equals || equals == assignment)
        return err_usage(e, "%s: expects section.key=value, not '%s'", where,
                         assignment);
    key = trimmed(&s->mem, assignment, (size_t)(equals - assignment));
    return part == SWEEP_SET
               ? sweep_put(s, key, equals + 1, where, e)
               : add_axis(s, part == SWEEP_RANDOM, key, equals + 1, where, e);
}

static int read_setting(void *arg, const char *key, const char *value,
                        const char *where, struct err *e)
{
    if (strncmp(key, "grid.", 5) == 0)
        return add_axis(arg, false, key + 5, value, where, e);
    if (strncmp(key, "random.", 7) == 0)
        return add_axis(arg, true, key + 7, value, where, e);
    return sweep_put(arg, key, value, where, e);
}

/* A relative base is relative to the folder of the file that has it. */
static void resolve_base(struct sweep *s)
{
    const char *path = conf_origin(&s->conf, "sweep.base");
    const size_t folder = path ? (size_t)(path_name(path) - path) : 0;

    if (s->base[0] && s->base[0] != '/')
        s->base = arena_printf(&s->mem, "%.*s%s", (int)folder, path, s->base);
}

int sweep_read(struct sweep *s, const char *path, struct err *e)
{
    const char *name = path_name(path);
    const bool wandb = str_ends(path, ".yaml") || str_ends(path, ".yml");

    if (wandb ? sweep_read_wandb(s, path, e) < 0
              : conf_walk(path, false, read_setting, s, NULL, e) < 0)
        return -1;
    resolve_base(s);
    if (!s->name[0])
        s->name = arena_strndup(&s->mem, name, strcspn(name, "."));
    return 0;
}

/* ---- cells ------------------------------------------------------------- */

static void make_id(const struct sweep *s, struct sweep_cell *c)
{
    struct sha256 h;
    char text[SHA256_TEXT];
    struct {
        const char *key, *value;
    } v[64];
    const size_t n = s->n_axes < 64 ? s->n_axes : 64;

    for (size_t i = 0; i < n; i++) {
        v[i].key = s->axis[i].key;
        v[i].value = c->value[i];
    }
    SORT(v, n, str_compare); /* the order in the file does not matter */
    sha256_init(&h);
    for (size_t i = 0; i < n; i++) {
        if (!*v[i].value)
            continue;
        sha256_add(&h, v[i].key, strlen(v[i].key) + 1);
        sha256_add(&h, v[i].value, strlen(v[i].value) + 1);
    }
    sha256_text(&h, text);
    snprintf(c->id, sizeof c->id, "%.8s", text);
}

/* With more than one seed, the seed is an axis like another. */
static int add_seeds(struct sweep *s, struct err *e)
{
    AUTO(buf_clear) struct buf list = BUF_INIT;
    int64_t first = 1;

    if (s->seeds == 1)
        return 0;
    for (size_t i = 0; i < s->n_sets; i++)
        if (strcmp(s->set[i].key, s->seed_key) == 0)
            num_int(s->set[i].value, &first);
    for (int64_t i = 0; i < s->seeds; i++)
        buf_printf(&list, "%s%lld", i ? "," : "", (long long)(first + i));
    return add_axis(s, false, s->seed_key, list.s, "sweep.seeds", e);
}

/* The axis of the grid that seeds are, or n_axes. */
static size_t seed_axis(const struct sweep *s)
{
    size_t i = 0;

    while (i < s->n_axes &&
           (s->axis[i].random || strcmp(s->axis[i].key, s->seed_key) != 0))
        i++;
    return i;
}

static bool has_value(const struct sweep_axis *a, const char *const *value)
{
    size_t i = 0;

    while (i < a->n_when && strcmp(a->when_value[i], value[a->when]) != 0)
        i++;
    return i < a->n_when || a->n_when == 0;
}

/* Put a cell into the table by hash, and into the group of those that differ in
 * their seed alone; false if there is one with these values. */
static bool place_cell(struct sweep *s, struct sweep_cell *c, size_t number)
{
    const size_t seed = seed_axis(s);
    size_t at = c->hash % s->n_slots;

    for (; s->slot[at]; at = (at + 1) % s->n_slots) {
        const struct sweep_cell *o = &s->cell[s->slot[at] - 1];

        if (o->hash != c->hash)
            continue;
        if (seed == s->n_axes || strcmp(o->value[seed], c->value[seed]) == 0)
            return false;
        c->group = o->group;
    }
    s->slot[at] = number;
    s->n_placed = number;
    return true;
}

/* Add a cell, unless there is one with these values. */
static void add_cell(struct sweep *s, const char *const *values)
{
    const size_t seed = seed_axis(s);
    const char **value = arena_alloc(&s->mem, s->n_axes * sizeof *value);
    struct sweep_cell new = { .value = value, .group = s->n_groups };

    for (size_t i = 0; i < s->n_axes; i++) {
        value[i] = has_value(&s->axis[i], value) ? values[i] : "";
        new.hash = (new.hash ^ (i == seed ? 0 : hash_name(value[i]))) *
                       0x9e3779b97f4a7c15u +
                   i;
    }
    /* make a larger table, or another one if cells were taken away */
    if (2 * s->n_cells >= s->n_slots || s->n_placed != s->n_cells) {
        s->n_slots = 4 * s->n_cells + 64;
        free(s->slot);
        s->slot = xcalloc(s->n_slots, sizeof *s->slot);
        for (size_t c = 0; c < s->n_cells; c++)
            place_cell(s, &s->cell[c], c + 1);
    }
    if (!place_cell(s, &new, s->n_cells + 1))
        return;
    s->n_groups += new.group == s->n_groups;
    make_id(s, &new);
    s->cell = arena_grow(&s->mem, s->cell, s->n_cells, sizeof *s->cell);
    s->cell[s->n_cells++] = new;
}

void sweep_add_group(struct sweep *s, const char **value)
{
    const size_t seed = seed_axis(s);
    const bool seeds = seed < s->n_axes;

    for (size_t k = 0; k < (seeds ? s->axis[seed].n : 1); k++) {
        if (seeds)
            value[seed] = s->axis[seed].value[k];
        add_cell(s, value);
    }
}

int sweep_expand(struct sweep *s, struct err *e)
{
    const bool tpe = s->sampler == SAMPLER_TPE;
    const char **value;
    size_t each = 1; /* samples */
    double count = 1;

    if (add_seeds(s, e) < 0)
        return -1;
    if (s->n_axes == 0)
        return err_usage(e,
                         "the sweep has no axes; add [grid], [random], --grid, "
                         "--random or --seeds");
    for (size_t i = 0; i < s->n_axes; i++) {
        struct sweep_axis *a = &s->axis[i];

        if (tpe && !a->random && i != seed_axis(s))
            return err_usage(e,
                             "%s: sweep.sampler = tpe chooses values of "
                             "[random] alone; write %s = choice(a, b) there",
                             a->where, a->key);
        if ((a->random && draw_axis(s, a, e) < 0) ||
            check_condition(a, &s->axis[a->when], e) < 0)
            return -1;
        if (a->random)
            each = a->n;
        else
            count *= (double)a->n;
        s->keys = i ? arena_printf(&s->mem, "%s %s", s->keys, a->key) : a->key;
    }
    if (count * (double)each > SWEEP_MAX_CELLS)
        return err_usage(e, "the sweep has %.0f cells; at most %d are possible",
                         count * (double)each, SWEEP_MAX_CELLS);
    s->most_cells = (size_t)count * each;
    if (tpe && each > SWEEP_FIRST_SAMPLES)
        each = SWEEP_FIRST_SAMPLES;
    value = arena_alloc(&s->mem, s->n_axes * sizeof *value);
    for (size_t c = 0; c < (size_t)count * each; c++) {
        size_t rest = c / each;

        for (size_t i = s->n_axes; i-- > 0;) {
            const struct sweep_axis *a = &s->axis[i];

            value[i] = a->value[a->random ? c % each : rest % a->n];
            if (!a->random)
                rest /= a->n;
        }
        add_cell(s, value);
    }
    if (!tpe)
        s->most_cells = s->n_cells;
    return 0;
}

int sweep_add(struct sweep *s, struct sweep *more, struct err *e)
{
    for (size_t i = 0; i < s->n_axes; i++)
        if (more->n_axes != s->n_axes ||
            strcmp(more->axis[i].key, s->axis[i].key) != 0)
            return err_usage(e, "its axes are others");
    memcpy(s->axis, more->axis, s->n_axes * sizeof *s->axis);
    for (size_t c = 0; c < more->n_cells; c++)
        add_cell(s, more->cell[c].value);
    s->samples = more->samples;
    arena_join(&s->mem, &more->mem);
    return 0;
}

/* ---- texts with values -------------------------------------------------- */

const char *sweep_value(const struct sweep *w, size_t cell, const char *key)
{
    const char *value = NULL;

    for (size_t i = 0; i < w->n_axes; i++)
        if (strcmp(w->axis[i].key, key) == 0)
            value = w->cell[cell].value[i];
    for (size_t i = w->n_sets; (!value || !*value) && i-- > 0;)
        if (strcmp(w->set[i].key, key) == 0)
            return w->set[i].value;
    return value;
}

/* The end of the name in "{name}", or NULL if this is no placeholder. */
static const char *name_end(const char *open)
{
    const char *end = open + 1;

    while (isalnum((unsigned char)*end) || (*end && strchr("._-/", *end)))
        end++;
    return *end == '}' && end > open + 1 ? end : NULL;
}

int sweep_fill(struct buf *out, const char *text, sweep_value_fn *value,
               void *arg, struct err *e)
{
    while (*text) {
        const bool twice = text[0] == '{' && text[1] == '{';
        const char *open = text + twice;
        const char *end = *text == '{' ? name_end(open) : NULL;

        if (!end || (twice && end[1] != '}')) {
            buf_char(out, *text++);
            continue;
        }
        if (twice) {
            buf_add(out, open, (size_t)(end - open) + 1);
            text = end + 2;
            continue;
        }
        if (!value(arg, text + 1, (size_t)(end - text) - 1, out))
            return err_usage(e,
                             "the sweep has no setting for %.*s; write {%.*s} "
                             "for this text itself",
                             (int)(end - text) + 1, text, (int)(end - text) + 1,
                             text);
        text = end + 1;
    }
    return 0;
}

/* The last part of a key, unless the end of another axis is the same. */
static const char *short_key(const struct sweep *w, size_t axis)
{
    const char *key = w->axis[axis].key, *dot = strrchr(key, '.');

    for (size_t i = 0; dot && i < w->n_axes; i++)
        if (i != axis && str_ends(w->axis[i].key, dot))
            return key;
    return dot ? dot + 1 : key;
}

char *sweep_cell_name(const struct sweep *w, size_t cell, const char *begin)
{
    struct buf b = BUF_INIT;

    buf_str(&b, begin);
    for (size_t i = 0; i < w->n_axes; i++)
        if (*w->cell[cell].value[i] && (w->axis[i].n > 1 || w->n_cells == 1))
            buf_printf(&b, "-%s=%s", short_key(w, i), w->cell[cell].value[i]);
    return buf_detach(&b);
}
