/*
 * wandb_lines - the lines of a run, to W&B
 */
#include "config.h"
#include "track/push/wandb_push.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "store/format/md5.h"
#include "track/runs/run_facts.h"

enum { MAX_LINE = 10383360, DIGITS = 8 }; /* bytes; of a checksum */

int wandb_lines_read(struct wandb_push *p, struct err *e)
{
    char *output = run_facts_output(p->run);
    int ret;

    for (int i = 0; i < WANDB_STREAMS; i++)
        wandb_rows_clear(&p->rows[i]);
    ret = wandb_media_load(&p->media, p->run, !p->conf->no_files, e);
    if (ret == 0)
        ret = wandb_rows_history(&p->rows[WANDB_HISTORY], p->run, &p->media, e);
    if (ret == 0)
        ret = wandb_rows_system(&p->rows[WANDB_EVENTS], p->run, e);
    if (ret == 0 && output)
        ret = wandb_rows_console(&p->rows[WANDB_OUTPUT], p->run, output, e);
    free(output);
    return ret;
}

/* Save the checksums of the first n lines of history. */
static void set_checksums(struct wandb_push *p, size_t n)
{
    struct buf b = BUF_INIT;

    for (size_t i = 0; i < n && i < p->rows[WANDB_HISTORY].n; i++)
        buf_printf(&b, "%08x", p->rows[WANDB_HISTORY].row[i].sum);
    json_object_set_new(p->cursor, "sums", json_string(b.s));
    buf_clear(&b);
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
        const char *line = wandb_rows_line(r, (size_t)*at);
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
        p->totals->points += wandb_rows_points(&p->rows[i], now[i]) -
                             wandb_rows_points(&p->rows[i], sent[i]);
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
    struct buf summary = BUF_INIT;
    bool more = true;
    int ret;

    memcpy(sent, p->w.lines, sizeof sent);
    warn_of_others(p);
    ret = find_start(p, &sent[WANDB_HISTORY], e);
    wandb_rows_summary(&summary, p->run, &p->rows[WANDB_HISTORY], &p->media);
    while (ret == 0 && more)
        ret = send_request(p, sent, summary.s, &more, e);
    buf_clear(&summary);
    return ret;
}
