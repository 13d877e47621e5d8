/*
 * wandb_files - the files of a run, to W&B
 */
#include "config.h"
#include "track/push/wandb_push.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "store/format/md5.h"
#include "track/runs/file_tree.h"

/* The files to send, and their MD5 sums. */
struct outgoing {
    struct arena mem;
    struct wandb_file *file;
    size_t n, room;
    size_t unreadable; /* files, each of which was reported */
};

static void outgoing_clear(struct outgoing *out)
{
    arena_clear(&out->mem);
    free(out->file);
}

/* Add a file, unless the cursor has its sum; either path or text is NULL. */
static void add_file(struct outgoing *out, const struct wandb_push *p,
                     const char *name, const char *path, const char *text)
{
    enum { MAX_FILE = 1 << 30 };
    const char *inside = run_info_inside(p->run);
    struct buf b = BUF_INIT;
    struct err none = { 0 };
    char hash[33];

    if (path && buf_read_open(&b, path_open_inside(path, inside, &none), path,
                              MAX_FILE, &none) < 0) {
        log_warn("%s", none.text);
        out->unreadable++;
        return;
    }
    md5_hex(path ? b.s : text, path ? b.len : strlen(text), hash);
    p->totals->bytes += (int64_t)b.len;
    buf_clear(&b);
    if (push_is(json_object_get(p->cursor, "files"), name, hash))
        return;
    GROW(out->file, out->n, out->room);
    out->file[out->n++] = (struct wandb_file){
        .name = arena_strdup(&out->mem, name),
        .path = path ? arena_strdup(&out->mem, path) : NULL,
        .text = text ? arena_strdup(&out->mem, text) : NULL,
        .inside = inside,
        .md5 = arena_strdup(&out->mem, hash),
    };
}

/* Media have a hash in their name: one that was sent is not read again, and
 * equal ones of a list are one file. */
static void add_media(struct outgoing *out, const struct wandb_push *p)
{
    json_t *sent = json_object_get(p->cursor, "files");
    json_t *listed = json_object();

    for (size_t i = 0; i < p->media.n_files; i++) {
        const struct wandb_media_file *f = &p->media.file[i];
        char *path;

        if (!f->name || json_object_get(sent, f->name) ||
            json_object_get(listed, f->name))
            continue;
        json_object_set_new(listed, f->name, json_true());
        path = path_join(p->run->artifacts, f->path);
        add_file(out, p, f->name, path, NULL);
        free(path);
    }
    json_decref(listed);
}

static void add_artifacts(struct outgoing *out, const struct wandb_push *p)
{
    const char *inside = run_info_inside(p->run);
    struct err why = { 0 };
    struct file_tree f;

    if (p->conf->no_files)
        return;
    if (file_tree_list(&f, p->run->artifacts, inside, &why) < 0) {
        log_warn("%s", why.text);
        out->unreadable++;
        return;
    }
    for (size_t i = 0; i < f.n; i++) {
        const struct file_tree_file *x = &f.file[i];

        if (!x->outside && !wandb_media_find(&p->media, x->path) &&
            !push_is_checkpoint(x->path, x->size))
            add_file(out, p, x->path, x->whole, NULL);
    }
    file_tree_clear(&f);
}

static void add_facts(struct outgoing *out, const struct wandb_push *p)
{
    json_t *config = wandb_config(p->run);
    /* JSON is a subset of YAML */
    char *yaml = json_dumps(config, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    char *metadata = wandb_metadata(p->run);
    struct buf summary = BUF_INIT;

    wandb_rows_summary(&summary, p->run, &p->rows[WANDB_HISTORY], &p->media);
    add_file(out, p, "wandb-metadata.json", NULL, metadata);
    add_file(out, p, "config.yaml", NULL, yaml);
    add_file(out, p, "wandb-summary.json", NULL, summary.s);
    buf_clear(&summary);
    free(metadata);
    free(yaml);
    json_decref(config);
}

/* Media are sent with the lines that name them, and the rest at the end. */
static void list_new_files(struct outgoing *out, const struct wandb_push *p)
{
    add_media(out, p);
    if (p->run->status == RUN_RUNNING)
        return;
    add_facts(out, p);
    add_artifacts(out, p);
}

static int send_checkpoints(struct wandb_push *p, struct err *e)
{
    struct outgoing out = { 0 };
    struct buf state = BUF_INIT;
    struct file_tree f;
    int ret = 0;

    if (file_tree_list(&f, p->run->artifacts, run_info_inside(p->run), e) < 0)
        return -1;
    for (size_t i = 0; i < f.n; i++) {
        const struct file_tree_file *x = &f.file[i];

        if (x->outside || !push_is_checkpoint(x->path, x->size))
            continue;
        GROW(out.file, out.n, out.room);
        out.file[out.n++] = (struct wandb_file){
            .name = x->path,
            .path = x->whole,
            .inside = run_info_inside(p->run),
        };
        buf_printf(&state, "%s %" PRId64 " %" PRId64 "\n", x->path, x->size,
                   x->mtime_ms);
    }
    if (out.n && !push_is(p->cursor, "checkpoints", state.s)) {
        char *name = xasprintf("run-%s-checkpoints", p->w.run);

        ret = wandb_artifact(&p->w, "model", name, out.file, out.n, e);
        if (ret == 0) {
            json_object_set_new(p->cursor, "checkpoints", json_string(state.s));
            p->totals->files += (int64_t)out.n;
        }
        free(name);
    }
    buf_clear(&state);
    outgoing_clear(&out);
    file_tree_clear(&f);
    return ret;
}

int wandb_files_send(struct wandb_push *p, struct err *e)
{
    struct outgoing out = { 0 };
    json_t *files = push_cursor_object(p->cursor, "files");
    int ret = 0;

    list_new_files(&out, p);
    if (out.n)
        ret = wandb_upload_files(&p->w, out.file, out.n, e);
    for (size_t i = 0; i < out.n; i++) {
        if (!out.file[i].sent)
            continue;
        json_object_set_new(files, out.file[i].name,
                            json_string(out.file[i].md5));
        json_array_append_new(p->uploaded, push_text(out.file[i].name));
        p->totals->files++;
    }
    if (ret == 0 && out.unreadable)
        ret = err_set(e, ERR_SYSTEM, "%zu of the artifacts cannot be read",
                      out.unreadable);
    outgoing_clear(&out);
    return ret == 0 && p->conf->checkpoints && p->run->status != RUN_RUNNING
               ? send_checkpoints(p, e)
               : ret;
}

size_t wandb_files_count(struct wandb_push *p)
{
    struct outgoing out = { 0 };
    size_t n;

    list_new_files(&out, p);
    n = out.n;
    outgoing_clear(&out);
    return n;
}
