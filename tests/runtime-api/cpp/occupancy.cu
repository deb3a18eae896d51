// How many blocks run at once follows from what a kernel needs.
#include "../check.h"
__global__ void plain(int *p) { p[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
int main() {
    int blocks, grid, threads, processors, most;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 256, 0));
    CHECK(blocks >= 1);
    OK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
    CHECK(blocks * 256 <= most);
    int fewer;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fewer, plain, 256, 40 << 10));
    CHECK(fewer < blocks);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&fewer, plain, 256, 0,
                                                              cudaOccupancyDefault));
    CHECK(fewer == blocks);
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &threads, plain));
    OK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    CHECK(threads >= 32 && grid >= processors);
    size_t shared;
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&shared, plain, 1, 128));
    CHECK(shared > 0);
    return ok();
}
