#include "config.h"
#include "store/format/chain.h"

#include <inttypes.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "store/format/attempt.h"
#include "store/format/key.h"
#include "store/format/store.h"

enum { CHAIN_MAX = 256 << 20, METRIC_MAX = 1 << 30, HEX = SHA256_TEXT - 1 };

static const char head_word[] = "head ";

/* The bytes of whole lines. */
static size_t whole_lines(const struct buf *b)
{
    const char *last = b->len ? memrchr(b->s, '\n', b->len) : NULL;

    return last ? (size_t)(last + 1 - b->s) : 0;
}

/* The hash of a link: of the head before it and of its lines. */
static void hash_link(const char *before, const char *lines, size_t n,
                      char head[SHA256_TEXT])
{
    struct sha256 h;

    sha256_init(&h);
    sha256_add(&h, before, strlen(before));
    sha256_add(&h, lines, n);
    sha256_text(&h, head);
}

/* The text of the last head; the text is cut off behind it. */
static void find_last_head(struct buf *text, char head[SHA256_TEXT])
{
    size_t end = whole_lines(text);

    while (end > 0) {
        const char *line = memrchr(text->s, '\n', end - 1);

        line = line ? line + 1 : text->s;
        if (strncmp(line, head_word, sizeof head_word - 1) == 0 &&
            (size_t)(text->s + end - line) == sizeof head_word + HEX) {
            memcpy(head, line + sizeof head_word - 1, HEX);
            head[HEX] = '\0';
            break;
        }
        end = (size_t)(line - text->s);
    }
    buf_trim(text, end);
}

/* ---- writing ---------------------------------------------------------- */

/* Only whole lines of a metric; a file of one value as it is. */
static int add_file(struct buf *out, const char *path, const char *key,
                    struct err *e)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;
    char sum[SHA256_TEXT];
    size_t n;

    if (buf_read_unlinked(&b, path, METRIC_MAX, e) < 0)
        return -1;
    n = *key == '/' ? b.len : whole_lines(&b);
    sha256_of(b.s, n, sum);
    buf_printf(out, "%s %zu %s\n", sum, n, key);
    return 0;
}

/* Is it a tag that training writes once?  Others are free to be changed. */
static bool is_constant(const char *tag)
{
    static const char *const begins[] = {
        "attempt.",           "from.",
        "resumed.",           "mlflow.source.",
        "gtrack.cpu",         "gtrack.driver",
        "gtrack.gpus",        "gtrack.host",
        "gtrack.memory",      "gtrack.slurm.",
        "gtrack.libraries",   "gtrack.system",
        "gtrack.visible_gpus"
    };

    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (strncmp(tag, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* Parameters and tags do not change, so one line is enough. */
static bool has_line(const struct buf *text, const char *key)
{
    AUTO_FREE char *line = xasprintf(" %s\n", key);

    return text->len && strstr(text->s, line);
}

static int add_files(struct buf *out, const struct buf *text, const char *run,
                     enum key_kind kind, struct err *e)
{
    AUTO_FREE char *folder = path_join(run, key_folders[kind]);
    AUTO(path_list_clear) struct path_list keys = { 0 };
    int ret = err_allow(key_list(&keys, NULL, folder, PATH_NO_LINKS, e),
                        ERR_MISSING, e);

    for (size_t i = 0; ret == 0 && i < keys.n; i++) {
        const char *path = path_listed(&keys, i);
        AUTO_FREE char *key =
            kind == METRIC
                ? xstrdup(keys.name[i])
                : xasprintf("/%s/%s", key_folders[kind], keys.name[i]);

        if (kind == METRIC || ((kind == PARAM || is_constant(keys.name[i])) &&
                               !has_line(text, key)))
            ret = add_file(out, path, key, e);
    }
    return ret;
}

int chain_add(struct buf *text, const char *run, int64_t step,
              const char *weights, char head[SHA256_TEXT], struct err *e)
{
    AUTO(buf_clear) struct buf lines = BUF_INIT;
    char before[SHA256_TEXT] = "";

    find_last_head(text, before);
    buf_printf(&lines, "step %" PRId64 " %s\n", step, weights);
    if (add_files(&lines, text, run, METRIC, e) < 0 ||
        add_files(&lines, text, run, PARAM, e) < 0 ||
        add_files(&lines, text, run, TAG, e) < 0)
        return -1;
    hash_link(before, lines.s, lines.len, head);
    buf_add(text, lines.s, lines.len);
    buf_printf(text, "%s%s\n", head_word, head);
    return 0;
}

/* ---- checking --------------------------------------------------------- */

struct entry {
    const char *sum, *key;
    int64_t bytes, step;
};

struct chain {
    struct buf text, sums; /* sums: checkpoints.sha256 */
    struct entry *item;
    size_t n, room;
    chain_fn *fn;
    void *arg;
};

/* Cut a link into its words; false if it is malformed. */
static bool read_link(struct chain *c, char *lines, int64_t *step)
{
    char *line = strsep(&lines, "\n"), *number;
    AUTO_FREE char *model = NULL;

    if (strncmp(line, "step ", 5) != 0)
        return false;
    line += 5;
    number = strsep(&line, " ");
    if (!line || !num_int(number, step))
        return false;
    model = xasprintf("%s  checkpoints/step-%08" PRId64 "/", line, *step);
    if (!c->sums.s || !strstr(c->sums.s, model))
        c->fn(c->arg, "artifacts/checkpoints.sha256",
              "it lacks the weights of a checkpoint in chain.txt");
    while ((line = strsep(&lines, "\n")) && *line) {
        struct entry x = { .sum = strsep(&line, " "), .step = *step };
        const char *bytes = line ? strsep(&line, " ") : NULL;

        x.key = line;
        if (!x.key || !num_int(bytes, &x.bytes) || x.bytes < 0)
            return false;
        APPEND(c->item, c->n, c->room) = x;
    }
    return true;
}

/* Check the heads and read the links, up to the first that does not fit. */
static void read_links(struct chain *c)
{
    char before[SHA256_TEXT] = "", head[SHA256_TEXT];
    char *at = c->text.s, *end;
    int64_t step = 0;

    while (at && (end = strstr(at, "\nhead "))) {
        const char *is = end + sizeof head_word;

        hash_link(before, at, (size_t)(end + 1 - at), head);
        if (strncmp(is, head, HEX) != 0 || is[HEX] != '\n')
            break;
        *end = '\0';
        if (!read_link(c, at, &step))
            break;
        memcpy(before, head, sizeof before);
        at = end + sizeof head_word + SHA256_TEXT;
    }
    if (at && *at) {
        AUTO_FREE char *what =
            xasprintf("its lines after step %" PRId64
                      " do not have the head that follows them",
                      step);

        c->fn(c->arg, "artifacts/" CHAIN_FILE, what);
    }
}

static int by_key(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    const int order = strcmp(x->key, y->key);

    return order ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* The entries of one file, the shortest first; the first that does not fit
 * tells by which step it was changed. */
static int check_file(struct chain *c, const struct run_info *run,
                      const struct entry *x, size_t n, struct err *e)
{
    const bool grows = *x->key != '/'; /* a metric */
    char *file =
        grows ? xasprintf(STORE_METRICS "/%s", x->key) : xstrdup(x->key + 1);
    AUTO_FREE char *what = NULL;
    char *path = path_join(run->folder, file), sum[SHA256_TEXT];
    AUTO(buf_clear) struct buf b = BUF_INIT;
    struct sha256 all;
    int64_t at = 0;
    int ret = 0;

    if (!key_problem(x->key + !grows))
        ret = err_allow(buf_read_unlinked(&b, path, METRIC_MAX, e), ERR_MISSING,
                        e);
    sha256_init(&all);
    for (size_t i = 0; i < n && ret == 0; i++) {
        struct sha256 h;
        const bool is_there =
            grows ? x[i].bytes <= (int64_t)b.len : x[i].bytes == (int64_t)b.len;

        if (is_there)
            sha256_add(&all, b.s + at, (size_t)(x[i].bytes - at));
        at = x[i].bytes;
        h = all;
        sha256_text(&h, sum);
        if (is_there && strcmp(sum, x[i].sum) == 0)
            continue;
        what = xasprintf("it was changed after the checkpoint of step %" PRId64
                         ", in a part that was written before",
                         x[i].step);
        c->fn(c->arg, file, what);
        break;
    }
    FREE(path, file);
    return ret;
}

/* A file names a head: is it in the chain? */
static bool has_head(struct chain *c, const char *file, const char *head)
{
    AUTO_FREE char *line = xasprintf("%s%.*s\n", head_word, HEX, head);
    AUTO_FREE char *what = xasprintf(
        "it names the head %.12s, which " CHAIN_FILE " does not have", head);
    const bool found = c->text.s && strstr(c->text.s, line);

    if (!found)
        c->fn(c->arg, file, what);
    return found;
}

/* Are the heads that the log and a tag name those of the chain?  A run that was
 * copied without its artifacts has the tag alone. */
static void check_heads(struct chain *c, const struct run_info *run)
{
    const char *tag = run_info_tag(run, CHAIN_TAG), *at;
    AUTO_FREE char *path = path_join(run->artifacts, "gtrain.log");
    AUTO(buf_clear) struct buf log = BUF_INIT;

    buf_read_unlinked(&log, path, CHAIN_MAX, ERR_IGNORED);
    if (tag && c->text.len)
        has_head(c, "tags/" CHAIN_TAG, tag);
    at = log.s;
    while (at && (at = strstr(at, CHAIN_LOG)) &&
           has_head(c, "artifacts/gtrain.log", at + sizeof CHAIN_LOG - 1))
        at++;
}

/* The times of the points are part of the chain. */
static void check_times(struct chain *c, const struct run_info *run)
{
    enum { CLOCKS_MS = 60000 }; /* a clock may be set back a little */

    const struct metric_sum *loss = run_info_metric(run, "train/loss");

    if (run->attempts > 0 && run->attempt[0].number == 1 &&
        run->attempt[0].start_ms != run->start_ms)
        c->fn(c->arg, "meta.yaml", "its start_time is not that of attempt 1");
    if (loss && run->end_ms && run->end_ms + CLOCKS_MS < loss->last_ms)
        c->fn(c->arg, "meta.yaml", "its end_time is before its last loss");
}

int chain_check(const struct run_info *run, chain_fn *fn, void *arg,
                struct err *e)
{
    struct chain c = { .fn = fn, .arg = arg };
    AUTO_FREE char *path = path_join(run->artifacts, CHAIN_FILE);
    AUTO_FREE char *sums = path_join(run->artifacts, "checkpoints.sha256");
    int ret = err_allow(buf_read_unlinked(&c.text, path, CHAIN_MAX, e),
                        ERR_MISSING, e);

    buf_read_unlinked(&c.sums, sums, CHAIN_MAX, ERR_IGNORED);
    if (ret == 0)
        check_heads(&c, run);
    if (ret == 0 && c.text.len) {
        check_times(&c, run);
        read_links(&c);
    }
    SORT(c.item, c.n, by_key);
    for (size_t i = 0, n; i < c.n && ret == 0; i += n) {
        for (n = 1;
             i + n < c.n && strcmp(c.item[i].key, c.item[i + n].key) == 0;)
            n++;
        ret = check_file(&c, run, &c.item[i], n, e);
    }
    free(c.item);
    buf_clear(&c.sums);
    buf_clear(&c.text);
    return ret;
}
