// The versions of driver and runtime, and the driver's functions by their names.
#include "../check.h"
#include <cuda.h>
int main() {
    int driver, runtime;
    OK(cudaDriverGetVersion(&driver));
    OK(cudaRuntimeGetVersion(&runtime));
    CHECK(driver >= 12000 && runtime / 1000 == CUDART_VERSION / 1000);
    CUresult (*get_count)(int *) = NULL;
    cudaDriverEntryPointQueryResult found;
    OK(cudaGetDriverEntryPointByVersion("cuDeviceGetCount", (void **)&get_count, 12000,
                                        cudaEnableDefault, &found));
    CHECK(found == cudaDriverEntryPointSuccess && get_count != NULL);
    int a, b;
    CHECK(get_count(&a) == CUDA_SUCCESS);
    OK(cudaGetDeviceCount(&b));
    CHECK(a == b);
    void *none = &a;
    OK(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &none, 12000, cudaEnableDefault, &found));
    CHECK(found == cudaDriverEntryPointSymbolNotFound && none == NULL);
    return ok();
}
