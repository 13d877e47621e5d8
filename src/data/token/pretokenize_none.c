/*
 * pretokenize_none - the loops of x86-64 on other processors
 */
#include "config.h"
#include "data/token/pretokenize_impl.h"

size_t pretokenize_gpt2_sse2(const uint8_t *text, const uint8_t *end,
                             uint32_t *stop, size_t max)
{
    return pretokenize_gpt2_plain(text, end, stop, max);
}

size_t pretokenize_gpt2_avx2(const uint8_t *text, const uint8_t *end,
                             uint32_t *stop, size_t max)
{
    return pretokenize_gpt2_plain(text, end, stop, max);
}

size_t pretokenize_gpt2_avx512(const uint8_t *text, const uint8_t *end,
                               uint32_t *stop, size_t max)
{
    return pretokenize_gpt2_plain(text, end, stop, max);
}
