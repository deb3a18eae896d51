// Tiles of matrices of halves on their way from memory through shared memory to tensor cores.
//
// A tile has as many rows along the summed dimension, its depth, or as many columns, and DEPTH of
// what is summed over. It lies in shared memory as the matrix lies in memory: in lines along the
// depth, or across it, which ldmatrix transposes. So both are read and written 16 bytes at a time.
#pragma once

#include "tensor_cores.cuh"
#include "view.cuh"

// The depth of a tile, two steps of a tensor core.
constexpr int DEPTH = 32;
constexpr int STEP = 16;

// The halves that are copied together, 16 bytes.
constexpr int CHUNK = 8;
constexpr int CHUNK_BYTES = 16;

// The threads of a block: four warps.
constexpr int HALF_THREADS = 128;

// The shape of a tile of SIZE rows: lines along the depth if DEEP, else along the rows.
template <int SIZE, bool DEEP>
struct HalfTile {
    static constexpr int LINES = DEEP ? SIZE : DEPTH;
    static constexpr int CHUNKS = (DEEP ? DEPTH : SIZE) / CHUNK;
    static constexpr int BYTES = SIZE * DEPTH * 2;

    // Where a chunk lies. Shared memory gives 128 bytes at a time, eight chunks of different places
    // modulo that; eight lines' chunks of the same number, which ldmatrix reads together, are moved
    // apart.
    static __device__ uint32_t place(int line, int chunk) {
        constexpr int TOGETHER = CHUNKS < 8 ? 8 / CHUNKS : 1;
        constexpr int PLACES = CHUNKS < 8 ? CHUNKS : 8;
        return (line * CHUNKS + (chunk ^ line / TOGETHER % PLACES)) * CHUNK_BYTES;
    }

    // Loads 16 rows from `row` on and one step from `depth` on, both multiples of 16, as a fragment
    // of the left or the right factor.
    template <bool LEFT>
    static __device__ Fragment fragment(uint32_t tile, int row, int depth, int lane) {
        // The quarter that the lane has a row of.
        const int first = lane / 8 % 2, second = lane / 16;
        const int down = LEFT ? first : second, along = LEFT ? second : first;
        if constexpr (DEEP) {
            const int line = row + down * 8 + lane % 8;
            return load_fragment<false>(tile + place(line, depth / CHUNK + along));
        } else {
            const int line = depth + along * 8 + lane % 8;
            return load_fragment<true>(tile + place(line, row / CHUNK + down));
        }
    }
};

// A thread's part in copying tiles of a matrix, one after the other in the direction of depth.
template <class T, int SIZE, bool DEEP>
struct HalfLoader {
    using Tile = HalfTile<SIZE, DEEP>;
    static constexpr int EACH = Tile::LINES * Tile::CHUNKS / HALF_THREADS;
    static constexpr int LINE_STEP = HALF_THREADS / Tile::CHUNKS;

    // The first chunk of this thread in the tile that comes next, and the distance to its others.
    const T* from;
    int64_t step, advance;
    // The distance of elements in a line.
    int64_t unit;
    // How far the matrix still reaches from the tile's first element.
    int64_t rows_left, depth_left;
    int line, chunk;
    // Whether chunks may be copied whole, and whether all rows are inside.
    bool in_chunks, whole;

    __device__ HalfLoader(const View<T>& view, int64_t first, int thread) {
        line = thread / Tile::CHUNKS;
        chunk = thread % Tile::CHUNKS;
        unit = DEEP ? view.depth_stride : view.stride;
        const int64_t line_stride = DEEP ? view.stride : view.depth_stride;
        from = view.data + first * view.stride + line * line_stride + chunk * CHUNK * unit;
        step = LINE_STEP * line_stride;
        advance = DEPTH * view.depth_stride;
        rows_left = view.size - first;
        depth_left = view.depth;
        const bool aligned = reinterpret_cast<uintptr_t>(view.data) % CHUNK_BYTES == 0;
        in_chunks = aligned && unit == 1 && line_stride % CHUNK == 0;
        whole = in_chunks && rows_left >= SIZE;
    }

    // Begins to copy the next tile. Elements outside the matrix are zeros.
    __device__ void fetch(uint32_t tile) {
        if (whole && depth_left >= DEPTH) {
#pragma unroll
            for (int e = 0; e < EACH; ++e) {
                begin_copy(tile + Tile::place(line + e * LINE_STEP, chunk), from + e * step);
            }
        } else if (depth_left > 0) {
#pragma unroll 1
            for (int e = 0; e < EACH; ++e) fetch_part(tile, e);
        }
        from += advance;
        depth_left -= DEPTH;
    }

    // A chunk that may be outside, or not lie as chunks do.
    __device__ void fetch_part(uint32_t tile, int e) {
        const int own = line + e * LINE_STEP;
        const int64_t lines_left = DEEP ? rows_left : depth_left;
        const int64_t along = (DEEP ? depth_left : rows_left) - chunk * CHUNK;
        const int64_t count = own < lines_left ? along : 0;
        const T* const first = from + e * step;
        const uint32_t place = tile + Tile::place(own, chunk);
        if (in_chunks && count >= CHUNK) {
            begin_copy(place, first);
            return;
        }
        uint32_t words[CHUNK / 2];
#pragma unroll
        for (int w = 0; w < CHUNK / 2; ++w) {
            const T zero{};
            const T low = 2 * w < count ? first[2 * w * unit] : zero;
            const T high = 2 * w + 1 < count ? first[(2 * w + 1) * unit] : zero;
            words[w] = bits_of(low) | bits_of(high) << 16;
        }
        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};"
                     :
                     : "r"(place), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
                     : "memory");
    }

    static __device__ uint32_t bits_of(const T& half) {
        return *reinterpret_cast<const uint16_t*>(&half);
    }
};
