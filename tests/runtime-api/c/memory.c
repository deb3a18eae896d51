// Memory is allocated, filled, copied and given back.
#include "library.h"
int main(void) {
    FUNCTION(cudaMalloc);
    FUNCTION(cudaMemset);
    FUNCTION(cudaMemcpy);
    FUNCTION(cudaFree);
    void *p;
    unsigned char bytes[64];
    OK(my_cudaMalloc(&p, 64));
    OK(my_cudaMemset(p, 9, 64));
    OK(my_cudaMemcpy(bytes, p, 64, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) CHECK(bytes[i] == 9);
    OK(my_cudaFree(p));
    IS(cudaErrorInvalidValue, my_cudaFree(p));
    return ok();
}
