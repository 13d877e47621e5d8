/*
 * serve_none - a build without libmicrohttpd serves nothing
 */
#include "config.h"
#include "track/serve/serve.h"

int serve_run(const struct serve_conf *conf UNUSED, struct err *e)
{
    return err_usage(e,
                     "this gtrack was built without libmicrohttpd, which serve "
                     "needs (Debian: libmicrohttpd-dev)");
}
