/*
 * tries - do at the end of a program what its rights should not allow
 *
 *      LD_PRELOAD=t/lib/tries.so TRIES=FOLDER COMMAND
 *
 * At its end, the first program to end changes files of FOLDER, sends a signal
 * to the process that TRIES_PID names and sets its limits, opens sockets, and
 * starts a shell that writes a file.  It writes a line to the file FOLDER/did
 * for everything that succeeded, and then "end"; the file is opened before the
 * program begins.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int report = -1;
static pid_t begun;

static __attribute__((constructor)) void begin(void)
{
    const char *folder = getenv("TRIES");
    char path[4096];

    if (!folder)
        return;
    snprintf(path, sizeof path, "%s/did", folder);
    report = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    begun = getpid();
}

static void tell(const char *what, int succeeded)
{
    if (succeeded)
        dprintf(report, "%s\n", what);
}

static int can_connect(void)
{
    const struct sockaddr_in a = { .sin_family = AF_INET,
                                   .sin_port = htons(9),
                                   .sin_addr = { htonl(INADDR_LOOPBACK) } };
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);

    return fd >= 0 && connect(fd, (const struct sockaddr *)&a, sizeof a) == 0;
}

static int can_write(const char *name)
{
    const int fd = open(name, O_WRONLY | O_CREAT, 0600);

    return fd >= 0 && write(fd, "x", 1) == 1;
}

static int can_limit(pid_t pid)
{
    struct rlimit r;

    return prlimit(pid, RLIMIT_CORE, NULL, &r) == 0 &&
           prlimit(pid, RLIMIT_CORE, &r, NULL) == 0;
}

/* True also where the file system has no attributes to change. */
static int can_set_attributes(const char *name)
{
    const int fd = open(name, O_RDONLY);
    int flags;

    return fd >= 0 && (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 ||
                       ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0);
}

static int can_dump(void)
{
    struct rlimit r;

    return getrlimit(RLIMIT_CORE, &r) == 0 && r.rlim_max > 0;
}

static void shell(void)
{
    static char *const argv[] = { "sh", "-c", "echo x >by-shell", NULL };
    static char *const none[] = { NULL };
    const pid_t pid = fork();

    if (pid == 0) {
        execve("/bin/sh", argv, none);
        _exit(127);
    }
    waitpid(pid, NULL, 0);
}

static __attribute__((destructor)) void end(void)
{
    const char *folder = getenv("TRIES"), *named = getenv("TRIES_PID");
    const pid_t pid = named ? (pid_t)strtol(named, NULL, 10) : getppid();

    if (report < 0 || getpid() != begun || chdir(folder) < 0)
        return;
    tell("write", can_write("new"));
    tell("change", can_write("kept"));
    tell("mode", chmod("kept", 0700) == 0);
    tell("owner", chown("kept", getuid(), getgid()) == 0);
    tell("time", utimensat(AT_FDCWD, "kept", NULL, 0) == 0);
    tell("attributes", can_set_attributes("kept"));
    tell("rename", rename("kept", "moved") == 0);
    tell("core", can_dump());
    tell("connect", can_connect());
    tell("unix", socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
    tell("signal", kill(pid, SIGCONT) == 0);
    tell("limit", can_limit(pid));
    tell("priority", setpriority(PRIO_PROCESS, (id_t)pid,
                                 getpriority(PRIO_PROCESS, (id_t)pid)) == 0);
    shell();
    tell("exec", access("by-shell", F_OK) == 0);
    tell("end", 1);
}
