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

void sig_watch(void)
{
    static const int watched[] = { SIGINT, SIGTERM, SIGUSR1, SIGHUP };
    struct sigaction a = { .sa_handler = sig_note, .sa_flags = SA_RESTART };

    sigemptyset(&a.sa_mask);
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++)
        sigaction(watched[i], &a, NULL);
}

int sig_caught(void)
{
    return sig_flag;
}

void sig_reset(void)
{
    sig_flag = 0;
}
