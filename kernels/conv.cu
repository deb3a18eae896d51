// Convolutions and their gradients as products of matrices, of which the right factor is gathered
// from a tensor while it is loaded: no matrix of columns is made. The left factor is a dense tensor,
// too.
//
//   result   left     right    rows           columns                summed
//   y        weight   x        out channels   samples and outputs    in channels and kernel
//   x        weight   y        in channels    samples and inputs     out channels and kernel
//   weight   y        x        out channels   in channels, kernel    samples and outputs
#include "layout.cuh"
#include "tables.cuh"
#include "tiles.cuh"

// In large products a thread computes 4 x 4 elements.
constexpr int FEW = 1;
constexpr int MANY = 4;

enum class Pass { OUTPUT, INPUT, WEIGHT };

// A part of an element's place in the right factor's tensor: an offset of whole channels, and
// coordinates in a channel. A column and a summed index have one each, which are added.
struct Part {
    int64_t offset;
    int32_t at[3];
};

// A coordinate that is outside whatever is added to it, since those of tensors with their padding
// are smaller.
constexpr int32_t NOWHERE = -(1 << 30);

// A summed index: the offset in the left factor, negative if there is no such index, and the part in
// the right one.
struct Term {
    int64_t left;
    Part right;
};

__device__ inline int64_t volume(const int64_t (&sizes)[3]) {
    return sizes[0] * sizes[1] * sizes[2];
}

// The coordinates of an index in a dense array, each taken to what `map` makes of it.
template <class Map>
__device__ void coordinates(int64_t index, const int64_t (&sizes)[3], int32_t (&at)[3], Map map) {
    uint64_t rest = index;
#pragma unroll
    for (int d = 2; d >= 0; --d) {
        const uint64_t size = sizes[d];
        const uint64_t next = rest / size;
        at[d] = static_cast<int32_t>(map(d, static_cast<int64_t>(rest - next * size)));
        rest = next;
    }
}

// What differs between the three.
template <Pass PASS>
struct Problem {
    const Convolution& args;
    int64_t inputs, weights, outputs;

    __device__ Problem(const Convolution& args)
        : args(args),
          inputs(volume(args.input)),
          weights(volume(args.kernel)),
          outputs(volume(args.output)) {}

    __device__ int64_t depth() const {
        if (PASS == Pass::OUTPUT) return args.in_channels * weights;
        if (PASS == Pass::INPUT) return args.out_channels * weights;
        return args.batch * outputs;
    }

    // The part of a kernel position in some channel.
    __device__ Part of_kernel(int64_t channel, int64_t position) const {
        Part part;
        part.offset = channel * (PASS == Pass::INPUT ? outputs : inputs);
        coordinates(position, args.kernel, part.at, [&](int d, int64_t at) {
            return PASS == Pass::INPUT ? -at * args.dilation[d] : at * args.dilation[d];
        });
        return part;
    }

    // The part of a place of the output in some sample.
    __device__ Part of_output(int64_t sample, int64_t place) const {
        Part part;
        part.offset = sample * args.groups * args.in_channels * inputs;
        coordinates(place, args.output, part.at, [&](int d, int64_t at) {
            return at * args.stride[d] - args.padding[d];
        });
        return part;
    }

    __device__ Part of_input(int64_t sample, int64_t place) const {
        Part part;
        part.offset = sample * args.groups * args.out_channels * outputs;
        coordinates(place, args.input, part.at,
                    [&](int d, int64_t at) { return at + args.padding[d]; });
        return part;
    }

    __device__ Term term(int64_t index) const {
        if (PASS == Pass::WEIGHT) {
            const int64_t sample = index / outputs, place = index - sample * outputs;
            const int64_t left = sample * args.groups * args.out_channels * outputs + place;
            return {left, of_output(sample, place)};
        }
        const int64_t channel = index / weights, position = index - channel * weights;
        const int64_t step = PASS == Pass::INPUT ? args.in_channels * weights : weights;
        return {channel * step + position, of_kernel(channel, position)};
    }

    __device__ Part column(int64_t index) const {
        if (PASS == Pass::WEIGHT) return of_kernel(index / weights, index % weights);
        if (PASS == Pass::INPUT) return of_input(index / inputs, index % inputs);
        return of_output(index / outputs, index % outputs);
    }

    // The offset of an element of the right factor; negative where it is zero, since nothing is there.
    __device__ int64_t place(const Part& column, const Part& term) const {
        int64_t place = 0;
        bool is_inside = true;
#pragma unroll
        for (int d = 0; d < 3; ++d) {
            const int32_t sum = column.at[d] + term.at[d];
            const int64_t size = PASS == Pass::INPUT ? args.output[d] : args.input[d];
            uint32_t at = static_cast<uint32_t>(sum);
            if (PASS == Pass::INPUT && args.stride[d] != 1) {
                const uint32_t stride = static_cast<uint32_t>(args.stride[d]);
                const uint32_t next = at / stride;
                is_inside &= next * stride == at;
                at = next;
            }
            // Without branches: lanes of a warp differ in most of them.
            is_inside &= sum >= 0 && at < size;
            place = place * size + at;
        }
        return is_inside ? column.offset + term.offset + place : -1;
    }

    // The distance of rows of the left factor, and of the result, whose channels are these rows.
    __device__ int64_t left_row() const {
        if (PASS == Pass::OUTPUT) return args.in_channels * weights;
        return PASS == Pass::INPUT ? weights : outputs;
    }

    __device__ int64_t row() const {
        if (PASS == Pass::OUTPUT) return outputs;
        return PASS == Pass::INPUT ? inputs : args.columns;
    }

    // The offset of a column in a row of the result.
    __device__ int64_t result(int64_t column) const {
        if (PASS == Pass::WEIGHT) return column;
        const int64_t sample = column / row();
        return sample * args.groups * args.rows * row() + (column - sample * row());
    }
};

// The tensors of a group.
template <class T>
struct Factors {
    const T* left;
    const T* right;
    const T* bias;
    T* result;
};

template <class T, Pass PASS>
__device__ Factors<T> factors(const Problem<PASS>& problem, int64_t group) {
    const Convolution& args = problem.args;
    T* const x = static_cast<T*>(args.x) + group * args.in_channels * problem.inputs;
    T* const y = static_cast<T*>(args.y) + group * args.out_channels * problem.outputs;
    T* const weight = static_cast<T*>(args.weight) +
                      group * args.out_channels * args.in_channels * problem.weights;
    const T* const bias =
        args.bias == nullptr ? nullptr : static_cast<const T*>(args.bias) + group * args.rows;
    if (PASS == Pass::OUTPUT) return {weight, x, bias, y};
    if (PASS == Pass::INPUT) return {weight, y, bias, x};
    return {y, x, bias, weight};
}

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
        column = problem.column(own < problem.args.columns ? own : 0);
        if (own >= problem.args.columns) column.at[0] = NOWHERE;
    }

    __device__ void fetch(const Term (&terms)[SIDE]) {
        const Term& term = terms[thread % SIDE];
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const int64_t own = row + e * SIDE;
            const bool exists = term.left >= 0 && own < problem.args.rows;
            left[e] = exists ? factors.left[own * problem.left_row() + term.left] : T{};
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

// The part of a group's result whose first element is (row, col), summed over some indices.
template <class T, int EACH, Pass PASS>
__device__ void convolve_tile(const Problem<PASS>& problem, const Factors<T>& factors, int64_t row,
                              int64_t col, int64_t from, int64_t to) {
    __shared__ Tile<T, EACH> a_tile;
    __shared__ Tile<T, EACH> b_tile;
    __shared__ Term terms[SIDE];
    Loader<T, EACH, PASS> loader(problem, factors, row, col);
    const int thread = loader.thread;
    const auto decode = [&](int64_t first) {
        if (thread >= SIDE) return;
        const bool exists = first + thread < to;
        terms[thread] = problem.term(exists ? first + thread : from);
        if (!exists) terms[thread].left = -1;
    };
    Value<T> sums[EACH][EACH] = {};
    // A step fetches what the next one multiplies; the first one multiplies nothing.
#pragma unroll 1
    for (int64_t deep = from - SIDE; deep < to; deep += SIDE) {
        const bool is_first = deep < from;
        if (!is_first) loader.put(a_tile, b_tile);
        decode(deep + SIDE);
        __syncthreads();
        loader.fetch(terms);
        if (!is_first) add_products<T, EACH>(sums, a_tile, b_tile);
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < EACH; ++j) {
        const int64_t s = col + place<EACH>(threadIdx.x, j);
        if (s >= problem.args.columns) continue;
        T* const column = factors.result + problem.result(s);
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            const int64_t r = row + place<EACH>(threadIdx.y, i);
            if (r >= problem.args.rows) continue;
            const Value<T> sum = sums[i][j];
            column[r * problem.row()] = convert<T>(
                factors.bias == nullptr ? sum : plus(sum, load<T>(factors.bias[r])));
        }
    }
}

template <class T, int EACH, Pass PASS>
__device__ void convolve_tiles(const Problem<PASS>& problem, const Factors<T>& factors,
                               int64_t from, int64_t to) {
    constexpr int64_t SIZE = SIDE * EACH;
    for (int64_t row = blockIdx.y * SIZE; row < problem.args.rows; row += gridDim.y * SIZE) {
        for (int64_t col = blockIdx.x * SIZE; col < problem.args.columns; col += gridDim.x * SIZE) {
            convolve_tile<T, EACH, PASS>(problem, factors, row, col, from, to);
        }
    }
}

// The groups and their parts one after the other, in tiles of SIDE x EACH.
template <class T, int EACH, Pass PASS>
__device__ void convolve(const Convolution& args) {
    const Problem<PASS> problem(args);
    const int64_t depth = problem.depth();
    const int64_t each = (depth + args.parts - 1) / args.parts;
    for (int64_t job = blockIdx.z; job < args.groups * args.parts; job += gridDim.z) {
        const int64_t group = job / args.parts, part = job % args.parts;
        Factors<T> own = factors<T, PASS>(problem, group);
        own.result += part * args.groups * args.rows * args.columns;
        const int64_t from = part * each;
        const int64_t to = from + each < depth ? from + each : depth;
        convolve_tiles<T, EACH, PASS>(problem, own, from, to);
    }
}

// Each size of tiles is an entry, since a driver compiles whole entries.
#define CONVOLUTION(name, PASS, EACH, T)                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS) name##_##T(Convolution args) { \
        convolve<T, EACH, Pass::PASS>(args);                                             \
    }
#define SMALL(name, PASS, T) CONVOLUTION(name, PASS, FEW, T)
#define LARGE(name, PASS, T) CONVOLUTION(name, PASS, MANY, T)
FOR_FLOATS(SMALL, conv_output, OUTPUT)
FOR_FLOATS(SMALL, conv_input, INPUT)
FOR_FLOATS(SMALL, conv_weight, WEIGHT)
FOR_FLOATS(LARGE, conv_output_large, OUTPUT)
FOR_FLOATS(LARGE, conv_input_large, INPUT)
FOR_FLOATS(LARGE, conv_weight_large, WEIGHT)
