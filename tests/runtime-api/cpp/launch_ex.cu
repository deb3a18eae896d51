// cudaLaunchKernelEx launches with attributes, and typed arguments.
#include "../check.h"
__global__ void fill(int *p, int value) { p[blockIdx.x * blockDim.x + threadIdx.x] = value; }
int main() {
    int *p, values[64];
    OK(cudaMalloc(&p, sizeof values));
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributePriority;
    attribute.val.priority = 0;
    cudaLaunchConfig_t config = {};
    config.gridDim = 2;
    config.blockDim = 32;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    OK(cudaLaunchKernelEx(&config, fill, p, 5));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(values, p, sizeof values, cudaMemcpyDeviceToHost));
    for (int value : values) CHECK(value == 5);
    config.blockDim = 4096;
    IS(cudaErrorInvalidConfiguration, cudaLaunchKernelEx(&config, fill, p, 5));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(p));
    return ok();
}
