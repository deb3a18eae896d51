// Static and dynamic shared memory; more than the default only where it was asked for.
#include "../check.h"
__global__ void reverse(int *p, int n) {
    extern __shared__ int row[];
    __shared__ int first;
    row[threadIdx.x] = p[threadIdx.x];
    if (threadIdx.x == 0) first = p[0];
    __syncthreads();
    p[threadIdx.x] = row[n - 1 - threadIdx.x] + first;
}
__global__ void large(int *p) {
    extern __shared__ int row[];
    row[threadIdx.x * 128] = threadIdx.x;
    __syncthreads();
    p[threadIdx.x] = row[(31 - threadIdx.x) * 128];
}
int main() {
    int *p, values[32];
    for (int i = 0; i < 32; i++) values[i] = i + 1;
    OK(cudaMalloc(&p, sizeof values));
    OK(cudaMemcpy(p, values, sizeof values, cudaMemcpyHostToDevice));
    reverse<<<1, 32, sizeof values>>>(p, 32);
    OK(cudaMemcpy(values, p, sizeof values, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++) CHECK(values[i] == 32 - i + 1);
    const int bytes = 64 << 10;
    large<<<1, 32, bytes>>>(p);
    IS(cudaErrorInvalidValue, cudaGetLastError());
    OK(cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, large));
    CHECK(attributes.maxDynamicSharedSizeBytes == bytes);
    large<<<1, 32, bytes>>>(p);
    OK(cudaMemcpy(values, p, sizeof values, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++) CHECK(values[i] == 31 - i);
    OK(cudaFree(p));
    return ok();
}
