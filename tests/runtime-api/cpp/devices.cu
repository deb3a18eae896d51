// Each device has memory and properties of its own; there is one current device per thread.
#include "../check.h"
#include <thread>
__global__ void write(int *p, int value) { *p = value; }
int main() {
    int count, device;
    OK(cudaGetDeviceCount(&count));
    CHECK(count >= 1);
    int *p[8];
    for (int d = 0; d < count && d < 8; d++) {
        OK(cudaSetDevice(d));
        OK(cudaGetDevice(&device));
        CHECK(device == d);
        OK(cudaMalloc(&p[d], sizeof(int)));
        write<<<1, 1>>>(p[d], 100 + d);
        cudaPointerAttributes attributes;
        OK(cudaPointerGetAttributes(&attributes, p[d]));
        CHECK(attributes.device == d && attributes.type == cudaMemoryTypeDevice);
    }
    for (int d = 0; d < count && d < 8; d++) {
        int value;
        OK(cudaSetDevice(d));
        OK(cudaMemcpy(&value, p[d], sizeof value, cudaMemcpyDeviceToHost));
        CHECK(value == 100 + d);
        OK(cudaFree(p[d]));
    }
    std::thread([] {
        int device = -1;
        OK(cudaGetDevice(&device));
        CHECK(device == 0);
    }).join();
    IS(cudaErrorInvalidDevice, cudaSetDevice(count));
    IS(cudaErrorInvalidDevice, cudaSetDevice(-1));
    OK(cudaGetDevice(&device));
    CHECK(device == (count < 8 ? count : 8) - 1);
    return ok();
}
