#include "config.h"
#include "store/store.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/num.h"
#include "common/path.h"
#include "common/utf8.h"
#include "common/yaml.h"
#include "store/md5.h"

enum { NAME_MAX_CHARS = 500 };

char *store_absolute(const char *path)
{
    struct buf b = BUF_INIT;
    char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);

    for (int i = 0; i < 2; i++) {
        for (const char *s = i ? path : here ? here : ""; *s;) {
            const size_t n = strcspn(s, "/");

            if (n == 2 && strncmp(s, "..", 2) == 0) {
                const char *slash = b.len ? strrchr(b.s, '/') : NULL;

                buf_trim(&b, slash ? (size_t)(slash - b.s) : 0);
            } else if (n > 0 && !(n == 1 && s[0] == '.')) {
                buf_char(&b, '/');
                buf_add(&b, s, n);
            }
            s += n + (s[n] == '/');
        }
    }
    if (b.len == 0)
        buf_char(&b, '/');
    free(here);
    return buf_detach(&b);
}

char *store_uri(const char *path)
{
    struct buf b = BUF_INIT;
    char *absolute = store_absolute(path);

    buf_str(&b, "file://");
    for (const char *s = absolute; *s; s++) {
        const unsigned char c = (unsigned char)*s;

        if (isalnum(c) || strchr("/_.-~", c))
            buf_char(&b, (char)c);
        else
            buf_printf(&b, "%%%02X", c);
    }
    free(absolute);
    return buf_detach(&b);
}

void store_new_id(char out[33])
{
    unsigned char bits[16];

    for (size_t have = 0; have < sizeof bits;) {
        const ssize_t n = getrandom(bits + have, sizeof bits - have, 0);

        if (n > 0)
            have += (size_t)n;
    }
    bits[6] = (unsigned char)((bits[6] & 0x0f) | 0x40);
    bits[8] = (unsigned char)((bits[8] & 0x3f) | 0x80);
    for (size_t i = 0; i < sizeof bits; i++)
        snprintf(out + 2 * i, 3, "%02x", bits[i]);
}

bool store_is_run(const char *name)
{
    static const char *const reserved[] = { "tags", "datasets", "traces",
                                            "models" };

    if (!isalnum((unsigned char)name[0]))
        return false;
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (strcmp(name, reserved[i]) == 0)
            return false;
    return true;
}

/* A name that no other process and no other thread has. */
static char *own_name(const char *name)
{
    return xasprintf("%s.%ld.tmp", name, (long)gettid());
}

int store_write(const char *path, const char *name, const void *data, size_t n,
                bool sync, struct err *e)
{
    char *temp = own_name(name);
    const int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const char *at = data;
    int ret = 0;

    if (fd < 0) {
        err_sys(e, "cannot create %s", temp);
        free(temp);
        return -1;
    }
    while (n > 0 && ret == 0) {
        const ssize_t done = write(fd, at, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            errno = done < 0 ? errno : ENOSPC;
            ret = err_sys(e, "cannot write %s", temp);
            break;
        }
        at += done;
        n -= (size_t)done;
    }
    if (ret == 0 && sync && fsync(fd) < 0)
        ret = err_sys(e, "cannot write %s", temp);
    if (close(fd) < 0 && ret == 0)
        ret = err_sys(e, "cannot write %s", temp);
    if (ret == 0 && rename(temp, path) < 0)
        ret = err_sys(e, "cannot replace %s", path);
    if (ret < 0)
        unlink(temp);
    free(temp);
    return ret;
}

/* -- experiments ------------------------------------------------------- */

/* The k-th id for a name: 18 digits, the first of them not 0. */
static void id_of(char out[32], const char *name, int k)
{
    unsigned char sum[16];
    uint64_t n = 0;
    struct buf b = BUF_INIT;

    if (strcmp(name, "Default") == 0 && k == 0) {
        snprintf(out, 32, "0");
        return;
    }
    buf_str(&b, name);
    if (k > 0)
        buf_printf(&b, "\n%d", k);
    md5(b.s, b.len, sum);
    buf_clear(&b);
    for (int i = 0; i < 8; i++)
        n = n << 8 | sum[i];
    n = 100000000000000000u + n % 900000000000000000u;
    snprintf(out, 32, "%llu", (unsigned long long)n);
}

static int load_one(struct experiment *x, struct arena *mem, const char *folder,
                    bool trash)
{
    const char *const id = path_name(folder);
    char *path = path_join(folder, STORE_META);
    struct err e = ERR_INIT;
    struct yaml y;

    *x = (struct experiment){ .id = arena_strdup(mem, id),
                              .folder = arena_strdup(mem, folder),
                              .deleted = trash };
    if (yaml_load(&y, mem, path, &e) < 0) {
        free(path);
        if (e.kind == ERR_MISSING)
            return -1;
        x->name = x->id;
        x->damage = arena_strdup(mem, e.text);
        return 0;
    }
    free(path);
    x->name = yaml_get(&y, "name");
    x->location = yaml_get(&y, "artifact_location");
    yaml_int(&y, "creation_time", &x->created_ms);
    yaml_int(&y, "last_update_time", &x->updated_ms);
    if (!x->name) {
        x->name = x->id;
        x->damage = "meta.yaml has no name";
    } else if (!yaml_get(&y, "experiment_id") ||
               strcmp(yaml_get(&y, "experiment_id"), x->id) != 0) {
        x->damage = "meta.yaml has another experiment_id than the folder";
    }
    return 0;
}

static int load_folder(struct experiments *all, const char *folder, bool trash,
                       struct err *e)
{
    struct path_list names;

    if (path_list(&names, folder, e) < 0)
        return -1;
    for (size_t i = 0; i < names.n; i++) {
        const size_t len = strlen(names.name[i]);
        char *path;

        if (!isalnum((unsigned char)names.name[i][0]) ||
            strcmp(names.name[i], "models") == 0 ||
            (len > 6 && strcmp(names.name[i] + len - 6, STORE_TRASH) == 0))
            continue;
        path = path_join(folder, names.name[i]);
        if (path_is_folder(path)) {
            GROW(all->item, all->n, all->room);
            if (load_one(&all->item[all->n], &all->mem, path, trash) == 0)
                all->n++;
        }
        free(path);
    }
    path_list_clear(&names);
    return 0;
}

int experiments_load(struct experiments *all, const char *root, struct err *e)
{
    char *trash = path_join(root, STORE_TRASH);
    struct err ignored = ERR_INIT;
    int ret;

    *all = (struct experiments)EXPERIMENTS_INIT;
    ret = load_folder(all, root, false, e);
    if (ret == 0)
        load_folder(all, trash, true, &ignored);
    else if (e->kind == ERR_MISSING)
        err_set(e, ERR_MISSING, "there is no store at %s", root);
    free(trash);
    return ret;
}

void experiments_free(struct experiments *all)
{
    arena_clear(&all->mem);
    free(all->item);
    *all = (struct experiments)EXPERIMENTS_INIT;
}

/*
 * Give the temporary file its name unless the name is taken.  link() does that
 * in one step, on NFS too, where its answer may be lost: whoever has the name
 * wrote the same text.  Where there are no links, rename() has to do.
 */
static int publish(const char *temp, const char *path, struct err *e)
{
    int ret = 0;

    if (link(temp, path) < 0 && errno != EEXIST && rename(temp, path) < 0)
        ret = err_sys(e, "cannot create %s", path);
    unlink(temp);
    return ret;
}

static int make_experiment(const char *root, const char *id, const char *name,
                           struct err *e)
{
    char *folder = path_join(root, id), *path = path_join(folder, STORE_META);
    char random[33], *fresh, *uri = store_uri(folder);
    const int64_t now = clock_wall_ms();
    struct buf text = BUF_INIT;
    int ret = path_make(folder, e);

    store_new_id(random);
    fresh = xasprintf("%s/.%s.new", folder, random);
    yaml_put(&text, "artifact_location", uri);
    yaml_put_int(&text, "creation_time", now);
    yaml_put(&text, "experiment_id", id);
    yaml_put_int(&text, "last_update_time", now);
    yaml_put(&text, "lifecycle_stage", "active");
    yaml_put(&text, "name", name);
    if (ret == 0)
        ret = store_write(fresh, fresh, text.s, text.len, true, e);
    if (ret == 0)
        ret = publish(fresh, path, e);
    buf_clear(&text);
    free(fresh);
    free(uri);
    free(path);
    free(folder);
    return ret;
}

/* What is in the folder of this id: nothing, our experiment, or another. */
enum found { FREE, OURS, OTHERS, UNKNOWN };

static enum found look(const char *root, const char *id, const char *name,
                       struct err *e)
{
    struct arena mem = ARENA_INIT;
    char *path = xasprintf("%s/%s/%s", root, id, STORE_META);
    struct err why = ERR_INIT;
    enum found found = OTHERS;
    struct yaml y;

    if (yaml_load(&y, &mem, path, &why) == 0) {
        const char *is = yaml_get(&y, "name");

        if (is && strcmp(is, name) == 0)
            found = OURS;
    } else if (why.kind == ERR_MISSING) {
        found = FREE;
    } else if (why.kind != ERR_INPUT) {
        found = UNKNOWN;
        *e = why;
    }
    free(path);
    arena_clear(&mem);
    return found;
}

static int find_experiment(const char *root, const char *name, char **id,
                           struct err *e)
{
    struct experiments all;
    int ret = 0;

    if (experiments_load(&all, root, e) < 0)
        return -1;
    for (size_t i = 0; i < all.n && ret == 0 && !*id; i++) {
        if (strcmp(all.item[i].name, name) != 0)
            continue;
        if (all.item[i].deleted)
            ret = err_set(e, ERR_USAGE,
                          "the experiment %s was deleted: "
                          "restore it, or choose another name",
                          name);
        else
            *id = xstrdup(all.item[i].id);
    }
    experiments_free(&all);
    return ret;
}

int store_experiment(const char *root, const char *name, char **id,
                     struct err *e)
{
    enum found found;
    char own[32];

    *id = NULL;
    if (*name == '\0' || utf8_count(name) > NAME_MAX_CHARS ||
        !utf8_valid(name) || strchr(name, '\''))
        return err_set(e, ERR_USAGE,
                       "an experiment's name is 1 to 500 "
                       "characters, without \"'\": not \"%s\"",
                       name);
    id_of(own, name, 0);
    found = look(root, own, name, e);
    if (found == FREE || found == OTHERS) {
        if (find_experiment(root, name, id, e) < 0)
            return -1;
    }
    for (int k = 1; !*id; k++) {
        if (found == FREE) {
            if (make_experiment(root, own, name, e) < 0)
                return -1;
            found = look(root, own, name, e);
        }
        if (found == UNKNOWN)
            return -1;
        if (found == OURS)
            *id = xstrdup(own);
        id_of(own, name, k);    /* renamed, or damaged: the next one */
        found = look(root, own, name, e);
    }
    return 0;
}

int store_make(const char *root, struct err *e)
{
    char *trash = path_join(root, STORE_TRASH);
    char *first = path_join(root, "0/" STORE_META);
    int ret = path_make(trash, e);

    if (ret == 0 && !path_exists(first))
        ret = make_experiment(root, "0", "Default", e);
    free(first);
    free(trash);
    return ret;
}

/* -- names of runs ----------------------------------------------------- */

/* The number of "run42", or 0. */
static int64_t number_of(const char *name)
{
    int64_t n;

    if (strncmp(name, "run", 3) != 0 || name[3] < '1' || name[3] > '9' ||
        name[3 + strspn(name + 3, "0123456789")] != '\0' ||
        !num_int(name + 3, &n))
        return 0;
    return n;
}

/* The highest number among the names of a folder. */
static int64_t highest(const char *folder)
{
    DIR *dir = opendir(folder);
    int64_t most = 0;

    if (!dir)
        return 0;
    for (const struct dirent *d; (d = readdir(dir));) {
        const int64_t n = number_of(d->d_name);

        most = n > most ? n : most;
    }
    closedir(dir);
    return most;
}

/* The same among the names of all runs, as when no claim was ever made. */
static int64_t highest_run(const char *root)
{
    struct experiments all;
    struct err e = ERR_INIT;
    int64_t most = 0;

    if (experiments_load(&all, root, &e) < 0)
        return 0;
    for (size_t i = 0; i < all.n; i++) {
        struct path_list runs;

        if (path_list(&runs, all.item[i].folder, &e) < 0)
            continue;
        for (size_t j = 0; j < runs.n; j++) {
            struct arena mem = ARENA_INIT;
            struct yaml y;
            char *path = xasprintf("%s/%s/%s", all.item[i].folder, runs.name[j],
                                   STORE_META);

            if (store_is_run(runs.name[j]) &&
                yaml_load(&y, &mem, path, &e) == 0) {
                const char *name = yaml_get(&y, "run_name");
                const int64_t n = name ? number_of(name) : 0;

                most = n > most ? n : most;
            }
            free(path);
            arena_clear(&mem);
        }
        path_list_clear(&runs);
    }
    experiments_free(&all);
    return most;
}

static int claim(const char *folder, const char *name)
{
    char *path = path_join(folder, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    free(path);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? -1 : 0;
}

int store_claim(const char *root, char **name, struct err *e)
{
    char *folder = path_join(root, STORE_NAMES);
    int64_t n;
    int ret = path_make(folder, e);

    *name = NULL;
    n = ret == 0 ? highest(folder) : 0;
    if (ret == 0 && n == 0)
        n = highest_run(root);
    while (ret == 0 && !*name) {
        char *next = xasprintf("run%lld", (long long)++n);

        if (claim(folder, next) == 0)
            *name = next;
        else if (errno != EEXIST)
            ret = err_sys(e, "cannot create %s/%s", folder, next);
        if (!*name)
            free(next);
    }
    free(folder);
    return ret;
}

void store_claimed(const char *root, const char *name)
{
    struct err e = ERR_INIT;
    char *folder;

    if (number_of(name) == 0)
        return;
    folder = path_join(root, STORE_NAMES);
    if (path_make(folder, &e) == 0)
        claim(folder, name);
    free(folder);
}
