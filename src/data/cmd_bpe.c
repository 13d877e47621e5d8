#include "config.h"
#include "data/cmds.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/utf8.h"
#include "data/corpus/corpus.h"
#include "data/token/boundary.h"
#include "data/token/bpe_train.h"
#include "data/token/tokfile.h"

static const char *const ties_words[] = {
    [BPE_TIES_HF] = "hf", [BPE_TIES_CS336] = "cs336", NULL
};

static const char *output;
static int pretokenizer = PRETOKENIZE_GPT2, ties = BPE_TIES_HF;
static struct corpus_opts input;
static int64_t vocab = 32768, least = 1;
static int threads;
static uint64_t memory = (uint64_t)1 << 30;
static bool chars;
static struct opt_list specials;

static const struct opt bpe_opts[] = {
    { 'o', "output", "folder", OPT_STRING, &output,
      "write the tokenizer's files there" },
    { 'n', "vocab", "count", OPT_LONG, &vocab,
      "ids in all, special tokens included (32768)" },
    { 0, "chars", NULL, OPT_FLAG, &chars,
      "one id for each character instead, as nanoGPT's meta.pkl" },
    { 0, "split", "name", OPT_WORD, &pretokenizer,
      "pre-tokenizer: gpt2, cl100k, llama3 or o200k", pretokenize_names },
    { 0, "special", "token", OPT_LIST, &specials,
      "a special token besides <|endoftext|>" },
    { 0, "ties", "rule", OPT_WORD, &ties,
      "among equal counts: hf (smallest ids) or cs336 (greatest bytes)",
      ties_words },
    { 0, "least", "count", OPT_LONG, &least,
      "merge no pair that occurs less often (1)" },
    { 'j', "threads", "count", OPT_INT, &threads,
      "count with so many threads (one a processor)" },
    { 'm', "memory", "size", OPT_SIZE, &memory,
      "bytes to use for counting (1GiB)" },
    CORPUS_OPTS(input),
    { 0 }
};

/* A word of the text longer than this is not looked at: merging costs its
 * length, over and over. */
enum { WORD_LONGEST = 16384, CHARS = 0x110000 };

struct specials {
    const char *const *text;
    size_t n;
};

struct worker {
    pthread_t thread;
    struct corpus *corpus;
    pretokenize_fn *pretokenize;
    struct specials special;
    struct words words;
    uint8_t *seen; /* of characters, or NULL */
    int64_t too_long;
    struct err err;
};

static void count_long(struct worker *w, const uint8_t *text,
                       const uint8_t *end, uint32_t *stop, size_t n)
{
    uint32_t from = 0;
    size_t first = 0;

    for (size_t i = 0; i < n; i++) {
        const uint32_t begin = i > 0 ? stop[i - 1] : 0;

        if (stop[i] - begin <= WORD_LONGEST)
            continue;
        for (size_t k = first; k < i; k++)
            stop[k] -= from;
        words_count(&w->words, text + from, end, stop + first, i - first);
        for (size_t k = first; k < i; k++)
            stop[k] += from;
        w->too_long++;
        from = stop[i];
        first = i + 1;
    }
    for (size_t k = first; k < n; k++)
        stop[k] -= from;
    words_count(&w->words, text + from, end, stop + first, n - first);
}

static void count_pieces(struct worker *w, const uint8_t *text, size_t n)
{
    const uint8_t *const end = text + n;
    uint32_t stop[PRETOKENIZE_BATCH];

    while (text < end) {
        const size_t count = w->pretokenize(text, end, stop, PRETOKENIZE_BATCH);
        const uint32_t all = stop[count - 1];

        if (all > WORD_LONGEST)
            count_long(w, text, end, stop, count);
        else
            words_count(&w->words, text, end, stop, count);
        text += all;
    }
}

/* The first special token in the text, or NULL; the longest of those there. */
static const char *find_special(const struct specials *s, const char *text,
                                size_t n, size_t *len)
{
    const char *best = NULL;

    *len = 0;
    for (size_t i = 0; i < s->n; i++) {
        const size_t m = strlen(s->text[i]);
        const char *at = memmem(text, n, s->text[i], m);

        if (at && (!best || at < best || (at == best && m > *len))) {
            best = at;
            *len = m;
        }
    }
    return best;
}

static void count_text(struct worker *w, const char *text, size_t n)
{
    size_t len;

    for (;;) {
        const char *at = find_special(&w->special, text, n, &len);

        if (!at)
            break;
        count_pieces(w, (const uint8_t *)text, (size_t)(at - text));
        n -= (size_t)(at - text) + len;
        text = at + len;
    }
    count_pieces(w, (const uint8_t *)text, n);
}

static void see_chars(struct worker *w, const char *text, size_t n)
{
    const uint8_t *p = (const uint8_t *)text, *const end = p + n;

    while (p < end) {
        uint32_t c;

        p += utf8_decode(p, end, &c);
        w->seen[c == UTF8_BAD ? UTF8_REPLACEMENT : c] = 1;
    }
}

static int work_on(struct worker *w, struct corpus_block *b)
{
    for (size_t i = 0; i < b->n; i++) {
        if (w->seen)
            see_chars(w, b->doc[i].text, b->doc[i].len);
        else
            count_text(w, b->doc[i].text, b->doc[i].len);
    }
    corpus_done(w->corpus, b);
    return words_full(&w->words) ? words_spill(&w->words, &w->err) : 0;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct corpus_block *b;
    int got;

    while ((got = corpus_next(w->corpus, &b, &w->err)) > 0)
        if (work_on(w, b) < 0)
            break;
    return NULL;
}

static int run_workers(struct worker *w, int n, struct err *e)
{
    int started = 0;

    for (; started < n; started++)
        if (pthread_create(&w[started].thread, NULL, work, &w[started]) != 0)
            break;
    for (int i = 0; i < started; i++)
        pthread_join(w[i].thread, NULL);
    if (started < n)
        return err_set(e, ERR_SYSTEM, "cannot start %d threads", n);
    for (int i = 0; i < n; i++) {
        if (w[i].err.kind != ERR_NONE) {
            *e = w[i].err;
            return -1;
        }
    }
    return 0;
}

static struct tokenizer *make_chars(struct worker *w, int n, struct err *e)
{
    struct tokenizer *t = tokenizer_new(TOKENIZER_CHARS, PRETOKENIZE_GPT2);
    int got = 0;

    for (uint32_t c = 0; c < CHARS && got == 0; c++) {
        uint8_t text[UTF8_MAX];
        int seen = 0;

        for (int i = 0; i < n; i++)
            seen |= w[i].seen[c];
        if (seen)
            got = tokenizer_add(t, t->n_ids, text, utf8_encode(text, c), e);
    }
    if (got == 0)
        got = tokenizer_ready(t, e);
    if (got == 0)
        return t;
    tokenizer_free(t);
    return NULL;
}

static struct tokenizer *make_bpe(struct worker *w, int n,
                                  const struct bpe_train_conf *conf,
                                  struct err *e)
{
    struct word_list list = { 0 };
    struct tokenizer *t = NULL;
    struct words *all = xcalloc((size_t)n, sizeof *all);
    int64_t left_out, pieces = 0, too_long = 0;
    char a[NUM_TEXT], b[NUM_TEXT];

    for (int i = 0; i < n; i++) {
        all[i] = w[i].words;
        pieces += w[i].words.pieces;
        too_long += w[i].too_long;
        words_init(&w[i].words, 0);
    }
    if (words_collect(&list, all, (size_t)n, memory / 2, &left_out, e) == 0) {
        log_info("%s pieces, %s of them different", num_comma(a, pieces),
                 num_comma(b, (int64_t)list.n + left_out));
        if (left_out > 0)
            log_warn("%s rare ones left out: they do not fit into --memory",
                     num_comma(a, left_out));
        if (too_long > 0)
            log_warn("%s pieces of more than %d bytes left out",
                     num_comma(a, too_long), WORD_LONGEST);
        t = bpe_train(&list, conf, e);
    }
    for (int i = 0; i < n; i++)
        words_clear(&all[i]);
    free(all);
    word_list_clear(&list);
    return t;
}

static int check_options(struct bpe_train_conf *conf, struct err *e)
{
    if (!output)
        return err_set(e, ERR_USAGE, "-o FOLDER says where to write");
    if (vocab < 256 + (int64_t)conf->n_specials || vocab > 65536)
        return err_set(e, ERR_USAGE,
                       "--vocab must be %zu (bytes and special "
                       "tokens) to 65536",
                       256 + conf->n_specials);
    if (least < 1)
        return err_set(e, ERR_USAGE, "--least must be 1 or more");
    if (threads < 0 || threads > 1024)
        return err_set(e, ERR_USAGE, "--threads must be 1 to 1024");
    if (memory < (uint64_t)16 << 20)
        return err_set(e, ERR_USAGE, "--memory must be 16MiB or more");
    conf->pretokenizer = (enum pretokenizer)pretokenizer;
    conf->ties = (enum bpe_ties)ties;
    conf->vocab = vocab;
    conf->least = least;
    return 0;
}

/* The special tokens, <|endoftext|> first, each once. */
static const char **list_specials(size_t *n, struct err *e)
{
    const char **list = xcalloc(specials.n + 1, sizeof *list);

    list[0] = "<|endoftext|>";
    *n = 1;
    for (size_t i = 0; i < specials.n; i++) {
        bool known = false;

        for (size_t k = 0; k < *n; k++)
            known = known || strcmp(list[k], specials.item[i]) == 0;
        if (specials.item[i][0] == '\0') {
            err_set(e, ERR_USAGE, "--special needs a text");
            free(list);
            return NULL;
        }
        if (!known)
            list[(*n)++] = specials.item[i];
    }
    return list;
}

static void setup_worker(struct worker *w, struct corpus *corpus, int n,
                         const struct bpe_train_conf *conf)
{
    *w = (struct worker){
        .corpus = corpus,
        .pretokenize = pretokenize_by(conf->pretokenizer),
        .special = { conf->special, conf->n_specials },
    };
    words_init(&w->words, memory / 2 / (uint64_t)n);
    if (chars)
        w->seen = xcalloc(CHARS, 1);
}

static int train(struct corpus *corpus, const struct bpe_train_conf *conf,
                 struct err *e)
{
    const int n = threads ? threads : (int)sysconf(_SC_NPROCESSORS_ONLN);
    struct worker *w = xcalloc((size_t)n, sizeof *w);
    struct tokenizer *t = NULL;
    const double begin = clock_mono();
    double counted;
    char text[NUM_TEXT];
    int got;

    for (int i = 0; i < n; i++)
        setup_worker(&w[i], corpus, n, conf);
    got = run_workers(w, n, e);
    counted = clock_mono();
    if (got == 0) {
        t = chars ? make_chars(w, n, e) : make_bpe(w, n, conf, e);
        got = t ? 0 : -1;
    }
    if (got == 0)
        got = path_make(output, e);
    if (got == 0)
        got = tokfile_write_folder(t, output, e);
    if (got == 0) {
        if (!chars && t->n_ids < vocab)
            log_warn("no pair that occurs %s is left to merge: %d ids instead "
                     "of %lld",
                     least > 1 ? "so often" : "at all", t->n_ids,
                     (long long)vocab);
        log_info("%s: %s ids, in %.2f s (%.2f of it counting)", output,
                 num_comma(text, t->n_ids), clock_mono() - begin,
                 counted - begin);
    }
    for (int i = 0; i < n; i++) {
        words_clear(&w[i].words);
        free(w[i].seen);
    }
    free(w);
    tokenizer_free(t);
    return got;
}

static bool divides(const void *arg, const char *text, size_t n, size_t at)
{
    const struct bpe_train_conf *c = arg;

    for (size_t i = 0; i < c->n_specials; i++)
        if (boundary_inside_word(text, n, at, c->special[i],
                                 strlen(c->special[i])))
            return true;
    return false;
}

static int bpe_main(int argc, char **argv, struct err *e)
{
    struct corpus_conf in;
    struct bpe_train_conf conf = { 0 };
    struct corpus *corpus;
    const char **list = list_specials(&conf.n_specials, e);
    int got;

    if (!list)
        return -1;
    conf.special = list;
    got = check_options(&conf, e);
    if (got == 0)
        got = corpus_conf_set(&in, &input, argv, argc, e);
    if (got == 0 && argc == 0)
        got = err_set(e, ERR_USAGE, "no files to learn from");
    in.divides = divides;
    in.divides_arg = &conf;
    if (got == 0 && (got = corpus_open(&corpus, &in, e)) == 0) {
        got = train(corpus, &conf, e);
        corpus_close(corpus);
    }
    free(list);
    return got;
}

const struct cmd cmd_bpe = {
    .name = "bpe",
    .args = "-o FOLDER INPUT...",
    .help = "learn a tokenizer from text",
    .opts = bpe_opts,
    .run = bpe_main,
};
