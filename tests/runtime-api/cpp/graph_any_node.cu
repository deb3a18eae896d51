// Nodes are added by the structure for all kinds; edges are read back.
#include "../check.h"
__global__ void set(int *p, int value) { *p = value; }
static cudaError_t add(cudaGraphNode_t *node, cudaGraph_t graph, cudaGraphNode_t *after, size_t n,
                       cudaGraphNodeParams *parameters) {
#if CUDART_VERSION >= 13000
    return cudaGraphAddNode(node, graph, after, NULL, n, parameters);
#else
    return cudaGraphAddNode(node, graph, after, n, parameters);
#endif
}
int main() {
    int value = 6, out = 0;
    cudaGraph_t graph;
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t nodes[5];
    cudaGraphNodeParams p = {};
    p.type = cudaGraphNodeTypeMemAlloc;
    p.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
    p.alloc.poolProps.location.type = cudaMemLocationTypeDevice;
    p.alloc.bytesize = 64;
    OK(add(&nodes[0], graph, NULL, 0, &p));
    int *memory = (int *)p.alloc.dptr;
    CHECK(memory != NULL);
    p = {};
    p.type = cudaGraphNodeTypeMemset;
    p.memset.dst = memory;
    p.memset.elementSize = 4;
    p.memset.width = 16;
    p.memset.height = 1;
    OK(add(&nodes[1], graph, &nodes[0], 1, &p));
    void *arguments[] = {&memory, &value};
    p = {};
    p.type = cudaGraphNodeTypeKernel;
    p.kernel.func = (void *)set;
    p.kernel.gridDim = dim3(1);
    p.kernel.blockDim = dim3(1);
    p.kernel.kernelParams = arguments;
    OK(add(&nodes[2], graph, &nodes[1], 1, &p));
    p = {};
    p.type = cudaGraphNodeTypeMemcpy;
    p.memcpy.copyParams.srcPtr = make_cudaPitchedPtr(memory, 4, 4, 1);
    p.memcpy.copyParams.dstPtr = make_cudaPitchedPtr(&out, 4, 4, 1);
    p.memcpy.copyParams.extent = make_cudaExtent(4, 1, 1);
    p.memcpy.copyParams.kind = cudaMemcpyDeviceToHost;
    OK(add(&nodes[3], graph, &nodes[2], 1, &p));
    p = {};
    p.type = cudaGraphNodeTypeMemFree;
    p.free.dptr = memory;
    OK(add(&nodes[4], graph, &nodes[3], 1, &p));
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    CHECK(out == 6);
    cudaGraphNode_t from[8], to[8];
    size_t edges = 8, before = 8;
#if CUDART_VERSION >= 13000
    cudaGraphEdgeData data[8];
    OK(cudaGraphGetEdges(graph, from, to, data, &edges));
    OK(cudaGraphNodeGetDependencies(nodes[3], from, data, &before));
#else
    OK(cudaGraphGetEdges(graph, from, to, &edges));
    OK(cudaGraphNodeGetDependencies(nodes[3], from, &before));
#endif
    CHECK(edges == 4 && before == 1 && from[0] == nodes[2]);
    cudaGraph_t clone;
    OK(cudaGraphExecDestroy(exec));
    IS(cudaErrorNotSupported, cudaGraphClone(&clone, graph) == cudaSuccess
                                  ? cudaSuccess : cudaErrorNotSupported);
    OK(cudaGraphDestroy(graph));
    return ok();
}
