/*
 * experiment - the experiments of a store: find, list and create them
 */
#include "config.h"
#include "common/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/format/yaml.h"
#include "common/log.h"
#include "common/path.h"
#include "common/utf8.h"
#include "store/format/store.h"

enum { NAME_MAX_CHARS = 500 };

/* The k-th id for a name: 18 digits, the first of them not 0. */
static void id_of(char out[32], const char *name, int k)
{
    unsigned char sum[16];
    uint64_t n = 0;
    AUTO(buf_clear) struct buf b = BUF_INIT;

    if (strcmp(name, "Default") == 0 && k == 0) {
        snprintf(out, 32, "0");
        return;
    }
    buf_str(&b, name);
    if (k > 0)
        buf_printf(&b, "\n%d", k);
    md5(b.s, b.len, sum);
    for (int i = 0; i < 8; i++)
        n = n << 8 | sum[i];
    n = 100000000000000000u + n % 900000000000000000u;
    snprintf(out, 32, "%llu", (unsigned long long)n);
}

static char *kept_name_path(const char *root, const char *id)
{
    return xasprintf("%s/" STORE_NAMES "/experiment.%s", root, id);
}

/* Note the name of an experiment, in case its meta.yaml is lost. */
static void keep_name(const char *root, const char *id, const char *name)
{
    AUTO_FREE char *path = kept_name_path(root, id);
    struct err e = { 0 };

    if (store_write_below(root, path, NULL, name, strlen(name), false, &e) < 0)
        log_warn("the name of the experiment %s cannot be recorded: %s", name,
                 e.text);
}

/* The name of an experiment whose meta.yaml cannot be read: as noted when it
 * was created, or from a single line of that file. */
static const char *lost_name(struct arena *mem, const char *root,
                             const struct experiment *x)
{
    AUTO_FREE char *kept = kept_name_path(root, x->id);
    AUTO_FREE char *meta = path_join(x->folder, STORE_META);
    const char *name = strcmp(x->id, "0") == 0 ? "Default" : x->id;
    AUTO(buf_clear) struct buf b = BUF_INIT;
    struct yaml y;

    if (buf_read_unlinked(&b, kept, NAME_MAX_CHARS * 4, ERR_IGNORED) == 0 &&
        b.len) {
        name = arena_strdup(mem, b.s);
    } else if (buf_read_unlinked(&b, meta, YAML_MAX, ERR_IGNORED) == 0) {
        const char *line =
            strncmp(b.s, "name: ", 6) == 0 ? b.s : strstr(b.s, "\nname: ");

        line += line && *line == '\n';
        if (line &&
            yaml_parse(&y, mem, line, strcspn(line, "\n"), false,
                       ERR_IGNORED) == 0 &&
            yaml_get(&y, "name") && *yaml_get(&y, "name"))
            name = yaml_get(&y, "name");
    }
    return name;
}

static bool has_run(const char *folder)
{
    AUTO(path_list_clear) struct path_list inside = { 0 };
    bool found = false;

    if (path_list(&inside, folder, ERR_IGNORED) < 0)
        return false;
    for (size_t i = 0; i < inside.n && !found; i++)
        found = store_looks_like_run(path_listed(&inside, i));
    return found;
}

/* MLflow lists no experiment at all if one of them lacks these. */
static const char *missing_key(const struct yaml *y)
{
    static const char *const keys[][2] = {
        { "name", "meta.yaml has no name" },
        { "experiment_id", "meta.yaml has no experiment_id" },
        { "artifact_location", "meta.yaml has no artifact_location" },
        { "lifecycle_stage", "meta.yaml has no lifecycle_stage" },
    };

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (!yaml_get(y, keys[i][0]))
            return keys[i][1];
    return NULL;
}

static int load_one(struct experiment *x, struct arena *mem, const char *root,
                    const char *folder, bool trash, enum path_links links)
{
    AUTO_FREE char *path = path_join(folder, STORE_META);
    struct err e = { 0 };
    struct yaml y;
    int ret;

    *x = (struct experiment){ .id = arena_strdup(mem, path_name(folder)),
                              .folder = arena_strdup(mem, folder),
                              .deleted = trash };
    ret = yaml_load(&y, mem, path, links, false, &e);
    if (ret < 0) {
        const bool gone = e.kind == ERR_MISSING;

        if (gone && !has_run(folder))
            return -1;
        x->name = lost_name(mem, root, x);
        x->damage = gone ? "meta.yaml is missing" : arena_strdup(mem, e.text);
        x->unread = e.kind == ERR_SYSTEM;
        return 0;
    }
    x->name = yaml_get(&y, "name");
    x->location = yaml_get(&y, "artifact_location");
    yaml_int(&y, "creation_time", &x->created_ms);
    yaml_int(&y, "last_update_time", &x->updated_ms);
    x->damage = missing_key(&y);
    if (!x->name)
        x->name = lost_name(mem, root, x);
    if (!x->damage && strcmp(yaml_get(&y, "experiment_id"), x->id) != 0)
        x->damage = "meta.yaml has another experiment_id than the folder";
    return 0;
}

static int load_folder(struct experiments *all, const char *root,
                       const char *folder, bool trash, enum path_links links,
                       struct err *e)
{
    AUTO(path_list_clear) struct path_list names = { 0 };

    if (path_list(&names, folder, e) < 0)
        return -1;
    for (size_t i = 0; i < names.n; i++) {
        const char *path = path_listed(&names, i);

        if (!isalnum((unsigned char)names.name[i][0]) ||
            strcmp(names.name[i], "models") == 0 ||
            str_ends(names.name[i], STORE_TRASH) || !path_may_be_folder(path))
            continue;
        GROW(all->item, all->n, all->room);
        if (load_one(&all->item[all->n], &all->mem, root, path, trash, links) ==
            0)
            all->n++;
    }
    return 0;
}

int experiments_load(struct experiments *all, const char *root,
                     enum path_links links, struct err *e)
{
    AUTO_FREE char *trash = path_join(root, STORE_TRASH);
    int ret;

    *all = (struct experiments){ 0 };
    ret = load_folder(all, root, root, false, links, e);
    if (ret == 0)
        load_folder(all, root, trash, true, links, ERR_IGNORED);
    if (ret == 0 && all->n == 0 && !path_is_folder(trash) &&
        store_has_files(root))
        ret = err_set(e, ERR_MISSING, "%s is not a store: it has no experiment",
                      root);
    else if (ret < 0 && e->kind == ERR_MISSING)
        err_set(e, ERR_MISSING,
                "there is no store at %s; --root or GTRACK_ROOT names another",
                root);
    return ret;
}

void experiments_free(struct experiments *all)
{
    arena_clear(&all->mem);
    free(all->item);
    *all = (struct experiments){ 0 };
}

/* Any process that creates this experiment at the same time writes the same
 * text, so it does not matter whose file stays. */
static int make_experiment(const char *root, const char *id, const char *name,
                           struct err *e)
{
    char *folder = path_join(root, id), *path = path_join(folder, STORE_META);
    char random[33], *fresh, *uri = store_uri(folder);
    const int64_t now = clock_wall_ms();
    AUTO(buf_clear) struct buf text = BUF_INIT;
    bool exists;
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
        ret = store_write(path, fresh, text.s, text.len, true, &exists, e);
    if (ret == 0)
        keep_name(root, id, name);
    FREE(fresh, uri, path, folder);
    return ret;
}

/* The content of an id's folder: nothing, our experiment, or another one. */
enum found { FREE, OURS, OTHERS, UNKNOWN };

static enum found look(const char *root, const char *id, const char *name,
                       struct err *e)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    AUTO_FREE char *path = xasprintf("%s/%s/%s", root, id, STORE_META);
    struct err why = { 0 };
    enum found found = OTHERS;
    struct yaml y;

    if (yaml_load(&y, &mem, path, PATH_NO_LINKS, false, &why) == 0) {
        const char *is = yaml_get(&y, "name");

        if (is && strcmp(is, name) == 0)
            found = OURS;
    } else if (why.kind == ERR_MISSING) {
        found = FREE;
    } else if (why.kind != ERR_INPUT) {
        found = UNKNOWN;
        *e = why;
    }
    return found;
}

static int find_experiment(const char *root, const char *name, char **id,
                           struct err *e)
{
    AUTO(experiments_free) struct experiments all = { 0 };

    if (experiments_load(&all, root, PATH_NO_LINKS, e) < 0)
        return -1;
    for (size_t i = 0; i < all.n && !*id; i++) {
        if (strcmp(all.item[i].name, name) != 0)
            continue;
        if (all.item[i].deleted)
            return err_usage(e,
                             "the experiment %s is deleted: "
                             "restore it, or choose another name",
                             name);
        *id = xstrdup(all.item[i].id);
    }
    return 0;
}

int store_experiment(const char *root, const char *name, char **id,
                     struct err *e)
{
    enum found found;
    char own[32];

    *id = NULL;
    if (*name == '\0' || utf8_count(name) > NAME_MAX_CHARS ||
        !utf8_valid(name) || strchr(name, '\''))
        return err_usage(e,
                         "the name of an experiment has 1 to 500 "
                         "characters, without \"'\": not \"%s\"",
                         name);
    for (int k = 0; !*id; k++) { /* renamed or damaged: the next one */
        id_of(own, name, k);
        found = look(root, own, name, e);
        if (k == 0 && (found == FREE || found == OTHERS) &&
            find_experiment(root, name, id, e) < 0)
            return -1;
        if (found == FREE && !*id) {
            if (make_experiment(root, own, name, e) < 0)
                return -1;
            found = look(root, own, name, e);
        }
        if (found == UNKNOWN)
            return -1;
        if (found == OURS)
            *id = xstrdup(own);
    }
    return 0;
}

int store_make(const char *root, struct err *e)
{
    AUTO_FREE char *trash = path_join(root, STORE_TRASH);
    AUTO_FREE char *first = path_join(root, "0/" STORE_META);

    if (path_make(trash, e) < 0)
        return -1;
    return path_exists(first) ? 0 : make_experiment(root, "0", "Default", e);
}
