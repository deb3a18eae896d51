// Properties have the layout of this version's header.
#include "library.h"
int main(void) {
#if CUDART_VERSION < 13000
    cudaError_t (*get)(struct cudaDeviceProp *, int) =
        (cudaError_t (*)(struct cudaDeviceProp *, int))dlsym(library(),
                                                             "cudaGetDeviceProperties_v2");
#else
    cudaError_t (*get)(struct cudaDeviceProp *, int) =
        (cudaError_t (*)(struct cudaDeviceProp *, int))dlsym(library(), "cudaGetDeviceProperties");
#endif
    FUNCTION(cudaDeviceGetAttribute);
    struct { struct cudaDeviceProp p; unsigned after; } both;
    both.after = 77;
    OK(get(&both.p, 0));
    CHECK(both.after == 77 && strlen(both.p.name) > 0 && both.p.warpSize == 32);
    int value;
    OK(my_cudaDeviceGetAttribute(&value, cudaDevAttrMemoryPoolsSupported, 0));
    CHECK(value == both.p.memoryPoolsSupported);
    OK(my_cudaDeviceGetAttribute(&value, cudaDevAttrIpcEventSupport, 0));
    CHECK(value == both.p.ipcEventSupported);
    OK(my_cudaDeviceGetAttribute(&value, cudaDevAttrMaxSurface2DLayeredLayers, 0));
    CHECK(value == both.p.maxSurface2DLayered[2]);
    OK(my_cudaDeviceGetAttribute(&value, cudaDevAttrClusterLaunch, 0));
    CHECK(value == both.p.clusterLaunch);
#if CUDART_VERSION < 13000
    OK(my_cudaDeviceGetAttribute(&value, cudaDevAttrClockRate, 0));
    CHECK(value == both.p.clockRate);
#endif
    return ok();
}
