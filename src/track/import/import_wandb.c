/*
 * import_wandb - import an offline run of W&B, run-ID.wandb
 *
 * The file is a log in LevelDB's format whose records are protocol buffers.
 * After a header of 7 bytes (":W&B", 0xbee1, version) come blocks of 32 KiB.  A
 * record begins with a CRC-32 of its type and data, its length in two bytes,
 * and its type: whole, first, middle or last part.
 * (wandb/sdk/internal/datastore.py, wandb/proto/wandb_internal.proto)
 */
#include "config.h"
#include "track/import/import.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/protobuf.h"

enum {
    BLOCK = 32768,
    HEADER = 7,
    WHOLE = 1,
    FIRST,
    MIDDLE,
    LAST,

    HISTORY = 2, /* fields of Record */
    SUMMARY = 3,
    CONFIG = 5,
    STATS = 7,
    RUN = 17,
    EXIT = 18,

    RUN_ID = 1, /* fields of RunRecord */
    RUN_PROJECT = 3,
    RUN_CONFIG = 4,
    RUN_GROUP = 6,
    RUN_NAME = 8,
    RUN_NOTES = 9,
    RUN_START = 17,
};

struct record_reader {
    FILE *fp;
    unsigned char block[BLOCK];
    size_t n, at;
    const char *path;
};

/* Read the next whole record; 0 at the end, or where the log breaks off. */
static int read_record(struct record_reader *r, struct buf *out, struct err *e)
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

/* -- items ---------------------------------------------------------------- */

/* W&B writes NaN and Infinity bare, which JSON does not have. */
static json_t *parse_json(const struct protobuf_field *f)
{
    static const char *const bare[] = { "NaN", "Infinity", "-Infinity" };

    for (size_t i = 0; i < sizeof bare / sizeof bare[0]; i++)
        if (f->n == strlen(bare[i]) && memcmp(f->bytes, bare[i], f->n) == 0)
            return json_string(bare[i]);
    return json_loadb((const char *)f->bytes, f->n, JSON_DECODE_ANY, NULL);
}

static json_t *json_of_real(double x)
{
    return isfinite(x) ? json_real(x)
           : isnan(x)  ? json_string("nan")
                       : json_string(x < 0 ? "-inf" : "inf");
}

struct json_item {
    struct buf key; /* parts of a nested key with slashes */
    json_t *value;  /* NULL if there is none, or it is not JSON */
};

static void clear_item(struct json_item *i)
{
    buf_clear(&i->key);
    json_decref(i->value);
}

static void set_value(struct json_item *i, json_t *value)
{
    json_decref(i->value);
    i->value = value;
}

static struct json_item parse_item(struct protobuf in)
{
    struct json_item i = { BUF_INIT, NULL };
    struct protobuf_field f;

    while (protobuf_next(&in, &f)) {
        if (f.number == 1 && f.type == PROTO_BYTES && f.n) {
            buf_trim(&i.key, 0);
            buf_add(&i.key, f.bytes, f.n);
        } else if (f.number == 2 && f.type == PROTO_BYTES) {
            if (i.key.len)
                buf_char(&i.key, '/');
            buf_add(&i.key, f.bytes, f.n);
        } else if (f.number == 16 && f.type == PROTO_BYTES) {
            set_value(&i, parse_json(&f));
        } else if (f.number == 6 && f.type == PROTO_64) {
            set_value(&i, json_of_real(f.real));
        } else if (f.number == 5 && f.type == PROTO_VARINT) {
            set_value(&i, json_real((double)protobuf_zigzag(f.integer)));
        } else if (f.number == 4 && f.type == PROTO_VARINT) {
            set_value(&i, json_boolean(f.integer));
        }
    }
    return i;
}

typedef void leaf_fn(void *arg, const char *key, json_t *value);

/* Call a function for each value of nested objects, with a key like a/b/c. */
static void each_leaf(const char *key, json_t *value, char separator,
                      leaf_fn *fn, void *arg)
{
    const char *name;
    json_t *inner;

    if (!json_is_object(value) || json_object_size(value) == 0) {
        fn(arg, key, value);
        return;
    }
    json_object_foreach(value, name, inner)
    {
        char *longer = xasprintf("%s%c%s", key, separator, name);

        each_leaf(longer, inner, separator, fn, arg);
        free(longer);
    }
}

/* -- history and system metrics ------------------------------------------- */

struct history_row {
    struct import_run *in;
    int64_t step, ms;
    bool write; /* in the second pass; the first finds the step and the time */
    const char *prefix;
};

static void add_value(void *arg, const char *key, json_t *value)
{
    struct history_row *r = arg;
    double x;

    if (json_is_number(value))
        x = json_number_value(value);
    else if (json_is_boolean(value))
        x = json_is_true(value);
    else if (!json_is_string(value) ||
             !num_real(json_string_value(value), &x) || isfinite(x))
        return;
    if (strcmp(key, "_step") == 0)
        r->step = num_whole(x);
    else if (strcmp(key, "_timestamp") == 0)
        r->ms = num_whole(x * 1000 + 0.5);
    else if (strncmp(key, "_", 1) != 0 && r->write) {
        char *name = xasprintf("%s%s", r->prefix, key);

        import_run_point(r->in, name, r->step, r->ms, x);
        free(name);
    }
}

static void add_row(struct history_row *r, struct protobuf in, int item_field)
{
    for (int pass = 0; pass < 2; pass++) {
        struct protobuf again = in;
        struct protobuf_field f;

        r->write = pass == 1;
        while (protobuf_next(&again, &f)) {
            struct json_item i;

            if (f.number == 2 && f.type == PROTO_BYTES && item_field == 1) {
                struct protobuf step = protobuf_inside(&f);
                struct protobuf_field num;

                while (protobuf_next(&step, &num))
                    if (num.number == 1)
                        r->step = (int64_t)num.integer;
            }
            if (f.number != item_field || f.type != PROTO_BYTES)
                continue;
            i = parse_item(protobuf_inside(&f));
            if (i.value)
                each_leaf(i.key.s, i.value, '/', add_value, r);
            clear_item(&i);
        }
    }
}

/* -- config, run, exit ---------------------------------------------------- */

static void add_param(void *arg, const char *key, json_t *value)
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
    text = json_dumps(value,
                      JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (text)
        import_run_param(arg, key, text);
    free(text);
}

static void add_config(struct import_run *in, struct protobuf config)
{
    struct protobuf_field f;

    while (protobuf_next(&config, &f)) {
        struct json_item i;

        if (f.number != 1 || f.type != PROTO_BYTES)
            continue;
        i = parse_item(protobuf_inside(&f));
        if (i.value && strncmp(i.key.s, "_wandb", 6) != 0)
            each_leaf(i.key.s, i.value, '.', add_param, in);
        clear_item(&i);
    }
}

/* Timestamp: 1 seconds, 2 nanoseconds. */
static int64_t parse_time(struct protobuf in)
{
    struct protobuf_field f;
    double part[2] = { 0, 0 };

    while (protobuf_next(&in, &f))
        if (f.number == 1 || f.number == 2)
            part[f.number - 1] = (double)f.integer;
    return num_whole(part[0] * 1e3 + part[1] / 1e6);
}

static void add_run(struct import_run *in, struct protobuf run)
{
    char *text[RUN_NOTES + 1] = { NULL };
    const char *id, *name, *project;
    struct protobuf_field f;

    while (protobuf_next(&run, &f)) {
        if (f.type != PROTO_BYTES)
            continue;
        if (f.number == RUN_CONFIG) {
            add_config(in, protobuf_inside(&f));
        } else if (f.number == RUN_START) {
            in->start_ms = parse_time(protobuf_inside(&f));
        } else if (f.number > 0 && f.number <= RUN_NOTES) {
            free(text[f.number]);
            text[f.number] = xstrndup((const char *)f.bytes, f.n);
        }
    }
    id = text[RUN_ID];
    name = text[RUN_NAME];
    project = text[RUN_PROJECT];
    if (id) {
        free(in->source);
        in->source = xasprintf("wandb %s/%s", project ? project : "", id);
        import_run_tag(in, "wandb.run_id", id);
    }
    if (text[RUN_GROUP])
        import_run_tag(in, "wandb.group", text[RUN_GROUP]);
    if (text[RUN_NOTES])
        import_run_tag(in, "mlflow.note.content", text[RUN_NOTES]);
    import_run_name(in, name && *name ? name : id);
    import_run_experiment(in, project);
    for (int i = 0; i <= RUN_NOTES; i++)
        free(text[i]);
}

static void add_record(struct import_run *in, struct protobuf record,
                       bool *ended)
{
    struct protobuf_field f, inner;

    while (protobuf_next(&record, &f)) {
        struct history_row row = { in, 0, in->end_ms, false, "" };
        struct protobuf p;

        if (f.type != PROTO_BYTES)
            continue;
        p = protobuf_inside(&f);
        switch (f.number) {
        case HISTORY:
            add_row(&row, p, 1);
            break;
        case STATS: {
            struct protobuf again = p;

            while (protobuf_next(&again, &inner))
                if (inner.number == 2 && inner.type == PROTO_BYTES)
                    row.ms = parse_time(protobuf_inside(&inner));
            row.prefix = "system/";
            row.step = in->start_ms ? (row.ms - in->start_ms) / 1000 : 0;
            add_row(&row, p, 3);
            break;
        }
        case CONFIG:
            add_config(in, p);
            break;
        case RUN:
            add_run(in, p);
            break;
        case EXIT:
            *ended = true;
            in->status = RUN_FINISHED;
            while (protobuf_next(&p, &inner))
                if (inner.number == 1 && inner.integer != 0)
                    in->status = RUN_FAILED;
            break;
        }
    }
}

int import_wandb(struct import *import, struct err *e)
{
    struct record_reader *r = xcalloc(1, sizeof *r);
    struct buf record = BUF_INIT;
    struct import_run in;
    bool ended = false;
    int ret = -1;

    import_run_init(&in, xstrdup(import->path));
    r->path = import->path;
    r->fp = fopen(import->path, "re");
    if (!r->fp) {
        err_open(e, "cannot read %s", import->path);
        goto out;
    }
    r->n = fread(r->block, 1, BLOCK, r->fp);
    if (r->n < HEADER || memcmp(r->block, ":W&B\xe1\xbe\0", HEADER) != 0) {
        err_set(e, ERR_INPUT, "%s is not a log of W&B", import->path);
        goto out;
    }
    r->at = HEADER;
    while ((ret = read_record(r, &record, e)) > 0)
        add_record(&in,
                   (struct protobuf){
                       (const unsigned char *)record.s,
                       (const unsigned char *)record.s + record.len, false },
                   &ended);
    if (!ended)
        in.status = RUN_KILLED;
    if (ret == 0)
        ret = import_run_write(&in, import, e);

out:
    if (r->fp)
        fclose(r->fp);
    free(r);
    buf_clear(&record);
    import_run_clear(&in);
    return ret < 0 ? -1 : 0;
}
