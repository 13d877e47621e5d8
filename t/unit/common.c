/*
 * common - the small things everything stands on
 */
#include "config.h"
#include "common/buf.h"
#include "common/clock.h"
#include "common/format/image_size.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/output/progress.h"
#include "common/rng.h"
#include "common/sha256.h"
#include "common/utf8.h"
#include "t/lib/tap.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void numbers(void)
{
    static const struct {
        const char *text;
        bool good;
        int64_t want;
    } ints[] = {
        { "0", true, 0 },         { "-3", true, -3 },
        { "512k", true, 512000 }, { "10B", true, 10000000000 },
        { "1e6", true, 1000000 }, { "1.1k", true, 1100 },
        { "", false, 0 },         { " 1", false, 0 },
        { "1 ", false, 0 },       { "0x10", false, 0 },
        { "1.5", false, 0 },      { "9223372036854775808", false, 0 },
        { "nan", false, 0 },      { "12q", false, 0 },
    };
    static const struct {
        double x;
        const char *want;
    } reprs[] = {
        { 1, "1.0" },
        { 0.1, "0.1" },
        { 1e-5, "1e-05" },
        { 0.0001, "0.0001" },
        { 1e16, "1e+16" },
        { -0.0, "-0.0" },
        { 123456, "123456.0" },
        { 1e22, "1e+22" },
        { 5e-324, "5e-324" },
        { 3.141592653589793, "3.141592653589793" },
        { 1.2345678901234568e17, "1.2345678901234568e+17" },
        { (double)NAN, "nan" },
        { (double)INFINITY, "inf" },
        { 1234.5, "1234.5" },
        { 1e15, "1000000000000000.0" },
        { 0x1p-44, "5.684341886080802e-14" }, /* a lopsided interval */
        { 0x1p-1022, "2.2250738585072014e-308" },
        { 1.7976931348623157e308, "1.7976931348623157e+308" },
        { 9007199254740993.0, "9007199254740992.0" },
        { (double)3.1415927f, "3.1415927410125732" },
        { 3.9892730712890625, "3.9892730712890625" }, /* 16 digits: a tie */
        { 8.2425689697265625, "8.242568969726562" },
        { -1e-4, "-0.0001" },
        { 100, "100.0" },
        { 2e-323, "2e-323" },
    };
    static const struct {
        const char *text, *rest; /* rest NULL: no number */
        double want;
    } parses[] = {
        { "0.1 5", " 5", 0.1 },
        { "-1.5e3x", "x", -1500 },
        { ".5", "", 0.5 },
        { "5.", "", 5 },
        { "1e", "e", 1 },
        { "1e400", "", (double)INFINITY },
        { "1e-400", "", 0 },
        { "4.9e-324", "", 5e-324 },
        { "2.2250738585072011e-308", "", 2.225073858507201e-308 },
        { "9007199254740993", "", 9007199254740992.0 },
        { "9007199254740992.999999999999999999999", "", 9007199254740992.0 },
        { "123456789012345678901234567890", "", 1.2345678901234568e29 },
        { "-Infinity,", ",", -(double)INFINITY },
        { "inf", "", (double)INFINITY },
        { "abc", NULL, 0 },
        { "", NULL, 0 },
        { "-", NULL, 0 },
        { ".", NULL, 0 },
        { "e5", NULL, 0 },
    };
    char text[NUM_TEXT];
    double x;
    bool b;

    for (size_t i = 0; i < sizeof ints / sizeof ints[0]; i++) {
        int64_t n = -77;
        const bool good = num_int(ints[i].text, &n);

        ok(good == ints[i].good && (good ? n == ints[i].want : n == -77),
           "num_int() reads \"%s\" as expected", ints[i].text);
    }
    for (size_t i = 0; i < sizeof reprs / sizeof reprs[0]; i++) {
        num_shortest(text, reprs[i].x);
        if (!ok(strcmp(text, reprs[i].want) == 0, "num_shortest() prints %s",
                reprs[i].want))
            diag("got %s", text);
    }
    for (size_t i = 0; i < sizeof parses / sizeof parses[0]; i++) {
        const char *const s = parses[i].text, *const want = parses[i].rest;
        const char *const rest = num_parse(s, s + strlen(s), &x);

        ok(rest && want ? strcmp(rest, want) == 0 && x == parses[i].want
                        : !rest && !want,
           "num_parse() reads \"%s\" as expected", s);
    }
    ok(num_secs("2h30m", &x) && x == 9000, "2h30m is 9000 s");
    ok(!num_secs("2h30", &x), "2h30 is not a time");
    ok(num_real("0.5%", &x) && fabs(x - 0.005) < 1e-18, "0.5%% is 0.005");
    ok(num_whole(-1.9) == -1 && num_whole(1e300) == (int64_t)1 << 53 &&
           num_whole(-INFINITY) == -((int64_t)1 << 53) && num_whole(NAN) == 0,
       "any number has a whole part");
    ok(num_bool("Off", &b) && !b, "Off is false");
    ok(strcmp(num_comma(text, -1234567), "-1,234,567") == 0,
       "num_comma() puts commas between thousands");
    ok(strcmp(num_bytes(text, 1536), "1.50 KiB") == 0,
       "num_bytes() prints 1.50 KiB");
    ok(strcmp(num_duration(text, 7500), "2h05m") == 0,
       "num_duration() prints 2h05m");
    ok(strcmp(num_short(text, 29995520), "30.0M") == 0,
       "num_short() prints 30.0M");
}

/* Numbers with many equal ones, in every place. */
static void selection(void)
{
    enum { N = 40 };
    double v[N], sorted[N];
    int wrong = 0;

    for (size_t n = 1; n <= N; n++)
        for (size_t k = 0; k < n; k++) {
            for (size_t i = 0; i < n; i++)
                v[i] = sorted[i] = (double)(i * i * 7 % 13);
            num_sort(sorted, n);
            wrong += num_nth(v, n, k) != sorted[k];
            num_sort(v, n);
            wrong += memcmp(v, sorted, n * sizeof *v) != 0;
        }
    ok(wrong == 0, "num_nth() finds what sorting would put there");
}

static void strings(void)
{
    static const char *const more[] = { "a && b", "a >f",      "echo $x",
                                        "'open",  "a \"`b`\"", "a \\b" };
    struct buf b = BUF_INIT;
    struct arena a = { 0 };
    char *p, *q;

    ok(b.s[0] == '\0', "an empty buf is an empty string");
    for (int i = 0; i < 1000; i++)
        buf_printf(&b, "%d,", i);
    ok(b.len == 3890 && b.s[b.len] == '\0',
       "a buf holds 1000 numbers and a NUL");
    p = arena_strdup(&a, b.s);
    q = arena_alloc(&a, 200000);
    ok(strcmp(p, b.s) == 0 && q[199999] == 0,
       "an arena keeps what was added until it is cleared");
    arena_clear(&a);
    buf_trim(&b, 0);
    buf_shell_word(&b, "it's $HOME");
    ok(strcmp(b.s, "'it'\\''s $HOME'") == 0, "a word is quoted for a shell");
    buf_trim(&b, 0);
    ok(buf_shell_split(&b, " a  'it'\\''s $x' b'c d'\"e f\" --k=*** ''") == 5 &&
           b.len == 27 &&
           memcmp(b.s, "a\0it's $x\0bc de f\0--k=***\0", 27) == 0,
       "a line for a shell is divided into its words");
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
        ok(buf_shell_split(&b, more[i]) == -1, "only a shell can divide: %s",
           more[i]);
    buf_clear(&b);
}

static void options(void)
{
    static int n = 5;
    static bool flag;
    static struct opt_list list;
    static int word;
    static const char *const status[] = { "running", "failed", "killed", NULL };
    static const struct opt opts[] = {
        { 'n', "limit", "count", OPT_INT, &n, "", .range = { 1, 10 } },
        { 0, "all", NULL, OPT_FLAG, &flag, "" },
        { 's', "set", "key=value", OPT_LIST, &list, "" },
        { 0, "status", "word", OPT_WORD, &word, "print %s (default: none)",
          status },
        { 0 }
    };
    char words[8][16] = {
        "prog", "a", "-n", "7", "--all", "--set=x", "-sy", "b"
    };
    char *argv[9] = { 0 };
    struct err e = { 0 };
    char text[80];
    int left;

    for (int i = 0; i < 8; i++)
        argv[i] = words[i];
    left = opt_parse(opts, 8, argv, &e);
    ok(left == 2 && strcmp(argv[0], "a") == 0 && strcmp(argv[1], "b") == 0,
       "opt_parse() leaves the arguments that are no options");
    ok(n == 7 && flag && list.n == 2 && strcmp(list.item[1], "y") == 0,
       "opt_parse() stores the values of options");
    argv[0] = words[0];
    snprintf(words[1], sizeof words[1], "--limt=3");
    argv[1] = words[1];
    argv[2] = NULL;
    ok(opt_parse(opts, 2, argv, &e) < 0 && strstr(e.text, "--limit") &&
           e.kind == ERR_USAGE,
       "an unknown option names the nearest: %s", e.text);
    snprintf(words[1], sizeof words[1], "--status=FAILED");
    argv[1] = words[1];
    ok(opt_parse(opts, 2, argv, &e) == 0 && word == 1,
       "a word option accepts any case of letters");
    argv[0] = words[0];
    snprintf(words[1], sizeof words[1], "--status=x");
    argv[1] = words[1];
    ok(opt_parse(opts, 2, argv, &e) < 0 &&
           strcmp(e.text, "--status expects running, failed or killed, "
                          "not 'x'") == 0,
       "a word option names its words: %s", e.text);
    argv[0] = words[0];
    snprintf(words[1], sizeof words[1], "--limit=11");
    argv[1] = words[1];
    ok(opt_parse(opts, 2, argv, &e) < 0 &&
           strcmp(e.text, "--limit expects 1 to 10, not '11'") == 0,
       "a number out of the range of an option is refused: %s", e.text);
    opt_help_text(&opts[3], text, sizeof text);
    ok(strcmp(text, "print running, failed or killed (default: none)") == 0,
       "the help text of a word option lists its words");
    free(list.item);
}

/* Philox4x32-10's published test vectors (Random123, kat_vectors). */
static void random_numbers(void)
{
    uint32_t w[4];

    rng_bits(0, 0, 0, w);
    ok(w[0] == 0x6627e8d5 && w[1] == 0xe169c58d && w[2] == 0xbc57ac4c &&
           w[3] == 0x9b00dbd8,
       "Philox of zeros has the published value");
    rng_bits(~0ull, ~0ull, ~0ull, w);
    ok(w[0] == 0x408f276d && w[1] == 0x41c83b0e && w[2] == 0xa20bc7c6 &&
           w[3] == 0x6d5451fd,
       "Philox of ones has the published value");
    rng_bits(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88, w);
    ok(w[0] == 0xd16cfe09 && w[1] == 0x94fdcceb && w[2] == 0x5001e420 &&
           w[3] == 0x24126ea1,
       "Philox of pi has the published value");
}

static const char *hash_of(const char *text, size_t n, size_t step, bool fast,
                           char out[SHA256_TEXT])
{
    struct sha256 h;

    sha256_init(&h);
    h.fast = h.fast && fast;
    for (size_t i = 0; i < n; i += step)
        sha256_add(&h, text + i, n - i < step ? n - i : step);
    sha256_text(&h, out);
    return out;
}

static void hashes(void)
{
    static const struct {
        const char *text, *want;
    } known[] = {
        /* FIPS 180-4's examples, and nothing */
        { "", "e3b0c44298fc1c149afbf4c8996fb924"
              "27ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223"
                 "b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    };
    char text[300], a[SHA256_TEXT], b[SHA256_TEXT];
    bool same = true;

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const char *t = known[i].text;

        ok(strcmp(hash_of(t, strlen(t), 7, true, a), known[i].want) == 0 &&
               strcmp(hash_of(t, strlen(t), 64, false, b), a) == 0,
           "sha256 of \"%s\" has the published value", t);
    }
    memset(text, 'x', sizeof text);
    for (size_t n = 0; n < sizeof text; n++)
        for (size_t step = 1; step < 130; step += 9)
            same = same && strcmp(hash_of(text, n, step, true, a),
                                  hash_of(text, n, 300, false, b)) == 0;
    ok(same, "sha256 does not depend on how the bytes are split");
}

/* RFC 4231's test cases 2 and 6: a short key, and one longer than a block. */
static void macs(void)
{
    static const struct {
        const char *key, *data;
        int repeat; /* the key's bytes */
        unsigned char first[4];
    } known[] = {
        { "Jefe",
          "what do ya want for nothing?",
          1,
          { 0x5b, 0xdc, 0xc1, 0x46 } },
        { "\xaa",
          "Test Using Larger Than Block-Size Key - Hash Key First",
          131,
          { 0x60, 0xe4, 0x31, 0x59 } },
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct buf key = BUF_INIT;
        unsigned char out[SHA256_BYTES];

        for (int n = 0; n < known[i].repeat; n++)
            buf_str(&key, known[i].key);
        sha256_hmac(key.s, key.len, known[i].data, strlen(known[i].data), out);
        ok(memcmp(out, known[i].first, sizeof known[i].first) == 0,
           "the HMAC of \"%s\" has the published value", known[i].data);
        buf_clear(&key);
    }
}

static void times(void)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        { 0, "1970-01-01T00:00:00.000Z" },
        { 1795319672026, "2026-11-22T03:54:32.026Z" },
        { -1, "1969-12-31T23:59:59.999Z" },
        { 951782400000, "2000-02-29T00:00:00.000Z" },
        { INT64_MAX, "9999-12-31T23:59:59.999Z" },
        { INT64_MIN, "0000-01-01T00:00:00.000Z" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[NUM_TEXT];

        ok(strcmp(clock_utc(text, cases[i].ms), cases[i].text) == 0,
           "%lld is printed as %s", (long long)cases[i].ms, text);
    }
}

/* Write to fd in place of standard error; the old one is returned. */
static int divert(int fd)
{
    const int saved = dup(STDERR_FILENO);

    dup2(fd, STDERR_FILENO);
    return saved;
}

static void restore(int saved)
{
    dup2(saved, STDERR_FILENO);
    close(saved);
}

static void progress_in_a_file(void)
{
    char text[1024] = "";
    FILE *fp = tmpfile();
    const int saved = divert(fileno(fp));
    struct progress p;

    progress_open(&p, 0, 4576, "step");
    progress_within(&p, 1, 16);
    p.shown = p.reached = -100; /* seconds ago */
    progress_within(&p, 3, 16);
    progress_at(&p, 1, "loss 10.8");
    progress_close(&p);
    restore(saved);
    rewind(fp);
    text[fread(text, 1, sizeof text - 1, fp)] = '\0';
    fclose(fp);
    ok(!strstr(text, "1 of 16"), "the parts of a short unit are not shown");
    ok(strstr(text, ": step 1/4576: 3 of 16\n") != NULL,
       "how much of a long unit is done is shown before its end");
    ok(strstr(text, ": step 1/4576  loss 10.8") != NULL,
       "the end of a unit is shown after its parts");
}

/* A terminal of unknown width, which is taken for one of 80 columns. */
static void progress_on_a_terminal(void)
{
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    char text[1024] = "", *head, *left;
    struct progress p;
    int terminal, saved;
    ssize_t n;

    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0) {
        skip("no pseudo-terminal", "a progress line fits 80 columns");
        return;
    }
    terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    setenv("TERM", "xterm", 1);
    saved = divert(terminal);
    progress_open(&p, 0, 4576, "step");
    p.start -= 100;
    progress_at(&p, 1234, "loss 3.1234  12.3k tok/s  lr 6.00e-04  norm 1.11");
    n = read(master, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    head = strstr(text, "step 1234/4576  ");
    left = strstr(text, "  left ");
    ok(head && left && 12 + strlen(head) < 80,
       "a progress line fits 80 columns: %s", head ? head : text);
    ok(head && left && strstr(head, "  lr 6.00e-04  left "),
       "a progress line that is cut ends with a whole part");
    progress_close(&p);
    restore(saved);
    close(terminal);
    close(master);
}

/* What is suggested for a word. */
static void test_nearest(void)
{
    static const char *const names[] = { "optim.lr", "val/loss", "cuda",
                                         "cpu",      "train",    "encode",
                                         "ls",       "adamw",    "rm",
                                         NULL };
    static const char *const words[][2] = {
        { "val_loss", "val/loss" },
        { "lr", "optim.lr" },
        { "learning_rate", "optim.lr" },
        { "val/los", "val/loss" },
        { "gpu", "cuda" },
        { "run", "train" },
        { "tokenize", "encode" },
        { "list", "ls" },
        { "AdamW", "adamw" },
        { "zzzzzz", "" },
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct err e = { 0 };
        char want[64] = "no";

        err_set(&e, ERR_USAGE, "no");
        if (*words[i][1])
            snprintf(want, sizeof want, "no; did you mean %s?", words[i][1]);
        ok(opt_nearest_word(names, words[i][0], &e) < 0 &&
               strcmp(e.text, want) == 0,
           "the suggestion for %s is '%s'", words[i][0], words[i][1]);
    }
}

static void images(void)
{
    static const struct {
        const char *what;
        size_t n;
        const char *bytes;
        uint32_t width, height; /* 0: it is no image */
    } cases[] = {
        { "a PNG file", 24, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\1\0\2\0\0\0\3",
          65538, 3 },
        { "a PNG file that is cut", 20, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\2",
          0, 0 },
        { "a GIF file", 10, "GIF89a\2\1\3\0", 258, 3 },
        { "a JPEG file with other segments before the frame", 24,
          "\xff\xd8\xff\xe0\0\4xy\xff\xff\xc4\0\2\xff\xc2\0\21\10\0\7\1\4"
          "\3\1",
          260, 7 },
        { "a JPEG file that ends in a segment", 12,
          "\xff\xd8\xff\xe0\xff\xffxyxyxy", 0, 0 },
        { "an empty file", 0, "", 0, 0 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t w = 0, h = 0;
        const bool found = image_size(cases[i].bytes, cases[i].n, &w, &h);

        ok(found == (cases[i].width > 0) &&
               (!found || (w == cases[i].width && h == cases[i].height)),
           "the size of %s is %s", cases[i].what,
           cases[i].width ? "read" : "unknown");
    }
}

static void percents(void)
{
    struct buf b = BUF_INIT;
    char good[] = "a%20b%2f%C3%a9", bad[] = "1%%41%00%g0%4";

    percent_add(&b, "a b/\xc3\xa9~", PERCENT_PART);
    ok(strcmp(b.s, "a%20b%2F%C3%A9~") == 0,
       "percent_add() escapes a part of a URL");
    buf_clear(&b);
    ok(percent_decode(good) && strcmp(good, "a b/\xc3\xa9") == 0,
       "percent_decode() finds the bytes");
    ok(!percent_decode(bad) && strcmp(bad, "1%A%00%g0%4") == 0,
       "percent_decode() keeps what is no escape");
}

/* Wherever it is, and whatever character of several bytes is before it. */
static void bad_bytes(void)
{
    bool found = true;

    for (size_t n = 1; n <= 200; n++) {
        for (size_t bad = 0; bad <= n; bad++) {
            uint8_t text[201];

            memset(text, 'a', sizeof text);
            if (bad >= 40)
                memcpy(text + bad / 2, "\xE2\x80\x99", 3);
            text[bad] = 0xE2;
            found = found && utf8_good(text, n) == bad;
        }
    }
    ok(found, "the first byte that is not UTF-8 is found everywhere");
}

int main(void)
{
    progress_in_a_file();
    progress_on_a_terminal();
    times();
    numbers();
    selection();
    strings();
    bad_bytes();
    options();
    random_numbers();
    hashes();
    macs();
    test_nearest();
    images();
    percents();
    return done_testing();
}
