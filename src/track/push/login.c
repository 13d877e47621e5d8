#include "config.h"
#include "track/push/push.h"

#include <ctype.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "common/path.h"

void login_clear(struct push_login *l)
{
    free(l->url);
    free(l->user);
    free(l->password);
    free(l->token);
    free(l->entity);
    free(l->project);
    free(l->workspace);
    free(l->ca);
    free(l->cert);
    *l = (struct push_login){ 0 };
}

/* An environment variable that is set and not empty. */
static const char *env(const char *name)
{
    const char *s = getenv(name);

    return s && *s ? s : NULL;
}

static bool is_true(const char *s)
{
    return s && (strcasecmp(s, "true") == 0 || strcmp(s, "1") == 0);
}

static void set(char **to, const char *s)
{
    free(*to);
    *to = s ? xstrdup(s) : NULL;
}

/* A path below the home folder; the caller frees it. */
static char *home_file(const char *name)
{
    const char *home = env("HOME");

    return home ? path_join(home, name) : xstrdup("");
}

/* ---- netrc ---- */

/* The password for a machine, HOST:PORT and all, as W&B's client writes it;
 * libcurl knows no ports there.  The caller frees it. */
static char *netrc_in(const char *path, const char *machine)
{
    enum { MOST = 1 << 20 };
    struct buf b = BUF_INIT;
    struct err none = ERR_INIT;
    char *at, *word, *found = NULL;
    bool here = false;

    if (buf_read_file(&b, path, MOST, &none) < 0)
        return NULL;
    at = b.s;
    while (!found && (word = strsep(&at, " \t\r\n"))) {
        char *next;

        if (!*word)
            continue;
        if (strcmp(word, "default") == 0) {
            here = false;
            continue;
        }
        if (strcmp(word, "machine") != 0 && strcmp(word, "password") != 0 &&
            strcmp(word, "login") != 0 && strcmp(word, "account") != 0)
            continue;
        do
            next = strsep(&at, " \t\r\n");
        while (next && !*next);
        if (!next)
            break;
        if (strcmp(word, "machine") == 0)
            here = strcmp(next, machine) == 0;
        else if (strcmp(word, "password") == 0 && here)
            found = xstrdup(next);
    }
    buf_clear(&b);
    return found;
}

static char *netrc(const char *machine)
{
    const char *own = env("NETRC");
    static const char *const names[] = { ".netrc", "_netrc" };
    char *key = NULL;

    if (own)
        return netrc_in(own, machine);
    for (size_t i = 0; !key && i < sizeof names / sizeof names[0]; i++) {
        char *path = home_file(names[i]);

        key = netrc_in(path, machine);
        free(path);
    }
    return key;
}

/* "https://api.wandb.ai/x" is at api.wandb.ai; the caller frees it. */
static char *netloc(const char *url)
{
    const char *host = strstr(url, "://");

    host = host ? host + 3 : url;
    return xstrndup(host, strcspn(host, "/"));
}

/* ---- W&B ---- */

struct settings {
    char *url, *entity, *project, *key;
};

static int on_setting(void *arg, const char *section, const char *name,
                      const char *value)
{
    struct settings *s = arg;

    if (strcmp(section, "default") != 0)
        return 1;
    if (strcmp(name, "base_url") == 0)
        set(&s->url, value);
    else if (strcmp(name, "entity") == 0)
        set(&s->entity, value);
    else if (strcmp(name, "project") == 0)
        set(&s->project, value);
    else if (strcmp(name, "api_key") == 0)
        set(&s->key, value);
    return 1;
}

/* The user's, then the folder's, which goes before. */
static void read_settings(struct settings *s)
{
    const char *folder = env("WANDB_CONFIG_DIR");
    char *path = folder ? path_join(folder, "settings")
                        : home_file(".config/wandb/settings");

    ini_parse(path, on_setting, s);
    free(path);
    if (ini_parse("wandb/settings", on_setting, s) < 0)
        ini_parse(".wandb/settings", on_setting, s);
}

/* Before anything is sent: a key has 40 characters or more after what stands
 * before its first dash; three parts with dots are a token. */
static int check_key(const char *key, struct err *e)
{
    const char *dash = strchr(key, '-'), *p = dash ? dash + 1 : key;
    int dots = 0;

    for (const char *q = key; *q; q++)
        dots += *q == '.';
    if (dots == 2)
        return 0;
    for (const char *q = p; *q; q++)
        if (!isalnum((unsigned char)*q) && *q != '_' && *q != '-')
            return err_set(e, ERR_REMOTE,
                           "the key for W&B has a character no key has");
    if (strlen(p) < 40)
        return err_set(e, ERR_REMOTE,
                       "the key for W&B has %zu characters, "
                       "not 40; see https://wandb.ai/authorize",
                       strlen(p));
    return 0;
}

static int check_url(const char *url, struct err *e)
{
    char *host = netloc(url);
    const bool cloud = str_ends(host, "wandb.ai");
    int ret = 0;

    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        ret = err_set(e, ERR_USAGE,
                      "'%s' is no address of a server: it "
                      "begins with https://",
                      url);
    else if (cloud && strncmp(url, "http://", 7) == 0)
        ret = err_set(e, ERR_USAGE,
                      "%s: a key is not sent there without "
                      "https",
                      url);
    else if (cloud && strncmp(host, "api.", 4) != 0)
        ret = err_set(e, ERR_USAGE,
                      "%s: the server is "
                      "https://api.wandb.ai",
                      url);
    free(host);
    return ret;
}

/* The cloud has two names that take the same keys. */
static char *netrc_key(const char *url)
{
    static const char *const twins[] = { "api.wandb.ai",
                                         "api.forge.coreweave.com" };
    char *host = netloc(url), *key = netrc(host);

    for (int i = 0; i < 2 && !key; i++)
        if (strcmp(host, twins[i]) == 0)
            key = netrc(twins[1 - i]);
    free(host);
    return key;
}

static void cut_slash(char *url)
{
    size_t n = strlen(url);

    while (n && url[n - 1] == '/')
        url[--n] = '\0';
}

int login_wandb(struct push_login *l, const char *url, struct err *e)
{
    struct settings s = { 0 };
    int ret;

    *l = (struct push_login){ .user = xstrdup("api") };
    read_settings(&s);
    if (!url)
        url = env("WANDB_BASE_URL");
    set(&l->url, url ? url : s.url ? s.url : "https://api.wandb.ai");
    cut_slash(l->url);
    set(&l->entity, env("WANDB_ENTITY") ? env("WANDB_ENTITY") : s.entity);
    set(&l->project, env("WANDB_PROJECT") ? env("WANDB_PROJECT") : s.project);
    set(&l->password, env("WANDB_API_KEY"));
    if (!l->password)
        l->password = netrc_key(l->url);
    if (!l->password)
        set(&l->password, s.key);
    set(&l->ca, env("SSL_CERT_FILE"));
    l->insecure = is_true(env("WANDB_INSECURE_DISABLE_SSL"));
    ret = check_url(l->url, e);
    if (ret == 0 && l->password)
        ret = check_key(l->password, e);
    free(s.url);
    free(s.entity);
    free(s.project);
    free(s.key);
    if (ret < 0)
        login_clear(l);
    return ret;
}

/* ---- MLflow ---- */

static int on_credential(void *arg, const char *section, const char *name,
                         const char *value)
{
    struct push_login *l = arg;

    if (strcmp(section, "mlflow") != 0)
        return 1;
    if (strcasecmp(name, "mlflow_tracking_username") == 0)
        set(&l->user, value);
    else if (strcasecmp(name, "mlflow_tracking_password") == 0)
        set(&l->password, value);
    return 1;
}

/* A path that the environment names, for TLS; it has to be there. */
static int take_path(char **to, const char *name, struct err *e)
{
    const char *path = env(name);

    set(to, path);
    if (path && !path_exists(path))
        return err_set(e, ERR_USAGE, "%s: %s is not there", name, path);
    return 0;
}

static int trust_mlflow(struct push_login *l, struct err *e)
{
    static const char insecure[] = "MLFLOW_TRACKING_INSECURE_TLS";
    static const char server[] = "MLFLOW_TRACKING_SERVER_CERT_PATH";

    l->insecure = is_true(env(insecure));
    if (l->insecure && env(server))
        return err_set(e, ERR_USAGE,
                       "%s trusts any server, %s only some: unset one",
                       insecure, server);
    return take_path(&l->ca, env(server) ? server : "REQUESTS_CA_BUNDLE", e) ||
                   take_path(&l->cert, "MLFLOW_TRACKING_CLIENT_CERT_PATH", e)
               ? -1
               : 0;
}

int login_mlflow(struct push_login *l, const char *url, struct err *e)
{
    *l = (struct push_login){ 0 };
    if (!url)
        url = env("MLFLOW_TRACKING_URI");
    if (!url)
        return err_set(e, ERR_USAGE,
                       "which server? Give its address, or set "
                       "MLFLOW_TRACKING_URI");
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return err_set(e, ERR_USAGE,
                       "'%s' is no address of a server; for a "
                       "folder there is 'gtrack export --to mlflow'",
                       url);
    set(&l->url, url);
    cut_slash(l->url);
    set(&l->token, env("MLFLOW_TRACKING_TOKEN"));
    set(&l->user, env("MLFLOW_TRACKING_USERNAME"));
    set(&l->password, env("MLFLOW_TRACKING_PASSWORD"));
    if (!l->user && !l->token) {
        char *path = home_file(".mlflow/credentials");

        ini_parse(path, on_credential, l);
        free(path);
    }
    set(&l->project, env("MLFLOW_EXPERIMENT_NAME"));
    set(&l->workspace, env("MLFLOW_WORKSPACE"));
    return trust_mlflow(l, e);
}
