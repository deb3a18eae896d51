// Copies, fills and memory in the order of a stream are captured too.
#include "../check.h"
__global__ void twice(int *p) { p[threadIdx.x] *= 2; }
int main() {
    int *in, *out;
    OK(cudaMallocHost(&in, 16 * sizeof(int)));
    OK(cudaMallocHost(&out, 16 * sizeof(int)));
    for (int i = 0; i < 16; i++) in[i] = i, out[i] = -1;
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    int *p;
    OK(cudaMallocAsync(&p, 16 * sizeof(int), stream));
    OK(cudaMemsetAsync(p, 0, 16 * sizeof(int), stream));
    OK(cudaMemcpyAsync(p, in, 16 * sizeof(int), cudaMemcpyHostToDevice, stream));
    twice<<<1, 16, 0, stream>>>(p);
    OK(cudaMemcpyAsync(out, p, 16 * sizeof(int), cudaMemcpyDeviceToHost, stream));
    OK(cudaFreeAsync(p, stream));
    cudaGraph_t graph;
    OK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 16; i++) in[i] = i + round;
        OK(cudaGraphLaunch(exec, stream));
        OK(cudaStreamSynchronize(stream));
        for (int i = 0; i < 16; i++) CHECK(out[i] == 2 * (i + round));
    }
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    OK(cudaDeviceGraphMemTrim(0));
    OK(cudaFreeHost(in));
    OK(cudaFreeHost(out));
    return ok();
}
