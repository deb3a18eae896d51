// What kernels print is there when the device was waited for.
#include "../check.h"
__global__ void speak(int n) { printf("thread %d of %d: %s\n", threadIdx.x, n, "hello"); }
int main() {
    speak<<<1, 2>>>(2);
    OK(cudaDeviceSynchronize());
    return ok();
}
