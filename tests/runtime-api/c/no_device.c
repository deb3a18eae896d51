// environment: CUDA_VISIBLE_DEVICES=
// Where there is a driver and no device, each call says so.
#include "library.h"
int main(void) {
    FUNCTION(cudaGetDeviceCount);
    FUNCTION(cudaMalloc);
    FUNCTION(cudaGetLastError);
    FUNCTION(cudaDriverGetVersion);
    int count = 7, version;
    void *p;
    IS(cudaErrorNoDevice, my_cudaGetDeviceCount(&count));
    CHECK(count == 0);
    IS(cudaErrorNoDevice, my_cudaMalloc(&p, 4));
    IS(cudaErrorNoDevice, my_cudaGetLastError());
    OK(my_cudaDriverGetVersion(&version));
    CHECK(version >= 12000);
    return ok();
}
