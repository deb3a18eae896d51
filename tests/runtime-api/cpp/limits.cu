// Limits of the device can be read and set.
#include "../check.h"
int main() {
    size_t value;
    OK(cudaDeviceGetLimit(&value, cudaLimitStackSize));
    CHECK(value > 0);
    OK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    OK(cudaDeviceGetLimit(&value, cudaLimitStackSize));
    CHECK(value >= 4096);
    OK(cudaDeviceGetLimit(&value, cudaLimitPrintfFifoSize));
    CHECK(value > 0);
    IS(cudaErrorUnsupportedLimit, cudaDeviceGetLimit(&value, (cudaLimit)99));
    cudaFuncCache cache;
    OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    OK(cudaDeviceGetCacheConfig(&cache));
    return ok();
}
