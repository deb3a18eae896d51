// Launches that cannot be are refused, with the error that says why, and harm nothing.
#include "../check.h"
__global__ void set(int *p) { *p = 7; }
void not_a_kernel() {}
int main() {
    int *p, value = 0;
    OK(cudaMalloc(&p, sizeof *p));
    set<<<1, 2048>>>(p);
    IS(cudaErrorInvalidConfiguration, cudaPeekAtLastError());
    IS(cudaErrorInvalidConfiguration, cudaGetLastError());
    OK(cudaGetLastError());
    set<<<0, 1>>>(p);
    IS(cudaErrorInvalidConfiguration, cudaGetLastError());
    set<<<dim3(1, 70000, 1), 1>>>(p);
    IS(cudaErrorInvalidConfiguration, cudaGetLastError());
    set<<<1, dim3(1, 1, 65)>>>(p);
    IS(cudaErrorInvalidConfiguration, cudaGetLastError());
    set<<<1, 1, 1 << 20>>>(p);
    IS(cudaErrorInvalidValue, cudaGetLastError());
    void *arguments[] = {&p};
    IS(cudaErrorInvalidDeviceFunction,
       cudaLaunchKernel((const void *)not_a_kernel, dim3(1), dim3(1), arguments, 0, 0));
    IS(cudaErrorInvalidDeviceFunction, cudaGetLastError());
    set<<<1, 1>>>(p);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost));
    CHECK(value == 7);
    OK(cudaFree(p));
    return ok();
}
