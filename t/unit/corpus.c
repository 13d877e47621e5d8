/*
 * corpus - documents out of text, JSON Lines and gzip, whole and damaged
 */
#include "config.h"
#include "data/corpus/corpus.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/save.h"
#include "t/lib/tap.h"

static char folder[] = "/tmp/corpus.XXXXXX";
static char logged[4096]; /* the lines that were logged */

static void note(void *arg, enum log_level level, const char *line)
{
    const size_t n = strlen(logged);

    (void)arg;
    (void)level;
    snprintf(logged + n, sizeof logged - n, "%s\n", line);
}

static char *in_folder(const char *name)
{
    return path_join(folder, name);
}

static void put(const char *name, const void *data, size_t n)
{
    char *path = in_folder(name);
    struct save s = { 0 };
    struct err e = { 0 };

    if (save_open(&s, path, &e) == 0) {
        fwrite(data, 1, n, s.fp);
        save_commit(&s, &e);
    }
    free(path);
}

static void put_text(const char *name, const char *text)
{
    put(name, text, strlen(text));
}

/* gzip, as one member after what the file already holds */
static void put_gzip(const char *name, const char *text, size_t n,
                     const char *mode)
{
    char *path = in_folder(name);
    gzFile f = gzopen(path, mode);

    gzwrite(f, text, (unsigned)n);
    gzclose(f);
    free(path);
}

/* Each document with its line, each part with a mark: "1:one|" "7:two.." */
static int read_all(const char *name, struct corpus_conf c, struct buf *out,
                    struct corpus_stats *stats, struct err *e)
{
    char *path = in_folder(name);
    struct corpus *corpus;
    struct corpus_block *b;
    int64_t seq = 0;
    int got;

    buf_clear(out);
    logged[0] = '\0';
    if (!c.path) {
        c.path = &path;
        c.n = 1;
    }
    if (corpus_open(&corpus, &c, e) < 0) {
        free(path);
        return -1;
    }
    while ((got = corpus_next(corpus, &b, e)) > 0) {
        if (b->seq != seq++)
            buf_str(out, "(wrong number)");
        for (size_t i = 0; i < b->n; i++) {
            const struct corpus_doc *d = &b->doc[i];

            if (d->begins)
                buf_printf(out, "%lld:", (long long)d->line);
            buf_add(out, d->text, d->len);
            if (d->ends)
                buf_char(out, '|');
        }
        corpus_done(corpus, b);
    }
    if (stats)
        corpus_stats(corpus, stats);
    corpus_close(corpus);
    free(path);
    return got;
}

static void check(const char *what, const char *name, struct corpus_conf c,
                  const char *want)
{
    struct buf out = BUF_INIT;
    struct err e = { 0 };

    if (!ok(read_all(name, c, &out, NULL, &e) == 0 &&
                strcmp(out.s, want) == 0 && e.kind == ERR_NONE,
            "%s", what))
        diag("got %.300s %s", out.s, e.text);
    buf_clear(&out);
}

static void formats(void)
{
    const struct corpus_conf plain = { .n = 0 };
    static const char text[] = "one\ntwo\n";
    static const char lines[] =
        "{\"text\": \"a\"}\n\n{\"id\":1,\"text\":\"b\"}";

    put_text("a.txt", text);
    check("a text is one document", "a.txt", plain, "1:one\ntwo\n|");
    put_text("empty.txt", "");
    check("an empty text has no document", "empty.txt", plain, "");
    put_text("a.jsonl", lines);
    check("each line of JSON is a document, except blank ones", "a.jsonl",
          plain, "1:a|3:b|");
    check("a line without the field has no document", "a.jsonl",
          (struct corpus_conf){ .field = "id", .bad = CORPUS_SKIP_LINES }, "");
    check("JSON is read as text if asked for", "a.jsonl",
          (struct corpus_conf){ .format = CORPUS_TEXT },
          "1:{\"text\": \"a\"}\n\n{\"id\":1,\"text\":\"b\"}|");
    put_text("sep.txt", "a<|end|>b\nc<|end|><|end|>\nd<|end|>");
    check("separators end documents", "sep.txt",
          (struct corpus_conf){ .separator = "<|end|>" }, "1:a|1:b\nc|2:\nd|");
    put_gzip("a.txt.gz", text, strlen(text), "w");
    put_gzip("a.txt.gz", "three", 5, "a");
    check("a gzip file may have two members", "a.txt.gz", plain,
          "1:one\ntwo\nthree|");
    put_gzip("a.json.gz", lines, strlen(lines), "w");
    check("JSON in gzip is recognised by its name", "a.json.gz", plain,
          "1:a|3:b|");
    put_gzip("hidden", lines, strlen(lines), "w");
    check("gzip is recognised by its bytes, and JSON if asked for", "hidden",
          (struct corpus_conf){ .format = CORPUS_JSONL }, "1:a|3:b|");
}

static void folders(void)
{
    char *sub = in_folder("tree/b/c"), *sub2 = in_folder("tree/d");
    struct err e = { 0 };
    struct buf out = BUF_INIT;

    path_make(sub, &e);
    path_make(sub2, &e);
    put_text("tree/b/c/2.txt", "2");
    put_text("tree/a.txt", "1");
    put_text("tree/z.jsonl", "{\"text\":\"4\"}");
    put_text("tree/d/3.md", "3");
    put_text("tree/d/.hidden.txt", "no");
    put_text("tree/d/prog.o", "no");
    check("a folder gives its texts, sorted by name", "tree",
          (struct corpus_conf){ .n = 0 }, "1:1|1:2|1:3|1:4|");
    put_text("tree/d/prog.o", "no");
    path_remove(sub2, &e);
    path_make(sub2, &e);
    ok(read_all("tree/d", (struct corpus_conf){ .n = 0 }, &out, NULL, &e) < 0 &&
           e.kind == ERR_MISSING,
       "a folder without texts is missing");
    ok(read_all("nowhere", (struct corpus_conf){ .n = 0 }, &out, NULL, &e) <
               0 &&
           e.kind == ERR_MISSING,
       "a file that does not exist is missing");
    buf_clear(&out);
    free(sub);
    free(sub2);
}

/* A long text, cut into parts, comes out as it went in. */
static void parts(void)
{
    const size_t n = 5 << 20;
    char *text = xmalloc(n + 1), *path = in_folder("long.txt");
    struct corpus_conf c = { .path = &path, .n = 1 };
    struct corpus_stats stats;
    struct corpus *corpus;
    struct corpus_block *b;
    struct corpus_place third = { 0, 0, 0, false };
    struct buf out = BUF_INIT, tail = BUF_INIT;
    struct err e = { 0 };
    int parts = 0;
    bool cuts = true;

    for (size_t i = 0; i < n; i++)
        text[i] = "abc def, ghi\nand so on. "[i * 7 % 24];
    text[n] = '\0';
    put("long.txt", text, n);
    ok(corpus_open(&corpus, &c, &e) == 0, "a text of 5 MiB is opened");
    while (corpus_next(corpus, &b, &e) > 0) {
        const struct corpus_doc *d = &b->doc[0];

        cuts = cuts && b->n == 1 && d->begins == (parts == 0) &&
               (d->begins || d->text[0] == ' ' || d->text[0] == '\n');
        buf_add(&out, d->text, d->len);
        if (++parts == 3)
            third = b->next;
        if (parts > 3)
            buf_add(&tail, d->text, d->len);
        cuts = cuts && d->ends == (out.len == n);
        corpus_done(corpus, b);
    }
    corpus_stats(corpus, &stats);
    corpus_close(corpus);
    ok(parts >= 5 && cuts, "a long text comes in parts that end before blanks");
    ok(out.len == n && memcmp(out.s, text, n) == 0,
       "the parts are the whole text");
    ok(stats.documents == 1 && stats.text == (int64_t)n &&
           stats.taken == (int64_t)n && stats.total == (int64_t)n,
       "a text in parts is counted as one document");

    c.from = &third;
    buf_clear(&out);
    ok(corpus_open(&corpus, &c, &e) == 0, "a text is opened at its third part");
    while (corpus_next(corpus, &b, &e) > 0) {
        buf_add(&out, b->doc[0].text, b->doc[0].len);
        ok(!b->doc[0].begins,
           "a later part is not the beginning of a document");
        corpus_done(corpus, b);
    }
    corpus_close(corpus);
    ok(out.len == tail.len && memcmp(out.s, tail.s, out.len) == 0,
       "a text opened at a part has the rest of the text");
    buf_clear(&out);
    buf_clear(&tail);
    free(text);
    free(path);
}

/* A separator that lies across the end of a block is found all the same. */
static void long_separators(void)
{
    static const char separator[] = "\nend of text\n";
    const size_t sizes[] = { CORPUS_BLOCK - 20, CORPUS_BLOCK - 6, CORPUS_BLOCK,
                             3 * CORPUS_BLOCK - 3 };

    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        struct buf text = BUF_INIT, want = BUF_INIT, out = BUF_INIT;
        struct err e = { 0 };

        while (text.len < sizes[k])
            buf_str(&text, "wo rd");
        buf_printf(&want, "1:%s|2:next|", text.s);
        buf_printf(&text, "%s%s", separator, "next");
        put("sep2.txt", text.s, text.len);
        read_all("sep2.txt", (struct corpus_conf){ .separator = separator },
                 &out, NULL, &e);
        /* lines: the separator holds two newlines */
        want.s[want.len - 7] = '3';
        ok(out.len == want.len && memcmp(out.s, want.s, want.len) == 0,
           "a separator at byte %zu ends a document", sizes[k]);
        buf_clear(&text);
        buf_clear(&want);
        buf_clear(&out);
    }
}

static void no_blank(void)
{
    const size_t n = CORPUS_PART + CORPUS_BLOCK;
    char *text = xmalloc(n);
    struct corpus_stats stats;
    struct buf out = BUF_INIT;
    struct err e = { 0 };

    for (size_t i = 0; i < n; i++) /* two-byte characters */
        text[i] = "\xc3\xa9"[i % 2];
    put("noblank.txt", text, n);
    ok(read_all("noblank.txt", (struct corpus_conf){ .n = 0 }, &out, &stats,
                &e) == 0 &&
           out.len == n + 3 && stats.documents == 1,
       "a text without a blank is read");
    ok(strstr(logged, "noblank.txt:1: 16 MiB without a blank"),
       "a text without any blank has a warning");

    memset(text, 'x', n);
    memcpy(text, "{\"text\":\"", 9);
    text[9 << 20] = '\n';
    memcpy(text + (9 << 20) + 1, "{\"text\":\"short\"}\n", 17);
    put("longline.jsonl", text, (9 << 20) + 18);
    ok(read_all("longline.jsonl", (struct corpus_conf){ .max_line = 4 << 20 },
                &out, &stats, &e) == 0 &&
           strcmp(out.s, "2:short|") == 0 && stats.bad_lines == 1,
       "a line that is too long is skipped");
    ok(strstr(logged, "longline.jsonl:1: the line has more than 4194304 bytes"),
       "a line that is too long has a warning");
    free(text);
    buf_clear(&out);
}

/* The first line fills three quarters of a buffer; what was read after it is
 * the beginning of the second, and fills another buffer exactly. */
static void long_lines(void)
{
    static const size_t lengths[] = { 3 * CORPUS_BLOCK, CORPUS_BLOCK + 5000, 20,
                                      50 };
    struct buf text = BUF_INIT, want = BUF_INIT;

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        buf_str(&text, "{\"text\":\"");
        buf_printf(&want, "%zu:", i + 1);
        for (size_t k = 0; k < lengths[i] - 12; k++) {
            buf_char(&text, "a bc "[k % 5]);
            buf_char(&want, "a bc "[k % 5]);
        }
        buf_str(&text, "\"}\n");
        buf_char(&want, '|');
    }
    put("long.jsonl", text.s, text.len);
    check("what follows a long line is read if it fills a buffer exactly",
          "long.jsonl", (struct corpus_conf){ 0 }, want.s);
    buf_clear(&text);
    buf_clear(&want);
}

static void damage(void)
{
    static const char lines[] = "{\"text\":\"a\"}\n{\"text\":\n{\"x\":1}\n"
                                "{\"text\":\"b\"}\n";
    struct corpus_stats stats;
    struct buf out = BUF_INIT, gz = BUF_INIT;
    struct err e = { 0 };
    char *path = in_folder("cut.json.gz"), *big = xmalloc(1 << 20);
    size_t lines_n = 0;

    put_text("bad.jsonl", lines);
    ok(read_all("bad.jsonl", (struct corpus_conf){ .n = 0 }, &out, &stats,
                &e) == 0 &&
           strcmp(out.s, "1:a|4:b|") == 0 && stats.bad_lines == 2 &&
           stats.documents == 2,
       "bad lines are skipped and counted");
    ok(strstr(logged, "bad.jsonl:2: column 9") &&
           strstr(logged, "bad.jsonl:3: no field \"text\""),
       "bad lines are reported with file, line and reason");
    ok(read_all("bad.jsonl", (struct corpus_conf){ .bad = CORPUS_STOP }, &out,
                NULL, &e) < 0 &&
           strstr(e.text, "bad.jsonl:2: column"),
       "a bad line is an error if asked for");

    for (size_t at = 0; at + 64 < 1 << 20; lines_n++)
        at += (size_t)sprintf(big + at, /* style: unsafe */
                              "{\"text\":\"%zu %zu\"}\n", lines_n,
                              lines_n * 2654435761u % 1000003);
    put_gzip("cut.json.gz", big, strlen(big), "w");
    buf_read_file(&gz, path, 1 << 24, &e);
    put("cut.json.gz", gz.s, gz.len / 2);
    e = (struct err){ 0 };
    ok(read_all("cut.json.gz", (struct corpus_conf){ .n = 0 }, &out, &stats,
                &e) < 0 &&
           strstr(e.text, "ends early") && strstr(e.text, "cut.json.gz:"),
       "a gzip file that ends early is an error");
    e = (struct err){ 0 };
    ok(read_all("cut.json.gz", (struct corpus_conf){ .bad = CORPUS_SKIP_FILES },
                &out, &stats, &e) == 0 &&
           stats.bad_files == 1 && stats.documents > 1000 &&
           stats.documents < (int64_t)lines_n && stats.bad_lines == 0,
       "a gzip file that ends early gives its complete lines");
    gz.s[gz.len / 2] ^= 0x55;
    put("cut.json.gz", gz.s, gz.len);
    ok(read_all("cut.json.gz", (struct corpus_conf){ .n = 0 }, &out, NULL, &e) <
               0 &&
           strstr(e.text, "damaged gzip data"),
       "a gzip file with a wrong byte is an error");
    e = (struct err){ 0 };
    put("nul.txt", "a\nb\0c", 5);
    ok(read_all("nul.txt", (struct corpus_conf){ .n = 0 }, &out, NULL, &e) ==
               0 &&
           out.len == 8 && memcmp(out.s, "1:a\nb\0c|", 8) == 0 &&
           strstr(logged, "nul.txt:2: the text has a NUL byte"),
       "a NUL is kept with a warning");
    free(big);
    free(path);
    buf_clear(&out);
    buf_clear(&gz);
}

/* Four threads that ask: each block goes to one of them, and none is lost. */
enum { ASKING = 4, LINES = 200000 };

struct asking {
    pthread_t thread;
    struct corpus *corpus;
    int64_t documents, sum, text;
};

static void *ask(void *arg)
{
    struct asking *a = arg;
    struct err e = { 0 };
    struct corpus_block *b;

    while (corpus_next(a->corpus, &b, &e) > 0) {
        for (size_t i = 0; i < b->n; i++) {
            a->sum += strtol(b->doc[i].text, NULL, 10);
            a->text += (int64_t)b->doc[i].len;
        }
        a->documents += (int64_t)b->n;
        corpus_done(a->corpus, b);
    }
    return NULL;
}

static void threads(void)
{
    struct asking asking[ASKING] = { { 0 } }, all = { 0 };
    char *path = in_folder("many.jsonl");
    const struct corpus_conf c = { .path = &path, .n = 1 };
    struct buf text = BUF_INIT;
    struct corpus *corpus;
    struct corpus_stats stats;
    struct err e = { 0 };

    for (int i = 0; i < LINES; i++)
        buf_printf(&text, "{\"text\": \"%d bottles\\n\"}\n", i);
    put("many.jsonl", text.s, text.len);
    ok(corpus_open(&corpus, &c, &e) == 0, "a file of many lines is opened");
    for (int i = 0; i < ASKING; i++) {
        asking[i].corpus = corpus;
        pthread_create(&asking[i].thread, NULL, ask, &asking[i]);
    }
    for (int i = 0; i < ASKING; i++) {
        pthread_join(asking[i].thread, NULL);
        all.documents += asking[i].documents;
        all.sum += asking[i].sum;
        all.text += asking[i].text;
    }
    corpus_stats(corpus, &stats);
    ok(all.documents == LINES && all.sum == (int64_t)LINES * (LINES - 1) / 2,
       "each line is given to one thread");
    ok(stats.documents == LINES && stats.text == all.text,
       "the lines of all threads are counted");
    corpus_close(corpus);

    ok(corpus_open(&corpus, &c, &e) == 0,
       "a corpus can be closed before its end");
    corpus_close(corpus);
    buf_clear(&text);
    free(path);
}

/* About as many documents as asked fall into a share, always the same. */
static void shares(void)
{
    int hits = 0;

    for (int i = 0; i < 10000; i++) {
        char text[16];
        const size_t len = (size_t)snprintf(text, sizeof text, "%d", i);
        const struct corpus_doc d = { .text = text, .len = len };

        hits += corpus_doc_in_share(&d, 0.05);
    }
    ok(hits > 400 && hits < 600, "5%% of the documents are in a share of 5%%");
}

int main(void)
{
    struct err e = { 0 };

    log_setup("corpus", LOG_WARN);
    log_sink(note, NULL);
    if (!freopen("/dev/null", "w", stderr) || !mkdtemp(folder))
        return 1;
    formats();
    folders();
    parts();
    long_separators();
    no_blank();
    long_lines();
    damage();
    shares();
    threads();
    path_remove(folder, &e);
    return done_testing();
}
