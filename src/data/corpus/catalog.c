#include "config.h"
#include "data/corpus/catalog.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/num.h"

/*
 * Paths are patterns: %v is the variant, %s the split, %i and %n number and
 * count of the files of a split, five digits each.
 */
/* clang-format off */
static const struct split {
    const char *corpus, *variant, *name, *path;
    int64_t n;                  /* files */
    const char *sha256;
    const char *file;           /* to save it as; NULL: as it is called */
} splits[] = {
    { "c4", "en", "train", "%v/c4-%s.%i-of-%n.json.gz", 1024, NULL, NULL },
    { "c4", "en", "validation", "%v/c4-%s.%i-of-%n.json.gz", 8, NULL, NULL },
    { "c4", "en.noblocklist", "train", "%v/c4-%s.%i-of-%n.json.gz", 1024,
      NULL, NULL },
    { "c4", "en.noblocklist", "validation", "%v/c4-%s.%i-of-%n.json.gz", 8,
      NULL, NULL },
    { "c4", "en.noclean", "train", "%v/c4-%s.%i-of-%n.json.gz", 7168,
      NULL, NULL },
    { "c4", "en.noclean", "validation", "%v/c4-%s.%i-of-%n.json.gz", 64,
      NULL, NULL },
    { "c4", "realnewslike", "train", "%v/c4-%s.%i-of-%n.json.gz", 512,
      NULL, NULL },
    { "c4", "realnewslike", "validation", "%v/c4-%s.%i-of-%n.json.gz", 1,
      NULL, NULL },
    { "tinyshakespeare", "", "all", "tinyshakespeare/input.txt", 1,
      "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
      "tinyshakespeare.txt" },
    { "gpt2-vocab", "", "all", "vocab.bpe", 1,
      "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
      NULL },
    { "gpt2-vocab", "", "all", "encoder.json", 1,
      "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
      NULL },
    { "hellaswag", "", "val", "hellaswag_%s.jsonl", 1, NULL, NULL },
    { "hellaswag", "", "train", "hellaswag_%s.jsonl", 1, NULL, NULL },
    { "hellaswag", "", "test", "hellaswag_%s.jsonl", 1, NULL, NULL },
};

static const struct corpus_entry {
    const char *name, *about, *host, *folder;
} corpora[] = {
    { "c4", "English web text, 1024 files of 0.3 GB: --shards, --variant",
      "https://huggingface.co", "/datasets/allenai/c4/resolve/main/" },
    { "tinyshakespeare", "1.1 MB of plays",
      "https://raw.githubusercontent.com",
      "/karpathy/char-rnn/master/data/" },
    { "gpt2-vocab", "vocab.bpe and encoder.json of GPT-2's tokenizer",
      "https://openaipublic.blob.core.windows.net",
      "/gpt-2/encodings/main/" },
    { "hellaswag", "endings to choose from: --split val, train or test",
      "https://raw.githubusercontent.com",
      "/rowanz/hellaswag/master/data/" },
};
/* clang-format on */

enum {
    SPLITS = sizeof splits / sizeof splits[0],
    CORPORA = sizeof corpora / sizeof corpora[0],
};

const char *const *catalog_names(void)
{
    static const char *names[2 * CORPORA + 1];

    for (int i = 0; i < CORPORA; i++) {
        names[2 * i] = corpora[i].name;
        names[2 * i + 1] = corpora[i].about;
    }
    return names;
}

static void add(struct catalog_links *l, char *url, const char *file,
                const char *sha256)
{
    const size_t path = strcspn(url, "?#");
    const char *name = memrchr(url, '/', path);

    name = name ? name + 1 : url;
    GROW(l->link, l->n, l->room);
    l->link[l->n++] = (struct catalog_link){
        .url = url,
        .file =
            file ? xstrdup(file) : xstrndup(name, (size_t)(url + path - name)),
        .sha256 = sha256,
    };
}

static char *expand(const struct split *s, int64_t i)
{
    struct buf b = BUF_INIT;

    for (const char *p = s->path; *p; p++) {
        if (*p != '%') {
            buf_char(&b, *p);
            continue;
        }
        switch (*++p) {
        case 'v':
            buf_str(&b, s->variant);
            break;
        case 's':
            buf_str(&b, s->name);
            break;
        case 'i':
            buf_printf(&b, "%05lld", (long long)i);
            break;
        case 'n':
            buf_printf(&b, "%05lld", (long long)s->n);
            break;
        }
    }
    return buf_detach(&b);
}

static const struct corpus_entry *find_corpus(const char *name, struct err *e)
{
    for (int i = 0; i < CORPORA; i++)
        if (strcmp(corpora[i].name, name) == 0)
            return &corpora[i];
    err_set(e, ERR_USAGE,
            "nothing called \"%s\" to fetch; there are c4, tinyshakespeare, "
            "gpt2-vocab, hellaswag and any URL",
            name);
    return NULL;
}

/* The folder of a mirror or of the original, without a slash at its end. */
static char *base(const struct corpus_entry *c, const struct catalog_ask *ask)
{
    const char *hub = getenv("HF_ENDPOINT");
    const char *host = ask->mirror ? ask->mirror : c->host;
    size_t n;

    if (!ask->mirror && hub && *hub && strstr(c->host, "huggingface.co"))
        host = hub;
    n = strlen(host);
    while (n && host[n - 1] == '/')
        n--;
    return xasprintf("%.*s%s", (int)n, host, c->folder);
}

static bool same(const char *asked, const char *have, const char *first)
{
    return strcmp(asked ? asked : first, have) == 0;
}

static int add_split(struct catalog_links *l, const struct split *s,
                     const struct catalog_ask *ask, const char *folder,
                     struct err *e)
{
    const int64_t last = s->n == 1 ? 0 : ask->last;
    const int64_t first = s->n == 1 ? 0 : ask->first;

    if (first < 0 || last < first || last >= s->n)
        return err_set(e, ERR_USAGE,
                       "files %lld to %lld of %s: they are numbered 0 to %lld",
                       (long long)first, (long long)last, s->corpus,
                       (long long)s->n - 1);
    for (int64_t i = first; i <= last; i++) {
        char *path = expand(s, i);

        add(l, xasprintf("%s%s", folder, path), s->file, s->sha256);
        free(path);
    }
    return 0;
}

int catalog_find(struct catalog_links *l, const struct catalog_ask *ask,
                 struct err *e)
{
    const struct corpus_entry *c;
    const struct split *first = NULL;
    const size_t had = l->n;
    char *folder;
    int ret = 0;

    if (strstr(ask->name, "://")) {
        add(l, xstrdup(ask->name), NULL, NULL);
        if (l->link[had].file[0])
            return 0;
        return err_set(e, ERR_USAGE, "%s: this URL ends in no file name",
                       ask->name);
    }
    c = find_corpus(ask->name, e);
    if (!c)
        return -1;
    folder = base(c, ask);
    for (int i = 0; i < SPLITS && ret == 0; i++) {
        const struct split *s = &splits[i];

        if (strcmp(s->corpus, c->name) != 0)
            continue;
        first = first ? first : s;
        if (same(ask->variant, s->variant, first->variant) &&
            same(ask->split, s->name, first->name))
            ret = add_split(l, s, ask, folder, e);
    }
    free(folder);
    if (ret == 0 && l->n == had)
        return err_set(e, ERR_USAGE, "%s has no %s%s%s", c->name,
                       ask->variant ? ask->variant : "",
                       ask->variant && ask->split ? " " : "",
                       ask->split ? ask->split : "");
    return ret;
}

void catalog_links_clear(struct catalog_links *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->link[i].url);
        free(l->link[i].file);
    }
    free(l->link);
    *l = (struct catalog_links)CATALOG_LINKS_INIT;
}
