#include "config.h"
#include "data/corpus/catalog.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/path.h"

#define HUB "https://huggingface.co/datasets/"
/* A split of questions is one file. */
#define SPLIT(task, split, set, part, saved)                                   \
    { task, split, HUB set "/resolve/main/" part "-00000-of-00001.parquet",    \
      .file = saved ".parquet" },
/* What a task asks, and what it puts before. */
#define TASK(task, set, part, asked, saved, shots, saved_shots)                \
    SPLIT(task, asked, set, part asked, saved)                                 \
    SPLIT(task, shots, set, part shots, saved_shots)

/* Each file has `url`, its number in so many digits, if any, and `after`. */
/* clang-format off */
static const struct subset {
    const char *corpus, *name, *url;
    int digits;
    const char *after;
    int64_t n;                  /* files, if they are numbered */
    const char *sha256;
    const char *file;           /* its name on disk; NULL: that of the URL */
} subsets[] = {
    { "c4", "train", HUB "allenai/c4/resolve/main/en/c4-train.", 5,
      "-of-01024.json.gz", 1024 },
    { "c4", "validation", HUB "allenai/c4/resolve/main/en/c4-validation.", 5,
      "-of-00008.json.gz", 8 },
    { "fineweb-edu", "train",
      HUB "HuggingFaceFW/fineweb-edu/resolve/main/sample/10BT/", 3,
      "_00000.parquet", 14 },
    { "tinyshakespeare", "all", "https://raw.githubusercontent.com/karpathy/"
      "char-rnn/master/data/tinyshakespeare/input.txt", .sha256 =
      "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
      .file = "tinyshakespeare.txt" },
    { "lid.176", "all", "https://dl.fbaipublicfiles.com/fasttext/"
      "supervised-models/lid.176.bin", .sha256 =
      "7e69ec5451bc261cc7844e49e4792a85d7f09c06789ec800fc4a44aec362764e" },
    { "gpt2-vocab", "all", "https://openaipublic.blob.core.windows.net/gpt-2/"
      "encodings/main/vocab.bpe", .sha256 =
      "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5" },
    { "gpt2-vocab", "all", "https://openaipublic.blob.core.windows.net/gpt-2/"
      "encodings/main/encoder.json", .sha256 =
      "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783" },
    SPLIT("hellaswag", "val", "Rowan/hellaswag", "data/validation",
          "hellaswag_val")
    SPLIT("hellaswag", "train", "Rowan/hellaswag", "data/train",
          "hellaswag_train")
    SPLIT("hellaswag", "test", "Rowan/hellaswag", "data/test", "hellaswag_test")
    TASK("arc_easy", "allenai/ai2_arc", "ARC-Easy/",
        "test", "ARC-Easy-Test", "train", "ARC-Easy-Train")
    TASK("arc_challenge", "allenai/ai2_arc", "ARC-Challenge/",
        "test", "ARC-Challenge-Test", "train", "ARC-Challenge-Train")
    TASK("openbookqa", "allenai/openbookqa", "main/",
        "test", "openbookqa", "train", "openbookqa_train")
    TASK("boolq", "aps/super_glue", "boolq/",
        "validation", "boolq", "train", "boolq_train")
    TASK("winogrande", "allenai/winogrande", "winogrande_xl/",
        "validation", "winogrande", "train", "winogrande_train")
    TASK("copa", "aps/super_glue", "copa/",
        "validation", "copa", "train", "copa_train")
    TASK("sciq", "allenai/sciq", "data/", "test", "sciq", "train", "sciq_train")
    TASK("commonsenseqa", "tau/commonsense_qa", "data/",
        "validation", "commonsenseqa", "train", "commonsenseqa_train")
    TASK("mmlu", "cais/mmlu", "all/", "test", "mmlu", "dev", "mmlu_dev")
    { "piqa", "validation", HUB "ybisk/piqa/resolve/refs%2Fconvert%2Fparquet/"
      "plain_text/validation/0000.parquet", .file = "piqa.parquet" },
    { "piqa", "train", HUB "ybisk/piqa/resolve/refs%2Fconvert%2Fparquet/"
      "plain_text/train/0000.parquet", .file = "piqa_train.parquet" },
    { "lambada", "test",
      HUB "EleutherAI/lambada_openai/resolve/main/data/lambada_test.jsonl" },
    { "core", "all", "https://karpathy-public.s3.us-west-2.amazonaws.com/"
      "eval_bundle.zip" },
};
/* clang-format on */

enum { ROWS = sizeof subsets / sizeof subsets[0] };

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

static int refuse_name(const char *name, struct err *e)
{
    AUTO(buf_clear) struct buf all = BUF_INIT;

    for (int i = 0; i < ROWS; i++)
        if (i == 0 || strcmp(subsets[i].corpus, subsets[i - 1].corpus) != 0)
            buf_printf(&all, "%s%s", i ? ", " : "", subsets[i].corpus);
    return err_usage(e, "'%s' is neither a URL nor known (%s)", name, all.s);
}

/* The length of a mirror without the slashes at its end. */
static size_t mirror_length(const char *mirror)
{
    size_t n = strlen(mirror);

    while (n > 0 && mirror[n - 1] == '/')
        n--;
    return n;
}

/* The URL on the mirror or the original host. */
static char *url_of(const struct subset *s, const struct catalog_query *ask)
{
    const char *hub = getenv("HF_ENDPOINT");
    const char *path = strchr(strstr(s->url, "://") + 3, '/');
    const char *host = ask->mirror;

    if (!host && hub && *hub && strncmp(s->url, HUB, strlen(HUB)) == 0)
        host = hub;
    return host ? xasprintf("%.*s%s", (int)mirror_length(host), host, path)
                : xstrdup(s->url);
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
                      const struct catalog_query *ask, struct err *e)
{
    const int64_t n = s->digits ? s->n : 1;
    const int64_t last = n == 1 ? 0 : ask->last;
    const int64_t first = n == 1 ? 0 : ask->first;
    AUTO_FREE char *from = NULL;

    if (first < 0 || last < first || last >= n)
        return err_usage(
            e, "%s has no files %lld to %lld; its files are 0 to %lld",
            s->corpus, (long long)first, (long long)last, (long long)n - 1);
    from = url_of(s, ask);
    for (int64_t i = first; i <= last; i++) {
        char *url = s->digits ? xasprintf("%s%0*lld%s", from, s->digits,
                                          (long long)i, s->after)
                              : xstrdup(from);

        if (is_folder_mirror(ask))
            url = find_in_mirror(url, mirror_length(ask->mirror));
        add_link(l, url, s->file, s->sha256);
    }
    return 0;
}

int catalog_find(struct catalog_links *l, const struct catalog_query *ask,
                 struct err *e)
{
    const struct subset *first = NULL;
    const size_t had = l->n;
    int ret = 0;

    if (strstr(ask->name, "://")) {
        add_link(l, xstrdup(ask->name), NULL, NULL);
        if (l->link[had].file[0])
            return 0;
        return err_usage(e, "%s: the URL does not end in the name of a file",
                         ask->name);
    }
    if (is_folder_mirror(ask) && !path_is_folder(ask->mirror))
        return err_usage(e, "--mirror expects a URL or a folder, not '%s'",
                         ask->mirror);
    for (int i = 0; i < ROWS && ret == 0; i++) {
        const struct subset *s = &subsets[i];

        if (strcmp(s->corpus, ask->name) != 0)
            continue;
        first = first ? first : s;
        if (strcmp(ask->subset ? ask->subset : first->name, s->name) == 0)
            ret = add_subset(l, s, ask, e);
    }
    if (!first)
        return refuse_name(ask->name, e);
    if (ret == 0 && l->n == had)
        return err_usage(e, "%s has no %s", ask->name, ask->subset);
    return ret;
}

void catalog_links_clear(struct catalog_links *l)
{
    for (size_t i = 0; i < l->n; i++)
        FREE(l->link[i].url, l->link[i].file);
    free(l->link);
    *l = (struct catalog_links){ 0 };
}
