/*
 * clean_replace - replace e-mail addresses, IP addresses and phone numbers
 */
#include "config.h"
#include "data/corpus/clean.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

/* May it be in the words before the "@"?  Dots may, too, between others. */
static bool is_local(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("!#$%&'*+/=?^_`{|}~-", c));
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* What *at is a part of, in a text that was read up to `begin`: its end, and
 * *at becomes where it begins; or NULL. */
typedef const char *match_fn(const char **at, const char *begin,
                             const char *end);

/* At the "@": words with single dots before it, and labels after it, two at
 * least. */
static const char *match_email(const char **at, const char *begin,
                               const char *end)
{
    const char *s = *at, *p = *at, *stop = NULL;

    while (s > begin && (is_local(s[-1]) || (s[-1] == '.' && is_local(*s))))
        s--;
    while (s < *at && !isalnum((unsigned char)*s) && *s != '_')
        s++;
    for (int labels = 1; p < end && (labels == 1 || *p == '.'); labels++) {
        const char *const label = ++p;

        while (p < end && (isalnum((unsigned char)*p) || *p == '-'))
            p++;
        while (p > label && p[-1] == '-')
            p--;
        if (p == label || *label == '-')
            break;
        stop = labels > 1 ? p : NULL;
    }
    stop = s < *at ? stop : NULL;
    *at = s;
    return stop;
}

/* The networks that are not public, and how many of their bits count. */
static const uint32_t networks[][2] = {
    { 0x00000000, 8 },  { 0x0a000000, 8 },  { 0x64400000, 10 },
    { 0x7f000000, 8 },  { 0xa9fe0000, 16 }, { 0xac100000, 12 },
    { 0xc0000000, 24 }, { 0xc0000200, 24 }, { 0xc0a80000, 16 },
    { 0xc6120000, 15 }, { 0xc6336400, 24 }, { 0xcb007100, 24 },
    { 0xf0000000, 4 },
};

static bool is_in_ip(char c)
{
    return is_digit(c) || c == '.';
}

/* At a dot of it: four numbers, without others before or after. */
static const char *match_ip(const char **at, const char *begin, const char *end)
{
    enum { FAR = 2 * INET_ADDRSTRLEN };
    char text[INET_ADDRSTRLEN] = "";
    struct in_addr address;
    const char *stop = *at;

    while (*at > begin && stop - *at < FAR && is_in_ip((*at)[-1]))
        --*at;
    while (stop < end && stop - *at < FAR && is_in_ip(*stop))
        stop++;
    while (stop > *at && stop[-1] == '.')
        stop--;
    while (*at < stop && **at == '.')
        ++*at;
    if ((size_t)(stop - *at) >= sizeof text)
        return NULL;
    memcpy(text, *at, (size_t)(stop - *at));
    if (inet_pton(AF_INET, text, &address) != 1)
        return NULL;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        if (!((ntohl(address.s_addr) ^ networks[i][0]) >>
              (32 - networks[i][1])))
            return NULL;
    return stop;
}

/* At its beginning: three, three and four digits, which may be divided. */
static const char *match_phone(const char **at, const char *begin,
                               const char *end)
{
    const char *s = *at;
    int digits = 0;

    if (s > begin && s[-1] != ' ' && s[-1] != '\n' && s[-1] != '\t')
        return NULL;
    for (; s < end && (digits < 10 || is_digit(*s)); s++) {
        digits += is_digit(*s);
        if (digits > 10 || (!is_digit(*s) && (digits % 3 || digits > 6 ||
                                              !memchr("()-. ", *s, 5))))
            return NULL;
    }
    return digits == 10 ? s : NULL;
}

static const struct kind {
    enum clean_rule rule;
    match_fn *match;
    const char *replacement; /* that was published */
} kinds[] = {
    { CLEAN_EMAILS, match_email, "email@example.com" },
    { CLEAN_IPS, match_ip, "22.214.171.124" },
    { CLEAN_PHONES, match_phone, "|||PHONE_NUMBER|||" },
};

void clean_replace(struct clean *c, const char **text, size_t *n)
{
    const char *const end = *text + *n, *begin = *text;

    buf_trim(&c->replaced, 0);
    for (const char *at = begin; at < end; at++) {
        const struct kind *const k = *at == '@'   ? &kinds[0]
                                     : *at == '.' ? &kinds[1]
                                                  : &kinds[2];
        const char *from = at, *stop = NULL;

        if ((k < kinds + 2 || *at == '(' || is_digit(*at)) &&
            !isnan(c->limit[k->rule]))
            stop = k->match(&from, begin, end);
        if (!stop)
            continue;
        buf_add(&c->replaced, begin, (size_t)(from - begin));
        buf_str(&c->replaced, k->replacement);
        c->count[k->rule]++;
        begin = stop;
        at = stop - 1;
    }
    if (begin == *text)
        return;
    buf_add(&c->replaced, begin, (size_t)(end - begin));
    *text = c->replaced.s;
    *n = c->replaced.len;
}
