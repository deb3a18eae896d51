// A context that the driver API made current is the runtime API's.
// link: cuda
#include "../check.h"
#include <cuda.h>
__global__ void set(int *p) { *p = 3; }
int main() {
    CHECK(cuInit(0) == CUDA_SUCCESS);
    CUcontext primary, current;
    CUdevice device;
    OK(cudaSetDevice(0));
    CHECK(cuCtxGetCurrent(&current) == CUDA_SUCCESS && current != NULL);
    CHECK(cuDeviceGet(&device, 0) == CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxRetain(&primary, device) == CUDA_SUCCESS);
    CHECK(primary == current);
    CUdeviceptr p;
    int value = 0;
    CHECK(cuMemAlloc(&p, 4) == CUDA_SUCCESS);
    set<<<1, 1>>>((int *)p);
    OK(cudaMemcpy(&value, (void *)p, 4, cudaMemcpyDefault));
    CHECK(value == 3);
    OK(cudaFree((void *)p));
    CUstream stream;
    CHECK(cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamDestroy(stream));
    int count;
    OK(cudaGetDeviceCount(&count));
    CUcontext last;
    CHECK(cuDeviceGet(&device, count - 1) == CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxRetain(&last, device) == CUDA_SUCCESS);
    CHECK(cuCtxPushCurrent(last) == CUDA_SUCCESS);
    int now = -1;
    OK(cudaGetDevice(&now));
    CHECK(now == count - 1);
    CHECK(cuCtxPopCurrent(&last) == CUDA_SUCCESS);
    OK(cudaGetDevice(&now));
    CHECK(now == 0);
    CHECK(cuDevicePrimaryCtxRelease(device) == CUDA_SUCCESS);
    CHECK(cuDeviceGet(&device, 0) == CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxRelease(device) == CUDA_SUCCESS);
    return ok();
}
