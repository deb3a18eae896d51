// The loops of every elementwise kernel: one operation over operands of any strides, some of which
// may be immediates.
#pragma once

#include <type_traits>
#include <utility>

#include "abi.cuh"
#include "dtype.cuh"
#include "layout.cuh"

// Four elements side by side, which one or two instructions read or write.
constexpr int CHUNK = 4;
constexpr int WIDEST_ACCESS = 16;

template <class T>
constexpr int CHUNK_ALIGNMENT =
    CHUNK * sizeof(Stored<T>) < WIDEST_ACCESS ? CHUNK * sizeof(Stored<T>) : WIDEST_ACCESS;

template <class T>
struct alignas(CHUNK_ALIGNMENT<T>) Chunk {
    Stored<T> elements[CHUNK];
};

template <class T>
struct Values {
    Value<T> of[CHUNK];
};

// An operation whose code is long derives from this, and is compiled once per kernel, not once more
// for each element of a chunk: its kernels wait for arithmetic more than for memory.
struct Heavy {};

// An input: elements in memory, or one value that was read from the parameters before the loop.
template <class T>
struct Source {
    const Stored<T>* data;
    Value<T> immediate;

    __device__ explicit Source(const Operand& operand)
        : data(static_cast<const Stored<T>*>(operand.data)),
          immediate(from_bits<T>(operand.immediate)) {}

    __device__ Value<T> at(int64_t offset) const {
        return data ? load<T>(data[offset]) : immediate;
    }

    __device__ Values<T> chunk(int64_t number) const {
        Values<T> values;
        if (data) {
            const Chunk<T> chunk = reinterpret_cast<const Chunk<T>*>(data)[number];
            for (int k = 0; k < CHUNK; ++k) values.of[k] = load<T>(chunk.elements[k]);
        } else {
            for (Value<T>& value : values.of) value = immediate;
        }
        return values;
    }
};

template <class T>
__device__ bool is_aligned(const Operand& operand) {
    return reinterpret_cast<uintptr_t>(operand.data) % CHUNK_ALIGNMENT<T> == 0;
}

// Where element `linear` of each operand lies. The branch goes the same way in every thread of the
// grid.
template <int N>
__device__ void locate(const Elementwise<N>& args, int64_t linear, int64_t (&offsets)[N]) {
    if (args.contiguous) {
        for (int64_t& offset : offsets) offset = linear;
        return;
    }
    for (int64_t& offset : offsets) offset = 0;
    walk(linear, args.dims, args.sizes, [&](int32_t d, int64_t coordinate) {
#pragma unroll
        for (int n = 0; n < N; ++n) offsets[n] += coordinate * args.operands[n].strides[d];
    });
}

template <class Out, class Op, class... In>
__device__ void map_chunk(Stored<Out>* out, int64_t number, Op op, const Source<In>&... sources) {
    Chunk<Out> result;
    const auto apply = [&](const Values<In>&... values) {
        for (int k = 0; k < CHUNK; ++k) result.elements[k] = convert<Out>(op(values.of[k]...));
    };
    apply(sources.chunk(number)...);
    reinterpret_cast<Chunk<Out>*>(out)[number] = result;
}

template <class Out, class... In, class Op, size_t... I>
__device__ void map(const Elementwise<1 + sizeof...(In)>& args, Op op, std::index_sequence<I...>) {
    Stored<Out>* const out = static_cast<Stored<Out>*>(args.operands[0].data);
    const auto loop = [&](const Source<In>... sources) {
        int64_t done = 0;
        if constexpr (!std::is_base_of_v<Heavy, Op>) {
            if (args.contiguous && is_aligned<Out>(args.operands[0]) &&
                (is_aligned<In>(args.operands[1 + I]) && ...)) {
                const int64_t chunks = args.numel / CHUNK;
#pragma unroll 1
                for (int64_t n = grid_thread(); n < chunks; n += grid_threads())
                    map_chunk<Out>(out, n, op, sources...);
                done = chunks * CHUNK;
            }
        }
#pragma unroll 1
        for (int64_t i = done + grid_thread(); i < args.numel; i += grid_threads()) {
            int64_t offsets[1 + sizeof...(In)];
            locate(args, i, offsets);
            out[offsets[0]] = convert<Out>(op(sources.at(offsets[1 + I])...));
        }
    };
    loop(Source<In>(args.operands[1 + I])...);
}

// out = op(in...), for each element. The operation sees values (see dtype.cuh), and its result is
// converted to Out.
template <class Out, class... In, class Op>
__device__ void map(const Elementwise<1 + sizeof...(In)>& args, Op op) {
    map<Out, In...>(args, op, std::index_sequence_for<In...>{});
}
