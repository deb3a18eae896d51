// Rows of a dense array, each of which a group of threads works on, unit by unit.
#pragma once

#include "arithmetic.cuh"
#include "block_reduce.cuh"
#include "vector.cuh"

struct Plus {
    template <class V>
    __device__ V operator()(V a, V b) const {
        return plus(a, b);
    }
};

// What a block keeps of its rows, if that fits: `step` units of each thread after each other.
template <class Unit>
__device__ Unit& kept_unit(int64_t step) {
    extern __shared__ uint4 kept[];
    const int64_t threads = blockDim.x * blockDim.y;
    return *reinterpret_cast<Unit*>(&kept[step * threads + thread_of_block()]);
}

// The row that a thread works on, and its share of it: `steps` units, whose elements lie side by
// side where rows are `packed`, so that a unit is loaded at once; else neighbouring threads have
// neighbouring elements. The lanes of a row lie along x. If rows are `STRIDED`, what lies side by
// side are neighbouring rows: these lie along x, and the lanes of one along y.
template <class T, bool STRIDED>
struct RowShare {
    // Of a strided row, no more elements are under way than of a row of f32.
    static constexpr int WIDTH = STRIDED && PER_VECTOR<T> > 4 ? 4 : PER_VECTOR<T>;
    using Unit = Pack<T, WIDTH>;
    int64_t cols, inner, steps;
    int lane, lanes, group, groups;
    bool packed, keeps;
    int turn = 0;
    // Of the row at hand: where it starts, and its number of columns, which is 0 if there is none.
    int64_t start, own;

    // `addresses` are those of the first rows, or'ed.
    __device__ RowShare(int64_t cols, int64_t inner, bool keeps, uintptr_t addresses)
        : cols(cols), inner(STRIDED ? inner : 1), keeps(keeps) {
        lane = STRIDED ? threadIdx.y : threadIdx.x;
        lanes = STRIDED ? blockDim.y : blockDim.x;
        group = STRIDED ? threadIdx.x : threadIdx.y;
        groups = STRIDED ? blockDim.x : blockDim.y;
        packed = !STRIDED && cols % WIDTH == 0 && addresses % sizeof(Vector<T>) == 0;
        steps = (cols + static_cast<int64_t>(lanes) * WIDTH - 1) / (lanes * WIDTH);
    }

    // Visits a row of each group at a time: all threads of a block together, also those without one.
    template <class Visit>
    __device__ void for_each_row(int64_t rows, Visit visit) {
        for (int64_t first = static_cast<int64_t>(blockIdx.x) * groups; first < rows;
             first += static_cast<int64_t>(gridDim.x) * groups) {
            const int64_t row = first + group;
            own = row < rows ? cols : 0;
            start = STRIDED ? row / inner * (cols * inner) + row % inner : row * cols;
            visit(row);
        }
    }

    // The column of the first element of a unit; the others have `lanes` columns between them, or
    // lie side by side.
    __device__ int64_t first_col(int64_t step) const {
        return packed ? (step * lanes + lane) * WIDTH : step * WIDTH * lanes + lane;
    }

    // The columns from the first element of a unit to the end of the row.
    __device__ int left(int64_t step) const {
        const int64_t left = own - first_col(step);
        return left < 0 ? 0 : left < INT32_MAX ? static_cast<int>(left) : INT32_MAX;
    }

    // Whether element k of a unit is there, of which so many columns are left.
    __device__ bool has(int left, int k) const { return (packed ? 0 : k * lanes) < left; }

    // A unit of a row of elements E, which may be other than T, with `filler` for what is missing.
    template <class E>
    __device__ Pack<E, WIDTH> load_unit(const E* row, int64_t step, E filler) const {
        constexpr int PACKED = WIDTH < PER_VECTOR<E> ? WIDTH : PER_VECTOR<E>;
        Pack<E, WIDTH> unit;
#pragma unroll
        for (E& element : unit.elements) element = filler;
        const int64_t col = first_col(step);
        const int left = this->left(step);
        if (packed) {
            if (left > 0) {
#pragma unroll
                for (int k = 0; k < WIDTH; k += PACKED) {
                    const auto pack = load_pack<Pack<E, PACKED>>(row + col + k);
#pragma unroll
                    for (int i = 0; i < PACKED; ++i) unit.elements[k + i] = pack.elements[i];
                }
            }
        } else {
#pragma unroll
            for (int k = 0; k < WIDTH; ++k)
                if (has(left, k)) unit.elements[k] = row[(col + k * lanes) * inner];
        }
        return unit;
    }

    __device__ void store_unit(T* row, int64_t step, const Unit& unit) const {
        const int64_t col = first_col(step);
        const int left = this->left(step);
        if (packed) {
            if (left > 0) *reinterpret_cast<Unit*>(row + col) = unit;
        } else {
#pragma unroll
            for (int k = 0; k < WIDTH; ++k)
                if (has(left, k)) row[(col + k * lanes) * inner] = unit.elements[k];
        }
    }

    // Visits all units of the row at hand for the first time, with the next one already under way if
    // there are registers for it.
    template <bool AHEAD = true, class Load, class Visit>
    __device__ void for_each_new(Load load, Visit visit) const {
        if constexpr (!AHEAD) {
#pragma unroll 1
            for (int64_t step = 0; step < steps; ++step) visit(step, load(step));
            return;
        }
        auto next = load(0);
#pragma unroll 1
        for (int64_t step = 0; step < steps; ++step) {
            const auto unit = next;
            if (step + 1 < steps) next = load(step + 1);
            visit(step, unit);
        }
    }

    // The merged states of the lanes of a row.
    template <class State, class Merge>
    __device__ State merged(State state, Merge merge) {
        turn ^= 1;
        State* const states = shared_states<State, STRIDED ? MAX_THREADS : 2 * MAX_THREADS / WARP>();
        return STRIDED ? merge_apart(state, lane, lanes, groups, states, merge)
                       : merge_neighbours(state, lane, lanes, turn, states, merge);
    }
};

__device__ inline uintptr_t address(const void* pointer) {
    return reinterpret_cast<uintptr_t>(pointer);
}
