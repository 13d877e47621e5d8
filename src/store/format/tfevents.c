/*
 * tfevents - write and read the files of TensorBoard
 *
 * A record: the length, 8 bytes, and its masked CRC, 4; the data and theirs.
 * Event: 1 wall_time double, 2 step, 3 file_version, 5 Summary, 7 SessionLog.
 * Summary: 1 Value.  Value: 1 tag, 2 simple_value float, 4 image, 5 histogram,
 * 6 audio, 8 tensor, 9 SummaryMetadata.  SessionLog: 1 status, of which START
 * makes TensorBoard forget this run's events from that step on.
 * (tensorflow/core/util/event.proto, framework/summary.proto)
 */
#include "config.h"
#include "store/format/tfevents.h"

#include <limits.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/format/protobuf.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/utf8.h"

enum {
    HEAD = 12,
    TAIL = 4,
    RECORD_MAX = 256 << 20,
    DT_FLOAT = 1,
    DT_DOUBLE = 2,
    DT_STRING = 7,
    SUMMARY = 5,
    SESSION = 7,
    SESSION_START = 1
};

struct tfevents {
    FILE *fp;
    char *path;
};

/* CRCs of CRCs are weak, so TensorFlow rotates them and adds a constant. */
static uint32_t tfevents_crc(const void *data, size_t n)
{
    const uint32_t crc = crc32c(data, n);

    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void put_le(unsigned char *out, uint64_t x, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = (unsigned char)(x >> (8 * i));
}

static void put_record(struct tfevents *t, const struct buf *event)
{
    unsigned char head[HEAD], tail[TAIL];

    put_le(head, event->len, 8);
    put_le(head + 8, tfevents_crc(head, 8), 4);
    put_le(tail, tfevents_crc(event->s, event->len), 4);
    fwrite(head, 1, sizeof head, t->fp);
    fwrite(event->s, 1, event->len, t->fp);
    fwrite(tail, 1, sizeof tail, t->fp);
}

/* A message as a field of another one, which takes it over. */
static void put_inside(struct buf *to, int field, struct buf message)
{
    protobuf_put_bytes(to, field, message.s, message.len);
    buf_clear(&message);
}

/* An event with a Summary or a SessionLog. */
static void put_event(struct tfevents *t, int64_t step, int64_t wall_ms,
                      int field, struct buf content)
{
    AUTO(buf_clear) struct buf event = BUF_INIT;

    protobuf_put_double(&event, 1, (double)wall_ms / 1000);
    protobuf_put_int(&event, 2, (uint64_t)step);
    put_inside(&event, field, content);
    put_record(t, &event);
}

static void put_value(struct tfevents *t, int64_t step, int64_t wall_ms,
                      struct buf value)
{
    struct buf summary = BUF_INIT;

    put_inside(&summary, 1, value);
    put_event(t, step, wall_ms, SUMMARY, summary);
}

/* As much of the name of a run as may be the name of a folder. */
static void clean_name(char out[NAME_MAX / 2], const char *name)
{
    size_t n = 0;

    for (const char *p = name; *p && n + UTF8_MAX < NAME_MAX / 2;) {
        const char *from = p;

        utf8_next(&p);
        memcpy(out + n, from, (size_t)(p - from));
        if ((unsigned char)*from < 0x20 || strchr("/\\:*?\"<>|", *from))
            out[n] = '_';
        n += (size_t)(p - from);
    }
    out[n] = '\0';
}

/* Are there events in a folder that are not of this run? */
static bool has_others(const char *folder, const char *id)
{
    AUTO(path_list_clear) struct path_list names = { 0 };
    bool others = false;

    path_list(&names, folder, ERR_IGNORED);
    for (size_t i = 0; i < names.n; i++)
        others |=
            strstr(names.name[i], "tfevents") && !str_ends(names.name[i], id);
    return others;
}

/* The folder of a run: its name, and as much of its id as is needed. */
static char *find_folder(const char *parent, const char *name, const char *id)
{
    static const int digits[] = { 8, 32 };
    char clean[NAME_MAX / 2], *folder;

    clean_name(clean, name);
    if (*clean == '\0' || *clean == '.')
        return xasprintf("%s/%s-%s", parent, clean, id);
    folder = path_join(parent, clean);
    for (size_t i = 0; i < 2 && has_others(folder, id); i++) {
        free(folder);
        folder = xasprintf("%s/%s-%.*s", parent, clean, digits[i], id);
    }
    return folder;
}

struct tfevents *tfevents_create(const char *parent, const char *name,
                                 const char *id, int64_t start_ms,
                                 struct err *e)
{
    struct tfevents *t;
    AUTO(buf_clear) struct buf event = BUF_INIT;
    char host[64] = "localhost", *folder = find_folder(parent, name, id);

    if (path_make(folder, e) < 0) {
        free(folder);
        return NULL;
    }
    gethostname(host, sizeof host - 1);
    t = xcalloc(1, sizeof *t);
    t->path = xasprintf("%s/events.out.tfevents.%lld.%03d.%s.%s", folder,
                        (long long)(start_ms / 1000), (int)(start_ms % 1000),
                        host, id);
    free(folder);
    t->fp = fopen(t->path, "we");
    if (!t->fp) {
        err_sys(e, "cannot create %s", t->path);
        FREE(t->path, t);
        return NULL;
    }
    protobuf_put_double(&event, 1, (double)start_ms / 1000);
    protobuf_put_text(&event, 3, "brain.Event:2");
    put_record(t, &event);
    return t;
}

void tfevents_scalar(struct tfevents *t, const char *tag, int64_t step,
                     int64_t wall_ms, double x)
{
    struct buf value = BUF_INIT;

    protobuf_put_text(&value, 1, tag);
    protobuf_put_float(&value, 2, (float)x);
    put_value(t, step, wall_ms, value);
}

void tfevents_rewind(struct tfevents *t, int64_t step, int64_t wall_ms)
{
    struct buf session = BUF_INIT;

    protobuf_put_int(&session, 1, SESSION_START);
    put_event(t, step + 1, wall_ms, SESSION, session);
}

void tfevents_text(struct tfevents *t, const char *tag, int64_t step,
                   int64_t wall_ms, const char *text)
{
    struct buf value = BUF_INIT, tensor = BUF_INIT, plugin = BUF_INIT;
    struct buf metadata = BUF_INIT, shape = BUF_INIT, dim = BUF_INIT;

    protobuf_put_int(&dim, 1, 1);
    put_inside(&shape, 2, dim);
    protobuf_put_int(&tensor, 1, DT_STRING);
    put_inside(&tensor, 2, shape);
    protobuf_put_text(&tensor, 8, text);
    protobuf_put_text(&plugin, 1, "text");
    put_inside(&metadata, 1, plugin);
    protobuf_put_text(&value, 1, tag);
    put_inside(&value, 8, tensor);
    put_inside(&value, 9, metadata);
    put_value(t, step, wall_ms, value);
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
    FREE(t->path, t);
    return ret;
}

static uint64_t get_le(const unsigned char *in, int n)
{
    uint64_t x = 0;

    for (int i = 0; i < n; i++)
        x |= (uint64_t)in[i] << (8 * i);
    return x;
}

enum { MOST_STRINGS = 32 };

struct value {
    char *tag, *plugin;
    const char *kind; /* of a value that is no tensor and no scalar */
    double x;
    size_t numbers; /* a scalar has one */
    struct protobuf content, body;
    struct protobuf_field doubles;              /* of a tensor */
    struct protobuf_field string[MOST_STRINGS]; /* likewise */
    size_t n_strings;
};

/* Replace a text by that of a field. */
static void take_text(char **to, const struct protobuf_field *f)
{
    free(*to);
    *to = xstrndup((const char *)f->bytes, f->n);
}

/* TensorProto: 1 dtype, 2 shape, 4 content, 5 float_val, 6 double_val, 8
 * string_val. */
static void take_tensor(struct protobuf in, struct value *v)
{
    struct protobuf_field f;
    uint64_t type = 0;

    while (protobuf_next(&in, &f)) {
        if (f.number == 1)
            type = f.integer;
        if (f.number == 8 && f.type == PROTO_BYTES &&
            v->n_strings < MOST_STRINGS)
            v->string[v->n_strings++] = f;
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
            if (wide)
                v->doubles = f;
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

    while (protobuf_find(&in, 1, &f)) {
        struct protobuf plugin = protobuf_inside(&f);

        while (protobuf_next(&plugin, &data)) {
            if (data.number == 1 && data.type == PROTO_BYTES)
                take_text(&v->plugin, &data);
            else if (data.number == 2 && data.type == PROTO_BYTES)
                v->content = protobuf_inside(&data);
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
            take_text(&v.tag, &f);
        } else if (f.number == 2 && f.type == PROTO_32) {
            v.x = f.real;
            v.numbers++;
        } else if (f.number >= 3 && f.number <= 6) {
            v.kind = kinds[f.number];
            v.body = f.number > 3 && f.type == PROTO_BYTES
                         ? protobuf_inside(&f)
                         : (struct protobuf){ NULL, NULL, false };
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
            take_text(&now, &f);
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

    while (protobuf_find(&in, 3, &f)) {
        struct protobuf start = protobuf_inside(&f);

        while (protobuf_find(&start, 1, &entry)) {
            struct protobuf param = protobuf_inside(&entry);
            AUTO_FREE char *key = NULL, *value = NULL;

            while (protobuf_next(&param, &part)) {
                if (part.type == PROTO_BYTES && part.number == 1) {
                    take_text(&key, &part);
                } else if (part.type == PROTO_BYTES && part.number == 2) {
                    free(value);
                    value = take_param(protobuf_inside(&part));
                }
            }
            if (key && *key && value)
                to->param(arg, key, value);
        }
    }
}

/* ---- images, audio, text, histograms ------------------------------------- */

/* Where a value of some kind goes. */
struct receiver {
    const struct tfevents_reader *to;
    void *arg;
    struct tfevents_media media; /* its tag, step and time */
};

static void give_data(const struct receiver *r, enum tfevents_kind kind,
                      const struct protobuf_field *f)
{
    struct tfevents_media m = r->media;

    m.kind = kind;
    m.data = f->bytes;
    m.n = f->n;
    r->to->media(r->arg, &m);
}

static void give_histogram(const struct receiver *r, const double *count,
                           const double *edge, size_t n)
{
    struct tfevents_media m = r->media;

    m.kind = TFEVENTS_HISTOGRAM;
    m.count = count;
    m.edge = edge;
    m.n = n;
    r->to->media(r->arg, &m);
}

/* Image and Audio: 4 the file.  False if there is none. */
static bool give_file(const struct receiver *r, enum tfevents_kind kind,
                      struct protobuf in)
{
    struct protobuf_field f;

    while (protobuf_find(&in, 4, &f))
        if (f.n) {
            give_data(r, kind, &f);
            return true;
        }
    return false;
}

/* Append the doubles of a field, packed or not. */
static void add_doubles(struct buf *out, const struct protobuf_field *f)
{
    if (f->type == PROTO_BYTES)
        buf_add(out, f->bytes, f->n / sizeof(double) * sizeof(double));
    else if (f->type == PROTO_64)
        buf_add(out, &f->real, sizeof f->real);
}

/* Leave out empty buckets at both ends; min and max are the outermost edges,
 * which may be those of all doubles. */
static void give_between(const struct receiver *r, const double *count,
                         double *edge, size_t n, double min, double max)
{
    while (n > 1 && count[0] == 0) {
        count++;
        edge++;
        n--;
    }
    while (n > 1 && count[n - 1] == 0)
        n--;
    if (min < edge[1])
        edge[0] = min;
    if (max > edge[n - 1] && max < edge[n])
        edge[n] = max;
    give_histogram(r, count, edge, n);
}

/* HistogramProto: 1 min, 2 max, 6 the upper edges, 7 the counts. */
static bool give_buckets(const struct receiver *r, struct protobuf in)
{
    AUTO(buf_clear) struct buf edges = BUF_INIT, counts = BUF_INIT;
    struct protobuf_field f;
    double min = 0, max = 0;
    bool good;

    buf_add(&edges, &min, sizeof min);
    while (protobuf_next(&in, &f)) {
        if (f.number == 1)
            min = f.real;
        else if (f.number == 2)
            max = f.real;
        else if (f.number == 6 || f.number == 7)
            add_doubles(f.number == 6 ? &edges : &counts, &f);
    }
    good = counts.len && edges.len == counts.len + sizeof(double);
    if (good) {
        ((double *)(void *)edges.s)[0] = ((double *)(void *)edges.s)[1];
        give_between(r, (const double *)(void *)counts.s,
                     (double *)(void *)edges.s, counts.len / sizeof(double),
                     min, max);
    }
    return good;
}

/* A tensor with a row for each bin: its edges and its count. */
static bool give_bins(const struct receiver *r, const struct value *v)
{
    const size_t n = v->doubles.n / (3 * sizeof(double));
    double *edge, *count, row[3];

    if (n == 0 || v->doubles.type != PROTO_BYTES)
        return false;
    edge = xcalloc(2 * n + 1, sizeof *edge);
    count = edge + n + 1;
    for (size_t i = 0; i < n; i++) {
        memcpy(row, v->doubles.bytes + i * sizeof row, sizeof row);
        edge[i] = row[0];
        edge[i + 1] = row[1];
        count[i] = row[2];
    }
    give_histogram(r, count, edge, n);
    free(edge);
    return true;
}

/* The strings of a tensor, from one of them on. */
static bool give_strings(const struct receiver *r, enum tfevents_kind kind,
                         const struct value *v, size_t first)
{
    for (size_t i = first; i < v->n_strings; i++)
        give_data(r, kind, &v->string[i]);
    return v->n_strings > first;
}

/* False if the value is of another kind, or damaged.  The first two strings of
 * an image are its size. */
static bool give_media(const struct receiver *r, const struct value *v)
{
    const char *word = v->kind ? v->kind : v->plugin ? v->plugin : "";

    if (v->kind && !v->body.at)
        return false;
    if (strcmp(word, "image") == 0)
        return give_file(r, TFEVENTS_IMAGE, v->body);
    if (strcmp(word, "audio") == 0)
        return v->kind && give_file(r, TFEVENTS_AUDIO, v->body);
    if (strcmp(word, "histogram") == 0)
        return give_buckets(r, v->body);
    if (strcmp(word, "histograms") == 0)
        return give_bins(r, v);
    if (strcmp(word, "images") == 0)
        return give_strings(r, TFEVENTS_IMAGE, v, 2);
    return strcmp(word, "text") == 0 && give_strings(r, TFEVENTS_TEXT, v, 0);
}

static void give_number(const struct receiver *r, const struct value *v)
{
    const bool is_scalar = !v->plugin || strcmp(v->plugin, "scalars") == 0;

    if (v->kind || !is_scalar || v->numbers != 1)
        r->to->other(r->arg, v->kind     ? v->kind
                             : v->plugin ? v->plugin
                                         : "tensor");
    else if (v->tag)
        r->to->scalar(r->arg, v->tag, r->media.step, r->media.wall_ms, v->x);
}

static void give_value(struct value *v, int64_t step, int64_t ms,
                       const struct tfevents_reader *to, void *arg)
{
    const struct receiver r = {
        to, arg, { .tag = v->tag, .step = step, .wall_ms = ms }
    };

    if (v->plugin && strcmp(v->plugin, "hparams") == 0)
        take_params(v->content, to, arg);
    else if (!v->tag || !give_media(&r, v))
        give_number(&r, v);
    FREE(v->tag, v->plugin);
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
        if (f.number != SUMMARY || f.type != PROTO_BYTES)
            continue;
        summary = protobuf_inside(&f);
        while (protobuf_find(&summary, 1, &value)) {
            struct value v = take_value(protobuf_inside(&value));

            give_value(&v, step, ms, to, arg);
        }
    }
}

int tfevents_read(const char *path, const struct tfevents_reader *to, void *arg,
                  struct err *e)
{
    AUTO(path_fclose) FILE *fp = fopen(path, "re");
    AUTO_FREE unsigned char *data = NULL;
    unsigned char head[HEAD];
    size_t room = 0;
    int64_t at = 0;

    if (!fp)
        return err_open(e, "cannot read %s", path);
    while (fread(head, 1, HEAD, fp) == HEAD) {
        const uint64_t n = get_le(head, 8);

        if (get_le(head + 8, 4) != tfevents_crc(head, 8) || n > RECORD_MAX)
            return err_input(e, "%s: not a TensorBoard record at byte %lld",
                             path, (long long)at);
        if (n + TAIL > room) {
            room = (size_t)n + TAIL;
            free(data);
            data = mem_alloc(room, 1, path, e);
            if (!data)
                return -1;
        }
        if (fread(data, 1, n + TAIL, fp) != n + TAIL)
            break; /* not whole yet */
        if (get_le(data + n, 4) != tfevents_crc(data, n))
            return err_input(e, "%s: wrong checksum at byte %lld", path,
                             (long long)at);
        take_event((struct protobuf){ data, data + n, false }, to, arg);
        at += (int64_t)n + HEAD + TAIL;
    }
    return ferror(fp) ? err_sys(e, "cannot read %s", path) : 0;
}
