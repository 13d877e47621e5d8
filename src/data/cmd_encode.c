/*
 * gdata encode - turn text into shards
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/confine.h"
#include "common/log.h"
#include "common/machine/cores.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/output/progress.h"
#include "common/output/table.h"
#include "common/path.h"
#include "common/save.h"
#include "common/sha256.h"
#include "common/sig.h"
#include "data/corpus/corpus.h"
#include "data/corpus/corpus_files.h"
#include "data/corpus/source/download.h"
#include "data/shards/documents.h"
#include "data/shards/encode_corpus.h"
#include "data/shards/lock.h"
#include "data/shards/sink.h"
#include "data/token/tokenizer.h"

enum { HOLDOUT_DEFAULT = -1, HOLDOUT_HASH, HOLDOUT_TAIL, HOLDOUT_SHARD };

static const char *const holdout_words[] = { [HOLDOUT_HASH] = "hash",
                                             [HOLDOUT_TAIL] = "tail",
                                             [HOLDOUT_SHARD] = "shard",
                                             NULL };

static const char *const eot_words[] = { [ENCODE_EOT_FIRST] = "first",
                                         [ENCODE_EOT_LAST] = "last",
                                         [ENCODE_EOT_NONE] = "none",
                                         NULL };

static const char *const invalid_words[] = { [ENCODE_INVALID_AUTO] = "auto",
                                             [ENCODE_INVALID_RAW] = "raw",
                                             [ENCODE_INVALID_REPLACE] =
                                                 "replace",
                                             NULL };

static const char *tokenizer_path, *output, *rules;
static int format = SHARD_LLMC, holdout = HOLDOUT_DEFAULT;
static int eot = ENCODE_EOT_FIRST, invalid = ENCODE_INVALID_AUTO;
static const char *chat, *parts;
static struct corpus_opts input = CORPUS_OPTS_INIT;
static double val, test, mark_every = 5;
static int64_t shard_tokens = -1, tokens = -1, shuffle = -1;
static int threads;
static bool special;
static struct http_conf network;
static struct table_style style;

static const struct opt encode_opts[] = {
    { 'T', "tokenizer", "path", OPT_STRING, &tokenizer_path,
      "encode with the tokenizer in this file or folder" },
    { 'o', "output", "prefix", OPT_STRING, &output,
      "write PREFIX_000000.bin, PREFIX_000001.bin and so on" },
    { 0, "format", "name", OPT_WORD, &format,
      "llmc, raw (nanoGPT) or npy (build-nanogpt) (default: llmc)",
      shard_formats },
    { 0, "shard-tokens", "count", OPT_LONG, &shard_tokens,
      "write COUNT tokens to each shard (default: 100M; raw: all)",
      .range = { 1, INT32_MAX } },
    { 0, "val", "share", OPT_REAL, &val, "hold out SHARE for validation" },
    { 0, "test", "share", OPT_REAL, &test, "hold out SHARE for testing" },
    { 0, "split", "how", OPT_WORD, &holdout,
      "hold out by hash, the tail, or the first shard (default: hash)",
      holdout_words },
    { 0, "eot", "where", OPT_WORD, &eot,
      "end-of-text token: first or last in documents, none (default: first)",
      eot_words },
    { 0, "special", NULL, OPT_FLAG, &special,
      "recognise special tokens in the text" },
    { 0, "invalid", "how", OPT_WORD, &invalid,
      "invalid UTF-8: raw, replace, auto: replace in JSON (default: auto)",
      invalid_words },
    { 0, "clean", "file", OPT_STRING, &rules,
      "leave out documents that the rules in FILE drop (gdata clean)" },
    { 0, "chat", "template", OPT_STRING, &chat,
      "encode conversations: chatml, llama3, gemma, or the template of a "
      "tokenizer_config.json" },
    { 'n', "tokens", "count", OPT_LONG, &tokens, "stop after COUNT tokens",
      .range = OPT_FROM(1) },
    { 0, "shuffle", "seed", OPT_LONG, &shuffle,
      "write the documents of all files in an order drawn with SEED",
      .range = OPT_FROM(0) },
    { 'j', "threads", "count", OPT_INT, &threads,
      "encode with COUNT threads (default: one per processor)",
      .range = { 0, 1024 } },
    { 0, "join", "parts", OPT_STRING, &parts,
      "copy the shards of all parts: PARTS1, PARTS2 and so on" },
    { 0, "mark-every", "time", OPT_SECS, &mark_every,
      "store the progress, and sync the files, every TIME (default: 5s)" },
    DOWNLOAD_OPTS(network),
    CORPUS_OPTS(input),
    TABLE_OPTS(style),
    { 0 }
};

struct encoding {
    struct corpus_conf in;
    struct encode_corpus_conf conf;
    struct sink_conf out;
    struct tokenizer *tokenizer;
    struct chat_template chat;
    char *jinja;                   /* the text of chat, or NULL */
    struct boundary_word *special; /* for in.special */
    struct clean clean;
    char hash[SHA256_TEXT], clean_hash[SHA256_TEXT];
    char all[SHA256_TEXT]; /* the hash of all parts, or "": cannot be joined */
    char *part;            /* the line of the lock about this part, or NULL */
    char *dropped; /* what the rules dropped, as lines of the lock, or NULL */
};

static int check_shares(struct err *e)
{
    if (!(val >= 0 && val < 1) || !(test >= 0 && test < 1) || val + test >= 1)
        return err_usage(e,
                         "--val and --test expect shares whose sum is below 1");
    if (holdout == HOLDOUT_SHARD && (val > 0 || test > 0))
        return err_usage(e,
                         "--split shard holds out the first shard; it cannot "
                         "be combined with --val or --test");
    return 0;
}

static int check_options(struct err *e)
{
    struct stat st;

    if (!tokenizer_path)
        return err_usage(e, "name the tokenizer with -T PATH");
    if (!output || !*output)
        return err_usage(e, "name the output with -o PREFIX");
    if (stat(output, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return err_usage(e,
                         "%s is a device; shards are files whose names begin "
                         "with -o PREFIX",
                         output);
    tokens = tokens < 0 ? 0 : tokens; /* all */
    if (holdout == HOLDOUT_SHARD && format == SHARD_RAW && shard_tokens < 0)
        return err_usage(
            e, "--split shard with --format raw needs --shard-tokens");
    if (shuffle >= 0 && eot != ENCODE_EOT_FIRST)
        return err_usage(e, "--shuffle needs --eot first");
    if (chat && rules)
        return err_usage(e, "--chat and --clean exclude each other");
    if (chat && (format == SHARD_RAW || special))
        return err_usage(e, special
                                ? "--chat and --special exclude each other"
                                : "--chat marks tokens that are not predicted, "
                                  "which --format raw cannot");
    return check_shares(e);
}

static void hash_text(struct sha256 *h, const char *s)
{
    sha256_add(h, s ? s : "", s ? strlen(s) + 1 : 1);
}

/* Hash everything that the result depends on; of a URL, only the name. */
static void hash_work(const struct encoding *w, const struct path_list *files,
                      char *hash)
{
    const int64_t numbers[] = {
        w->out.format, w->out.shard_tokens,
        w->conf.eot,   w->conf.invalid,
        special,       tokens,
        holdout,       w->in.format,
        w->in.bad,     w->conf.width,
    };
    const double shares[] = { val, test };
    struct sha256 h;

    sha256_init(&h);
    hash_text(&h, tokenizer_hash(w->tokenizer));
    hash_text(&h, w->in.field);
    hash_text(&h, w->in.separator);
    hash_text(&h, w->in.where);
    hash_text(&h, w->jinja);
    sha256_add(&h, numbers, sizeof numbers);
    sha256_add(&h, shares, sizeof shares);
    sha256_add(&h, w->clean.limit, sizeof w->clean.limit);
    for (int i = 0; i < CLEAN_RULES; i++)
        hash_text(&h, w->clean.list[i].sha256);
    for (size_t i = 0; i < files->n; i++) {
        struct stat st;

        hash_text(&h, files->name[i]);
        if (stat(files->name[i], &st) < 0)
            continue;
        sha256_add(&h, &st.st_size, sizeof st.st_size);
        if (hash == w->hash) /* parts may be of copies */
            sha256_add(&h, &st.st_mtim, sizeof st.st_mtim);
    }
    sha256_text(&h, hash);
}

/* Count the bytes of text, to find the position where the tail begins. */
static int count_text(const struct encoding *w, int64_t *n, struct err *e)
{
    struct corpus_conf in = w->in;
    struct corpus *corpus;
    struct corpus_block *b;
    int got;

    *n = 0;
    in.quiet = true; /* encoding says it */
    in.again = "--split tail";
    if (corpus_open(&corpus, &in, e) < 0)
        return -1;
    while ((got = corpus_next(corpus, &b, e)) > 0) {
        for (size_t i = 0; i < b->n; i++)
            *n += (int64_t)b->doc[i].len;
        corpus_done(corpus, b);
    }
    corpus_close(corpus);
    return got;
}

static void set_sink(struct encoding *w)
{
    struct sink_conf *o = &w->out;
    const bool first_shard = holdout == HOLDOUT_SHARD;
    const bool holds_out = val > 0 || test > 0 || first_shard;

    o->prefix = output;
    o->format = (enum shard_format)format;
    o->width = w->conf.width;
    o->shard_tokens = shard_tokens > 0         ? shard_tokens
                      : o->format == SHARD_RAW ? 0
                                               : 100000000;
    o->subset[SUBSET_TRAIN] = holds_out ? "train" : "";
    o->subset[SUBSET_VAL] = val > 0 || first_shard ? "val" : NULL;
    o->subset[SUBSET_TEST] = test > 0 ? "test" : NULL;
    o->mark_every = mark_every;
    o->first_shard = first_shard;
}

static int set_conf(struct encoding *w, struct err *e)
{
    struct encode_corpus_conf *c = &w->conf;
    const struct tokenizer *t = w->tokenizer;

    if (eot != ENCODE_EOT_NONE && tokenizer_eot(t) < 0)
        return err_usage(e, "%s has no end-of-text token; use --eot none",
                         tokenizer_path);
    if (chat) {
        if (chat_template_open(&w->chat, t, chat, e) < 0)
            return -1;
        w->jinja = chat_template_jinja(&w->chat);
        c->chat = &w->chat;
        w->in.chat = true;
    }
    c->tokenizer = t;
    c->threads = threads ? threads : cores_processors();
    c->eot = (enum encode_eot)eot;
    c->invalid = (enum encode_invalid)invalid;
    c->special = special;
    c->clean = rules ? &w->clean : NULL;
    w->in.keep_lines = w->clean.url != NULL;
    c->width = chat ? 4 : shard_width(tokenizer_vocab(t));
    c->tokens = tokens;
    c->val = val;
    c->test = test;
    w->in.n_special =
        tokenizer_specials(t, special ? ENCODER_SPECIAL : 0, &w->special);
    w->in.special = w->special;
    w->in.boundary = tokenizer_boundary(t);
    return 0;
}

/* Record the tokenizer and the shards in PREFIX.tokens.lock. */
static int write_lock(const struct encoding *w, struct sink *sink,
                      struct err *e)
{
    AUTO_FREE char *path =
        xasprintf("%s%stokens.lock", output, str_ends(output, "/") ? "" : ".");
    struct sink_file *const *file;
    AUTO(lock_clear) struct lock l = { 0 };
    size_t n;

    lock_init(&l, path);
    file = sink_files(sink, &n);
    memcpy(l.vocabulary, tokenizer_hash(w->tokenizer), SHA256_TEXT);
    l.ids = tokenizer_vocab(w->tokenizer);
    l.eot = eot_words[eot];
    l.chat = w->jinja;
    l.command = w->part;
    buf_str(&l.clean, str_or_empty(w->dropped));
    for (size_t i = 0; i < n; i++)
        if (lock_add_shard(&l, file[i]->path, file[i]->sha256, file[i]->size,
                           e) < 0)
            return -1;
    return lock_write(&l, path, e);
}

static int print_files(struct sink *sink, struct err *e)
{
    struct table t = TABLE_INIT("gdata.encode/1");
    struct sink_file *const *file;
    size_t n;

    table_columns(&t, "file", "tokens", NULL);
    file = sink_files(sink, &n);
    for (size_t i = 0; i < n; i++) {
        table_text(&t, file[i]->path);
        table_int(&t, file[i]->tokens);
    }
    return table_finish(&t, 0, &style, e);
}

static void log_totals(const struct sink_state *s, int64_t before, double secs)
{
    char a[NUM_TEXT], b[NUM_TEXT], c[NUM_TEXT];

    log_info("%s, %s of text%s, %s in %.2f s (%.0f MB/s)",
             num_count(a, s->documents, "document"),
             num_bytes(b, (double)s->text), rules ? " read" : "",
             num_count(c, s->tokens, "token"), secs,
             (double)(s->text - before) / 1e6 / secs);
}

/* If there are few documents, the hashes may put none of them into a subset. */
static void warn_of_empty(const struct encoding *w, const struct sink_state *s,
                          const int64_t *by_subset)
{
    char n[NUM_TEXT];

    for (int i = 0; i < SUBSETS && holdout == HOLDOUT_HASH; i++)
        if (w->out.subset[i] && by_subset[i] == 0)
            log_warn("\"%s\" is empty, because the hashes chose none of %s; "
                     "with so few documents, use --split tail",
                     w->out.subset[i], num_count(n, s->documents, "document"));
}

/* List what each rule dropped for the lock, and say how many all did. */
static void list_dropped(struct encoding *w, const int64_t *dropped)
{
    struct buf lines = BUF_INIT;
    char n[NUM_TEXT];
    int64_t sum = 0;

    buf_printf(&lines, "clean %s\n", w->clean_hash);
    for (int i = 0; i < CLEAN_RULES; i++) {
        sum += clean_is_of_lines(i) ? 0 : dropped[i];
        snprintf(n, sizeof n, "%g", w->clean.limit[i]);
        if (!isnan(w->clean.limit[i]))
            buf_printf(&lines, "dropped %s %s %lld\n", clean_name[i],
                       w->clean.list[i].line ? w->clean.list[i].sha256 : n,
                       (long long)dropped[i]);
    }
    w->dropped = buf_detach(&lines);
    log_info("%s dropped by the rules in %s", num_count(n, sum, "document"),
             rules);
}

static int encode_to(struct encoding *w, struct sink *sink,
                     struct sink_state *state, struct err *e)
{
    const double begin = clock_mono();
    const int64_t before = state->text;
    int64_t by_subset[SUBSETS] = { 0 };
    struct corpus *corpus = NULL;
    int got;

    if (state->text > 0) {
        w->in.from = &state->place;
        w->in.had = state->documents;
        for (int i = 0; i < CLEAN_RULES; i++)
            w->in.had += clean_is_of_lines(i) ? 0 : state->dropped[i];
        w->in.had_bad = state->bad;
    }
    if (!parts && corpus_open(&corpus, &w->in, e) < 0)
        return -1;
    got = parts ? sink_join(sink, parts, w->all, state, e)
                : encode_corpus(corpus, sink, &w->conf, state, by_subset, e);
    corpus_close(corpus);
    if (got < 0)
        return -1;
    if (state->tokens == 0 && !w->in.part) /* other parts may have text */
        return err_input(e, rules ? "there is no text that the rules keep"
                                  : "there is no text in the input");
    if (rules)
        list_dropped(w, state->dropped);
    if (w->in.part && *w->all)
        w->part = xasprintf("gdata encode --part %s of %s: %lld documents, "
                            "%lld bytes of text",
                            w->in.part, w->all, (long long)state->documents,
                            (long long)state->text);
    if (sink_close(sink, e) < 0 || (shuffle < 0 && write_lock(w, sink, e) < 0))
        return -1;
    log_totals(state, before, clock_mono() - begin);
    if (before == 0 && !w->in.part && !parts) /* else by_subset is of some */
        warn_of_empty(w, state, by_subset);
    return shuffle < 0 && log_shows(LOG_INFO) ? print_files(sink, e) : 0;
}

/* Encode to the files that a sink writes. */
static int encode_files(struct encoding *w, const struct sink_conf *conf,
                        struct err *e)
{
    struct sink_state state;
    struct sink *sink;
    int got;

    if (sink_open(&sink, conf, &state, e) < 0)
        return -1;
    got = encode_to(w, sink, &state, e);
    sink_free(sink);
    return got;
}

/* ---- documents in another order ------------------------------------------ */

/*
 * shuffle - write the documents of a raw file in another order
 *
 * A document begins with its end-of-text token (documents.h).  Each order is
 * as probable as any other, as far as 64 bits of seed go, and depends only on
 * the seed and the number of documents.  The file is mapped, so what this needs
 * is 8 bytes of memory for each document, however long they are.  A signal ends
 * it with ERR_STOPPED.
 */
enum { SHOW_FROM = 1 << 26 }; /* tokens of which a progress bar is shown */

static int add_documents(struct sink *sink, int subset, const struct shard *s,
                         struct documents *d, struct err *e)
{
    const bool shows = d->tokens >= SHOW_FROM;
    struct progress bar;
    struct token_range p;
    int ret = 0;

    if (shows)
        progress_open(&bar, 0, (long)(d->tokens >> 20), "Mi tokens");
    for (int64_t at = 0; at < d->tokens && ret == 0; at += p.n) {
        p = documents_range(d, 0, at, (uint64_t)shuffle);
        ret = sig_caught()
                  ? err_set(e, ERR_STOPPED,
                            "interrupted while the documents were shuffled; "
                            "the same command shuffles them again")
                  : sink_add_shard(sink, subset, s, p.at, p.n, e);
        if (shows)
            progress_at(&bar, (long)(at >> 20), "shuffling");
    }
    if (shows)
        progress_close(&bar);
    return ret;
}

/* Until they are shuffled, the documents of each subset are in one file, whose
 * name no glob of shards finds.  When they are all there, another file has the
 * hash of the work. */
struct unshuffled {
    struct sink_conf conf;
    char *prefix, *done;
};

static void set_unshuffled(struct unshuffled *u, const struct encoding *w)
{
    *u = (struct unshuffled){ .conf = w->out };
    u->prefix = xasprintf("%s.unshuffled", output);
    u->done = xasprintf("%s.done", u->prefix);
    u->conf.prefix = u->prefix;
    u->conf.format = SHARD_RAW;
    u->conf.shard_tokens = 0;
    u->conf.first_shard = false;
    if (w->out.first_shard)
        u->conf.subset[SUBSET_VAL] = NULL;
}

static bool is_unshuffled(const struct unshuffled *u)
{
    AUTO(buf_clear) struct buf hash = BUF_INIT;
    struct err none = { 0 };

    return u->conf.work &&
           buf_read_file(&hash, u->done, SHA256_TEXT, &none) == 0 &&
           strcmp(hash.s, u->conf.work) == 0;
}

static int shuffle_file(const struct encoding *w, const char *path,
                        struct sink *sink, int subset, struct err *e)
{
    AUTO(documents_clear) struct documents d = { 0 };
    AUTO(shard_close) struct shard s = { 0 };

    if (shard_open(&s, path, w->out.width, e) < 0)
        return -1;
    s.marked = true;
    return documents_find(&d, &s, 1, tokenizer_eot(w->tokenizer), e) < 0 ||
                   add_documents(sink, subset, &s, &d, e) < 0
               ? -1
               : shard_check(&s, e);
}

static int shuffle_subsets(const struct encoding *w, const struct unshuffled *u,
                           struct sink *sink, struct err *e)
{
    int ret = 0;

    for (int i = 0; i < SUBSETS && ret == 0; i++) {
        AUTO_FREE char *path =
            u->conf.subset[i] ? sink_path(&u->conf, i, 0) : NULL;

        if (path && path_exists(path))
            ret = shuffle_file(w, path, sink, i, e);
    }
    return ret;
}

static int write_shuffled(struct encoding *w, const struct unshuffled *u,
                          struct err *e)
{
    struct sink_state state;
    struct sink *sink;
    int ret = -1;

    w->out.work = NULL; /* what is shuffled is not resumed, but begun again */
    if (sink_open(&sink, &w->out, &state, e) < 0)
        return -1;
    if (shuffle_subsets(w, u, sink, e) == 0 && sink_close(sink, e) == 0 &&
        write_lock(w, sink, e) == 0)
        ret = log_shows(LOG_INFO) ? print_files(sink, e) : 0;
    sink_free(sink);
    return ret;
}

static void remove_unshuffled(const struct unshuffled *u)
{
    unlink(u->done);
    for (int i = 0; i < SUBSETS; i++) {
        AUTO_FREE char *path =
            u->conf.subset[i] ? sink_path(&u->conf, i, 0) : NULL;

        if (path)
            unlink(path);
    }
}

static int encode_shuffled(struct encoding *w, struct err *e)
{
    struct unshuffled u;
    int ret = 0;

    set_unshuffled(&u, w);
    if (rules || !is_unshuffled(&u)) { /* what they drop is counted */
        ret = encode_files(w, &u.conf, e);
        if (ret == 0 && u.conf.work)
            ret = save_bytes(u.done, u.conf.work, strlen(u.conf.work), e);
    }
    if (ret == 0)
        ret = write_shuffled(w, &u, e);
    if (ret == 0 || !u.conf.work)
        remove_unshuffled(&u);
    FREE(u.prefix, u.done);
    return ret;
}

/* Without --split, hold out by hash, or the tail of a single document. */
static void choose_holdout(const struct encoding *w,
                           const struct corpus_files *files)
{
    const char *name = files->list.name[0];
    enum corpus_format f = w->in.format;

    if (holdout != HOLDOUT_DEFAULT)
        return;
    if (f == CORPUS_AUTO)
        f = corpus_files_format(name);
    holdout = HOLDOUT_HASH;
    if (!(val + test > 0) || files->list.n > 1 || w->in.separator ||
        (f != CORPUS_AUTO && f != CORPUS_TEXT) || files->total < 0)
        return;
    holdout = HOLDOUT_TAIL;
    log_info("%s is one document, so its end is held out, as by --split tail",
             name);
}

static int encode_input(struct encoding *w, struct err *e)
{
    struct corpus_files files;

    if (set_conf(w, e) < 0 ||
        corpus_files_find(&files, w->in.path, w->in.n, e) < 0)
        return -1;
    choose_holdout(w, &files); /* the same one for each part */
    set_sink(w);
    if (shuffle < 0 && tokens == 0 && holdout == HOLDOUT_HASH)
        hash_work(w, &files.list, w->all);
    if (corpus_files_part(&files, w->in.part, e) < 0)
        return -1;
    w->in.http = &network;
    hash_work(w, &files.list, w->hash);
    path_list_clear(&files.list);
    if (parts && (!*w->all || w->in.part))
        return err_usage(e, "--join excludes --part, --shuffle, --tokens, and "
                            "--split tail or shard");
    if (holdout == HOLDOUT_TAIL && val + test > 0 &&
        count_text(w, &w->conf.text, e) < 0)
        return -1;
    w->out.work = files.pipes || parts ? NULL : w->hash;
    return shuffle >= 0 ? encode_shuffled(w, e) : encode_files(w, &w->out, e);
}

/* The rules are read again, which a pipe could not be. */
static int hash_rules(struct encoding *w, struct err *e)
{
    const int fd = path_open(rules, PATH_FOLLOW_LINKS, e);
    int64_t size;

    if (fd < 0)
        return -1;
    close(fd);
    return sha256_file(rules, w->clean_hash, &size, e);
}

static int encode_main(int argc, char **argv, struct err *e)
{
    struct encoding w = { 0 };
    int got = -1;

    if (check_options(e) < 0 || (rules && hash_rules(&w, e) < 0) ||
        corpus_conf_set(&w.in, &input, argv, argc, e) < 0)
        return -1;
    confine_output(output, download_any(argv, argc));
    sig_watch();
    if ((!rules || clean_load(&w.clean, rules, e) == 0) &&
        tokenizer_load(&w.tokenizer, tokenizer_path, e) == 0)
        got = encode_input(&w, e);
    FREE(w.special, w.dropped, w.part, w.jinja);
    clean_unload(&w.clean);
    chat_template_clear(&w.chat);
    tokenizer_free(w.tokenizer);
    return got;
}

const struct cmd cmd_encode = {
    .name = "encode",
    .args = "-T TOKENIZER -o PREFIX INPUT...",
    .help = "turn text into shards",
    .opts = encode_opts,
    .run = encode_main,
};
