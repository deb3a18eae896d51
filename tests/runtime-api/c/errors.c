// Errors have names and texts, and the last one is kept for the thread.
#include "library.h"
int main(void) {
    FUNCTION(cudaGetErrorName);
    FUNCTION(cudaGetErrorString);
    FUNCTION(cudaGetLastError);
    FUNCTION(cudaPeekAtLastError);
    FUNCTION(cudaSetDevice);
    CHECK(!strcmp(my_cudaGetErrorName(cudaErrorInvalidDevice), "cudaErrorInvalidDevice"));
    CHECK(!strcmp(my_cudaGetErrorString(cudaErrorInvalidDevice), "invalid device ordinal"));
    IS(cudaErrorInvalidDevice, my_cudaSetDevice(99));
    IS(cudaErrorInvalidDevice, my_cudaPeekAtLastError());
    IS(cudaErrorInvalidDevice, my_cudaGetLastError());
    IS(cudaSuccess, my_cudaGetLastError());
    return ok();
}
