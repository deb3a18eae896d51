// The last error is the thread's own; asking for it takes it away, looking at it does not.
#include "../check.h"
#include <thread>
int main() {
    IS(cudaErrorInvalidValue, cudaMemset((void *)8, 0, 4));
    IS(cudaErrorInvalidValue, cudaPeekAtLastError());
    std::thread([] { OK(cudaGetLastError()); }).join();
    int device;
    OK(cudaGetDevice(&device));
    IS(cudaErrorInvalidValue, cudaGetLastError());
    OK(cudaGetLastError());
    CHECK(!strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation"));
    CHECK(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"));
    CHECK(!strcmp(cudaGetErrorString(cudaSuccess), "no error"));
    CHECK(!strcmp(cudaGetErrorName((cudaError_t)4711), "unrecognized error code"));
    for (int number = 0; number < 1000; number++) CHECK(cudaGetErrorString((cudaError_t)number));
    return ok();
}
