// What is not built says so, and what goes on after it works.
#include "../check.h"
int main() {
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(format.x == 32 && format.y == 0 && format.f == cudaChannelFormatKindFloat);
    IS(cudaErrorNotSupported, cudaMallocArray(&array, &format, 4, 4));
    IS(cudaErrorNotSupported, cudaGetLastError());
    int *p;
    OK(cudaMalloc(&p, 4));
    cudaIpcMemHandle_t handle;
    IS(cudaErrorNotSupported, cudaIpcGetMemHandle(&handle, p));
    OK(cudaFree(p));
    return ok();
}
