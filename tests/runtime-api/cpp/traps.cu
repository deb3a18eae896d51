// A failed assertion in a kernel is cudaErrorAssert.
#include "../check.h"
#include <assert.h>
__global__ void asserts(int value) { assert(value == 1); }
int main() {
    asserts<<<1, 1>>>(1);
    OK(cudaDeviceSynchronize());
    asserts<<<1, 1>>>(2);
    IS(cudaErrorAssert, cudaDeviceSynchronize());
    return ok();
}
