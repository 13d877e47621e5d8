/*
 * confine_none - for systems whose headers do not have Landlock
 */
#include "config.h"
#include "common/confine.h"

const char *confine_name(void)
{
    return "none";
}

void confine_writes(const char *const *folders, size_t n)
{
    (void)folders;
    (void)n;
}
