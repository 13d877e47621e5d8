/*
 * cudnn - find cuDNN (see sdpa_graph.h)
 */
#include "config.h"
#include "kernels/cuda/sdpa_graph.h"

#include "common/dl.h"

/* clang-format off */
#define SYMBOL(name, member) { "cudnn" name, offsetof(struct cudnn, member) }
/* clang-format on */

static const struct dl_symbol symbols[] = {
    SYMBOL("GetVersion", version),
    SYMBOL("Create", create),
    SYMBOL("Destroy", close),
    SYMBOL("SetStream", set_stream),
    SYMBOL("BackendCreateDescriptor", make),
    SYMBOL("BackendDestroyDescriptor", destroy),
    SYMBOL("BackendFinalize", finalize),
    SYMBOL("BackendSetAttribute", set),
    SYMBOL("BackendGetAttribute", get),
    SYMBOL("BackendExecute", execute),
    SYMBOL("GetLastErrorString", last_error),
    { NULL, 0 }
};

int cudnn_load(struct cudnn *api, struct err *e)
{
    if (dl_load(api, symbols, "libcudnn.so.9", e) < 0)
        return -1;
    if (api->version() < 90600)
        return err_set(e, ERR_MISSING, "cuDNN %zu is older than 9.6",
                       api->version());
    dl_preload("libnvrtc*.so.*"); /* it looks for that by its name only */
    return 0;
}
