// Events tell whether work is done, how long it took, and let streams wait for each other.
#include "../check.h"
__global__ void slow(int *p) {
    for (int i = 0; i < 20000; i++) atomicAdd(p, 1);
}
__global__ void copy(const int *from, int *to) { *to = *from; }
int main() {
    int *p, values[2];
    cudaStream_t a, b;
    cudaEvent_t start, end, plain;
    OK(cudaMalloc(&p, 2 * sizeof *p));
    OK(cudaMemset(p, 0, 2 * sizeof *p));
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&end));
    OK(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming));
    OK(cudaDeviceSynchronize());
    OK(cudaEventRecord(start, a));
    slow<<<1, 1, 0, a>>>(p);
    OK(cudaEventRecord(end, a));
    OK(cudaEventRecord(plain, a));
    OK(cudaStreamWaitEvent(b, plain, 0));
    copy<<<1, 1, 0, b>>>(p, p + 1);
    OK(cudaStreamSynchronize(b));
    OK(cudaMemcpy(values, p, sizeof values, cudaMemcpyDeviceToHost));
    CHECK(values[0] == 20000 && values[1] == 20000);
    OK(cudaEventSynchronize(end));
    OK(cudaEventQuery(end));
    float milliseconds = -1;
    OK(cudaEventElapsedTime(&milliseconds, start, end));
    CHECK(milliseconds >= 0);
    IS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, start, plain));
    OK(cudaEventDestroy(start));
    OK(cudaEventDestroy(end));
    OK(cudaEventDestroy(plain));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    OK(cudaFree(p));
    return ok();
}
