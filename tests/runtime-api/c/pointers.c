// What is written about an address ends where this version's structure does.
#include "library.h"
int main(void) {
    FUNCTION(cudaPointerGetAttributes);
    FUNCTION(cudaMallocHost);
    FUNCTION(cudaFreeHost);
    struct { struct cudaPointerAttributes a; unsigned after; } both;
    void *p;
    both.after = 77;
    OK(my_cudaMallocHost(&p, 100));
    OK(my_cudaPointerGetAttributes(&both.a, p));
    CHECK(both.after == 77 && both.a.type == cudaMemoryTypeHost && both.a.hostPointer == p);
    OK(my_cudaPointerGetAttributes(&both.a, &both));
    CHECK(both.a.type == cudaMemoryTypeUnregistered);
    OK(my_cudaFreeHost(p));
    return ok();
}
