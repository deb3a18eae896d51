// Rows of a head of halves as factors of products on tensor cores. A tile has WIDTH columns, which may
// be more than a head has: the others are zeros.
#pragma once

#include "attention.cuh"
#include "half_tiles.cuh"
#include "vector.cuh"

// Tiles of LINES rows, one after the other.
template <class T, int WIDTH, int LINES>
using RowLoader = HalfLoader<T, WIDTH, false, LINES>;

template <class T>
__device__ View<T> rows_from(const HeadRows<T>& rows, int64_t first) {
    return {rows.data + first * rows.stride, rows.columns, rows.rows - first, 1, rows.stride};
}

// Begins to copy LINES rows from `first` on.
template <int WIDTH, int LINES, class T>
__device__ void fetch_rows(uint32_t tile, const HeadRows<T>& rows, int64_t first, int thread) {
    RowLoader<T, WIDTH, LINES>(rows_from(rows, first), 0, thread).fetch(tile, rows.rows - first);
}

// A warp's 16 rows from `line` on, as left factors.
template <int WIDTH, int LINES>
__device__ void load_left(Fragment (&left)[WIDTH / STEP], uint32_t tile, int line, int lane) {
    using Tile = HalfLines<LINES, WIDTH>;
#pragma unroll
    for (int step = 0; step < WIDTH / STEP; ++step)
        left[step] = Tile::template fragment<true, true>(tile, line, step * STEP, lane);
}

template <int STEPS>
__device__ void negate(Fragment (&factor)[STEPS]) {
    constexpr uint32_t SIGNS = 0x80008000;
#pragma unroll
    for (Fragment& part : factor) {
#pragma unroll
        for (uint32_t& word : part.words) word ^= SIGNS;
    }
}

// Stores 16 rows of results from `to` on, `stride` apart, of which `rows` are there. They go through
// `tile`, which is the warp's alone, so that 16 bytes are stored at a time.
template <class T, int PIECES>
__device__ void store_rows(T* to, const float (&results)[PIECES][4], const float (&factors)[2],
                           int64_t stride, int64_t rows, int columns, uint8_t* tile, int lane) {
    using Tile = HalfLines<16, PIECES * 8>;
#pragma unroll
    for (int e = 0; e < PIECES * 4; e += 2) {
        const int half = e % 4 / 2, line = lane / 4 + half * 8;
        const float* const pair = &results[e / 4][e % 4];
        *reinterpret_cast<uint32_t*>(tile + Tile::place(line, e / 4) + lane % 4 * 4) =
            pack_halves<T>(pair[0] * factors[half], pair[1] * factors[half]);
    }
    __syncwarp();
    const bool in_chunks = columns % CHUNK == 0 && misalignment(to, CHUNK_BYTES) == 0;
#pragma unroll 1
    for (int chunk = lane; chunk < 16 * Tile::CHUNKS; chunk += 32) {
        const int line = chunk / Tile::CHUNKS, own = chunk % Tile::CHUNKS;
        using Halves = Pack<T, CHUNK>;
        const Halves halves = *reinterpret_cast<const Halves*>(tile + Tile::place(line, own));
        T* const first = to + line * stride + own * CHUNK;
        const int count = line < rows ? columns - own * CHUNK : 0;
        if (in_chunks && count > 0) {
            *reinterpret_cast<Halves*>(first) = halves;
        } else {
#pragma unroll
            for (int e = 0; e < CHUNK; ++e)
                if (e < count) first[e] = halves.elements[e];
        }
    }
}
