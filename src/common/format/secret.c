#include "config.h"
#include "common/format/secret.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "common/num.h"

/* How the names of secrets end, in lower case with hyphens.  A weak name may
 * also be that of a number or of a file. */
static const struct secret_name {
    enum { ANYWHERE, WORD, WHOLE } where;
    bool weak;
    const char *end[10];
} names[] = {
    { ANYWHERE,
      false,
      { "password", "passwd", "passphrase", "secret", "apikey", NULL } },
    { WORD,
      false,
      { "api-key", "access-key", "secret-key", "account-key", "authorization",
        NULL } },
    { WORD,
      true,
      { "private-key", "auth-key", "credentials", "bearer", "pwd", "token",
        "webhook", "webhook-url", "signature", NULL } },
    { WHOLE, true, { "auth", "key", "sig", NULL } },
};

/* Tokens of a vocabulary, and numbers of them. */
static const char *const vocabulary[] = {
    "eos",   "bos",  "pad",    "unk",     "mask",  "sep",   "cls",    "eot",
    "stop",  "end",  "start",  "special", "image", "video", "audio",  "next",
    "first", "last", "prompt", "new",     "max",   "min",   "target", "per",
};

/* Beginnings of keys, and how many characters follow at least. */
static const struct secret_prefix {
    const char *text;
    size_t more;
} prefixes[] = {
    { "hf_", 16 },    { "ghp_", 16 },        { "gho_", 16 },
    { "ghu_", 16 },   { "ghs_", 16 },        { "ghr_", 16 },
    { "glpat-", 16 }, { "github_pat_", 16 }, { "sk-", 20 },
    { "AKIA", 16 },   { "ASIA", 16 },        { "AIza", 30 },
    { "xoxb-", 16 },  { "xoxp-", 16 },       { "npm_", 30 },
    { "pypi-", 30 },  { "wandb_v1_", 16 },
};

/* Before a number of 40 digits, these words say that it is a hash. */
static const char *const hashes[] = { "commit", "sha",      "rev", "hash",
                                      "digest", "checkout", "ref" };

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static size_t name_length(const char *at)
{
    size_t n = 0;

    while (is_name_char(at[n]))
        n++;
    return n;
}

static char plain(char c)
{
    return c == '_' || c == '.' || c == '/' ? '-'
                                            : (char)tolower((unsigned char)c);
}

/* ---- by name ----------------------------------------------------------- */

static bool is_of_vocabulary(const char *name, const char *token)
{
    for (size_t i = 0; i < sizeof vocabulary / sizeof vocabulary[0]; i++) {
        const size_t n = strlen(vocabulary[i]);

        if ((size_t)(token - name) >= n + 1 &&
            strncmp(token - n - 1, vocabulary[i], n) == 0)
            return true;
    }
    return false;
}

/* The rule for a name such as --api-key, WANDB_API_KEY or api_key. */
static const struct secret_name *find_name(const char *text, size_t len)
{
    char name[128];
    size_t n = 0;

    while (len && !isalnum((unsigned char)*text)) {
        text++;
        len--;
    }
    if (len > sizeof name - 1) {
        text += len - (sizeof name - 1);
        len = sizeof name - 1;
    }
    for (; n < len; n++)
        name[n] = plain(text[n]);
    name[n] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (const char *const *end = names[i].end; *end; end++) {
            const char *at = name + n - strlen(*end);

            if (str_ends(name, *end) &&
                (at == name || names[i].where == ANYWHERE ||
                 (names[i].where == WORD && at[-1] == '-' &&
                  (strcmp(at, "token") != 0 || !is_of_vocabulary(name, at)))))
                return &names[i];
        }
    return NULL;
}

/* Is a value no secret, although its name suggests one? */
static bool is_harmless(const struct secret_name *name, const char *value,
                        size_t n)
{
    static const char *const words[] = { "true", "false",  "none", "null",
                                         "***",  "bearer", "basic" };
    AUTO_FREE char *text = xstrndup(value, n);
    double number;
    bool harmless = n == 0 || *text == '$';

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        harmless |= strcasecmp(text, words[i]) == 0;
    harmless |= name->weak && (*text == '/' || *text == '.' || *text == '~' ||
                               *text == '<' || num_real(text, &number));
    return harmless;
}

/* The characters of a value that ends where a text goes on. */
static size_t value_length(const char *at, char quote)
{
    const char end[] = { quote, '\0' };

    return strcspn(at, quote ? end : " \t\r\n\"'&;,)}]|<>`");
}

/* In W&B's YAML the value of a name has a name itself, in a later line. */
static const char *skip_wandb(const char *colon)
{
    const char *at = colon + 1 + strspn(colon + 1, " \r\n");

    if (strncmp(at, "desc:", 5) == 0) {
        at += strcspn(at, "\n");
        at += strspn(at, " \n");
    }
    return strncmp(at, "value:", 6) == 0 ? at + 5 : colon;
}

/* Where the value of a name that ends here begins: after = or :, or, for an
 * option, after spaces or as the next text of a list in JSON.  NULL if there is
 * none; *quote is that around it. */
static const char *find_value(const char *name, const char *at, char *quote)
{
    const char *end = at;

    *quote = '\0';
    at += *at == '\\' && at[1] == '"';
    at += *at == '"' || *at == '\'';
    if (*at == '=' || *at == ':' || (*name == '-' && at > end && *at == ',')) {
        at = skip_wandb(at);
        at++;
        at += strspn(at, " \t");
    } else if (*name == '-' && at == end && isspace((unsigned char)*at)) {
        at += strspn(at, " \t");
        if (strncmp(at, "-- ", 3) == 0)
            at += 3;
    } else {
        return NULL;
    }
    at += *at == '\\' && at[1] == '"';
    if (*at == '"' || *at == '\'')
        *quote = *at++;
    for (;;) {
        static const char *const schemes[] = { "Bearer ", "Basic ", "Token " };
        const char *was = at;

        for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
            if (strncasecmp(at, schemes[i], strlen(schemes[i])) == 0)
                at += strlen(schemes[i]);
        if (at == was)
            return at;
    }
}

/* curl's -u me:PW. */
static bool is_user_option(const char *name, size_t n)
{
    static const char *const options[] = { "-u", "--user", "--proxy-user" };

    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (strlen(options[i]) == n && strncmp(name, options[i], n) == 0)
            return true;
    return false;
}

/* The secret that a name at the beginning of `name` has: its place, and its
 * length in *len; NULL if there is none. */
static const char *named_secret(const char *name, size_t n, size_t *len)
{
    const struct secret_name *rule = find_name(name, n);
    const bool user = is_user_option(name, n);
    const char *value = NULL;
    char quote;

    if (rule || user)
        value = find_value(name, name + n, &quote);
    if (!value)
        return NULL;
    *len = value_length(value, quote);
    if (user) {
        const char *colon = memchr(value, ':', *len);

        if (!colon || strspn(colon + 1, "0123456789") + 1 >=
                          *len - (size_t)(colon - value))
            return NULL;
        *len -= (size_t)(colon + 1 - value);
        return colon + 1;
    }
    return is_harmless(rule, value, *len) ? NULL : value;
}

/* ---- by place ---------------------------------------------------------- */

/* The secret of a URL whose "://" is here; a user without a password may be a
 * token, if the URL is of the web. */
static const char *url_secret(const char *text, const char *at, size_t *len)
{
    const char *host = at + 3, *end = host + strcspn(host, "/?# \t\r\n\"'<>|`");
    const char *colon = memchr(host, ':', (size_t)(end - host));
    const char *last = memrchr(host, '@', (size_t)(end - host));
    const bool web = (at - text >= 4 && strncmp(at - 4, "http", 4) == 0) ||
                     (at - text >= 5 && strncmp(at - 5, "https", 5) == 0);

    if (!last && colon &&
        strspn(colon + 1, "0123456789") < (size_t)(end - colon) - 1) {
        /* no port: a password with a slash */
        end = host + strcspn(host, " \t\r\n\"'<>|`");
        last = memrchr(host, '@', (size_t)(end - host));
    }
    if (!last || (!colon && !web) || (colon && colon > last))
        return NULL;
    if (colon)
        host = colon + 1;
    *len = (size_t)(last - host);
    return *len == 0 || (*len == 3 && strncmp(host, "***", 3) == 0) ? NULL
                                                                    : host;
}

/* ---- by its beginning --------------------------------------------------- */

/* Do the words before a place name a hash? */
static bool names_hash(const char *text, const char *at)
{
    const char *from = at - text > 24 ? at - 24 : text;
    AUTO_FREE char *before = xstrndup(from, (size_t)(at - from));
    bool found = at > text && (at[-1] == '@' || at[-1] == '/');

    for (size_t i = 0; i < sizeof hashes / sizeof hashes[0]; i++)
        found |= strcasestr(before, hashes[i]) != NULL;
    return found;
}

static size_t key_length(const char *text, const char *at)
{
    static const char hex[] = "0123456789abcdef";
    const size_t n = name_length(at);

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        const size_t begin = strlen(prefixes[i].text);

        if (n >= begin + prefixes[i].more &&
            strncmp(at, prefixes[i].text, begin) == 0 &&
            strcspn(at + begin, "0123456789") < n - begin)
            return n;
    }
    /* W&B's keys; only the words before tell a commit */
    return n == 40 && strspn(at, hex) == 40 && strcspn(at, "abcdef") < 40 &&
                   !names_hash(text, at)
               ? n
               : 0;
}

/* ---- a text ------------------------------------------------------------- */

/* Is it a value of YAML or JSON without quotes, which *** cannot be? */
static bool follows_colon(const char *from, const char *at)
{
    const char *end = at;

    while (at > from && at[-1] == ' ')
        at--;
    return at < end && at > from && at[-1] == ':';
}

/* Copy a text without its secrets.  What comes before it only says what it is
 * about. */
static void mask(struct buf *out, const char *before, const char *what,
                 bool by_names)
{
    AUTO_FREE char *text = xasprintf("%s %s", before, what);
    const char *at = text + strlen(before) + 1;

    while (*at) {
        const bool begins = at == text || !is_name_char(at[-1]);
        const char *secret = NULL;
        size_t n = 0, len = 0;

        if (strncmp(at, "://", 3) == 0)
            secret = url_secret(text, at, &len);
        n = begins ? name_length(at) : 0;
        if (n && !secret && (len = key_length(text, at)))
            secret = at;
        if (n && !secret && by_names)
            secret = named_secret(at, n, &len);
        if (secret) {
            buf_add(out, at, (size_t)(secret - at));
            buf_str(out, follows_colon(at, secret) ? "\"***\"" : "***");
            at = secret + len;
        } else {
            buf_add(out, at, n ? n : 1);
            at += n ? n : 1;
        }
    }
}

void secret_mask(struct buf *out, const char *text)
{
    mask(out, "", text, true);
}

void secret_mask_named(struct buf *out, const char *name, const char *value)
{
    const struct secret_name *rule = find_name(name, strlen(name));

    /* a parameter called key is rather one of a table */
    if (rule && rule->where != WHOLE &&
        !is_harmless(rule, value, strlen(value)))
        buf_str(out, "***");
    else
        mask(out, name, value, *value == '{' || *value == '[');
}

bool secret_is_named(const char *name, const char *value)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;

    secret_mask_named(&b, name, value);
    return strcmp(b.s, value) != 0;
}

void secret_mask_command(struct buf *out, int argc, char *const *argv)
{
    const struct secret_name *rule = NULL; /* of the option before */
    bool user = false;

    for (int i = 0; i < argc; i++) {
        const size_t n = name_length(argv[i]);
        const struct secret_name *own = find_name(argv[i], n);
        const size_t colon = strcspn(argv[i], ":");
        AUTO(buf_clear) struct buf b = BUF_INIT;

        buf_str(out, i ? " " : "");
        if ((rule || user) && strcmp(argv[i], "--") == 0) {
            buf_str(out, "--");
            continue;
        }
        if (rule && !is_harmless(rule, argv[i], strlen(argv[i])) &&
            argv[i][0] != '-') {
            buf_str(out, "***");
            rule = NULL;
            continue;
        }
        if (own && argv[i][n] == '=' &&
            !is_harmless(own, argv[i] + n + 1, strlen(argv[i] + n + 1))) {
            buf_printf(out, "%.*s=***", (int)n, argv[i]);
            rule = NULL;
            continue;
        }
        if (user && argv[i][colon] &&
            argv[i][colon + 1 + strspn(argv[i] + colon + 1, "0123456789")])
            buf_printf(&b, "%.*s:***", (int)colon, argv[i]);
        else
            mask(&b, i ? argv[i - 1] : "", argv[i], true);
        buf_shell_short(out, b.s);
        rule = argv[i][0] == '-' && !argv[i][n] ? own : NULL;
        user = is_user_option(argv[i], strlen(argv[i]));
    }
}
