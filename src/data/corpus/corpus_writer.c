#include "config.h"
#include "data/corpus/corpus_writer.h"

#include <string.h>

#include "common/output/pager.h"
#include "data/corpus/jsonl.h"

int corpus_writer_open(struct corpus_writer *w, const char *output,
                       struct corpus_conf *conf, struct err *e)
{
    *w = (struct corpus_writer){ .fp = stdout, .line = BUF_INIT };
    w->field = conf->field ? conf->field : "text";
    conf->keep_lines = true;
    if (strcmp(output, "-") == 0)
        return 0;
    if (save_open(&w->save, output, e) < 0)
        return -1;
    w->fp = w->save.fp;
    return 0;
}

int corpus_write(struct corpus_writer *w, const struct corpus_doc *d,
                 const char *text, size_t n)
{
    buf_trim(&w->line, 0);
    if (!d->whole) {
        jsonl_write(&w->line, text ? text : d->text, text ? n : d->len);
    } else if (text) {
        jsonl_replace(&w->line, d->whole, d->whole_len, w->field, text, n);
    } else {
        buf_add(&w->line, d->whole, d->whole_len);
        buf_char(&w->line, '\n');
    }
    if (w->fp == stdout) /* which may be a terminal */
        pager_data(w->line.s, w->line.len, ERR_IGNORED);
    else
        fwrite(w->line.s, 1, w->line.len, w->fp);
    return ferror(w->fp) != 0;
}

int corpus_writer_close(struct corpus_writer *w, int ret, struct err *e)
{
    if (ret == 0 && w->fp != stdout)
        ret = save_commit(&w->save, e);
    save_abandon(&w->save);
    buf_clear(&w->line);
    return ret;
}
