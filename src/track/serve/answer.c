#include "config.h"
#include "track/serve/answer.h"

#include <stdlib.h>
#include <unistd.h>

static int status_of(enum err_kind kind)
{
    switch (kind) {
    case ERR_USAGE:
        return 400;
    case ERR_MISSING:
        return 404;
    default:
        return 500;
    }
}

void answer_error(struct answer *a, const struct err *e)
{
    const int status = a->status ? a->status : status_of(e->kind);

    answer_clear(a);
    a->status = status;
    a->out.b = &a->body;
    emit_object(&a->out, NULL);
    emit_text(&a->out, "error", e->text);
    emit_object_end(&a->out);
}

void answer_clear(struct answer *a)
{
    buf_clear(&a->body);
    free(a->file);
    if (a->fd >= 0)
        close(a->fd);
    *a = ANSWER_INIT;
}
