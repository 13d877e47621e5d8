/*
 * import_wandb - import offline runs of W&B
 *
 * The folder of a run has a log, run-ID.wandb, whose records are protocol
 * buffers, and a folder `files`, which has its output and its media.
 * (wandb/proto/wandb_internal.proto)
 */
#include "config.h"
#include "track/import/import.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/format/protobuf.h"
#include "store/format/store.h"
#include "track/runs/file_tree.h"
#include "common/err.h"

/*
 * wandb_log - the records of W&B's file run-ID.wandb
 *
 * The file is a log in LevelDB's format.  After a header of 7 bytes (":W&B",
 * 0xbee1, version) come blocks of 32 KiB.  A record begins with a CRC-32 of its
 * type and data, its length in two bytes, and its type: whole, first, middle or
 * last part.  (wandb/sdk/internal/datastore.py)
 */
enum { BLOCK = 32768, HEADER = 7, WHOLE = 1, FIRST, MIDDLE, LAST };

struct wandb_log {
    FILE *fp;
    unsigned char block[BLOCK];
    size_t n, at;
    const char *path;
};

/* -1 leaves an open file, too. */
static int wandb_log_open(struct wandb_log *r, const char *path, struct err *e)
{
    r->path = path;
    r->fp = fopen(path, "re");
    if (!r->fp)
        return err_open(e, "cannot read %s", path);
    r->n = fread(r->block, 1, BLOCK, r->fp);
    r->at = HEADER;
    if (ferror(r->fp))
        return err_sys(e, "cannot read %s", path);
    return r->n < HEADER || memcmp(r->block, ":W&B\xe1\xbe\0", HEADER) != 0
               ? err_input(e, "%s is not a log of W&B", path)
               : 0;
}

/* Read the next whole record: 1; 0 at the end, or where the log breaks off. */
static int wandb_log_next(struct wandb_log *r, struct buf *out, struct err *e)
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
            return err_input(e, "%s has a wrong checksum", r->path);
        if (h[6] == WHOLE || h[6] == FIRST)
            buf_trim(out, 0);
        else if (!inside)
            return err_input(e, "%s has a record without a beginning", r->path);
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

/* A record of history, of the config or of the summary has items, each with a
 * key, which may be a path through nested objects, and a value.  Add to a JSON
 * object the items that a message has in one of its fields; an item without a
 * value removes the key. */
static void wandb_log_items(json_t *root, struct protobuf in, int field)
{
    struct protobuf_field f;

    while (protobuf_find(&in, field, &f))
        add_item(root, protobuf_inside(&f));
}

enum {
    HISTORY = 2, /* fields of Record */
    SUMMARY = 3,
    CONFIG = 5,
    STATS = 7,
    ARTIFACT = 8,
    ALERT = 10,
    OUTPUT_RAW = 13,
    RUN = 17,
    EXIT = 18,

    RUN_ID = 1, /* fields of RunRecord */
    RUN_PROJECT = 3,
    RUN_CONFIG = 4,
    RUN_GROUP = 6,
    RUN_JOB_TYPE = 7,
    RUN_NAME = 8,
    RUN_NOTES = 9,
    RUN_TAGS = 10,
    RUN_START = 17,
    RUN_GIT = 21,
};

struct wandb_reader {
    struct import_run in;
    json_t *summary;
    json_t *seen; /* the keys of history */
    struct buf output;
    int64_t last_step;
    bool ended;
};

/* -- history, system metrics, summary -------------------------------------- */

struct history_row {
    struct wandb_reader *r;
    struct import_json_row at;
};

static bool add_histogram(const struct history_row *row, const char *key,
                          json_t *value)
{
    const char *type = json_string_value(json_object_get(value, "_type"));

    return type && strcmp(type, "histogram") == 0 &&
           import_run_histogram(row->at.in, key, row->at.step, row->at.ms,
                                json_object_get(value, "values"),
                                json_object_get(value, "bins"));
}

/* The file of an image, a table or the like. */
static bool add_file(const struct history_row *row, const char *key,
                     const char *kind, const char *path, json_t *caption)
{
    const char *dot = strrchr(path, '.');

    return import_run_media_file(row->at.in, key,
                                 &(struct import_media){
                                     .kind = kind,
                                     .step = row->at.step,
                                     .ms = row->at.ms,
                                     .ending = dot ? dot : "",
                                     .from = path,
                                     .caption = json_string_value(caption),
                                 });
}

static bool add_media(const struct history_row *row, const char *key,
                      json_t *value)
{
    static const char *const kinds[][2] = {
        { "image-file", "images" }, { "table-file", "tables" },
        { "audio-file", "audio" },  { "html-file", "html" },
        { "video-file", "video" },  { "images/separated", "images" },
    };
    const char *type = json_string_value(json_object_get(value, "_type"));
    const char *path = json_string_value(json_object_get(value, "path"));
    const char *kind = NULL;
    json_t *names = json_object_get(value, "filenames");
    json_t *captions = json_object_get(value, "captions");
    bool good = true;

    for (size_t i = 0; type && i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(type, kinds[i][0]) == 0)
            kind = kinds[i][1];
    if (!kind || !(path || json_array_size(names)))
        return false;
    if (path)
        return add_file(row, key, kind, path,
                        json_object_get(value, "caption"));
    for (size_t i = 0; i < json_array_size(names); i++) {
        path = json_string_value(json_array_get(names, i));
        good = path &&
               add_file(row, key, kind, path, json_array_get(captions, i)) &&
               good;
    }
    return good;
}

static void add_value(void *arg, const char *key, json_t *value)
{
    struct history_row *row = arg;

    if (*key == '_')
        return;
    if (!*row->at.prefix)
        json_object_set_new(row->r->seen, key, json_true());
    if (!add_histogram(row, key, value) && !add_media(row, key, value))
        import_json_point(&row->at, key, value);
}

static void add_history(struct wandb_reader *r, struct protobuf in)
{
    struct history_row row = { r, { &r->in, "", 0, r->in.end_ms } };
    json_t *items = json_object(), *x;
    struct protobuf_field f, num;

    wandb_log_items(items, in, 1);
    while (protobuf_find(&in, 2, &f)) {
        struct protobuf step = protobuf_inside(&f);

        while (protobuf_next(&step, &num))
            if (num.number == 1)
                row.at.step = (int64_t)num.integer;
    }
    x = json_object_get(items, "_step");
    if (json_is_number(x))
        row.at.step = num_whole(json_number_value(x));
    x = json_object_get(items, "_timestamp");
    if (json_is_number(x))
        row.at.ms = num_whole(json_number_value(x) * 1000 + 0.5);
    if (row.at.step > r->last_step)
        r->last_step = row.at.step;
    import_json_each("", items, '/', add_value, &row);
    json_decref(items);
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

static void add_stats(struct wandb_reader *r, struct protobuf in)
{
    struct history_row row = { r, { &r->in, "system/", 0, r->in.end_ms } };
    json_auto_t *items = json_object();
    struct protobuf_field f;

    wandb_log_items(items, in, 3);
    while (protobuf_find(&in, 2, &f))
        row.at.ms = parse_time(protobuf_inside(&f));
    if (r->in.start_ms)
        row.at.step = (row.at.ms - r->in.start_ms) / 1000;
    import_json_each("", items, '/', add_value, &row);
}

/* A value of the summary that is not the last of a history was set by hand, or
 * is a minimum or the like: a point at the last step. */
static void add_summary(void *arg, const char *key, json_t *value)
{
    struct wandb_reader *r = arg;
    double x;

    if (*key != '_' && !json_object_get(r->seen, key) &&
        import_json_number(&r->in, value, &x))
        import_run_point(&r->in, key, r->last_step, r->in.end_ms, x);
}

/* -- config, run, exit ---------------------------------------------------- */

static void add_config(struct import_run *in, struct protobuf update)
{
    json_auto_t *config = json_object();

    wandb_log_items(config, update, 1);
    json_object_del(config, "_wandb");
    import_json_each("", config, '.', import_json_param, in);
}

/* W&B's tags have no values: "key=value" is what push makes of one that has. */
static void add_tag(struct import_run *in, const struct protobuf_field *f)
{
    AUTO_FREE char *text = xstrndup((const char *)f->bytes, f->n);
    char *equals = strchr(text, '=');

    if (equals > text)
        *equals++ = '\0';
    else
        equals = NULL;
    import_run_tag(in, text, equals ? equals : "");
}

/* GitRepoRecord: 1 the URL, 2 the commit. */
static void add_git(struct import_run *in, struct protobuf git)
{
    static const char *const tags[] = { "mlflow.source.git.repoURL",
                                        "mlflow.source.git.commit" };
    struct protobuf_field f;

    while (protobuf_next(&git, &f)) {
        AUTO_FREE char *text = NULL;

        if ((f.number != 1 && f.number != 2) || f.type != PROTO_BYTES || !f.n)
            continue;
        text = xstrndup((const char *)f.bytes, f.n);
        import_run_tag(in, tags[f.number - 1], text);
    }
}

static void add_run(struct import_run *in, struct protobuf run)
{
    char *text[RUN_NOTES + 1] = { NULL };
    const char *id, *name, *project;
    struct protobuf_field f;

    while (protobuf_next(&run, &f)) {
        if (f.type != PROTO_BYTES)
            continue;
        if (f.number == RUN_TAGS) {
            add_tag(in, &f);
        } else if (f.number == RUN_GIT) {
            add_git(in, protobuf_inside(&f));
        } else if (f.number == RUN_CONFIG) {
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
    if (text[RUN_JOB_TYPE])
        import_run_tag(in, "wandb.job_type", text[RUN_JOB_TYPE]);
    if (text[RUN_NOTES])
        import_run_tag(in, "mlflow.note.content", text[RUN_NOTES]);
    import_run_name(in, name && *name ? name : id);
    import_run_experiment(in, project);
    for (int i = 0; i <= RUN_NOTES; i++)
        free(text[i]);
}

static void add_output(struct buf *output, struct protobuf in)
{
    struct protobuf_field f;

    while (protobuf_find(&in, 3, &f))
        buf_add(output, f.bytes, f.n);
}

static void add_record(struct wandb_reader *r, struct protobuf record)
{
    struct protobuf_field f, inner;

    while (protobuf_next(&record, &f)) {
        struct protobuf p;

        if (f.type != PROTO_BYTES)
            continue;
        p = protobuf_inside(&f);
        switch (f.number) {
        case HISTORY:
            add_history(r, p);
            break;
        case SUMMARY:
            wandb_log_items(r->summary, p, 1);
            wandb_log_items(r->summary, p, 2); /* those to remove */
            break;
        case STATS:
            add_stats(r, p);
            break;
        case CONFIG:
            add_config(&r->in, p);
            break;
        case RUN:
            add_run(&r->in, p);
            break;
        case OUTPUT_RAW:
            add_output(&r->output, p);
            break;
        case ARTIFACT:
            import_run_leave(&r->in, "artifact");
            break;
        case ALERT:
            import_run_leave(&r->in, "alert");
            break;
        case EXIT:
            r->ended = true;
            r->in.status = RUN_FINISHED;
            while (protobuf_next(&p, &inner))
                if (inner.number == 1 && inner.integer != 0)
                    r->in.status = RUN_FAILED;
            break;
        }
    }
}

static int read_log(struct wandb_reader *r, const char *path, struct err *e)
{
    struct wandb_log log = { .fp = NULL };
    AUTO(buf_clear) struct buf record = BUF_INIT;
    int ret = wandb_log_open(&log, path, e) < 0 ? -1 : 1;

    while (ret > 0 && (ret = wandb_log_next(&log, &record, e)) > 0) {
        const unsigned char *text = (const unsigned char *)record.s;

        add_record(r, (struct protobuf){ text, text + record.len, false });
    }
    if (log.fp)
        fclose(log.fp);
    return ret;
}

/* The folder `files` beside the log, if both are where W&B puts them:
 * offline-run-DATE-ID/run-ID.wandb. */
static char *find_files(const char *path)
{
    AUTO_FREE char *absolute = store_absolute(path);
    AUTO_FREE char *folder = path_parent(absolute);
    const char *name = path_name(absolute), *dash = strchr(name, '-');
    AUTO_FREE char *id = dash ? xstrndup(dash, strcspn(dash, ".")) : NULL;
    char *files =
        id && str_ends(folder, id) ? path_join(folder, "files") : NULL;

    return files;
}

static int import_log(struct import *import, const char *path, struct err *e)
{
    struct wandb_reader r = { .summary = json_object(),
                              .seen = json_object(),
                              .output = BUF_INIT };
    int ret;

    import_run_init(&r.in, xstrdup(path));
    r.in.files = find_files(path);
    r.in.inside = import->flags & LOAD_LINKS ? NULL : r.in.files;
    ret = read_log(&r, path, e);
    if (ret == 0) {
        import_json_each("", r.summary, '/', add_summary, &r);
        if (!r.ended)
            r.in.status = RUN_KILLED;
        if (r.output.len)
            r.in.output = xstrdup(r.output.s);
    }
    ret = import_run_end(&r.in, import, ret, e);
    json_decref(r.summary);
    json_decref(r.seen);
    buf_clear(&r.output);
    return ret;
}

/* Import all runs below a folder; one that cannot be read does not keep the
 * rest from being imported. */
static int import_folder(struct import *import, struct err *e)
{
    AUTO(file_tree_clear) struct file_tree f = { 0 };
    size_t found = 0, failed = 0;

    if (file_tree_list(&f, import->path, NULL, e) < 0)
        return -1;
    for (size_t i = 0; i < f.n; i++) {
        const char *path = f.file[i].whole;
        struct err why = { 0 };

        if (!str_ends(path, ".wandb"))
            continue;
        found++;
        if (import_log(import, path, &why) < 0) {
            failed++;
            log_error("%s", why.text);
        }
    }
    if (found == 0)
        return err_input(e, "%s has no runs of W&B", import->path);
    return failed == 0 ? 0
                       : err_input(e, "%zu of %zu runs were not imported",
                                   failed, found);
}

int import_wandb(struct import *import, struct err *e)
{
    return path_is_folder(import->path) ? import_folder(import, e)
                                        : import_log(import, import->path, e);
}
