#include "config.h"
#include "store/format/store.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/format/secret.h"
#include "common/format/yaml.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/random.h"
#include "common/save.h"
#include "common/utf8.h"

char *store_absolute(const char *path)
{
    struct buf b = BUF_INIT;
    AUTO_FREE char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);

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
    return buf_detach(&b);
}

char *store_uri(const char *path)
{
    struct buf b = BUF_INIT;
    AUTO_FREE char *absolute = store_absolute(path);

    buf_str(&b, "file://");
    percent_add(&b, absolute, PERCENT_PART "/");
    return buf_detach(&b);
}

void store_new_id(char out[33])
{
    unsigned char bits[16];

    random_bytes(bits, sizeof bits);
    bits[6] = (unsigned char)((bits[6] & 0x0f) | 0x40);
    bits[8] = (unsigned char)((bits[8] & 0x3f) | 0x80);
    for (size_t i = 0; i < sizeof bits; i++)
        snprintf(out + 2 * i, 3, "%02x", bits[i]);
}

bool store_is_run(const char *name)
{
    static const char *const reserved[] = { "tags", "datasets", "traces",
                                            "models", NULL };

    for (const char *s = name; *s; s++)
        if (!isalnum((unsigned char)*s) && (s == name || !strchr("-_.", *s)))
            return false;
    return opt_find_word(reserved, name) < 0;
}

bool store_is_id(const char *id)
{
    return strlen(id) == 32 && !id[strspn(id, "0123456789abcdef")];
}

bool store_looks_like_run(const char *folder)
{
    static const char *const inside[] = { "metrics", "params", "tags",
                                          STORE_OWN, NULL };
    const char *name = path_name(folder);
    AUTO(path_list_clear) struct path_list names = { 0 };
    bool is;

    if (!store_is_id(name) || path_list(&names, folder, ERR_IGNORED) < 0)
        return false;
    /* the artifacts of a database are in folders named after runs, too */
    is = names.n == 0;
    for (size_t i = 0; i < names.n; i++)
        is |= opt_find_word(inside, names.name[i]) >= 0;
    return is;
}

/* Create a file that no other thread, process or machine uses; the caller frees
 * its name. */
static int create_temp(const char *name, char **temp)
{
    char word[RANDOM_WORD];
    int fd;

    do {
        random_word(word);
        *temp = xasprintf("%s.%s.tmp", name, word);
        fd = save_create_temp(*temp);
        if (fd < 0 && errno == EEXIST)
            free(*temp);
    } while (fd < 0 && errno == EEXIST);
    return fd;
}

/* Write the data to a temporary file.  Returns its name, which the caller
 * frees, or NULL on failure.  It is open as `out`, and so locked. */
static char *write_temp(const char *name, const void *data, size_t n, bool sync,
                        int *out, struct err *e)
{
    char *temp;
    const int fd = *out = create_temp(name, &temp);
    const char *at = data;
    int ret = 0, copy;

    if (fd < 0) {
        err_sys(e, "cannot create %s", temp);
        free(temp);
        return NULL;
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
    copy = ret == 0 ? dup(fd) : -1;
    if (copy >= 0 && close(copy) < 0) /* some find a full disk here */
        ret = err_sys(e, "cannot write %s", temp);
    if (ret < 0) {
        unlink(temp);
        close(fd);
        free(temp);
        return NULL;
    }
    return temp;
}

int store_write(const char *path, const char *name, const void *data, size_t n,
                bool sync, bool *exists, struct err *e)
{
    int fd;
    AUTO_FREE char *temp = write_temp(name, data, n, sync, &fd, e);
    int ret = temp ? 0 : -1;

    if (exists)
        *exists = false;
    if (temp &&
        (exists ? save_rename_new(temp, path) : rename(temp, path)) < 0) {
        if (exists && errno == EEXIST)
            *exists = true;
        else
            ret = err_sys(e, "cannot write %s", path);
        unlink(temp);
    }
    if (temp)
        close(fd);
    if (ret == 0 && sync)
        ret = save_sync_parent(path, e);
    return ret;
}

bool store_has_files(const char *folder)
{
    AUTO(path_list_clear) struct path_list names = { 0 };

    return path_list(&names, folder, ERR_IGNORED) == 0 && names.n > 0;
}

int store_write_below(const char *folder, const char *path, const char *temp,
                      const void *data, size_t n, bool sync, struct err *e)
{
    struct path_pin to, from = { .fd = -1 };
    AUTO_FREE char *first = temp ? path_join(folder, temp) : xstrdup(path);
    int ret = path_pin(&to, path, folder, e);

    if (ret == 0)
        ret = path_pin(&from, first, folder, e);
    if (ret == 0)
        ret = store_write(to.name, from.name, data, n, sync, NULL, e);
    path_unpin(&from, e);
    path_unpin(&to, e);
    return ret;
}

/* path_pin() for what may be a link itself. */
static int pin_entry(struct path_pin *p, const char *path, const char *folder,
                     struct err *e)
{
    AUTO_FREE char *parent = path_parent(path),
                   *inside = path_join(parent, ".");
    const int ret = path_pin(p, inside, folder, e);

    if (ret == 0) {
        free(p->name);
        p->name = path_join(p->at, path_name(path));
    }
    return ret;
}

int store_remove_below(const char *folder, const char *path, bool sync,
                       struct err *e)
{
    struct path_pin pin;
    int ret = pin_entry(&pin, path, folder, e);

    if (ret == 0 && unlink(pin.name) == 0)
        ret = sync ? save_sync_parent(pin.name, e) : 0;
    else if (ret == 0 && errno != ENOENT)
        ret = err_sys(e, "cannot remove %s", path);
    path_unpin(&pin, e);
    return ret;
}

int store_rename_below(const char *folder, const char *from, const char *to_top,
                       const char *to, struct err *e)
{
    struct path_pin a, b = { .fd = -1 };
    int ret = pin_entry(&a, from, folder, e);

    if (ret == 0)
        ret = pin_entry(&b, to, to_top, e);
    if (ret == 0 && rename(a.name, b.name) < 0)
        ret = err_sys(e, "cannot rename %s", from);
    path_unpin(&b, e);
    path_unpin(&a, e);
    return ret;
}

/* A path, with the folders of it below another one made; NULL if that fails. */
static char *make_folders(char *path, const char *folder, struct err *e)
{
    if (path_make_below(path, folder, e) == 0)
        return path;
    free(path);
    return NULL;
}

char *store_names_file(const char *root, const char *name, struct err *e)
{
    return make_folders(xasprintf("%s/" STORE_NAMES "/%s", root, name), root,
                        e);
}

/* The writer of a run names its temporary files so. */
static bool is_of_writer(const char *name)
{
    return strncmp(name, "attempt.", 8) == 0 ||
           strncmp(name, "artifact.", 9) == 0 ||
           strncmp(name, "metric.", 7) == 0;
}

void store_clear_temps(const char *run, const char *now)
{
    enum { MOST_SECS = 60 };
    AUTO_FREE char *folder = path_join(run, STORE_OWN);
    AUTO(path_list_clear) struct path_list names = { 0 };
    struct stat fresh, st;

    if (!path_is_link(folder) && stat(now, &fresh) == 0)
        path_list(&names, folder, ERR_IGNORED);
    for (size_t i = 0; i < names.n; i++) {
        const char *path = path_listed(&names, i);

        if (str_ends(path, ".tmp") && lstat(path, &st) == 0 &&
            (is_of_writer(names.name[i]) ||
             fresh.st_mtim.tv_sec - st.st_mtim.tv_sec > MOST_SECS))
            unlink(path);
        else if (str_ends(path, ".tmp"))
            save_remove_left(path);
    }
}

int store_make_own(const char *run, struct err *e)
{
    AUTO_FREE char *own = path_join(run, STORE_OWN "/");

    return path_make_below(own, run, e);
}

int store_value(const char *run, const char *kind, const char *file,
                const char *value, bool sync, struct err *e)
{
    AUTO_FREE char *path = xasprintf("%s/%s/%s", run, kind, file);
    AUTO(buf_clear) struct buf clean = BUF_INIT, masked = BUF_INIT;
    int ret;

    if (value) {
        utf8_clean(&clean, value, strlen(value));
        secret_mask_named(&masked, file, clean.s);
        ret = store_write_below(run, path, STORE_OWN "/value", masked.s,
                                masked.len, sync, e);
    } else {
        ret = store_remove_below(run, path, sync, e);
    }
    return ret;
}

void store_touch(const char *run)
{
    AUTO_FREE char *meta = path_join(run, STORE_META);

    utimensat(AT_FDCWD, meta, NULL, AT_SYMLINK_NOFOLLOW);
}

int store_artifact_write(const char *run, const char *name, const void *data,
                         size_t n, bool sync, struct err *e)
{
    AUTO_FREE char *path = xasprintf("%s/artifacts/%s", run, name);

    return store_write_below(run, path, STORE_OWN "/artifact", data, n, sync,
                             e);
}

char *store_artifact(const char *run, const char *name, struct err *e)
{
    return make_folders(xasprintf("%s/artifacts/%s", run, name), run, e);
}

int store_rename_damaged(const char *path, struct err *e)
{
    AUTO_FREE char *aside = xasprintf("%s.damaged", path);
    int ret = 0;

    for (int i = 2; path_exists(aside); i++) {
        free(aside);
        aside = xasprintf("%s.damaged%d", path, i);
    }
    if (rename(path, aside) < 0 && errno != ENOENT)
        ret = err_sys(e, "cannot rename %s", path);
    return ret;
}

/* -- names and colours of runs ----------------------------------------- */

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

/* The highest number in the names of all runs, for a store without claims. */
static int64_t highest_run(const char *root)
{
    AUTO(experiments_free) struct experiments all = { 0 };
    int64_t most = 0;

    if (experiments_load(&all, root, PATH_NO_LINKS, ERR_IGNORED) < 0)
        return 0;
    for (size_t i = 0; i < all.n; i++) {
        AUTO(path_list_clear) struct path_list runs = { 0 };

        if (path_list(&runs, all.item[i].folder, ERR_IGNORED) < 0)
            continue;
        for (size_t j = 0; j < runs.n; j++) {
            AUTO(arena_clear) struct arena mem = { 0 };
            struct yaml y;
            AUTO_FREE char *path = xasprintf("%s/%s/%s", all.item[i].folder,
                                             runs.name[j], STORE_META);

            if (store_is_run(runs.name[j]) &&
                yaml_load(&y, &mem, path, PATH_NO_LINKS, false, ERR_IGNORED) ==
                    0) {
                const char *name = yaml_get(&y, "run_name");
                const int64_t n = name ? number_of(name) : 0;

                most = n > most ? n : most;
            }
        }
    }
    return most;
}

static int claim(const char *path)
{
    AUTO(path_close)
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    return fd < 0 ? -1 : 0;
}

int store_claim(const char *root, char **name, struct err *e)
{
    char *path = store_names_file(root, "run1", e), *folder;
    int64_t n;
    int ret = 0;

    *name = NULL;
    if (!path)
        return -1;
    folder = path_parent(path);
    n = highest(folder);
    if (n == 0)
        n = highest_run(root);
    while (ret == 0 && !*name) {
        free(path);
        path = xasprintf("%s/run%lld", folder, (long long)++n);
        if (claim(path) == 0)
            *name = xstrdup(path_name(path));
        else if (errno != EEXIST)
            ret = err_sys(e, "cannot create %s", path);
    }
    FREE(folder, path);
    return ret;
}

void store_claimed(const char *root, const char *name)
{
    AUTO_FREE char *path =
        number_of(name) > 0 ? store_names_file(root, name, ERR_IGNORED) : NULL;

    if (path)
        claim(path);
}

/* Each run appends a byte to a file, and its number is where that byte ends:
 * runs that begin at the same time get different numbers, without a lock. */
int store_next_colour(const char *root)
{
    enum {
        HOW =
            O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    };
    AUTO_FREE char *path = store_names_file(root, "colours", ERR_IGNORED);
    AUTO(path_close)
    const int fd = path ? open(path, HOW, 0666) : -1; /* of a pipe: -1 */
    off_t end = 0;

    if (fd >= 0 && write(fd, "\n", 1) == 1)
        end = lseek(fd, 0, SEEK_CUR);
    return end > 0 ? (int)((end - 1) % STORE_COLOURS) + 1 : 0;
}

/* ---- digests ------------------------------------------------------------ */

/* clang-format off */
static const uint32_t sine[64] = {      /* floor(2^32 * abs(sin(i + 1))) */
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a,
    0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be,
    0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340,
    0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8,
    0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c,
    0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
    0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92,
    0xffeff47d, 0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1,
    0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

static const uint8_t turn[4][4] = {
    { 7, 12, 17, 22 }, { 5, 9, 14, 20 }, { 4, 11, 16, 23 }, { 6, 10, 15, 21 },
};
/* clang-format on */

static void block(uint32_t state[4], const unsigned char *p)
{
    uint32_t w[16], a = state[0], b = state[1], c = state[2], d = state[3];

    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] | (uint32_t)p[4 * i + 1] << 8 |
               (uint32_t)p[4 * i + 2] << 16 | (uint32_t)p[4 * i + 3] << 24;
    for (int i = 0; i < 64; i++) {
        const int round = i / 16, by = turn[round][i % 4];
        uint32_t f, next;
        int g;

        switch (round) {
        case 0:
            f = (b & c) | (~b & d);
            g = i;
            break;
        case 1:
            f = (d & b) | (~d & c);
            g = (5 * i + 1) % 16;
            break;
        case 2:
            f = b ^ c ^ d;
            g = (3 * i + 5) % 16;
            break;
        default:
            f = c ^ (b | ~d);
            g = (7 * i) % 16;
            break;
        }
        f += a + sine[i] + w[g];
        next = b + (f << by | f >> (32 - by));
        a = d;
        d = c;
        c = b;
        b = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void md5(const void *data, size_t n, unsigned char out[16])
{
    uint32_t state[4] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476 };
    const unsigned char *p = data;
    unsigned char tail[128] = { 0 };
    const uint64_t bits = (uint64_t)n * 8;
    const size_t rest = n % 64, whole = n - rest;
    const size_t end = rest < 56 ? 64 : 128;

    for (size_t i = 0; i < whole; i += 64)
        block(state, p + i);
    if (rest)
        memcpy(tail, p + whole, rest);
    tail[rest] = 0x80;
    for (size_t i = 0; i < 8; i++)
        tail[end - 8 + i] = (unsigned char)(bits >> (8 * i));
    for (size_t i = 0; i < end; i += 64)
        block(state, tail + i);
    for (size_t i = 0; i < 16; i++)
        out[i] = (unsigned char)(state[i / 4] >> (8 * (i % 4)));
}

void md5_hex(const void *data, size_t n, char out[33])
{
    unsigned char sum[16];

    md5(data, n, sum);
    for (size_t i = 0; i < sizeof sum; i++)
        snprintf(out + 2 * i, 3, "%02x", sum[i]);
}
