/*
 * abi - check that cublaslt.h agrees with the header of cuBLASLt
 */
#include "config.h"
#include "kernels/cuda/cublaslt.h"
#include "t/lib/tap.h"

#include <cublasLt.h>

#define SAME(ours, theirs) { #theirs, ours, (long)(theirs) }

static const struct {
    const char *name;
    long ours, theirs;
} all[] = {
    SAME(LT_R_32F, CUDA_R_32F),
    SAME(LT_R_16F, CUDA_R_16F),
    SAME(LT_R_16BF, CUDA_R_16BF),
    SAME(LT_COMPUTE_32F, CUBLAS_COMPUTE_32F),
    SAME(LT_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_TF32),
    SAME(LT_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA),
    SAME(LT_DESC_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB),
    SAME(LT_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE),
    SAME(LT_DESC_BIAS_POINTER, CUBLASLT_MATMUL_DESC_BIAS_POINTER),
    SAME(LT_DESC_AUX_POINTER, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER),
    SAME(LT_DESC_AUX_LD, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD),
    SAME(LT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_DEFAULT),
    SAME(LT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS),
    SAME(LT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU),
    SAME(LT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS),
    SAME(LT_EPILOGUE_GELU_AUX, CUBLASLT_EPILOGUE_GELU_AUX),
    SAME(LT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_GELU_AUX_BIAS),
    SAME(LT_EPILOGUE_DGELU, CUBLASLT_EPILOGUE_DGELU),
    SAME(LT_EPILOGUE_BGRADB, CUBLASLT_EPILOGUE_BGRADB),
    SAME(LT_PREF_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES),
    SAME(LT_PREF_REDUCTION, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK),
    SAME(LT_PREF_ALIGN_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES),
    SAME(LT_PREF_ALIGN_B, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES),
    SAME(LT_PREF_ALIGN_C, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES),
    SAME(LT_PREF_ALIGN_D, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES),
    SAME(sizeof(struct lt_algo), sizeof(cublasLtMatmulAlgo_t)),
    SAME(sizeof(struct lt_result), sizeof(cublasLtMatmulHeuristicResult_t)),
    SAME(offsetof(struct lt_result, workspace),
         offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize)),
    SAME(offsetof(struct lt_result, status),
         offsetof(cublasLtMatmulHeuristicResult_t, state)),
};

int main(void)
{
    struct lt lt;
    struct err e = ERR_INIT;

    bool good = true;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].ours == all[i].theirs)
            continue;
        diag("%s is %ld here, %ld there", all[i].name, all[i].ours,
             all[i].theirs);
        good = false;
    }
    ok(good, "%zu numbers agree with cublasLt.h", sizeof all / sizeof *all);
    if (lt_open(&lt, &e) < 0)
        skip(e.text, "the library has every function");
    else
        ok(lt.version() >= 120000, "the library has every function: %zu",
           lt.version());
    return done_testing();
}
