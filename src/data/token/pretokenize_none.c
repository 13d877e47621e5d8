#include "config.h"
#include "data/token/pretokenize_impl.h"

/* Without the vector instructions of x86-64 there is the plain loop. */
size_t split_gpt2_sse2(const uint8_t *text, const uint8_t *end, uint32_t *stop,
                       size_t max)
{
    return split_gpt2_plain(text, end, stop, max);
}

size_t split_gpt2_avx2(const uint8_t *text, const uint8_t *end, uint32_t *stop,
                       size_t max)
{
    return split_gpt2_plain(text, end, stop, max);
}

size_t split_gpt2_avx512(const uint8_t *text, const uint8_t *end,
                         uint32_t *stop, size_t max)
{
    return split_gpt2_plain(text, end, stop, max);
}
