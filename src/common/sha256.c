#include "config.h"
#include "common/sha256.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/path.h"

/* clang-format off */
static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};
/* clang-format on */

static uint32_t ror(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void blocks_plain(uint32_t s[8], const unsigned char *p, size_t n)
{
    for (; n > 0; n--, p += 64) {
        uint32_t a = s[0], b = s[1], c = s[2], d = s[3];
        uint32_t e = s[4], f = s[5], g = s[6], h = s[7];
        uint32_t w[64];

        for (int i = 0; i < 16; i++)
            w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
                   (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
        for (int i = 16; i < 64; i++) {
            const uint32_t x = w[i - 15], y = w[i - 2];

            w[i] = w[i - 16] + w[i - 7] + (ror(x, 7) ^ ror(x, 18) ^ x >> 3) +
                   (ror(y, 17) ^ ror(y, 19) ^ y >> 10);
        }
        for (int i = 0; i < 64; i++) {
            const uint32_t t1 = h + (ror(e, 6) ^ ror(e, 11) ^ ror(e, 25)) +
                                ((e & f) ^ (~e & g)) + k[i] + w[i];
            const uint32_t t2 = (ror(a, 2) ^ ror(a, 13) ^ ror(a, 22)) +
                                ((a & b) ^ (a & c) ^ (b & c));

            h = g, g = f, f = e, e = d + t1;
            d = c, c = b, b = a, a = t1 + t2;
        }
        s[0] += a, s[1] += b, s[2] += c, s[3] += d;
        s[4] += e, s[5] += f, s[6] += g, s[7] += h;
    }
}

#if defined(__x86_64__)
/*
 * The instructions hold the state as two vectors, ABEF and CDGH, and do two
 * rounds at a time; m[] is a ring of the last sixteen words.
 */
__attribute__((target("sha,sse4.1"))) static void blocks_sha(
    uint32_t s[8], const unsigned char *p, size_t n)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i x = _mm_shuffle_epi32(_mm_loadu_si128((const void *)s), 0xB1);
    __m128i y = _mm_shuffle_epi32(_mm_loadu_si128((const void *)(s + 4)), 0x1B);
    __m128i abef = _mm_alignr_epi8(x, y, 8);
    __m128i cdgh = _mm_blend_epi16(y, x, 0xF0);

    for (; n > 0; n--, p += 64) {
        const __m128i abef0 = abef, cdgh0 = cdgh;
        __m128i m[4];

        for (int i = 0; i < 4; i++)
            m[i] = _mm_shuffle_epi8(_mm_loadu_si128((const void *)(p + 16 * i)),
                                    swap);
#pragma GCC unroll 16 /* so that m[] stays in registers */
        for (int i = 0; i < 16; i++) {
            __m128i *w = &m[i & 3];
            const __m128i w1 = m[(i + 1) & 3], w2 = m[(i + 2) & 3];
            const __m128i w3 = m[(i + 3) & 3];
            __m128i wk =
                _mm_add_epi32(*w, _mm_loadu_si128((const void *)(k + 4 * i)));

            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, wk);
            wk = _mm_shuffle_epi32(wk, 0x0E);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, wk);
            *w =
                _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(*w, w1),
                                                   _mm_alignr_epi8(w3, w2, 4)),
                                     w3);
        }
        abef = _mm_add_epi32(abef, abef0);
        cdgh = _mm_add_epi32(cdgh, cdgh0);
    }
    x = _mm_shuffle_epi32(abef, 0x1B);
    y = _mm_shuffle_epi32(cdgh, 0xB1);
    _mm_storeu_si128((void *)s, _mm_blend_epi16(x, y, 0xF0));
    _mm_storeu_si128((void *)(s + 4), _mm_alignr_epi8(y, x, 8));
}

static bool has_sha(void)
{
    uint32_t a, b, c, d;

    /* Leaf 7, EBX bit 29; older compilers cannot ask for it by name. */
    __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "0"(7), "2"(0));
    return b >> 29 & 1;
}
#else
#define blocks_sha blocks_plain
static bool has_sha(void)
{
    return false;
}
#endif

static void blocks(struct sha256 *h, const unsigned char *p, size_t n)
{
    (h->fast ? blocks_sha : blocks_plain)(h->state, p, n);
}

void sha256_init(struct sha256 *h)
{
    static const uint32_t start[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    };

    memcpy(h->state, start, sizeof start);
    h->total = 0;
    h->fast = has_sha();
}

void sha256_add(struct sha256 *h, const void *data, size_t n)
{
    const unsigned char *p = data;
    const size_t have = h->total % 64;

    h->total += n;
    if (have > 0) {
        const size_t take = n < 64 - have ? n : 64 - have;

        memcpy(h->block + have, p, take);
        if (have + take < 64)
            return;
        blocks(h, h->block, 1);
        p += take;
        n -= take;
    }
    if (n >= 64)
        blocks(h, p, n / 64);
    if (n % 64 > 0)
        memcpy(h->block, p + n / 64 * 64, n % 64);
}

void sha256_bytes(struct sha256 *h, unsigned char out[SHA256_BYTES])
{
    static const unsigned char pad[64] = { 0x80 };
    const uint64_t bits = h->total * 8;
    unsigned char size[8];

    for (int i = 0; i < 8; i++)
        size[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(h, pad, 1 + (119 - h->total % 64) % 64);
    sha256_add(h, size, sizeof size);
    for (int i = 0; i < SHA256_BYTES; i++)
        out[i] = (unsigned char)(h->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_text(const struct sha256 *h, char out[SHA256_TEXT])
{
    struct sha256 copy = *h;
    unsigned char bytes[SHA256_BYTES];

    sha256_bytes(&copy, bytes);
    for (int i = 0; i < SHA256_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

/* The hash of the key, each byte changed by `mix`, and of the data. */
static void hash_with_key(const unsigned char key[64], unsigned char mix,
                          const void *data, size_t n,
                          unsigned char out[SHA256_BYTES])
{
    unsigned char block[64];
    struct sha256 h;

    for (size_t i = 0; i < sizeof block; i++)
        block[i] = key[i] ^ mix;
    sha256_init(&h);
    sha256_add(&h, block, sizeof block);
    sha256_add(&h, data, n);
    sha256_bytes(&h, out);
}

void sha256_of(const void *data, size_t n, char out[SHA256_TEXT])
{
    struct sha256 h;

    sha256_init(&h);
    sha256_add(&h, data, n);
    sha256_text(&h, out);
}

void sha256_hmac(const void *key, size_t key_bytes, const void *data, size_t n,
                 unsigned char out[SHA256_BYTES])
{
    unsigned char block[64] = { 0 };
    struct sha256 h;

    if (key_bytes > sizeof block) {
        sha256_init(&h);
        sha256_add(&h, key, key_bytes);
        sha256_bytes(&h, block);
    } else {
        memcpy(block, key, key_bytes);
    }
    hash_with_key(block, 0x36, data, n, out);
    hash_with_key(block, 0x5c, out, SHA256_BYTES, out);
}

bool sha256_is_text(const char *s)
{
    return strlen(s) == SHA256_TEXT - 1 &&
           strspn(s, "0123456789abcdef") == SHA256_TEXT - 1;
}

int sha256_file(const char *path, char out[SHA256_TEXT], int64_t *size,
                struct err *e)
{
    AUTO(path_fclose) FILE *fp = fopen(path, "rbe");
    struct sha256 h;
    char buf[1 << 16];
    size_t got;
    int ret;

    if (!fp)
        return err_open(e, "cannot read %s", path);
    sha256_init(&h);
    *size = 0;
    ret = path_check_hole(fileno(fp), path, e);
    while (ret == 0 && (got = fread(buf, 1, sizeof buf, fp)) > 0) {
        sha256_add(&h, buf, got);
        *size += (int64_t)got;
    }
    if (ferror(fp))
        ret = err_sys(e, "cannot read %s", path);
    sha256_text(&h, out);
    return ret;
}
