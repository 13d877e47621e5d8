/*
 * gdata vocab - describe a tokenizer, or write it in other forms
 */
#include "config.h"

#include <string.h>

#include "common/log.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/output/table.h"
#include "data/token/bpe.h"
#include "data/token/tokfile.h"

static const char *output;
static struct opt_list forms, added;
static int split = -1;
static struct table_style style;

static const struct opt vocab_opts[] = {
    { 'o', "output", "folder", OPT_STRING, &output,
      "write the tokenizer to FOLDER, in the forms of --write" },
    { 'w', "write", "kind", OPT_LIST, &forms,
      "hf, merges, gpt2, tiktoken, llmc or nanogpt" },
    { 0, "add", "token", OPT_LIST, &added,
      "add the special token TOKEN; --write writes the result" },
    { 0, "split", "name", OPT_WORD, &split,
      "read a .tiktoken file or a list of merges with this pre-tokenizer",
      pretokenize_names },
    TABLE_OPTS(style),
    { 0 }
};

static int print_facts(const struct tokenizer *t, struct err *e)
{
    static const char *const kinds[] = {
        [TOKENIZER_BPE] = "bpe",
        [TOKENIZER_CHARS] = "characters",
        [TOKENIZER_SENTENCEPIECE] = "sentencepiece",
    };
    const bool bpe = t->kind == TOKENIZER_BPE;
    struct table table = TABLE_INIT("gdata.vocab/1");

    table_columns(&table, "kind", "split", "ids", "merges", "special", "eot",
                  "longest", "sha256", NULL);
    table_text(&table, kinds[t->kind]);
    table_text(&table, bpe ? pretokenize_names[t->pretokenizer] : NULL);
    table_int(&table, t->n_ids);
    table_int(&table, (int64_t)t->n_merges);
    table_int(&table, (int64_t)t->n_specials);
    if (t->eot >= 0)
        table_int(&table, t->eot);
    else
        table_text(&table, NULL);
    table_int(&table, t->longest);
    table_text(&table, t->hash);
    return table_finish(&table, 0, &style, e);
}

/* Only tokenizer.json names the pre-tokenizer. */
static void warn_of_pretokenizer(const struct tokenizer *t, const char *form)
{
    const bool merges =
        strcmp(form, "merges") == 0 || strcmp(form, "gpt2") == 0;
    const bool named =
        strcmp(form, "tiktoken") == 0
            ? tokfile_tiktoken_pretokenizer(t) == (int)t->pretokenizer
            : !merges || t->pretokenizer == PRETOKENIZE_GPT2;

    if (!named)
        log_warn(
            "%s: this form does not name the pre-tokenizer %s; its readers "
            "have to be told",
            form, pretokenize_names[t->pretokenizer]);
    if (t->nfc && strcmp(form, "hf") != 0)
        log_warn("%s: this form does not name the normalizer NFC", form);
}

static int write_forms(const struct tokenizer *t, struct err *e)
{
    if (path_make(output, e) < 0)
        return -1;
    if (forms.n == 0)
        return tokfile_write_folder(t, output, e);
    for (size_t i = 0; i < forms.n; i++) {
        if (tokfile_write(t, output, forms.item[i], e) < 0)
            return -1;
        warn_of_pretokenizer(t, forms.item[i]);
    }
    return 0;
}

/* Each special token gets the next free id. */
static int add_tokens(struct tokenizer *t, struct err *e)
{
    for (size_t i = 0; i < added.n; i++) {
        const char *name = added.item[i];

        if (!*name || tokenizer_find(t, name, strlen(name)) >= 0)
            return err_usage(e, "--add %s: the tokenizer has it", name);
        if (tokenizer_special(t, t->n_ids, 0, name, strlen(name), e) < 0)
            return err_wrap(e, "--add %s", name);
    }
    return added.n > 0 ? tokenizer_ready(t, e) : 0;
}

static int vocab_main(int argc, char **argv, struct err *e)
{
    struct tokenizer *t;
    int got = -1;

    if (argc != 1)
        return err_usage(e, "expected one tokenizer, a file or a folder");
    if ((forms.n > 0 || added.n > 0) && !output)
        return err_usage(e, "name the output with -o FOLDER");
    if (tokfile_load(&t, argv[0], split < 0 ? PRETOKENIZE_ALL : split, e) < 0)
        return -1;
    if (add_tokens(t, e) == 0 && (!output || write_forms(t, e) == 0))
        got = print_facts(t, e);
    tokenizer_free(t);
    return got;
}

const struct cmd cmd_vocab = {
    .name = "vocab",
    .args = "TOKENIZER",
    .help = "describe a tokenizer, or write it in other forms",
    .opts = vocab_opts,
    .output = &output,
    .run = vocab_main,
};
