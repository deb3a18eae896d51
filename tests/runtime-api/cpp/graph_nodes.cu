// A graph is made of nodes by hand; kernels in it are known by the host's functions.
#include "../check.h"
__global__ void scale(int *p, int factor) { p[threadIdx.x] *= factor; }
static int calls;
static void CUDART_CB count(void *data) { *(int *)data += 1; }
int main() {
    int *p, in[8], out[8], factor = 3;
    for (int i = 0; i < 8; i++) in[i] = i + 1;
    OK(cudaMalloc(&p, sizeof in));
    cudaGraph_t graph;
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t fill, copy, kernel, back, host, nothing;
    cudaMemsetParams filled = {};
    filled.dst = p;
    filled.elementSize = 1;
    filled.width = sizeof in;
    filled.height = 1;
    OK(cudaGraphAddMemsetNode(&fill, graph, NULL, 0, &filled));
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, &fill, 1, p, in, sizeof in, cudaMemcpyHostToDevice));
    void *arguments[] = {&p, &factor};
    cudaKernelNodeParams launch = {};
    launch.func = (void *)scale;
    launch.gridDim = 1;
    launch.blockDim = 8;
    launch.kernelParams = arguments;
    OK(cudaGraphAddKernelNode(&kernel, graph, &copy, 1, &launch));
    OK(cudaGraphAddMemcpyNode1D(&back, graph, &kernel, 1, out, p, sizeof in,
                                cudaMemcpyDeviceToHost));
    cudaHostNodeParams called = {count, &calls};
    OK(cudaGraphAddHostNode(&host, graph, &back, 1, &called));
    OK(cudaGraphAddEmptyNode(&nothing, graph, &host, 1));
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(kernel, &type));
    CHECK(type == cudaGraphNodeTypeKernel);
    cudaKernelNodeParams read;
    OK(cudaGraphKernelNodeGetParams(kernel, &read));
    CHECK(read.func == (void *)scale && read.blockDim.x == 8);
    CHECK(*(int *)read.kernelParams[1] == 3);
    cudaMemcpy3DParms copied;
    OK(cudaGraphMemcpyNodeGetParams(copy, &copied));
    CHECK(copied.dstPtr.ptr == p && copied.extent.width == sizeof in);
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 8; i++) CHECK(out[i] == 3 * in[i]);
    CHECK(calls == 1);
    factor = 5;
    OK(cudaGraphExecKernelNodeSetParams(exec, kernel, &launch));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 8; i++) CHECK(out[i] == 5 * in[i]);
    OK(cudaGraphNodeSetEnabled(exec, kernel, 0));
    unsigned enabled = 1;
    OK(cudaGraphNodeGetEnabled(exec, kernel, &enabled));
    CHECK(enabled == 0);
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 8; i++) CHECK(out[i] == in[i]);
    factor = 7;
    OK(cudaGraphKernelNodeSetParams(kernel, &launch));
    cudaGraphExecUpdateResultInfo updated;
    OK(cudaGraphExecUpdate(exec, graph, &updated));
    CHECK(updated.result == cudaGraphExecUpdateSuccess);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(p));
    return ok();
}
