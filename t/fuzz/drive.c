/*
 * drive - run a target where there is no libFuzzer
 *
 * usage: TARGET [-max_total_time=SECONDS] [-timeout=SECONDS] [-max_len=BYTES]
 *               [-seed=NUMBER] [-artifact_prefix=TEXT] [-dict=FILE]
 *               CORPUS [SEEDS]...
 *
 * Takes libFuzzer's options, as far as t/fuzz/run gives them, and works alike:
 * an input is made of those there are, and kept in CORPUS if it takes the code
 * some new way.  The code tells by __sanitizer_cov_trace_pc(), which gcc and
 * clang call at each branch with -fsanitize-coverage=trace-pc; this file is
 * compiled without.
 *
 * An input at which the target stops is written to ARTIFACT_PREFIXcrash, one
 * at which it hangs to ARTIFACT_PREFIXtimeout.
 */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "t/fuzz/fuzz.h"

enum { WAYS = 1 << 16, INPUTS_MAX = 1 << 14, WORDS_MAX = 64, STEPS_MAX = 8 };

void __sanitizer_cov_trace_pc(void);
void __sanitizer_set_death_callback(void (*)(void));

static uint8_t way[WAYS]; /* taken by this input */
static uint8_t known[WAYS];
static uint32_t last_pc;

static struct input {
    uint8_t *s;
    size_t n;
} input[INPUTS_MAX];
static size_t inputs, max_len = 65536;
static struct input word[WORDS_MAX]; /* of the dictionary */
static size_t words;
static const uint8_t *trying; /* the input of this moment */
static size_t trying_n;
static const char *prefix = "";
static unsigned patience = 10;
static uint64_t random_state = 88172645463325252;

void __sanitizer_cov_trace_pc(void)
{
    const uintptr_t at = (uintptr_t)__builtin_return_address(0);
    const uint32_t pc = (uint32_t)(at * 0x9E3779B97F4A7C15 >> 48);

    way[(pc ^ last_pc) % WAYS] = 1;
    last_pc = pc >> 1;
}

/* Below n; xorshift64. */
static size_t below(size_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state >> 11) % n;
}

/* Was there a way that no input took before? */
static bool new_way(void)
{
    bool found = false;

    for (size_t i = 0; i < WAYS; i += sizeof(uint64_t)) {
        uint64_t now, before;

        memcpy(&now, way + i, sizeof now);
        memcpy(&before, known + i, sizeof before);
        if (now & ~before) {
            before |= now;
            memcpy(known + i, &before, sizeof before);
            found = true;
        }
    }
    return found;
}

static void keep(const uint8_t *s, size_t n)
{
    struct input *in = &input[inputs < INPUTS_MAX ? inputs : below(inputs)];

    inputs += inputs < INPUTS_MAX;
    free(in->s);
    in->s = malloc(n + 1);
    in->n = n;
    FUZZ_CHECK(in->s);
    memcpy(in->s, s, n);
}

/* On disk under a name that its bytes give, for the next time. */
static void store(const char *folder, const uint8_t *s, size_t n)
{
    uint64_t hash = n;
    char path[512];
    FILE *fp;

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ s[i]) * 0x100000001B3;
    snprintf(path, sizeof path, "%s/%016llx", folder, (unsigned long long)hash);
    fp = fopen(path, "wb");
    FUZZ_CHECK(fp && fwrite(s, 1, n, fp) == n && fclose(fp) == 0);
}

/* Put a word of the dictionary in, or over what is there. */
static size_t put_word(uint8_t *s, size_t n, size_t at)
{
    const struct input *w = &word[below(words)];
    const bool over = below(2) == 0 && at + w->n <= n;

    if (n + w->n > max_len)
        return n;
    if (!over)
        memmove(s + at + w->n, s + at, n - at);
    memcpy(s + at, w->s, w->n);
    return over ? n : n + w->n;
}

/* One change: of bytes, of numbers, of length, or a part of another input. */
static size_t change(uint8_t *s, size_t n)
{
    static const uint32_t edge[] = {
        0,      1,      0x7F,    0x80,     0xFF,       0x7FFF,
        0x8000, 0xFFFF, 0x10000, 1u << 30, 0x7FFFFFFF, UINT32_MAX
    };
    const struct input *other = &input[below(inputs)];
    const size_t at = n > 0 ? below(n) : 0;
    size_t len;

    if (words > 0 && below(6) == 0)
        return put_word(s, n, at);
    switch (below(n > 0 ? 7 : 1)) {
    case 0: /* a part of another goes in */
        if (n == max_len)
            return n;
        if (other->n == 0) {
            s[n] = (uint8_t)below(256);
            return n + 1;
        }
        len = 1 + below(other->n);
        len = len < max_len - n ? len : max_len - n;
        memmove(s + at + len, s + at, n - at);
        memcpy(s + at, other->s + below(other->n - len + 1), len);
        return n + len;
    case 1: /* a part goes out */
        len = 1 + below(n - at < 64 || below(4) == 0 ? n - at : 64);
        memmove(s + at, s + at + len, n - at - len);
        return n - len;
    case 2:
        s[at] = (uint8_t)below(256);
        return n;
    case 3:
        s[at] ^= (uint8_t)(1 << below(8));
        return n;
    case 4: /* a number, of one, two or four bytes */
        len = (size_t)1 << below(3);
        if (at + len <= n)
            memcpy(s + at, &edge[below(sizeof edge / sizeof *edge)], len);
        return n;
    case 5:
        s[at] = (uint8_t)(s[at] + below(33) - 16);
        return n;
    default: /* a part of this one, somewhere else */
        len = 1 + below(n - at);
        memmove(s + below(n - len + 1), s + at, len);
        return n;
    }
}

/* From a signal or a sanitizer: calls nothing that allocates. */
static void write_input(const char *what)
{
    char path[512];
    int fd;

    snprintf(path, sizeof path, "%s%s", prefix, what);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, trying, trying_n) != (ssize_t)trying_n)
        return;
    close(fd);
    if (write(2, path, strlen(path)) > 0 && write(2, ": the input\n", 12) > 0)
        return;
}

static void died(void)
{
    if (trying)
        write_input("crash");
}

static void signalled(int sig)
{
    write_input(sig == SIGABRT ? "crash" : "timeout");
    signal(sig, SIG_DFL);
    raise(sig);
}

/* A target hangs when it computes for so long, or waits ten times that: the
 * machine may be busy. */
static void watch(void)
{
    const struct itimerval busy = { .it_value.tv_sec = (time_t)patience };

    setitimer(ITIMER_PROF, &busy, NULL);
    alarm(10 * patience);
}

static void try(const uint8_t *s, size_t n, const char *folder)
{
    uint8_t *copy = malloc(n ? n : 1); /* so that its end is watched */

    FUZZ_CHECK(copy);
    memcpy(copy, s, n);
    memset(way, 0, sizeof way);
    last_pc = 0;
    trying = copy;
    trying_n = n;
    watch();
    LLVMFuzzerTestOneInput(copy, n);
    trying = NULL;
    free(copy);
    if (new_way()) {
        keep(s, n);
        if (folder)
            store(folder, s, n);
    }
}

/* Every file of a folder. */
static void load(const char *folder, uint8_t *room)
{
    DIR *dir = opendir(folder);
    struct dirent *d;

    while (dir && (d = readdir(dir))) {
        char path[512];
        FILE *fp;

        snprintf(path, sizeof path, "%s/%s", folder, d->d_name);
        fp = d->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (!fp)
            continue;
        try(room, fread(room, 1, max_len, fp), NULL);
        fclose(fp);
    }
    if (dir)
        closedir(dir);
}

/* The words of a dictionary: a line "..." each, with \\, \" and \xNN. */
static void load_words(const char *path)
{
    char line[512];
    FILE *fp = fopen(path, "r");

    FUZZ_CHECK(fp);
    while (words < WORDS_MAX && fgets(line, sizeof line, fp)) {
        struct input *w = &word[words];
        const char *p = line + 1;
        unsigned byte;

        if (line[0] != '"')
            continue;
        w->s = malloc(strlen(line));
        FUZZ_CHECK(w->s);
        for (; *p && *p != '"'; p++) {
            if (*p == '\\' && sscanf(p, "\\x%2x", &byte) == 1) {
                w->s[w->n++] = (uint8_t)byte;
                p += 3;
            } else {
                p += *p == '\\';
                w->s[w->n++] = (uint8_t)*p;
            }
        }
        words += w->n > 0;
    }
    fclose(fp);
}

static const char *value(const char *arg, const char *name)
{
    const size_t n = strlen(name);

    return strncmp(arg, name, n) == 0 && arg[n] == '=' ? arg + n + 1 : NULL;
}

int main(int argc, char **argv)
{
    const char *folder = NULL, *text;
    unsigned limit = 0;
    uint64_t seed = 0;
    time_t end;
    uint8_t *room;
    long runs = 0;

    for (int i = 1; i < argc; i++) {
        if ((text = value(argv[i], "-max_total_time")))
            limit = (unsigned)strtoul(text, NULL, 10);
        else if ((text = value(argv[i], "-timeout")))
            patience = (unsigned)strtoul(text, NULL, 10);
        else if ((text = value(argv[i], "-max_len")))
            max_len = strtoul(text, NULL, 10);
        else if ((text = value(argv[i], "-artifact_prefix")))
            prefix = text;
        else if ((text = value(argv[i], "-dict")))
            load_words(text);
        else if ((text = value(argv[i], "-seed")))
            seed = strtoull(text, NULL, 10);
        else if (argv[i][0] != '-' && !folder)
            folder = argv[i];
    }
    room = malloc(max_len);
    FUZZ_CHECK(room);
    __sanitizer_set_death_callback(died);
    signal(SIGABRT, signalled);
    signal(SIGALRM, signalled);
    signal(SIGPROF, signalled);
    try((const uint8_t *)"", 0, NULL);
    for (int i = 1; i < argc; i++)
        if (argv[i][0] != '-')
            load(argv[i], room);
    random_state += seed ? seed : (uint64_t)time(NULL);
    for (end = time(NULL) + limit; limit == 0 || time(NULL) < end; runs++) {
        const struct input *in = &input[below(inputs)];
        size_t n = in->n;

        memcpy(room, in->s, n);
        for (size_t k = 1 + below(STEPS_MAX); k > 0; k--)
            n = change(room, n);
        try(room, n, folder);
    }
    patience = 0;
    watch();
    free(room);
    fprintf(stderr, "stat::number_of_executed_units: %ld\n", runs);
    return 0;
}
