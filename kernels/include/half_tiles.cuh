// Tiles of matrices of halves on their way from memory through shared memory to tensor cores.
//
// A tile has so many rows, or columns, and a depth, DEPTH of what is summed over. It lies in shared
// memory as the matrix lies in memory: in lines along the depth, or across it, which ldmatrix
// transposes. So both are read and written 16 bytes at a time.
#pragma once

#include "tensor_cores.cuh"
#include "view.cuh"

// The depth of a tensor core's step.
constexpr int STEP = 16;

// The halves that are copied together, 16 bytes.
constexpr int CHUNK = 8;
constexpr int CHUNK_BYTES = 16;

// The threads of a block: four warps.
constexpr int HALF_THREADS = 128;

// Lines of WIDTH halves in shared memory, at a multiple of their size.
template <int LINES_, int WIDTH>
struct HalfLines {
    static constexpr int LINES = LINES_;
    static constexpr int CHUNKS = WIDTH / CHUNK;
    static constexpr int BYTES = LINES * WIDTH * 2;

    // Where a chunk lies. Shared memory gives 128 bytes at a time, eight chunks of different places
    // modulo that; eight lines' chunks of the same number, which ldmatrix reads together, are moved
    // apart.
    static __device__ uint32_t place(int line, int chunk) {
        constexpr int TOGETHER = CHUNKS < 8 ? 8 / CHUNKS : 1;
        constexpr int PLACES = CHUNKS < 8 ? CHUNKS : 8;
        return (line * CHUNKS + (chunk ^ line / TOGETHER % PLACES)) * CHUNK_BYTES;
    }

    // Loads 16 lines from `line` on and 16 columns from `column` on, both multiples of 16, as a
    // fragment of the left or the right factor. What is summed over lies along the lines if DEEP,
    // else across them.
    template <bool LEFT, bool DEEP>
    static __device__ Fragment fragment(uint32_t tile, int line, int column, int lane) {
        // The quarter that the lane has a line of.
        const int first = lane / 8 % 2, second = lane / 16;
        constexpr bool FIRST_DOWN = LEFT == DEEP;
        const int down = FIRST_DOWN ? first : second, along = FIRST_DOWN ? second : first;
        // Columns are the lower bits of a place. So all fragments of a tile are found from one.
        const uint32_t own = tile + place(down * 8 + lane % 8, along);
        const uint32_t row = (own ^ column / CHUNK * CHUNK_BYTES) + line * CHUNKS * CHUNK_BYTES;
        return load_fragment<!DEEP>(row);
    }
};

// The shape of a tile of SIZE rows: lines along the depth if DEEP, else along the rows.
template <int SIZE, bool DEEP, int DEPTH>
struct HalfTile : HalfLines<DEEP ? SIZE : DEPTH, DEEP ? DEPTH : SIZE> {
    using Lines = HalfLines<DEEP ? SIZE : DEPTH, DEEP ? DEPTH : SIZE>;

    // Loads 16 rows from `row` on and one step from `depth` on as a fragment.
    template <bool LEFT>
    static __device__ Fragment fragment(uint32_t tile, int row, int depth, int lane) {
        return DEEP ? Lines::template fragment<LEFT, true>(tile, row, depth, lane)
                    : Lines::template fragment<LEFT, false>(tile, depth, row, lane);
    }
};

// A thread's part in copying tiles of a matrix, one after the other in the direction of depth.
template <class T, int SIZE, bool DEEP, int DEPTH>
struct HalfLoader {
    using Tile = HalfTile<SIZE, DEEP, DEPTH>;
    static constexpr int EACH = Tile::LINES * Tile::CHUNKS / HALF_THREADS;
    static constexpr int LINE_STEP = HALF_THREADS / Tile::CHUNKS;

    // The first chunk of this thread in the tile that comes next.
    const T* from;
    // The distances of lines, and of elements in a line.
    int64_t line_stride, unit;
    // How many rows from the tile's first one on the matrix has, SIZE at most.
    int rows_left;
    int line, chunk;
    // Whether chunks may be copied whole.
    bool in_chunks;

    __device__ HalfLoader(const View<T>& view, int64_t first, int thread) {
        line = thread / Tile::CHUNKS;
        chunk = thread % Tile::CHUNKS;
        unit = DEEP ? view.depth_stride : view.stride;
        line_stride = DEEP ? view.stride : view.depth_stride;
        from = view.data + first * view.stride + line * line_stride + chunk * CHUNK * unit;
        rows_left = static_cast<int>(view.size - first < SIZE ? view.size - first : SIZE);
        const bool aligned = reinterpret_cast<uintptr_t>(view.data) % CHUNK_BYTES == 0;
        in_chunks = aligned && unit == 1 && line_stride % CHUNK == 0;
    }

    // Begins to copy the next tile, from whose first element on the matrix is `left` deep. Elements
    // outside the matrix are zeros.
    __device__ void fetch(uint32_t tile, int64_t left) {
        const int depth_left = static_cast<int>(left < DEPTH ? left : DEPTH);
        if (in_chunks && rows_left == SIZE && depth_left == DEPTH) {
#pragma unroll
            for (int e = 0; e < EACH; ++e) {
                begin_copy(tile + Tile::place(line + e * LINE_STEP, chunk),
                           from + e * LINE_STEP * line_stride);
            }
        } else if (depth_left > 0) {
#pragma unroll 1
            for (int e = 0; e < EACH; ++e) fetch_part(tile, depth_left, e);
        }
        from += DEPTH * (DEEP ? unit : line_stride);
    }

    // A chunk that may be outside, or not lie as chunks do.
    __device__ void fetch_part(uint32_t tile, int depth_left, int e) {
        const int own = line + e * LINE_STEP;
        const int lines_left = DEEP ? rows_left : depth_left;
        const int along = (DEEP ? depth_left : rows_left) - chunk * CHUNK;
        const int count = own < lines_left ? along : 0;
        const T* const first = from + e * LINE_STEP * line_stride;
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
