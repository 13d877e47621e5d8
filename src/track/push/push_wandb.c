#include "config.h"
#include "track/push/push.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/sig.h"
#include "common/utf8.h"
#include "store/attempt.h"
#include "store/md5.h"
#include "track/push/wandb.h"
#include "track/push/wandb_rows.h"
#include "track/runs/file_tree.h"
#include "track/runs/track.h"

enum { LINE_MAX = 10383360 }; /* bytes of a line W&B takes */

struct push {
    const struct push_conf *conf;
    struct wandb w;
    struct runs runs; /* the one run, as it was last read */
    const struct run_info *run;
    struct rows history, events, console;
    struct push_totals *sum;
    char *destination;
    json_t *cursor;
    struct buf uploaded; /* names for the next request, as JSON */
};

/* ---- what is said of the run ---- */

static json_t *variables_of(const struct push *p, const char *config)
{
    const struct run_info *r = p->run;
    const char *group =
        p->conf->group ? p->conf->group : wandb_tag(r, "wandb.group");
    json_t *v = json_pack("{s:s?, s:s, s:s, s:s?, s:s}", "id", p->w.storage_id,
                          "name", p->w.run, "project", p->w.project, "entity",
                          p->w.entity, "config", config);
    static const char *const unused[] = { "description", "debug",
                                          "state",       "summaryMetrics",
                                          "sweep",       "jobType",
                                          "tags" };

    json_object_set_new(v, "displayName", wandb_text(r->name));
    json_object_set_new(v, "groupName", wandb_text(group ? group : r->parent));
    json_object_set_new(v, "notes",
                        wandb_text(wandb_tag(r, "mlflow.note.content")));
    json_object_set_new(v, "commit",
                        wandb_text(wandb_tag(r, "mlflow.source.git.commit")));
    json_object_set_new(v, "repo",
                        wandb_text(wandb_tag(r, "mlflow.source.git.repoURL")));
    json_object_set_new(v, "host",
                        wandb_text(r->attempt ? r->attempt->host : NULL));
    json_object_set_new(v, "program",
                        wandb_text(wandb_tag(r, "mlflow.source.name")));
    for (size_t i = 0; i < sizeof unused / sizeof unused[0]; i++)
        json_object_set_new(v, unused[i], json_null());
    return v;
}

static void md5_of(json_t *value, char out[33])
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);

    md5_hex(text, strlen(text), out);
    free(text);
}

static bool same_text(json_t *cursor, const char *key, const char *value)
{
    const char *was = json_string_value(json_object_get(cursor, key));

    return was && strcmp(was, value) == 0;
}

/* Only when something is new: other writers may have changed what they may. */
static int upsert(struct push *p, struct err *e)
{
    json_t *config = wandb_config(p->run), *v;
    char *text = json_dumps(config, JSON_COMPACT | JSON_REAL_PRECISION(17));
    char hash[33];
    int ret = 0;

    v = variables_of(p, text);
    json_object_del(v, "id");
    json_object_del(v, "entity"); /* as the server spells it from now on */
    md5_of(v, hash);
    json_object_set_new(v, "entity",
                        p->w.entity ? json_string(p->w.entity) : json_null());
    json_object_set_new(
        v, "id", p->w.storage_id ? json_string(p->w.storage_id) : json_null());
    if (p->w.storage_id && same_text(p->cursor, "said", hash)) {
        json_decref(v);
    } else {
        ret = wandb_upsert(&p->w, v, e);
        if (ret == 0)
            json_object_set_new(p->cursor, "said", json_string(hash));
    }
    free(text);
    json_decref(config);
    return ret;
}

/* ---- lines ---- */

static int read_rows(struct push *p, struct err *e)
{
    char *console = track_output_path(p->run);
    int ret;

    rows_clear(&p->history);
    rows_clear(&p->events);
    rows_clear(&p->console);
    ret = rows_history(&p->history, p->run, e);
    if (ret == 0)
        ret = rows_system(&p->events, p->run, e);
    if (ret == 0 && console)
        ret = rows_console(&p->console, p->run, console, e);
    free(console);
    return ret;
}

/* The sums of the lines that were sent, eight hexadecimal digits each. */
static void note_sums(struct push *p, size_t n)
{
    struct buf b = BUF_INIT;

    for (size_t i = 0; i < n; i++)
        buf_printf(&b, "%08x", p->history.sum[i]);
    json_object_set_new(p->cursor, "sums", json_string(b.s));
    buf_clear(&b);
}

/* The first of n lines that is another than when it was sent; n if none is. */
static size_t first_changed(const struct push *p, size_t n)
{
    const char *sums = json_string_value(json_object_get(p->cursor, "sums"));
    const size_t known = sums ? strlen(sums) / 8 : 0;

    for (size_t i = 0; i < n && i < known && i < p->history.n; i++) {
        char now[16];

        snprintf(now, sizeof now, "%08x", p->history.sum[i]);
        if (memcmp(now, sums + 8 * i, 8) != 0)
            return i;
    }
    return n;
}

/*
 * Where to go on.  Usually the server has the first lines of ours.  After a
 * rewind, or when a point came late to a step that was sent, lines differ from
 * some place on: the server is asked to rewind to it, or if it cannot, and we
 * have as many lines as it has, they are sent again in their places.
 */
static int find_start(struct push *p, int64_t *from, struct err *e)
{
    const size_t there = (size_t)p->w.history;
    const size_t same = first_changed(p, there);
    const size_t keep = same < p->history.n ? same : p->history.n;
    struct err why = ERR_INIT;
    int64_t lines;

    *from = p->w.history;
    if (there == 0)
        return 0;
    if (same == there && there <= p->history.n) {
        if (p->w.tail_step != INT64_MIN &&
            p->w.tail_step != p->history.step[there - 1])
            return err_set(e, ERR_REMOTE,
                           "the server's line %zu is of step %" PRId64
                           ", ours of step %" PRId64 ": someone else "
                           "wrote to that run; push with --new-run",
                           there, p->w.tail_step, p->history.step[there - 1]);
        return 0;
    }
    if (there == p->history.n + 1 && p->run->status == RUN_RUNNING &&
        same >= p->history.n)
        return 0; /* the line that is kept back was sent before it resumed */
    if (keep > 0 &&
        wandb_rewind(&p->w, p->history.step[keep - 1], &lines, &why) == 0 &&
        lines == (int64_t)keep) {
        *from = lines;
        return 0;
    }
    if (why.kind == ERR_INTERRUPTED) {
        *e = why;
        return -1;
    }
    *from = (int64_t)keep;
    if (there <= p->history.n)
        return 0;
    return err_set(e, ERR_REMOTE,
                   "the server has %zu lines of history, the "
                   "run now has %zu, and the server cannot rewind; push with "
                   "--new-run",
                   there, p->history.n);
}

/* Lines of one file from *at on, as many as fit; false if there are none. */
static bool put_lines(struct buf *b, const char *name, const struct rows *r,
                      int64_t *at, size_t most, bool first)
{
    const int64_t begin = *at;

    if (begin >= (int64_t)r->n || b->len > most)
        return false;
    buf_printf(b, "%s\"%s\":{\"offset\":%" PRId64 ",\"content\":[",
               first ? "" : ",", name, begin);
    for (; *at < (int64_t)r->n; ++*at) {
        const char *line = rows_line(r, (size_t)*at);
        const size_t len = strlen(line);

        if (*at > begin && b->len + len > most)
            break;
        buf_str(b, *at > begin ? "," : "");
        if (len > LINE_MAX) {
            log_warn("line %" PRId64 " of %s is too long for W&B", *at, name);
            buf_str(b, "\"{}\"");
        } else {
            table_json_text(b, line);
        }
    }
    buf_str(b, "]}");
    return true;
}

static int save_cursor(struct push *p, struct err *e)
{
    json_object_set_new(p->cursor, "run_id", json_string(p->w.run));
    json_object_set_new(p->cursor, "entity", json_string(p->w.entity));
    json_object_set_new(p->cursor, "project", json_string(p->w.project));
    if (p->w.storage_id)
        json_object_set_new(p->cursor, "storage_id",
                            json_string(p->w.storage_id));
    return cursor_save(p->run, p->destination, p->cursor, e);
}

static void put_uploaded(struct push *p, struct buf *body)
{
    if (p->uploaded.len == 0)
        return;
    buf_printf(body, ",\"uploaded\":[%s]", p->uploaded.s);
    buf_trim(&p->uploaded, 0);
}

/* All lines the server lacks, one request after the other. */
static int send_lines(struct push *p, struct err *e)
{
    struct rows summary = ROWS_INIT;
    struct buf body = BUF_INIT, text = BUF_INIT;
    const size_t most = (size_t)p->conf->request;
    int64_t history, events = p->w.events, log = p->w.log;
    char hash[33];
    int ret = find_start(p, &history, e);
    bool more;

    rows_summary(&text, p->run, &p->history);
    md5_hex(text.s, text.len, hash);
    do {
        const int64_t was = history + events + log;
        const int64_t had =
            rows_points(&p->history, history) + rows_points(&p->events, events);
        bool any, done;

        if (ret < 0)
            break;
        buf_trim(&body, 0);
        buf_str(&body, "{\"files\":{");
        any = put_lines(&body, "wandb-history.jsonl", &p->history, &history,
                        most, true);
        any |= put_lines(&body, "wandb-events.jsonl", &p->events, &events, most,
                         !any);
        any |= put_lines(&body, "output.log", &p->console, &log, most, !any);
        more = history < (int64_t)p->history.n ||
               events < (int64_t)p->events.n || log < (int64_t)p->console.n;
        done = !more && (any || !same_text(p->cursor, "summary", hash));
        if (done) {
            buf_printf(&body,
                       "%s\"wandb-summary.json\":{\"offset\":0,"
                       "\"content\":[",
                       any ? "," : "");
            table_json_text(&body, text.s);
            buf_str(&body, "]}");
        }
        if (!any && !done)
            break;
        buf_char(&body, '}');
        put_uploaded(p, &body);
        buf_char(&body, '}');
        ret = wandb_stream(&p->w, body.s, e);
        if (ret < 0)
            break;
        p->sum->lines += history + events + log - was;
        p->sum->points += rows_points(&p->history, history) +
                          rows_points(&p->events, events) - had;
        p->sum->bytes += (int64_t)body.len;
        p->w.history = history;
        p->w.events = events;
        p->w.log = log;
        p->w.tail_step = INT64_MIN; /* it was compared before */
        note_sums(p, (size_t)history);
        if (done)
            json_object_set_new(p->cursor, "summary", json_string(hash));
        json_object_del(p->cursor, "complete");
        ret = save_cursor(p, e);
    } while (ret == 0 && more);
    rows_clear(&summary);
    buf_clear(&body);
    buf_clear(&text);
    return ret;
}

/* ---- files ---- */

struct outgoing {
    struct wandb_file *file;
    char (*md5)[33];
    size_t n, room, room_md5;
};

static void want_file(struct push *p, struct outgoing *out, const char *name,
                      const char *path, const char *text, struct arena *mem)
{
    enum { MOST = 1 << 30 };
    json_t *files = json_object_get(p->cursor, "files");
    struct buf b = BUF_INIT;
    struct err none = ERR_INIT;
    char hash[33];

    if (path && buf_read_file(&b, path, MOST, &none) < 0) {
        log_warn("%s", none.text);
        return;
    }
    md5_hex(path ? b.s : text, path ? b.len : strlen(text), hash);
    p->sum->bytes += (int64_t)b.len;
    buf_clear(&b);
    if (same_text(files, name, hash))
        return;
    GROW(out->file, out->n, out->room);
    if (out->room != out->room_md5) {
        out->room_md5 = out->room;
        out->md5 = xrealloc(out->md5, out->room, sizeof *out->md5);
    }
    memcpy(out->md5[out->n], hash, sizeof hash);
    out->file[out->n++] = (struct wandb_file){
        arena_strdup(mem, name),
        path ? arena_strdup(mem, path) : NULL,
        text ? arena_strdup(mem, text) : NULL,
        false,
    };
}

/* Those of the run that are new; checkpoints only where they are asked for. */
static void gather_files(struct push *p, struct outgoing *out,
                         struct arena *mem)
{
    struct file_tree f;
    struct err none = ERR_INIT;
    json_t *config = wandb_config(p->run);
    /* YAML's newest version has all of JSON in it */
    char *yaml = json_dumps(config, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    char *metadata = wandb_metadata(p->run);
    struct buf summary = BUF_INIT;

    rows_summary(&summary, p->run, &p->history);
    want_file(p, out, "wandb-metadata.json", NULL, metadata, mem);
    want_file(p, out, "config.yaml", NULL, yaml, mem);
    want_file(p, out, "wandb-summary.json", NULL, summary.s, mem);
    if (!p->conf->no_files &&
        file_tree_list(&f, p->run->artifacts, &none) == 0) {
        for (size_t i = 0; i < f.n; i++) {
            char *path = path_join(p->run->artifacts, f.file[i].path);

            if (!push_is_checkpoint(f.file[i].path, f.file[i].size))
                want_file(p, out, f.file[i].path, path, NULL, mem);
            free(path);
        }
        file_tree_clear(&f);
    }
    buf_clear(&summary);
    free(metadata);
    free(yaml);
    json_decref(config);
}

/* Checkpoints are an artifact of their own, whose versions W&B keeps. */
static int send_checkpoints(struct push *p, struct err *e)
{
    struct arena mem = ARENA_INIT;
    struct wandb_file *file = NULL;
    size_t n = 0, room = 0;
    struct file_tree f;
    struct buf state = BUF_INIT;
    char *name = xasprintf("run-%s-checkpoints", p->w.run);
    int ret = file_tree_list(&f, p->run->artifacts, e);

    for (size_t i = 0; ret == 0 && i < f.n; i++) {
        const struct file_tree_file *x = &f.file[i];

        if (!push_is_checkpoint(x->path, x->size))
            continue;
        GROW(file, n, room);
        file[n++] = (struct wandb_file){
            .name = x->path,
            .path = arena_printf(&mem, "%s/%s", p->run->artifacts, x->path),
        };
        buf_printf(&state, "%s %" PRId64 " %" PRId64 "\n", x->path, x->size,
                   x->mtime_ms);
    }
    if (ret == 0 && n && !same_text(p->cursor, "checkpoints", state.s)) {
        ret = wandb_artifact(&p->w, "model", name, file, n, e);
        if (ret == 0) {
            json_object_set_new(p->cursor, "checkpoints", json_string(state.s));
            p->sum->files += (int64_t)n;
        }
    }
    arena_clear(&mem);
    free(file);
    free(name);
    buf_clear(&state);
    file_tree_clear(&f);
    return ret;
}

static int send_files(struct push *p, struct err *e)
{
    struct arena mem = ARENA_INIT;
    struct outgoing out = { NULL, NULL, 0, 0, 0 };
    json_t *files = json_object_get(p->cursor, "files");
    int ret = 0;

    gather_files(p, &out, &mem);
    if (!files) {
        files = json_object();
        json_object_set_new(p->cursor, "files", files);
    }
    if (out.n)
        ret = wandb_files(&p->w, out.file, out.n, e);
    for (size_t i = 0; i < out.n; i++) {
        if (!out.file[i].sent)
            continue;
        json_object_set_new(files, out.file[i].name, json_string(out.md5[i]));
        buf_str(&p->uploaded, p->uploaded.len ? "," : "");
        table_json_text(&p->uploaded, out.file[i].name);
        p->sum->files++;
    }
    free(out.file);
    free(out.md5);
    arena_clear(&mem);
    if (ret == 0 && p->conf->artifacts)
        ret = send_checkpoints(p, e);
    return ret;
}

/* ---- the end ---- */

static int finish(struct push *p, struct err *e)
{
    struct buf body = BUF_INIT;
    char state[64];
    int ret = 0;

    if (p->run->status == RUN_PREEMPTED)
        snprintf(state, sizeof state, "\"preempting\":true");
    else
        snprintf(state, sizeof state, "\"complete\":true,\"exitcode\":%d",
                 wandb_exit_code(p->run));
    if (!same_text(p->cursor, "complete", state) || p->uploaded.len) {
        buf_printf(&body, "{%s", state);
        put_uploaded(p, &body);
        buf_char(&body, '}');
        ret = wandb_stream(&p->w, body.s, e);
        json_object_set_new(p->cursor, "complete", json_string(state));
        if (ret == 0)
            ret = save_cursor(p, e);
    }
    buf_clear(&body);
    return ret;
}

/* Everything there is now. */
static int send_all(struct push *p, struct err *e)
{
    const bool ended = p->run->status != RUN_RUNNING;
    struct err files = ERR_INIT;
    int failed = 0;

    if (read_rows(p, e) < 0 || upsert(p, e) < 0)
        return -1;
    if (ended && (failed = send_files(p, &files)) < 0 &&
        files.kind == ERR_INTERRUPTED) {
        *e = files;
        return -1;
    }
    /* a file that was refused keeps nothing else from being sent */
    if (send_lines(p, e) < 0 || (ended && finish(p, e) < 0) ||
        save_cursor(p, e) < 0)
        return -1;
    if (failed < 0)
        *e = files;
    return failed;
}

/* A running run is looked at again and again until it ends; a heartbeat tells
 * the server that it lives. */
static int follow(struct push *p, struct err *e)
{
    double idle = 0;

    while (p->run->status == RUN_RUNNING) {
        const int64_t before = p->sum->lines;

        if (p->w.stopped) {
            log_warn("%s: someone pressed Stop on its page", p->run->name);
            p->w.stopped = false;
        }
        if (!push_pause(p->conf->every))
            return err_set(e, ERR_INTERRUPTED, "stopped by a signal");
        idle += p->conf->every;
        if (push_reload(&p->runs, p->run->id, e) < 0)
            return -1;
        p->run = &p->runs.run[0];
        if (send_all(p, e) < 0)
            return -1;
        if (p->sum->lines != before)
            idle = 0;
        if (idle >= 30 && p->run->status == RUN_RUNNING) {
            idle = 0;
            if (wandb_stream(&p->w, "{}", e) < 0)
                return -1;
        }
    }
    return 0;
}

/* Letters a project's name may have; MLflow's experiments may have others. */
static char *project_name(const struct push_conf *c, const struct push_login *l,
                          const struct run_info *r)
{
    const char *from = c->project                              ? c->project
                       : l->project                            ? l->project
                       : strcmp(r->experiment, "Default") == 0 ? "uncategorized"
                                                               : r->experiment;
    char *name = xstrdup(from);

    for (char *s = name; *s; s++)
        if (strchr("/\\#?%:", *s))
            *s = '_';
    if (strlen(name) > 128)
        name[128] = '\0';
    return name;
}

static int dry_run(struct push *p, struct err *e)
{
    const char *sums = json_string_value(json_object_get(p->cursor, "sums"));
    struct arena mem = ARENA_INIT;
    struct outgoing out = { NULL, NULL, 0, 0, 0 };

    if (read_rows(p, e) < 0)
        return -1;
    gather_files(p, &out, &mem);
    printf("%s: would send to %s, project %s, run %s: %zu lines of history "
           "(%zu were sent), %zu of system metrics, %zu of output, %zu "
           "files\n",
           p->run->name, p->w.login.url, p->w.project, p->w.run, p->history.n,
           sums ? strlen(sums) / 8 : 0, p->events.n, p->console.n, out.n);
    free(out.file);
    free(out.md5);
    arena_clear(&mem);
    return 0;
}

/* The id there is our id; a new run's has a number after it. */
static char *run_name_there(const struct push *p)
{
    const char *was = json_string_value(json_object_get(p->cursor, "run_id"));
    int64_t tries = json_integer_value(json_object_get(p->cursor, "new_runs"));

    if (!p->conf->new_run)
        return xstrdup(was ? was : p->run->id);
    tries++;
    json_object_clear(p->cursor);
    json_object_set_new(p->cursor, "new_runs", json_integer(tries));
    return xasprintf("%s-%" PRId64, p->run->id, tries + 1);
}

static void push_clear(struct push *p)
{
    rows_clear(&p->history);
    rows_clear(&p->events);
    rows_clear(&p->console);
    buf_clear(&p->uploaded);
    json_decref(p->cursor);
    free(p->destination);
    http_close(p->w.http);
    login_clear(&p->w.login);
    free(p->w.entity);
    free(p->w.project);
    free(p->w.run);
    free(p->w.storage_id);
    runs_free(&p->runs);
}

int push_wandb(const struct push_conf *c, const struct run_info *r,
               struct push_totals *sum, struct err *e)
{
    struct push p = { .conf = c,
                      .run = r,
                      .sum = sum,
                      .runs = RUNS_INIT,
                      .history = ROWS_INIT,
                      .events = ROWS_INIT,
                      .console = ROWS_INIT,
                      .uploaded = BUF_INIT };
    const char *entity;
    char *page;
    int ret = -1;

    if (login_wandb(&p.w.login, c->url, e) < 0)
        return -1;
    entity = c->entity ? c->entity : p.w.login.entity;
    p.w.entity = entity ? xstrdup(entity) : NULL;
    p.w.project = project_name(c, &p.w.login, r);
    p.destination = xasprintf("wandb %s %s/%s", p.w.login.url,
                              entity ? entity : "", p.w.project);
    p.cursor = cursor_load(r, p.destination);
    p.w.run = run_name_there(&p);
    p.w.http = push_open(c, &p.w.login, e);
    if (!p.w.http)
        goto out;
    if (c->dry) {
        ret = dry_run(&p, e);
        goto out;
    }
    p.w.part = c->part;
    if (p.w.login.password)
        ret = wandb_status(&p.w, e);
    else
        err_set(e, ERR_REMOTE,
                "no key for %s: set WANDB_API_KEY, or put it into ~/.netrc as "
                "'wandb login' does",
                p.w.login.url);
    if (ret == 0)
        ret = send_all(&p, e);
    if (ret == 0 && c->follow)
        ret = follow(&p, e);
    if (p.w.entity && (ret == 0 || p.w.storage_id)) {
        page = wandb_page(&p.w);
        printf("%s\t%s\n", r->name, page);
        free(page);
    }
    if (ret == 0 && p.run->status == RUN_RUNNING)
        log_info("%s is running: without --follow its page will say that it "
                 "crashed, until it is pushed again",
                 r->name);

out:
    push_clear(&p);
    return ret;
}
