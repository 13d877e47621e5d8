#include "config.h"
#include "data/corpus/near.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/machine/cores.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "data/corpus/hashset.h"
#include "data/corpus/roll.h"

enum {
    WORDS = 5,
    KEYS = 14,
    ROWS = 8,
    VALUES = KEYS * ROWS,
    RECENT = 7,    /* documents that one is paired with, beside the first */
    DOC_BITS = 28, /* of an entry, which is a key and a document */
    DOC_MAX = (1 << DOC_BITS) - 1,
    PARTS = 64,
    BATCH = 8 << 20, /* bytes of text and of tasks that the threads share */
};

/* A document in an index.  Its keys are 0 if it has no sequence, or equals an
 * earlier one. */
struct record {
    uint64_t hash, key[KEYS];
};

/* "gdnear" and a version, which changes with the keys.  The last record has it,
 * the number of files and hash_input(); a hash of all records follows. */
static const uint64_t magic = 0x17261656e6467;

/* A document in a batch. */
struct task {
    struct record record; /* in the first pass */
    uint32_t doc;
    size_t at, len; /* in the text of the batch */
    int64_t line;
    const char *file;
};

/* The sequences of a document, as they are in the file of sets. */
struct set {
    const char *file;
    int64_t line;
    uint64_t n, hash[];
};

struct near {
    struct near_how how;
    const struct corpus_conf *conf;
    uint64_t power[ROLL_MAX + 1];            /* for roll.h */
    uint32_t multiply[VALUES], flip[VALUES]; /* the permutations */
    struct hashset seen;
    uint32_t *parent; /* itself, or an earlier document that is connected */
    size_t docs, room;
    FILE *part[PARTS]; /* entries, by their first bits */
    FILE *sets;
    off_t *place;  /* plus 1, in this file; 0: not needed; NULL: first pass */
    bool compares; /* the documents of pairs, which the file has */
    struct arena names;
    const char *file, *name; /* of the last document, and a copy */
    uint32_t next;           /* number of a document in this pass */
    uint64_t differ;         /* do two passes?  0 at the end of the second */
    struct corpus_files files;
    size_t indexed; /* of these files, by indexes */
    uint64_t sum;   /* of the index that is written */

    struct buf text; /* the batch */
    struct task *task;
    size_t tasks, tasks_room, taken;
    int why; /* errno of a thread that failed, or 0 */
};

static int cannot(struct err *e)
{
    return err_sys(e, "cannot write temporary files in %s", path_temp());
}

/* ---- reading ---------------------------------------------------------- */

/* The hashes of the sequences of a document. */
struct collected {
    const struct near *near;
    struct buf hashes;
};

static void keep_sequence(struct collected *c, const struct roll *r, int words)
{
    const uint64_t hash = roll_last(r, c->near->power, words);

    buf_add(&c->hashes, &hash, sizeof hash);
}

static void add_word(void *arg, const struct roll *r)
{
    if (r->words >= WORDS)
        keep_sequence(arg, r, WORDS);
}

/* Collect them, and return their number. */
static size_t collect(struct collected *c, const struct task *t)
{
    struct roll r = { 0 };

    buf_trim(&c->hashes, 0);
    roll_text(&r, c->near->text.s + t->at, t->len, add_word, c);
    roll_end(&r, add_word, c);
    if (r.words > 0 && r.words < WORDS)
        keep_sequence(c, &r, (int)r.words);
    buf_room(&c->hashes, c->hashes.len); /* for sorting */
    return c->hashes.len / sizeof(uint64_t);
}

/* The keys, each from the least of the hashes by eight permutations.  AVX2 is
 * ten times as fast. */
CLONES static void find_keys(const struct near *n, const uint64_t *hash,
                             size_t count, uint64_t *key)
{
    enum { LANES = 16 };
    uint32_t least[VALUES];

    for (int k = 0; k < VALUES; k += LANES) {
        uint32_t low[LANES];

        memset(low, 0xff, sizeof low);
        for (size_t i = 0; i < count; i++)
            for (int j = 0; j < LANES; j++) {
                const uint32_t h =
                    ((uint32_t)hash[i] ^ n->flip[k + j]) * n->multiply[k + j];

                low[j] = h < low[j] ? h : low[j];
            }
        memcpy(least + k, low, sizeof low);
    }
    for (uint64_t i = 0; i < KEYS; i++)
        key[i] = hash128(least + i * ROWS, ROWS * sizeof *least, i).hi | 1;
}

/* Write a record to the index, or its entries to their parts.  That the index
 * cannot be written is reported when it is closed. */
static bool add_record(struct near *n, const struct record *r, uint32_t doc)
{
    bool ok = true;

    if (n->how.write) {
        n->sum = hash128(r, sizeof *r, n->sum).hi;
        fwrite(r, sizeof *r, 1, n->how.write);
    }
    for (int i = 0; i < KEYS && ok && r->key[i] && !n->how.write; i++) {
        const uint64_t entry = (r->key[i] & ~(uint64_t)DOC_MAX) | doc;

        ok = fwrite(&entry, sizeof entry, 1,
                    n->part[entry / (UINT64_MAX / PARTS + 1)]) == 1;
    }
    return ok;
}

/* Sort numbers, the least first, by one byte after the other. */
static void sort(uint64_t *number, uint64_t *scratch, size_t n)
{
    for (int shift = 0; shift < 64; shift += 8) {
        uint64_t *const from = shift % 16 ? scratch : number;
        uint64_t *const to = shift % 16 ? number : scratch;
        size_t at[257] = { 0 };

        for (size_t i = 0; i < n; i++)
            at[(from[i] >> shift & 255) + 1]++;
        for (int k = 0; k < 256; k++)
            at[k + 1] += at[k];
        for (size_t i = 0; i < n; i++)
            to[at[from[i] >> shift & 255]++] = from[i];
    }
}

static bool add_set(struct near *n, const struct task *t, uint64_t *hash,
                    size_t count)
{
    struct set s = { .file = t->file, .line = t->line };
    bool ok;

    sort(hash, hash + count, count);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || hash[i] != hash[i - 1])
            hash[s.n++] = hash[i];
    flockfile(n->sets);
    n->place[t->doc] = ftello(n->sets) + 1;
    ok = fwrite(&s, sizeof s, 1, n->sets) == 1 &&
         fwrite(hash, sizeof *hash, s.n, n->sets) == s.n;
    funlockfile(n->sets);
    return ok;
}

/* What each thread does with a batch. */
static void do_tasks(void *arg)
{
    struct near *n = arg;
    struct collected c = { n, BUF_INIT };
    size_t i;

    while ((i = __atomic_fetch_add(&n->taken, 1, __ATOMIC_RELAXED)) <
           n->tasks) {
        struct task *t = &n->task[i];
        const size_t count = collect(&c, t);

        if (count > 0 && !n->place)
            find_keys(n, (void *)c.hashes.s, count, t->record.key);
        else if (count > 0 && !add_set(n, t, (void *)c.hashes.s, count))
            __atomic_store_n(&n->why, errno, __ATOMIC_RELAXED);
    }
    buf_clear(&c.hashes);
}

static int do_batch(struct near *n, struct err *e)
{
    n->taken = 0;
    threads_run(do_tasks, n, 0, n->how.threads);
    for (size_t i = 0; i < n->tasks && !n->place && !n->why; i++)
        if (!add_record(n, &n->task[i].record, n->task[i].doc))
            n->why = errno;
    buf_trim(&n->text, 0);
    n->tasks = 0;
    errno = n->why;
    return n->why ? cannot(e) : n->how.write && ferror(n->how.write);
}

/* Number a document: is it new, or part of a pair in the second pass?  1, 0, or
 * -1. */
static int number_doc(struct near *n, uint64_t hash, struct err *e)
{
    const uint32_t doc = n->next++;
    const uint64_t text = hash128(&hash, sizeof hash, doc).hi;
    /* what growing takes, beside what there is */
    const size_t need =
        3 * (n->seen.room * sizeof *n->seen.slot + n->room * sizeof *n->parent);
    char size[NUM_TEXT];

    n->differ += n->place ? 0 - text : text;
    if (n->place)
        return doc < n->docs && n->place[doc];
    if (n->docs == DOC_MAX || need > n->how.memory)
        return err_usage(e,
                         "%zu documents are the most that can be compared in "
                         "%s of --memory",
                         n->docs, num_bytes(size, (double)n->how.memory));
    APPEND(n->parent, n->docs, n->room) = doc;
    return hashset_add(&n->seen, hash);
}

static int read_doc(void *arg, const struct corpus_doc *d, struct err *e)
{
    struct near *n = arg;
    const uint64_t hash = hash128(d->text, d->len, 0).hi;
    const int wanted = number_doc(n, hash, e);
    const size_t len = wanted ? d->len : 0;

    if (wanted < 0)
        return -1;
    if (d->file != n->file)
        n->name = arena_strdup(&n->names, d->file);
    n->file = d->file;
    APPEND(n->task, n->tasks, n->tasks_room) =
        (struct task){ { .hash = hash }, n->next - 1, n->text.len, len,
                       d->line,          n->name };
    buf_add(&n->text, d->text, len);
    return n->text.len + n->tasks * sizeof *n->task < BATCH ? 0
                                                            : do_batch(n, e);
}

static int read_corpus(struct near *n, const struct corpus_conf *conf,
                       struct err *e)
{
    n->file = NULL;
    return corpus_each(conf, read_doc, n, e) < 0 ? -1 : do_batch(n, e);
}

/* ---- indexes ---------------------------------------------------------- */

/* Of the size of files, and of the options that divide them. */
static uint64_t hash_input(const struct near *n, const struct corpus_files *f)
{
    const struct corpus_conf *const c = n->conf;
    AUTO(buf_clear) struct buf b = BUF_INIT;

    buf_printf(&b, "%lld %d %s %s %s", (long long)f->total, c->format,
               c->field ? c->field : "text", str_or_empty(c->separator),
               str_or_empty(c->where));
    return hash128(b.s, b.len, 0).hi;
}

/* Is an index of so many files with this hash_input() one of the next? */
static int check_index(struct near *n, const char *path, uint64_t files,
                       uint64_t input, struct err *e)
{
    char *const *next = n->files.list.name + n->indexed;
    const size_t left = n->files.list.n - n->indexed;
    struct corpus_files f = { 0 };

    if (files > left || corpus_files_find(&f, next, files, e) < 0 ||
        hash_input(n, &f) != input)
        err_input(e,
                  "%s is not an index of the input from %s on, or was written "
                  "with another --input, --field, --separator or --where",
                  path, left ? next[0] : "its end");
    n->indexed += f.list.n;
    path_list_clear(&f.list);
    return e->kind ? -1 : 0;
}

/* Read an index in place of its files. */
static int read_index(struct near *n, const char *path, struct err *e)
{
    FILE *const fp = fopen(path, "re");
    struct record r = { 0 };
    uint64_t sum = 0, end;
    int ret = 0;

    if (!fp)
        return err_open(e, "cannot open %s", path);
    while (ret >= 0 && fread(&r, sizeof r, 1, fp) == 1) {
        sum = hash128(&r, sizeof r, sum).hi;
        if (r.hash == magic)
            break;
        ret = number_doc(n, r.hash, e);
        if (ret == 0)
            memset(r.key, 0, sizeof r.key);
        if (ret >= 0 && !add_record(n, &r, n->next - 1))
            ret = cannot(e);
    }
    if (ret >= 0 && (fread(&end, sizeof end, 1, fp) != 1 || end != sum ||
                     r.hash != magic || fgetc(fp) != EOF))
        ret = err_input(e, "%s is not an index of gdata dedup, or is damaged",
                        path);
    fclose(fp);
    return ret < 0 ? -1 : check_index(n, path, r.key[0], r.key[1], e);
}

/* Read the indexes, and the files that have none. */
static int first_pass(struct near *n, struct corpus_conf text, struct err *e)
{
    const struct opt_list *const l = &n->how.index;
    struct corpus_place rest = { .line = 1 };

    for (int i = 0; i < PARTS; i++)
        if (!(n->part[i] = path_temp_file(e)))
            return -1;
    for (size_t i = 0; i < l->n; i++)
        if (read_index(n, l->item[i], e) < 0)
            return -1;
    rest.file = n->indexed;
    text.from = &rest;
    text.good *= l->n == 0; /* the second pass counts the bad lines of all */
    return rest.file < n->files.list.n ? read_corpus(n, &text, e) : 0;
}

/* ---- pairs ------------------------------------------------------------ */

/* Read the entries of one part, sorted. */
static uint64_t *sorted_part(FILE *fp, size_t *n, struct err *e)
{
    const off_t size = fflush(fp) == 0 ? lseek(fileno(fp), 0, SEEK_END) : -1;
    uint64_t *entry = size < 0 ? NULL : xmalloc(2 * (size_t)size + 1);

    if (!entry || pread(fileno(fp), entry, (size_t)size, 0) != size) {
        cannot(e);
        free(entry);
        return NULL;
    }
    *n = (size_t)size / sizeof *entry;
    sort(entry, entry + *n, *n);
    return entry;
}

static struct set *load_set(const struct near *n, uint32_t doc, struct err *e)
{
    const off_t at = n->place[doc] - 1;
    struct set head, *s;
    size_t size = sizeof head;

    if (pread(fileno(n->sets), &head, size, at) == (ssize_t)size)
        size += head.n * sizeof *head.hash;
    s = xmalloc(size);
    if (pread(fileno(n->sets), s, size, at) == (ssize_t)size)
        return s;
    cannot(e);
    free(s);
    return NULL;
}

static double similarity(const struct set *a, const struct set *b)
{
    size_t i = 0, j = 0, both = 0;

    while (i < a->n && j < b->n) {
        const uint64_t x = a->hash[i], y = b->hash[j];

        both += x == y;
        i += x <= y;
        j += y <= x;
    }
    return (double)both / (double)(a->n + b->n - both);
}

static uint32_t find_root(struct near *n, uint32_t doc)
{
    while (n->parent[doc] != doc)
        doc = n->parent[doc] = n->parent[n->parent[doc]];
    return doc;
}

/* Connect two documents if they are similar, by making the earlier of their
 * roots the root of both.  Two that already have the same root are not
 * compared. */
static int compare_pair(struct near *n, uint32_t doc, uint32_t earlier,
                        struct err *e)
{
    const uint32_t x = find_root(n, doc), y = find_root(n, earlier);
    AUTO_FREE struct set *a = NULL, *b = NULL;
    double value;

    if (x == y)
        return 0;
    a = load_set(n, doc, e);
    b = a ? load_set(n, earlier, e) : NULL;
    value = b ? similarity(a, b) : -1;
    if (value >= n->how.similarity) {
        n->parent[x] = n->parent[y] = x < y ? x : y;
        log_debug("%s:%lld is similar to %s:%lld (%.4f)", a->file,
                  (long long)a->line, b->file, (long long)b->line, value);
    }
    return value < 0 ? -1 : 0;
}

/* Pair a document with those before it that have the same key. */
static int pair_doc(struct near *n, const uint64_t *entry, size_t first,
                    size_t i, struct err *e)
{
    const uint32_t doc = (uint32_t)entry[i] & DOC_MAX;
    const size_t recent = i - first > RECENT ? i - RECENT : first + 1;

    for (size_t k = first; k < i; k = k == first ? recent : k + 1) {
        const uint32_t earlier = (uint32_t)entry[k] & DOC_MAX;

        if (n->compares && compare_pair(n, doc, earlier, e) < 0)
            return -1;
        if (!n->compares)
            n->place[doc] = n->place[earlier] = 1;
    }
    return 0;
}

static int pair_docs(struct near *n, struct err *e)
{
    int ret = 0;

    for (int p = 0; p < PARTS && ret == 0; p++) {
        size_t count, first = 0; /* with the same key */
        AUTO_FREE uint64_t *entry = sorted_part(n->part[p], &count, e);

        if (!entry)
            return -1;
        for (size_t i = 0; i < count && ret == 0; i++) {
            if (entry[i] >> DOC_BITS != entry[first] >> DOC_BITS)
                first = i;
            ret = pair_doc(n, entry, first, i, e);
        }
    }
    return ret;
}

static int find(struct near *n, const struct corpus_conf *conf, struct err *e)
{
    struct corpus_conf text = *conf;

    n->conf = conf;
    text.keep_lines = false;
    if (corpus_files_find(&n->files, conf->path, conf->n, e) < 0 ||
        corpus_files_part(&n->files, conf->part, e) < 0 ||
        !(n->sets = path_temp_file(e)) || first_pass(n, text, e) < 0)
        return -1;
    if (n->how.write) {
        const uint64_t input = hash_input(n, &n->files);

        add_record(n, &(struct record){ magic, { n->files.list.n, input } }, 0);
        fwrite(&n->sum, sizeof n->sum, 1, n->how.write);
        return 0;
    }
    hashset_clear(&n->seen);
    n->place = xcalloc(n->docs + 1, sizeof *n->place);
    text.quiet = true; /* what is wrong with the input was said */
    n->next = 0;
    if (pair_docs(n, e) < 0 || read_corpus(n, &text, e) < 0)
        return -1;
    if (n->differ)
        return err_input(e,
                         "the input was changed while it was read, or an index "
                         "was written for other documents");
    n->compares = true;
    return fflush(n->sets) == 0 ? pair_docs(n, e) : cannot(e);
}

struct near *near_find(const struct corpus_conf *conf,
                       const struct near_how *how, struct err *e)
{
    struct near *n = xcalloc(1, sizeof *n);

    n->how = *how;
    if (!how->threads)
        n->how.threads = cores_processors();
    n->text = BUF_INIT;
    roll_powers(n->power);
    for (uint32_t i = 0; i < VALUES; i++) {
        const struct hash128 h = hash128(&i, sizeof i, 0);

        n->multiply[i] = (uint32_t)h.hi | 1;
        n->flip[i] = (uint32_t)h.lo;
    }
    if (find(n, conf, e) == 0)
        return n;
    near_free(n);
    return NULL;
}

int64_t near_documents(const struct near *n)
{
    return (int64_t)n->docs;
}

bool near_drops(const struct near *n, int64_t number)
{
    return number < near_documents(n) && n->parent[number] != number;
}

void near_free(struct near *n)
{
    if (!n)
        return;
    for (int i = 0; i < PARTS; i++)
        if (n->part[i])
            fclose(n->part[i]);
    if (n->sets)
        fclose(n->sets);
    hashset_clear(&n->seen);
    path_list_clear(&n->files.list);
    arena_clear(&n->names);
    buf_clear(&n->text);
    FREE(n->parent, n->place, n->task, n);
}
