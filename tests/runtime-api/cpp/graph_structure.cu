// Graphs are cloned, nested and changed; objects of the program live as long as their graph.
#include "../check.h"
#include <chrono>
#include <thread>
__global__ void add(int *p, int value) { *p += value; }
static volatile int destroyed;
static void CUDART_CB destroy(void *) { destroyed++; }
int main() {
    int *p, value = 2, result;
    OK(cudaMalloc(&p, sizeof *p));
    OK(cudaMemset(p, 0, sizeof *p));
    cudaGraph_t graph, child, clone;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&child, 0));
    void *arguments[] = {&p, &value};
    cudaKernelNodeParams launch = {};
    launch.func = (void *)add;
    launch.gridDim = launch.blockDim = 1;
    launch.kernelParams = arguments;
    cudaGraphNode_t inner, nested, outer, found;
    OK(cudaGraphAddKernelNode(&inner, child, NULL, 0, &launch));
    OK(cudaGraphAddChildGraphNode(&nested, graph, NULL, 0, child));
    value = 40;
    OK(cudaGraphAddKernelNode(&outer, graph, NULL, 0, &launch));
#if CUDART_VERSION >= 13000
    OK(cudaGraphAddDependencies(graph, &nested, &outer, NULL, 1));
#else
    OK(cudaGraphAddDependencies(graph, &nested, &outer, 1));
#endif
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphNodeFindInClone(&found, outer, clone));
    CHECK(found != outer);
    cudaUserObject_t object;
    OK(cudaUserObjectCreate(&object, p, destroy, 1, cudaUserObjectNoDestructorSync));
    OK(cudaGraphRetainUserObject(clone, object, 1, cudaGraphUserObjectMove));
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiate(&exec, clone, 0));
    OK(cudaGraphUpload(exec, 0));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaMemcpy(&result, p, sizeof result, cudaMemcpyDeviceToHost));
    CHECK(result == 42);
    OK(cudaGraphDestroy(child));
    OK(cudaGraphDestroy(graph));
    CHECK(destroyed == 0);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(clone));
    for (int i = 0; i < 1000 && !destroyed; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(destroyed == 1);
    OK(cudaFree(p));
    return ok();
}
