// flags: -gencode arch=compute_90,code=sm_90
// A kernel without code for the device is refused, at each launch, and the rest goes on.
#include "../check.h"
__global__ void set(int *p) { *p = 1; }
int main() {
    int *p, major;
    OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    CHECK(major != 9);
    OK(cudaMalloc(&p, 4));
    for (int i = 0; i < 2; i++) {
        set<<<1, 1>>>(p);
        IS(cudaErrorNoKernelImageForDevice, cudaGetLastError());
    }
    OK(cudaMemset(p, 0, 4));
    OK(cudaDeviceSynchronize());
    OK(cudaFree(p));
    return ok();
}
