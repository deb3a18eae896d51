// What is captured runs each time that the graph is launched, and not before.
#include "../check.h"
__global__ void add(int *p, int value) { *p += value; }
int main() {
    int *p, value;
    cudaStream_t stream, side;
    cudaEvent_t fork, join;
    OK(cudaMalloc(&p, 2 * sizeof *p));
    OK(cudaMemset(p, 0, 2 * sizeof *p));
    OK(cudaDeviceSynchronize());
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    cudaStreamCaptureStatus status;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaStreamIsCapturing(stream, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    add<<<1, 1, 0, stream>>>(p, 1);
    OK(cudaEventRecord(fork, stream));
    OK(cudaStreamWaitEvent(side, fork, 0));
    add<<<1, 1, 0, side>>>(p + 1, 10);
    OK(cudaEventRecord(join, side));
    OK(cudaStreamWaitEvent(stream, join, 0));
    add<<<1, 1, 0, stream>>>(p, 100);
    cudaGraph_t graph, seen = NULL;
    unsigned long long id = 0;
    size_t count = 0;
    const cudaGraphNode_t *after = NULL;
#if CUDART_VERSION >= 13000
    OK(cudaStreamGetCaptureInfo(stream, &status, &id, &seen, &after, NULL, &count));
#else
    OK(cudaStreamGetCaptureInfo(stream, &status, &id, &seen, &after, &count));
#endif
    CHECK(status == cudaStreamCaptureStatusActive && seen != NULL && count == 1);
    OK(cudaStreamEndCapture(stream, &graph));
    CHECK(seen == graph);
    OK(cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost));
    CHECK(value == 0);
    size_t nodes = 0, roots = 0;
    OK(cudaGraphGetNodes(graph, NULL, &nodes));
    OK(cudaGraphGetRootNodes(graph, NULL, &roots));
    CHECK(nodes == 3 && roots == 1);
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++) OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    int values[2];
    OK(cudaMemcpy(values, p, sizeof values, cudaMemcpyDeviceToHost));
    CHECK(values[0] == 303 && values[1] == 30);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(fork));
    OK(cudaEventDestroy(join));
    OK(cudaStreamDestroy(side));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(p));
    return ok();
}
