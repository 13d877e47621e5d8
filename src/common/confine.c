#include "config.h"
#include "common/confine.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/path.h"

/* What the kernel knows, but an older header may not. */
enum {
    FS_REFER = 1 << 13,
    FS_TRUNCATE = 1 << 14,
    NET_TCP = 1 << 0 | 1 << 1, /* bind and connect */
    WITH_TRUNCATE = 3,         /* the versions that have these */
    WITH_NET = 4
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
    uint64_t files, net;
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
    const long v = version();

    return v == 0 ? "none" : v < WITH_NET ? "Landlock for files" : "Landlock";
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
    char *at = xstrdup(folder);
    bool added;

    while (!path_is_folder(at) && strcmp(at, "/") != 0) {
        char *above = path_parent(at);

        free(at);
        at = above;
    }
    added = allow(rules, at, WRITES);
    free(at);
    return added;
}

void confine(const char *const *folders, size_t n, bool connect)
{
    const long v = version();
    const struct ruleset r = { WRITES, v < WITH_NET || connect ? 0 : NET_TCP };
    int rules;
    bool all;

    if (!v)
        return;
    rules = (int)syscall(SYS_landlock_create_ruleset, &r,
                         v < WITH_NET ? sizeof r.files : sizeof r, 0);
    if (rules < 0)
        return;
    all = allow(rules, "/dev", TO_FILE);
    for (size_t i = 0; i < n; i++)
        if (folders[i])
            all &= allow_nearest(rules, folders[i]);
    if (all && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        syscall(SYS_landlock_restrict_self, rules, 0);
    close(rules);
}
