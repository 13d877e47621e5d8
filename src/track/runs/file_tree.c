#include "config.h"
#include "track/runs/file_tree.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/mem.h"
#include "common/path.h"

static int walk(struct files *f, const char *folder, const char *below,
                struct err *e)
{
    struct path_list l;
    int ret = 0;

    if (path_list(&l, folder, e) < 0)
        return -1;
    for (size_t i = 0; i < l.n && ret == 0; i++) {
        char *path = path_join(folder, l.name[i]);
        char *name = path_join(below, l.name[i]);
        struct stat st, link;

        if (lstat(path, &link) < 0 || stat(path, &st) < 0) {
            free(name); /* gone since, or a link to nothing */
        } else if (S_ISDIR(st.st_mode)) {
            if (!S_ISLNK(link.st_mode))
                ret = walk(f, path, name, e);
            free(name);
        } else if (!S_ISREG(st.st_mode)) {
            free(name); /* nothing to send */
        } else {
            GROW(f->item, f->n, f->room);
            f->item[f->n++] = (struct files_item){
                name,
                (int64_t)st.st_size,
                (int64_t)st.st_mtim.tv_sec * 1000 +
                    st.st_mtim.tv_nsec / 1000000,
            };
        }
        free(path);
    }
    path_list_clear(&l);
    return ret;
}

int files_list(struct files *f, const char *folder, struct err *e)
{
    *f = (struct files)FILES_INIT;
    if (!folder || !path_is_folder(folder))
        return 0;
    if (walk(f, folder, "", e) == 0)
        return 0;
    files_clear(f);
    return -1;
}

void files_clear(struct files *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->item[i].path);
    free(f->item);
    *f = (struct files)FILES_INIT;
}
