// Page-locked memory is reached by the device, whether it was allocated so or registered.
#include "../check.h"
__global__ void twice(int *p) { p[threadIdx.x] *= 2; }
int main() {
    int *a, *b, *device, *c = (int *)aligned_alloc(4096, 4096);
    unsigned flags;
    OK(cudaMallocHost(&a, 32 * sizeof(int)));
    OK(cudaHostAlloc(&b, 32 * sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable));
    OK(cudaHostGetFlags(&flags, b));
    CHECK(flags & cudaHostAllocMapped);
    OK(cudaHostRegister(c, 4096, cudaHostRegisterDefault));
    for (int i = 0; i < 32; i++) a[i] = b[i] = c[i] = i;
    int *all[] = {a, b, c};
    for (int *p : all) {
        OK(cudaHostGetDevicePointer(&device, p, 0));
        twice<<<1, 32>>>(device);
        OK(cudaDeviceSynchronize());
        for (int i = 0; i < 32; i++) CHECK(p[i] == 2 * i);
        cudaPointerAttributes attributes;
        OK(cudaPointerGetAttributes(&attributes, p));
        CHECK(attributes.type == cudaMemoryTypeHost && attributes.hostPointer == p);
    }
    IS(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(c, 4096, 0));
    OK(cudaHostUnregister(c));
    IS(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(c));
    OK(cudaFreeHost(a));
    OK(cudaFreeHost(b));
    OK(cudaFreeHost(NULL));
    OK(cudaMallocHost(&a, 0));
    CHECK(a == NULL);
    free(c);
    return ok();
}
