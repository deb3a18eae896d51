// What allocations of nothing, of too much and of what is not there answer.
#include "../check.h"
int main() {
    void *p = (void *)1;
    size_t free0, free1, total;
    OK(cudaFree(0));
    OK(cudaMalloc(&p, 0));
    CHECK(p == NULL);
    OK(cudaFree(p));
    OK(cudaMemGetInfo(&free0, &total));
    CHECK(free0 <= total && total > 0);
    IS(cudaErrorMemoryAllocation, cudaMalloc(&p, (size_t)1 << 50));
    IS(cudaErrorMemoryAllocation, cudaGetLastError());
    OK(cudaMalloc(&p, 32 << 20));
    OK(cudaMemGetInfo(&free1, &total));
    CHECK(free1 + (32 << 20) <= free0);
    OK(cudaFree(p));
    IS(cudaErrorInvalidValue, cudaFree(p));
    int local;
    IS(cudaErrorInvalidValue, cudaFree(&local));
    IS(cudaErrorInvalidValue, cudaMalloc((void **)NULL, 4));
    OK(cudaGetLastError() == cudaErrorInvalidValue ? cudaSuccess : cudaErrorUnknown);
    return ok();
}
