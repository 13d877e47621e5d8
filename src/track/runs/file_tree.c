#include "config.h"
#include "track/runs/file_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/opt.h"
#include "common/path.h"

/* The first `skip` bytes of the path are those of the folder. */
static void add_file(struct file_tree *f, const char *path, size_t skip,
                     const struct stat *st, bool outside)
{
    char *whole = xstrdup(path);

    APPEND(f->file, f->n, f->room) = (struct file_tree_file){
        .whole = whole,
        .path = whole + skip,
        .size = (int64_t)st->st_size,
        .mtime_ms =
            (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000,
        .outside = outside,
    };
}

static int walk_folder(struct file_tree *f, const char *folder, size_t skip,
                       const char *inside, struct err *e)
{
    struct path_list l;
    int ret = 0;

    if (path_list(&l, folder, e) < 0)
        return -1;
    for (size_t i = 0; i < l.n && ret == 0; i++) {
        const char *path = path_listed(&l, i);
        struct stat st = { 0 }, link = { 0 };

        /* a file that was removed meanwhile, or a dangling link, is no file */
        if (lstat(path, &link) < 0 || stat(path, &st) < 0) {
            st.st_mode = 0;
            if (errno != ENOENT && errno != ELOOP && errno != ENOTDIR &&
                !(S_ISLNK(link.st_mode) && errno == EACCES))
                ret = err_sys(e, "cannot read %s", path);
        }
        if (st.st_mode && S_ISLNK(link.st_mode) && path_leaves(path, inside))
            add_file(f, path, skip, &link, true);
        else if (S_ISDIR(st.st_mode) && !S_ISLNK(link.st_mode))
            ret = walk_folder(f, path, skip, inside, e);
        else if (S_ISREG(st.st_mode))
            add_file(f, path, skip, &st, false);
    }
    path_list_clear(&l);
    return ret;
}

int file_tree_list(struct file_tree *f, const char *folder, const char *inside,
                   struct err *e)
{
    struct stat st;
    char *here;
    int ret = 0;

    *f = (struct file_tree){ 0 };
    if (!folder || !path_is_folder(folder))
        return 0;
    here = path_join(folder, ".");
    if (!path_is_link(folder) || !path_leaves(folder, inside))
        ret = walk_folder(f, folder, strlen(here) - 1, inside, e);
    else if (lstat(folder, &st) == 0)
        add_file(f, here, strlen(here) - 1, &st, true);
    free(here);
    if (ret < 0)
        file_tree_clear(f);
    return ret;
}

void file_tree_add_size(struct table *t, const struct file_tree_file *f)
{
    if (f->outside)
        table_none(t);
    else
        table_bytes(t, f->size);
}

void file_tree_clear(struct file_tree *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->file[i].whole);
    free(f->file);
    *f = (struct file_tree){ 0 };
}

const char *const media_folders[] = { "images", "tables",  "audio", "video",
                                      "html",   "samples", NULL };

/* "step-3.txt" */
static bool parse_sample(struct media_file *m, const char *name)
{
    int n = 0;

    m->key = media_folders[MEDIA_SAMPLE];
    return sscanf(name, "step-%" SCNd64 ".txt%n", &m->step, &n) == 1 && n &&
           !name[n];
}

/* Is the text after the step, as ".png", the ending of a whole file? */
static bool is_ending(const char *s)
{
    return *s == '.' && s[1] && !strchr(s + 1, '.');
}

/* "KEY+step+3+timestamp+MS+UUID.png".  The UUID of an image in a list begins
 * with four zeros and the number of the image. */
static bool parse_image(struct media_file *m, const char *name,
                        struct arena *mem)
{
    const char *at = strstr(name, "+step+");
    char uuid[9] = "";
    char *key;

    if (!at || at == name || !is_ending(at + strcspn(at, ".")) ||
        strstr(at, "+compressed.") ||
        sscanf(at, "+step+%" SCNd64 "+timestamp+%" SCNd64 "+%8[0-9a-f]-",
               &m->step, &m->ms, uuid) != 3)
        return false;
    key = arena_strndup(mem, name, (size_t)(at - name));
    for (char *c = key; *c; c++)
        *c = *c == '~' ? '/' : *c;
    m->key = key;
    if (strncmp(uuid, "0000", 4) == 0)
        m->number = (int64_t)strtol(uuid, NULL, 16);
    return true;
}

/* "KEY/3.wav", or "KEY/3-1.wav" for one in a list. */
static bool parse_other(struct media_file *m, const char *name,
                        struct arena *mem)
{
    const char *slash = strrchr(name, '/');
    int n = 0;

    if (!slash || slash == name ||
        sscanf(slash, "/%" SCNd64 "%n", &m->step, &n) != 1)
        return false;
    m->key = arena_strndup(mem, name, (size_t)(slash - name));
    if (slash[n] == '-') {
        slash += n;
        if (sscanf(slash, "-%" SCNd64 "%n", &m->number, &n) != 1)
            return false;
    }
    return is_ending(slash + n);
}

bool media_file_parse(struct media_file *m, const struct file_tree_file *f,
                      struct arena *mem)
{
    const char *dot = strrchr(f->path, '.');
    const char *slash = strchr(f->path, '/');
    char *folder = xstrndup(f->path, slash ? (size_t)(slash - f->path) : 0);
    const int i = opt_find_word(media_folders, folder);

    free(folder);
    if (i < 0 || f->outside || !dot ||
        (strcmp(dot, ".txt") == 0) != (i == MEDIA_SAMPLE))
        return false;
    *m = (struct media_file){ .kind = (enum media)i,
                              .path = arena_strdup(mem, f->path),
                              .ms = f->mtime_ms,
                              .size = f->size,
                              .number = MEDIA_ALONE };
    if (m->kind == MEDIA_SAMPLE)
        return parse_sample(m, slash + 1);
    return (m->kind == MEDIA_IMAGE ? parse_image : parse_other)(m, slash + 1,
                                                                mem);
}

const char *media_file_caption(const struct media_file *m,
                               const struct run_info *r, struct arena *mem)
{
    enum { CAPTION_MAX = 64 << 10 };
    char *path = xasprintf("%s/%.*s.txt", r->artifacts,
                           (int)(strrchr(m->path, '.') - m->path), m->path);
    struct buf text = BUF_INIT;
    const char *caption = NULL;

    if (path_exists(path) &&
        buf_read_open(&text,
                      path_open_inside(path, run_info_inside(r), ERR_IGNORED),
                      path, CAPTION_MAX, ERR_IGNORED) == 0)
        caption = arena_strdup(mem, text.s);
    buf_clear(&text);
    free(path);
    return caption;
}
