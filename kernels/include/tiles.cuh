// Tiles of two factors in shared memory, and the products of their elements, summed in registers.
#pragma once

#include "arithmetic.cuh"
#include "dtype.cuh"

// Blocks are SIDE x SIDE threads, and tiles SIDE deep.
constexpr int SIDE = 16;
constexpr int THREADS = SIDE * SIDE;

// A thread's elements lie together in fours, which it reads at once, and the fours of neighbouring
// threads lie side by side.
template <int EACH>
__device__ int place(int thread, int element) {
    constexpr int TOGETHER = EACH < 4 ? EACH : 4;
    return (element / TOGETHER * SIDE + thread) * TOGETHER + element % TOGETHER;
}

// What a block sees of a matrix at one time: SIDE rows along the summed dimension. The padding
// keeps threads that go down a column in different banks of shared memory, and rows aligned for
// wide reads.
template <class T, int EACH>
struct alignas(16) Tile {
    static constexpr int SIZE = SIDE * EACH;
    Value<T> rows[SIDE][SIZE + 4];
};

// Adds what two tiles give to the sums of this thread. What is unrolled is read ahead, for which there
// must be registers beside the sums.
template <class T, int EACH, int UNROLLED = 4>
__device__ void add_products(Value<T> (&sums)[EACH][EACH], const Tile<T, EACH>& a,
                             const Tile<T, EACH>& b) {
#pragma unroll UNROLLED
    for (int d = 0; d < SIDE; ++d) {
        Value<T> left[EACH], right[EACH];
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            left[e] = a.rows[d][place<EACH>(threadIdx.y, e)];
            right[e] = b.rows[d][place<EACH>(threadIdx.x, e)];
        }
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
#pragma unroll
            for (int j = 0; j < EACH; ++j) {
                sums[i][j] = plus(sums[i][j], times(left[i], right[j]));
            }
        }
    }
}
