/*
 * import_json - metrics and parameters in JSON, as W&B and Trackio have them
 */
#include "config.h"
#include "track/import/import.h"

#include <math.h>
#include <stdlib.h>

#include "common/mem.h"
#include "common/num.h"

void import_json_each(const char *prefix, json_t *object, char separator,
                      import_json_fn *fn, void *arg)
{
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        char *key = *prefix ? xasprintf("%s%c%s", prefix, separator, name)
                            : xstrdup(name);

        if (json_object_size(value) && !json_object_get(value, "_type"))
            import_json_each(key, value, separator, fn, arg);
        else
            fn(arg, key, value);
        free(key);
    }
}

bool import_json_number(struct import_run *in, json_t *value, double *x)
{
    const char *type = json_string_value(json_object_get(value, "_type"));

    if (json_is_number(value)) {
        *x = json_number_value(value);
    } else if (json_is_boolean(value)) {
        *x = json_is_true(value);
    } else if (!json_is_string(value) ||
               !num_real(json_string_value(value), x) || isfinite(*x)) {
        if (!json_is_null(value))
            import_run_leave(in, type                    ? type
                                 : json_is_string(value) ? "text"
                                                         : "list");
        return false;
    }
    return true;
}

void import_json_point(void *arg, const char *key, json_t *value)
{
    const struct import_json_row *row = arg;
    double x;
    char *name;

    if (!import_json_number(row->in, value, &x))
        return;
    name = xasprintf("%s%s", row->prefix, key);
    import_run_point(row->in, name, row->step, row->ms, x);
    free(name);
}

void import_json_param(void *arg, const char *key, json_t *value)
{
    char *text;

    if (json_is_string(value)) {
        import_run_param(arg, key, json_string_value(value));
        return;
    }
    if (json_is_boolean(value) || json_is_null(value)) {
        import_run_param(arg, key,
                         json_is_true(value)    ? "True"
                         : json_is_false(value) ? "False"
                                                : "None");
        return;
    }
    if (json_is_real(value)) {
        char number[NUM_TEXT];

        num_shortest(number, json_real_value(value));
        import_run_param(arg, key, number);
        return;
    }
    text = json_dumps(value,
                      JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (text)
        import_run_param(arg, key, text);
    free(text);
}
