// A device that was reset begins anew, with variables as they were at the start.
#include "../check.h"
__device__ int counter = 5;
__global__ void bump() { counter++; }
int main() {
    int value, *p;
    OK(cudaMalloc(&p, 4));
    bump<<<1, 1>>>();
    OK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    CHECK(value == 6);
    OK(cudaDeviceReset());
    IS(cudaErrorInvalidValue, cudaFree(p));
    OK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    CHECK(value == 5);
    bump<<<1, 1>>>();
    OK(cudaGetLastError() == cudaErrorInvalidValue ? cudaSuccess : cudaErrorUnknown);
    OK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    CHECK(value == 6);
    OK(cudaDeviceReset());
    OK(cudaDeviceReset());
    return ok();
}
