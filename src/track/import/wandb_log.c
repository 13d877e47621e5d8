#include "config.h"
#include "track/import/wandb_log.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/mem.h"

/* ---- records ----------------------------------------------------------- */

enum { BLOCK = 32768, HEADER = 7, WHOLE = 1, FIRST, MIDDLE, LAST };

struct wandb_log {
    FILE *fp;
    unsigned char block[BLOCK];
    size_t n, at;
    const char *path;
};

struct wandb_log *wandb_log_open(const char *path, struct err *e)
{
    struct wandb_log *r = xcalloc(1, sizeof *r);

    r->path = path;
    r->fp = fopen(path, "re");
    if (!r->fp) {
        err_open(e, "cannot read %s", path);
        wandb_log_close(r);
        return NULL;
    }
    r->n = fread(r->block, 1, BLOCK, r->fp);
    r->at = HEADER;
    if (ferror(r->fp)) {
        err_sys(e, "cannot read %s", path);
        wandb_log_close(r);
        return NULL;
    }
    if (r->n < HEADER || memcmp(r->block, ":W&B\xe1\xbe\0", HEADER) != 0) {
        err_set(e, ERR_INPUT, "%s is not a log of W&B", path);
        wandb_log_close(r);
        return NULL;
    }
    return r;
}

void wandb_log_close(struct wandb_log *r)
{
    if (!r)
        return;
    if (r->fp)
        fclose(r->fp);
    free(r);
}

int wandb_log_next(struct wandb_log *r, struct buf *out, struct err *e)
{
    bool inside = false;

    buf_trim(out, 0);
    for (;;) {
        const unsigned char *h;
        size_t len;
        uLong crc;

        if (r->at + HEADER > r->n) {
            r->n = fread(r->block, 1, BLOCK, r->fp);
            r->at = 0;
            if (ferror(r->fp))
                return err_sys(e, "cannot read %s", r->path);
            if (r->n < HEADER)
                return 0;
        }
        h = r->block + r->at;
        len = (size_t)h[4] | (size_t)h[5] << 8;
        if (h[6] == 0 && len == 0) { /* the rest of the block is unused */
            r->at = r->n;
            continue;
        }
        if (h[6] < WHOLE || h[6] > LAST || r->at + HEADER + len > r->n)
            return 0;
        crc = crc32(0, h + 6, (uInt)len + 1);
        if (crc != ((uLong)h[0] | (uLong)h[1] << 8 | (uLong)h[2] << 16 |
                    (uLong)h[3] << 24))
            return err_set(e, ERR_INPUT, "%s has a wrong checksum", r->path);
        if (h[6] == WHOLE || h[6] == FIRST)
            buf_trim(out, 0);
        else if (!inside)
            return err_set(e, ERR_INPUT, "%s has a record without a beginning",
                           r->path);
        buf_add(out, h + HEADER, len);
        r->at += HEADER + len;
        if (h[6] == WHOLE || h[6] == LAST)
            return 1;
        inside = true;
    }
}

/* ---- items ------------------------------------------------------------- */

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

void wandb_log_items(json_t *root, struct protobuf in, int field)
{
    struct protobuf_field f;

    while (protobuf_next(&in, &f))
        if (f.number == field && f.type == PROTO_BYTES)
            add_item(root, protobuf_inside(&f));
}
