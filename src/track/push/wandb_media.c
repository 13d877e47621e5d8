/*
 * wandb_media - pictures, tables, histograms and the like, as W&B has them
 */
#include "config.h"
#include "common/mem.h"
#include "track/push/wandb_push.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/format/image_size.h"
#include "common/log.h"
#include "common/output/emit.h"
#include "common/path.h"
#include "common/sha256.h"
#include "store/analysis/histogram.h"
#include "track/runs/file_tree.h"

/* What W&B calls a medium of a kind, and several. */
struct kind {
    const char *type, *place, *list, *members;
};

static const struct kind kinds[] = {
    [MEDIA_IMAGE] = { "image-file", "images", "images/separated", "filenames" },
    [MEDIA_TABLE] = { "table-file", "table", NULL, NULL },
    [MEDIA_AUDIO] = { "audio-file", "audio", "audio", "audio" },
    [MEDIA_VIDEO] = { "video-file", "videos", "videos", "videos" },
    [MEDIA_HTML] = { "html-file", "html", "html", "html" },
};

struct part {
    struct media_file file; /* first: parts are sorted as files are */
    const struct kind *kind;
    const char *name, *caption;
    char hash[SHA256_TEXT];
    uint32_t width, height;
    size_t columns, rows; /* of a table */
};

struct parts {
    struct part *item;
    size_t n, room;
};

/* A table of a list has a key of its own. */
static bool parse_path(struct part *p, const struct file_tree_file *f,
                       struct arena *mem)
{
    *p = (struct part){ 0 };
    if (!media_file_parse(&p->file, f, mem) || p->file.kind == MEDIA_SAMPLE)
        return false;
    p->kind = &kinds[p->file.kind];
    if (p->file.number >= 0 && !p->kind->list)
        p->file.key =
            arena_printf(mem, "%s-%" PRId64, p->file.key, p->file.number);
    return true;
}

/* -- what its content says ------------------------------------------------- */

static void find_hash(struct part *p, json_t *hashes, const char *version,
                      const void *data)
{
    const char *known = json_string_value(json_object_get(hashes, version));

    if (known) {
        snprintf(p->hash, sizeof p->hash, "%s", known);
        return;
    }
    sha256_of(data, (size_t)p->file.size, p->hash);
    json_object_set_new(hashes, version, json_string(p->hash));
}

static bool measure_table(struct part *p, const void *data)
{
    json_auto_t *table = json_loadb(data, (size_t)p->file.size, 0, NULL);
    json_t *columns = json_object_get(table, "columns");
    json_t *rows = json_object_get(table, "data");
    const bool good = json_is_array(columns) && json_is_array(rows);

    p->columns = json_array_size(columns);
    p->rows = json_array_size(rows);
    return good;
}

static bool read_content(struct part *p, json_t *hashes, const char *version,
                         const void *data)
{
    if (!data)
        return false;
    find_hash(p, hashes, version, data);
    if (p->file.kind == MEDIA_TABLE)
        return measure_table(p, data);
    return p->file.kind != MEDIA_IMAGE ||
           image_size(data, (size_t)p->file.size, &p->width, &p->height);
}

static bool read_part(struct wandb_media *m, struct part *p,
                      const struct run_info *r)
{
    AUTO_FREE char *path = path_join(r->artifacts, p->file.path);
    AUTO_FREE char *version = xasprintf("%" PRId64 " %" PRId64 " %s",
                                        p->file.size, p->file.ms, p->file.path);
    const struct wandb_file file = { .path = path,
                                     .inside = run_info_inside(r) };
    struct err why = { 0 };
    void *data = NULL;
    bool good = false;

    if (wandb_map(&file, &data, &p->file.size, &why) < 0)
        log_warn("%s", why.text);
    else
        good = read_content(p, m->hashes, version, data);
    wandb_unmap(data, p->file.size);
    if (!good)
        return false;
    p->caption = media_file_caption(&p->file, r, &m->mem);
    p->name = arena_printf(&m->mem, "media/%s/%s_%" PRId64 "_%.20s%s%s",
                           p->kind->place, p->file.key, p->file.step, p->hash,
                           p->file.kind == MEDIA_TABLE ? ".table" : "",
                           strrchr(p->file.path, '.'));
    return true;
}

/* -- what the line of history has ------------------------------------------ */

static void emit_shape(struct emit *o, const struct part *p)
{
    if (p->file.kind == MEDIA_IMAGE) {
        emit_text(o, "format", strrchr(p->file.path, '.') + 1);
        emit_int(o, "width", p->width);
        emit_int(o, "height", p->height);
    }
    if (p->file.kind == MEDIA_TABLE) {
        emit_int(o, "ncols", (int64_t)p->columns);
        emit_int(o, "nrows", (int64_t)p->rows);
        emit_text(o, "log_mode", "IMMUTABLE");
    }
}

static void emit_part(struct emit *o, const struct part *p)
{
    emit_object(o, NULL);
    emit_text(o, "_type", p->kind->type);
    emit_text(o, "path", p->name);
    emit_text(o, "sha256", p->hash);
    emit_int(o, "size", p->file.size);
    emit_shape(o, p);
    if (p->caption)
        emit_text(o, "caption", p->caption);
    emit_object_end(o);
}

static void emit_captions(struct emit *o, const struct part *p, size_t n)
{
    emit_array(o, "captions");
    for (size_t i = 0; i < n; i++)
        emit_text(o, NULL, p[i].caption);
    emit_array_end(o);
}

static void emit_list(struct emit *o, const struct part *p, size_t n)
{
    bool captions = false;

    emit_object(o, NULL);
    emit_text(o, "_type", p->kind->list);
    emit_int(o, "count", (int64_t)n);
    emit_shape(o, p);
    emit_array(o, p->kind->members);
    for (size_t i = 0; i < n; i++) {
        captions = captions || p[i].caption;
        if (p->file.kind == MEDIA_IMAGE)
            emit_text(o, NULL, p[i].name);
        else
            emit_part(o, &p[i]);
    }
    emit_array_end(o);
    if (captions)
        emit_captions(o, p, n);
    emit_object_end(o);
}

static void add_item(struct wandb_media *m, const char *key, int64_t step,
                     int64_t ms, const char *json)
{
    APPEND(m->item, m->n, m->room) =
        (struct wandb_medium){ arena_strdup(&m->mem, key), step, ms,
                               arena_strdup(&m->mem, json) };
}

static void add_file(struct wandb_media *m, const char *path, const char *name)
{
    APPEND(m->file, m->n_files, m->files_room) =
        (struct wandb_media_file){ arena_strdup(&m->mem, path), name };
}

/* Add n files of one key and step. */
static void add_parts(struct wandb_media *m, const struct part *p, size_t n)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;
    struct emit o = { .b = &b };

    if (p->kind->list && (n > 1 || p->file.number >= 0))
        emit_list(&o, p, n);
    else
        emit_part(&o, p);
    add_item(m, p->file.key, p->file.step, p[n - 1].file.ms, b.s);
}

static int by_place(const void *a, const void *b)
{
    const struct media_file *x = a, *y = b; /* of parts */

    return strcmp(x->key, y->key) ?: ORDER(x->step, y->step) ?:
           ORDER(x->kind, y->kind) ?: ORDER(x->number, y->number) ?:
           strcmp(x->path, y->path);
}

static void join_parts(struct wandb_media *m, struct parts *all)
{
    size_t next;

    SORT(all->item, all->n, by_place);
    for (size_t i = 0; i < all->n; i = next) {
        const struct part *p = &all->item[i];

        for (next = i + 1; next < all->n &&
                           p[next - i].file.step == p->file.step &&
                           p[next - i].kind == p->kind &&
                           strcmp(p[next - i].file.key, p->file.key) == 0;)
            next++;
        add_parts(m, p, next - i);
    }
}

/* -- histograms -----------------------------------------------------------  */

static void add_histogram(struct wandb_media *m, const char *key,
                          const struct histogram *h)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;
    struct emit o = { .b = &b };

    emit_object(&o, NULL);
    emit_text(&o, "_type", "histogram");
    emit_reals(&o, "values", h->count, h->n);
    emit_reals(&o, "bins", h->edge, h->n + 1);
    emit_object_end(&o);
    add_item(m, key, h->step, h->ms, b.s);
}

/* "histograms/KEY.jsonl" */
static bool add_histograms(struct wandb_media *m, const struct run_info *r,
                           const char *path)
{
    static const char folder[] = "histograms/", ending[] = ".jsonl";
    AUTO(histograms_free) struct histograms h = { 0 };
    AUTO_FREE char *key = NULL;
    bool good;

    if (strncmp(path, folder, strlen(folder)) != 0 || !str_ends(path, ending))
        return false;
    path += strlen(folder);
    key = xstrndup(path, strlen(path) - strlen(ending));
    good = histograms_load(&h, r, key, ERR_IGNORED) == 0;
    for (size_t i = 0; good && i < h.n; i++)
        add_histogram(m, key, &h.item[i]);
    return good;
}

/* -- all of a run ---------------------------------------------------------  */

static int by_item(const void *a, const void *b)
{
    const struct wandb_medium *x = a, *y = b;

    return strcmp(x->key, y->key) ?: ORDER(x->step, y->step);
}

static void add_artifact(struct wandb_media *m, struct parts *all,
                         const struct run_info *r, bool files,
                         const struct file_tree_file *f)
{
    struct part p;

    /* or the small copy of an image, which MLflow's page shows */
    if (add_histograms(m, r, f->path) ||
        (strncmp(f->path, "images/", 7) == 0 &&
         str_ends(f->path, "+compressed.webp"))) {
        add_file(m, f->path, NULL);
        return;
    }
    if (!files || !parse_path(&p, f, &m->mem) || !read_part(m, &p, r))
        return;
    APPEND(all->item, all->n, all->room) = p;
    add_file(m, p.file.path, p.name);
    if (p.caption)
        add_file(m,
                 arena_printf(&m->mem, "%.*s.txt",
                              (int)(strrchr(p.file.path, '.') - p.file.path),
                              p.file.path),
                 NULL);
}

static void forget_items(struct wandb_media *m)
{
    FREE(m->item, m->file);
    arena_clear(&m->mem);
    *m = (struct wandb_media){ .hashes = m->hashes };
}

int wandb_media_load(struct wandb_media *m, const struct run_info *r,
                     bool files, struct err *e)
{
    struct parts all = { NULL, 0, 0 };
    AUTO(file_tree_clear) struct file_tree tree = { 0 };

    forget_items(m);
    if (!m->hashes)
        m->hashes = json_object();
    if (file_tree_list(&tree, r->artifacts, run_info_inside(r), e) < 0)
        return -1;
    for (size_t i = 0; i < tree.n; i++)
        add_artifact(m, &all, r, files, &tree.file[i]);
    join_parts(m, &all);
    SORT(m->item, m->n, by_item);
    SORT(m->file, m->n_files, str_compare);
    free(all.item);
    return 0;
}

const struct wandb_media_file *wandb_media_find(const struct wandb_media *m,
                                                const char *path)
{
    const struct wandb_media_file wanted = { path, NULL };

    return m->n_files ? bsearch(&wanted, m->file, m->n_files, sizeof *m->file,
                                str_compare)
                      : NULL;
}

void wandb_media_clear(struct wandb_media *m)
{
    forget_items(m);
    json_decref(m->hashes);
    m->hashes = NULL;
}
