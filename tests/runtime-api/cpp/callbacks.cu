// The host's functions run in the order of the stream.
#include "../check.h"
__global__ void set(int *p, int value) { *p = value; }
static int seen[2], values[2];
static void CUDART_CB function(void *data) { seen[0] = *(int *)data; }
static void CUDART_CB callback(cudaStream_t stream, cudaError_t status, void *data) {
    CHECK(stream != 0);
    OK(status);
    seen[1] = *(int *)data;
}
int main() {
    int *p;
    cudaStream_t stream;
    OK(cudaMalloc(&p, sizeof *p));
    OK(cudaStreamCreate(&stream));
    set<<<1, 1, 0, stream>>>(p, 1);
    OK(cudaMemcpyAsync(&values[0], p, sizeof(int), cudaMemcpyDeviceToHost, stream));
    OK(cudaLaunchHostFunc(stream, function, &values[0]));
    set<<<1, 1, 0, stream>>>(p, 2);
    OK(cudaMemcpyAsync(&values[1], p, sizeof(int), cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamAddCallback(stream, callback, &values[1], 0));
    OK(cudaStreamSynchronize(stream));
    CHECK(seen[0] == 1 && seen[1] == 2);
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(p));
    return ok();
}
