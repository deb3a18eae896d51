// Many threads use all devices at once.
#include "../check.h"
#include <thread>
#include <vector>
__device__ int total;
__global__ void add(int value) { atomicAdd(&total, value); }
int main() {
    int count;
    OK(cudaGetDeviceCount(&count));
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; t++)
        threads.emplace_back([=] {
            OK(cudaSetDevice(t % count));
            cudaStream_t stream;
            OK(cudaStreamCreate(&stream));
            for (int i = 0; i < 25; i++) add<<<2, 16, 0, stream>>>(1);
            OK(cudaStreamSynchronize(stream));
            OK(cudaStreamDestroy(stream));
        });
    for (auto &thread : threads) thread.join();
    int sum = 0;
    for (int d = 0; d < count; d++) {
        int part;
        OK(cudaSetDevice(d));
        OK(cudaMemcpyFromSymbol(&part, total, sizeof part));
        sum += part;
    }
    CHECK(sum == 8 * 25 * 32);
    return ok();
}
