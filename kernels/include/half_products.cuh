// Products of tiles of halves in shared memory, summed in registers by four warps.
#pragma once

#include "half_tiles.cuh"

// A tile of ROWS x COLUMNS sums, of which each warp has a quarter. A and B are the shapes of the tiles
// of the factors.
template <class T, class A, class B, int ROWS, int COLUMNS>
struct HalfProduct {
    // A warp's part, and the steps of 16 in it.
    static constexpr int HEIGHT = ROWS / 2, WIDTH = COLUMNS / 2;
    static constexpr int DOWN = HEIGHT / STEP, ACROSS = WIDTH / STEP;

    float sums[DOWN][2 * ACROSS][4];
    int lane, row, column;

    __device__ HalfProduct(int thread) : sums{} {
        const int warp = thread / 32;
        lane = thread % 32;
        row = warp / 2 * HEIGHT;
        column = warp % 2 * WIDTH;
    }

    // Adds the products of two tiles that are DEPTH deep.
    template <int DEPTH>
    __device__ void add(uint32_t a, uint32_t b) {
#pragma unroll
        for (int depth = 0; depth < DEPTH; depth += STEP) {
            Fragment left[DOWN], right[ACROSS];
#pragma unroll
            for (int i = 0; i < DOWN; ++i)
                left[i] = A::template fragment<true>(a, row + i * STEP, depth, lane);
#pragma unroll
            for (int j = 0; j < ACROSS; ++j)
                right[j] = B::template fragment<false>(b, column + j * STEP, depth, lane);
#pragma unroll
            for (int i = 0; i < DOWN; ++i) {
#pragma unroll
                for (int j = 0; j < ACROSS; ++j) {
                    const auto& [w] = right[j];
                    add_products<T>(sums[i][2 * j], left[i], w[0], w[1]);
                    add_products<T>(sums[i][2 * j + 1], left[i], w[2], w[3]);
                }
            }
        }
    }

    // Calls visit(row, column, x, y) for what this thread has: pairs of sums side by side, from an even
    // column of the tile on.
    template <class Visit>
    __device__ void for_pairs(Visit visit) const {
#pragma unroll
        for (int i = 0; i < DOWN; ++i) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
#pragma unroll
                for (int j = 0; j < 2 * ACROSS; ++j) {
                    visit(row + i * STEP + half * 8 + lane / 4, column + j * 8 + lane % 4 * 2,
                          sums[i][j][2 * half], sums[i][j][2 * half + 1]);
                }
            }
        }
    }
};

// A thread's pair of neighbouring halves in a line of a tile: where it lies in its chunk, and how it
// is stored.
constexpr int PAIR_BYTES = 4;
constexpr int PAIRS = CHUNK / 2;

template <class Lines>
__device__ uint32_t pair_place(int line, int pair) {
    return Lines::place(line, pair / PAIRS) + pair % PAIRS * PAIR_BYTES;
}

__device__ inline void store_pair(uint32_t place, uint32_t pair) {
    asm volatile("st.shared.b32 [%0], %1;" : : "r"(place), "r"(pair) : "memory");
}

__device__ inline uint32_t load_pair(uint32_t place) {
    uint32_t pair;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(pair) : "r"(place) : "memory");
    return pair;
}
