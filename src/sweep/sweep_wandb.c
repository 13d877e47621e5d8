/*
 * sweep_wandb - read the file of a sweep of W&B
 *
 *      program: train.py
 *      method: grid                    or random, or bayes
 *      metric: { name: val_loss, goal: minimize }
 *      run_cap: 20
 *      parameters:
 *        lr: { values: [0.1, 0.01] }   or value, or min and max
 *        layers: { min: 1, max: 6 }
 *      command: [python, "${program}", "${args}"]
 *
 * With bayes, values are chosen as by sweep.sampler = tpe.  Values become axes,
 * a parameter with one value becomes a setting of every cell, and the macros of
 * the command become words with {key} in place of a value.
 */
#include "config.h"
#include "sweep/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/num.h"
#include "common/format/yaml.h"

struct reader {
    struct sweep *s;
    struct yaml y;
    const char *path;
    bool random;
};

/* An entry of a parameter: "parameters.lr." and "min" */
static const char *get(const struct reader *r, const char *prefix,
                       const char *key)
{
    return yaml_get(&r->y, arena_printf(&r->s->mem, "%s%s", prefix, key));
}

static bool is_whole(const char *text)
{
    int64_t n;

    return text[strspn(text, "+-0123456789")] == '\0' && num_int(text, &n);
}

/* Our name for W&B's distribution of numbers; NULL if there is none. */
static const char *range_of(const char *distribution, const char *low,
                            const char *high)
{
    static const char *const names[][2] = {
        { "uniform", "uniform" },
        { "int_uniform", "integer" },
        { "log_uniform_values", "loguniform" },
    };

    if (!distribution)
        return is_whole(low) && is_whole(high) ? "integer" : "uniform";
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(distribution, names[i][0]) == 0)
            return names[i][1];
    return NULL;
}

static void add_arg(struct reader *r, struct sweep_axis *a, const char *text)
{
    a->arg = arena_grow(&r->s->mem, a->arg, a->n_args, sizeof *a->arg);
    a->arg[a->n_args++] = text ? text : "null";
}

static int read_range(struct reader *r, const char *prefix,
                      struct sweep_axis *a, struct err *e)
{
    const char *low = get(r, prefix, "min"), *high = get(r, prefix, "max");
    const char *distribution = get(r, prefix, "distribution");

    if (!low || !high)
        return err_usage(
            e, "%s: parameter %s needs values, a value, or min and max",
            r->path, a->key);
    if (!r->random)
        return err_set(
            e, ERR_USAGE,
            "%s: parameter %s has a range; method: grid needs values", r->path,
            a->key);
    a->range = range_of(distribution, low, high);
    if (!a->range)
        return err_set(
            e, ERR_USAGE,
            "%s: parameter %s: the distribution %s is not supported; "
            "use uniform, int_uniform, log_uniform_values or "
            "categorical",
            r->path, a->key, distribution);
    add_arg(r, a, low);
    add_arg(r, a, high);
    return sweep_axis_add(r->s, a, e);
}

/* `prefix` begins the keys of a parameter's entries: "parameters.lr." */
static int read_parameter(struct reader *r, const char *prefix, const char *key,
                          struct err *e)
{
    struct sweep_axis a = { .key = key,
                            .where = r->path,
                            .random = r->random,
                            .range = r->random ? "choice" : "" };
    const size_t n = strlen(prefix);

    if (yaml_find(&r->y, arena_printf(&r->s->mem, "%svalue", prefix))) {
        const char *value = get(r, prefix, "value");

        return sweep_put(r->s, key, value ? value : "null", r->path, e);
    }
    if (yaml_find(&r->y, arena_printf(&r->s->mem, "%sprobabilities", prefix)))
        return err_usage(e,
                         "%s: parameter %s: probabilities are not supported; "
                         "repeat a value to draw it more often",
                         r->path, key);
    for (size_t i = 0; i < r->y.n; i++) {
        const struct yaml_pair *p = &r->y.pair[i];

        if (strncmp(p->key, prefix, n) == 0 &&
            strncmp(p->key + n, "values[", 7) == 0)
            add_arg(r, &a, p->value);
    }
    return a.n_args ? sweep_axis_add(r->s, &a, e)
                    : read_range(r, prefix, &a, e);
}

static int read_parameters(struct reader *r, struct err *e)
{
    static const char top[] = "parameters.";
    const char *prefix = NULL; /* of the parameter that was read last */

    for (size_t i = 0; i < r->y.n; i++) {
        const char *key = r->y.pair[i].key, *name = key + sizeof top - 1;

        if (strncmp(key, top, sizeof top - 1) != 0)
            continue;
        if (prefix && strncmp(key, prefix, strlen(prefix)) == 0) {
            if (strcmp(key + strlen(prefix), "parameters") != 0)
                continue;
            return err_usage(e,
                             "%s: nested parameters are not supported; give "
                             "each a name of its own, such as optimizer.lr",
                             r->path);
        }
        prefix = arena_printf(&r->s->mem, "%s.", key);
        if (read_parameter(r, prefix, name, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- the command ------------------------------------------------------- */

static void add_word(struct sweep *s, const char *word)
{
    s->command =
        arena_grow(&s->mem, s->command, s->n_command, sizeof *s->command);
    s->command[s->n_command++] = word;
}

/* A word for each parameter, with %s for its name. */
static void add_args(struct sweep *s, const char *before)
{
    for (size_t i = 0; i < s->n_sets; i++)
        add_word(s, arena_printf(&s->mem, "%s%s={%s}", before, s->set[i].key,
                                 s->set[i].key));
    for (size_t i = 0; i < s->n_axes; i++)
        add_word(s, arena_printf(&s->mem, "%s%s={%s}", before, s->axis[i].key,
                                 s->axis[i].key));
}

static int add_macro(struct reader *r, const char *word, struct err *e)
{
    const char *program = yaml_get(&r->y, "program");
    const struct {
        const char *macro, *word;
    } plain[] = {
        { "${env}", "/usr/bin/env" },
        { "${interpreter}", "python3" },
        { "${program}", program },
    };

    if (strcmp(word, "${args}") == 0) {
        add_args(r->s, "--");
        return 0;
    }
    if (strcmp(word, "${args_no_hyphens}") == 0) {
        add_args(r->s, "");
        return 0;
    }
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (strcmp(word, plain[i].macro) != 0)
            continue;
        if (!plain[i].word)
            return err_usage(e, "%s: the command needs a program", r->path);
        add_word(r->s, plain[i].word);
        return 0;
    }
    if (strstr(word, "${"))
        return err_usage(e,
                         "%s: '%s' in the command is not supported; give the "
                         "command after --, with {name} for a value",
                         r->path, word);
    add_word(r->s, word);
    return 0;
}

static int read_command(struct reader *r, struct err *e)
{
    static const char *const usual[] = { "${env}", "${interpreter}",
                                         "${program}", "${args}" };
    const bool given = yaml_find(&r->y, "command") != NULL;
    int ret = 0;

    if (!given && !yaml_get(&r->y, "program"))
        return 0;
    for (size_t i = 0; ret == 0 && !given && i < 4; i++)
        ret = add_macro(r, usual[i], e);
    for (size_t i = 0; ret == 0 && given && i < r->y.n; i++)
        if (strncmp(r->y.pair[i].key, "command[", 8) == 0 && r->y.pair[i].value)
            ret = add_macro(r, r->y.pair[i].value, e);
    return ret;
}

/* ---- the rest ---------------------------------------------------------- */

static int read_method(struct reader *r, struct err *e)
{
    const char *method = yaml_get(&r->y, "method");
    const bool bayes = method && strcmp(method, "bayes") == 0;

    r->random = bayes || (method && strcmp(method, "random") == 0);
    if (!method || (!r->random && strcmp(method, "grid") != 0))
        return err_usage(e,
                         "%s: method expects grid, random or bayes, not '%s'",
                         r->path, method ? method : "");
    if (bayes && sweep_put(r->s, "sweep.sampler", "tpe", r->path, e) < 0)
        return -1;
    if (yaml_find(&r->y, "early_terminate.type"))
        log_warn("%s: early_terminate is ignored; sweep.method = halving ends "
                 "the worse cells early",
                 r->path);
    return 0;
}

static int read_own(struct reader *r, struct err *e)
{
    static const char *const keys[][2] = {
        { "name", "sweep.name" },
        { "metric.name", "sweep.metric" },
        { "run_cap", "sweep.samples" },
    };
    const char *goal = yaml_get(&r->y, "metric.goal");

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *value = yaml_get(&r->y, keys[i][0]);

        if (value && sweep_put(r->s, keys[i][1], value, r->path, e) < 0)
            return -1;
    }
    if (!goal)
        return 0;
    return sweep_put(r->s, "sweep.goal",
                     strcmp(goal, "minimize") == 0   ? "min"
                     : strcmp(goal, "maximize") == 0 ? "max"
                                                     : goal,
                     r->path, e);
}

int sweep_read_wandb(struct sweep *s, const char *path, struct err *e)
{
    struct reader r = { .s = s, .path = arena_strdup(&s->mem, path) };

    if (yaml_load(&r.y, &s->mem, path, PATH_NO_LINKS, true, e) < 0 ||
        read_method(&r, e) < 0 || read_own(&r, e) < 0 ||
        read_parameters(&r, e) < 0)
        return -1;
    return read_command(&r, e);
}
