// Softmax and its logarithm over the rows of a dense array, and their gradients.
#include "rows.cuh"
#include "tables.cuh"

// The largest of some elements, and the sum of exp(x - maximum), whose exponents cannot overflow.
template <class V>
struct Terms {
    V maximum, sum;

    // The sum, for a maximum that is at least as large.
    __device__ V sum_for(V larger) const {
        // Not of the difference of infinities, which is no number.
        return maximum == larger ? sum : sum * exp(maximum - larger);
    }
};

struct Larger {
    template <class V>
    __device__ V operator()(V a, V b) const {
        return larger(a, b);
    }
};

struct Softmax {
    template <class V>
    __device__ static V of(V shifted, V sum) {
        return exp(shifted) / sum;
    }
};

struct LogSoftmax {
    template <class V>
    __device__ static V of(V shifted, V log_sum) {
        return shifted - log_sum;
    }
};

template <class T, class Op, bool STRIDED>
__device__ void forward(const Rows& args) {
    using V = Value<T>;
    using Unit = typename RowShare<T, STRIDED>::Unit;
    constexpr int WIDTH = RowShare<T, STRIDED>::WIDTH;
    const T filler = convert<T>(-static_cast<V>(INFINITY));
    RowShare<T, STRIDED> share(args.cols, args.inner, args.kept_bytes != 0,
                               address(args.a) | address(args.out));
    share.for_each_row(args.rows, [&](int64_t) {
        const T* const in = static_cast<const T*>(args.a) + share.start;
        T* const out = static_cast<T*>(args.out) + share.start;
        const auto load_step = [&](int64_t step) { return share.load_unit(in, step, filler); };
        Terms<V> terms{-static_cast<V>(INFINITY), 0};
        share.for_each_new(load_step, [&](int64_t step, const Unit& unit) {
            if (share.keeps) kept_unit<Unit>(step) = unit;
            const auto value = [&](int k) { return load<T>(unit.elements[k]); };
            const V next = larger(terms.maximum, fold_unit<WIDTH>(Larger{}, value));
            // Where nothing is larger than -INFINITY there are no terms, or the result is no number.
            const V base = next == -static_cast<V>(INFINITY) ? V{0} : next;
            const auto term = [&](int k) { return exp(value(k) - base); };
            terms = {next, terms.sum_for(next) + fold_unit<WIDTH>(Plus{}, term)};
        });
        const V maximum = share.merged(terms.maximum, Larger{});
        V sum = share.merged(terms.sum_for(maximum), Plus{});
        if (std::is_same_v<Op, LogSoftmax>) sum = log(sum);
#pragma unroll 1
        for (int64_t step = 0; step < share.steps; ++step) {
            Unit unit = share.keeps ? kept_unit<Unit>(step) : load_step(step);
#pragma unroll
            for (T& element : unit.elements)
                element = convert<T>(Op::of(load<T>(element) - maximum, sum));
            share.store_unit(out, step, unit);
        }
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

template <class T, class Op, bool STRIDED>
__device__ void backward(const Rows& args) {
    using V = Value<T>;
    using Unit = typename RowShare<T, STRIDED>::Unit;
    constexpr int WIDTH = RowShare<T, STRIDED>::WIDTH;
    struct Both {
        Unit g, y;
    };
    RowShare<T, STRIDED> share(args.cols, args.inner, args.kept_bytes != 0,
                               address(args.a) | address(args.b) | address(args.out));
    share.for_each_row(args.rows, [&](int64_t) {
        const T* const g = static_cast<const T*>(args.a) + share.start;
        const T* const y = static_cast<const T*>(args.b) + share.start;
        T* const out = static_cast<T*>(args.out) + share.start;
        const T zero = convert<T>(V{0});
        const auto load_step = [&](int64_t step) {
            return Both{share.load_unit(g, step, zero), share.load_unit(y, step, zero)};
        };
        V sum = 0;
        share.for_each_new(load_step, [&](int64_t step, const Both& both) {
            if (share.keeps) {
                kept_unit<Unit>(2 * step) = both.g;
                kept_unit<Unit>(2 * step + 1) = both.y;
            }
            sum += fold_unit<WIDTH>(Plus{}, [&](int k) {
                return Op::term(load<T>(both.g.elements[k]), load<T>(both.y.elements[k]));
            });
        });
        sum = share.merged(sum, Plus{});
#pragma unroll 1
        for (int64_t step = 0; step < share.steps; ++step) {
            Both both = share.keeps ? Both{kept_unit<Unit>(2 * step), kept_unit<Unit>(2 * step + 1)}
                                    : load_step(step);
#pragma unroll
            for (int k = 0; k < WIDTH; ++k)
                both.g.elements[k] = convert<T>(
                    Op::of(load<T>(both.g.elements[k]), load<T>(both.y.elements[k]), sum));
            share.store_unit(out, step, both.g);
        }
    });
}

#define ROWS(name, function, Op, T)                                  \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Rows args) { \
        if (args.inner == 1) return function<T, Op, false>(args);    \
        function<T, Op, true>(args);                                 \
    }
#define FORWARD(name, Op, T) ROWS(name, forward, Op, T)
#define BACKWARD(name, Op, T) ROWS(name, backward, Op, T)

FOR_FLOATS(FORWARD, softmax, Softmax)
FOR_FLOATS(FORWARD, log_softmax, LogSoftmax)
FOR_FLOATS(BACKWARD, softmax_backward, SoftmaxBackward)
FOR_FLOATS(BACKWARD, log_softmax_backward, LogSoftmaxBackward)
