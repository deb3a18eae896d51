// flags: --default-stream per-thread
// The default stream is the thread's own: one thread's capture does not see the other's work.
#include "../check.h"
#include <thread>
__global__ void add(int *p, int value) { *p += value; }
static void work(int value) {
    int *p, result;
    OK(cudaMalloc(&p, sizeof *p));
    OK(cudaMemset(p, 0, sizeof *p));
    for (int i = 0; i < 20; i++) add<<<1, 1>>>(p, value);
    OK(cudaMemcpy(&result, p, sizeof result, cudaMemcpyDeviceToHost));
    CHECK(result == 20 * value);
    OK(cudaFree(p));
}
int main() {
    cudaStreamCaptureStatus status;
    OK(cudaStreamBeginCapture(0, cudaStreamCaptureModeThreadLocal));
    OK(cudaStreamIsCapturing(cudaStreamPerThread, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    std::thread first(work, 1), second(work, 2);
    first.join();
    second.join();
    cudaGraph_t graph;
    OK(cudaStreamEndCapture(0, &graph));
    size_t nodes = 1;
    OK(cudaGraphGetNodes(graph, NULL, &nodes));
    CHECK(nodes == 0);
    OK(cudaGraphDestroy(graph));
    return ok();
}
