/*
 * wandb_media - pictures, tables, histograms and the like, as W&B has them
 */
#include "config.h"
#include "common/buf.h"
#include "track/push/wandb_rows.h"

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
#include "track/push/wandb.h"
#include "track/runs/file_tree.h"

/* Where the artifacts of a kind are, and what W&B calls one and several. */
struct kind {
    const char *folder, *type, *place, *list, *members;
};

static const struct kind kinds[] = {
    { "images/", "image-file", "images", "images/separated", "filenames" },
    { "tables/", "table-file", "table", NULL, NULL },
    { "audio/", "audio-file", "audio", "audio", "audio" },
    { "video/", "video-file", "videos", "videos", "videos" },
    { "html/", "html-file", "html", "html", "html" },
};

enum { IMAGES, TABLES, ALONE = -1, CAPTION_MAX = 64 << 10 };

/* A file of a medium, one of a list unless its number is ALONE. */
struct part {
    const struct kind *kind;
    const char *key, *path, *name, *caption;
    int64_t step, ms, number, size;
    char hash[SHA256_TEXT];
    uint32_t width, height;
    size_t columns, rows; /* of a table */
};

struct parts {
    struct part *item;
    size_t n, room;
};

/* -- what the name of an artifact says ------------------------------------- */

/* Is the text after the step, as ".png", the ending of a whole file? */
static bool is_ending(const char *s)
{
    return *s == '.' && s[1] && !strchr(s + 1, '.');
}

/* "KEY+step+3+timestamp+MS+UUID.png".  The UUID of an image in a list begins
 * with four zeros and the number of the image. */
static bool parse_image(struct part *p, const char *name, struct arena *mem)
{
    const char *at = strstr(name, "+step+");
    char uuid[9] = "";
    char *key;

    if (!at || at == name || !is_ending(at + strcspn(at, ".")) ||
        sscanf(at, "+step+%" SCNd64 "+timestamp+%" SCNd64 "+%8[0-9a-f]-",
               &p->step, &p->ms, uuid) != 3)
        return false;
    key = arena_strndup(mem, name, (size_t)(at - name));
    for (char *c = key; *c; c++)
        *c = *c == '~' ? '/' : *c;
    p->key = key;
    if (strncmp(uuid, "0000", 4) == 0)
        p->number = (int64_t)strtol(uuid, NULL, 16);
    return true;
}

/* "KEY/3.wav", or "KEY/3-1.wav" for one in a list. */
static bool parse_other(struct part *p, const char *name, struct arena *mem)
{
    const char *slash = strrchr(name, '/');
    int n = 0;

    if (!slash || slash == name ||
        sscanf(slash, "/%" SCNd64 "%n", &p->step, &n) != 1)
        return false;
    if (slash[n] == '-') {
        slash += n;
        if (sscanf(slash, "-%" SCNd64 "%n", &p->number, &n) != 1)
            return false;
    }
    if (!is_ending(slash + n))
        return false;
    p->key = arena_strndup(mem, name, (size_t)(strrchr(name, '/') - name));
    if (p->number >= 0 && !p->kind->list)
        p->key = arena_printf(mem, "%s-%" PRId64, p->key, p->number);
    return true;
}

static bool parse_path(struct part *p, const struct file_tree_file *f,
                       struct arena *mem)
{
    const char *dot = strrchr(f->path, '.');

    *p = (struct part){ .path = arena_strdup(mem, f->path),
                        .ms = f->mtime_ms,
                        .size = f->size,
                        .number = ALONE };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strncmp(f->path, kinds[i].folder, strlen(kinds[i].folder)) == 0)
            p->kind = &kinds[i];
    if (!p->kind || f->outside || !dot || strcmp(dot, ".txt") == 0)
        return false;
    return (p->kind == &kinds[IMAGES] ? parse_image : parse_other)(
        p, f->path + strlen(p->kind->folder), mem);
}

/* -- what its content says ------------------------------------------------- */

static void find_hash(struct part *p, json_t *hashes, const char *version,
                      const void *data)
{
    const char *known = json_string_value(json_object_get(hashes, version));
    struct sha256 h;

    if (known) {
        snprintf(p->hash, sizeof p->hash, "%s", known);
        return;
    }
    sha256_init(&h);
    sha256_add(&h, data, (size_t)p->size);
    sha256_text(&h, p->hash);
    json_object_set_new(hashes, version, json_string(p->hash));
}

static bool measure_table(struct part *p, const void *data)
{
    json_t *table = json_loadb(data, (size_t)p->size, 0, NULL);
    json_t *columns = json_object_get(table, "columns");
    json_t *rows = json_object_get(table, "data");
    const bool good = json_is_array(columns) && json_is_array(rows);

    p->columns = json_array_size(columns);
    p->rows = json_array_size(rows);
    json_decref(table);
    return good;
}

static bool read_content(struct part *p, json_t *hashes, const char *version,
                         const void *data)
{
    if (!data)
        return false;
    find_hash(p, hashes, version, data);
    if (p->kind == &kinds[TABLES])
        return measure_table(p, data);
    return p->kind != &kinds[IMAGES] ||
           image_size(data, (size_t)p->size, &p->width, &p->height);
}

/* The caption is beside the file: "audio/KEY/3.txt" for "audio/KEY/3.wav". */
static void read_caption(struct part *p, const struct run_info *r,
                         struct arena *mem)
{
    char *path = xasprintf("%s/%.*s.txt", r->artifacts,
                           (int)(strrchr(p->path, '.') - p->path), p->path);
    struct buf text = BUF_INIT;
    struct err none = { 0 };

    if (path_exists(path) &&
        buf_read_open(&text, path_open_inside(path, run_info_inside(r), &none),
                      path, CAPTION_MAX, &none) == 0)
        p->caption = arena_strdup(mem, text.s);
    buf_clear(&text);
    free(path);
}

static bool read_part(struct wandb_media *m, struct part *p,
                      const struct run_info *r)
{
    char *path = path_join(r->artifacts, p->path);
    char *version =
        xasprintf("%" PRId64 " %" PRId64 " %s", p->size, p->ms, p->path);
    const struct wandb_file file = { .path = path,
                                     .inside = run_info_inside(r) };
    struct err why = { 0 };
    void *data = NULL;
    bool good = false;

    if (wandb_map(&file, &data, &p->size, &why) < 0)
        log_warn("%s", why.text);
    else
        good = read_content(p, m->hashes, version, data);
    wandb_unmap(data, p->size);
    free(version);
    free(path);
    if (!good)
        return false;
    read_caption(p, r, &m->mem);
    p->name = arena_printf(&m->mem, "media/%s/%s_%" PRId64 "_%.20s%s%s",
                           p->kind->place, p->key, p->step, p->hash,
                           p->kind == &kinds[TABLES] ? ".table" : "",
                           strrchr(p->path, '.'));
    return true;
}

/* -- what the line of history has ------------------------------------------ */

static void emit_shape(struct emit *o, const struct part *p)
{
    if (p->kind == &kinds[IMAGES]) {
        emit_text(o, "format", strrchr(p->path, '.') + 1);
        emit_int(o, "width", p->width);
        emit_int(o, "height", p->height);
    }
    if (p->kind == &kinds[TABLES]) {
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
    emit_int(o, "size", p->size);
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
        if (p->kind == &kinds[IMAGES])
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
    GROW(m->item, m->n, m->room);
    m->item[m->n++] = (struct wandb_medium){ arena_strdup(&m->mem, key), step,
                                             ms, arena_strdup(&m->mem, json) };
}

static void add_file(struct wandb_media *m, const char *path, const char *name)
{
    GROW(m->file, m->n_files, m->files_room);
    m->file[m->n_files++] =
        (struct wandb_media_file){ arena_strdup(&m->mem, path), name };
}

/* Add n files of one key and step. */
static void add_parts(struct wandb_media *m, const struct part *p, size_t n)
{
    struct buf b = BUF_INIT;
    struct emit o = { .b = &b };

    if (p->kind->list && (n > 1 || p->number >= 0))
        emit_list(&o, p, n);
    else
        emit_part(&o, p);
    add_item(m, p->key, p->step, p[n - 1].ms, b.s);
    buf_clear(&b);
}

static int by_place(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    int order = strcmp(x->key, y->key);

    if (order == 0)
        order = (x->step > y->step) - (x->step < y->step);
    if (order == 0)
        order = (x->kind > y->kind) - (x->kind < y->kind);
    if (order == 0)
        order = (x->number > y->number) - (x->number < y->number);
    return order ? order : strcmp(x->path, y->path);
}

static void join_parts(struct wandb_media *m, struct parts *all)
{
    size_t next;

    if (all->n)
        qsort(all->item, all->n, sizeof *all->item, by_place);
    for (size_t i = 0; i < all->n; i = next) {
        const struct part *p = &all->item[i];

        for (next = i + 1; next < all->n && p[next - i].step == p->step &&
                           p[next - i].kind == p->kind &&
                           strcmp(p[next - i].key, p->key) == 0;)
            next++;
        add_parts(m, p, next - i);
    }
}

/* -- histograms -----------------------------------------------------------  */

static void add_histogram(struct wandb_media *m, const char *key,
                          const struct histogram *h)
{
    struct buf b = BUF_INIT;
    struct emit o = { .b = &b };

    emit_object(&o, NULL);
    emit_text(&o, "_type", "histogram");
    emit_reals(&o, "values", h->count, h->n);
    emit_reals(&o, "bins", h->edge, h->n + 1);
    emit_object_end(&o);
    add_item(m, key, h->step, h->ms, b.s);
    buf_clear(&b);
}

/* "histograms/KEY.jsonl" */
static bool add_histograms(struct wandb_media *m, const struct run_info *r,
                           const char *path)
{
    static const char folder[] = "histograms/", ending[] = ".jsonl";
    struct histograms h = { 0 };
    struct err why = { 0 };
    char *key;
    bool good;

    if (strncmp(path, folder, strlen(folder)) != 0 || !str_ends(path, ending))
        return false;
    path += strlen(folder);
    key = xstrndup(path, strlen(path) - strlen(ending));
    good = histograms_load(&h, r, key, &why) == 0;
    for (size_t i = 0; good && i < h.n; i++)
        add_histogram(m, key, &h.item[i]);
    histograms_free(&h);
    free(key);
    return good;
}

/* -- all of a run ---------------------------------------------------------  */

/* Is it the small copy of an image, which MLflow's page shows? */
static bool is_small_copy(const char *path)
{
    return strncmp(path, "images/", 7) == 0 &&
           str_ends(path, "+compressed.webp");
}

static int by_item(const void *a, const void *b)
{
    const struct wandb_medium *x = a, *y = b;
    const int order = strcmp(x->key, y->key);

    return order ? order : (x->step > y->step) - (x->step < y->step);
}

static void add_artifact(struct wandb_media *m, struct parts *all,
                         const struct run_info *r, bool files,
                         const struct file_tree_file *f)
{
    struct part p;

    if (add_histograms(m, r, f->path) || is_small_copy(f->path)) {
        add_file(m, f->path, NULL);
        return;
    }
    if (!files || !parse_path(&p, f, &m->mem) || !read_part(m, &p, r))
        return;
    GROW(all->item, all->n, all->room);
    all->item[all->n++] = p;
    add_file(m, p.path, p.name);
    if (p.caption)
        add_file(m,
                 arena_printf(&m->mem, "%.*s.txt",
                              (int)(strrchr(p.path, '.') - p.path), p.path),
                 NULL);
}

static void forget_items(struct wandb_media *m)
{
    free(m->item);
    free(m->file);
    m->item = NULL;
    m->file = NULL;
    m->n = m->room = m->n_files = m->files_room = 0;
    arena_clear(&m->mem);
}

int wandb_media_load(struct wandb_media *m, const struct run_info *r,
                     bool files, struct err *e)
{
    struct parts all = { NULL, 0, 0 };
    struct file_tree tree;

    forget_items(m);
    if (!m->hashes)
        m->hashes = json_object();
    if (file_tree_list(&tree, r->artifacts, run_info_inside(r), e) < 0)
        return -1;
    for (size_t i = 0; i < tree.n; i++)
        add_artifact(m, &all, r, files, &tree.file[i]);
    join_parts(m, &all);
    if (m->n)
        qsort(m->item, m->n, sizeof *m->item, by_item);
    if (m->n_files)
        qsort(m->file, m->n_files, sizeof *m->file, str_compare);
    free(all.item);
    file_tree_clear(&tree);
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
