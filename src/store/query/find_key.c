#include "config.h"
#include "store/query/find_key.h"

#include <string.h>

#include "common/opt.h"

static bool run_has(const struct run_info *r, enum key_kind kind,
                    const char *key)
{
    switch (kind) {
    case PARAM:
        return run_info_param(r, key) != NULL;
    case METRIC:
        return run_info_metric(r, key) != NULL;
    case TAG:
        return run_info_tag(r, key) != NULL;
    default:
        return false;
    }
}

bool find_key_exists(const struct runs *runs, enum key_kind kind,
                     const char *key)
{
    for (size_t i = 0; i < runs->n; i++)
        if (run_has(&runs->run[i], kind, key))
            return true;
    return false;
}

/* Does full end in ".part" or "/part"? */
static bool ends_in_part(const char *full, const char *part)
{
    const size_t n = strlen(full), m = strlen(part);

    return n > m && strcmp(full + n - m, part) == 0 &&
           (full[n - m - 1] == '.' || full[n - m - 1] == '/');
}

static bool set_once(const char **found, const char *key)
{
    if (*found && strcmp(*found, key) != 0)
        return false;
    *found = key;
    return true;
}

/*
 * The only parameter whose key ends in `word`, or else the only such metric:
 * abbreviations are mostly of parameters.
 */
static enum key_kind find_abbreviated(const struct runs *runs, const char *word,
                                      const char **key)
{
    const char *param = NULL, *metric = NULL;

    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];

        for (size_t j = 0; j < r->n_params; j++)
            if (ends_in_part(r->params[j].key, word) &&
                !set_once(&param, r->params[j].key))
                return KINDS;
        for (size_t j = 0; j < r->n_metrics; j++)
            if (ends_in_part(r->metrics[j].key, word) &&
                !set_once(&metric, r->metrics[j].key))
                metric = "";
    }
    *key = param ? param : metric;
    return param ? PARAM : metric && *metric ? METRIC : KINDS;
}

enum key_kind find_key(const struct runs *runs, const char *word,
                       const char **key)
{
    static const enum key_kind order[] = { PARAM, METRIC, TAG };

    *key = word;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (find_key_exists(runs, order[i], word))
            return order[i];
    return find_abbreviated(runs, word, key);
}

int find_key_fail(const struct run_info *run, size_t n, enum key_kind kind,
                  const char *word, const char *const *others, struct err *e)
{
    static const char *const names[] = {
        [PARAM] = "parameter",
        [TAG] = "tag",
        [METRIC] = "metric",
        [KINDS] = "parameter, metric or tag",
    };
    struct opt_nearest near = { .word = word };

    for (size_t i = 0; i < n; i++)
        if (run[i].unread)
            return err_set(e, ERR_SYSTEM, "run %s could not be read: %s",
                           run[i].name, run[i].damage);
    for (size_t i = 0; i < n; i++) {
        const struct run_info *r = &run[i];

        for (size_t j = 0; kind != PARAM && j < r->n_metrics; j++)
            opt_nearest_try(&near, r->metrics[j].key);
        for (size_t j = 0; kind != METRIC && j < r->n_params; j++)
            opt_nearest_try(&near, r->params[j].key);
    }
    while (others && *others)
        opt_nearest_try(&near, *others++);
    err_set(e, ERR_MISSING, "no run has a %s %s", names[kind], word);
    return opt_nearest_add(&near, e);
}
