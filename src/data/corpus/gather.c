#include "config.h"
#include "data/corpus/gather.h"

#include <fnmatch.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "common/hash.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/utf8.h"
#include "data/corpus/hashset.h"
#include "data/corpus/source/source.h"

enum {
    FILE_MAX = 512 << 10, /* larger files are tables, or generated */
    DOCUMENT_MIN = 300,
    PARAGRAPH_MIN = 60, /* shorter paragraphs may be repeated */
    DEPTH_MAX = 12,
};

/* clang-format off */
static const struct gather_kind {
    const char *name;
    double share;
    const char *roots[6];       /* globs */
    const char *files[14];      /* globs of names, which may end in ".gz" */
    const char *except[5];
} kinds[GATHER_KINDS] = {
    { "documentation", 0.35,
      { "usr/share/doc", "usr/share/vim/vim*/doc" },
      { "README*", "NEWS*", "FAQ*", "INTRO*", "*.txt", "*.md", "*.rst" },
      { "*.html*", "*.json*", "*.xml*", "*[Cc]hange[Ll]og*",
        "CHANGE*" } },
    { "licences", 0.05,
      { "usr/share/common-licenses", "usr/share/doc" },
      { "copyright", "*GPL*", "GFDL*", "MPL*", "Apache*", "Artistic", "BSD",
        "CC0*" }, { 0 } },
    { "headers", 0.30,
      { "usr/include", "usr/lib/gcc/*/*/include" }, { "*.h" }, { 0 } },
    { "perl", 0.10,             /* half of it is documentation */
      { "usr/share/perl*", "usr/lib/*/perl*", "usr/share/auto*" },
      { "*.pm", "*.pod" }, { 0 } },
    { "python", 0.20,
      { "usr/lib/python3*", "usr/share/python3" }, { "*.py" },
      { "test_*" } },
};
/* clang-format on */

struct gather_file {
    char *path;
    uint64_t key;
};

struct gather_list {
    struct gather_file *file;
    size_t n, room, next; /* next: the first that is not read yet */
};

struct gatherer {
    const char *root;
    struct hashset known; /* paragraphs */
    struct buf raw, text, kept;
    gather_fn *give;
    void *arg;
};

static bool matches(const char *const *patterns, size_t n, const char *name)
{
    char *bare = xstrdup(name);
    const size_t len = strlen(bare);
    bool found = false;

    if (len > 3 && strcmp(bare + len - 3, ".gz") == 0)
        bare[len - 3] = '\0';
    for (size_t i = 0; i < n && patterns[i] && !found; i++)
        found = fnmatch(patterns[i], bare, 0) == 0;
    free(bare);
    return found;
}

/* Find the files below a folder; links and unreadable folders are skipped. */
static void find_files(struct gatherer *s, struct gather_list *l,
                       const struct gather_kind *k, const char *folder,
                       int depth)
{
    const size_t root = strlen(s->root);
    struct path_list names;
    struct err e;

    if (depth == DEPTH_MAX || path_list(&names, folder, &e) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        char *path = path_join(folder, names.name[i]);
        struct stat st;

        if (lstat(path, &st) < 0) {
            ;
        } else if (S_ISDIR(st.st_mode)) {
            find_files(s, l, k, path, depth + 1);
        } else if (S_ISREG(st.st_mode) && st.st_size <= FILE_MAX &&
                   matches(k->files, 14, names.name[i]) &&
                   !matches(k->except, 5, names.name[i])) {
            GROW(l->file, l->n, l->room);
            l->file[l->n].key = hash128(path + root, strlen(path + root), 0).hi;
            l->file[l->n++].path = path;
            continue;
        }
        free(path);
    }
    path_list_clear(&names);
}

static int by_key(const void *a, const void *b)
{
    const struct gather_file *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return strcmp(x->path, y->path);
}

static void find_kind(struct gatherer *s, struct gather_list *l,
                      const struct gather_kind *k)
{
    for (size_t i = 0; i < 6 && k->roots[i]; i++) {
        char *pattern = path_join(s->root, k->roots[i]);
        glob_t found;

        if (glob(pattern, 0, NULL, &found) == 0) {
            for (size_t j = 0; j < found.gl_pathc; j++)
                find_files(s, l, k, found.gl_pathv[j], 0);
            globfree(&found);
        }
        free(pattern);
    }
    if (l->n)
        qsort(l->file, l->n, sizeof *l->file, by_key);
}

/* Read a file, inflated; false if it is empty, too long or cannot be read. */
static bool read_text(struct buf *out, const char *path)
{
    struct source *source;
    struct err e = { 0 };
    ssize_t got;

    buf_trim(out, 0);
    if (source_open(&source, path, -1, NULL, &e) < 0)
        return false;
    do {
        buf_room(out, 1 << 18);
        got = source_read(source, out->s + out->len, 1 << 18, &e);
        if (got > 0)
            out->len += (size_t)got;
    } while (got > 0 && out->len <= FILE_MAX);
    out->s[out->len] = '\0';
    source_close(source);
    return got == 0 && out->len > 0;
}

/* Is this UTF-8 without control characters other than white space? */
static bool is_text(const struct buf *b)
{
    for (size_t i = 0; i < b->len; i++)
        if (((unsigned char)b->s[i] < ' ' && !memchr("\t\n\f\r", b->s[i], 4)) ||
            b->s[i] == 0x7f)
            return false;
    return utf8_valid(b->s);
}

/* Remove white space at the ends of lines, and repeated empty lines. */
static void tidy(struct buf *out, const struct buf *raw)
{
    const char *at = raw->s, *end = raw->s + raw->len;
    bool empty = false;

    while (at < end) {
        const size_t n = strcspn(at, "\n");
        size_t kept = n;

        while (kept && strchr(" \t\f\r", at[kept - 1]))
            kept--;
        if (kept || !empty) {
            buf_add(out, at, kept);
            buf_char(out, '\n');
        }
        empty = kept == 0;
        at += n + 1;
    }
}

/* Keep the new paragraphs of a text; returns the bytes of the others. */
static size_t keep_new(struct gatherer *s, const struct buf *text)
{
    const char *at = text->s, *end = text->s + text->len;
    size_t repeated = 0;

    while (at < end) {
        const char *stop = memmem(at, (size_t)(end - at), "\n\n", 2);
        size_t n;

        stop = stop ? stop + 2 : end;
        n = (size_t)(stop - at);
        if (n < PARAGRAPH_MIN || hashset_add(&s->known, hash128(at, n, 0).hi))
            buf_add(&s->kept, at, n);
        else
            repeated += n;
        at = stop;
    }
    return repeated;
}

static void trim_blanks(struct buf *b)
{
    size_t n = b->len, blank = 0;

    while (n && (b->s[n - 1] == '\n' || b->s[n - 1] == ' '))
        n--;
    buf_trim(b, n);
    while (blank < n && b->s[blank] == '\n')
        blank++;
    memmove(b->s, b->s + blank, n - blank);
    buf_trim(b, n - blank);
    buf_char(b, '\n');
}

static void gather_file(struct gatherer *s, const struct gather_kind *k,
                        const char *path, struct gather_stats *stats)
{
    if (!read_text(&s->raw, path) || !is_text(&s->raw))
        return;
    buf_trim(&s->text, 0);
    buf_trim(&s->kept, 0);
    tidy(&s->text, &s->raw);
    stats->repeated += (int64_t)keep_new(s, &s->text);
    trim_blanks(&s->kept);
    if (s->kept.len < DOCUMENT_MIN)
        return;
    stats->documents++;
    stats->bytes += (int64_t)s->kept.len;
    s->give(s->arg, &(struct gathered){ .kind = k->name,
                                        .path = path + strlen(s->root),
                                        .text = s->kept.s,
                                        .len = s->kept.len });
}

/* Read the files of one kind until there are `most` bytes of it. */
static void gather_kind(struct gatherer *s, struct gather_list *l,
                        const struct gather_kind *k, int64_t most,
                        struct gather_stats *stats)
{
    while (l->next < l->n && stats->bytes < most)
        gather_file(s, k, l->file[l->next++].path, stats);
}

int gather(const char *root, int64_t limit, gather_fn *give, void *arg,
           struct gather_stats stats[GATHER_KINDS], struct err *e)
{
    struct gather_list lists[GATHER_KINDS] = { { 0 } };
    struct gatherer s = { .root = root,
                          .raw = BUF_INIT,
                          .text = BUF_INIT,
                          .kept = BUF_INIT,
                          .give = give,
                          .arg = arg };
    int64_t total = 0;

    for (int i = 0; i < GATHER_KINDS; i++) {
        stats[i] = (struct gather_stats){ .kind = kinds[i].name };
        find_kind(&s, &lists[i], &kinds[i]);
        stats[i].files = (int64_t)lists[i].n;
        gather_kind(&s, &lists[i], &kinds[i],
                    (int64_t)((double)limit * kinds[i].share), &stats[i]);
        total += stats[i].bytes;
    }
    for (int i = 0; i < GATHER_KINDS; i++) { /* what other kinds have left */
        const int64_t had = stats[i].bytes;

        gather_kind(&s, &lists[i], &kinds[i], had + limit - total, &stats[i]);
        total += stats[i].bytes - had;
    }
    for (int i = 0; i < GATHER_KINDS; i++) {
        for (size_t j = 0; j < lists[i].n; j++)
            free(lists[i].file[j].path);
        free(lists[i].file);
    }
    hashset_clear(&s.known);
    buf_clear(&s.raw);
    buf_clear(&s.text);
    buf_clear(&s.kept);
    if (total == 0)
        return err_set(e, ERR_MISSING,
                       "there are no documentation, licences, headers, Perl or "
                       "Python files below %s",
                       root);
    return 0;
}
