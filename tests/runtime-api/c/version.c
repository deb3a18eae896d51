// The library has its own version, by the names that its programs link against.
#include "library.h"
int main(void) {
    FUNCTION(cudaRuntimeGetVersion);
    FUNCTION(cudaDriverGetVersion);
    int runtime = 0, driver = 0;
    OK(my_cudaRuntimeGetVersion(&runtime));
    OK(my_cudaDriverGetVersion(&driver));
    CHECK(runtime / 1000 == CUDART_VERSION / 1000 && driver >= 12000);
    CHECK(dlvsym(library(), "cudaMalloc", LIBRARY) == dlsym(library(), "cudaMalloc"));
    CHECK(dlvsym(library(), "cudaMalloc", "libcudart.so.11") == NULL);
    return ok();
}
