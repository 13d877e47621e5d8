#include "config.h"
#include "data/corpus/catalog.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/path.h"

/* Each file has `before`, its number in so many digits, if any, and `after`. */
/* clang-format off */
static const struct subset {
    const char *corpus, *name, *before;
    int digits;
    const char *after;
    int64_t n;                  /* files */
    const char *sha256;
    const char *file;           /* its name on disk; NULL: that of the URL */
} subsets[] = {
    { "c4", "train", "en/c4-train.", 5, "-of-01024.json.gz", 1024, NULL, NULL },
    { "c4", "validation", "en/c4-validation.", 5, "-of-00008.json.gz", 8,
      NULL, NULL },
    { "fineweb-edu", "train", "sample/10BT/", 3, "_00000.parquet", 14,
      NULL, NULL },
    { "tinyshakespeare", "all", "tinyshakespeare/input.txt", 0, "", 1,
      "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
      "tinyshakespeare.txt" },
    { "gpt2-vocab", "all", "vocab.bpe", 0, "", 1,
      "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
      NULL },
    { "gpt2-vocab", "all", "encoder.json", 0, "", 1,
      "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
      NULL },
    { "hellaswag", "val", "hellaswag_val.jsonl", 0, "", 1, NULL, NULL },
    { "hellaswag", "train", "hellaswag_train.jsonl", 0, "", 1, NULL, NULL },
    { "hellaswag", "test", "hellaswag_test.jsonl", 0, "", 1, NULL, NULL },
};

static const struct catalog_entry {
    const char *name, *host, *folder;
} corpora[] = {
    { "c4", "https://huggingface.co", "/datasets/allenai/c4/resolve/main/" },
    { "fineweb-edu", "https://huggingface.co",
      "/datasets/HuggingFaceFW/fineweb-edu/resolve/main/" },
    { "tinyshakespeare", "https://raw.githubusercontent.com",
      "/karpathy/char-rnn/master/data/" },
    { "gpt2-vocab", "https://openaipublic.blob.core.windows.net",
      "/gpt-2/encodings/main/" },
    { "hellaswag", "https://raw.githubusercontent.com",
      "/rowanz/hellaswag/master/data/" },
};
/* clang-format on */

enum {
    ROWS = sizeof subsets / sizeof subsets[0],
    CORPORA = sizeof corpora / sizeof corpora[0],
};

static void add_link(struct catalog_links *l, char *url, const char *file,
                     const char *sha256)
{
    const size_t path = strcspn(url, "?#");
    const char *name = memrchr(url, '/', path);

    name = name ? name + 1 : url;
    APPEND(l->link, l->n, l->room) = (struct catalog_link){
        .url = url,
        .file =
            file ? xstrdup(file) : xstrndup(name, (size_t)(url + path - name)),
        .sha256 = sha256,
    };
}

static const struct catalog_entry *find_corpus(const char *name, struct err *e)
{
    for (int i = 0; i < CORPORA; i++)
        if (strcmp(corpora[i].name, name) == 0)
            return &corpora[i];
    err_set(e, ERR_USAGE,
            "'%s' is neither a URL nor a known corpus (c4, fineweb-edu, "
            "tinyshakespeare, gpt2-vocab, hellaswag)",
            name);
    return NULL;
}

/* The length of a mirror without the slashes at its end. */
static size_t mirror_length(const char *mirror)
{
    size_t n = strlen(mirror);

    while (n > 0 && mirror[n - 1] == '/')
        n--;
    return n;
}

/* The URL of the folder, on the mirror or the original host. */
static char *folder_url(const struct catalog_entry *c,
                        const struct catalog_query *ask)
{
    const char *hub = getenv("HF_ENDPOINT");
    const char *host = ask->mirror ? ask->mirror : c->host;

    if (!ask->mirror && hub && *hub && strstr(c->host, "huggingface.co"))
        host = hub;
    return xasprintf("%.*s%s", (int)mirror_length(host), host, c->folder);
}

static bool is_folder_mirror(const struct catalog_query *ask)
{
    return ask->mirror && !strstr(ask->mirror, "://");
}

/* Find a file in a folder that is a mirror, where the first folders of its path
 * on the server may be missing.  Takes over `path`, the mirror followed by the
 * path on the server, and returns it if no file is found. */
static char *find_in_mirror(char *path, size_t mirror)
{
    const char *end = path + mirror;

    for (const char *at = end; at; at = strchr(at + 1, '/')) {
        char *found = xasprintf("%.*s%s", (int)mirror, path, at);

        if (path_exists(found)) {
            free(path);
            return found;
        }
        free(found);
    }
    return path;
}

static int add_subset(struct catalog_links *l, const struct subset *s,
                      const struct catalog_query *ask, const char *folder,
                      struct err *e)
{
    const int64_t last = s->n == 1 ? 0 : ask->last;
    const int64_t first = s->n == 1 ? 0 : ask->first;

    if (first < 0 || last < first || last >= s->n)
        return err_set(e, ERR_USAGE,
                       "%s has no files %lld to %lld; its files are 0 to %lld",
                       s->corpus, (long long)first, (long long)last,
                       (long long)s->n - 1);
    for (int64_t i = first; i <= last; i++) {
        char *url = s->digits ? xasprintf("%s%s%0*lld%s", folder, s->before,
                                          s->digits, (long long)i, s->after)
                              : xasprintf("%s%s", folder, s->before);

        if (is_folder_mirror(ask))
            url = find_in_mirror(url, mirror_length(ask->mirror));
        add_link(l, url, s->file, s->sha256);
    }
    return 0;
}

int catalog_find(struct catalog_links *l, const struct catalog_query *ask,
                 struct err *e)
{
    const struct catalog_entry *c;
    const struct subset *first = NULL;
    const size_t had = l->n;
    char *folder;
    int ret = 0;

    if (strstr(ask->name, "://")) {
        add_link(l, xstrdup(ask->name), NULL, NULL);
        if (l->link[had].file[0])
            return 0;
        return err_set(e, ERR_USAGE,
                       "%s: the URL does not end in the name of a file",
                       ask->name);
    }
    c = find_corpus(ask->name, e);
    if (!c)
        return -1;
    if (is_folder_mirror(ask) && !path_is_folder(ask->mirror))
        return err_set(e, ERR_USAGE,
                       "--mirror expects a URL or a folder, not '%s'",
                       ask->mirror);
    folder = folder_url(c, ask);
    for (int i = 0; i < ROWS && ret == 0; i++) {
        const struct subset *s = &subsets[i];

        if (strcmp(s->corpus, c->name) != 0)
            continue;
        first = first ? first : s;
        if (strcmp(ask->subset ? ask->subset : first->name, s->name) == 0)
            ret = add_subset(l, s, ask, folder, e);
    }
    free(folder);
    if (ret == 0 && l->n == had)
        return err_set(e, ERR_USAGE, "%s has no %s", c->name, ask->subset);
    return ret;
}

void catalog_links_clear(struct catalog_links *l)
{
    for (size_t i = 0; i < l->n; i++)
        FREE(l->link[i].url, l->link[i].file);
    free(l->link);
    *l = (struct catalog_links){ 0 };
}
