// The driver's functions, as of the version that the program was made for.
#include "library.h"
int main(void) {
    FUNCTION(cudaGetDriverEntryPoint);
    FUNCTION(cudaGetDriverEntryPointByVersion);
    void *plain, *old, *none = &plain;
    enum cudaDriverEntryPointQueryResult found;
    OK(my_cudaGetDriverEntryPoint("cuCtxGetCurrent", &plain, cudaEnableDefault, &found));
    CHECK(found == cudaDriverEntryPointSuccess && plain != NULL);
    OK(my_cudaGetDriverEntryPointByVersion("cuMemcpy", &plain, 12000, cudaEnableLegacyStream,
                                           &found));
    OK(my_cudaGetDriverEntryPointByVersion("cuMemcpy", &old, 12000,
                                           cudaEnablePerThreadDefaultStream, &found));
    CHECK(plain != NULL && old != NULL && plain != old);
    OK(my_cudaGetDriverEntryPoint("cuNothing", &none, cudaEnableDefault, &found));
    CHECK(found == cudaDriverEntryPointSymbolNotFound && none == NULL);
    return ok();
}
