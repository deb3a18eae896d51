// Streams and events of a program that opened the library.
#include "library.h"
int main(void) {
    FUNCTION(cudaStreamCreateWithFlags);
    FUNCTION(cudaStreamSynchronize);
    FUNCTION(cudaStreamDestroy);
    FUNCTION(cudaEventCreate);
    FUNCTION(cudaEventRecord);
    FUNCTION(cudaEventSynchronize);
    FUNCTION(cudaEventElapsedTime);
    FUNCTION(cudaEventDestroy);
    FUNCTION(cudaMallocAsync);
    FUNCTION(cudaMemsetAsync);
    FUNCTION(cudaFreeAsync);
    cudaStream_t stream;
    cudaEvent_t start, end;
    void *p;
    float milliseconds;
    OK(my_cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(my_cudaEventCreate(&start));
    OK(my_cudaEventCreate(&end));
    OK(my_cudaEventRecord(start, stream));
    OK(my_cudaMallocAsync(&p, 1 << 16, stream));
    OK(my_cudaMemsetAsync(p, 1, 1 << 16, stream));
    OK(my_cudaFreeAsync(p, stream));
    OK(my_cudaEventRecord(end, stream));
    OK(my_cudaEventSynchronize(end));
    OK(my_cudaEventElapsedTime(&milliseconds, start, end));
    CHECK(milliseconds >= 0);
    OK(my_cudaEventDestroy(start));
    OK(my_cudaEventDestroy(end));
    OK(my_cudaStreamSynchronize(stream));
    OK(my_cudaStreamDestroy(stream));
    return ok();
}
