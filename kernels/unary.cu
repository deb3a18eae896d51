// out = op(a): one dtype in and out, but for logical_not, which gives bool.
#include "arithmetic.cuh"
#include "elementwise.cuh"
#include "tables.cuh"

struct Neg {
    template <class T>
    __device__ T operator()(T x) const {
        if constexpr (std::is_floating_point_v<T>) {
            return -x;
        } else {
            return minus(T{0}, x);
        }
    }
};

struct Abs {
    template <class T>
    __device__ T operator()(T x) const {
        if constexpr (std::is_floating_point_v<T>) {
            return fabs(x);
        } else {
            return negative(x) ? minus(T{0}, x) : x;
        }
    }
};

// -1, 0 or 1; of NaN it is 0, since NaN is neither above nor below zero.
struct Sign {
    template <class T>
    __device__ T operator()(T x) const {
        if (x > 0) return 1;
        if (negative(x)) return static_cast<T>(-1);
        return 0;
    }
};

struct Square {
    template <class T>
    __device__ T operator()(T x) const {
        return times(x, x);
    }
};

// Written so that NaN passes.
struct Relu {
    template <class T>
    __device__ T operator()(T x) const {
        return x <= 0 ? T{0} : x;
    }
};

struct LogicalNot {
    template <class T>
    __device__ bool operator()(T x) const {
        return x == 0;
    }
};

struct Floor {
    template <class T>
    __device__ T operator()(T x) const {
        return floor(x);
    }
};

struct Ceil {
    template <class T>
    __device__ T operator()(T x) const {
        return ceil(x);
    }
};

// Halves go to the even neighbour.
struct Round {
    template <class T>
    __device__ T operator()(T x) const {
        return rint(x);
    }
};

struct Trunc {
    template <class T>
    __device__ T operator()(T x) const {
        return trunc(x);
    }
};

struct Exp : Heavy {
    template <class T>
    __device__ T operator()(T x) const {
        return exp(x);
    }
};

struct Expm1 : Heavy {
    template <class T>
    __device__ T operator()(T x) const {
        return expm1(x);
    }
};

struct Log : Heavy {
    template <class T>
    __device__ T operator()(T x) const {
        return log(x);
    }
};

struct Log1p : Heavy {
    template <class T>
    __device__ T operator()(T x) const {
        return log1p(x);
    }
};

struct Sqrt {
    template <class T>
    __device__ T operator()(T x) const {
        return sqrt(x);
    }
};

// Two correctly rounded steps, which any machine repeats to the bit; CUDA's rsqrt() is an
// approximation.
struct Rsqrt {
    template <class T>
    __device__ T operator()(T x) const {
        return T{1} / sqrt(x);
    }
};

struct Reciprocal {
    template <class T>
    __device__ T operator()(T x) const {
        return T{1} / x;
    }
};

struct Sin : Heavy {
    template <class T>
    __device__ T operator()(T x) const {
        return sin(x);
    }
};

struct Cos : Heavy {
    template <class T>
    __device__ T operator()(T x) const {
        return cos(x);
    }
};

struct Tanh : Heavy {
    template <class T>
    __device__ T operator()(T x) const {
        return tanh(x);
    }
};

// Far below zero exp overflows to infinity, whose reciprocal is the right limit.
struct Sigmoid : Heavy {
    template <class T>
    __device__ T operator()(T x) const {
        return T{1} / (T{1} + exp(-x));
    }
};

struct Erf : Heavy {
    template <class T>
    __device__ T operator()(T x) const {
        return erf(x);
    }
};

#define UNARY(name, Op, T)                                                     \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Elementwise<2> args) { \
        map<T, T>(args, Op{});                                                 \
    }
#define PREDICATE(name, Op, T)                                                 \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Elementwise<2> args) { \
        map<bool, T>(args, Op{});                                              \
    }

FOR_NUMBERS(UNARY, neg, Neg)
FOR_NUMBERS(UNARY, abs, Abs)
FOR_NUMBERS(UNARY, sign, Sign)
FOR_NUMBERS(UNARY, square, Square)
FOR_NUMBERS(UNARY, relu, Relu)
FOR_FLOATS(UNARY, floor, Floor)
FOR_FLOATS(UNARY, ceil, Ceil)
FOR_FLOATS(UNARY, round, Round)
FOR_FLOATS(UNARY, trunc, Trunc)
FOR_FLOATS(UNARY, exp, Exp)
FOR_FLOATS(UNARY, expm1, Expm1)
FOR_FLOATS(UNARY, log, Log)
FOR_FLOATS(UNARY, log1p, Log1p)
FOR_FLOATS(UNARY, sqrt, Sqrt)
FOR_FLOATS(UNARY, rsqrt, Rsqrt)
FOR_FLOATS(UNARY, reciprocal, Reciprocal)
FOR_FLOATS(UNARY, sin, Sin)
FOR_FLOATS(UNARY, cos, Cos)
FOR_FLOATS(UNARY, tanh, Tanh)
FOR_FLOATS(UNARY, sigmoid, Sigmoid)
FOR_FLOATS(UNARY, erf, Erf)
FOR_ALL(PREDICATE, logical_not, LogicalNot)
