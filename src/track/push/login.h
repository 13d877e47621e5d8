#ifndef TRACK_PUSH_LOGIN_H
#define TRACK_PUSH_LOGIN_H

#include <stdbool.h>

#include "common/err.h"

/*
 * login - where a server is, and who we are
 *
 * The address, the key and the defaults come from where W&B's and MLflow's own
 * clients take them: the environment, .netrc and their files of settings.
 */
struct login {
    char *url; /* without a slash at the end */
    char *user, *password, *token;
    char *entity, *project; /* of the settings, or NULL */
    char *workspace;        /* MLflow's, or NULL */
    char *ca, *cert;        /* of TLS, see struct http_conf */
    bool insecure;
};

/* url overrides the settings unless it is NULL.  password is NULL if there is
 * no key for W&B. */
int login_wandb(struct login *, const char *url, struct err *);
int login_mlflow(struct login *, const char *url, struct err *);
void login_clear(struct login *);

#endif
