#include "config.h"
#include "data/shards/sink.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/machine/cores.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/save.h"
#include "common/sig.h"
#include "data/shards/lock.h"

/* The current shard of a subset. */
struct sink_shard {
    struct shard_out out;
    bool open;
    int64_t number;
    int64_t n;             /* ids in it */
    struct sha256 hash;    /* of those in the last state */
    char sum[SHA256_TEXT]; /* in the state that was loaded */
};

struct sink_lock {
    char *path; /* or NULL */
    int fd;
};

struct sink {
    struct sink_conf conf;
    struct sink_shard shard[SUBSETS];
    struct sink_file **file; /* complete, written in this run or before */
    size_t n_files, files_room;
    char *state_path;
    struct sink_lock lock[SUBSETS + 1]; /* the last one is that of the prefix */
    double saved;                       /* the clock_mono() of the last state */
    bool has_state;
};

/* The parts of a name are joined by '_', except after a folder. */
static void add_part(struct buf *b, const char *part)
{
    if (*part && b->len > 0 && b->s[b->len - 1] != '/')
        buf_char(b, '_');
    buf_str(b, part);
}

char *sink_path(const struct sink_conf *c, int subset, int64_t number)
{
    const int named = !c->first_shard ? subset
                      : number > 0    ? SUBSET_TRAIN
                                      : SUBSET_VAL;
    struct buf b = BUF_INIT;
    char digits[NUM_TEXT];

    buf_str(&b, c->prefix);
    add_part(&b, c->subset[named]);
    snprintf(digits, sizeof digits, "%06" PRId64, number);
    if (c->shard_tokens > 0)
        add_part(&b, digits);
    buf_str(&b, shard_suffix(c->format));
    return buf_detach(&b);
}

static int open_shard(struct sink *s, int subset, int64_t n, struct err *e)
{
    struct sink_shard *t = &s->shard[subset];
    AUTO_FREE char *path = sink_path(&s->conf, subset, t->number);
    const int got =
        shard_begin(&t->out, path, s->conf.format, s->conf.width, n, e);

    t->open = got == 0;
    t->n = n;
    sha256_init(&t->hash);
    return got;
}

static struct sink_file *add_file(struct sink *s, int subset, int64_t number,
                                  int64_t tokens)
{
    struct sink_file *f = xcalloc(1, sizeof *f);

    f->path = sink_path(&s->conf, subset, number);
    f->tokens = tokens;
    APPEND(s->file, s->n_files, s->files_room) = f;
    return f;
}

/* Without a hash, the caller hashes the file again, and gets the error. */
static void *hash_file(void *arg)
{
    struct sink_file *f = arg;

    if (sha256_file(f->path, f->sha256, &f->size, ERR_IGNORED) < 0)
        f->sha256[0] = '\0';
    return NULL;
}

static void await_hash(struct sink_file *f)
{
    if (f->is_hashed)
        pthread_join(f->thread, NULL);
    f->is_hashed = false;
}

static int finish_shard(struct sink *s, int subset, struct err *e)
{
    struct sink_shard *t = &s->shard[subset];
    struct sink_file *f;

    if (s->n_files > 0) /* one thread, however small shards are */
        await_hash(s->file[s->n_files - 1]);
    t->open = false;
    if (shard_commit(&t->out, e) < 0)
        return -1;
    f = add_file(s, subset, t->number++, t->n);
    f->is_hashed = s->conf.shard_tokens > 0 &&
                   threads_start(&f->thread, hash_file, f) == 0;
    t->n = 0;
    return 0;
}

static int lock_name(struct sink_lock *l, const char *name, struct err *e)
{
    l->path = xasprintf("%s.state.lock", name);
    l->fd = filelock_open(l->path, 0666, e);
    if (l->fd >= 0)
        return 0;
    return e->kind == ERR_BUSY
               ? err_set(e, ERR_BUSY, "another gdata encode is writing to %s",
                         name)
               : -1;
}

/*
 * Two sinks with one prefix would write to the same files, and so would those
 * with the prefixes p_val and p, if p holds documents out.
 */
static int lock_names(struct sink *s, struct err *e)
{
    int ret = lock_name(&s->lock[SUBSETS], s->conf.prefix, e);

    for (int i = 0; i < SUBSETS && ret == 0; i++) {
        AUTO(buf_clear) struct buf name = BUF_INIT;

        if (!s->conf.subset[i] || !*s->conf.subset[i])
            continue;
        buf_str(&name, s->conf.prefix);
        add_part(&name, s->conf.subset[i]);
        ret = lock_name(&s->lock[i], name.s, e);
    }
    return ret;
}

/* Two lines, one for each subset, and counts by rule.  False for other text. */
static bool parse_state(struct sink *s, const char *text, struct sink_state *m)
{
    const char *p = text;
    char work[80] = "";
    int used = 0, inside;
    uint64_t file;

    if (sscanf(p, "gdata-encode 4 %79s%n", work, &used) != 1 ||
        strcmp(work, s->conf.work) != 0)
        return false;
    p += used;
    if (sscanf(p,
               " at %" SCNu64 " %" SCNd64 " %" SCNd64 " %d %" SCNd64 " %" SCNd64
               " %" SCNd64 " %" SCNd64 " %d%n",
               &file, &m->place.offset, &m->place.line, &inside, &m->documents,
               &m->bad, &m->text, &m->tokens, &m->subset, &used) != 9)
        return false;
    m->place.file = (size_t)file;
    m->place.inside = inside != 0;
    p += used;
    for (int i = 0; i < SUBSETS; i++) {
        struct sink_shard *t = &s->shard[i];

        if (sscanf(p, " split %" SCNd64 " %" SCNd64 " %64s%n", &t->number,
                   &t->n, t->sum, &used) != 3 ||
            t->number < 0 || t->n < 0)
            return false;
        p += used;
    }
    for (int i = 0; i < CLEAN_RULES; i++, p += used)
        if (sscanf(p, "%" SCNd64 "%n", &m->dropped[i], &used) != 1)
            return false;
    return m->subset < SUBSETS;
}

/* Continue an incomplete shard, if it has the ids that were written to it. */
static int continue_shard(struct sink *s, int subset, struct err *e)
{
    struct sink_shard *t = &s->shard[subset];
    char sum[SHA256_TEXT];

    if (open_shard(s, subset, t->n, e) < 0 ||
        shard_sync(&t->out, &t->hash, e) < 0)
        return -1;
    sha256_text(&t->hash, sum);
    return strcmp(sum, t->sum) == 0
               ? 0
               : err_input(e, "%s: the file has other tokens than were written",
                           t->out.save.temp);
}

static int load_state(struct sink *s, struct sink_state *m, struct err *e)
{
    char documents[NUM_TEXT], tokens[NUM_TEXT];
    AUTO(buf_clear) struct buf text = BUF_INIT;
    int got = 0;

    if (!s->conf.work || !path_exists(s->state_path))
        return 0;
    if (buf_read_file(&text, s->state_path, 4096, e) < 0)
        return -1;
    if (parse_state(s, text.s, m)) {
        s->has_state = true;
        /* the shards that were completed before */
        for (int i = 0; i < SUBSETS; i++)
            for (int64_t k = 0; k < s->shard[i].number; k++)
                add_file(s, i, k, s->conf.shard_tokens);
        for (int i = 0; i < SUBSETS && got == 0; i++)
            if (s->shard[i].n > 0)
                got = continue_shard(s, i, e);
        if (got < 0)
            err_wrap(e, "%s does not fit its files; delete it to start again",
                     s->state_path);
        else
            log_info("%s: resuming after %s, %s", s->state_path,
                     num_count(documents, m->documents, "document"),
                     num_count(tokens, m->tokens, "token"));
    } else {
        log_warn("%s belongs to another command; starting from the beginning",
                 s->state_path);
        memset(s->shard, 0, sizeof s->shard);
    }
    return got;
}

int sink_open(struct sink **out, const struct sink_conf *conf,
              struct sink_state *m, struct err *e)
{
    struct sink *s = xcalloc(1, sizeof *s);

    s->conf = *conf;
    s->state_path = xasprintf("%s.state", conf->prefix);
    s->saved = clock_mono();
    *m = (struct sink_state){ .place = { .line = 1 }, .subset = -1 };
    if (path_make_parent(conf->prefix, e) < 0 || lock_names(s, e) < 0 ||
        load_state(s, m, e) < 0) {
        sink_free(s);
        return -1;
    }
    *out = s;
    return 0;
}

int sink_add(struct sink *s, int subset, const void *ids, size_t n,
             struct err *e)
{
    struct sink_shard *t = &s->shard[subset];
    const int64_t most = s->conf.shard_tokens;
    const char *p = ids;

    while (n > 0) {
        size_t take = n;

        if (!t->open && open_shard(s, subset, 0, e) < 0)
            return -1;
        if (most > 0 && (int64_t)take > most - t->n)
            take = (size_t)(most - t->n);
        shard_add(&t->out, p, take);
        t->n += (int64_t)take;
        p += take * (size_t)s->conf.width;
        n -= take;
        if (t->n == most && finish_shard(s, subset, e) < 0)
            return -1;
    }
    return 0;
}

int sink_add_shard(struct sink *sink, int subset, const struct shard *s,
                   int64_t at, int64_t n, struct err *e)
{
    int32_t id[SHARD_BLOCK];
    uint16_t narrow[SHARD_BLOCK];

    for (int64_t k; n > 0; at += k, n -= k) {
        k = n < SHARD_BLOCK ? n : SHARD_BLOCK;
        if (shard_copy(s, at, k, id, NULL, e) < 0)
            return -1;
        for (int64_t i = 0; i < k; i++)
            narrow[i] = (uint16_t)id[i];
        if (sink_add(sink, subset, s->width == 2 ? (void *)narrow : id,
                     (size_t)k, e) < 0)
            return -1;
    }
    return 0;
}

/* Copy a shard of a part, unless it differs from the lock. */
static int join_shard(struct sink *sink, int subset, const char *path,
                      const char *sha256, struct sink_state *m, struct err *e)
{
    AUTO(shard_close) struct shard s = { 0 };
    char sum[SHA256_TEXT];
    int64_t size;

    if (sig_caught())
        return err_set(e, ERR_STOPPED,
                       "interrupted; the same command joins the parts again");
    if (sha256_file(path, sum, &size, e) < 0 ||
        shard_open(&s, path, sink->conf.width, e) < 0)
        return -1;
    if (strcmp(sum, sha256) != 0 || s.width != sink->conf.width)
        return err_input(e, "%s differs from its lock; encode this part again",
                         path);
    s.marked = true;
    m->tokens += s.n;
    return sink_add_shard(sink, subset, &s, 0, s.n, e);
}

/* Copy the shards of a part, or only see whether they are there, without m. */
static int join_shards(struct sink *s, const char *prefix, const struct lock *l,
                       struct sink_state *m, struct err *e)
{
    struct sink_conf c = s->conf;
    size_t found = 0;

    c.prefix = prefix;
    for (int i = 0; i < SUBSETS; i++)
        for (int64_t k = 0; c.subset[i]; k++, found++) {
            AUTO_FREE char *path = sink_path(&c, i, k);
            const struct lock_entry *was = lock_entry_of(l, path);

            if (!was || (k > 0 && c.shard_tokens == 0))
                break;
            if (m && join_shard(s, i, path, was->sha256, m, e) < 0)
                return -1;
        }
    return found == l->n
               ? 0
               : err_set(e, ERR_MISSING, "%s lists shards that do not exist",
                         l->path);
}

static void add_dropped(int64_t *dropped, const char *lines)
{
    for (int i = 0; i < CLEAN_RULES; i++) {
        AUTO_FREE char *begin = xasprintf("dropped %s ", clean_name[i]);
        const char *at = strstr(lines, begin);
        long long n;

        if (at && sscanf(at, "dropped %*s %*s %lld", &n) == 1)
            dropped[i] += n;
    }
}

static int join_part(struct sink *s, const char *parts, const char *hash,
                     long long number, long long *of, struct sink_state *m,
                     struct err *e)
{
    AUTO_FREE char *prefix = xasprintf("%s%lld", parts, number);
    AUTO_FREE char *path = xasprintf("%s.tokens.lock", prefix);
    AUTO_FREE char *writing = xasprintf("%s.state.lock", prefix);
    AUTO(lock_clear) struct lock l = { 0 };
    long long i, all, documents, text;
    char has[SHA256_TEXT];

    if (lock_load(&l, path, e) < 0)
        return -1;
    if (sscanf(str_or_empty(l.command),
               "gdata encode --part %lld/%lld of %64s: %lld documents, %lld",
               &i, &all, has, &documents, &text) != 5 ||
        i != number || (i > 1 && all != *of) || strcmp(has, hash) != 0 ||
        path_exists(writing))
        return err_input(e,
                         "%s: this is not part %lld of these files, encoded to "
                         "its end with this tokenizer and these options",
                         path, number);
    *of = all;
    if (m) {
        m->documents += documents;
        m->text += text;
        add_dropped(m->dropped, l.clean.s);
    }
    return join_shards(s, prefix, &l, m, e);
}

int sink_join(struct sink *s, const char *parts, const char *hash,
              struct sink_state *m, struct err *e)
{
    long long of = 1;
    int ret = 0;

    for (int pass = 0; pass < 2; pass++)
        for (long long i = 1; i <= of && ret == 0; i++)
            ret = join_part(s, parts, hash, i, &of, pass ? m : NULL, e);
    return ret;
}

bool sink_resumable(const struct sink *s)
{
    return s->conf.work != NULL;
}

bool sink_due(const struct sink *s)
{
    return s->conf.work && clock_mono() - s->saved > s->conf.mark_every;
}

int sink_save_state(struct sink *s, const struct sink_state *m, struct err *e)
{
    struct save save = { 0 };

    if (!s->conf.work)
        return 0;
    for (int i = 0; i < SUBSETS; i++)
        if (s->shard[i].open &&
            shard_sync(&s->shard[i].out, &s->shard[i].hash, e) < 0)
            return -1;
    if (save_open(&save, s->state_path, e) < 0)
        return -1;
    fprintf(save.fp, "gdata-encode 4 %s\n", s->conf.work);
    fprintf(save.fp,
            "at %zu %" PRId64 " %" PRId64 " %d %" PRId64 " %" PRId64 " %" PRId64
            " %" PRId64 " %d\n",
            m->place.file, m->place.offset, m->place.line, m->place.inside,
            m->documents, m->bad, m->text, m->tokens, m->subset);
    for (int i = 0; i < SUBSETS; i++) {
        const struct sink_shard *t = &s->shard[i];
        char sum[SHA256_TEXT] = "-";

        if (t->open)
            sha256_text(&t->hash, sum);
        fprintf(save.fp, "split %" PRId64 " %" PRId64 " %s\n", t->number, t->n,
                sum);
    }
    for (int i = 0; i < CLEAN_RULES; i++)
        fprintf(save.fp, "%" PRId64 " ", m->dropped[i]);
    if (save_commit(&save, e) < 0) {
        /* it may be there if only the last sync failed */
        s->has_state = s->has_state || access(s->state_path, F_OK) == 0;
        return -1;
    }
    s->saved = clock_mono();
    s->has_state = true;
    return 0;
}

/* Shards of an earlier run with more shards would be read together with ours.
 */
static void remove_older(struct sink *s)
{
    for (int i = 0; i < SUBSETS && s->conf.shard_tokens > 0; i++) {
        int64_t k = s->shard[i].number;

        if (!s->conf.subset[i] || (s->conf.first_shard && i != SUBSET_TRAIN))
            continue;
        for (;; k++) {
            AUTO_FREE char *path = sink_path(&s->conf, i, k);

            if (unlink(path) < 0)
                break;
            log_warn("%s of an earlier run was removed", path);
        }
    }
}

int sink_close(struct sink *s, struct err *e)
{
    for (int i = 0; i < SUBSETS; i++)
        if (s->shard[i].open && finish_shard(s, i, e) < 0)
            return -1;
    remove_older(s);
    if (s->conf.work) {
        AUTO_FREE char *part = xasprintf("%s.saving.tmp", s->state_path);

        if (s->has_state)
            unlink(s->state_path);
        unlink(part); /* of a run that was killed */
    }
    return 0;
}

void sink_free(struct sink *s)
{
    if (!s)
        return;
    for (int i = 0; i < SUBSETS; i++) {
        struct sink_shard *t = &s->shard[i];

        if (t->open && s->has_state)
            shard_keep(&t->out);
        else if (t->open)
            save_abandon(&t->out.save);
    }
    sink_files(s, &s->n_files); /* waits for the threads */
    for (size_t i = 0; i < s->n_files; i++)
        FREE(s->file[i]->path, s->file[i]);
    free(s->file);
    for (int i = 0; i <= SUBSETS; i++) {
        const struct sink_lock *l = &s->lock[i];

        if (l->path && l->fd >= 0) {
            unlink(l->path);
            close(l->fd);
        }
        free(l->path);
    }
    FREE(s->state_path, s);
}

struct sink_file *const *sink_files(struct sink *s, size_t *n)
{
    for (size_t i = 0; i < s->n_files; i++)
        await_hash(s->file[i]);
    *n = s->n_files;
    return s->file;
}
