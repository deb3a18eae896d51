// The structures that the library takes for the driver's have the driver's layout.
#include "../check.h"
#include <cuda.h>
#include <stddef.h>
#define SAME(a, b) static_assert(sizeof(a) == sizeof(b), #a)
#define AT(a, x, b, y) static_assert(offsetof(a, x) == offsetof(b, y), #a "." #x)
SAME(cudaMemPoolProps, CUmemPoolProps);
SAME(cudaMemLocation, CUmemLocation);
SAME(cudaMemAccessDesc, CUmemAccessDesc);
SAME(cudaHostNodeParams, CUDA_HOST_NODE_PARAMS);
SAME(cudaMemsetParams, CUDA_MEMSET_NODE_PARAMS);
AT(cudaMemsetParams, elementSize, CUDA_MEMSET_NODE_PARAMS, elementSize);
SAME(cudaMemAllocNodeParams, CUDA_MEM_ALLOC_NODE_PARAMS);
AT(cudaMemAllocNodeParams, dptr, CUDA_MEM_ALLOC_NODE_PARAMS, dptr);
SAME(cudaGraphEdgeData, CUgraphEdgeData);
SAME(cudaGraphNodeParams, CUgraphNodeParams);
AT(cudaGraphNodeParams, kernel, CUgraphNodeParams, kernel);
SAME(cudaGraphInstantiateParams, CUDA_GRAPH_INSTANTIATE_PARAMS);
SAME(cudaGraphExecUpdateResultInfo, CUgraphExecUpdateResultInfo);
SAME(cudaLaunchAttribute, CUlaunchAttribute);
AT(cudaLaunchAttribute, val, CUlaunchAttribute, value);
SAME(cudaLaunchAttributeValue, CUlaunchAttributeValue);
SAME(cudaMemcpyAttributes, CUmemcpyAttributes);
static_assert((int)cudaLaunchAttributeCooperative == CU_LAUNCH_ATTRIBUTE_COOPERATIVE, "id");
static_assert((int)cudaLaunchAttributePriority == CU_LAUNCH_ATTRIBUTE_PRIORITY, "id");
// The library's own structures have these sizes.
static_assert(sizeof(cudaFuncAttributes) == 24 + 13 * 4 + 16 * 4 + 4, "cudaFuncAttributes");
static_assert(sizeof(cudaLaunchConfig_t) == 56, "cudaLaunchConfig_t");
static_assert(sizeof(cudaKernelNodeParams) == 56, "cudaKernelNodeParams");
static_assert(sizeof(cudaMemcpy3DParms) == 160, "cudaMemcpy3DParms");
static_assert(sizeof(cudaMemcpy3DPeerParms) == 168, "cudaMemcpy3DPeerParms");
#if CUDART_VERSION >= 13000
static_assert(sizeof(cudaPointerAttributes) == 24 + 64, "cudaPointerAttributes");
static_assert(sizeof(cudaDeviceProp) == 1008, "cudaDeviceProp");
#else
static_assert(sizeof(cudaPointerAttributes) == 24, "cudaPointerAttributes");
static_assert(sizeof(cudaDeviceProp) == 1032, "cudaDeviceProp");
#endif
// What is written ends where the structure does.
int main() {
    struct { cudaDeviceProp properties; unsigned after; } p;
    p.after = 0x5a5a5a5a;
    OK(cudaGetDeviceProperties(&p.properties, 0));
    CHECK(p.after == 0x5a5a5a5a);
    struct { cudaPointerAttributes attributes; unsigned after; } q;
    q.after = 0x5a5a5a5a;
    OK(cudaPointerGetAttributes(&q.attributes, &p));
    CHECK(q.after == 0x5a5a5a5a);
    return ok();
}
