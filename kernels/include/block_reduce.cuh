// Folding the states of a block's threads, or of each group of threads in it, to one.
#pragma once

#include "abi.cuh"

// Gives every thread the merged states of its group of `lanes` neighbours (a power of two, the same for the whole block).
// The tree is always the same, so the same states give the same bits. Every thread of the block must call it.
template <class State, class Merge>
__device__ State merge_lanes(State state, int lanes, Merge merge) {
    if (lanes == 1) return state;
    __shared__ State states[MAX_THREADS];
    const int thread = threadIdx.x;
    const int lane = thread & (lanes - 1);
    states[thread] = state;
    __syncthreads();
#pragma unroll 1
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
        if (lane < distance) states[thread] = merge(states[thread], states[thread + distance]);
        __syncthreads();
    }
    const State merged = states[thread - lane];
    // Before the next call writes, all must have read.
    __syncthreads();
    return merged;
}

// The most threads of a block that merge_lanes() can take as one group.
__device__ inline int lanes_of_block() {
    return 1 << (31 - __clz(blockDim.x));
}
