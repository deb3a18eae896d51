// Convolutions of which a group has few channels, depthwise ones above all: see convolution.cuh. An
// element of the right factor meets so few rows that it is read where it is used, by the thread that
// sums its column, and no tile of it is made.
#include "block_reduce.cuh"
#include "convolution.cuh"
#include "layout.cuh"
#include "tables.cuh"

constexpr int THREADS = 256;

// The summed indices that the threads of a block work out at a time, one each.
constexpr int TERMS = THREADS;

// The rows that a thread sums of its column.
constexpr int FEW = 4;
constexpr int MANY = 16;

// Thread k works out summed index `first` + k: what the left factor has there in the rows from `row`
// on, and the part in the right one.
template <class T, int ROWS, Pass PASS>
__device__ void load_term(const Problem<PASS>& problem, const Factors<T>& factors, int64_t row,
                          int64_t first, Value<T> (&left)[TERMS][ROWS], Part (&parts)[TERMS]) {
    const int64_t index = first + threadIdx.x;
    if (index >= problem.depth()) return;
    const Term term = problem.term(index);
    parts[threadIdx.x] = term.right;
#pragma unroll 1
    for (int r = 0; r < ROWS; ++r) {
        const bool exists = row + r < problem.args.rows;
        left[threadIdx.x][r] =
            exists ? load<T>(factors.left[(row + r) * problem.left_row() + term.left]) : Value<T>{0};
    }
}

// ROWS rows from `row` on, and a column for each thread from `col` on.
template <class T, int ROWS, Pass PASS>
__device__ void convolve_columns(const Problem<PASS>& problem, const Factors<T>& factors,
                                 int64_t row, int64_t col) {
    __shared__ alignas(16) Value<T> left[TERMS][ROWS];
    __shared__ Part parts[TERMS];
    const int64_t own = col + threadIdx.x;
    Part column = problem.column(own < problem.columns ? own : 0);
    if (own >= problem.columns) column.at[0] = NOWHERE;
    Value<T> sums[ROWS] = {};
    const int64_t depth = problem.depth();
#pragma unroll 1
    for (int64_t first = 0; first < depth; first += TERMS) {
        load_term<T, ROWS, PASS>(problem, factors, row, first, left, parts);
        __syncthreads();
        const int terms = depth - first < TERMS ? static_cast<int>(depth - first) : TERMS;
        // Unrolled, several loads are under way at a time.
#pragma unroll 4
        for (int t = 0; t < terms; ++t) {
            const int64_t place = problem.place(column, parts[t]);
            const Value<T> right = place >= 0 ? load<T>(factors.right[place]) : Value<T>{0};
#pragma unroll
            for (int r = 0; r < ROWS; ++r) sums[r] = plus(sums[r], times(left[t][r], right));
        }
        // Before the next turn writes, all must have read.
        __syncthreads();
    }
    if (own >= problem.columns) return;
    const int64_t at = problem.result(own);
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (row + r < problem.args.rows) put(problem, factors, 0, row + r, at, sums[r]);
}

template <class T, int ROWS, Pass PASS>
__device__ void convolve_thin(const Convolution& args) {
    for (int64_t job = blockIdx.z; job < args.groups * args.parts; job += gridDim.z) {
        const Problem<PASS> problem(args, job % args.parts);
        const Factors<T> own = factors<T, PASS>(problem, job / args.parts);
        for (int64_t row = blockIdx.y * ROWS; row < args.rows; row += gridDim.y * ROWS) {
            for (int64_t col = blockIdx.x * THREADS; col < problem.columns;
                 col += gridDim.x * THREADS)
                convolve_columns<T, ROWS, PASS>(problem, own, row, col);
        }
    }
}

// The columns of a weight that a block sums at a time: a kernel of 3 x 3.
constexpr int TAPS = 9;

template <class V>
struct Plus {
    __device__ V operator()(V a, V b) const { return plus(a, b); }
};

// The gradient of a weight of few rows: the threads of a block share a part of the summed indices of
// some columns of a row.
template <class T>
__device__ void sum_weight(const Problem<Pass::WEIGHT>& problem, const Factors<T>& factors,
                           int64_t row, int64_t col, int64_t part) {
    using V = Value<T>;
    __shared__ Part columns[TAPS];
    if (threadIdx.x < TAPS) {
        const int64_t own = col + threadIdx.x;
        columns[threadIdx.x] = problem.column(own < problem.columns ? own : 0);
        if (own >= problem.columns) columns[threadIdx.x].at[0] = NOWHERE;
    }
    __syncthreads();
    const int64_t depth = problem.depth();
    const int64_t each = (depth + problem.args.parts - 1) / problem.args.parts;
    const int64_t from = part * each, to = from + each < depth ? from + each : depth;
    const T* const left = factors.left + row * problem.left_row();
    V sums[TAPS] = {};
#pragma unroll 1
    for (int64_t index = from + threadIdx.x; index < to; index += THREADS) {
        const Term term = problem.term(index);
        const V own = load<T>(left[term.left]);
#pragma unroll
        for (int k = 0; k < TAPS; ++k) {
            const int64_t place = problem.place(columns[k], term.right);
            const V right = place >= 0 ? load<T>(factors.right[place]) : V{0};
            sums[k] = plus(sums[k], times(own, right));
        }
    }
    V* const states = shared_states<V, 2 * MAX_THREADS / WARP>();
#pragma unroll
    for (int k = 0; k < TAPS; ++k) {
        const V sum =
            merge_neighbours(sums[k], threadIdx.x, THREADS, k % 2, states, Plus<V>{});
        if (threadIdx.x == 0 && col + k < problem.columns)
            put(problem, factors, part, row, col + k, sum);
    }
    // Before the next turn writes, all must have read.
    __syncthreads();
}

template <class T>
__device__ void sum_weights(const Convolution& args) {
    const Problem<Pass::WEIGHT> problem(args, 0);
    for (int64_t job = blockIdx.z; job < args.groups * args.parts; job += gridDim.z) {
        const Factors<T> own = factors<T, Pass::WEIGHT>(problem, job / args.parts);
        for (int64_t row = blockIdx.y; row < args.rows; row += gridDim.y) {
            for (int64_t col = blockIdx.x * TAPS; col < args.columns; col += gridDim.x * TAPS)
                sum_weight<T>(problem, own, row, col, job % args.parts);
        }
    }
}

#define THIN(name, PASS, ROWS, T)                                                   \
    extern "C" __global__ void __launch_bounds__(THREADS, ROWS == FEW ? 3 : 2)      \
        name##_##T(Convolution args) {                                              \
        convolve_thin<T, ROWS, Pass::PASS>(args);                                   \
    }
#define OF_FEW(name, PASS, T) THIN(name, PASS, FEW, T)
#define OF_MANY(name, PASS, T) THIN(name, PASS, MANY, T)
#define WEIGHTS(name, function, T)                                                          \
    extern "C" __global__ void __launch_bounds__(THREADS, 2) name##_##T(Convolution args) { \
        function<T>(args);                                                                  \
    }
FOR_FLOATS(OF_FEW, conv_output_few, OUTPUT)
FOR_FLOATS(OF_MANY, conv_output_thin, OUTPUT)
FOR_FLOATS(OF_FEW, conv_input_few, INPUT)
FOR_FLOATS(OF_MANY, conv_input_thin, INPUT)
FOR_FLOATS(WEIGHTS, conv_weight_few, sum_weights)
