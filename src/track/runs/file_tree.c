#include "config.h"
#include "track/runs/file_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/mem.h"
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
