// From the linear index of an element to where it lies in memory.
#pragma once

#include <cstdint>

#include "abi.cuh"

// Calls visit(dimension, coordinate) for each dimension, innermost first. The outermost coordinate is what the others leave,
// so one dimension costs no division. The loop is not unrolled: sizes and strides are read from the parameters by address.
template <class Int, class Visit>
__device__ void for_each_coordinate(Int linear, int32_t dims, const int64_t (&sizes)[MAX_DIMS], Visit visit) {
    Int rest = linear;
#pragma unroll 1
    for (int32_t d = dims - 1; d > 0; --d) {
        const Int size = static_cast<Int>(sizes[d]);
        const Int next = rest / size;
        visit(d, rest - next * size);
        rest = next;
    }
    visit(0, rest);
}

// Divides in 32 bits where all of `count` elements can be numbered so: several times cheaper than in 64, and the same for all threads.
template <class Visit>
__device__ void walk(int64_t linear, int64_t count, int32_t dims, const int64_t (&sizes)[MAX_DIMS], Visit visit) {
    if (count <= INT32_MAX) {
        for_each_coordinate(static_cast<uint32_t>(linear), dims, sizes, visit);
    } else {
        for_each_coordinate(static_cast<uint64_t>(linear), dims, sizes, visit);
    }
}

// Grid-stride loops start here and step by grid_threads(): right for any grid, also one smaller than the work.
__device__ inline int64_t grid_thread() {
    return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ inline int64_t grid_threads() {
    return static_cast<int64_t>(gridDim.x) * blockDim.x;
}
