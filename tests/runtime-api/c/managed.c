// Managed memory is prefetched as this version does it.
#include "library.h"
int main(void) {
    FUNCTION(cudaMallocManaged);
    FUNCTION(cudaMemPrefetchAsync);
    FUNCTION(cudaMemAdvise);
    FUNCTION(cudaDeviceSynchronize);
    FUNCTION(cudaFree);
    void *p;
    OK(my_cudaMallocManaged(&p, 4096, cudaMemAttachGlobal));
#if CUDART_VERSION < 13000
    OK(my_cudaMemPrefetchAsync(p, 4096, 0, 0));
    OK(my_cudaMemPrefetchAsync(p, 4096, cudaCpuDeviceId, 0));
    OK(my_cudaMemAdvise(p, 4096, cudaMemAdviseSetReadMostly, 0));
    IS(cudaErrorInvalidDevice, my_cudaMemPrefetchAsync(p, 4096, 99, 0));
#else
    struct cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
    struct cudaMemLocation host = {cudaMemLocationTypeHost, 0};
    OK(my_cudaMemPrefetchAsync(p, 4096, device, 0, 0));
    OK(my_cudaMemPrefetchAsync(p, 4096, host, 0, 0));
    OK(my_cudaMemAdvise(p, 4096, cudaMemAdviseSetReadMostly, device));
    device.id = 99;
    IS(cudaErrorInvalidDevice, my_cudaMemPrefetchAsync(p, 4096, device, 0, 0));
#endif
    OK(my_cudaDeviceSynchronize());
    OK(my_cudaFree(p));
    return ok();
}
