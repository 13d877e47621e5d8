#include "config.h"
#include "common/sig.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static volatile sig_atomic_t sig_flag;
static volatile sig_atomic_t sig_again;     /* a second SIGINT has arrived */
static volatile sig_atomic_t sig_listening; /* the listener is running */

static struct {
    sig_listen_fn *call;
    void *arg;
    pthread_t thread;
    sem_t wake;
} listener;

static void sig_note(int sig)
{
    const bool again = sig == SIGINT && sig_flag == SIGINT;

    if (again && (sig_again || !sig_listening))
        _exit(130);
    sig_again = sig_again || again;
    sig_flag = sig;
    if (sig_listening)
        sem_post(&listener.wake);
}

static void *run_listener(void *arg)
{
    while (sem_wait(&listener.wake) < 0 || sig_listening || sig_again) {
        const bool again = sig_again; /* it may come during the call */

        if (sig_flag)
            listener.call(listener.arg, sig_flag, again);
        if (again)
            _exit(130);
    }
    return arg;
}

void sig_listen(sig_listen_fn *call, void *arg)
{
    listener.call = call;
    listener.arg = arg;
    sem_init(&listener.wake, 0, 0);
    sig_listening =
        pthread_create(&listener.thread, NULL, run_listener, NULL) == 0;
}

void sig_unlisten(void)
{
    if (!sig_listening)
        return;
    sig_listening = 0;
    sem_post(&listener.wake);
    pthread_join(listener.thread, NULL);
    sem_destroy(&listener.wake);
}

static const int watched[] = { SIGINT, SIGTERM, SIGUSR1, SIGHUP };
enum { WATCHED = sizeof watched / sizeof watched[0] };

static void mask(int how)
{
    sigset_t set;

    sigemptyset(&set);
    for (int i = 0; i < WATCHED; i++)
        sigaddset(&set, watched[i]);
    sigprocmask(how, &set, NULL);
}

void sig_write_errors(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGPIPE);
    sigaddset(set, SIGXFSZ);
}

void sig_ignore_writes(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

void sig_hold(void)
{
    mask(SIG_BLOCK);
}

void sig_watch(void)
{
    struct sigaction a = { .sa_handler = sig_note, .sa_flags = SA_RESTART };
    struct sigaction was;

    sigemptyset(&a.sa_mask);
    for (int i = 0; i < WATCHED; i++) {
        sigaction(watched[i], NULL, &was);
        if (watched[i] != SIGHUP || was.sa_handler != SIG_IGN)
            sigaction(watched[i], &a, NULL);
    }
    mask(SIG_UNBLOCK);
}

int sig_caught(void)
{
    return sig_flag;
}

void sig_reset(void)
{
    sig_flag = 0;
}
