// From the linear index of an element to where it lies in memory.
#pragma once

#include <cstdint>

#include "abi.cuh"

// Calls visit(dimension, coordinate) for each dimension, innermost first. The outermost coordinate
// is what the others leave, so one dimension costs no division. The loop is not unrolled: sizes and
// strides are read from the parameters by address. nvcc divides in 32 bits wherever the numbers of
// a division fit, which a second version of this loop would only repeat.
template <class Visit>
__device__ void walk(int64_t linear, int32_t dims, const int64_t (&sizes)[MAX_DIMS], Visit visit) {
    uint64_t rest = linear;
#pragma unroll 1
    for (int32_t d = dims - 1; d > 0; --d) {
        const uint64_t size = sizes[d];
        const uint64_t next = rest / size;
        visit(d, static_cast<int64_t>(rest - next * size));
        rest = next;
    }
    visit(0, static_cast<int64_t>(rest));
}

// Grid-stride loops start here and step by grid_threads(): right for any grid, also one smaller
// than the work.
__device__ inline int64_t grid_thread() {
    return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ inline int64_t grid_threads() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }
