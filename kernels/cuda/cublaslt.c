/*
 * cublaslt - find cuBLASLt
 */
#include "config.h"
#include "kernels/cuda/cublaslt.h"

#include "common/dl.h"

/* clang-format off */
#define SYMBOL(name, member) \
    { "cublasLt" name, offsetof(struct cublaslt, member) }
/* clang-format on */

static const struct dl_symbol symbols[] = {
    SYMBOL("Create", create),
    SYMBOL("Destroy", destroy),
    SYMBOL("GetVersion", version),
    SYMBOL("MatmulDescCreate", desc_create),
    SYMBOL("MatmulDescDestroy", desc_destroy),
    SYMBOL("MatmulDescSetAttribute", desc_set),
    SYMBOL("MatrixLayoutCreate", layout_create),
    SYMBOL("MatrixLayoutDestroy", layout_destroy),
    SYMBOL("MatmulPreferenceCreate", pref_create),
    SYMBOL("MatmulPreferenceDestroy", pref_destroy),
    SYMBOL("MatmulPreferenceSetAttribute", pref_set),
    SYMBOL("MatmulAlgoGetHeuristic", heuristic),
    SYMBOL("MatmulAlgoCheck", check),
    SYMBOL("Matmul", matmul),
    { NULL, 0 }
};

int cublaslt_load(struct cublaslt *lt, int which, struct err *e)
{
    static const char *const name[CUBLASLT_VERSIONS] = {
        "libcublasLt.so.13",
        "libcublasLt.so.12",
    };

    if (cublaslt_is_off())
        return err_set(e, ERR_MISSING, "GT_CUBLASLT is off");
    return dl_load(lt, symbols, name[which], e);
}
