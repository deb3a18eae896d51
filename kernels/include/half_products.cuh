// Products of tiles of halves in shared memory, summed in registers by four warps.
#pragma once

#include "half_tiles.cuh"
#include "vector.cuh"

// A tile of ROWS x COLUMNS sums, of which each warp has a quarter. A and B are the shapes of the tiles
// of the factors.
template <class T, class A, class B, int ROWS, int COLUMNS>
struct HalfProduct {
    // A warp's part, and the steps of 16 in it.
    static constexpr int HEIGHT = ROWS / 2, WIDTH = COLUMNS / 2;
    static constexpr int DOWN = HEIGHT / STEP, ACROSS = WIDTH / STEP;

    // What is multiplied in a step of the depth.
    struct StepFactors {
        Fragment left[DOWN], right[ACROSS];
    };

    float sums[DOWN][2 * ACROSS][4];
    int lane, row, column;

    __device__ HalfProduct(int thread) : sums{} {
        const int warp = thread / 32;
        lane = thread % 32;
        row = warp / 2 * HEIGHT;
        column = warp % 2 * WIDTH;
    }

    // Loads the factors of the step at `depth` in two tiles.
    __device__ void load(StepFactors& factors, uint32_t a, uint32_t b, int depth) const {
#pragma unroll
        for (int i = 0; i < DOWN; ++i)
            factors.left[i] = A::template fragment<true>(a, row + i * STEP, depth, lane);
#pragma unroll
        for (int j = 0; j < ACROSS; ++j)
            factors.right[j] = B::template fragment<false>(b, column + j * STEP, depth, lane);
    }

    // Adds the products of a step.
    __device__ void multiply(const StepFactors& factors) {
#pragma unroll
        for (int i = 0; i < DOWN; ++i) {
#pragma unroll
            for (int j = 0; j < ACROSS; ++j) {
                const auto& [w] = factors.right[j];
                add_products<T>(sums[i][2 * j], factors.left[i], w[0], w[1]);
                add_products<T>(sums[i][2 * j + 1], factors.left[i], w[2], w[3]);
            }
        }
    }

    // Adds the products of two tiles that are DEPTH deep.
    template <int DEPTH>
    __device__ void add(uint32_t a, uint32_t b) {
#pragma unroll
        for (int depth = 0; depth < DEPTH; depth += STEP) {
            StepFactors factors;
            load(factors, a, b, depth);
            multiply(factors);
        }
    }

    // Calls visit(row, column, x, y) for what this thread has: pairs of sums side by side, from an even
    // column of the tile on.
    template <class Visit>
    __device__ void for_pairs(Visit visit) const {
#pragma unroll
        for (int i = 0; i < DOWN; ++i) {
#pragma unroll
            for (int j = 0; j < 2 * ACROSS; ++j) {
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    visit(row + i * STEP + half * 8 + lane / 4, column + j * 8 + lane % 4 * 2,
                          sums[i][j][2 * half], sums[i][j][2 * half + 1]);
                }
            }
        }
    }
};

// Stores a pair of sums in a row of a result, of which so many elements are left. Pairs of an `even`
// row lie at multiples of their size.
template <class Out>
__device__ void store_sums(Out* to, int64_t left, bool even, float x, float y) {
    if (even && left > 1) {
        // As one word: the compiler splits a pair of elements, since they are stored below, too.
        if constexpr (std::is_same_v<Out, float>) {
            const uint64_t high = __float_as_uint(y);
            *reinterpret_cast<uint64_t*>(to) = high << 32 | __float_as_uint(x);
        } else {
            *reinterpret_cast<uint32_t*>(to) = pack_halves<Out>(x, y);
        }
    } else {
        if (left > 0) to[0] = convert<Out>(x);
        if (left > 1) to[1] = convert<Out>(y);
    }
}

// Two neighbouring halves in a line of a tile, which a thread loads from memory, and how they lie in
// shared memory.
constexpr int PAIR_BYTES = 4;
constexpr int PAIRS = CHUNK / 2;

// A thread's pairs of COUNT lines on their way from memory: they are put together only when they are
// stored, so that nothing waits for them before. There are less than 2^31 halves.
template <int COUNT>
struct PairLoader {
    uint32_t low[COUNT], high[COUNT];

    // Loads the halves that exist, from two offsets on in lines that lie `distance` apart, of which
    // there are `count`; others are zeros.
    template <bool ALL>
    __device__ void fetch(const uint16_t* data, uint32_t first, bool has_first, uint32_t second,
                          bool has_second, uint32_t distance, int count) {
#pragma unroll
        for (int e = 0; e < COUNT; ++e, first += distance, second += distance) {
            const bool exists = ALL || e < count;
            low[e] = has_first && exists ? data[first] : 0;
            high[e] = has_second && exists ? data[second] : 0;
        }
    }

    // The same for pairs that lie side by side at multiples of their size.
    __device__ void fetch_whole(const uint16_t* data, uint32_t first, bool exists,
                                uint32_t distance) {
#pragma unroll
        for (int e = 0; e < COUNT; ++e, first += distance) {
            low[e] = exists ? *reinterpret_cast<const uint32_t*>(data + first) : 0;
            high[e] = 0;
        }
    }

    // Loads the halves at two offsets from `start` on, negative where there is nothing. They lie side
    // by side for all of the warp if `whole`.
    __device__ void fetch(const uint16_t* data, uint32_t start, const int32_t (&at)[2], bool whole,
                          uint32_t distance, int count) {
        const uint32_t first = start + at[0], second = start + at[1];
        const bool has_first = at[0] >= 0, has_second = at[1] >= 0;
        if (count < COUNT) {
            fetch<false>(data, first, has_first, second, has_second, distance, count);
        } else if (whole) {
            fetch_whole(data, first, has_first, distance);
        } else {
            fetch<true>(data, first, has_first, second, has_second, distance, count);
        }
    }

    __device__ uint32_t pair(int e) const { return low[e] + (high[e] << 16); }
};

// Whether the offsets of a thread's halves, negative where there is none, are those of a pair that lies
// side by side at an even one, for all threads of the warp.
__device__ inline bool are_whole(const int32_t (&at)[2]) {
    const bool are_none = (at[0] & at[1]) < 0;
    const bool is_whole = at[0] % 2 == 0 && at[1] == at[0] + 1;
    return __all_sync(~0u, are_none || is_whole);
}

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
