/*
 * login - the address of a server, and the user's name and key there
 */
#include "config.h"
#include "track/push/push.h"

#include <ctype.h>
#include <ini.h>
#include <string.h>
#include <strings.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/opt.h"
#include "common/path.h"

void login_clear(struct login *l)
{
    FREE(l->url, l->user, l->password, l->token, l->entity, l->project,
         l->workspace, l->ca, l->cert);
    *l = (struct login){ 0 };
}

/* Replace a text by another one, if there is one. */
static void use(char **to, const char *text)
{
    if (text)
        xreplace(to, text);
}

/* The same by an environment variable, if it is set. */
static void use_env(char **to, const char *name)
{
    use(to, str_env(name));
}

static bool is_env_true(const char *name)
{
    const char *s = str_env(name);

    return s && (strcasecmp(s, "true") == 0 || strcmp(s, "1") == 0);
}

/* A path below the home folder; the caller frees it. */
static char *home_file(const char *name)
{
    const char *home = str_env("HOME");

    return home ? path_join(home, name) : xstrdup("");
}

/* -- .netrc ---------------------------------------------------------------- */

static char *next_word(char **at)
{
    char *word;

    do
        word = strsep(at, " \t\r\n");
    while (word && !*word);
    return word;
}

/* The password for HOST or HOST:PORT; the caller frees it.  libcurl, unlike
 * W&B's client, does not support ports. */
static char *find_password(const char *path, const char *machine)
{
    enum { MOST = 1 << 20 };
    static const char *const fields[] = { "machine", "login", "password",
                                          "account", NULL };
    AUTO(buf_clear) struct buf b = BUF_INIT;
    char *at, *word, *found = NULL;
    bool here = false;

    if (buf_read_file(&b, path, MOST, ERR_IGNORED) < 0)
        return NULL;
    at = b.s;
    while (!found && (word = next_word(&at))) {
        const char *value =
            opt_find_word(fields, word) >= 0 ? next_word(&at) : NULL;

        if (strcmp(word, "default") == 0)
            here = false;
        else if (value && strcmp(word, "machine") == 0)
            here = strcmp(value, machine) == 0;
        else if (value && strcmp(word, "password") == 0 && here)
            found = xstrdup(value);
    }
    return found;
}

static char *netrc_password(const char *machine)
{
    const char *own = str_env("NETRC");
    static const char *const names[] = { ".netrc", "_netrc" };
    char *key = NULL;

    if (own)
        return find_password(own, machine);
    for (size_t i = 0; !key && i < sizeof names / sizeof names[0]; i++) {
        AUTO_FREE char *path = home_file(names[i]);

        key = find_password(path, machine);
    }
    return key;
}

bool login_is_url(const char *s)
{
    return strncmp(s, "http://", 7) == 0 || strncmp(s, "https://", 8) == 0;
}

bool login_is_exposed(const char *url)
{
    static const char *const own[] = { "localhost", "127.0.0.1", "[::1]" };

    if (strncmp(url, "http://", 7) != 0)
        return false;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        const char *end = url + 7 + strlen(own[i]);

        if (strncasecmp(url + 7, own[i], strlen(own[i])) == 0 &&
            (*end == '\0' || *end == ':' || *end == '/'))
            return false;
    }
    return true;
}

/* Take USER:PASSWORD@ out of the address. */
static void take_user(struct login *l)
{
    char *host = strstr(l->url, "://");
    char *at, *colon;

    host = host ? host + 3 : l->url;
    at = memrchr(host, '@', strcspn(host, "/?#"));
    if (!at)
        return;
    colon = memchr(host, ':', (size_t)(at - host));
    free(l->user);
    l->user = xstrndup(host, (size_t)((colon ? colon : at) - host));
    percent_decode(l->user);
    if (colon) {
        free(l->password);
        l->password = xstrndup(colon + 1, (size_t)(at - colon) - 1);
        percent_decode(l->password);
    }
    memmove(host, at + 1, strlen(at + 1) + 1);
}

/* "api.wandb.ai" of "https://api.wandb.ai/x"; the caller frees it. */
static char *host_of(const char *url)
{
    const char *host = strstr(url, "://");

    host = host ? host + 3 : url;
    return xstrndup(host, strcspn(host, "/"));
}

/* -- W&B ------------------------------------------------------------------- */

static int on_setting(void *arg, const char *section, const char *name,
                      const char *value)
{
    struct login *l = arg;

    if (strcmp(section, "default") != 0)
        return 1;
    if (strcmp(name, "base_url") == 0)
        xreplace(&l->url, value);
    else if (strcmp(name, "entity") == 0)
        xreplace(&l->entity, value);
    else if (strcmp(name, "project") == 0)
        xreplace(&l->project, value);
    else if (strcmp(name, "api_key") == 0)
        xreplace(&l->password, value);
    return 1;
}

/* The file of W&B's client in the user's folder. */
static void read_user_settings(struct login *l)
{
    const char *folder = str_env("WANDB_CONFIG_DIR");
    AUTO_FREE char *path = folder ? path_join(folder, "settings")
                                  : home_file(".config/wandb/settings");

    ini_parse(path, on_setting, l);
}

/* A key has 40 characters or more after the first dash, if there is one; a
 * token is three parts separated by dots. */
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
            return err_set(
                e, ERR_REMOTE,
                "the key for W&B has a character that is not allowed");
    if (strlen(p) < 40)
        return err_set(e, ERR_REMOTE,
                       "the key for W&B has %zu characters instead of 40; see "
                       "https://wandb.ai/authorize",
                       strlen(p));
    return 0;
}

static int check_url(const char *url, struct err *e)
{
    AUTO_FREE char *host = host_of(url);
    const bool cloud = str_ends(host, "wandb.ai");
    int ret = 0;

    if (!login_is_url(url))
        ret = err_usage(e,
                        "'%s' is not the URL of a server; https://... is "
                        "expected",
                        url);
    else if (cloud && strncmp(url, "http://", 7) == 0)
        ret = err_usage(e, "%s: a key is sent there only by https", url);
    else if (cloud && strncmp(host, "api.", 4) != 0)
        ret =
            err_usage(e, "%s is not the server; use https://api.wandb.ai", url);
    return ret;
}

/* The cloud has two names, which accept the same keys. */
static char *netrc_key(const char *url)
{
    static const char *const twins[] = { "api.wandb.ai",
                                         "api.forge.coreweave.com" };
    char *host = host_of(url), *key = netrc_password(host);

    for (int i = 0; i < 2 && !key; i++)
        if (strcmp(host, twins[i]) == 0)
            key = netrc_password(twins[1 - i]);
    free(host);
    return key;
}

static void trim_slashes(char *url)
{
    size_t n = strlen(url);

    while (n && url[n - 1] == '/')
        url[--n] = '\0';
}

/* The address, and whether a file of the current folder names it. */
static bool choose_wandb(struct login *l, const char *url)
{
    AUTO(login_clear) struct login folder = { 0 };
    bool named;

    read_user_settings(l);
    /* that of the current folder takes precedence; it may be somebody else's,
     * and gets no key but its own */
    if (ini_parse("wandb/settings", on_setting, &folder) < 0)
        ini_parse(".wandb/settings", on_setting, &folder);
    named = folder.url && !url && !str_env("WANDB_BASE_URL") &&
            strcmp(folder.url, l->url) != 0;
    if (named || (folder.password && !folder.url))
        xreplace(&l->password, folder.password);
    use(&l->entity, folder.entity);
    use(&l->project, folder.project);
    use(&l->url, folder.url);
    use_env(&l->url, "WANDB_BASE_URL");
    use(&l->url, url);
    trim_slashes(l->url);
    return named;
}

/* The key that the user has for this server. */
static void find_wandb_key(struct login *l)
{
    AUTO_FREE char *key = netrc_key(l->url);

    use(&l->password, key);
    use_env(&l->password, "WANDB_API_KEY");
}

int login_wandb(struct login *l, const char *url, struct err *e)
{
    bool of_folder;
    int ret;

    *l = (struct login){ .url = xstrdup("https://api.wandb.ai"),
                         .user = xstrdup("api") };
    of_folder = choose_wandb(l, url);
    take_user(l);
    xreplace(&l->user, "api");
    use_env(&l->entity, "WANDB_ENTITY");
    use_env(&l->project, "WANDB_PROJECT");
    if (!of_folder)
        find_wandb_key(l);
    use_env(&l->ca, "SSL_CERT_FILE");
    l->insecure = is_env_true("WANDB_INSECURE_DISABLE_SSL");
    ret = check_url(l->url, e);
    if (ret == 0 && of_folder && !l->password)
        ret = err_usage(e,
                        "wandb/settings of the current folder names the server "
                        "%s, which gets no key of yours; if you trust it, use "
                        "--url %s",
                        l->url, l->url);
    if (ret == 0 && l->password)
        ret = check_key(l->password, e);
    if (ret < 0)
        login_clear(l);
    return ret;
}

/* -- MLflow ---------------------------------------------------------------- */

static int on_credential(void *arg, const char *section, const char *name,
                         const char *value)
{
    struct login *l = arg;

    if (strcmp(section, "mlflow") != 0)
        return 1;
    if (strcasecmp(name, "mlflow_tracking_username") == 0)
        xreplace(&l->user, value);
    else if (strcasecmp(name, "mlflow_tracking_password") == 0)
        xreplace(&l->password, value);
    return 1;
}

/* A path from the environment; the file must exist. */
static int set_path(char **to, const char *name, struct err *e)
{
    const char *path = str_env(name);

    xreplace(to, path);
    if (path && !path_exists(path))
        return err_usage(e, "%s: %s does not exist", name, path);
    return 0;
}

static int set_tls(struct login *l, struct err *e)
{
    static const char insecure[] = "MLFLOW_TRACKING_INSECURE_TLS";
    static const char server[] = "MLFLOW_TRACKING_SERVER_CERT_PATH";

    l->insecure = is_env_true(insecure);
    if (l->insecure && str_env(server))
        return err_usage(e, "%s and %s cannot both be set", insecure, server);
    return set_path(&l->ca, str_env(server) ? server : "REQUESTS_CA_BUNDLE",
                    e) ||
                   set_path(&l->cert, "MLFLOW_TRACKING_CLIENT_CERT_PATH", e)
               ? -1
               : 0;
}

int login_mlflow(struct login *l, const char *url, struct err *e)
{
    *l = (struct login){ 0 };
    if (!url)
        url = str_env("MLFLOW_TRACKING_URI");
    if (!url)
        return err_usage(e,
                         "the URL of the server is missing; use --url or set "
                         "MLFLOW_TRACKING_URI");
    if (!login_is_url(url))
        return err_usage(e,
                         "'%s' is not the URL of a server; to write to a "
                         "folder, use 'gtrack export --to mlflow'",
                         url);
    xreplace(&l->url, url);
    trim_slashes(l->url);
    use_env(&l->token, "MLFLOW_TRACKING_TOKEN");
    use_env(&l->user, "MLFLOW_TRACKING_USERNAME");
    use_env(&l->password, "MLFLOW_TRACKING_PASSWORD");
    take_user(l);
    if (!l->user && !l->token) {
        AUTO_FREE char *path = home_file(".mlflow/credentials");

        ini_parse(path, on_credential, l);
    }
    use_env(&l->project, "MLFLOW_EXPERIMENT_NAME");
    use_env(&l->workspace, "MLFLOW_WORKSPACE");
    if (set_tls(l, e) == 0)
        return 0;
    login_clear(l);
    return -1;
}
