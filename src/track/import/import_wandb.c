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

/*
 * An offline run of W&B's, run-ID.wandb: a log in LevelDB's format whose
 * records are protocol buffers.  After 7 bytes of header (":W&B", 0xbee1,
 * version) come blocks of 32 KiB; a record is a CRC-32 of its type and data,
 * the length in two bytes, and the type: whole, first, middle or last part.
 * (wandb/sdk/internal/datastore.py, wandb/proto/wandb_internal.proto)
 */
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
};

struct reader {
    FILE *fp;
    unsigned char block[BLOCK];
    size_t n, at;
    const char *path;
};

/* The next whole record; 0 at the end, or where the log is torn. */
static int next_record(struct reader *r, struct buf *out, struct err *e)
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
            return err_set(e, ERR_INPUT, "%s: a wrong checksum", r->path);
        if (h[6] == WHOLE || h[6] == FIRST)
            buf_trim(out, 0);
        else if (!inside)
            return err_set(e, ERR_INPUT, "%s: a record without its beginning",
                           r->path);
        buf_add(out, h + HEADER, len);
        r->at += HEADER + len;
        if (h[6] == WHOLE || h[6] == LAST)
            return 1;
        inside = true;
    }
}

/* ---- items: a key, and a value as JSON ---- */

struct item {
    struct buf key; /* parts of a nested key with slashes */
    struct buf json;
    double number;
    bool is_number;
};

static void item_clear(struct item *i)
{
    buf_clear(&i->key);
    buf_clear(&i->json);
}

static struct item take_item(struct protobuf in)
{
    struct item i = { BUF_INIT, BUF_INIT, 0, false };
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
            buf_add(&i.json, f.bytes, f.n);
        } else if (f.number == 6 && f.type == PROTO_64) {
            i.number = f.real;
            i.is_number = true;
        } else if (f.number == 5 && f.type == PROTO_VARINT) {
            i.number = (double)protobuf_zigzag(f.integer);
            i.is_number = true;
        } else if (f.number == 4 && f.type == PROTO_VARINT) {
            i.number = f.integer != 0;
            i.is_number = true;
        }
    }
    return i;
}

typedef void leaf_fn(void *arg, const char *key, json_t *value);

/* Objects are flattened: a/b/c. */
static void leaves(const char *key, json_t *value, char separator, leaf_fn *fn,
                   void *arg)
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

        leaves(longer, inner, separator, fn, arg);
        free(longer);
    }
}

/* ---- history and system metrics ---- */

struct row {
    struct intake *in;
    int64_t step, ms;
    bool write; /* first pass finds step and time */
    const char *prefix;
};

static void history_leaf(void *arg, const char *key, json_t *value)
{
    struct row *r = arg;
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

        intake_point(r->in, name, r->step, r->ms, x);
        free(name);
    }
}

/* NaN and Infinity stand bare in W&B's JSON. */
static json_t *parse(const struct buf *text)
{
    static const char *const bare[] = { "NaN", "Infinity", "-Infinity" };

    for (size_t i = 0; i < sizeof bare / sizeof bare[0]; i++)
        if (strcmp(text->s, bare[i]) == 0)
            return json_string(bare[i]);
    return json_loadb(text->s, text->len, JSON_DECODE_ANY, NULL);
}

static void take_row(struct row *r, struct protobuf in, int item_field)
{
    for (int pass = 0; pass < 2; pass++) {
        struct protobuf again = in;
        struct protobuf_field f;

        r->write = pass == 1;
        while (protobuf_next(&again, &f)) {
            struct item i;
            json_t *value;

            if (f.number == 2 && f.type == PROTO_BYTES && item_field == 1) {
                struct protobuf step = protobuf_inside(&f);
                struct protobuf_field num;

                while (protobuf_next(&step, &num))
                    if (num.number == 1)
                        r->step = (int64_t)num.integer;
            }
            if (f.number != item_field || f.type != PROTO_BYTES)
                continue;
            i = take_item(protobuf_inside(&f));
            value = i.is_number ? isfinite(i.number)
                                      ? json_real(i.number)
                                      : json_string(isnan(i.number) ? "nan"
                                                    : i.number < 0  ? "-inf"
                                                                    : "inf")
                                : parse(&i.json);
            if (value)
                leaves(i.key.s, value, '/', history_leaf, r);
            json_decref(value);
            item_clear(&i);
        }
    }
}

/* ---- config, run, exit ---- */

static void config_leaf(void *arg, const char *key, json_t *value)
{
    char *text;

    if (json_is_string(value)) {
        intake_param(arg, key, json_string_value(value));
        return;
    }
    if (json_is_boolean(value) || json_is_null(value)) {
        intake_param(arg, key,
                     json_is_true(value)    ? "True"
                     : json_is_false(value) ? "False"
                                            : "None");
        return;
    }
    text = json_dumps(value,
                      JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (text)
        intake_param(arg, key, text);
    free(text);
}

static void take_config(struct intake *in, struct protobuf config)
{
    struct protobuf_field f;

    while (protobuf_next(&config, &f)) {
        struct item i;
        json_t *value;

        if (f.number != 1 || f.type != PROTO_BYTES)
            continue;
        i = take_item(protobuf_inside(&f));
        value = parse(&i.json);
        if (value && strncmp(i.key.s, "_wandb", 6) != 0)
            leaves(i.key.s, value, '.', config_leaf, in);
        json_decref(value);
        item_clear(&i);
    }
}

static void take_text(const struct protobuf_field *f, char **to)
{
    free(*to);
    *to = xstrndup((const char *)f->bytes, f->n);
}

/* Timestamp: 1 seconds, 2 nanoseconds. */
static int64_t take_time(struct protobuf in)
{
    struct protobuf_field f;
    double part[2] = { 0, 0 };

    while (protobuf_next(&in, &f))
        if (f.number == 1 || f.number == 2)
            part[f.number - 1] = (double)f.integer;
    return num_whole(part[0] * 1e3 + part[1] / 1e6);
}

static void take_run(struct intake *in, struct protobuf run)
{
    char *id = NULL, *name = NULL, *project = NULL, *text = NULL;
    struct protobuf_field f;

    while (protobuf_next(&run, &f)) {
        if (f.type != PROTO_BYTES)
            continue;
        switch (f.number) {
        case 1:
            take_text(&f, &id);
            break;
        case 3:
            take_text(&f, &project);
            break;
        case 4:
            take_config(in, protobuf_inside(&f));
            break;
        case 6:
            take_text(&f, &text);
            intake_tag(in, "wandb.group", text);
            break;
        case 8:
            take_text(&f, &name);
            break;
        case 9:
            take_text(&f, &text);
            intake_tag(in, "mlflow.note.content", text);
            break;
        case 17:
            in->start_ms = take_time(protobuf_inside(&f));
            break;
        }
    }
    if (id) {
        free(in->source);
        in->source = xasprintf("wandb %s/%s", project ? project : "", id);
        intake_tag(in, "wandb.run_id", id);
    }
    intake_name(in, name && *name ? name : id);
    intake_experiment(in, project);
    free(id);
    free(name);
    free(project);
    free(text);
}

static void take_record(struct intake *in, struct protobuf record, bool *ended)
{
    struct protobuf_field f, inner;

    while (protobuf_next(&record, &f)) {
        struct row row = { in, 0, in->end_ms, false, "" };
        struct protobuf p;

        if (f.type != PROTO_BYTES)
            continue;
        p = protobuf_inside(&f);
        switch (f.number) {
        case HISTORY:
            take_row(&row, p, 1);
            break;
        case STATS: {
            struct protobuf again = p;

            while (protobuf_next(&again, &inner))
                if (inner.number == 2 && inner.type == PROTO_BYTES)
                    row.ms = take_time(protobuf_inside(&inner));
            row.prefix = "system/";
            row.step = in->start_ms ? (row.ms - in->start_ms) / 1000 : 0;
            take_row(&row, p, 3);
            break;
        }
        case CONFIG:
            take_config(in, p);
            break;
        case RUN:
            take_run(in, p);
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

int import_wandb(struct import_job *job, struct err *e)
{
    struct reader *r = xcalloc(1, sizeof *r);
    struct buf record = BUF_INIT;
    struct intake in;
    bool ended = false;
    int ret = -1;

    intake_init(&in, job->path);
    r->path = job->path;
    r->fp = fopen(job->path, "re");
    if (!r->fp) {
        err_open(e, "cannot read %s", job->path);
        goto out;
    }
    r->n = fread(r->block, 1, BLOCK, r->fp);
    if (r->n < HEADER || memcmp(r->block, ":W&B\xe1\xbe\0", HEADER) != 0) {
        err_set(e, ERR_INPUT, "%s is no log of W&B's", job->path);
        goto out;
    }
    r->at = HEADER;
    while ((ret = next_record(r, &record, e)) > 0)
        take_record(&in,
                    (struct protobuf){
                        (const unsigned char *)record.s,
                        (const unsigned char *)record.s + record.len, false },
                    &ended);
    if (!ended)
        in.status = RUN_KILLED;
    if (ret == 0)
        ret = import_done(job, &in, e);

out:
    if (r->fp)
        fclose(r->fp);
    free(r);
    buf_clear(&record);
    intake_clear(&in);
    return ret < 0 ? -1 : 0;
}
