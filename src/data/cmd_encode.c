#include "config.h"
#include "data/cmds.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/sha256.h"
#include "common/sig.h"
#include "common/table.h"
#include "data/corpus/corpus.h"
#include "data/corpus/corpus_files.h"
#include "data/shards/encode_corpus.h"
#include "data/shards/sink.h"
#include "data/token/tokenizer.h"

static const char *tokenizer_path, *output, *format_word = "llmc";
static struct corpus_opts input;
static const char *split_word = "hash", *eot_word = "first";
static const char *invalid_word = "auto";
static double val, test, mark_every = 5;
static int64_t shard_tokens = -1, tokens;
static int threads;
static bool special;
static struct table_style style;

static const struct opt encode_opts[] = {
    { 'T', "tokenizer", "path", OPT_STRING, &tokenizer_path,
      "the tokenizer: a file, or a folder with one" },
    { 'o', "output", "prefix", OPT_STRING, &output,
      "write PREFIX_000000.bin and so on" },
    { 0, "format", "name", OPT_STRING, &format_word,
      "of the files: llmc, raw (nanoGPT) or npy (build-nanogpt)" },
    { 0, "shard-tokens", "count", OPT_LONG, &shard_tokens,
      "tokens a file (100M; raw: all in one)" },
    { 0, "val", "share", OPT_REAL, &val, "hold out this share to validate" },
    { 0, "test", "share", OPT_REAL, &test, "hold out this share to test" },
    { 0, "split", "how", OPT_STRING, &split_word,
      "hold out by hash of documents, the end (tail), or the first shard" },
    { 0, "eot", "where", OPT_STRING, &eot_word,
      "<|endoftext|> comes first in a document, last, or none" },
    { 0, "special", NULL, OPT_FLAG, &special,
      "special tokens in the text are meant; else they are text" },
    { 0, "invalid", "how", OPT_STRING, &invalid_word,
      "what is not UTF-8: raw bytes, replace by U+FFFD; auto: JSON replace" },
    { 'n', "tokens", "count", OPT_LONG, &tokens, "stop after so many" },
    { 'j', "threads", "count", OPT_INT, &threads,
      "encode with so many threads (one a processor)" },
    { 0, "mark-every", "time", OPT_SECS, &mark_every,
      "note how far it is so often, and sync the files (5s)" },
    CORPUS_OPTS(input),
    TABLE_OPTS(style),
    { 0 }
};

struct choice {
    const char *word;
    int value;
};

static int choose(const char *option, const char *word,
                  const struct choice *from, struct err *e)
{
    struct buf all = BUF_INIT;

    for (const struct choice *c = from; c->word; c++)
        if (strcmp(word, c->word) == 0)
            return c->value;
    for (const struct choice *c = from; c->word; c++)
        buf_printf(&all, "%s%s", all.len > 0 ? ", " : "", c->word);
    err_set(e, ERR_USAGE, "--%s is one of %s, not '%s'", option, all.s, word);
    buf_clear(&all);
    return -1;
}

enum how { BY_HASH, BY_TAIL, BY_SHARD };

static const struct choice hows[] = { { "hash", BY_HASH },
                                      { "tail", BY_TAIL },
                                      { "fraction", BY_TAIL },
                                      { "shard", BY_SHARD },
                                      { NULL, 0 } };
static const struct choice eots[] = { { "first", EOT_FIRST },
                                      { "last", EOT_LAST },
                                      { "none", EOT_NONE },
                                      { NULL, 0 } };
static const struct choice invalids[] = { { "auto", INVALID_AUTO },
                                          { "raw", INVALID_RAW },
                                          { "replace", INVALID_REPLACE },
                                          { NULL, 0 } };

struct work {
    struct corpus_conf in;
    struct encode_corpus_conf conf;
    struct sink_conf out;
    enum how how;
    struct tokenizer *tokenizer;
    char hash[SHA256_TEXT];
};

static int check_shares(struct work *w, struct err *e)
{
    if (!(val >= 0 && val < 1) || !(test >= 0 && test < 1) || val + test >= 1)
        return err_set(e, ERR_USAGE,
                       "--val and --test are shares, together "
                       "below 1");
    if (w->how == BY_SHARD && (val > 0 || test > 0))
        return err_set(e, ERR_USAGE,
                       "--split shard holds out the first file, "
                       "whatever its share; leave --val and --test away");
    return 0;
}

static int read_options(struct work *w, struct err *e)
{
    const int how = choose("split", split_word, hows, e);
    const int eot = how < 0 ? -1 : choose("eot", eot_word, eots, e);
    const int invalid =
        eot < 0 ? -1 : choose("invalid", invalid_word, invalids, e);

    if (invalid < 0 || shard_format_from(format_word, &w->out.format, e) < 0)
        return -1;
    w->how = (enum how)how;
    w->conf.eot = (enum eot)eot;
    w->conf.invalid = (enum invalid)invalid;
    if (!tokenizer_path)
        return err_set(e, ERR_USAGE, "-T PATH names the tokenizer");
    if (!output)
        return err_set(e, ERR_USAGE, "-o PREFIX says where to write");
    if (w->in.n == 0)
        return err_set(e, ERR_USAGE, "no files to encode");
    if (threads < 0 || threads > 1024)
        return err_set(e, ERR_USAGE, "--threads must be 1 to 1024");
    if (tokens < 0)
        return err_set(e, ERR_USAGE, "--tokens must be 1 or more");
    if (shard_tokens == 0 || shard_tokens < -1 || shard_tokens > INT32_MAX)
        return err_set(e, ERR_USAGE, "--shard-tokens must be 1 to 2147483647");
    return check_shares(w, e);
}

static void add_text(struct sha256 *h, const char *s)
{
    sha256_add(h, s ? s : "", s ? strlen(s) + 1 : 1);
}

/* A hash of all that the result depends on; false if the input cannot be read
 * twice. */
static bool hash_work(struct work *w, const struct corpus_files *files)
{
    const int64_t numbers[] = {
        w->out.format, w->out.shard_tokens,
        w->conf.eot,   w->conf.invalid,
        special,       tokens,
        w->how,        w->in.format,
        w->in.bad,     w->conf.width,
    };
    const double shares[] = { val, test };
    struct sha256 h;

    sha256_init(&h);
    add_text(&h, tokenizer_hash(w->tokenizer));
    add_text(&h, w->in.field);
    add_text(&h, w->in.separator);
    sha256_add(&h, numbers, sizeof numbers);
    sha256_add(&h, shares, sizeof shares);
    for (size_t i = 0; i < files->n; i++) {
        struct stat st;

        if (stat(files->name[i], &st) < 0 || !S_ISREG(st.st_mode))
            return false;
        add_text(&h, files->name[i]);
        sha256_add(&h, &st.st_size, sizeof st.st_size);
        sha256_add(&h, &st.st_mtim, sizeof st.st_mtim);
    }
    sha256_text(&h, w->hash);
    return true;
}

/* How much text there is: to find the place where the end begins. */
static int count_text(const struct work *w, int64_t *n, struct err *e)
{
    struct corpus *corpus;
    struct corpus_block *b;
    int got;

    *n = 0;
    if (corpus_open(&corpus, &w->in, e) < 0)
        return -1;
    while ((got = corpus_next(corpus, &b, e)) > 0) {
        for (size_t i = 0; i < b->n; i++)
            *n += (int64_t)b->doc[i].len;
        corpus_done(corpus, b);
    }
    corpus_close(corpus);
    return got;
}

static void plan_files(struct work *w)
{
    struct sink_conf *o = &w->out;
    const bool split = val > 0 || test > 0 || w->how == BY_SHARD;

    o->prefix = output;
    o->width = w->conf.width;
    o->shard_tokens = shard_tokens > 0         ? shard_tokens
                      : o->format == SHARD_RAW ? 0
                                               : 100000000;
    o->split[SUBSET_TRAIN] = split ? "train" : "";
    o->split[SUBSET_VAL] = val > 0 || w->how == BY_SHARD ? "val" : NULL;
    o->split[SUBSET_TEST] = test > 0 ? "test" : NULL;
    o->mark_every = mark_every;
    o->first_shard = w->how == BY_SHARD;
}

static bool divides(const void *arg, const char *text, size_t n, size_t at)
{
    return tokenizer_special_contains(arg, special ? ENCODER_SPECIAL : 0, text,
                                      n, at);
}

static int plan(struct work *w, struct err *e)
{
    struct encode_corpus_conf *c = &w->conf;

    w->in.divides = divides;
    w->in.divides_arg = w->tokenizer;
    c->tokenizer = w->tokenizer;
    c->threads = threads ? threads : (int)sysconf(_SC_NPROCESSORS_ONLN);
    c->special = special;
    c->tokens = tokens;
    c->val = val;
    c->test = test;
    c->width = shard_width(tokenizer_vocab(w->tokenizer));
    if (c->eot != EOT_NONE && tokenizer_eot(w->tokenizer) < 0)
        return err_set(e, ERR_USAGE,
                       "%s has no token that ends a document; "
                       "--eot none does without",
                       tokenizer_path);
    plan_files(w);
    if (w->out.first_shard && w->out.shard_tokens == 0)
        return err_set(e, ERR_USAGE,
                       "--split shard needs --shard-tokens with "
                       "--format raw");
    return 0;
}

static int print_files(const struct sink *sink, struct err *e)
{
    struct table t = TABLE_INIT("gdata.encode/1");
    const struct sink_file *file;
    size_t n;
    int got;

    table_column(&t, "file");
    table_column(&t, "tokens");
    file = sink_files(sink, &n);
    for (size_t i = 0; i < n; i++) {
        table_text(&t, file[i].path);
        table_int(&t, file[i].tokens);
    }
    got = table_print(&t, &style, e);
    table_clear(&t);
    return got;
}

static void tell(const struct encode_corpus_stats *s, int64_t before,
                 double secs)
{
    char a[NUM_TEXT], b[NUM_TEXT], c[NUM_TEXT];

    log_info("%s documents, %s of text, %s tokens in %.2f s (%.0f MB/s)",
             num_comma(a, s->documents), num_bytes(b, (double)s->text),
             num_comma(c, s->tokens), secs,
             (double)(s->text - before) / 1e6 / secs);
}

/* Few documents, and the hash of none fell into a split that was asked for. */
static void warn_of_empty(const struct work *w,
                          const struct encode_corpus_stats *s)
{
    char n[NUM_TEXT];

    for (int i = 0; i < SINK_SUBSETS && w->how == BY_HASH; i++)
        if (w->out.split[i] && s->by_subset[i] == 0)
            log_warn("none of %s documents fell into \"%s\", and they are not "
                     "divided; --split tail does",
                     num_comma(n, s->documents), w->out.split[i]);
}

static int encode_to(struct work *w, struct sink *sink, struct sink_state *mark,
                     struct err *e)
{
    const double begin = clock_mono();
    struct encode_corpus_stats stats;
    struct corpus *corpus;
    int got;

    if (mark->text > 0)
        w->in.from = &mark->place;
    if (corpus_open(&corpus, &w->in, e) < 0)
        return -1;
    got = encode_corpus(corpus, sink, &w->conf, mark, &stats, e);
    if (got == 0 && stats.tokens == 0)
        got = err_set(e, ERR_INPUT, "there is no text in the input");
    if (got == 0)
        got = sink_close(sink, e);
    if (got == 0) {
        tell(&stats, mark->text, clock_mono() - begin);
        if (mark->text == 0) /* else splits may have had some before */
            warn_of_empty(w, &stats);
        got = print_files(sink, e);
    }
    corpus_close(corpus);
    return got;
}

static int run(struct work *w, struct err *e)
{
    struct corpus_files files = CORPUS_FILES_INIT;
    struct sink *sink;
    struct sink_state mark;
    bool again;
    int got;

    if (plan(w, e) < 0 || corpus_files_find(&files, w->in.path, w->in.n, e) < 0)
        return -1;
    again = hash_work(w, &files);
    corpus_files_clear(&files);
    if (w->how == BY_TAIL && val + test > 0) {
        if (!again)
            return err_set(e, ERR_USAGE,
                           "--split tail reads its input twice, "
                           "so it must be files");
        if (count_text(w, &w->conf.text, e) < 0)
            return -1;
    }
    w->out.work = again ? w->hash : NULL;
    if (sink_open(&sink, &w->out, &mark, e) < 0)
        return -1;
    got = encode_to(w, sink, &mark, e);
    if (got < 0)
        sink_abandon(sink);
    else
        sink_free(sink);
    return got;
}

static int encode_main(int argc, char **argv, struct err *e)
{
    struct work w = { 0 };
    int got;

    if (corpus_conf_set(&w.in, &input, argv, argc, e) < 0 ||
        read_options(&w, e) < 0 ||
        tokenizer_load(&w.tokenizer, tokenizer_path, e) < 0)
        return -1;
    sig_watch();
    got = run(&w, e);
    tokenizer_free(w.tokenizer);
    return got;
}

const struct cmd cmd_encode = {
    .name = "encode",
    .args = "-T TOKENIZER -o PREFIX INPUT...",
    .help = "turn text into files of tokens",
    .opts = encode_opts,
    .run = encode_main,
};
