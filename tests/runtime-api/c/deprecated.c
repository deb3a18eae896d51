// Names that version 13 no longer has are there in version 12.
#include "library.h"
int main(void) {
#if CUDART_VERSION < 13000
    typedef cudaError_t Synchronize(void);
    Synchronize *synchronize = (Synchronize *)dlsym(library(), "cudaThreadSynchronize");
    OK(synchronize());
    OK(((Synchronize *)dlsym(library(), "cudaThreadExit"))());
#else
    CHECK(dlsym(library(), "cudaThreadSynchronize") == NULL);
    CHECK(dlsym(library(), "cudaGetDeviceProperties_v2") == NULL);
#endif
    return ok();
}
