// Convolutions and their gradients as products of matrices, of which the right factor is gathered
// from a tensor: no matrix of columns is made. The left factor is a dense tensor, too.
//
//   result   left     right    rows           columns                summed
//   y        weight   x        out channels   samples and outputs    in channels and kernel
//   x        weight   y        in channels    samples and inputs     out channels and kernel
//   weight   y        x        out channels   in channels, kernel    samples and outputs
//
// With a stride, inputs that are a multiple of it apart meet the same positions of the kernel, and
// others meet others. So the gradient of x is a product for each phase: the inputs along all axes
// from its first one on, in steps of the stride.
#pragma once

#include "abi.cuh"
#include "arithmetic.cuh"
#include "dtype.cuh"

enum class Pass { OUTPUT, INPUT, WEIGHT };

// A part of an element's place in the right factor's tensor: an offset, and coordinates in a channel,
// to which the offset belongs. A column and a summed index have one each, which are added.
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

// The part at the coordinates of an index in a dense array, each taken to what `map` makes of it, in
// an array of the sizes `within`.
template <class Map>
__device__ Part part_at(int64_t index, const int64_t (&sizes)[3], const int64_t (&within)[3],
                        Map map) {
    Part part{0, {}};
    uint64_t rest = index;
    int64_t stride = 1;
#pragma unroll
    for (int d = 2; d >= 0; --d) {
        const uint64_t size = sizes[d];
        const uint64_t next = d == 0 ? 0 : rest / size;
        const int64_t at = map(d, static_cast<int64_t>(rest - next * size));
        part.at[d] = static_cast<int32_t>(at);
        part.offset += at * stride;
        stride *= within[d];
        rest = next;
    }
    return part;
}

// A phase of the gradient of x: along each axis the first input and the number of inputs, the output
// that the first one would meet at position 0 of the kernel, if there is one, and the first position
// that it meets and their number.
struct Phase {
    int64_t first[3], inputs[3], origin[3], tap[3], taps[3];
};

// The phase of this number, in shared memory, since registers are few. All threads of a block call it
// together.
template <Pass PASS>
__device__ const Phase& phase_of(const Convolution& args, int64_t number) {
    __shared__ Phase phase;
    if (PASS != Pass::INPUT) return phase;
    // Before it is written, all must have read the one before.
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        int64_t rest = number;
#pragma unroll 1
        for (int d = 2; d >= 0; --d) {
            const int64_t stride = args.stride[d], dilation = args.dilation[d];
            const int64_t phases = args.input[d] < stride ? args.input[d] : stride;
            const int64_t first = rest % phases;
            rest /= phases;
            phase.first[d] = first;
            phase.inputs[d] = (args.input[d] - first + stride - 1) / stride;
            const int64_t padded = first + args.padding[d];
            phase.origin[d] = padded / stride;
            int64_t tap = 0;
            while (tap < args.kernel[d] && tap * dilation % stride != padded % stride) ++tap;
            phase.tap[d] = tap;
            phase.taps[d] = (args.kernel[d] - tap + args.tap_step[d] - 1) / args.tap_step[d];
        }
    }
    __syncthreads();
    return phase;
}

// What differs between the three.
template <Pass PASS>
struct Problem {
    const Convolution& args;
    const Phase& phase;
    // The numbers of inputs and outputs of a channel; of the kernel's positions that are met; and of
    // columns.
    int64_t inputs, outputs, weights, columns;

    __device__ Problem(const Convolution& args, int64_t number)
        : args(args),
          phase(phase_of<PASS>(args, number)),
          inputs(volume(args.input)),
          outputs(volume(args.output)),
          weights(volume(PASS == Pass::INPUT ? phase.taps : args.kernel)),
          columns(PASS == Pass::INPUT ? args.batch * volume(phase.inputs) : args.columns) {}

    __device__ int64_t depth() const {
        if (PASS == Pass::OUTPUT) return args.in_channels * weights;
        if (PASS == Pass::INPUT) return args.out_channels * weights;
        return args.batch * outputs;
    }

    // The part of a place of the output in some sample, in x.
    __device__ Part of_output(int64_t sample, int64_t place) const {
        Part part = part_at(place, args.output, args.input, [&](int d, int64_t at) {
            return at * args.stride[d] - args.padding[d];
        });
        part.offset += sample * args.groups * args.in_channels * inputs;
        return part;
    }

    // The part of a kernel position in some channel of x.
    __device__ Part of_kernel(int64_t channel, int64_t position) const {
        Part part = part_at(position, args.kernel, args.input,
                            [&](int d, int64_t at) { return at * args.dilation[d]; });
        part.offset += channel * inputs;
        return part;
    }

    __device__ Term term(int64_t index) const {
        if (PASS == Pass::WEIGHT) {
            const int64_t sample = index / outputs, place = index - sample * outputs;
            const int64_t left = sample * args.groups * args.out_channels * outputs + place;
            return {left, of_output(sample, place)};
        }
        const int64_t channel = index / weights, position = index - channel * weights;
        if (PASS == Pass::OUTPUT) return {index, of_kernel(channel, position)};
        int64_t left = channel * args.in_channels * volume(args.kernel);
        Part part = part_at(position, phase.taps, args.output, [&](int d, int64_t at) {
            const int64_t tap = phase.tap[d] + at * args.tap_step[d];
            left += tap * (d == 2 ? 1 : d == 1 ? args.kernel[2] : args.kernel[1] * args.kernel[2]);
            return -(tap * args.dilation[d] / args.stride[d]);
        });
        part.offset += channel * outputs;
        return {left, part};
    }

    __device__ Part column(int64_t index) const {
        if (PASS == Pass::WEIGHT) return of_kernel(index / weights, index % weights);
        if (PASS == Pass::OUTPUT) return of_output(index / outputs, index % outputs);
        const int64_t inputs = volume(phase.inputs), sample = index / inputs;
        Part part = part_at(index - sample * inputs, phase.inputs, args.output,
                            [&](int d, int64_t at) { return phase.origin[d] + at; });
        part.offset += sample * args.groups * args.out_channels * outputs;
        return part;
    }

    // The offset of an element of the right factor; negative where it is zero, since nothing is there.
    __device__ int64_t place(const Part& column, const Part& term) const {
        bool is_inside = true;
#pragma unroll
        for (int d = 0; d < 3; ++d) {
            const int64_t size = PASS == Pass::INPUT ? args.output[d] : args.input[d];
            const uint32_t at = static_cast<uint32_t>(column.at[d] + term.at[d]);
            // Without branches: lanes of a warp differ in most of them.
            is_inside &= at < static_cast<uint32_t>(size);
        }
        return is_inside ? column.offset + term.offset : -1;
    }

    // The distance of rows of the left factor, and of the result, whose channels are these rows.
    __device__ int64_t left_row() const {
        if (PASS == Pass::OUTPUT) return args.in_channels * weights;
        return PASS == Pass::INPUT ? volume(args.kernel) : outputs;
    }

    __device__ int64_t row() const {
        if (PASS == Pass::OUTPUT) return outputs;
        return PASS == Pass::INPUT ? inputs : args.columns;
    }

    // The offset of a column in a row of the result.
    __device__ int64_t result(int64_t column) const {
        if (PASS == Pass::WEIGHT) return column;
        const int64_t size = PASS == Pass::INPUT ? volume(phase.inputs) : outputs;
        const int64_t sample = column / size;
        int64_t place = column - sample * size;
        if (PASS == Pass::INPUT) {
            place = part_at(place, phase.inputs, args.input, [&](int d, int64_t at) {
                        return phase.first[d] + at * args.stride[d];
                    }).offset;
        }
        return sample * args.groups * args.rows * row() + place;
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
                      group * args.out_channels * args.in_channels * volume(args.kernel);
    const T* const bias =
        args.bias == nullptr ? nullptr : static_cast<const T*>(args.bias) + group * args.rows;
    if (PASS == Pass::OUTPUT) return {weight, x, bias, y};
    if (PASS == Pass::INPUT) return {weight, y, bias, x};
    return {y, x, bias, weight};
}

// Stores an element of a result, with its row's bias. A part of a weight's sum is a value: halves are
// rounded when parts are added up.
template <class T, Pass PASS>
__device__ void put(const Problem<PASS>& problem, const Factors<T>& factors, int64_t part,
                    int64_t row, int64_t at, Value<T> sum) {
    const Convolution& args = problem.args;
    if (PASS == Pass::WEIGHT && args.parts > 1) {
        const int64_t all = args.groups * args.rows * args.columns;
        const int64_t first = factors.result - static_cast<T*>(args.weight);
        static_cast<Value<T>*>(args.weight)[part * all + first + row * args.columns + at] = sum;
        return;
    }
    if (factors.bias != nullptr) sum = plus(sum, load<T>(factors.bias[row]));
    factors.result[row * problem.row() + at] = convert<T>(sum);
}
