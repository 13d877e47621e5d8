#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * num - numbers from text, strictly, and text from numbers
 *
 * These functions accept only a text that is a number as a whole: without
 * leading blanks, trailing characters or overflow.  Otherwise they return false
 * and leave *out alone.  The locale has no influence.
 *
 *      num_int   "17" "-3" "512k" "1M" "10B" "1e6"    powers of 1000
 *      num_size  "64" "16KiB" "2GiB" "1.5G"           powers of 1024
 *      num_real  "3e-4" "-inf" "nan" "0.5%"           % divides by 100
 *      num_secs  "90" "2h30m" "1.5d" "500ms"          seconds
 *      num_bool  "true/false" "yes/no" "on/off" "1/0"
 */
bool num_int(const char *s, int64_t *out);
bool num_size(const char *s, uint64_t *out);
bool num_real(const char *s, double *out);
bool num_secs(const char *s, double *out);
bool num_bool(const char *s, bool *out);

/* The integer part, limited to 2^53 and -2^53, so that the difference of two
 * does not overflow; 0 for NaN. */
int64_t num_whole(double x);

/* For qsort() of texts: numbers by their values, other texts by their bytes. */
int num_by_text(const void *, const void *);
/* The first of n sorted numbers that is not below x, or n. */
size_t num_place(const int64_t *v, size_t n, int64_t x);
/* Sort numbers, the least first. */
void num_sort(double *v, size_t n);
/* Sort numbers and keep each once; returns how many there are then. */
size_t num_unique(double *v, size_t n);
/* The number that sorting would put at v[k], k < n, by Hoare's selection, whose
 * time grows as n; changes the order of the numbers. */
double num_nth(double *v, size_t n, size_t k);

enum { NUM_TEXT = 32 }; /* the size of a buffer for any of these */

/* The shortest text that reads back as the same double, like Python's repr():
 * "1.0" "0.0001" "1e-05" "1e+16" "nan" "inf".  Returns its length. */
int num_shortest(char out[NUM_TEXT], double x);

/* The reverse, fast: read a decimal number, "inf" or "nan" at the beginning of
 * s, which ends at `end` and needs no NUL; any exponent, rounded to nearest.
 * Returns the end of the number, or NULL if there is none. */
const char *num_parse(const char *s, const char *end, double *out);
/* Append the digits at the beginning of eight characters to *n; returns how
 * many they are. */
static inline int num_eight(const char *s, uint64_t *n)
{
    static const uint32_t power[] = { 1e0, 1e1, 1e2, 1e3, 1e4,
                                      1e5, 1e6, 1e7, 1e8 };
    uint64_t v, others;
    int digits;

    memcpy(&v, s, 8);
    v ^= 0x3030303030303030;
    others = ((v + 0x7676767676767676) | v) & 0x8080808080808080;
    digits = others ? __builtin_ctzll(others) / 8 : 8;
    if (digits == 0)
        return 0;
    v <<= 64 - 8 * digits; /* as if there were zeros before them */
    /* join neighbours to numbers of two, of four and of eight digits */
    v = (v & 0x0f0f0f0f0f0f0f0f) * (10 << 8 | 1) >> 8;
    v = (v & 0x00ff00ff00ff00ff) * (100 << 16 | 1) >> 16;
    v = (v & 0x0000ffff0000ffff) * (10000ULL << 32 | 1) >> 32;
    *n = *n * power[digits] + v;
    return digits;
}

/* For people; each returns out.  "1,234,567"; "29.99M"; "1.50 GiB"; "2h05m".
 * num_count() adds a short noun, with an s unless there is one of it. */
char *num_comma(char out[NUM_TEXT], int64_t n);
char *num_count(char out[NUM_TEXT], int64_t n, const char *noun);
char *num_short(char out[NUM_TEXT], double n);
char *num_bytes(char out[NUM_TEXT], double bytes);
char *num_duration(char out[NUM_TEXT], double seconds);
