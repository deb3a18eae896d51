// Convolutions and their gradients in tiles of the result, of which a block computes one at a time:
// see convolution.cuh.
#include "convolution.cuh"
#include "layout.cuh"
#include "tables.cuh"
#include "tiles.cuh"

// In large products a thread computes 4 x 4 elements.
constexpr int FEW = 1;
constexpr int MANY = 4;

// The summed indices that the threads of a block work out at a time, one each.
constexpr int TERMS = THREADS;

// A thread's part in loading tiles of both factors. In the left one neighbouring threads go along
// the summed index, in the right one along the columns.
template <class T, int EACH, Pass PASS>
struct Loader {
    static constexpr int SIZE = SIDE * EACH;
    static constexpr int STEP = THREADS / SIZE;

    const Problem<PASS>& problem;
    const Factors<T>& factors;
    int thread;
    int64_t row;
    Part column;
    T left[EACH], right[EACH];

    __device__ Loader(const Problem<PASS>& problem, const Factors<T>& factors, int64_t row,
                      int64_t col)
        : problem(problem), factors(factors), thread(threadIdx.y * SIDE + threadIdx.x) {
        this->row = row + thread / SIDE;
        const int64_t own = col + thread % SIZE;
        column = problem.column(own < problem.columns ? own : 0);
        if (own >= problem.columns) column.at[0] = NOWHERE;
    }

    __device__ void fetch(const Term* terms) {
        const int64_t first = terms[thread % SIDE].left;
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const int64_t own = row + e * SIDE;
            const bool exists = first >= 0 && own < problem.args.rows;
            left[e] = exists ? factors.left[own * problem.left_row() + first] : T{};
        }
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const Term& term = terms[thread / SIZE + e * STEP];
            const int64_t place = term.left >= 0 ? problem.place(column, term.right) : -1;
            right[e] = place >= 0 ? factors.right[place] : T{};
        }
    }

    __device__ void put(Tile<T, EACH>& a, Tile<T, EACH>& b) const {
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            a.rows[thread % SIDE][thread / SIDE + e * SIDE] = load<T>(left[e]);
            b.rows[thread / SIZE + e * STEP][thread % SIZE] = load<T>(right[e]);
        }
    }
};

// The part of a group's result whose first element is (row, col), summed over a part of the indices.
template <class T, int EACH, Pass PASS>
__device__ void convolve_tile(const Problem<PASS>& problem, const Factors<T>& factors, int64_t row,
                              int64_t col, int64_t part) {
    __shared__ Tile<T, EACH> a_tile;
    __shared__ Tile<T, EACH> b_tile;
    __shared__ Term terms[TERMS];
    Loader<T, EACH, PASS> loader(problem, factors, row, col);
    const int64_t depth = problem.depth();
    const int64_t parts = PASS == Pass::WEIGHT ? problem.args.parts : 1;
    const int64_t each = (depth + parts - 1) / parts;
    const int64_t from = part * each, to = from + each < depth ? from + each : depth;
    const auto decode = [&](int64_t first) {
        const int64_t own = first + loader.thread;
        terms[loader.thread] = problem.term(own < to ? own : from);
        if (own >= to) terms[loader.thread].left = -1;
    };
    Value<T> sums[EACH][EACH] = {};
    // A step fetches what the next one multiplies; the first one multiplies nothing.
#pragma unroll 1
    for (int64_t deep = from - SIDE; deep < to; deep += SIDE) {
        const bool is_first = deep < from;
        if (!is_first) loader.put(a_tile, b_tile);
        const int next = static_cast<int>((deep + SIDE - from) % TERMS);
        if (next == 0 && deep + SIDE < to) decode(deep + SIDE);
        __syncthreads();
        if (deep + SIDE < to) loader.fetch(terms + next);
        if (!is_first) add_products<T, EACH>(sums, a_tile, b_tile);
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < EACH; ++j) {
        const int64_t s = col + place<EACH>(threadIdx.x, j);
        if (s >= problem.columns) continue;
        const int64_t at = problem.result(s);
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            const int64_t r = row + place<EACH>(threadIdx.y, i);
            if (r < problem.args.rows) put(problem, factors, part, r, at, sums[i][j]);
        }
    }
}

// The groups and their phases, or parts, one after the other, in tiles of SIDE x EACH.
template <class T, int EACH, Pass PASS>
__device__ void convolve(const Convolution& args) {
    constexpr int64_t SIZE = SIDE * EACH;
    for (int64_t job = blockIdx.z; job < args.groups * args.parts; job += gridDim.z) {
        const int64_t group = job / args.parts, number = job % args.parts;
        const Problem<PASS> problem(args, number);
        const int64_t part = PASS == Pass::WEIGHT ? number : 0;
        const Factors<T> own = factors<T, PASS>(problem, group);
        for (int64_t row = blockIdx.y * SIZE; row < args.rows; row += gridDim.y * SIZE) {
            for (int64_t col = blockIdx.x * SIZE; col < problem.columns; col += gridDim.x * SIZE)
                convolve_tile<T, EACH, PASS>(problem, own, row, col, part);
        }
    }
}

// The blocks of large tiles that a multiprocessor must have registers for.
template <class T>
constexpr int RESIDENT = sizeof(T) == 8 ? 1 : 2;

// Each size of tiles is an entry, since a driver compiles whole entries.
#define CONVOLUTION(name, PASS, EACH, T)                                                    \
    extern "C" __global__ void __launch_bounds__(THREADS, EACH == FEW ? 3 : RESIDENT<T>)    \
        name##_##T(Convolution args) {                                                      \
        convolve<T, EACH, Pass::PASS>(args);                                                \
    }
#define SMALL(name, PASS, T) CONVOLUTION(name, PASS, FEW, T)
#define LARGE(name, PASS, T) CONVOLUTION(name, PASS, MANY, T)
FOR_FLOATS(SMALL, conv_output, OUTPUT)
FOR_FLOATS(SMALL, conv_input, INPUT)
FOR_FLOATS(SMALL, conv_weight, WEIGHT)
FOR_FLOATS(LARGE, conv_output_large, OUTPUT)
FOR_FLOATS(LARGE, conv_input_large, INPUT)
FOR_FLOATS(LARGE, conv_weight_large, WEIGHT)
