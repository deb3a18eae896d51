// Host and device share a managed variable.
#include "../check.h"
__managed__ int count = 3;
__managed__ int row[4];
__global__ void bump() { count += 1; row[threadIdx.x] = count * 10; }
int main() {
    CHECK(count == 3);
    count = 40;
    bump<<<1, 1>>>();
    OK(cudaDeviceSynchronize());
    CHECK(count == 41 && row[0] == 410);
    int copied = 0;
    OK(cudaMemcpyFromSymbol(&copied, count, sizeof copied));
    CHECK(copied == 41);
    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, &count));
    CHECK(attributes.type == cudaMemoryTypeManaged);
    return ok();
}
