/*
 * sdpa_graph - attention's graphs keep to what all of cuDNN's kernels read
 *
 * The kernels of cuDNN before 9.26 for the gradient on Ampere and Ada ignore
 * the strides of the two tensors with a number for each query and read them as
 * packed (B,H,T).  The stand-in rejects other strides.
 */
#include "config.h"
#include "kernels/cuda/sdpa_graph.h"
#include "t/lib/tap.h"

#include <stdlib.h>

/* Whether a real (B,H,T,1) tensor of floats with these strides is accepted. */
static bool accepts(const struct cudnn *api, const int64_t stride[4])
{
    const int64_t dim[4] = { 2, 3, 5, 1 }, uid = 7, align = 16;
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t d;
    bool good;

    api->make(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &d);
    api->set(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    api->set(d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dim);
    api->set(d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, stride);
    api->set(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
    api->set(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &align);
    good = api->finalize(d) == CUDNN_STATUS_SUCCESS;
    api->destroy(d);
    return good;
}

int main(void)
{
    static const int64_t packed[4] = { 15, 5, 1, 1 };
    static const int64_t by_row[4] = { 15, 1, 3, 1 };
    struct sdpa_shape shape = { .B = 2, .H = 4, .K = 2, .T = 100, .D = 64 };
    struct cudnn api;
    struct err e = { 0 };

    setenv("GT_EMU_CUDNN", "1", 1);
    if (!ok(cudnn_load(&api, &e) == 0, "the stand-in for cuDNN opens"))
        return done_testing();
    ok(accepts(&api, packed), "a number for each query may be packed");
    ok(!accepts(&api, by_row), "a number for each query must be packed");
    for (int i = 0; i < 2; i++) {
        struct sdpa_graph g;

        shape.backward = i;
        ok(sdpa_graph_build(&g, &api, NULL, &shape),
           "the graph of attention's %s has packed numbers for its queries",
           i ? "gradient" : "forward pass");
        sdpa_graph_clear(&g);
    }
    return done_testing();
}
