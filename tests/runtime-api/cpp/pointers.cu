// An address tells whose memory it is.
#include "../check.h"
int main() {
    cudaPointerAttributes attributes;
    int local, *p;
    OK(cudaPointerGetAttributes(&attributes, &local));
    CHECK(attributes.type == cudaMemoryTypeUnregistered);
    OK(cudaMalloc(&p, 16 * sizeof *p));
    OK(cudaPointerGetAttributes(&attributes, p + 3));
    CHECK(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);
    CHECK(attributes.devicePointer == p + 3 && attributes.hostPointer == NULL);
    OK(cudaFree(p));
    OK(cudaMallocManaged(&p, 64));
    OK(cudaPointerGetAttributes(&attributes, p));
    CHECK(attributes.type == cudaMemoryTypeManaged);
    CHECK(attributes.devicePointer == p && attributes.hostPointer == p);
    OK(cudaFree(p));
    return ok();
}
