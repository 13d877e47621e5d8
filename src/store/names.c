#include "config.h"
#include "store/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/mem.h"
#include "common/path.h"
#include "store/key.h"

void names_init(struct names *t, const char *run, const char *kind)
{
    *t = (struct names){ .folder = path_join(run, kind) };
}

void names_clear(struct names *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free(t->item[i].key);
        free(t->item[i].file);
    }
    free(t->item);
    free(t->folder);
    *t = (struct names){ 0 };
}

/* Is the first n bytes of `file` one of the files, in the table or there? */
static bool is_file(const struct names *t, const char *file, size_t n)
{
    char *part = xstrndup(file, n), *path = path_join(t->folder, part);
    struct stat st;
    bool found = stat(path, &st) == 0 && !S_ISDIR(st.st_mode);

    for (size_t i = 0; i < t->n && !found; i++)
        found = strcmp(t->item[i].file, part) == 0;
    free(path);
    free(part);
    return found;
}

/* Is it the file of another key, or a folder? */
static bool is_taken(const struct names *t, const char *file)
{
    const size_t n = strlen(file);
    char *path = path_join(t->folder, file);
    const bool folder = path_is_folder(path);

    free(path);
    for (size_t i = 0; i < t->n; i++) {
        const char *other = t->item[i].file;

        if (strncmp(other, file, n) == 0 &&
            (other[n] == '\0' || other[n] == '/'))
            return true;
    }
    return folder;
}

/* The end of the part that cannot be what it has to be; 0 if all can. */
static size_t conflict(const struct names *t, const char *file)
{
    for (size_t i = 1; file[i]; i++)
        if (file[i] == '/' && is_file(t, file, i))
            return i;
    return is_taken(t, file) ? strlen(file) : 0;
}

/* The file of a legal key: the part in the way, if any, is made longer. */
static char *file_path(const struct names *t, char *file)
{
    size_t at;

    while ((at = conflict(t, file)) > 0) {
        char *wide = xasprintf("%.*s_%s", (int)at, file, file + at);

        free(file);
        file = wide;
    }
    return file;
}

void names_set(struct names *t, const char *key, const char *file)
{
    GROW(t->item, t->n, t->room);
    t->item[t->n++] = (struct names_entry){ xstrdup(key), xstrdup(file) };
}

const char *names_find(struct names *t, const char *key, bool *fresh)
{
    struct names_entry new;

    for (size_t i = 0; i < t->n; i++) {
        if (strcmp(t->item[i].key, key) == 0) {
            *fresh = false;
            return t->item[i].file;
        }
    }
    *fresh = true;
    new.key = xstrdup(key);
    new.file = file_path(t, key_problem(key) ? key_clean(key) : xstrdup(key));
    GROW(t->item, t->n, t->room);
    t->item[t->n++] = new;
    return new.file;
}
