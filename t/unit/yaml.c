/*
 * yaml - MLflow's dialect: what PyYAML writes, and what it must read
 */
#include "config.h"
#include "common/mem.h"
#include "common/format/yaml.h"
#include "store/format/key.h"
#include "t/lib/tap.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const struct {
    const char *text, *key, *value;     /* value NULL: null */
} reads[] = {
    { "a: b\n", "a", "b" },
    { "a: 'it''s'\n", "a", "it's" },
    { "a: \"x\\ty\\x41\\u00fc\\U0001F680\"\n", "a",
      "x\tyA\xc3\xbc\xf0\x9f\x9a\x80" },
    { "a: 5\n", "a", "5" },
    { "a: null\n", "a", NULL },
    { "a: ~\n", "a", NULL },
    { "a:\n", "a", NULL },
    { "a: 'null'\n", "a", "null" },
    { "a: ''\n", "a", "" },
    { "a: []\n", "a", "[]" },
    { "a: [1, [2, {b: c}]]\nd: e\n", "d", "e" },
    { "a: {}\nd: e\n", "d", "e" },
    { "tags:\n  mlflow.data.context: training\n",
      "tags.mlflow.data.context", "training" },
    { "a: one\n  two\n\n  three\n", "a", "one two\nthree" },
    { "a: \"one\\\n  \\ two\"\n", "a", "one two" },
    { "\xef\xbb\xbf# a comment\n---\r\na: b\r\n", "a", "b" },
    { "a: 1\na: 2\n", "a", "2" },
    { "a: 'x: y #z'\n", "a", "x: y #z" },
    { "a: 2024-01-01 12:30:45\n", "a", "2024-01-01 12:30:45" },
};

static const struct {
    const char *value, *line;
} writes[] = {
    { "plain", "k: \"plain\"\n" },
    { NULL, "k: null\n" },
    { "", "k: \"\"\n" },
    { "123", "k: \"123\"\n" },
    { "a\"b\\c", "k: \"a\\\"b\\\\c\"\n" },
    { "a\nb\tc\x01\x7f", "k: \"a\\nb\\tc\\x01\\x7f\"\n" },
    { "\xc3\xbc\xf0\x9f\x9a\x80", "k: \"\xc3\xbc\xf0\x9f\x9a\x80\"\n" },
    { "\xc2\x85\xef\xbf\xbe\xe2\x80\xa8", "k: \"\\x85\\ufffe\\u2028\"\n" },
    { "bad\xff", "k: \"bad\xef\xbf\xbd\"\n" },
};

static const char *const wrongs[] = {
    "", "- a\n", "just text\n", "a: b\n  c: d\n e: f\n", "a: \"open\n",
    "a: \"\\ud83d\\ude80\"\n", "a: *alias\n", "{a: b", "\xff\xfe",
};

static const struct {
    const char *key;
    bool legal;
    const char *clean;
} keys[] = {
    { "loss", true, "loss" },
    { "train/loss", true, "train/loss" },
    { "a b-c.d:e_f", true, "a b-c.d:e_f" },
    { " a ", true, " a " },
    { "gr\xc3\xb6\xc3\x9f" "e", true, "gr\xc3\xb6\xc3\x9f" "e" },
    { "\xe6\x90\x8d\xe5\xa4\xb1", true, "\xe6\x90\x8d\xe5\xa4\xb1" },
    { "loss~", false, "loss_" },
    { "a@b=c+d%(e)", false, "a_b_c_d__e_" },
    { "\xf0\x9f\x9a\x80", false, "_" },
    { "e\xcc\x81", false, "e_" },               /* a combining mark */
    { "bad\xff", false, "bad_" },
    { "", false, "_" },
    { ".", false, "_" },
    { "..", false, "_" },
    { "/a", false, "a" },
    { "a/", false, "a" },
    { "a//b", false, "a/b" },
    { "a/./b/../c", false, "a/_/b/_/c" },
    { "new\nline", false, "new_line" },
};
/* clang-format on */

static bool is(const char *got, const char *want)
{
    if (!got || !want ? got == want : strcmp(got, want) == 0)
        return true;
    diag("got %s", got ? got : "null");
    return false;
}

/* `n` times the text, parsed: is it refused by the limit that is named? */
static bool is_refused(const char *text, size_t n, const char *limit)
{
    struct arena mem = { 0 };
    struct err e = { 0 };
    struct buf b = BUF_INIT;
    struct yaml y;
    bool refused;

    buf_str(&b, "k: ");
    for (size_t i = 0; i < n; i++)
        buf_str(&b, text);
    refused = yaml_parse(&y, &mem, b.s, b.len, false, &e) < 0 &&
              e.kind == ERR_INPUT && strstr(e.text, limit);
    buf_clear(&b);
    arena_clear(&mem);
    return refused;
}

/* Files that a parser without limits would read for minutes. */
static void test_limits(void)
{
    static const char *const deep[] = { "[", "{a: ", "[{" };
    static const char *const wrong[] = { "{", "? ", "- ", "- [" };

    for (size_t i = 0; i < sizeof deep / sizeof deep[0]; i++)
        ok(is_refused(deep[i], 1000000, "16 levels"),
           "a million times '%s' is refused as too deep", deep[i]);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ok(is_refused(wrong[i], 1000000, ""), "a million times '%s' is refused",
           wrong[i]);
    ok(is_refused("\n  - x", 200000, "100,000 values"),
       "a list of 200,000 values is refused");
}

int main(void)
{
    struct arena mem = { 0 };
    struct err e = { 0 };
    struct yaml y;
    char longest[400];
    char *clean;

    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++)
        ok(yaml_parse(&y, &mem, reads[i].text, strlen(reads[i].text), false,
                      &e) == 0 &&
               yaml_find(&y, reads[i].key) &&
               is(yaml_get(&y, reads[i].key), reads[i].value),
           "reading %zu: %s", i, reads[i].value ? reads[i].key : "null");
    for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        struct buf b = BUF_INIT;

        yaml_put(&b, "k", writes[i].value);
        ok(is(b.s, writes[i].line), "value %zu is written as expected", i);
        buf_clear(&b);
    }
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        e = (struct err){ 0 };
        ok(yaml_parse(&y, &mem, wrongs[i], strlen(wrongs[i]), false, &e) < 0 &&
               e.kind == ERR_INPUT,
           "text %zu, which is no mapping, is an error: %s", i, e.text);
    }
    test_limits();
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        clean = key_clean(keys[i].key);
        ok(!key_problem(keys[i].key) == keys[i].legal &&
               is(clean, keys[i].clean) && !key_problem(clean),
           "key %zu becomes %s", i, keys[i].clean);
        free(clean);
    }
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    clean = key_clean(longest);
    ok(key_problem(longest) && strlen(clean) == KEY_MAX,
       "a long key is cut to %d characters", KEY_MAX);
    free(clean);
    memcpy(longest + KEY_MAX - 2, "/..x", 4);
    clean = key_clean(longest);
    ok(!key_problem(clean) && strlen(clean) == KEY_MAX - 2,
       "a long key is cut before a part that would be only dots");
    free(clean);
    arena_clear(&mem);
    return done_testing();
}
