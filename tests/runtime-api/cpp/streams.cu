// Work of one stream is in order; streams have flags, priorities and devices.
#include "../check.h"
__global__ void step(int *p, int expected) { if (*p == expected) *p = expected + 1; }
int main() {
    int *p, value, least, greatest, priority, device;
    unsigned flags;
    cudaStream_t plain, other, urgent;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(greatest <= least);
    OK(cudaStreamCreate(&plain));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, greatest));
    OK(cudaStreamGetFlags(other, &flags));
    CHECK(flags == cudaStreamNonBlocking);
    OK(cudaStreamGetFlags(plain, &flags));
    CHECK(flags == cudaStreamDefault);
    OK(cudaStreamGetPriority(urgent, &priority));
    CHECK(priority == greatest);
    OK(cudaStreamGetDevice(urgent, &device));
    CHECK(device == 0);
    unsigned long long one, two;
    OK(cudaStreamGetId(plain, &one));
    OK(cudaStreamGetId(other, &two));
    CHECK(one != two);
    OK(cudaMalloc(&p, sizeof *p));
    OK(cudaMemset(p, 0, sizeof *p));
    for (int i = 0; i < 100; i++) step<<<1, 1, 0, plain>>>(p, i);
    OK(cudaStreamSynchronize(plain));
    OK(cudaStreamQuery(plain));
    OK(cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost));
    CHECK(value == 100);
    IS(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&plain, 77));
    OK(cudaStreamDestroy(other));
    OK(cudaStreamDestroy(urgent));
    IS(cudaErrorInvalidResourceHandle, cudaStreamDestroy(0));
    OK(cudaStreamDestroy(plain));
    OK(cudaFree(p));
    return ok();
}
