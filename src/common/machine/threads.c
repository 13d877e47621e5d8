#include "config.h"
#include "common/machine/threads.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/mem.h"

struct thread {
    pthread_t id;
    bool started;
    void (*work)(void *);
    void *part;
};

static void *run(void *arg)
{
    const struct thread *t = arg;

    t->work(t->part);
    return NULL;
}

void threads_run(void (*work)(void *), void *part, size_t size, int n)
{
    struct thread *thread = xcalloc((size_t)n, sizeof *thread);

    for (int i = 0; i < n; i++) {
        struct thread *t = &thread[i];

        t->work = work;
        t->part = (char *)part + (size_t)i * size;
        t->started = i > 0 && pthread_create(&t->id, NULL, run, t) == 0;
    }
    for (int i = 0; i < n; i++) {
        if (thread[i].started)
            pthread_join(thread[i].id, NULL);
        else
            run(&thread[i]);
    }
    free(thread);
}

int threads_start(pthread_t *thread, void *(*work)(void *), void *arg)
{
    sigset_t all, was;
    int ret;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    ret = pthread_create(thread, NULL, work, arg);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    return ret;
}
