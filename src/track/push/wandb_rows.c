#include "config.h"
#include "track/push/wandb_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/format/protobuf.h"
#include "common/output/table.h"

struct row_point {
    int64_t order, step, ms; /* order: the step or the time */
    uint32_t key, nth;
    double value;
};

struct row_points {
    struct row_point *item;
    size_t n, room;
};

void wandb_rows_clear(struct wandb_rows *r)
{
    buf_clear(&r->text);
    free(r->row);
    *r = (struct wandb_rows)WANDB_ROWS_INIT;
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

static void add_number(struct buf *b, double x)
{
    char text[NUM_TEXT];

    if (isnan(x)) {
        buf_str(b, "NaN");
    } else if (isinf(x)) {
        buf_str(b, x < 0 ? "-Infinity" : "Infinity");
    } else {
        num_shortest(text, x);
        buf_str(b, text);
    }
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
                                    s.value[i] };
        }
        series_free(&s);
    }
    if (all->n)
        qsort(all->item, all->n, sizeof *all->item, by_order);
    return 0;
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

static void add_head(struct wandb_rows *rows, const struct run_info *r,
                     const struct row_point *i, int64_t ms, bool system)
{
    const double since = (double)(ms - r->start_ms) / 1000;

    begin_line(rows, i->step);
    if (system)
        buf_str(&rows->text, "{\"_wandb\":true");
    else
        buf_printf(&rows->text, "{\"_step\":%" PRId64, i->step);
    buf_str(&rows->text, ",\"_runtime\":");
    add_number(&rows->text, since > 0 ? since : 0);
    buf_str(&rows->text, ",\"_timestamp\":");
    add_number(&rows->text, (double)ms / 1000);
}

int wandb_rows_load(struct wandb_rows *rows, const struct run_info *r,
                    bool system, struct err *e)
{
    struct row_points all = { NULL, 0, 0 };
    struct buf name = BUF_INIT;
    size_t next;

    if (load_points(&all, r, system, e) < 0) {
        free(all.item);
        return -1;
    }
    for (size_t i = 0; i < all.n; i = next) {
        int64_t ms = 0;

        for (next = i; next < all.n && same_line(&all.item[i], &all.item[next]);
             next++)
            if (all.item[next].ms > ms)
                ms = all.item[next].ms;
        if (next == all.n && r->status == RUN_RUNNING)
            break; /* more points may be added to it */
        add_head(rows, r, &all.item[i], ms, system);
        for (size_t k = i; k < next; k++) {
            const char *key = r->metrics[all.item[k].key].key;
            double value = all.item[k].value;

            if (k + 1 < next && all.item[k + 1].key == all.item[k].key)
                continue; /* only the last of several at a step */
            buf_trim(&name, 0);
            if (system)
                add_system_name(&name, key + 7, &value);
            else
                buf_str(&name, key);
            buf_char(&rows->text, ',');
            table_json_text(&rows->text, name.s);
            buf_char(&rows->text, ':');
            add_number(&rows->text, value);
            rows->n_points++;
        }
        buf_char(&rows->text, '}');
        end_line(rows);
    }
    buf_clear(&name);
    free(all.item);
    return 0;
}

int wandb_rows_console(struct wandb_rows *rows, const struct run_info *r,
                       const char *path, struct err *e)
{
    const int fd = path_open_inside(path, r->folder, e);
    FILE *fp = fd < 0 ? NULL : fdopen(fd, "r");
    const time_t secs = (time_t)(r->start_ms / 1000);
    char stamp[40], *line = NULL;
    size_t room = 0;
    struct tm tm;
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
    free(line);
    fclose(fp);
    return 0;
}

void wandb_rows_summary(struct buf *b, const struct run_info *r,
                        const struct wandb_rows *history)
{
    int64_t step = -1, ms = r->start_ms;

    for (size_t j = 0; j < r->n_metrics; j++)
        if (!is_system(r->metrics[j].key) && r->metrics[j].last_ms > ms)
            ms = r->metrics[j].last_ms;
    if (history->n)
        step = history->row[history->n - 1].step;
    buf_char(b, '{');
    for (size_t j = 0; j < r->n_metrics; j++) {
        if (is_system(r->metrics[j].key))
            continue;
        table_json_text(b, r->metrics[j].key);
        buf_char(b, ':');
        add_number(b, r->metrics[j].last);
        buf_char(b, ',');
    }
    if (step >= 0)
        buf_printf(b, "\"_step\":%" PRId64 ",", step);
    buf_str(b, "\"_timestamp\":");
    add_number(b, (double)ms / 1000);
    buf_printf(
        b, ",\"_runtime\":%" PRId64 ",\"_wandb\":{\"runtime\":%" PRId64 "}}",
        (ms - r->start_ms) / 1000, (ms - r->start_ms) / 1000);
}
