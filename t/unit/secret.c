/* secret - passwords and keys in commands, addresses, values and texts */
#include "config.h"
#include "common/format/secret.h"
#include "t/lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 8 };

/* Commands; each has the secret S3cr3tS3cr3tS3cr3t1 or one that says itself
 * what it is. */
static const char *const commands[][WORDS] = {
    { "train", "--api-key", "S3cr3tS3cr3tS3cr3t1" },
    { "train", "--api-key=S3cr3tS3cr3tS3cr3t1" },
    { "train", "--api-key", "--", "S3cr3tS3cr3tS3cr3t1" },
    { "train", "--wandb_api_key", "S3cr3tS3cr3tS3cr3t1" },
    { "train", "--password", "S3cr3tS3cr3tS3cr3t1" },
    { "train", "--passwd=S3cr3tS3cr3tS3cr3t1" },
    { "train", "--secret", "S3cr3tS3cr3tS3cr3t1" },
    { "train", "--token", "S3cr3tS3cr3tS3cr3t1" },
    { "train", "--hf_token", "S3cr3tS3cr3tS3cr3t1" },
    { "train", "--login-token", "S3cr3tS3cr3tS3cr3t1" },
    { "train", "--auth", "S3cr3tS3cr3tS3cr3t1" },
    { "train", "--bearer", "S3cr3tS3cr3tS3cr3t1" },
    { "train", "--key", "S3cr3tS3cr3tS3cr3t1" },
    { "train", "--pwd", "S3cr3tS3cr3tS3cr3t1" },
    { "train", "--webhook=https://hooks.example/S3cr3tS3cr3tS3cr3t1" },
    { "env", "WANDB_API_KEY=S3cr3tS3cr3tS3cr3t1", "train" },
    { "env", "GITHUB_TOKEN=S3cr3tS3cr3tS3cr3t1", "train" },
    { "env", "AWS_SESSION_TOKEN=S3cr3tS3cr3tS3cr3t1", "train" },
    { "env", "AWS_SECRET_ACCESS_KEY=S3cr3tS3cr3tS3cr3t1", "train" },
    { "env", "PGPASSWORD=S3cr3tS3cr3tS3cr3t1 and a space", "train" },
    { "sh", "-c", "train --api-key S3cr3tS3cr3tS3cr3t1; date" },
    { "sh", "-c", "X_TOKEN='S3cr3tS3cr3tS3cr3t1' train" },
    { "curl", "-H", "Authorization: Bearer S3cr3tS3cr3tS3cr3t1" },
    { "curl", "-u", "me:S3cr3tS3cr3tS3cr3t1", "https://host" },
    { "train", "--db", "postgresql://me:S3cr3tS3cr3tS3cr3t1@host/db" },
    { "train", "--db", "mysql://me:p@S3cr3tS3cr3tS3cr3t1@host/db" },
    { "git", "clone", "https://S3cr3tS3cr3tS3cr3t1@host/x.git" },
    { "wget", "https://host/x?a=1&access_token=S3cr3tS3cr3tS3cr3t1&b=2" },
    { "wget", "https://host/x?X-Amz-Signature=S3cr3tS3cr3tS3cr3t1" },
    { "train", "hf_S3cr3tS3cr3tS3cr3t1" },
    { "train", "--json", "{\"api_key\": \"S3cr3tS3cr3tS3cr3t1\"}" },
    { "wandb", "login", "53c2e753c2e753c2e753c2e753c2e753c2e753c2" },
};

/* Words that a run has, and that stay as they are. */
static const char *const plain[][WORDS] = {
    { "train", "--max-tokens", "5", "--eos_token", "END", "--lr", "3e-4" },
    { "train", "--token", "50256", "--key", "2", "--auth", "none" },
    { "train", "--token", "../token.txt", "--secret" },
    { "sort", "--key=2", "-u", "1000:1000", "tokenizer=gpt2" },
    { "git", "clone", "git@github.com:a/b.git", "ssh://git@host/x" },
    { "train", "--url", "http://host:8080/a@b", "--data", "a=b" },
    { "git", "checkout", "53c2e753c2e753c2e753c2e753c2e753c2e753c2" },
    { "train", "--rev=53c2e753c2e753c2e753c2e753c2e753c2e753c2" },
    { "sh", "-c", "train --token $TOKEN", "sk-learn", "AKIA" },
};

static int count(const char *const *word)
{
    int n = 0;

    while (n < WORDS && word[n])
        n++;
    return n;
}

static void mask_words(const char *const *word, struct buf *out)
{
    const int n = count(word);
    char *argv[WORDS] = { NULL };

    for (int i = 0; i < n; i++)
        argv[i] = strdup(word[i]);
    secret_mask_command(out, n, argv);
    for (int i = 0; i < n; i++)
        free(argv[i]);
}

static bool has_secret(const char *text)
{
    return strstr(text, "S3cr3t") || strstr(text, "53c2e7");
}

static void test_commands(void)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        struct buf b = BUF_INIT, again = BUF_INIT;

        mask_words(commands[i], &b);
        secret_mask(&again, b.s);
        if (!ok(!has_secret(b.s) && strstr(b.s, "***") &&
                    strcmp(b.s, again.s) == 0,
                "a command has no secret, form %zu", i + 1))
            diag("%s; %s", b.s, again.s);
        buf_clear(&b);
        buf_clear(&again);
    }
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        struct buf b = BUF_INIT, want = BUF_INIT;

        for (int k = 0; k < count(plain[i]); k++) {
            buf_str(&want, k ? " " : "");
            buf_shell_short(&want, plain[i][k]);
        }
        mask_words(plain[i], &b);
        if (!ok(strcmp(b.s, want.s) == 0,
                "what is no secret stays, command %zu", i + 1))
            diag("%s", b.s);
        buf_clear(&b);
        buf_clear(&want);
    }
}

static void test_values(void)
{
    static const struct {
        const char *name, *value, *want;
    } cases[] = {
        { "openai.api_key", "abc", "***" },
        { "model/hf_token", "abc", "***" },
        { "password", "1234", "***" },
        { "pad_token", "<pad>", "<pad>" },
        { "eos.token", "END", "END" },
        { "token", "0", "0" },
        { "note", "ghp_0123456789abcdefghij", "***" },
        { "note", "the key: a good lr", "the key: a good lr" },
        { "note", "see AKIAIOSFODNN7EXAMPLE", "see ***" },
        { "note", "github_pat_11ABCDEFG0abcdefghij", "***" },
        { "note", "sk-proj-abcdefghijklmnop1234", "***" },
        { "db", "https://me:p@ss@host/x", "https://me:***@host/x" },
        { "servers", "[{\"password\": \"x y\"}]", "[{\"password\": \"***\"}]" },
        { "git.commit", "53c2e753c2e753c2e753c2e753c2e753c2e753c2",
          "53c2e753c2e753c2e753c2e753c2e753c2e753c2" },
        { "api_key", "", "" },
        { "list", "{password: 5, name: x}", "{password: \"***\", name: x}" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf b = BUF_INIT;

        secret_mask_named(&b, cases[i].name, cases[i].value);
        if (!ok(strcmp(b.s, cases[i].want) == 0 &&
                    secret_is_named(cases[i].name, cases[i].value) ==
                        (strcmp(cases[i].value, cases[i].want) != 0),
                "the value of %s is masked if it is a secret, case %zu",
                cases[i].name, i + 1))
            diag("%s", b.s);
        buf_clear(&b);
    }
}

int main(void)
{
    test_commands();
    test_values();
    return done_testing();
}
