// flags: -rdc=true
// Kernels decide how often a part of a graph runs, and whether another does.
#include "../check.h"
__global__ void count_down(cudaGraphConditionalHandle handle, int *left, int *rounds) {
    ++*rounds;
    cudaGraphSetConditional(handle, --*left > 0);
}
__global__ void decide(cudaGraphConditionalHandle handle, int *rounds) {
    cudaGraphSetConditional(handle, *rounds == 5);
}
__global__ void mark(int *marked) { *marked = 1; }

static cudaGraph_t add(cudaGraph_t graph, cudaGraphNode_t *node, cudaGraphNode_t *after,
                       cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type) {
    cudaGraphNodeParams parameters = {};
    parameters.type = cudaGraphNodeTypeConditional;
    parameters.conditional.handle = handle;
    parameters.conditional.type = type;
    parameters.conditional.size = 1;
    OK(cudaGraphAddNode(node, graph, after, NULL, after != NULL, &parameters));
    return parameters.conditional.phGraph_out[0];
}

int main() {
    int *left, *rounds, *marked, values[3] = {5, 0, 0};
    OK(cudaMallocManaged(&left, sizeof values));
    memcpy(left, values, sizeof values);
    rounds = left + 1, marked = left + 2;
    cudaGraph_t graph, body;
    cudaGraphNode_t loop, deciding, choice;
    cudaGraphConditionalHandle repeats, chooses;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphConditionalHandleCreate(&repeats, graph, 1, cudaGraphCondAssignDefault));
    OK(cudaGraphConditionalHandleCreate(&chooses, graph));
    body = add(graph, &loop, NULL, repeats, cudaGraphCondTypeWhile);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCaptureToGraph(stream, body, NULL, NULL, 0, cudaStreamCaptureModeGlobal));
    count_down<<<1, 1, 0, stream>>>(repeats, left, rounds);
    OK(cudaStreamEndCapture(stream, &body));
    void *arguments[] = {&chooses, &rounds}, *marks[] = {&marked};
    cudaKernelNodeParams kernel = {};
    kernel.func = (void *)decide;
    kernel.gridDim = kernel.blockDim = dim3(1);
    kernel.kernelParams = arguments;
    OK(cudaGraphAddKernelNode(&deciding, graph, &loop, 1, &kernel));
    body = add(graph, &choice, &deciding, chooses, cudaGraphCondTypeIf);
    kernel.func = (void *)mark;
    kernel.kernelParams = marks;
    OK(cudaGraphAddKernelNode(&deciding, body, NULL, 0, &kernel));
    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, graph));
    OK(cudaGraphLaunch(executable, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(*left == 0 && *rounds == 5 && *marked == 1);
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(left));
    return ok();
}
