#include "config.h"
#include "track/runs/file_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/mem.h"
#include "common/path.h"

static void add_file(struct file_tree *f, const char *name,
                     const struct stat *st, bool outside)
{
    GROW(f->file, f->n, f->room);
    f->file[f->n++] =
        (struct file_tree_file){ xstrdup(name), (int64_t)st->st_size,
                                 (int64_t)st->st_mtim.tv_sec * 1000 +
                                     st->st_mtim.tv_nsec / 1000000,
                                 outside };
}

static int walk_folder(struct file_tree *f, const char *folder,
                       const char *below, const char *inside, struct err *e)
{
    struct path_list l;
    int ret = 0;

    if (path_list(&l, folder, e) < 0)
        return -1;
    for (size_t i = 0; i < l.n && ret == 0; i++) {
        char *path = path_join(folder, l.name[i]);
        char *name = path_join(below, l.name[i]);
        struct stat st = { 0 }, link = { 0 };

        /* a file that was removed meanwhile, or a dangling link, is no file */
        if (lstat(path, &link) < 0 || stat(path, &st) < 0) {
            st.st_mode = 0;
            if (errno != ENOENT && errno != ELOOP && errno != ENOTDIR &&
                !(S_ISLNK(link.st_mode) && errno == EACCES))
                ret = err_sys(e, "cannot read %s", path);
        }
        if (st.st_mode && S_ISLNK(link.st_mode) && path_leaves(path, inside))
            add_file(f, name, &link, true);
        else if (S_ISDIR(st.st_mode) && !S_ISLNK(link.st_mode))
            ret = walk_folder(f, path, name, inside, e);
        else if (S_ISREG(st.st_mode))
            add_file(f, name, &st, false);
        free(name);
        free(path);
    }
    path_list_clear(&l);
    return ret;
}

int file_tree_list(struct file_tree *f, const char *folder, const char *inside,
                   struct err *e)
{
    struct stat st;

    *f = (struct file_tree){ 0 };
    if (!folder || !path_is_folder(folder))
        return 0;
    if (path_is_link(folder) && path_leaves(folder, inside)) {
        if (lstat(folder, &st) == 0)
            add_file(f, ".", &st, true);
        return 0;
    }
    if (walk_folder(f, folder, "", inside, e) == 0)
        return 0;
    file_tree_clear(f);
    return -1;
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
        free(f->file[i].path);
    free(f->file);
    *f = (struct file_tree){ 0 };
}
