/*
 * answer_files - the output of a run as it grows, its artifacts and its media
 */
#include "config.h"

#include <sys/stat.h>
#include <unistd.h>

#include "common/num.h"
#include "common/output/pager.h"
#include "common/path.h"
#include "track/runs/file_tree.h"
#include "track/runs/track.h"
#include "track/serve/answer.h"
#include "track/serve/site.h"

/* -- the log --------------------------------------------------------------- */

static void write_log(struct emit *o, int fd, int64_t from, int64_t size)
{
    enum { PART = 256 << 10 };
    AUTO_FREE char *text = xmalloc(PART + 1);
    const ssize_t got = pread(fd, text, PART, (off_t)from);
    const size_t n = pager_whole(text, got < 0 ? 0 : (size_t)got);

    text[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    emit_text(o, "text", text);
    emit_int(o, "next", from + (int64_t)n);
    emit_int(o, "size", size);
}

/* The byte from which the log is wanted; else the last part of it. */
static int first_byte(const struct query *q, int64_t size, int64_t *from,
                      struct err *e)
{
    enum { TAIL = 64 << 10 };
    const char *text = query_get(q, "from");
    int tail;

    if (query_number(q, "tail", TAIL, TAIL, &tail, e) < 0)
        return -1;
    if (!text || !num_int(text, from) || *from < 0)
        *from = size > tail ? size - tail : 0;
    if (*from > size)
        *from = size;
    return 0;
}

int answer_log(struct site *s, struct query *q, struct answer *a, struct err *e)
{
    const struct run_info *r = site_run(s, q, "id", e);
    AUTO_FREE char *path = r ? run_facts_output(r) : NULL;
    AUTO(path_close)
    const int fd = path ? path_open_inside(path, run_info_inside(r), e) : -1;
    struct stat st = { 0 };
    const bool is_lost = path && fd < 0;
    int64_t from = 0;

    if (is_lost && e->kind == ERR_INPUT)
        a->status = 403; /* a link that is not followed */
    if (!r || is_lost)
        return -1;
    if (fd >= 0 &&
        (fstat(fd, &st) < 0 || first_byte(q, st.st_size, &from, e) < 0))
        return -1;
    if (fd >= 0)
        write_log(&a->out, fd, from, st.st_size);
    else
        emit_text(&a->out, "text", ""), emit_int(&a->out, "next", 0);
    return 0;
}

/* -- artifacts ------------------------------------------------------------- */

int answer_artifact(struct site *s, struct query *q, struct answer *a,
                    struct err *e)
{
    const struct run_info *r = site_run(s, q, "id", e);
    const char *name = query_get(q, "path");
    const struct file_kind *kind;
    struct stat st;
    AUTO_FREE char *path = NULL;

    if (!r)
        return -1;
    if (!name || !path_stays_below(name)) {
        a->status = 403;
        return err_usage(e,
                         "path expects the path of an artifact below the run");
    }
    path = path_join(r->artifacts, name);
    a->fd = path_open_inside(path, run_info_inside(r), e);
    if (a->fd < 0) {
        a->status = e->kind == ERR_INPUT ? 403 : 0;
        return -1;
    }
    if (fstat(a->fd, &st) < 0)
        return err_sys(e, "cannot read %s", name);
    kind = file_kind_of(name);
    a->size = (uint64_t)st.st_size;
    a->type = kind->type;
    a->sandbox = kind->sandbox;
    a->file = xstrdup(path_name(name));
    return 0;
}

/* -- pictures, sounds, films and tables that runs kept by step ------------- */

/* Write the media of a run, *room at most. */
static int write_run(struct emit *o, const struct run_info *r, size_t *room,
                     struct err *e)
{
    AUTO(file_tree_clear) struct file_tree files = { 0 };
    AUTO(arena_clear) struct arena mem = { 0 };
    struct media_file m;

    if (file_tree_list(&files, r->artifacts, run_info_inside(r), e) < 0)
        return -1;
    for (size_t i = 0; i < files.n && *room; i++) {
        if (!media_file_parse(&m, &files.file[i], &mem))
            continue;
        emit_object(o, NULL);
        emit_text(o, "kind", media_folders[m.kind]);
        emit_text(o, "key", m.key);
        emit_text(o, "run", r->id);
        emit_int(o, "step", m.step);
        emit_int(o, "number", m.number);
        emit_text(o, "path", m.path);
        emit_int(o, "bytes", m.size);
        emit_text(o, "type", file_kind_of(m.path)->name);
        emit_text(o, "caption", media_file_caption(&m, r, &mem));
        emit_object_end(o);
        (*room)--;
    }
    return 0;
}

int answer_media(struct site *s, struct query *q, struct answer *a,
                 struct err *e)
{
    struct emit *const o = &a->out;
    AUTO(chosen_close) struct chosen chosen = { 0 };
    size_t room = 5000;
    int ret = 0;

    if (chosen_open(&chosen, s, q, e) < 0)
        return -1;
    emit_array(o, "media");
    for (size_t i = 0; i < chosen.runs.n && ret == 0; i++)
        ret = write_run(o, &chosen.runs.run[i], &room, e);
    emit_array_end(o);
    emit_bool(o, "whole", room > 0);
    return ret;
}
