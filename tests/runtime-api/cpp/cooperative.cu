// All blocks of a cooperative launch wait for each other.
#include "../check.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void sum(int *parts, int *total) {
    cg::grid_group grid = cg::this_grid();
    if (threadIdx.x == 0) parts[blockIdx.x] = blockIdx.x + 1;
    grid.sync();
    if (grid.thread_rank() == 0)
        for (unsigned i = 0; i < gridDim.x; i++) *total += parts[i];
}
int main() {
    int *parts, *total, value, supported, blocks, processors;
    OK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
    CHECK(supported == 1);
    OK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum, 32, 0));
    CHECK(blocks * processors >= 4);
    OK(cudaMalloc(&parts, 4 * sizeof(int)));
    OK(cudaMalloc(&total, sizeof(int)));
    OK(cudaMemset(total, 0, sizeof(int)));
    void *arguments[] = {&parts, &total};
    OK(cudaLaunchCooperativeKernel(sum, 4, 32, arguments));
    OK(cudaMemcpy(&value, total, sizeof value, cudaMemcpyDeviceToHost));
    CHECK(value == 10);
    IS(cudaErrorCooperativeLaunchTooLarge,
       cudaLaunchCooperativeKernel(sum, 1 << 20, 32, arguments));
    OK(cudaFree(parts));
    OK(cudaFree(total));
    return ok();
}
