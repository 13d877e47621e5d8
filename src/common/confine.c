#include "config.h"
#include "common/confine.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"

/* What the kernel knows, but an older header may not. */
enum {
    FS_REFER = 1 << 13,
    FS_TRUNCATE = 1 << 14,
    NET_TCP = 1 << 0 | 1 << 1, /* bind and connect */
    SCOPES = 1 << 0 | 1 << 1,  /* abstract sockets and signals */
    WITH_TRUNCATE = 3,         /* the versions that have these */
    WITH_NET = 4,
    WITH_SCOPES = 6
};

enum {
    TO_FILE = LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE,
    WRITES = TO_FILE | FS_REFER | LANDLOCK_ACCESS_FS_REMOVE_DIR |
             LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
             LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
             LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
             LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM
};

struct ruleset {
    uint64_t files, net, scopes;
};

/* The version of Landlock, if it is enough. */
static long version(void)
{
    const long v = syscall(SYS_landlock_create_ruleset, NULL, 0,
                           LANDLOCK_CREATE_RULESET_VERSION);

    return v < WITH_TRUNCATE ? 0 : v;
}

const char *confine_name(void)
{
    static char name[40];
    const long v = version();
    const bool calls = confine_has_calls();

    if (v == 0)
        return calls ? "seccomp" : "none";
    snprintf(name, sizeof name, "Landlock %ld%s", v % 1000,
             calls ? ", seccomp" : "");
    return name;
}

/* False if the system refuses to. */
static bool allow(int rules, const char *folder, uint64_t access)
{
    struct landlock_path_beneath_attr below = { .allowed_access = access };
    bool added;

    below.parent_fd = open(folder, O_PATH | O_CLOEXEC);
    if (below.parent_fd < 0)
        return true;
    added = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH,
                    &below, 0) == 0;
    close(below.parent_fd);
    return added;
}

static bool allow_nearest(int rules, const char *folder)
{
    AUTO_FREE char *at = xstrdup(folder);

    while (!path_is_folder(at) && strcmp(at, "/") != 0) {
        char *above = path_parent(at);

        free(at);
        at = above;
    }
    return allow(rules, at, WRITES);
}

/* The size of a ruleset in this version of Landlock. */
static size_t size_of(long v)
{
    return v < WITH_NET      ? offsetof(struct ruleset, net)
           : v < WITH_SCOPES ? offsetof(struct ruleset, scopes)
                             : sizeof(struct ruleset);
}

static bool confine_files(const char *const *folders, size_t n, bool connect)
{
    static const char *const devices[] = { "/dev/null", "/dev/zero",
                                           "/dev/full", "/dev/tty",
                                           "/dev/pts" };
    const long v = version();
    const struct ruleset r = { WRITES, connect ? 0 : NET_TCP, SCOPES };
    bool all = true;
    int rules;

    if (!v)
        return false;
    rules = (int)syscall(SYS_landlock_create_ruleset, &r, size_of(v), 0);
    if (rules < 0)
        return false;
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
        all &= allow(rules, devices[i], TO_FILE);
    for (size_t i = 0; i < n; i++)
        if (folders[i])
            all &= allow_nearest(rules, folders[i]);
    all = all && syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    close(rules);
    return all;
}

void confine(const char *const *folders, size_t n, bool connect)
{
    const struct rlimit no_core = { 0, 0 };
    const bool fixed = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;

    setrlimit(RLIMIT_CORE, &no_core);
    if (!fixed || !confine_files(folders, n, connect))
        log_debug("the system does not let this command give up the right to "
                  "change files, as Landlock in Linux 6.2 does");
    if (!fixed || !confine_calls(connect))
        log_debug("the system does not filter the system calls of this "
                  "command");
}

void confine_output(const char *output, bool connect)
{
    AUTO_FREE char *folder = path_of_output(output);

    confine((const char *const[]){ folder, path_temp() }, 2, connect);
}
