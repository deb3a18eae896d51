// Blocks and grids: barriers of all kinds, bounds, clocks, clusters of one block.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void grid_sync(int* cells, int* out) {
    cg::grid_group grid = cg::this_grid();
    unsigned long long rank = grid.thread_rank();
    cells[rank] = (int)rank + 1;
    grid.sync();
    int next = cells[(rank + blockDim.x) % grid.size()];
    grid.sync();
    cells[rank] = next * 2;
    grid.sync();
    out[rank] = cells[(rank + 1) % grid.size()] + grid.is_valid() * 1000;
}

extern "C" __global__ void __launch_bounds__(64, 2) barriers(const int* in, int* out) {
    int t = threadIdx.x, v = in[t];
    out[4 * t + 0] = __syncthreads_count(v & 1);
    out[4 * t + 1] = __syncthreads_and(v < 50);
    out[4 * t + 2] = __syncthreads_or(v == 7);
    __shared__ int cells[64];
    // The halves of the block hand values over through named barriers.
    if (t < 32) {
        cells[t] = v;
        asm volatile("bar.arrive 3, 64;" ::: "memory");
        asm volatile("barrier.sync.aligned 4, 64;" ::: "memory");
        out[4 * t + 3] = cells[32 + t];
    } else {
        asm volatile("bar.sync 3, 64;" ::: "memory");
        cells[t] = cells[t - 32] + 1;
        __threadfence_block();
        asm volatile("barrier.cta.arrive 4, 64;" ::: "memory");
        out[4 * t + 3] = v;
    }
}

extern "C" __global__ void unrolled(const float* in, float* out, int n) {
    float sum = 0;
#pragma unroll 1
    for (int i = 0; i < n; ++i) sum += in[i];
#pragma unroll 4
    for (int i = 0; i < n; ++i) sum = sum * 0.5f + in[i];
    out[threadIdx.x] = sum * (threadIdx.x + 1);
}

extern "C" __global__ void clocks(unsigned* out) {
    long long start = clock64(), first = clock();
    unsigned long long timer, later;
    unsigned low = 0, sm, count, slot = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer));
    asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(low));
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    asm volatile("mov.u32 %0, %%nsmid;" : "=r"(count));
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(later));
    asm volatile("mov.u32 %0, %%clock_hi;" : "=r"(slot));
    __nanosleep(100);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(later));
    out[threadIdx.x] = (clock64() >= start) + 2 * (later >= timer) + 4 * (sm < count) + 8 * (timer != 0) +
                       16 * (first != -1);
}

// Each block is a cluster of its own unless a launch says otherwise.
extern "C" __global__ void clusters(unsigned* out) {
    unsigned* own = out + 6 * threadIdx.x;
    for (int i = 0; i < 6; ++i) own[i] = i == 1 || i == 3;
#if __CUDA_ARCH__ >= 900
    __shared__ int cell;
    cg::cluster_group cluster = cg::this_cluster();
    own[0] = cluster.block_rank();
    own[1] = cluster.num_blocks();
    asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(own[2]));
    asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(own[3]));
    cluster.sync();
    cell = 7;
    int* mapped = cluster.map_shared_rank(&cell, 0);
    own[4] = *mapped - 7;
    own[5] = cluster.query_shared_rank(&cell);
    cluster.barrier_arrive();
    cluster.barrier_wait();
#endif
}

// Launches that overlap: the kernel before has always ended.
extern "C" __global__ void dependent(const int* in, int* out) {
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
#endif
    out[threadIdx.x] = in[threadIdx.x] + blockIdx.x;
}

extern "C" __global__ void three_axes(unsigned* out) {
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
}

// The last block to finish adds up what all have left behind.
extern "C" __global__ void last_block(const float* in, int n, float* partial, unsigned* done, float* out) {
    __shared__ float sums[128];
    __shared__ bool is_last;
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sums[0];
        __threadfence();
        is_last = atomicAdd(done, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        float all = 0;
        for (int i = 0; i < gridDim.x; ++i) all += ((volatile float*)partial)[i];
        out[0] = all;
    }
}
