#include "config.h"
#include "store/format/tfevents.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/utf8.h"
#include "common/format/protobuf.h"
#include "store/format/tfevents_impl.h"

struct tfevents {
    FILE *fp;
    char *path;
};

/* CRCs of CRCs are weak, so TensorFlow rotates them and adds a constant. */
uint32_t tfevents_crc(const void *data, size_t n)
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
    struct buf event = BUF_INIT;

    protobuf_put_double(&event, 1, (double)wall_ms / 1000);
    protobuf_put_int(&event, 2, (uint64_t)step);
    put_inside(&event, field, content);
    put_record(t, &event);
    buf_clear(&event);
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
    struct path_list names = { 0 };
    bool others = false;

    path_list(&names, folder, ERR_IGNORED);
    for (size_t i = 0; i < names.n; i++)
        others |=
            strstr(names.name[i], "tfevents") && !str_ends(names.name[i], id);
    path_list_clear(&names);
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
    struct buf event = BUF_INIT;
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
    free(t->path);
    free(t);
    return ret;
}
