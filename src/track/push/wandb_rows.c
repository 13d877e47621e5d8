#include "config.h"
#include "track/push/wandb_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/path.h"
#include "common/format/protobuf.h"
#include "common/output/emit.h"

struct row_point {
    int64_t order, step, ms; /* order: the step or the time */
    uint32_t key, nth;
    double value;
    const struct wandb_medium *medium; /* instead of the value */
};

struct row_points {
    struct row_point *item;
    size_t n, room;
};

void wandb_rows_clear(struct wandb_rows *r)
{
    buf_clear(&r->text);
    free(r->row);
    *r = WANDB_ROWS_INIT;
}

const char *wandb_rows_line(const struct wandb_rows *r, size_t i)
{
    return r->text.s + r->row[i].at;
}

int64_t wandb_rows_points(const struct wandb_rows *r, int64_t n)
{
    if (n > (int64_t)r->n)
        n = (int64_t)r->n;
    return n > 0 ? (int64_t)r->row[n - 1].points : 0;
}

static void begin_line(struct wandb_rows *r, int64_t step)
{
    GROW(r->row, r->n, r->room);
    r->row[r->n] = (struct wandb_row){ .at = r->text.len, .step = step };
}

static void end_line(struct wandb_rows *r)
{
    struct wandb_row *row = &r->row[r->n++];

    row->sum = crc32c(r->text.s + row->at, r->text.len - row->at);
    row->points = r->n_points;
    buf_char(&r->text, '\0');
}

static bool is_system(const char *key)
{
    return strncmp(key, "system/", 7) == 0;
}

static int by_order(const void *a, const void *b)
{
    const struct row_point *x = a, *y = b;

    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->nth > y->nth) - (x->nth < y->nth);
}

static bool same_line(const struct row_point *a, const struct row_point *b)
{
    return a->order == b->order && a->step == b->step;
}

static int load_points(struct row_points *all, const struct run_info *r,
                       bool system, struct err *e)
{
    for (size_t j = 0; j < r->n_metrics; j++) {
        struct series s;

        if (is_system(r->metrics[j].key) != system)
            continue;
        if (series_load(&s, r, r->metrics[j].key, 0, e) < 0)
            return -1;
        for (size_t i = 0; i < s.n; i++) {
            GROW(all->item, all->n, all->room);
            all->item[all->n++] =
                (struct row_point){ system ? s.ms[i] : s.step[i],
                                    s.step[i],
                                    s.ms[i],
                                    (uint32_t)j,
                                    (uint32_t)i,
                                    s.value[i],
                                    NULL };
        }
        series_free(&s);
    }
    return 0;
}

/* Media come after the metrics of their step. */
static void load_media(struct row_points *all, const struct run_info *r,
                       const struct wandb_media *media)
{
    for (size_t i = 0; i < media->n; i++) {
        const struct wandb_medium *m = &media->item[i];

        GROW(all->item, all->n, all->room);
        all->item[all->n++] = (struct row_point){
            m->step, m->step, m->ms, (uint32_t)(r->n_metrics + i), 0, 0, m,
        };
    }
}

/* W&B's names for system metrics of MLflow and gtrain. */
struct system_name {
    const char *ours, *theirs;
    double scale;
};

static const struct system_name *find_name(const struct system_name *names,
                                           const char *key)
{
    while (names->ours && strcmp(key, names->ours) != 0)
        names++;
    return names->ours ? names : NULL;
}

static void add_system_name(struct buf *b, const char *key, double *value)
{
    static const struct system_name names[] = {
        { "cpu_util", "cpu", 1 },
        { "cpu_utilization_percentage", "cpu", 1 },
        { "rss_bytes", "proc.memory.rssMB", 1 / 1048576.0 },
        { "system_memory_usage_percentage", "memory_percent", 1 },
        { "disk_usage_percentage", "disk./.usagePercent", 1 },
        { "network_receive_megabytes", "network.recv", 1e6 },
        { "network_transmit_megabytes", "network.sent", 1e6 },
        { "gpu_util", "gpu.0.gpu", 1 },
        { "gpu_mem_bytes", "gpu.0.memoryAllocatedBytes", 1 },
        { "gpu_power_w", "gpu.0.powerWatts", 1 },
        { NULL },
    };
    static const struct system_name gpu[] = {
        { "_utilization_percentage", "gpu", 1 },
        { "_memory_usage_percentage", "memoryAllocated", 1 },
        { "_memory_usage_megabytes", "memoryAllocatedBytes", 1e6 },
        { "_power_usage_watts", "powerWatts", 1 },
        { "_power_usage_percentage", "powerPercent", 1 },
        { NULL },
    };
    const struct system_name *name = find_name(names, key);
    int index, n = 0;

    buf_str(b, "system.");
    if (!name && sscanf(key, "gpu_%d%n", &index, &n) == 1) {
        name = find_name(gpu, key + n);
        if (name)
            buf_printf(b, "gpu.%d.", index);
    }
    buf_str(b, name ? name->theirs : key);
    *value *= name ? name->scale : 1;
}

static void emit_head(struct emit *o, const struct run_info *r,
                      const struct row_point *i, int64_t ms, bool system)
{
    const double since = (double)(ms - r->start_ms) / 1000;

    if (system)
        emit_bool(o, "_wandb", true);
    else
        emit_int(o, "_step", i->step);
    emit_real(o, "_runtime", since > 0 ? since : 0);
    emit_real(o, "_timestamp", (double)ms / 1000);
}

static void emit_point(struct emit *o, const struct run_info *r,
                       const struct row_point *i, bool system)
{
    struct buf name = BUF_INIT;
    double value = i->value;

    if (i->medium) {
        emit_raw(o, i->medium->key, i->medium->json);
    } else if (system) {
        add_system_name(&name, r->metrics[i->key].key + 7, &value);
        emit_real(o, name.s, value);
    } else {
        emit_real(o, r->metrics[i->key].key, value);
    }
    buf_clear(&name);
}

/* The line of the n points from `i` on. */
static void add_line(struct wandb_rows *rows, const struct run_info *r,
                     const struct row_point *i, size_t n, bool system)
{
    struct emit o = { &rows->text, .reals = EMIT_BARE };
    int64_t ms = 0;

    for (size_t k = 0; k < n; k++)
        if (i[k].ms > ms)
            ms = i[k].ms;
    begin_line(rows, i->step);
    emit_object(&o, NULL);
    emit_head(&o, r, i, ms, system);
    for (size_t k = 0; k < n; k++)
        if (k + 1 == n || i[k + 1].key != i[k].key) { /* the last of several */
            emit_point(&o, r, &i[k], system);
            rows->n_points += !i[k].medium;
        }
    emit_object_end(&o);
    end_line(rows);
}

static void add_lines(struct wandb_rows *rows, const struct run_info *r,
                      struct row_points *all, bool system)
{
    size_t next;

    if (all->n)
        qsort(all->item, all->n, sizeof *all->item, by_order);
    for (size_t i = 0; i < all->n; i = next) {
        next = i + 1;
        while (next < all->n && same_line(&all->item[i], &all->item[next]))
            next++;
        if (next == all->n && r->status == RUN_RUNNING)
            break; /* more points may be added to it */
        add_line(rows, r, &all->item[i], next - i, system);
    }
}

int wandb_rows_history(struct wandb_rows *rows, const struct run_info *r,
                       const struct wandb_media *media, struct err *e)
{
    struct row_points all = { NULL, 0, 0 };
    const int ret = load_points(&all, r, false, e);

    if (ret == 0) {
        load_media(&all, r, media);
        add_lines(rows, r, &all, false);
    }
    free(all.item);
    return ret;
}

int wandb_rows_system(struct wandb_rows *rows, const struct run_info *r,
                      struct err *e)
{
    struct row_points all = { NULL, 0, 0 };
    const int ret = load_points(&all, r, true, e);

    if (ret == 0)
        add_lines(rows, r, &all, true);
    free(all.item);
    return ret;
}

int wandb_rows_console(struct wandb_rows *rows, const struct run_info *r,
                       const char *path, struct err *e)
{
    const int fd = path_open_inside(path, run_info_inside(r), e);
    FILE *fp = fd < 0 ? NULL : fdopen(fd, "r");
    const time_t secs = (time_t)(r->start_ms / 1000);
    char stamp[40], *line = NULL;
    size_t room = 0;
    struct tm tm;
    int ret = 0;
    ssize_t n;

    if (!fp)
        return -1;
    gmtime_r(&secs, &tm);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &tm);
    while ((n = getline(&line, &room, fp)) > 0) {
        if (line[n - 1] != '\n' && r->status == RUN_RUNNING)
            break;
        while (n && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            line[--n] = '\0';
        begin_line(rows, 0);
        buf_printf(&rows->text, "%s.%03d000 ", stamp,
                   (int)(r->start_ms % 1000));
        buf_str(&rows->text, line);
        end_line(rows);
    }
    if (ferror(fp))
        ret = err_sys(e, "cannot read %s", path);
    free(line);
    fclose(fp);
    return ret;
}

void wandb_rows_summary(struct buf *b, const struct run_info *r,
                        const struct wandb_rows *history,
                        const struct wandb_media *media)
{
    struct emit o = { b, .reals = EMIT_BARE };
    int64_t ms = r->start_ms;

    for (size_t j = 0; j < r->n_metrics; j++)
        if (!is_system(r->metrics[j].key) && r->metrics[j].last_ms > ms)
            ms = r->metrics[j].last_ms;
    for (size_t i = 0; i < media->n; i++)
        if (media->item[i].ms > ms)
            ms = media->item[i].ms;
    emit_object(&o, NULL);
    for (size_t j = 0; j < r->n_metrics; j++)
        if (!is_system(r->metrics[j].key))
            emit_real(&o, r->metrics[j].key, r->metrics[j].last);
    for (size_t i = 0; i < media->n; i++) {
        const struct wandb_medium *m = &media->item[i];

        if (i + 1 == media->n || strcmp(m[1].key, m->key) != 0)
            emit_raw(&o, m->key, m->json);
    }
    if (history->n)
        emit_int(&o, "_step", history->row[history->n - 1].step);
    emit_real(&o, "_timestamp", (double)ms / 1000);
    emit_int(&o, "_runtime", (ms - r->start_ms) / 1000);
    emit_object(&o, "_wandb");
    emit_int(&o, "runtime", (ms - r->start_ms) / 1000);
    emit_object_end(&o);
    emit_object_end(&o);
}
