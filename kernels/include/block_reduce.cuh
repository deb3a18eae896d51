// Folding the states of a block's threads, or of each group of threads in it, to one.
#pragma once

#include "abi.cuh"

// Gives every thread the merged states of its group: `lanes` threads (a power of two), `stride`
// apart, of which it is number `lane`. The tree is always the same, so the same states give the
// same bits. Every thread of the block must call it, with the same `lanes`.
template <class State, class Merge>
__device__ State merge_lanes(State state, int lane, int lanes, int stride, Merge merge) {
    if (lanes == 1) return state;
    __shared__ State states[MAX_THREADS];
    State* const own = &states[threadIdx.x];
    *own = state;
    __syncthreads();
#pragma unroll 1
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
        if (lane < distance) *own = merge(*own, own[distance * stride]);
        __syncthreads();
    }
    const State merged = own[-lane * stride];
    // Before the next call writes, all must have read.
    __syncthreads();
    return merged;
}

// The most threads of a block that merge_lanes() can take as one group.
__device__ inline int lanes_of_block() { return 1 << (31 - __clz(blockDim.x)); }
