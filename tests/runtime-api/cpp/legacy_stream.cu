// The default stream waits for blocking streams and they for it; streams that do not block go on.
#include "../check.h"
__global__ void write(int *p, int value) { *p = value; }
__global__ void copy(const int *from, int *to) { *to = *from; }
int main() {
    int *p, values[3];
    cudaStream_t blocking;
    OK(cudaMalloc(&p, sizeof values));
    OK(cudaMemset(p, 0, sizeof values));
    OK(cudaStreamCreate(&blocking));
    for (int i = 1; i <= 50; i++) {
        write<<<1, 1, 0, blocking>>>(p, i);
        copy<<<1, 1>>>(p, p + 1);
        copy<<<1, 1, 0, blocking>>>(p + 1, p + 2);
        OK(cudaMemcpyAsync(values, p, sizeof values, cudaMemcpyDeviceToHost, cudaStreamLegacy));
        OK(cudaStreamSynchronize(cudaStreamLegacy));
        CHECK(values[0] == i && values[1] == i && values[2] == i);
    }
    OK(cudaStreamDestroy(blocking));
    OK(cudaFree(p));
    return ok();
}
