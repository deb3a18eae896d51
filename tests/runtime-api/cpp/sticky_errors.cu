// What a kernel did wrong is said by the calls after it, again and again.
#include "../check.h"
__global__ void wild(int *p) { *p = 1; }
int main() {
    int *p;
    OK(cudaMalloc(&p, sizeof *p));
    wild<<<1, 1>>>((int *)0x10);
    IS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    IS(cudaErrorIllegalAddress, cudaGetLastError());
    IS(cudaErrorIllegalAddress, cudaGetLastError());
    void *q;
    IS(cudaErrorIllegalAddress, cudaMalloc(&q, 4));
    IS(cudaErrorIllegalAddress, cudaPeekAtLastError());
    return ok();
}
