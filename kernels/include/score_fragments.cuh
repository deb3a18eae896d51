// Scores of attention as tensor cores sum them: a warp has 16 rows of them, in pieces of eight columns,
// of each of which a lane has four. What is hidden of them, and what is dropped of their shares.
#pragma once

#include "attention.cuh"
#include "block_reduce.cuh"
#include "half_tiles.cuh"

// Exponentials are powers of two, for which there is an instruction.
constexpr float LOG2_E = 1.4426950408889634f;
constexpr float LN_2 = 0.6931471805599453f;

__device__ inline float power_of_two(float exponent) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
    return power;
}

// The row and the column of a lane's element, in the 16 rows of a warp.
__device__ inline int row_in_warp(int lane, int element) { return lane / 4 + element % 4 / 2 * 8; }
__device__ inline int column_of(int lane, int element) {
    return element / 4 * 8 + lane % 4 * 2 + element % 2;
}

// A head whose scores have queries as rows and keys as columns, or the other way round if BY_KEYS.
// Numbers of queries and keys are below 2^31.
template <class T, bool BY_KEYS>
struct FragmentHead : QueryHead<T> {
    using QueryHead<T>::args;
    int lane;
    // What makes an exponent of two of a product. A negative scale is the factor's that it is made of.
    float unit;

    __device__ FragmentHead(const Attention& args, int64_t number, int lane)
        : QueryHead<T>(args, number), lane(lane) {
        // Not zero, which infinity has no product with.
        constexpr float LEAST = 1.2e-38f;
        unit = fmaxf(fabsf(static_cast<float>(args.scale)) * LOG2_E, LEAST);
    }

    // Whether there may be scores that a mask changes, from (row, col) on.
    template <int PIECES>
    __device__ bool is_masked(int row, int col) const {
        const int last_row = row + 15, last_col = col + PIECES * 8 - 1;
        const int query = BY_KEYS ? col : row, last_key = BY_KEYS ? last_row : last_col;
        // Where queries are columns, those outside have no shares, and a key outside has a row for
        // itself.
        return args.mask_kind != 0 || (args.causal && last_key > query) ||
               (!BY_KEYS && last_key >= args.keys);
    }

    // Makes exponents of two of the products from (row, col) on, negative infinity where a query does
    // not see a key; returns what they are still to be multiplied by.
    template <int PIECES>
    __device__ float mask(float (&scores)[PIECES][4], int row, int col) const {
        if (!is_masked<PIECES>(row, col)) return unit;
        if (args.mask_kind == 0) {
            hide_later(scores, row, col);
            return unit;
        }
        const uint32_t bits = seen<PIECES>(row, col);
        const bool adds = args.mask_kind == 2;
        if (adds) add_mask(scores, bits, row, col);
#pragma unroll
        for (int e = 0; e < PIECES * 4; ++e)
            if (!(bits >> e & 1)) scores[e / 4][e % 4] = -INFINITY;
        return adds ? 1 : unit;
    }

    // Which shares stay, a bit for each element.
    template <int PIECES>
    __device__ uint32_t kept(int row, int col) const {
        // A word's upper 24 bits as a fraction are less than `keep`, if they are less than this.
        const uint32_t bound = __double2uint_ru(args.keep * (1 << 24));
        uint32_t bits = 0;
#pragma unroll 1
        for (int piece = 0; piece < PIECES; ++piece) {
            const uint32_t own = BY_KEYS ? kept_of_keys(row, col + piece * 8, bound)
                                         : kept_of_queries(row, col + piece * 8, bound);
            bits |= own << piece * 4;
        }
        return bits;
    }

private:
    __device__ int query_of(int row, int col) const { return BY_KEYS ? col : row; }
    __device__ int key_of(int row, int col) const { return BY_KEYS ? row : col; }

    // Hides the keys that come after a query, if it sees no later ones, and those that are outside.
    template <int PIECES>
    __device__ void hide_later(float (&scores)[PIECES][4], int row, int col) const {
        const int first_row = row + row_in_warp(lane, 0), first_col = col + column_of(lane, 0);
        if (args.causal) {
            const int ahead = key_of(first_row, first_col) - query_of(first_row, first_col);
#pragma unroll
            for (int e = 0; e < PIECES * 4; ++e) {
                const int own_row = row_in_warp(0, e), own_col = column_of(0, e);
                if (ahead > query_of(own_row, own_col) - key_of(own_row, own_col))
                    scores[e / 4][e % 4] = -INFINITY;
            }
        }
        // Where keys are rows, one outside has a row for itself.
        if (BY_KEYS || col + PIECES * 8 <= args.keys) return;
#pragma unroll
        for (int e = 0; e < PIECES * 4; ++e)
            if (first_col + column_of(0, e) >= static_cast<int>(args.keys))
                scores[e / 4][e % 4] = -INFINITY;
    }

    // Which scores count, a bit for each element. The loop leaves the registers of the scores alone.
    template <int PIECES>
    __device__ uint32_t seen(int row, int col) const {
        uint32_t bits = 0;
#pragma unroll 1
        for (int e = 0; e < PIECES * 4; ++e) {
            const int own_row = row + row_in_warp(lane, e), own_col = col + column_of(lane, e);
            const bool sees = this->sees(query_of(own_row, own_col), key_of(own_row, own_col));
            bits |= static_cast<uint32_t>(sees) << e;
        }
        return bits;
    }

    template <int PIECES>
    __device__ void add_mask(float (&scores)[PIECES][4], uint32_t bits, int row, int col) const {
        const int first_row = row + row_in_warp(lane, 0), first_col = col + column_of(lane, 0);
        const float* const mask =
            static_cast<const float*>(args.mask) +
            this->mask_place(query_of(first_row, first_col), key_of(first_row, first_col));
        const int64_t down = args.mask_strides[BY_KEYS ? 3 : 2];
        const int64_t along = args.mask_strides[BY_KEYS ? 2 : 3];
#pragma unroll
        for (int e = 0; e < PIECES * 4; ++e) {
            float& score = scores[e / 4][e % 4];
            const int64_t place = row_in_warp(0, e) * down + column_of(0, e) * along;
            const float added = bits >> e & 1 ? mask[place] : 0;
            score = score * unit + added * LOG2_E;
        }
    }

    // A block of words is that of four neighbouring keys of a query. Here lanes in pairs have these, in
    // two rows: each draws for one of the rows.
    __device__ uint32_t kept_of_queries(int row, int col, uint32_t bound) const {
        const int odd = lane % 2;
        const Words words = this->words(row + lane / 4 + odd * 8, col + lane % 4 * 2);
        const uint32_t given[2] = {exchange(odd ? words.w0 : words.w2, 1),
                                   exchange(odd ? words.w1 : words.w3, 1)};
        const uint32_t own[2] = {odd ? words.w2 : words.w0, odd ? words.w3 : words.w1};
        return (pair(own, bound) << odd * 2) | (pair(given, bound) << (1 - odd) * 2);
    }

    static __device__ uint32_t pair(const uint32_t (&words)[2], uint32_t bound) {
        return (words[0] >> 8 < bound ? 1 : 0) | (words[1] >> 8 < bound ? 2 : 0);
    }

    // Here four lanes have these, for four elements: each draws for one of them.
    __device__ uint32_t kept_of_keys(int row, int col, uint32_t bound) const {
        const int own = lane / 4 % 4;
        const int key = row + lane / 16 * 4 + own / 2 * 8, query = col + column_of(lane, own);
        const Words words = this->words(query, key);
        uint32_t bits = 0;
#pragma unroll
        for (int other = 0; other < 4; ++other) {
            // The lanes whose numbers differ in this give each other one word.
            const uint32_t word = exchange(words.word(own ^ other), other * 4);
            bits |= static_cast<uint32_t>(word >> 8 < bound) << (own ^ other);
        }
        return bits;
    }
};
