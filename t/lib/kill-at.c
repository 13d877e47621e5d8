/*
 * kill-at - kill a program at its Nth system call
 *
 * usage: kill-at N COMMAND...
 *
 * Counts the calls of all threads and child processes of COMMAND as they are
 * entered, and kills all of them with SIGKILL instead of the Nth; if N is 0, it
 * kills nothing and prints the count.  Exit status: 137 if it was killed, else
 * the command's own; 77 if tracing is not allowed here.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NO_TRACE = 77, THREADS = 4194304 };

/* A thread stops at the beginning and at the end of each call. */
static unsigned char inside[THREADS];

static int trace(pid_t child, long at)
{
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE |
                         PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                         PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    long calls = 0;
    bool killed = false;
    int status;

    if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, child, 0, options) < 0)
        return NO_TRACE;
    ptrace(PTRACE_SYSCALL, child, 0, 0);
    for (;;) {
        const pid_t who = waitpid(-1, &status, __WALL);
        int pass_on = 0;

        if (who < 0)
            return errno == ECHILD ? 137 : NO_TRACE;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (who != child || killed) /* all of them are waited for */
                continue;
            if (at == 0)
                fprintf(stderr, "kill-at: %ld calls\n", calls);
            return WIFEXITED(status) ? WEXITSTATUS(status)
                                     : 128 + WTERMSIG(status);
        }
        if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
            inside[who % THREADS] ^= 1;
            if (inside[who % THREADS] && ++calls == at) {
                killed = true;
                kill(-child, SIGKILL);
            }
        } else if (WSTOPSIG(status) != SIGTRAP &&
                   WSTOPSIG(status) != SIGSTOP) {
            pass_on = WSTOPSIG(status);
        }
        ptrace(PTRACE_SYSCALL, who, 0, pass_on);
    }
}

int main(int argc, char **argv)
{
    const long at = argc > 2 ? strtol(argv[1], NULL, 10) : -1;
    pid_t child;

    if (at < 0) {
        fprintf(stderr, "usage: kill-at N COMMAND...\n");
        return 2;
    }
    child = fork();
    if (child < 0)
        return NO_TRACE;
    if (child == 0) {
        setpgid(0, 0);
        if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
            _exit(NO_TRACE);
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    return trace(child, at);
}
