/*
 * corpus - documents out of any bytes, as text, JSON Lines or compressed
 */
#include "config.h"
#include "data/corpus/corpus.h"

#include "common/log.h"
#include "t/fuzz/fuzz.h"

static size_t read_all(char *path, enum corpus_format format,
                       const char *separator)
{
    const struct corpus_conf conf = {
        .path = &path,
        .n = 1,
        .format = format,
        .separator = separator,
        .bad = CORPUS_SKIP_FILES,
        .max_line = 2 << 20,
    };
    struct err e = { 0 };
    struct corpus *corpus;
    struct corpus_block *b;
    size_t text = 0;

    if (corpus_open(&corpus, &conf, &e) < 0)
        return 0;
    while (corpus_next(corpus, &b, &e) > 0) {
        for (size_t i = 0; i < b->n; i++)
            text += b->doc[i].len;
        corpus_done(corpus, b);
    }
    corpus_close(corpus);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char path[32];
    const int fd = fuzz_file(data, n, path);
    const size_t text = read_all(path, CORPUS_TEXT, NULL);

    log_setup("fuzz", LOG_ERROR);
    FUZZ_CHECK(text == n || n >= 2); /* all of it, unless it inflates */
    read_all(path, CORPUS_TEXT, "ab");
    read_all(path, CORPUS_JSONL, NULL);
    close(fd);
    return 0;
}
