/*
 * gdata sample - read a few documents of a text
 */
#include "config.h"

#include <string.h>

#include "common/confine.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/output/pager.h"
#include "common/rng.h"
#include "common/utf8.h"
#include "data/corpus/corpus.h"
#include "data/corpus/source/download.h"

static int count = 20;
static int64_t seed;
static const char *rule;
static bool no_pager;
static struct corpus_opts input = CORPUS_OPTS_INIT;

static const struct opt sample_opts[] = {
    { 'n', "count", "count", OPT_INT, &count,
      "print COUNT documents (default: 20)", .range = { 1, 100000 } },
    { 0, "dropped-by", "rule", OPT_STRING, &rule,
      "of a file of gdata clean --keep-dropped, print what RULE dropped" },
    { 0, "seed", "number", OPT_LONG, &seed,
      "choose others by another NUMBER (default: 0)" },
    { 0, "no-pager", NULL, OPT_FLAG, &no_pager, "do not start a pager" },
    CORPUS_OPTS(input),
    { 0 }
};

/* The documents that are chosen from those so far, each with its heading. */
struct sample {
    struct buf *doc;
    size_t n, room;
    int64_t seen;
    char *dropped; /* what the lines of such documents begin with, or NULL */
};

static void format_doc(struct buf *out, const struct sample *s,
                       const struct corpus_doc *d)
{
    const size_t n = s->dropped ? strlen(s->dropped) : 0;
    AUTO(buf_clear) struct buf heading = BUF_INIT;

    buf_printf(&heading, "==> %s:%lld", d->file, (long long)d->line);
    if (n > 0 && d->whole_len > n && memcmp(d->whole, s->dropped, n) == 0) {
        const char *value = d->whole + n;
        const char *end = memchr(value, ',', d->whole_len - n);

        buf_printf(&heading, ", %s: ", rule);
        buf_add(&heading, value, end ? (size_t)(end - value) : 0);
    }
    buf_str(&heading, " <==");
    buf_trim(out, 0);
    utf8_visible(out, heading.s);
    buf_char(out, '\n');
    utf8_visible_lines(out, d->text, d->len);
    buf_str(out, "\n\n");
}

/* Each document takes a place with the same probability (algorithm R). */
static int choose_doc(void *arg, const struct corpus_doc *d,
                      struct err *e UNUSED)
{
    struct sample *s = arg;
    const uint64_t word = rng_word((uint64_t)seed, rng_stream(RNG_DATA, 0, 2),
                                   (uint64_t)s->seen++);
    size_t i = word * (uint64_t)s->seen >> 32;

    if (s->seen <= count) {
        i = s->n;
        APPEND(s->doc, s->n, s->room) = BUF_INIT;
    }
    if (i < s->n)
        format_doc(&s->doc[i], s, d);
    return 0;
}

static int print_sample(const struct sample *s, struct err *e)
{
    AUTO(buf_clear) struct buf all = BUF_INIT;
    char n[NUM_TEXT];
    int ret;

    for (size_t i = 0; i < s->n; i++)
        buf_add(&all, s->doc[i].s, s->doc[i].len);
    ret = pager_text(all.s, all.len, !no_pager, e);
    if (ret == 0)
        log_info("%zu of %s%s%s", s->n, num_count(n, s->seen, "document"),
                 rule ? " dropped by " : "", rule ? rule : "");
    return ret;
}

static int sample_main(int argc, char **argv, struct err *e)
{
    struct sample s = { 0 };
    struct corpus_conf conf;
    char *where = NULL;
    int ret;

    if (corpus_conf_set(&conf, &input, argv, argc, e) < 0)
        return -1;
    if (rule) {
        where = xasprintf("rule = '%s' and (%s)", rule,
                          input.where ? input.where : "rule is not null");
        s.dropped = xasprintf("{\"rule\":\"%s\",\"value\":", rule);
        conf.where = where;
        conf.keep_lines = true;
        if (conf.format == CORPUS_AUTO)
            conf.format = CORPUS_JSONL;
    }
    confine_output("-", download_any(argv, argc));
    ret = corpus_each(&conf, choose_doc, &s, e);
    if (ret == 0)
        ret = print_sample(&s, e);
    for (size_t i = 0; i < s.n; i++)
        buf_clear(&s.doc[i]);
    FREE(s.doc, s.dropped, where);
    return ret;
}

const struct cmd cmd_sample = {
    .name = "sample",
    .args = "PATH...",
    .help = "read a few documents of a text",
    .opts = sample_opts,
    .run = sample_main,
};
