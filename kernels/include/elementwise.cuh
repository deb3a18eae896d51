// The loop of every elementwise kernel: one operation over operands of any strides, some of which may be immediates.
#pragma once

#include <utility>

#include "abi.cuh"
#include "dtype.cuh"
#include "layout.cuh"

// An input: elements in memory, or one value that was read from the parameters before the loop.
template <class T>
struct Source {
    const Stored<T>* data;
    Value<T> immediate;

    __device__ explicit Source(const Operand& operand)
        : data(static_cast<const Stored<T>*>(operand.data)), immediate(from_bits<T>(operand.immediate)) {}

    __device__ Value<T> at(int64_t offset) const { return data ? load<T>(data[offset]) : immediate; }
};

// Where element `linear` of each operand lies. The branches go the same way in every thread of the grid.
template <int N>
__device__ void locate(const Elementwise<N>& args, int64_t linear, int64_t (&offsets)[N]) {
    if (args.contiguous) {
        for (int64_t& offset : offsets) offset = linear;
        return;
    }
    for (int64_t& offset : offsets) offset = 0;
    walk(linear, args.numel, args.dims, args.sizes, [&](int32_t d, int64_t coordinate) {
#pragma unroll
        for (int n = 0; n < N; ++n) offsets[n] += coordinate * args.operands[n].strides[d];
    });
}

template <class Out, class... In, class Op, size_t... I>
__device__ void map(const Elementwise<1 + sizeof...(In)>& args, Op op, std::index_sequence<I...>) {
    Stored<Out>* const out = static_cast<Stored<Out>*>(args.operands[0].data);
    const auto loop = [&](Source<In>... sources) {
#pragma unroll 1
        for (int64_t i = grid_thread(); i < args.numel; i += grid_threads()) {
            int64_t offsets[1 + sizeof...(In)];
            locate(args, i, offsets);
            out[offsets[0]] = convert<Out>(op(sources.at(offsets[1 + I])...));
        }
    };
    loop(Source<In>(args.operands[1 + I])...);
}

// out = op(in...), for each element. The operation sees values (see dtype.cuh), and its result is converted to Out.
template <class Out, class... In, class Op>
__device__ void map(const Elementwise<1 + sizeof...(In)>& args, Op op) {
    map<Out, In...>(args, op, std::index_sequence_for<In...>{});
}
