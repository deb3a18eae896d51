// Softmax and its logarithm over the rows of a dense matrix, and their gradients. One block works
// on a row.
#include "arithmetic.cuh"
#include "block_reduce.cuh"
#include "tables.cuh"

struct Plus {
    template <class V>
    __device__ V operator()(V a, V b) const {
        return plus(a, b);
    }
};

struct Larger {
    template <class V>
    __device__ V operator()(V a, V b) const {
        return larger(a, b);
    }
};

// Rows of a grid-stride loop, columns of one row for one lane, and folding over all columns of a
// row.
struct RowLoop {
    int64_t rows, cols;
    int lanes;

    __device__ explicit RowLoop(const Rows& args)
        : rows(args.rows), cols(args.cols), lanes(lanes_of_block()) {}

    template <class Visit>
    __device__ void for_each_row(Visit visit) const {
        for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) visit(row * cols);
    }

    template <class Visit>
    __device__ void for_each_col(Visit visit) const {
        if (threadIdx.x >= lanes) return;
        // Unrolled, several loads are under way at a time.
#pragma unroll 4
        for (int64_t col = threadIdx.x; col < cols; col += lanes) visit(col);
    }

    template <class V, class Merge, class Value>
    __device__ V fold(V start, Merge merge, Value value) const {
        V state = start;
        for_each_col([&](int64_t col) { state = merge(state, value(col)); });
        return merge_lanes(state, threadIdx.x, lanes, 1, merge);
    }
};

// What of exp(x - maximum) is needed to end: the exponent cannot overflow, and the largest term is
// 1.
struct Softmax {
    template <class V>
    __device__ static V of(V shifted, V sum) {
        return exp(shifted) / sum;
    }
};

struct LogSoftmax {
    template <class V>
    __device__ static V of(V shifted, V sum) {
        return shifted - log(sum);
    }
};

template <class T, class Op>
__device__ void forward(const Rows& args) {
    using V = Value<T>;
    const RowLoop loop(args);
    loop.for_each_row([&](int64_t first) {
        const Stored<T>* const in = static_cast<const T*>(args.a) + first;
        T* const out = static_cast<T*>(args.out) + first;
        const V maximum = loop.fold(-static_cast<V>(INFINITY), Larger{},
                                    [&](int64_t col) { return load<T>(in[col]); });
        const V sum =
            loop.fold(V{0}, Plus{}, [&](int64_t col) { return exp(load<T>(in[col]) - maximum); });
        loop.for_each_col(
            [&](int64_t col) { out[col] = convert<T>(Op::of(load<T>(in[col]) - maximum, sum)); });
    });
}

// With y the result of the forward pass and g the gradient with respect to it: y * (g - sum(g * y))
// for softmax, g - exp(y) * sum(g) for log_softmax.
struct SoftmaxBackward {
    template <class V>
    __device__ static V term(V g, V y) {
        return g * y;
    }
    template <class V>
    __device__ static V of(V g, V y, V sum) {
        return y * (g - sum);
    }
};

struct LogSoftmaxBackward {
    template <class V>
    __device__ static V term(V g, V) {
        return g;
    }
    template <class V>
    __device__ static V of(V g, V y, V sum) {
        return g - exp(y) * sum;
    }
};

template <class T, class Op>
__device__ void backward(const Rows& args) {
    using V = Value<T>;
    const RowLoop loop(args);
    loop.for_each_row([&](int64_t first) {
        const T* const g = static_cast<const T*>(args.a) + first;
        const T* const y = static_cast<const T*>(args.b) + first;
        T* const out = static_cast<T*>(args.out) + first;
        const V sum = loop.fold(
            V{0}, Plus{}, [&](int64_t col) { return Op::term(load<T>(g[col]), load<T>(y[col])); });
        loop.for_each_col([&](int64_t col) {
            out[col] = convert<T>(Op::of(load<T>(g[col]), load<T>(y[col]), sum));
        });
    });
}

#define FORWARD(name, Op, T) \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Rows args) { forward<T, Op>(args); }
#define BACKWARD(name, Op, T) \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Rows args) { backward<T, Op>(args); }

FOR_FLOATS(FORWARD, softmax, Softmax)
FOR_FLOATS(FORWARD, log_softmax, LogSoftmax)
FOR_FLOATS(BACKWARD, softmax_backward, SoftmaxBackward)
FOR_FLOATS(BACKWARD, log_softmax_backward, LogSoftmaxBackward)
