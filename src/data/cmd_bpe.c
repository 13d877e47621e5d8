/*
 * gdata bpe - train a tokenizer
 */
#include "config.h"

#include <string.h>

#include "common/clock.h"
#include "common/confine.h"
#include "common/log.h"
#include "common/machine/cores.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/utf8.h"
#include "data/corpus/corpus.h"
#include "data/corpus/source/download.h"
#include "data/token/bpe_train.h"
#include "data/token/pretokenize.h"
#include "data/token/tokfile.h"

static const char *const ties_words[] = {
    [BPE_TIES_HF] = "hf", [BPE_TIES_CS336] = "cs336", NULL
};

static const char *output;
static int pretokenizer = PRETOKENIZE_GPT2, ties = BPE_TIES_HF;
static struct corpus_opts input = CORPUS_OPTS_INIT;
static int64_t vocab = 32768, least = 1;
static int threads;
static uint64_t memory = (uint64_t)1 << 30;
static bool chars;
static struct opt_list specials;

static const struct opt bpe_opts[] = {
    { 'o', "output", "folder", OPT_STRING, &output,
      "write the tokenizer to this folder" },
    { 'n', "vocab", "count", OPT_LONG, &vocab,
      "assign COUNT ids, including the special tokens (default: 32768)" },
    { 0, "chars", NULL, OPT_FLAG, &chars,
      "assign one id to each character instead (meta.pkl of nanoGPT)" },
    { 0, "split", "name", OPT_WORD, &pretokenizer,
      "pre-tokenizer: %s (default: gpt2)", pretokenize_names },
    { 0, "special", "token", OPT_LIST, &specials,
      "add a special token to <|endoftext|>" },
    { 0, "ties", "rule", OPT_WORD, &ties,
      "of equal counts prefer: hf (small ids) or cs336 (great bytes)",
      ties_words },
    { 0, "least", "count", OPT_LONG, &least,
      "do not merge pairs that occur fewer times (default: 1)",
      .range = OPT_FROM(1) },
    { 'j', "threads", "count", OPT_INT, &threads,
      "count with COUNT threads (default: one per processor)",
      .range = { 0, 1024 } },
    { 'm', "memory", "size", OPT_SIZE, &memory,
      "use this much memory for counting (default: 1GiB)",
      .range = OPT_FROM(16 << 20) },
    CORPUS_OPTS(input),
    { 0 }
};

enum { CHARS = 0x110000 };

struct count_worker {
    pretokenize_fn *pretokenize;
    const struct bpe_train_conf *conf;
    struct words *words;
    uint8_t *seen; /* by character, or NULL */
};

static void count_pieces(struct count_worker *w, const uint8_t *text, size_t n)
{
    const uint8_t *const end = text + n;
    uint32_t stop[PRETOKENIZE_BATCH];

    while (text < end) {
        const size_t count = w->pretokenize(text, end, stop, PRETOKENIZE_BATCH);

        words_count(w->words, text, end, stop, count);
        text += stop[count - 1];
    }
}

/* The first special token in the text, or NULL.  If several begin at the same
 * position, the longest is found. */
static const char *find_special(const struct count_worker *w, const char *text,
                                size_t n, size_t *len)
{
    const char *best = NULL;

    *len = 0;
    for (size_t i = 0; i < w->conf->n_specials; i++) {
        const struct boundary_word *s = &w->conf->special[i];
        const char *at = memmem(text, n, s->text, s->len);

        if (at && (!best || at < best || (at == best && s->len > *len))) {
            best = at;
            *len = s->len;
        }
    }
    return best;
}

static void count_text(struct count_worker *w, const char *text, size_t n)
{
    const char *at;
    size_t len;

    while ((at = find_special(w, text, n, &len))) {
        count_pieces(w, (const uint8_t *)text, (size_t)(at - text));
        n -= (size_t)(at - text) + len;
        text = at + len;
    }
    count_pieces(w, (const uint8_t *)text, n);
}

static void mark_chars(struct count_worker *w, const char *text, size_t n)
{
    const uint8_t *p = (const uint8_t *)text, *const end = p + n;

    while (p < end) {
        uint32_t c;

        p += utf8_decode(p, end, &c);
        w->seen[c == UTF8_BAD ? UTF8_REPLACEMENT : c] = 1;
    }
}

static int count_block(void *arg, void *place UNUSED,
                       const struct corpus_block *b, struct err *e)
{
    struct count_worker *w = arg;

    for (size_t i = 0; i < b->n; i++)
        (w->seen ? mark_chars : count_text)(w, b->doc[i].text, b->doc[i].len);
    return words_full(w->words) ? words_spill(w->words, e) : 0;
}

static struct tokenizer *make_chars(struct count_worker *w, int n,
                                    struct err *e)
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

static struct tokenizer *make_bpe(struct words *w, int n,
                                  const struct bpe_train_conf *conf,
                                  struct err *e)
{
    AUTO(word_list_clear) struct word_list list = { 0 };
    struct tokenizer *t = NULL;
    int64_t left_out, pieces = 0, too_long = 0;
    char a[NUM_TEXT], b[NUM_TEXT];

    for (int i = 0; i < n; i++) {
        pieces += w[i].pieces;
        too_long += w[i].too_long;
    }
    if (words_collect(&list, w, (size_t)n, memory / 2, &left_out, e) == 0) {
        log_info("%s, %s of them different", num_count(a, pieces, "piece"),
                 num_comma(b, (int64_t)list.n + left_out));
        if (left_out > 0)
            log_warn(
                "%s rare pieces were left out because they do not fit into "
                "--memory",
                num_comma(a, left_out));
        if (too_long > 0)
            log_warn("left out %s of more than %d bytes",
                     num_count(a, too_long, "piece"), WORDS_LONGEST);
        t = bpe_train(&list, conf, e);
    }
    return t;
}

static int check_options(struct err *e)
{
    if (!output)
        return err_usage(e, "name the output with -o FOLDER");
    for (size_t i = 0; i < specials.n; i++)
        if (specials.item[i][0] == '\0')
            return err_usage(e, "--special expects a text");
    return 0;
}

static bool is_listed(const struct boundary_word *list, size_t n,
                      const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].text, text) == 0)
            return true;
    return false;
}

/* The special tokens, <|endoftext|> first, each once; returns their number. */
static size_t list_specials(struct boundary_word *list)
{
    static const char eot[] = "<|endoftext|>";
    size_t n = 0;

    list[n++] = (struct boundary_word){ eot, sizeof eot - 1 };
    for (size_t i = 0; i < specials.n; i++) {
        const char *text = specials.item[i];

        if (!is_listed(list, n, text))
            list[n++] = (struct boundary_word){ text, strlen(text) };
    }
    return n;
}

static void init_worker(struct count_worker *w, struct words *words, int n,
                        const struct bpe_train_conf *conf)
{
    *w = (struct count_worker){
        .words = words,
        .pretokenize = pretokenize_by(conf->pretokenizer),
        .conf = conf,
    };
    words_init(words, memory / 2 / (uint64_t)n);
    if (chars)
        w->seen = xcalloc(CHARS, 1);
}

static int train(struct corpus *corpus, const struct bpe_train_conf *conf,
                 struct err *e)
{
    const int n = threads ? threads : cores_processors();
    AUTO_FREE struct count_worker *w = xcalloc((size_t)n, sizeof *w);
    AUTO_FREE struct words *words = xcalloc((size_t)n, sizeof *words);
    struct tokenizer *t = NULL;
    const double begin = clock_mono();
    double counted;
    char text[NUM_TEXT];
    int got;

    for (int i = 0; i < n; i++)
        init_worker(&w[i], &words[i], n, conf);
    got = corpus_work(corpus,
                      &(struct corpus_work){ .find = count_block,
                                             .worker = w,
                                             .worker_size = sizeof *w,
                                             .threads = n },
                      e);
    counted = clock_mono();
    if (got == 0)
        t = chars ? make_chars(w, n, e) : make_bpe(words, n, conf, e);
    got = !t || path_make(output, e) < 0 ? -1
                                         : tokfile_write_folder(t, output, e);
    if (got == 0) {
        if (!chars && t->n_ids < vocab)
            log_warn("only %d ids instead of %lld: no pair%s is left to merge",
                     t->n_ids, (long long)vocab,
                     least > 1 ? " that is frequent enough" : "");
        log_info("%s: %s ids in %.2f s, of which counting took %.2f s", output,
                 num_comma(text, t->n_ids), clock_mono() - begin,
                 counted - begin);
    }
    for (int i = 0; i < n; i++) {
        words_clear(&words[i]);
        free(w[i].seen);
    }
    tokenizer_free(t);
    return got;
}

static int bpe_main(int argc, char **argv, struct err *e)
{
    AUTO_FREE struct boundary_word *special =
        xcalloc(specials.n + 1, sizeof *special);
    const struct bpe_train_conf conf = {
        .vocab = vocab,
        .pretokenizer = (enum pretokenizer)pretokenizer,
        .ties = (enum bpe_ties)ties,
        .least = least,
        .special = special,
        .n_specials = list_specials(special),
    };
    const size_t first = 256 + conf.n_specials;
    struct corpus_conf in;
    struct corpus *corpus;
    int got;

    if (check_options(e) < 0)
        return -1;
    if (vocab < (int64_t)first || vocab > 65536)
        return err_set(
            e, ERR_USAGE,
            "--vocab expects %zu (bytes and special tokens) to 65536", first);
    if (corpus_conf_set(&in, &input, argv, argc, e) < 0)
        return -1;
    confine_output(output, download_any(argv, argc));
    in.special = special;
    in.n_special = conf.n_specials;
    if (corpus_open(&corpus, &in, e) < 0)
        return -1;
    got = train(corpus, &conf, e);
    corpus_close(corpus);
    return got;
}

const struct cmd cmd_bpe = {
    .name = "bpe",
    .args = "-o FOLDER INPUT...",
    .help = "train a tokenizer",
    .opts = bpe_opts,
    .run = bpe_main,
};
