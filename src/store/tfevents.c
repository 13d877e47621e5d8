#include "config.h"
#include "store/tfevents.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/protobuf.h"

/*
 * A record: the length, 8 bytes, and its masked CRC, 4; the data and theirs.
 * Event: 1 wall_time double, 2 step, 3 file_version, 5 Summary, 7 SessionLog.
 * Summary: 1 Value.  Value: 1 tag, 2 simple_value float, 8 tensor, 9
 * SummaryMetadata.  SessionLog: 1 status, of which START makes TensorBoard
 * forget this run's events from that step on.
 * (tensorflow/core/util/event.proto, framework/summary.proto)
 */
enum {
    HEAD = 12,
    TAIL = 4,
    RECORD_MAX = 256 << 20,
    DT_FLOAT = 1,
    DT_DOUBLE = 2,
    DT_STRING = 7,
    SESSION_START = 1
};

struct tfevents {
    FILE *fp;
    char *path;
};

/* CRCs of CRCs are weak, so TensorFlow rotates them and adds a constant. */
static uint32_t masked(const void *data, size_t n)
{
    const uint32_t crc = crc32c(data, n);

    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void put_le(unsigned char *out, uint64_t x, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = (unsigned char)(x >> (8 * i));
}

static uint64_t get_le(const unsigned char *in, int n)
{
    uint64_t x = 0;

    for (int i = 0; i < n; i++)
        x |= (uint64_t)in[i] << (8 * i);
    return x;
}

static void put_record(struct tfevents *t, const struct buf *event)
{
    unsigned char head[HEAD], tail[TAIL];

    put_le(head, event->len, 8);
    put_le(head + 8, masked(head, 8), 4);
    put_le(tail, masked(event->s, event->len), 4);
    fwrite(head, 1, sizeof head, t->fp);
    fwrite(event->s, 1, event->len, t->fp);
    fwrite(tail, 1, sizeof tail, t->fp);
}

static void put_event(struct tfevents *t, int64_t step, int64_t wall_ms,
                      const struct buf *value)
{
    struct buf event = BUF_INIT, summary = BUF_INIT;

    protobuf_put_bytes(&summary, 1, value->s, value->len);
    protobuf_put_double(&event, 1, (double)wall_ms / 1000);
    protobuf_put_int(&event, 2, (uint64_t)step);
    protobuf_put_bytes(&event, 5, summary.s, summary.len);
    put_record(t, &event);
    buf_clear(&event);
    buf_clear(&summary);
}

struct tfevents *tfevents_create(const char *folder, int64_t start_ms,
                                 struct err *e)
{
    struct tfevents *t;
    struct buf event = BUF_INIT;
    char host[64] = "localhost";

    if (path_make(folder, e) < 0)
        return NULL;
    gethostname(host, sizeof host - 1);
    t = xcalloc(1, sizeof *t);
    t->path = xasprintf("%s/events.out.tfevents.%lld.%03d.%s.gtrack", folder,
                        (long long)(start_ms / 1000), (int)(start_ms % 1000),
                        host);
    t->fp = fopen(t->path, "we");
    if (!t->fp) {
        err_sys(e, "cannot create %s", t->path);
        free(t->path);
        free(t);
        return NULL;
    }
    protobuf_put_double(&event, 1, (double)start_ms / 1000);
    protobuf_put_text(&event, 3, "brain.Event:2");
    put_record(t, &event);
    buf_clear(&event);
    return t;
}

void tfevents_scalar(struct tfevents *t, const char *tag, int64_t step,
                     int64_t wall_ms, double x)
{
    struct buf value = BUF_INIT;

    protobuf_put_text(&value, 1, tag);
    protobuf_put_float(&value, 2, (float)x);
    put_event(t, step, wall_ms, &value);
    buf_clear(&value);
}

void tfevents_rewind(struct tfevents *t, int64_t step, int64_t wall_ms)
{
    struct buf event = BUF_INIT, session = BUF_INIT;

    protobuf_put_int(&session, 1, SESSION_START);
    protobuf_put_double(&event, 1, (double)wall_ms / 1000);
    protobuf_put_int(&event, 2, (uint64_t)step + 1);
    protobuf_put_bytes(&event, 7, session.s, session.len);
    put_record(t, &event);
    buf_clear(&event);
    buf_clear(&session);
}

void tfevents_text(struct tfevents *t, const char *tag, int64_t step,
                   int64_t wall_ms, const char *text)
{
    struct buf value = BUF_INIT, tensor = BUF_INIT, plugin = BUF_INIT;
    struct buf metadata = BUF_INIT, shape = BUF_INIT, dim = BUF_INIT;

    protobuf_put_int(&dim, 1, 1);
    protobuf_put_bytes(&shape, 2, dim.s, dim.len);
    protobuf_put_int(&tensor, 1, DT_STRING);
    protobuf_put_bytes(&tensor, 2, shape.s, shape.len);
    protobuf_put_text(&tensor, 8, text);
    protobuf_put_text(&plugin, 1, "text");
    protobuf_put_bytes(&metadata, 1, plugin.s, plugin.len);
    protobuf_put_text(&value, 1, tag);
    protobuf_put_bytes(&value, 8, tensor.s, tensor.len);
    protobuf_put_bytes(&value, 9, metadata.s, metadata.len);
    put_event(t, step, wall_ms, &value);
    buf_clear(&value);
    buf_clear(&tensor);
    buf_clear(&plugin);
    buf_clear(&metadata);
    buf_clear(&shape);
    buf_clear(&dim);
}

int tfevents_flush(struct tfevents *t, struct err *e)
{
    if (fflush(t->fp) != 0 || ferror(t->fp))
        return err_sys(e, "cannot write %s", t->path);
    return 0;
}

int tfevents_close(struct tfevents *t, struct err *e)
{
    int ret;

    if (!t)
        return 0;
    ret = tfevents_flush(t, e);
    if (fclose(t->fp) != 0 && ret == 0)
        ret = err_sys(e, "cannot write %s", t->path);
    free(t->path);
    free(t);
    return ret;
}

/* ---- reading ---- */

struct value {
    char *tag, *plugin;
    const char *kind; /* of a value that is no tensor and no scalar */
    double x;
    size_t numbers; /* a scalar has one */
    struct protobuf content;
};

static char *copy_text(const struct protobuf_field *f)
{
    return xstrndup((const char *)f->bytes, f->n);
}

/* TensorProto: 1 dtype, 2 shape, 4 content, 5 float_val, 6 double_val. */
static void take_tensor(struct protobuf in, struct value *v)
{
    struct protobuf_field f;
    uint64_t type = 0;

    while (protobuf_next(&in, &f)) {
        if (f.number == 1)
            type = f.integer;
        if (f.number < 4 || f.number > 6)
            continue;
        if (f.type == PROTO_32 || f.type == PROTO_64) {
            v->x = f.real;
            v->numbers++;
        } else if (f.type == PROTO_BYTES) { /* a repeated field may be packed */
            const bool wide =
                f.number == 6 || (f.number == 4 && type == DT_DOUBLE);
            const size_t size = wide ? sizeof(double) : sizeof(float);
            float narrow;

            if (f.number == 4 && type != DT_DOUBLE && type != DT_FLOAT)
                continue;
            v->numbers += f.n / size;
            if (f.n == size && wide) {
                memcpy(&v->x, f.bytes, size);
            } else if (f.n == size) {
                memcpy(&narrow, f.bytes, size);
                v->x = (double)narrow;
            }
        }
    }
}

/* SummaryMetadata: 1 PluginData: 1 the name of the plugin, 2 its content. */
static void take_metadata(struct protobuf in, struct value *v)
{
    struct protobuf_field f, data;

    while (protobuf_next(&in, &f)) {
        struct protobuf plugin = protobuf_inside(&f);

        while (f.number == 1 && f.type == PROTO_BYTES &&
               protobuf_next(&plugin, &data)) {
            if (data.number == 1 && data.type == PROTO_BYTES) {
                free(v->plugin);
                v->plugin = copy_text(&data);
            } else if (data.number == 2 && data.type == PROTO_BYTES) {
                v->content = protobuf_inside(&data);
            }
        }
    }
}

static struct value take_value(struct protobuf in)
{
    static const char *const kinds[] = {
        [3] = "histogram", [4] = "image", [5] = "histogram", [6] = "audio"
    };
    struct value v = { .kind = NULL };
    struct protobuf_field f;

    while (protobuf_next(&in, &f)) {
        if (f.number == 1 && f.type == PROTO_BYTES) {
            free(v.tag);
            v.tag = copy_text(&f);
        } else if (f.number == 2 && f.type == PROTO_32) {
            v.x = f.real;
            v.numbers++;
        } else if (f.number >= 3 && f.number <= 6) {
            v.kind = kinds[f.number];
        } else if (f.number == 8 && f.type == PROTO_BYTES) {
            take_tensor(protobuf_inside(&f), &v);
        } else if (f.number == 9 && f.type == PROTO_BYTES) {
            take_metadata(protobuf_inside(&f), &v);
        }
    }
    return v;
}

/* google.protobuf.Value: 2 number, 3 text, 4 boolean.  The caller frees it. */
static char *take_param(struct protobuf in)
{
    struct protobuf_field f;
    char *text = NULL, number[NUM_TEXT];

    while (protobuf_next(&in, &f)) {
        char *now = NULL;

        if (f.number == 2 && f.type == PROTO_64 && f.real == floor(f.real) &&
            fabs(f.real) < 1e15) {
            now = xasprintf("%.0f", f.real);
        } else if (f.number == 2 && f.type == PROTO_64) {
            num_shortest(number, f.real);
            now = xstrdup(number);
        } else if (f.number == 3 && f.type == PROTO_BYTES) {
            now = copy_text(&f);
        } else if (f.number == 4) {
            now = xstrdup(f.integer ? "True" : "False");
        }
        if (now) {
            free(text);
            text = now;
        }
    }
    return text;
}

/* HParamsPluginData: 3 SessionStartInfo: 1 a parameter: 1 key, 2 Value. */
static void take_params(struct protobuf in, const struct tfevents_reader *to,
                        void *arg)
{
    struct protobuf_field f, entry, part;

    while (protobuf_next(&in, &f)) {
        struct protobuf start = protobuf_inside(&f);

        while (f.number == 3 && f.type == PROTO_BYTES &&
               protobuf_next(&start, &entry)) {
            struct protobuf param = protobuf_inside(&entry);
            char *key = NULL, *value = NULL;

            while (entry.number == 1 && entry.type == PROTO_BYTES &&
                   protobuf_next(&param, &part)) {
                if (part.type == PROTO_BYTES && part.number == 1) {
                    free(key);
                    key = copy_text(&part);
                } else if (part.type == PROTO_BYTES && part.number == 2) {
                    free(value);
                    value = take_param(protobuf_inside(&part));
                }
            }
            if (key && *key && value)
                to->param(arg, key, value);
            free(key);
            free(value);
        }
    }
}

static void give_value(struct value *v, int64_t step, int64_t ms,
                       const struct tfevents_reader *to, void *arg)
{
    const bool is_scalar = !v->plugin || strcmp(v->plugin, "scalars") == 0;

    if (v->plugin && strcmp(v->plugin, "hparams") == 0)
        take_params(v->content, to, arg);
    else if (v->kind || !is_scalar || v->numbers != 1)
        to->other(arg, v->kind ? v->kind : v->plugin ? v->plugin : "tensor");
    else if (v->tag)
        to->scalar(arg, v->tag, step, ms, v->x);
    free(v->tag);
    free(v->plugin);
}

static void take_event(struct protobuf in, const struct tfevents_reader *to,
                       void *arg)
{
    struct protobuf_field f, value;
    int64_t step = 0, ms = 0;

    while (protobuf_next(&in, &f)) {
        struct protobuf summary;

        if (f.number == 1 && f.type == PROTO_64)
            ms = num_whole(f.real * 1000 + 0.5);
        else if (f.number == 2)
            step = (int64_t)f.integer;
        if (f.number != 5 || f.type != PROTO_BYTES)
            continue;
        summary = protobuf_inside(&f);
        while (protobuf_next(&summary, &value)) {
            struct value v;

            if (value.number != 1 || value.type != PROTO_BYTES)
                continue;
            v = take_value(protobuf_inside(&value));
            give_value(&v, step, ms, to, arg);
        }
    }
}

int tfevents_read(const char *path, const struct tfevents_reader *to, void *arg,
                  struct err *e)
{
    FILE *fp = fopen(path, "re");
    unsigned char head[HEAD], *data = NULL;
    size_t room = 0;
    int64_t at = 0;
    int ret = 0;

    if (!fp)
        return err_open(e, "cannot read %s", path);
    while (ret == 0 && fread(head, 1, HEAD, fp) == HEAD) {
        const uint64_t n = get_le(head, 8);

        if (get_le(head + 8, 4) != masked(head, 8) || n > RECORD_MAX) {
            ret = err_set(e, ERR_INPUT,
                          "%s: not a TensorBoard record at "
                          "byte %lld",
                          path, (long long)at);
            break;
        }
        if (n + TAIL > room) {
            room = (size_t)n + TAIL;
            free(data);
            data = mem_alloc(room, 1, path, e);
            if (!data) {
                ret = -1;
                break;
            }
        }
        if (fread(data, 1, n + TAIL, fp) != n + TAIL)
            break; /* not whole yet */
        if (get_le(data + n, 4) != masked(data, n))
            ret = err_set(e, ERR_INPUT, "%s: wrong checksum at byte %lld", path,
                          (long long)at);
        else
            take_event((struct protobuf){ data, data + n, false }, to, arg);
        at += (int64_t)n + HEAD + TAIL;
    }
    free(data);
    fclose(fp);
    return ret;
}
