/*
 * wandb_lines - the lines of a run, to W&B
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/format/protobuf.h"
#include "common/log.h"
#include "common/output/emit.h"
#include "common/path.h"
#include "store/format/store.h"
#include "track/push/wandb_push.h"
#include "track/runs/track.h"

/* ---- points as lines ----------------------------------------------------- */

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

static int64_t count_points(const struct wandb_rows *r, int64_t n)
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

    return ORDER(x->order, y->order) ?: ORDER(x->step, y->step) ?:
           ORDER(x->key, y->key) ?: ORDER(x->nth, y->nth);
}

static bool same_line(const struct row_point *a, const struct row_point *b)
{
    return a->order == b->order && a->step == b->step;
}

static int load_points(struct row_points *all, const struct run_info *r,
                       bool system, struct err *e)
{
    for (size_t j = 0; j < r->n_metrics; j++) {
        AUTO(series_free) struct series s = { 0 };

        if (is_system(r->metrics[j].key) != system)
            continue;
        if (series_load(&s, r, r->metrics[j].key, 0, e) < 0)
            return -1;
        for (size_t i = 0; i < s.n; i++) {
            APPEND(all->item, all->n, all->room) =
                (struct row_point){ system ? s.ms[i] : s.step[i],
                                    s.step[i],
                                    s.ms[i],
                                    (uint32_t)j,
                                    (uint32_t)i,
                                    s.value[i],
                                    NULL };
        }
    }
    return 0;
}

/* Media come after the metrics of their step. */
static void load_media(struct row_points *all, const struct run_info *r,
                       const struct wandb_media *media)
{
    for (size_t i = 0; i < media->n; i++) {
        const struct wandb_medium *m = &media->item[i];

        APPEND(all->item, all->n, all->room) = (struct row_point){
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
    AUTO(buf_clear) struct buf name = BUF_INIT;
    double value = i->value;

    if (i->medium) {
        emit_raw(o, i->medium->key, i->medium->json);
    } else if (system) {
        add_system_name(&name, r->metrics[i->key].key + 7, &value);
        emit_real(o, name.s, value);
    } else {
        emit_real(o, r->metrics[i->key].key, value);
    }
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

static void make_lines(struct wandb_rows *rows, const struct run_info *r,
                       struct row_points *all, bool system)
{
    size_t next;

    SORT(all->item, all->n, by_order);
    for (size_t i = 0; i < all->n; i = next) {
        next = i + 1;
        while (next < all->n && same_line(&all->item[i], &all->item[next]))
            next++;
        if (next == all->n && r->status == RUN_RUNNING)
            break; /* more points may be added to it */
        add_line(rows, r, &all->item[i], next - i, system);
    }
}

/* The history with its media or, without any, the system metrics. */
static int read_points(struct wandb_rows *rows, const struct run_info *r,
                       const struct wandb_media *media, struct err *e)
{
    struct row_points all = { NULL, 0, 0 };
    const int ret = load_points(&all, r, !media, e);

    if (ret == 0 && media)
        load_media(&all, r, media);
    if (ret == 0)
        make_lines(rows, r, &all, !media);
    free(all.item);
    return ret;
}

static int read_console(struct wandb_rows *rows, const struct run_info *r,
                        const char *path, struct err *e)
{
    const int fd = path_open_inside(path, run_info_inside(r), e);
    AUTO(path_fclose) FILE *fp = fd < 0 ? NULL : fdopen(fd, "r");
    const time_t secs = (time_t)(r->start_ms / 1000);
    AUTO_FREE char *line = NULL;
    char stamp[40];
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
    return ferror(fp) ? err_sys(e, "cannot read %s", path) : 0;
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

/* ---- sending lines ------------------------------------------------------- */

enum { MAX_LINE = 10383360, DIGITS = 8 }; /* bytes; of a checksum */

int wandb_lines_read(struct wandb_push *p, struct err *e)
{
    AUTO_FREE char *output = run_facts_output(p->run);

    for (int i = 0; i < WANDB_STREAMS; i++)
        wandb_rows_clear(&p->rows[i]);
    if (wandb_media_load(&p->media, p->run, !p->conf->no_files, e) < 0 ||
        read_points(&p->rows[WANDB_HISTORY], p->run, &p->media, e) < 0 ||
        read_points(&p->rows[WANDB_EVENTS], p->run, NULL, e) < 0)
        return -1;
    return output ? read_console(&p->rows[WANDB_OUTPUT], p->run, output, e) : 0;
}

/* Save the checksums of the first n lines of history. */
static void set_checksums(struct wandb_push *p, size_t n)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;

    for (size_t i = 0; i < n && i < p->rows[WANDB_HISTORY].n; i++)
        buf_printf(&b, "%08x", p->rows[WANDB_HISTORY].row[i].sum);
    json_object_set_new(p->cursor, "sums", json_string(b.s));
}

size_t wandb_lines_sent(const struct wandb_push *p)
{
    return json_string_length(json_object_get(p->cursor, "sums")) / DIGITS;
}

/* The first of n lines that has changed since it was sent; n if none has. */
static size_t first_changed(const struct wandb_push *p, size_t n)
{
    const struct wandb_rows *history = &p->rows[WANDB_HISTORY];
    const char *sums = push_get(p->cursor, "sums");
    const size_t sent = wandb_lines_sent(p);

    for (size_t i = 0; i < n && i < sent && i < history->n; i++) {
        char now[16];

        snprintf(now, sizeof now, "%08x", history->row[i].sum);
        if (memcmp(now, sums + DIGITS * i, DIGITS) != 0)
            return i;
    }
    return n;
}

/* The server has the first lines of ours; is its last line of the same step? */
static int check_last_step(const struct wandb_push *p, struct err *e)
{
    const int64_t theirs = p->w.tail_step;
    const int64_t there = p->w.lines[WANDB_HISTORY];
    const int64_t ours = p->rows[WANDB_HISTORY].row[there - 1].step;

    if (theirs == INT64_MIN || theirs == ours)
        return 0;
    return err_set(e, ERR_REMOTE,
                   "line %" PRId64 " of the server is of step %" PRId64
                   ", but here of step %" PRId64 ": another program has "
                   "written to the run; use --new-run",
                   there, theirs, ours);
}

/*
 * The first line of history to send.  Usually the server has the first lines of
 * ours.  After a rewind, or when a late point has changed a line that was sent,
 * the server is asked to rewind to the line before.  If it cannot, and has no
 * more lines than we have, the changed lines are sent again in their places.
 */
static int find_start(struct wandb_push *p, int64_t *from, struct err *e)
{
    const struct wandb_rows *history = &p->rows[WANDB_HISTORY];
    const size_t there = (size_t)p->w.lines[WANDB_HISTORY];
    const size_t same = first_changed(p, there);
    const size_t keep = same < history->n ? same : history->n;
    struct err why = { 0 };
    int64_t lines;

    *from = (int64_t)there;
    if (there == 0)
        return 0;
    if (same == there && there <= history->n)
        return check_last_step(p, e);
    if (there == history->n + 1 && p->run->status == RUN_RUNNING &&
        same >= history->n)
        return 0; /* the last line, which is held back, was sent before */
    if (keep > 0 &&
        wandb_rewind(&p->w, history->row[keep - 1].step, &lines, &why) == 0 &&
        lines == (int64_t)keep) {
        *from = lines;
        return 0;
    }
    if (why.kind == ERR_INTERRUPTED) {
        *e = why;
        return -1;
    }
    *from = (int64_t)keep;
    if (there <= history->n)
        return 0;
    return err_set(e, ERR_REMOTE,
                   "the server has %zu lines of history, but the run has %zu, "
                   "and the server cannot rewind it; use --new-run",
                   there, history->n);
}

/* Lines after ours do no harm, but they are in the way of later lines of the
 * run.  The last line of a running run is held back. */
static void warn_of_others(const struct wandb_push *p)
{
    static const char *const words[] = {
        [WANDB_EVENTS] = "system metrics", [WANDB_OUTPUT] = "output"
    };
    const size_t held = p->run->status == RUN_RUNNING;

    for (int i = WANDB_EVENTS; i < WANDB_STREAMS; i++)
        if (p->w.lines[i] > (int64_t)(p->rows[i].n + held))
            log_warn("%s: the server has %" PRId64 " lines of %s, but the run "
                     "has %zu: another program has written to it, and lines "
                     "may be missing there; use --new-run",
                     p->run->name, p->w.lines[i], words[i], p->rows[i].n);
}

/* The length of a line as a JSON string in an array. */
static size_t json_size(const char *line)
{
    size_t n = strlen("\"\",");

    for (; *line; line++)
        n += (unsigned char)*line < ' '      ? strlen("\\u0000")
             : *line == '"' || *line == '\\' ? 2
                                             : 1;
    return n;
}

/* Add lines of a file to a request from *at on, while the request is not larger
 * than `most`; the first line fits always. */
static void add_lines(json_t *files, const char *name,
                      const struct wandb_rows *r, int64_t *at, size_t *size,
                      size_t most)
{
    const int64_t begin = *at;
    json_t *content;

    if (begin >= (int64_t)r->n || *size > most)
        return;
    content = json_array();
    for (; *at < (int64_t)r->n; ++*at) {
        const char *line = r->text.s + r->row[*at].at;
        const size_t n = json_size(line);

        if (*at > begin && *size + n > most)
            break;
        *size += n;
        if (strlen(line) <= MAX_LINE) {
            json_array_append_new(content, push_text(line));
        } else {
            log_warn("line %" PRId64 " of %s is too long for W&B", *at, name);
            json_array_append_new(content, json_string("{}"));
        }
    }
    json_object_set_new(files, name,
                        json_pack("{s:I, s:o}", "offset", (json_int_t)begin,
                                  "content", content));
}

/* Count what a request has sent: the lines from sent[] up to now[]. */
static void add_progress(struct wandb_push *p, int64_t *sent,
                         const int64_t *now)
{
    for (int i = 0; i < WANDB_STREAMS; i++) {
        p->totals->lines += now[i] - sent[i];
        p->totals->points += count_points(&p->rows[i], now[i]) -
                             count_points(&p->rows[i], sent[i]);
        p->w.lines[i] = sent[i] = now[i];
    }
    p->w.tail_step = INT64_MIN; /* it was compared before */
}

/* Send one request, as large as allowed, with lines from sent[] on; *more says
 * whether another follows. */
static int send_request(struct wandb_push *p, int64_t *sent,
                        const char *summary, bool *more, struct err *e)
{
    static const char *const names[] = { [WANDB_HISTORY] =
                                             "wandb-history.jsonl",
                                         [WANDB_EVENTS] = "wandb-events.jsonl",
                                         [WANDB_OUTPUT] = "output.log" };
    int64_t now[WANDB_STREAMS];
    json_t *files = json_object();
    char hash[33];
    size_t size = 0;
    bool last;

    *more = false;
    for (int i = 0; i < WANDB_STREAMS; i++) {
        now[i] = sent[i];
        add_lines(files, names[i], &p->rows[i], &now[i], &size,
                  (size_t)p->conf->request);
        *more = *more || now[i] < (int64_t)p->rows[i].n;
    }
    md5_hex(summary, strlen(summary), hash);
    last = !*more &&
           (json_object_size(files) || !push_is(p->cursor, "summary", hash));
    if (last)
        json_object_set_new(files, "wandb-summary.json",
                            json_pack("{s:i, s:[o]}", "offset", 0, "content",
                                      push_text(summary)));
    if (json_object_size(files) == 0) {
        json_decref(files);
        return 0;
    }
    if (wandb_push_stream(p, json_pack("{s:o}", "files", files), e) < 0)
        return -1;
    add_progress(p, sent, now);
    set_checksums(p, (size_t)now[WANDB_HISTORY]);
    if (last)
        json_object_set_new(p->cursor, "summary", json_string(hash));
    json_object_del(p->cursor, "complete");
    return wandb_push_save_cursor(p, e);
}

int wandb_lines_send(struct wandb_push *p, struct err *e)
{
    int64_t sent[WANDB_STREAMS];
    AUTO(buf_clear) struct buf summary = BUF_INIT;
    bool more = true;
    int ret;

    memcpy(sent, p->w.lines, sizeof sent);
    warn_of_others(p);
    ret = find_start(p, &sent[WANDB_HISTORY], e);
    wandb_rows_summary(&summary, p->run, &p->rows[WANDB_HISTORY], &p->media);
    while (ret == 0 && more)
        ret = send_request(p, sent, summary.s, &more, e);
    return ret;
}
