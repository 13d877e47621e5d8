/*
 * glibc.h - for wheels: use the oldest versions of the C library's functions
 *
 * Since 2.29 these have a second version, which does not call the handler of
 * matherr() that nobody has.  With the first one, the wheels run with any C
 * library since 2.28.
 *
 * The headers of Debian 11 lack the numbers of new calls, which are the same on
 * all machines.
 */
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446

#if defined __CUDA_ARCH__ /* not the code of GPUs */
#elif defined __x86_64__
#define OLDEST(f) __asm__(".symver " #f "," #f "@GLIBC_2.2.5")
#elif defined __aarch64__
#define OLDEST(f) __asm__(".symver " #f "," #f "@GLIBC_2.17")
#endif
#ifdef OLDEST
OLDEST(exp);
OLDEST(exp2);
OLDEST(log);
OLDEST(log2);
OLDEST(pow);
#endif
