#include "config.h"
#include "data/behind.h"

static bool write_text(const struct behind *b, const struct buf *text)
{
    return fwrite(text->s, 1, text->len, b->fp) == text->len;
}

static void *work(void *arg)
{
    struct behind *b = arg;

    pthread_mutex_lock(&b->lock);
    for (;;) {
        bool good;

        while (!b->text.len && !b->stop)
            pthread_cond_wait(&b->changed, &b->lock);
        if (!b->text.len)
            break;
        pthread_mutex_unlock(&b->lock);
        good = write_text(b, &b->text);
        pthread_mutex_lock(&b->lock);
        b->failed = b->failed || !good;
        buf_trim(&b->text, 0);
        pthread_cond_signal(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

void behind_open(struct behind *b, FILE *fp)
{
    *b = (struct behind){
        .fp = fp,
        .text = BUF_INIT,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
    };
    b->has_thread = pthread_create(&b->thread, NULL, work, b) == 0;
}

void behind_write(struct behind *b, struct buf *text)
{
    struct buf empty;

    if (!text->len)
        return;
    if (!b->has_thread) { /* slower, and still right */
        b->failed = !write_text(b, text) || b->failed;
        buf_trim(text, 0);
        return;
    }
    pthread_mutex_lock(&b->lock);
    while (b->text.len)
        pthread_cond_wait(&b->changed, &b->lock);
    empty = b->text;
    b->text = *text;
    *text = empty;
    pthread_cond_signal(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

bool behind_failed(struct behind *b)
{
    bool failed;

    pthread_mutex_lock(&b->lock);
    failed = b->failed;
    pthread_mutex_unlock(&b->lock);
    return failed;
}

void behind_close(struct behind *b)
{
    pthread_mutex_lock(&b->lock);
    b->stop = true;
    pthread_cond_signal(&b->changed);
    pthread_mutex_unlock(&b->lock);
    if (b->has_thread)
        pthread_join(b->thread, NULL);
    buf_clear(&b->text);
}
