// without: driver
// Where there is no driver, it is too old for all but its version, which is 0.
#include "library.h"
int main(void) {
    FUNCTION(cudaGetDeviceCount);
    FUNCTION(cudaGetLastError);
    FUNCTION(cudaDriverGetVersion);
    FUNCTION(cudaRuntimeGetVersion);
    int count, version = 7;
    IS(cudaErrorInsufficientDriver, my_cudaGetDeviceCount(&count));
    IS(cudaErrorInsufficientDriver, my_cudaGetLastError());
    OK(my_cudaDriverGetVersion(&version));
    CHECK(version == 0);
    OK(my_cudaRuntimeGetVersion(&version));
    CHECK(version >= 12000);
    return ok();
}
