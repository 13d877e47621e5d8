#ifndef TRACK_PUSH_LOGIN_H
#define TRACK_PUSH_LOGIN_H

#include <stdbool.h>

#include "common/err.h"

/*
 * login - the address of a server, and the user's name and key there
 *
 * The address, the key and the defaults are read from where W&B's and MLflow's
 * own clients read them: the environment, .netrc and their configuration files.
 */
struct login {
    char *url; /* without a slash at the end */
    char *user, *password, *token;
    char *entity, *project; /* the defaults, or NULL */
    char *workspace;        /* MLflow's, or NULL */
    char *ca, *cert;        /* of TLS, see struct http_conf */
    bool insecure;
};

/* url overrides the environment and the files unless it is NULL.  password is
 * NULL if there is no key for W&B. */
int login_wandb(struct login *, const char *url, struct err *);
int login_mlflow(struct login *, const char *url, struct err *);
void login_clear(struct login *);

/* Does it begin with http:// or https://? */
bool login_is_url(const char *);

#endif
