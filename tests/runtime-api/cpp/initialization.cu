// Asking about devices initialises none; choosing one does.
// link: cuda
#include "../check.h"
#include <cuda.h>
static int active() {
    unsigned flags;
    int state;
    CUdevice device;
    CHECK(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&device, 0) == CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxGetState(device, &flags, &state) == CUDA_SUCCESS);
    return state;
}
int main() {
    int count, device, value;
    cudaDeviceProp properties;
    OK(cudaGetDeviceCount(&count));
    OK(cudaGetDevice(&device));
    OK(cudaGetDeviceProperties(&properties, 0));
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0));
    OK(cudaGetLastError());
    CHECK(device == 0 && value == 32 && !active());
    OK(cudaSetDevice(0));
    CHECK(active());
    OK(cudaDeviceReset());
    CHECK(!active());
    OK(cudaFree(0));
    CHECK(active());
    unsigned flags;
    OK(cudaDeviceReset());
    OK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    OK(cudaGetDeviceFlags(&flags));
    CHECK((flags & cudaDeviceScheduleMask) == cudaDeviceScheduleBlockingSync);
    OK(cudaInitDevice(0, 0, 0));
    CHECK(active());
    return ok();
}
