/*
 * confine_none - for systems whose headers do not have Landlock
 */
#include "config.h"
#include "common/confine.h"

const char *confine_name(void)
{
    return "none";
}

void confine(const char *const *folders, size_t n, bool connect)
{
    (void)folders;
    (void)n;
    (void)connect;
}
