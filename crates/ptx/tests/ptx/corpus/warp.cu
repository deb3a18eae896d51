// Operations of a warp: votes, matches, shuffles, reductions, groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;

extern "C" __global__ void shuffles(const double* in, double* out) {
    int t = threadIdx.x;
    double x = in[t];
    double* own = out + 9 * t;
    own[0] = __shfl_sync(~0u, x, 3);
    own[1] = __shfl_up_sync(~0u, x, 2);
    own[2] = __shfl_down_sync(~0u, x, 2);
    own[3] = __shfl_xor_sync(~0u, x, 7);
    own[4] = __shfl_up_sync(~0u, (float)x, 3, 8);
    own[5] = __shfl_down_sync(~0u, (int)x, 1, 4);
    own[6] = __shfl_xor_sync(~0u, (long long)x, 1, 16);
    own[7] = __half2float(__shfl_sync(~0u, __double2half(x), t * 5, 16));
    own[8] = __low2float(__shfl_xor_sync(~0u, __floats2half2_rn((float)x, 0.0f), 16));
}

extern "C" __global__ void matches(const unsigned long long* in, unsigned* out) {
    int t = threadIdx.x;
    unsigned* own = out + 5 * t;
    int all;
    own[0] = __match_any_sync(~0u, in[t]);
    own[1] = __match_all_sync(~0u, in[t], &all);
    own[2] = all;
    own[3] = __match_any_sync(~0u, (float)(in[t] & 3));
    own[4] = __match_all_sync(~0u, in[t] >= 0, &all) + all;
}

#if __CUDA_ARCH__ >= 800
#define REDUX(name, value) __reduce_##name##_sync(~0u, value)
#else
#define REDUX(name, value) folded_##name(value)
template <class T, class F>
__device__ T folded(T x, F f) {
    for (int i = 16; i > 0; i /= 2) x = f(x, __shfl_xor_sync(~0u, x, i));
    return x;
}
#define FOLDED(name, expression) \
    template <class T>           \
    __device__ T folded_##name(T x) { return folded(x, [](T a, T b) { return expression; }); }
FOLDED(add, a + b)
FOLDED(min, a < b ? a : b)
FOLDED(max, a < b ? b : a)
FOLDED(and, a & b)
FOLDED(or, a | b)
FOLDED(xor, a ^ b)
#endif

extern "C" __global__ void redux(const int* in, int* out) {
    int t = threadIdx.x, v = in[t];
    int* own = out + 8 * t;
    own[0] = REDUX(add, v);
    own[1] = REDUX(min, v);
    own[2] = REDUX(max, v);
    own[3] = (int)REDUX(min, (unsigned)v);
    own[4] = (int)REDUX(max, (unsigned)v);
    own[5] = (int)REDUX(and, (unsigned)v | 0xf0);
    own[6] = (int)REDUX(or, (unsigned)v & 0xff);
    own[7] = (int)REDUX(xor, (unsigned)v);
}

// Counts with one atomic operation for all lanes that are here.
extern "C" __global__ void aggregated(const int* in, unsigned* counter, unsigned* places) {
    int t = threadIdx.x;
    if (in[t] > 0) {
        unsigned mask = __activemask();
        int leader = __ffs(mask) - 1;
        unsigned below = mask & ((1u << (t & 31)) - 1), start = 0;
        if ((t & 31) == leader) start = atomicAdd(counter, __popc(mask));
        places[t] = __shfl_sync(mask, start, leader) + __popc(below);
    }
}

extern "C" __global__ void tiles(const int* in, int* out) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int v = in[block.thread_rank()];
    int sum = cg::reduce(tile, v, cg::plus<int>());
    int most = cg::reduce(tile, v, cg::greater<int>());
    int first = tile.shfl(v, 0);
    unsigned odd = tile.ballot(v & 1);
    tile.sync();
    out[4 * block.thread_rank() + 0] = sum + tile.meta_group_rank();
    out[4 * block.thread_rank() + 1] = most;
    out[4 * block.thread_rank() + 2] = first;
    out[4 * block.thread_rank() + 3] = odd;
}

extern "C" __global__ void coalesced(const int* in, int* out) {
    int t = threadIdx.x;
    if (in[t] & 1) {
        cg::coalesced_group group = cg::coalesced_threads();
        out[2 * t] = group.size();
        out[2 * t + 1] = group.shfl(in[t], group.size() - 1) * 100 + group.thread_rank();
    }
}

extern "C" __global__ void elected(unsigned* out) {
    unsigned leader = 0, chosen = threadIdx.x == 0;
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %1, 1, 0, p; }" : "=r"(leader), "=r"(chosen));
#endif
    out[threadIdx.x] = leader + 10 * chosen;
    __nanosleep(20);
}

extern "C" __global__ void lanes(unsigned* out) {
    unsigned* own = out + 6 * threadIdx.x;
    asm("mov.u32 %0, %%laneid;" : "=r"(own[0]));
    asm("mov.u32 %0, %%lanemask_eq;" : "=r"(own[1]));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(own[2]));
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(own[3]));
    asm("mov.u32 %0, %%warpid;" : "=r"(own[4]));
    asm("mov.u32 %0, %%nwarpid;" : "=r"(own[5]));
}

// A warp in which each lane goes a way of its own, and all meet again.
extern "C" __global__ void ways(const int* in, int* out) {
    int t = threadIdx.x, v = in[t], sum = 0;
    for (int i = 0; i < v; ++i) {
        sum += i * t;
        if (sum > 100 && (i & 1)) continue;
        if (sum > 1000) break;
        sum ^= i;
    }
    __syncwarp();
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
    if (t == 0) out[0] = sum;
    out[1 + t] = __any_sync(~0u, v == 5) + 2 * __all_sync(~0u, v >= 0);
}
