#include "config.h"
#include "common/sig.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t sig_flag;

static void sig_note(int sig)
{
    if (sig == SIGINT && sig_flag == SIGINT)
        _exit(130);
    sig_flag = sig;
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
