// Folding the states of a block's threads, or of each group of threads in it, to one.
#pragma once

#include "abi.cuh"

constexpr int WARP = 32;

// The number of the thread in its block, as warps count: along x first.
__device__ inline int thread_of_block() { return threadIdx.y * blockDim.x + threadIdx.x; }

// The value of the thread of this warp whose number differs in one bit.
template <class V>
__device__ V exchange(V value, int distance) {
    if constexpr (sizeof(V) < sizeof(int)) {
        return static_cast<V>(__shfl_xor_sync(0xffffffff, static_cast<int>(value), distance));
    } else {
        return __shfl_xor_sync(0xffffffff, value, distance);
    }
}

// Gives each of `lanes` neighbouring threads of a warp (a power of two) their merged states.
template <class State, class Merge>
__device__ State merge_in_warp(State state, int lanes, Merge merge) {
#pragma unroll 1
    for (int distance = lanes / 2; distance > 0; distance /= 2)
        state = merge(state, exchange(state, distance));
    return state;
}

// Shared memory for so many states. merge_neighbours() takes two for each warp of the largest block,
// merge_apart() one for each thread.
template <class State, int COUNT>
__device__ State* shared_states() {
    __shared__ State states[COUNT];
    return states;
}

// Gives every thread the merged states of its group: `lanes` neighbouring threads, of which it is
// number `lane`. `lanes` is a power of two, and groups start at a multiple of it. `turn` is 0 and 1
// in alternate calls. The tree is always the same, so the same states give the same bits. Every
// thread of the block must call it, with the same `lanes`.
template <class State, class Merge>
__device__ State merge_neighbours(State state, int lane, int lanes, int turn, State* states,
                                  Merge merge) {
    state = merge_in_warp(state, lanes < WARP ? lanes : WARP, merge);
    if (lanes <= WARP) return state;
    // Every thread folds the states of all warps of its group.
    const int warp = thread_of_block() / WARP, warps = lanes / WARP;
    // What the call before has left is read while this one writes beside it.
    states += turn * (MAX_THREADS / WARP);
    if (lane % WARP == 0) states[warp] = state;
    __syncthreads();
    const State* const own = &states[warp - warp % warps];
    state = own[0];
#pragma unroll 1
    for (int other = 1; other < warps; ++other) state = merge(state, own[other]);
    return state;
}

// The same for groups of threads that are `stride` apart.
template <class State, class Merge>
__device__ State merge_apart(State state, int lane, int lanes, int stride, State* states,
                             Merge merge) {
    if (lanes == 1) return state;
    State* const own = states + thread_of_block();
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
