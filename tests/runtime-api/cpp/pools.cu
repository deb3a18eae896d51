// Memory in the order of a stream, from the device's pool and from one of its own.
#include "../check.h"
__global__ void set(int *p, int value) { *p = value; }
int main() {
    int *p, *q, value;
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaMallocAsync(&p, 1024, stream));
    set<<<1, 1, 0, stream>>>(p, 9);
    OK(cudaMemcpyAsync(&value, p, sizeof value, cudaMemcpyDeviceToHost, stream));
    OK(cudaFreeAsync(p, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(value == 9);
    cudaMemPool_t pool, own, present;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaDeviceGetMemPool(&present, 0));
    CHECK(pool == present);
    unsigned long long threshold = 1 << 20, read = 0;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &read));
    CHECK(read == threshold);
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    OK(cudaMemPoolCreate(&own, &properties));
    OK(cudaMallocFromPoolAsync(&q, 4096, own, stream));
    OK(cudaMemsetAsync(q, 0, 4096, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &read));
    CHECK(read == 4096);
    OK(cudaFree(q));
    OK(cudaMemPoolTrimTo(own, 0));
    OK(cudaDeviceSetMemPool(0, own));
    OK(cudaDeviceGetMemPool(&present, 0));
    CHECK(present == own);
    OK(cudaDeviceSetMemPool(0, pool));
    OK(cudaMemPoolDestroy(own));
    OK(cudaFreeAsync(NULL, stream));
    OK(cudaStreamDestroy(stream));
    return ok();
}
