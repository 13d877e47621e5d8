#include "config.h"
#include "store/read/index.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/save.h"
#include "common/path.h"
#include "store/format/attempt.h"
#include "store/format/store.h"

enum { INDEX_MAX = 1 << 30, FRESH_SECS = 2 };

static const char magic[16] = "gtrack index 9\n";

/* -- watching ---------------------------------------------------------- */

/* A hash of what was hashed before and of the numbers by which a change of a
 * file is noticed; NULL for one that is missing. */
static struct hash128 hash_state(struct hash128 before, const struct stat *st)
{
    uint64_t word[7] = { before.hi, before.lo };

    if (st) {
        word[2] = st->st_ino;
        word[3] = st->st_mode;
        word[4] = S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size;
        word[5] = (uint64_t)st->st_mtim.tv_sec * 1000000000u +
                  (uint64_t)st->st_mtim.tv_nsec;
        word[6] = (uint64_t)st->st_ctim.tv_sec * 1000000000u +
                  (uint64_t)st->st_ctim.tv_nsec;
    }
    return hash128(word, sizeof word, 0);
}

void watch_add(struct watch *w, const char *run, const char *path,
               enum watch_when when)
{
    const char *inside = path + strlen(run) + 1;
    const int64_t now = clock_wall_ms() / 1000;
    struct stat st;
    const bool found = stat(path, &st) == 0;

    buf_char(&w->paths, (char)when);
    buf_add(&w->paths, inside, strlen(inside) + 1);
    w->hash = hash_state(w->hash, found ? &st : NULL);
    if (when == WATCH_ALWAYS)
        w->ended = hash_state(w->ended, found ? &st : NULL);
    if (!found)
        return;
    w->bytes += S_ISREG(st.st_mode) ? st.st_size : 0;
    if (st.st_ctim.tv_sec >= now - FRESH_SECS ||
        st.st_mtim.tv_sec >= now - FRESH_SECS)
        w->fresh = true;
}

void watch_clear(struct watch *w)
{
    buf_clear(&w->paths);
    *w = WATCH_INIT;
}

/* Is everything unchanged that is watched then?  Paths relative to the run take
 * half the time; for a few it is not worth opening. */
static bool is_unchanged(const struct index *x, const char *key,
                         const char *paths, size_t n, enum watch_when when,
                         struct hash128 was)
{
    const bool few = when == WATCH_ALWAYS;
    const int fd =
        few ? x->root_fd
            : openat(x->root_fd, key, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct hash128 h = { 0 };
    AUTO(buf_clear) struct buf path = BUF_INIT;
    size_t folder;

    if (fd < 0)
        return false;
    buf_str(&path, key);
    buf_char(&path, '/');
    folder = path.len;
    for (const char *p = paths; p < paths + n; p += strlen(p) + 1) {
        struct stat st;

        if (*p < (char)when)
            continue;
        buf_trim(&path, folder);
        buf_str(&path, p + 1);
        h = hash_state(h, fstatat(fd, few ? path.s : p + 1, &st, 0) < 0 ? NULL
                                                                        : &st);
    }
    if (!few)
        close(fd);
    return h.hi == was.hi && h.lo == was.lo;
}

/* Has it ended, and did a program of ours write it, so that few of its files
 * need to be watched? */
static bool has_ended(const struct run_info *r)
{
    return r->status != RUN_RUNNING && r->status != RUN_SCHEDULED &&
           !r->damage && !r->torn &&
           (r->attempts ? r->attempt[r->attempts - 1].status != RUN_RUNNING
                        : run_info_tag(r, STORE_COLOUR_TAG) != NULL);
}

/* Which members of a struct are strings. */
struct texts {
    size_t n;
    size_t at[8]; /* their offsets */
};

#define PAIR(member)    offsetof(struct pair, member)
#define DATASET(member) offsetof(struct run_dataset, member)
#define ATTEMPT(member) offsetof(struct attempt, member)
#define RUN(member)     offsetof(struct run_info, member)

static const struct texts pair_texts = { 2, { PAIR(key), PAIR(value) } };

static const struct texts input_texts = {
    7,
    { DATASET(name), DATASET(digest), DATASET(source), DATASET(source_type),
      DATASET(schema), DATASET(profile), DATASET(context) },
};

static const struct texts attempt_texts = {
    8,
    { ATTEMPT(host), ATTEMPT(boot), ATTEMPT(pids), ATTEMPT(lock), ATTEMPT(job),
      ATTEMPT(user), ATTEMPT(command), ATTEMPT(reason) },
};

static const struct texts run_texts = {
    6,
    { RUN(id), RUN(name), RUN(artifact_uri), RUN(user), RUN(damage),
      RUN(torn) },
};

/* The numbers of a metric, which follow its key, and of an attempt, between its
 * status and its strings, are copied as they are. */
enum {
    METRIC_AT = sizeof(const char *),
    METRIC_SIZE = sizeof(struct metric_sum) - METRIC_AT,
    ATTEMPT_AT = ATTEMPT(start_ms),
    ATTEMPT_SIZE = ATTEMPT(host) - ATTEMPT_AT,
};

/* -- packing ----------------------------------------------------------- */

static void pack_u32(struct buf *b, uint32_t n)
{
    buf_add(b, &n, sizeof n);
}

static void pack_i64(struct buf *b, int64_t n)
{
    buf_add(b, &n, sizeof n);
}

static void pack_bytes(struct buf *b, const void *data, size_t n)
{
    pack_u32(b, (uint32_t)n);
    buf_add(b, data, n);
}

static void pack_text(struct buf *b, const char *s)
{
    pack_bytes(b, s, s ? strlen(s) + 1 : 0);
}

static void pack_texts(struct buf *b, const struct texts *texts,
                       const void *from)
{
    for (size_t i = 0; i < texts->n; i++) {
        const char *s;

        memcpy(&s, (const char *)from + texts->at[i], sizeof s);
        pack_text(b, s);
    }
}

static void pack_pairs(struct buf *b, const struct pair *p, size_t n)
{
    pack_u32(b, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        pack_texts(b, &pair_texts, &p[i]);
}

void pack_run(struct buf *b, const struct run_info *r)
{
    pack_texts(b, &run_texts, r);
    pack_i64(b, r->status);
    pack_i64(b, r->deleted);
    pack_i64(b, r->start_ms);
    pack_i64(b, r->end_ms);
    pack_pairs(b, r->params, r->n_params);
    pack_pairs(b, r->tags, r->n_tags);
    pack_u32(b, (uint32_t)r->n_metrics);
    for (size_t i = 0; i < r->n_metrics; i++) {
        pack_text(b, r->metrics[i].key);
        buf_add(b, (const char *)&r->metrics[i] + METRIC_AT, METRIC_SIZE);
    }
    pack_u32(b, (uint32_t)r->n_inputs);
    for (size_t i = 0; i < r->n_inputs; i++)
        pack_texts(b, &input_texts, &r->inputs[i]);
    pack_u32(b, (uint32_t)r->attempts);
    for (int i = 0; i < r->attempts; i++) {
        const struct attempt *a = &r->attempt[i];

        pack_i64(b, a->number);
        pack_i64(b, a->status);
        buf_add(b, (const char *)a + ATTEMPT_AT, ATTEMPT_SIZE);
        pack_texts(b, &attempt_texts, a);
    }
}

/* -- unpacking --------------------------------------------------------- */

static inline void read_bytes(struct unpack *u, void *out, size_t n)
{
    if (!u->good || n > (size_t)(u->end - u->at)) {
        memset(out, 0, n);
        u->good = false;
        return;
    }
    memcpy(out, u->at, n);
    u->at += n;
}

static uint32_t unpack_u32(struct unpack *u)
{
    uint32_t n;

    read_bytes(u, &n, sizeof n);
    return n;
}

static int64_t unpack_i64(struct unpack *u)
{
    int64_t n;

    read_bytes(u, &n, sizeof n);
    return n;
}

static const char *unpack_bytes(struct unpack *u, uint32_t *n)
{
    const char *s = u->at + sizeof *n;

    *n = unpack_u32(u);
    if (!u->good || *n > (size_t)(u->end - u->at)) {
        u->good = false;
        *n = 0;
        return NULL;
    }
    u->at += *n;
    return s;
}

static const char *unpack_text(struct unpack *u)
{
    uint32_t n;
    const char *s = unpack_bytes(u, &n);

    if (n > 0 && s[n - 1] != '\0')
        u->good = false;
    return u->good && n > 0 ? s : NULL;
}

/* A copy of a text, or that of the run before, if it had the same one here. */
static const char *keep_text(struct unpack *u)
{
    const char **kept = &u->keep->text[u->keep->n++ % UNPACK_TEXTS];
    const char *s = unpack_text(u);

    if (s && (!*kept || strcmp(*kept, s) != 0))
        *kept = arena_strdup(&u->keep->mem, s);
    return s ? *kept : NULL;
}

static void unpack_texts(struct unpack *u, const struct texts *texts, void *to)
{
    for (size_t i = 0; i < texts->n; i++) {
        const char *s = keep_text(u);

        memcpy((char *)to + texts->at[i], &s, sizeof s);
    }
}

/* An array of elements, each of which takes at least `least` bytes; *n becomes
 * their number. */
static void *unpack_array(struct unpack *u, size_t least, size_t size,
                          size_t *n)
{
    *n = unpack_u32(u);
    if (!u->good || *n > (size_t)(u->end - u->at) / least) {
        u->good = false;
        *n = 0;
    }
    return arena_alloc(&u->keep->mem, *n * size);
}

enum { TEXT_LEAST = sizeof(uint32_t) }; /* the length; a NULL is that alone */

static struct pair *unpack_pairs(struct unpack *u, size_t *n)
{
    struct pair *p = unpack_array(u, 2 * TEXT_LEAST, sizeof *p, n);

    for (size_t i = 0; i < *n; i++) {
        unpack_texts(u, &pair_texts, &p[i]);
        u->good = u->good && p[i].key && p[i].value;
    }
    return p;
}

static void unpack_attempt(struct unpack *u, struct attempt *a)
{
    a->number = (int)unpack_i64(u);
    a->status = (enum run_status)unpack_i64(u);
    read_bytes(u, (char *)a + ATTEMPT_AT, ATTEMPT_SIZE);
    unpack_texts(u, &attempt_texts, a);
}

bool unpack_run(struct unpack *u, struct run_info *r)
{
    struct attempt *a;
    size_t n;

    u->keep->n = 0;
    unpack_texts(u, &run_texts, r);
    r->status = (enum run_status)unpack_i64(u);
    r->deleted = unpack_i64(u) != 0;
    r->start_ms = unpack_i64(u);
    r->end_ms = unpack_i64(u);
    r->params = unpack_pairs(u, &r->n_params);
    r->tags = unpack_pairs(u, &r->n_tags);
    r->metrics = unpack_array(u, TEXT_LEAST + METRIC_SIZE, sizeof *r->metrics,
                              &r->n_metrics);
    for (size_t i = 0; i < r->n_metrics; i++) {
        r->metrics[i].key = keep_text(u);
        read_bytes(u, (char *)&r->metrics[i] + METRIC_AT, METRIC_SIZE);
        u->good = u->good && r->metrics[i].key;
    }
    r->inputs =
        unpack_array(u, 7 * TEXT_LEAST, sizeof *r->inputs, &r->n_inputs);
    for (size_t i = 0; i < r->n_inputs; i++) {
        unpack_texts(u, &input_texts, &r->inputs[i]);
        u->good = u->good && r->inputs[i].name;
    }
    a = unpack_array(u, 2 * sizeof(int64_t) + ATTEMPT_SIZE + 8 * TEXT_LEAST,
                     sizeof *a, &n);
    for (size_t i = 0; i < n; i++)
        unpack_attempt(u, &a[i]);
    r->attempts = (int)n;
    r->attempt = n ? a : NULL;
    return u->good && r->id && r->user;
}

/* -- the file ---------------------------------------------------------- */

/*
 * The magic, then a record for each run: the length and the hash of what
 * follows, the key, whether it has ended, the hashes of what is watched always
 * and of everything, the paths of that, and the run (pack_run()).
 */
struct index_slot {
    const char *key;
    uint32_t at, size; /* of the record, after its length and hash */
};

struct index_news {
    char *key;
    struct buf record; /* empty: what the file has is not right */
};

char *index_path(const char *of, const char *ending)
{
    const char *own = getenv("GTRACK_CACHE");
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    AUTO_FREE char *absolute = store_absolute(of);
    char name[33];

    md5_hex(absolute, strlen(absolute), name);
    if (own && *own)
        return xasprintf("%s/%s%s", own, name, ending);
    if (!own && xdg && xdg[0] == '/')
        return xasprintf("%s/gtrack/%s%s", xdg, name, ending);
    if (!own && home && home[0] == '/')
        return xasprintf("%s/.cache/gtrack/%s%s", home, name, ending);
    return NULL;
}

char *index_folder(const char *root)
{
    char *path = index_path(root, ".index"),
         *folder = path ? path_parent(path) : NULL;
    const char *own = getenv("GTRACK_CACHE");

    if (folder && path_make(folder, ERR_IGNORED) == 0 && !(own && *own))
        chmod(folder, 0700);
    free(path);
    return folder;
}

/* It is never changed, only replaced, so it can be mapped. */
static bool map_file(struct index *x)
{
    const int fd = path_open(x->path, PATH_FOLLOW_LINKS, ERR_IGNORED);
    struct stat st;
    void *map;

    if (path_map(&map, &st, fd, x->path, ERR_IGNORED) < 0)
        return false;
    x->data = map;
    x->size = (size_t)st.st_size;
    return x->size >= sizeof magic && x->size <= INDEX_MAX &&
           memcmp(x->data, magic, sizeof magic) == 0;
}

/* Find the records; false if they are malformed. */
static bool read_records(struct index *x)
{
    struct unpack u = { x->data + sizeof magic, x->data + x->size, true, NULL };
    size_t room = 0;
    bool sorted = true; /* mostly: index_save() gets the keys so */

    while (u.good && u.at < u.end) {
        const uint32_t size = unpack_u32(&u);
        const char *const start = u.at + sizeof(struct hash128);
        struct index_slot slot;

        if (!u.good || (size_t)(u.end - u.at) < sizeof(struct hash128) ||
            size > (size_t)(u.end - start))
            return false;
        u.at = start;
        slot = (struct index_slot){ unpack_text(&u),
                                    (uint32_t)(start - x->data), size };
        if (!u.good || !slot.key || u.at > start + size)
            return false;
        u.at = start + size;
        if (x->n_slots && strcmp(x->slot[x->n_slots - 1].key, slot.key) > 0)
            sorted = false;
        APPEND(x->slot, x->n_slots, room) = slot;
    }
    SORT(x->slot, sorted ? 0 : x->n_slots, str_compare);
    return true;
}

void index_open(struct index *x, const char *root, bool all)
{
    *x = (struct index){
        .all = all,
        .root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC),
        .path = index_path(root, ".index"),
    };
    pthread_mutex_init(&x->lock, NULL);
    if (!x->path || !map_file(x))
        return;
    if (!read_records(x)) {
        free(x->slot);
        x->slot = NULL;
        x->n_slots = 0;
    }
}

static const struct index_slot *find_slot(const struct index *x,
                                          const char *key)
{
    const struct index_slot wanted = { .key = key };

    return x->n_slots ? bsearch(&wanted, x->slot, x->n_slots, sizeof wanted,
                                str_compare)
                      : NULL;
}

/* Is the record as it was written? */
static bool is_sound(const struct index *x, const struct index_slot *slot)
{
    const char *record = x->data + slot->at;
    const struct hash128 hash = hash128(record, slot->size, 0);

    return memcmp(record - sizeof hash, &hash, sizeof hash) == 0;
}

bool index_get(struct index *x, const char *key, struct run_info *run,
               struct unpack_keep *keep)
{
    const struct index_slot *slot = find_slot(x, key);
    struct unpack u;
    const char *paths;
    struct hash128 was[2];
    bool ended;
    uint32_t n;

    if (!slot || !is_sound(x, slot))
        return false;
    u = (struct unpack){ x->data + slot->at, x->data + slot->at + slot->size,
                         true, keep };
    unpack_text(&u);
    ended = unpack_u32(&u) != 0;
    for (int i = 0; i < 2; i++) {
        was[i].hi = (uint64_t)unpack_i64(&u);
        was[i].lo = (uint64_t)unpack_i64(&u);
    }
    paths = unpack_bytes(&u, &n);
    if (!u.good || (n > 0 && paths[n - 1] != '\0') ||
        (ended && !is_unchanged(x, key, paths, n, WATCH_ALWAYS, was[0])))
        return false;
    if ((!ended || x->all) &&
        !is_unchanged(x, key, paths, n, WATCH_RUNNING, was[1])) {
        run->edited = ended;
        return false;
    }
    return unpack_run(&u, run);
}

void index_put(struct index *x, const char *key, const struct run_info *run,
               const struct watch *w)
{
    struct buf b = BUF_INIT;
    const bool known = w && !w->fresh;

    if (!x->path || (!known && !run->edited))
        return;
    if (known) {
        pack_text(&b, key);
        pack_u32(&b, has_ended(run));
        buf_add(&b, &w->ended, sizeof w->ended);
        buf_add(&b, &w->hash, sizeof w->hash);
        pack_bytes(&b, w->paths.s, w->paths.len);
        pack_run(&b, run);
    }
    pthread_mutex_lock(&x->lock);
    APPEND(x->news, x->n_news, x->room) =
        (struct index_news){ xstrdup(key), b };
    x->bytes += known ? w->bytes : 0;
    x->edited |= run->edited;
    pthread_mutex_unlock(&x->lock);
}

/* Writing costs as much as all runs do; reading these again, less. */
static bool is_worth_it(const struct index *x, size_t n)
{
    return x->edited || x->n_news >= 32 || x->n_news * 8 >= n ||
           x->bytes >= 1 << 20;
}

static void put_record(struct buf *b, const void *data, size_t n)
{
    const struct hash128 hash = hash128(data, n, 0);

    pack_u32(b, (uint32_t)n);
    buf_add(b, &hash, sizeof hash);
    buf_add(b, data, n);
}

void index_write(const char *path, const struct buf *b)
{
    AUTO_FREE char *temp = xasprintf("%s.new", path);
    FILE *fp = NULL;

    if (path_make_parent(path, ERR_IGNORED) == 0) {
        /* what a killed process left is written again; another one that
         * writes has the lock */
        const int fd = filelock_open(temp, 0600, ERR_IGNORED);

        if (fd >= 0 && ftruncate(fd, 0) == 0)
            fp = fdopen(fd, "w");
        if (fd >= 0 && !fp)
            close(fd);
    }
    if (fp) { /* the lock is held until the name is free again */
        if (fwrite(b->s, 1, b->len, fp) != b->len || fflush(fp) != 0 ||
            rename(temp, path) < 0)
            unlink(temp);
        fclose(fp);
    }
}

void index_save(struct index *x, char *const *keys, size_t n)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;

    if (!x->path || x->n_news == 0 || !is_worth_it(x, n))
        return;
    SORT(x->news, x->n_news, str_compare);
    buf_add(&b, magic, sizeof magic);
    for (size_t i = 0; i < n; i++) {
        const struct index_news want = { .key = keys[i] };
        const struct index_news *new =
            bsearch(&want, x->news, x->n_news, sizeof want, str_compare);
        const struct index_slot *old = new ? NULL : find_slot(x, keys[i]);

        if (new &&new->record.len)
            put_record(&b, new->record.s, new->record.len);
        else if (old)
            put_record(&b, x->data + old->at, old->size);
    }
    index_write(x->path, &b);
}

void index_close(struct index *x)
{
    if (x->data)
        munmap(x->data, x->size);
    for (size_t i = 0; i < x->n_news; i++) {
        free(x->news[i].key);
        buf_clear(&x->news[i].record);
    }
    pthread_mutex_destroy(&x->lock);
    FREE(x->news, x->slot, x->path);
    if (x->root_fd >= 0)
        close(x->root_fd);
}
