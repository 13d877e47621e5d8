#include "config.h"
#include "store/read/outline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/hash.h"
#include "common/machine/cores.h"
#include "common/mem.h"
#include "common/path.h"
#include "store/format/metric.h"
#include "store/read/index.h"

enum { WIDE = 8192, KEPT = 5, MOST_CACHED = 1 << 30 };

static const char ending[] = ".blocks"; /* of files in the cache */

/* The points of the lines that begin in some bytes of the file. */
struct block {
    int64_t place; /* in the file, in widths of a block */
    uint32_t n, finite;
    double sum;
    struct metric_point first, low, high, odd, last; /* odd: not finite */
};

struct blocks {
    struct block *item;
    size_t n, room;
    int64_t wide; /* bytes of each */
    bool sorted;  /* by step */
};

/* A metric of which an outline is wanted. */
struct outlined {
    const struct run_info *run;
    const char *key;
    char *path, *cache; /* cache: NULL if nothing is cached */
    struct arena mem;
    struct rewind_list rewinds;
    int64_t size; /* of the file */
    uint64_t ino;
    struct blocks all;
};

/* -- from points to blocks ------------------------------------------------- */

struct reading {
    struct blocks *to;
    struct metric_scan scan;
    int64_t last; /* step */
};

static void add_finite(struct block *b, const struct metric_point *p)
{
    if (b->finite == 0 || p->value < b->low.value)
        b->low = *p;
    if (b->finite == 0 || p->value > b->high.value)
        b->high = *p;
    b->sum += p->value;
    b->finite++;
}

static void add_point(void *arg, const struct metric_point *p)
{
    struct reading *r = arg;
    struct blocks *to = r->to;
    const int64_t place = r->scan.at / to->wide;
    struct block *b;

    if (to->n == 0 || to->item[to->n - 1].place != place) {
        APPEND(to->item, to->n, to->room) =
            (struct block){ .place = place, .first = *p };
    }
    to->sorted = to->sorted && p->step >= r->last;
    r->last = p->step;
    b = &to->item[to->n - 1];
    b->n++;
    b->last = *p;
    if (isfinite(p->value))
        add_finite(b, p);
    else if (b->n - b->finite == 1)
        b->odd = *p;
}

static int read_blocks(const struct outlined *o, const struct metric_part *part,
                       struct blocks *to, struct err *e)
{
    const struct metric_file f = { o->path, o->key,        &o->rewinds,
                                   part,    o->run->links, o->run->folder };
    struct reading r = { .to = to, .last = INT64_MIN };

    to->sorted = true;
    return metric_read(&f, add_point, &r, &r.scan, e);
}

/* A thread that reads a part of the file. */
struct reader {
    const struct outlined *o;
    struct metric_part part;
    struct blocks blocks;
    struct err e;
    int ret;
};

static void read_part(void *arg)
{
    struct reader *r = arg;

    r->ret = read_blocks(r->o, &r->part, &r->blocks, &r->e);
}

/* Append blocks that follow in the file. */
static void append_blocks(struct blocks *to, const struct blocks *from)
{
    const size_t n = to->n + from->n;

    if (from->n == 0)
        return;
    to->sorted = to->sorted && from->sorted &&
                 (to->n == 0 ||
                  to->item[to->n - 1].last.step <= from->item[0].first.step);
    to->item = xrealloc(to->item, n, sizeof *to->item);
    memcpy(to->item + to->n, from->item, from->n * sizeof *to->item);
    to->n = to->room = n;
}

/* Read what begins at a block, in several threads if it is much. */
static int read_rest(struct outlined *o, int64_t from, struct err *e)
{
    enum { MOST = 8, LEAST_BYTES = 4 << 20 };
    const int cpus = cores_processors();
    const int64_t worth = (o->size - from) / LEAST_BYTES;
    const int n = (int)fmax(1, fmin(fmin(MOST, (double)cpus), (double)worth));
    const int64_t each = ((o->size - from) / n / WIDE + 1) * WIDE;
    struct reader reader[MOST];
    int ret = 0;

    for (int i = 0; i < n; i++) {
        const int64_t at = from + i * each;

        reader[i] = (struct reader){
            .o = o,
            .part = { at, i + 1 < n ? at + each : INT64_MAX },
            .blocks = { .wide = WIDE },
        };
    }
    threads_run(read_part, reader, sizeof reader[0], n);
    for (int i = 0; i < n; i++) {
        if (ret == 0 && reader[i].ret < 0)
            *e = reader[i].e;
        ret = ret < 0 ? ret : reader[i].ret;
        append_blocks(&o->all, &reader[i].blocks);
        free(reader[i].blocks.item);
    }
    return ret;
}

/* -- the cache ------------------------------------------------------------- */

/* Before the blocks in the file of the cache.  A metric that only grew still
 * has the same inode, and the same bytes before the end of the last block. */
struct head {
    char magic[16];
    uint64_t ino, cuts, tail;
    uint64_t n, sum; /* of blocks: how many, a hash */
};

static const char magic[16] = "gtrack blocks 1\n";

static uint64_t hash_cuts(const struct outlined *o)
{
    size_t n;
    const struct rewind_cut *cut = rewind_cuts(&o->rewinds, o->key, &n);
    uint64_t h = n;

    for (size_t i = 0; i < n; i++) {
        const int64_t one[] = { cut[i].offset, cut[i].step };

        h = hash128(one, sizeof one, h).hi;
    }
    return h;
}

/* The bytes of the metric in a block. */
static bool hash_bytes(const struct outlined *o, const struct block *b,
                       uint64_t *hash)
{
    char bytes[WIDE];
    AUTO(path_close)
    const int fd = path_open(o->path, o->run->links, ERR_IGNORED);
    const ssize_t got =
        fd < 0 ? -1 : pread(fd, bytes, sizeof bytes, b->place * WIDE);

    *hash = got == WIDE ? hash128(bytes, sizeof bytes, 0).hi : 0;
    return got == WIDE;
}

static uint64_t hash_blocks(const struct block *b, size_t n)
{
    return hash128(b, n * sizeof *b, n).hi;
}

static bool is_current(const struct outlined *o, const struct head *h,
                       const struct block *b)
{
    uint64_t tail;

    return h->sum == hash_blocks(b, h->n) &&
           hash_bytes(o, &b[h->n - 1], &tail) && tail == h->tail;
}

/* Take the blocks out of the cache, if they are still those of the metric. */
static void take_cached(struct outlined *o)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;
    struct head h;
    struct block *block;

    if (o->cache &&
        buf_read_file(&b, o->cache, MOST_CACHED, ERR_IGNORED) == 0 &&
        b.len > sizeof h) {
        memcpy(&h, b.s, sizeof h);
        if (memcmp(h.magic, magic, sizeof magic) == 0 && h.ino == o->ino &&
            h.cuts == hash_cuts(o) && h.n > 0 &&
            h.n == (b.len - sizeof h) / sizeof *block) {
            block = xcalloc(h.n, sizeof *block);
            memcpy(block, b.s + sizeof h, h.n * sizeof *block);
            if (is_current(o, &h, block))
                o->all = (struct blocks){ block, h.n, h.n, WIDE, true };
            else
                free(block);
        }
    }
}

/* How many blocks have lines that will not change: another block follows, so
 * that their last line is complete. */
static size_t count_complete(const struct outlined *o)
{
    size_t n = o->all.n;

    while (n && (o->all.item[n - 1].place + 2) * WIDE > o->size)
        n--;
    return n;
}

/* Remove old blocks, whose metrics may be gone; what is still wanted is read
 * again. */
static void remove_old(const char *cache)
{
    enum { DAYS = 30 };
    const int64_t now = clock_wall_ms() / 1000;
    AUTO_FREE char *folder = path_parent(cache);
    AUTO(path_list_clear) struct path_list names = { 0 };

    path_list(&names, folder, ERR_IGNORED);
    for (size_t i = 0; i < names.n; i++) {
        const char *path = path_listed(&names, i);
        struct stat st;

        if (str_ends(path, ending) && stat(path, &st) == 0 &&
            st.st_mtim.tv_sec < now - DAYS * 24 * 3600)
            unlink(path);
    }
}

static void save_cached(const struct outlined *o, size_t n)
{
    const struct block *b = o->all.item;
    struct head h = {
        .ino = o->ino, .cuts = hash_cuts(o), .n = n, .sum = hash_blocks(b, n)
    };
    AUTO(buf_clear) struct buf out = BUF_INIT;

    memcpy(h.magic, magic, sizeof magic);
    if (hash_bytes(o, &b[n - 1], &h.tail)) {
        buf_add(&out, &h, sizeof h);
        buf_add(&out, b, n * sizeof *b);
        index_write(o->cache, &out);
        remove_old(o->cache);
    }
}

/* -- all blocks of a metric ------------------------------------------------ */

static int open_outlined(struct outlined *o, const struct run_info *run,
                         const char *key, struct err *e)
{
    struct stat st;
    int fd;

    *o = (struct outlined){
        .run = run,
        .key = key,
        .path = xasprintf("%s/metrics/%s", run->folder, key),
        .all = { .wide = WIDE, .sorted = true },
    };
    fd = path_open(o->path, run->links, e);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0) {
        o->size = st.st_size;
        o->ino = st.st_ino;
    }
    close(fd);
    o->cache = index_path(o->path, ending);
    return rewinds_load(&o->rewinds, &o->mem, run->folder, key, run->links, e);
}

/* Take the blocks of the cache and read the others. */
static int load_blocks(struct outlined *o, struct err *e)
{
    enum { WORTH = 32 }; /* new blocks that make saving worthwhile */
    size_t cached, complete;

    take_cached(o);
    cached = o->all.n;
    if (read_rest(o, cached ? (o->all.item[cached - 1].place + 1) * WIDE : 0,
                  e) < 0)
        return -1;
    complete = count_complete(o);
    if (o->cache && o->all.sorted && complete >= cached + WORTH)
        save_cached(o, complete);
    return 0;
}

/* -- from blocks to points ------------------------------------------------- */

static int by_step(const void *a, const void *b)
{
    const struct metric_point *x = a, *y = b;

    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return (x->ms > y->ms) - (x->ms < y->ms);
}

/* The points that are kept of a block, in order; returns how many. */
static size_t choose_points(const struct block *b, bool sparse,
                            struct metric_point out[KEPT])
{
    size_t n = 0, kept = 0;

    out[n++] = b->last;
    if (!sparse) {
        out[n++] = b->first;
        if (b->finite < b->n)
            out[n++] = b->odd;
        if (b->finite) {
            out[n++] = b->low;
            out[n++] = b->high;
        }
        SORT(out, n, by_step);
    }
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || by_step(&out[i], &out[kept - 1]) != 0)
            out[kept++] = out[i];
    return kept;
}

static void add_points(struct series *s, const struct blocks *b, size_t from,
                       size_t to, bool sparse)
{
    for (size_t i = from; i < to; i++) {
        const struct block *one = &b->item[i];
        struct metric_point p[KEPT];
        const size_t n = choose_points(one, sparse, p);

        for (size_t k = 0; k < n; k++, s->n++) {
            s->step[s->n] = p[k].step;
            s->ms[s->n] = p[k].ms;
            s->value[s->n] = p[k].value;
            s->mean[s->n] = one->sum / one->finite;
            s->weight[s->n] = k == 0 ? one->finite : 0;
        }
    }
}

/* The blocks that have the wanted steps. */
static void find_blocks(const struct blocks *b, const struct outline_want *w,
                        size_t *from, size_t *to)
{
    *from = 0;
    while (*from < b->n && b->item[*from].last.step < w->from)
        ++*from;
    *to = b->n;
    while (*to > *from && b->item[*to - 1].first.step > w->to)
        --*to;
}

/* Read smaller blocks in place of some. */
static int refine(const struct outlined *o, const struct outline_want *w,
                  size_t from, size_t to, struct blocks *fine, struct err *e)
{
    const struct block *b = o->all.item;
    const struct metric_part part = { b[from].place * WIDE,
                                      (b[to - 1].place + 1) * WIDE };
    int64_t points = 0;

    for (size_t i = from; i < to; i++)
        points += b[i].n;
    fine->wide = points <= OUTLINE_FROM
                     ? 1
                     : (part.to - part.from) / (2 * (int64_t)w->blocks) + 1;
    return read_blocks(o, &part, fine, e);
}

static int make_series(struct series *s, const struct outlined *o,
                       const struct outline_want *w, struct err *e)
{
    const struct blocks *all = &o->all;
    struct blocks fine = { .sorted = true };
    size_t from, to, room;
    int ret = 0;

    find_blocks(all, w, &from, &to);
    if (to > from && to - from < w->blocks)
        ret = refine(o, w, from, to, &fine, e);
    else
        to = from;
    room = KEPT * (all->n - (to - from) + fine.n) + 1;
    s->step = xcalloc(room, sizeof *s->step);
    s->ms = xcalloc(room, sizeof *s->ms);
    s->value = xcalloc(room, sizeof *s->value);
    s->mean = xcalloc(room, sizeof *s->mean);
    s->weight = xcalloc(room, sizeof *s->weight);
    add_points(s, all, 0, from, w->sparse);
    add_points(s, &fine, 0, fine.n, w->sparse);
    add_points(s, all, to, all->n, w->sparse);
    free(fine.item);
    if (ret < 0)
        series_free(s);
    return ret;
}

int series_outline(struct series *s, const struct run_info *run,
                   const char *key, const struct outline_want *w, struct err *e)
{
    const struct metric_sum *m = run_info_metric(run, key);
    struct outlined o;
    int ret = -1;

    if (!m || m->count < OUTLINE_FROM)
        return series_load(s, run, key, 0, e);
    *s = (struct series){ 0 };
    if (open_outlined(&o, run, key, e) == 0 && load_blocks(&o, e) == 0)
        ret = o.all.sorted ? make_series(s, &o, w, e)
                           : series_load(s, run, key, 0, e);
    FREE(o.all.item, o.path, o.cache);
    arena_clear(&o.mem);
    return ret;
}
