// A kernel tells what it needs, its name and its parameters.
#include "../check.h"
__constant__ int factors[10];
extern "C" __global__ void named(float *p, char c, double d) {
    __shared__ float row[64];
    row[threadIdx.x] = p[threadIdx.x] * factors[c];
    __syncthreads();
    p[threadIdx.x] = row[63 - threadIdx.x] + d;
}
__global__ void __launch_bounds__(96) bounded(int *p) { *p = 1; }
int main() {
    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, named));
    CHECK(attributes.sharedSizeBytes == 64 * sizeof(float));
    CHECK(attributes.maxThreadsPerBlock >= 64 && attributes.numRegs > 0);
    CHECK(attributes.ptxVersion >= 50 && attributes.binaryVersion >= 50);
    const char *name;
    OK(cudaFuncGetName(&name, (const void *)named));
    CHECK(!strcmp(name, "named"));
    size_t offset, size;
    OK(cudaFuncGetParamInfo((const void *)named, 2, &offset, &size));
    CHECK(offset == 16 && size == 8);
    IS(cudaErrorInvalidValue, cudaFuncGetParamInfo((const void *)named, 3, &offset, &size));
    OK(cudaFuncGetAttributes(&attributes, bounded));
    CHECK(attributes.maxThreadsPerBlock == 96);
    OK(cudaFuncSetCacheConfig(named, cudaFuncCachePreferShared));
    return ok();
}
