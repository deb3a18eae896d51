// Managed memory is the host's and the device's.
#include "../check.h"
__global__ void twice(int *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] *= 2;
}
int main() {
    int *p, device = 0;
    OK(cudaMallocManaged(&p, 1000 * sizeof *p));
    for (int i = 0; i < 1000; i++) p[i] = i;
#if CUDART_VERSION >= 13000
    cudaMemLocation here = {cudaMemLocationTypeDevice, device};
    OK(cudaMemPrefetchAsync(p, 1000 * sizeof *p, here, 0, 0));
    OK(cudaMemAdvise(p, 1000 * sizeof *p, cudaMemAdviseSetPreferredLocation, here));
#else
    OK(cudaMemPrefetchAsync(p, 1000 * sizeof *p, device, 0));
    OK(cudaMemAdvise(p, 1000 * sizeof *p, cudaMemAdviseSetPreferredLocation, device));
#endif
    int preferred = -7;
    OK(cudaMemRangeGetAttribute(&preferred, sizeof preferred,
                                cudaMemRangeAttributePreferredLocation, p, 1000 * sizeof *p));
    CHECK(preferred == device);
    twice<<<8, 128>>>(p, 1000);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 1000; i++) CHECK(p[i] == 2 * i);
    OK(cudaFree(p));
    IS(cudaErrorInvalidValue, cudaMallocManaged(&p, 0));
    return ok();
}
