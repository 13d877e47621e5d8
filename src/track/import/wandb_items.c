#include "config.h"
#include "track/import/wandb_items.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

enum { MAX_DEPTH = 64 }; /* of a nested key */

/* W&B writes NaN and Infinity bare, which JSON does not have. */
static json_t *parse_json(const struct protobuf_field *f)
{
    static const char *const bare[] = { "NaN", "Infinity", "-Infinity" };
    json_t *value;

    for (size_t i = 0; i < sizeof bare / sizeof bare[0]; i++)
        if (f->n == strlen(bare[i]) && memcmp(f->bytes, bare[i], f->n) == 0)
            return json_string(bare[i]);
    value = json_loadb((const char *)f->bytes, f->n, JSON_DECODE_ANY, NULL);
    if (!value) /* perhaps for an integer of more than 64 bits */
        value = json_loadb((const char *)f->bytes, f->n,
                           JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
    return value ? value : json_stringn((const char *)f->bytes, f->n);
}

static json_t *json_of_real(double x)
{
    return isfinite(x) ? json_real(x)
           : isnan(x)  ? json_string("nan")
                       : json_string(x < 0 ? "-inf" : "inf");
}

/* Set the value below a path of keys, which is released, as the value is. */
static void set_path(json_t *root, json_t *path, json_t *value)
{
    const size_t n = json_array_size(path);
    json_t *at = root;

    for (size_t i = 0; i + 1 < n; i++) {
        const char *key = json_string_value(json_array_get(path, i));
        json_t *next = json_object_get(at, key);

        if (!json_is_object(next)) {
            next = json_object();
            json_object_set_new(at, key, next);
        }
        at = next;
    }
    if (n > 0 && n <= MAX_DEPTH && value)
        json_object_set(at, json_string_value(json_array_get(path, n - 1)),
                        value);
    else if (n > 0 && n <= MAX_DEPTH)
        json_object_del(at, json_string_value(json_array_get(path, n - 1)));
    json_decref(value);
    json_decref(path);
}

/* Add an item of history, of the config or of the summary to an object; one
 * without a value removes the key. */
static void add_item(json_t *root, struct protobuf in)
{
    json_t *path = json_array(), *value = NULL, *now;
    struct protobuf_field f;

    while (protobuf_next(&in, &f)) {
        now = NULL;
        if ((f.number == 1 || f.number == 2) && f.type == PROTO_BYTES) {
            if (f.number == 1)
                json_array_clear(path);
            if (f.n && json_array_size(path) <= MAX_DEPTH)
                json_array_append_new(path,
                                      json_stringn((const char *)f.bytes, f.n));
        } else if (f.number == 16 && f.type == PROTO_BYTES) {
            now = parse_json(&f);
        } else if (f.number == 6 && f.type == PROTO_64) {
            now = json_of_real(f.real);
        } else if (f.number == 5 && f.type == PROTO_VARINT) {
            now = json_real((double)protobuf_zigzag(f.integer));
        } else if (f.number == 4 && f.type == PROTO_VARINT) {
            now = json_boolean(f.integer);
        }
        if (now) {
            json_decref(value);
            value = now;
        }
    }
    set_path(root, path, value);
}

void wandb_items_add(json_t *root, struct protobuf in, int field)
{
    struct protobuf_field f;

    while (protobuf_next(&in, &f))
        if (f.number == field && f.type == PROTO_BYTES)
            add_item(root, protobuf_inside(&f));
}

void wandb_items_each(const char *prefix, json_t *object, char separator,
                      wandb_items_fn *fn, void *arg)
{
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        char *key = *prefix ? xasprintf("%s%c%s", prefix, separator, name)
                            : xstrdup(name);

        if (json_object_size(value) && !json_object_get(value, "_type"))
            wandb_items_each(key, value, separator, fn, arg);
        else
            fn(arg, key, value);
        free(key);
    }
}
