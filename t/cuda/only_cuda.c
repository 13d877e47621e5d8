/*
 * only_cuda - a test with this in it leaves the CPU out
 *
 * The CPU has the same test, in a program without the emulated device.
 */
#include "config.h"

#include <stdlib.h>

__attribute__((constructor)) static void choose(void)
{
    setenv("GT_TEST_DEVICE", "cuda", 0);
}
