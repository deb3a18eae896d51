// c = a b for batches of matrices. Tiles of both operands pass through shared memory; each thread
// keeps its sums in registers.
#include "arithmetic.cuh"
#include "block_reduce.cuh"
#include "tables.cuh"
#include "tiles.cuh"
#include "view.cuh"

// In large matrices a thread computes 8 x 8 or 4 x 4 elements, and so uses as many times what it
// reads from shared memory. In small ones that would leave too few blocks.
constexpr int FEW = 1;
constexpr int MANY = 4;
constexpr int MOST = 8;

// A thread's part in copying a strip of a matrix to tiles, one after the other in the direction of
// depth. Its elements of a tile have the same depth, or the same place along the size.
template <class T, int EACH>
struct Loader {
    static constexpr int SIZE = SIDE * EACH;
    // The depths that a block reads at once where neighbouring threads lie along the size.
    static constexpr int DEPTHS = THREADS / SIZE;

    // The first element that this thread copies.
    const T* element;
    // The same in rows and columns of the tile, and how far the matrix still reaches.
    int i, d, i_left;
    int64_t d_left;
    // As they lie in memory: to convert them at once would make each load wait for the one before.
    T loaded[EACH];

    // Neighbouring threads read what lies side by side.
    __device__ Loader(const View<T>& view, int64_t first, int thread) {
        const bool along_i = view.stride == 1;
        i = along_i ? thread % SIZE : thread / SIDE;
        d = along_i ? thread / SIZE : thread % SIDE;
        i_left = at_most(SIZE, view.size - first - i);
        d_left = view.depth - d;
        element = view.data + (first + i) * view.stride + d * view.depth_stride;
    }

    __device__ static int at_most(int most, int64_t number) {
        return number < most ? static_cast<int>(number) : most;
    }

    // Elements outside the matrix are zeros, which only meet the zeros outside the other one, or
    // sums that are not stored. Distances are computed anew for each tile: kept, they would take
    // registers that the sums need.
    __device__ void fetch(const View<T>& view) {
        const bool along_i = view.stride == 1;
        const int64_t step = along_i ? DEPTHS * view.depth_stride : SIDE * view.stride;
        const int count = along_i ? (i_left > 0 ? at_most(SIDE, d_left + (DEPTHS - 1)) / DEPTHS : 0)
                                  : (d_left > 0 ? (i_left + SIDE - 1) / SIDE : 0);
        const T* at = element;
#pragma unroll
        for (int e = 0; e < EACH; ++e, at += step) loaded[e] = e < count ? *at : T{};
        element += SIDE * view.depth_stride;
        d_left -= SIDE;
    }

    __device__ void put(const View<T>& view, Tile<T, EACH>& tile) const {
        const bool along_i = view.stride == 1;
        const int i_step = along_i ? 0 : SIDE, d_step = along_i ? DEPTHS : 0;
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            tile.rows[d + e * d_step][i + e * i_step] = load<T>(loaded[e]);
        }
    }
};

// The part of c whose first element is (row, col).
template <class T, int EACH>
__device__ void multiply_tile(T* c, const View<T>& a, const View<T>& b, int64_t row, int64_t col) {
    __shared__ Tile<T, EACH> a_tile;
    __shared__ Tile<T, EACH> b_tile;
    const int thread = threadIdx.y * SIDE + threadIdx.x;
    Loader<T, EACH> a_loader(a, row, thread);
    Loader<T, EACH> b_loader(b, col, thread);
    Value<T> sums[EACH][EACH] = {};
    a_loader.fetch(a);
    b_loader.fetch(b);
#pragma unroll 1
    for (int64_t deep = 0; deep < a.depth; deep += SIDE) {
        a_loader.put(a, a_tile);
        b_loader.put(b, b_tile);
        __syncthreads();
        // The next tiles are on their way while these are worked on; after the last ones, nothing
        // is left to fetch.
        a_loader.fetch(a);
        b_loader.fetch(b);
        add_products<T, EACH, 2>(sums, a_tile, b_tile);
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
            const int64_t r = row + place<EACH>(threadIdx.y, i);
            const int64_t s = col + place<EACH>(threadIdx.x, j);
            if (r < a.size && s < b.size) c[r * b.size + s] = convert<T>(sums[i][j]);
        }
    }
}

// Tiles of SIDE x EACH elements in each direction.
template <class T, int EACH>
__device__ void multiply_tiles(T* c, const View<T>& a, const View<T>& b) {
    constexpr int64_t SIZE = SIDE * EACH;
    for (int64_t row = blockIdx.y * SIZE; row < a.size; row += gridDim.y * SIZE) {
        for (int64_t col = blockIdx.x * SIZE; col < b.size; col += gridDim.x * SIZE) {
            multiply_tile<T, EACH>(c, a, b, row, col);
        }
    }
}

// A product in tiles of SIDE x EACH elements.
template <int EACH>
struct Tiles {
    template <class T>
    __device__ static void multiply(T* c, const View<T>& a, const View<T>& b) {
        multiply_tiles<T, EACH>(c, a, b);
    }
};

// The product of a matrix with a vector, `b`, where neighbours along the depth lie side by side:
// each warp adds up whole rows. Blocks lie along y.
struct WholeRows {
    template <class T>
    __device__ static void multiply(T* c, const View<T>& a, const View<T>& b) {
        constexpr int WARPS = THREADS / WARP, TOGETHER = 8;
        const int thread = thread_of_block(), lane = thread % WARP;
        int64_t row = static_cast<int64_t>(blockIdx.y) * WARPS + thread / WARP;
        for (; row < a.size; row += static_cast<int64_t>(gridDim.y) * WARPS) {
            const T* const elements = a.data + row * a.stride;
            Value<T> sum{0};
            int64_t d = lane;
            for (; d + (TOGETHER - 1) * WARP < a.depth; d += TOGETHER * WARP) {
                // All are on their way before the first is used, whatever the compiler makes of it.
                T own[TOGETHER], factors[TOGETHER];
#pragma unroll
                for (int i = 0; i < TOGETHER; ++i) {
                    own[i] = elements[d + i * WARP];
                    factors[i] = b.data[(d + i * WARP) * b.depth_stride];
                }
#pragma unroll
                for (int i = 0; i < TOGETHER; ++i) {
                    sum = plus(sum, times(load<T>(own[i]), load<T>(factors[i])));
                }
            }
            for (; d < a.depth; d += WARP) {
                sum = plus(sum, times(load<T>(elements[d]), load<T>(b.data[d * b.depth_stride])));
            }
            sum = merge_in_warp(sum, WARP, [](Value<T> a, Value<T> b) { return plus(a, b); });
            if (lane == 0) c[row] = convert<T>(sum);
        }
    }
};

template <class T, class Way>
__device__ void matmul(const Matmul& args) {
    for_products<T>(args, [&](int64_t product, const View<T>& a, const View<T>& b) {
        Way::multiply(static_cast<T*>(args.c) + product * args.m * args.n, a, b);
    });
}

#define MATMUL(name, Way, T)                                                        \
    extern "C" __global__ void __launch_bounds__(THREADS) name##_##T(Matmul args) { \
        matmul<T, Way>(args);                                                       \
    }
// Two blocks on a multiprocessor hide each other's waits.
#define MATMUL_LARGE(name, Way, T)                                                     \
    extern "C" __global__ void __launch_bounds__(THREADS, 2) name##_##T(Matmul args) { \
        matmul<T, Way>(args);                                                          \
    }

FOR_NUMBERS(MATMUL, matmul_small, Tiles<FEW>)
FOR_NUMBERS(MATMUL, matmul, Tiles<MANY>)
FOR_FLOATS(MATMUL, matmul_rows, WholeRows)
// Eight times eight numbers of 64 bits would not fit into a thread's registers.
MATMUL_LARGE(matmul_large, Tiles<MOST>, f16)
MATMUL_LARGE(matmul_large, Tiles<MOST>, bf16)
MATMUL_LARGE(matmul_large, Tiles<MOST>, f32)
