// out = op(a, b) as bool: comparisons, and the logical operations of truth values (anything but
// zero is true, NaN too).
#include "elementwise.cuh"
#include "tables.cuh"

struct Eq {
    template <class T>
    __device__ bool operator()(T a, T b) const {
        return a == b;
    }
};

struct Ne {
    template <class T>
    __device__ bool operator()(T a, T b) const {
        return a != b;
    }
};

struct Lt {
    template <class T>
    __device__ bool operator()(T a, T b) const {
        return a < b;
    }
};

struct Le {
    template <class T>
    __device__ bool operator()(T a, T b) const {
        return a <= b;
    }
};

struct Gt {
    template <class T>
    __device__ bool operator()(T a, T b) const {
        return a > b;
    }
};

struct Ge {
    template <class T>
    __device__ bool operator()(T a, T b) const {
        return a >= b;
    }
};

struct LogicalAnd {
    template <class T>
    __device__ bool operator()(T a, T b) const {
        return a != 0 && b != 0;
    }
};

struct LogicalOr {
    template <class T>
    __device__ bool operator()(T a, T b) const {
        return a != 0 || b != 0;
    }
};

struct LogicalXor {
    template <class T>
    __device__ bool operator()(T a, T b) const {
        return (a != 0) != (b != 0);
    }
};

#define COMPARE(name, Op, T)                                                   \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Elementwise<3> args) { \
        map<bool, T, T>(args, Op{});                                           \
    }

FOR_ALL(COMPARE, eq, Eq)
FOR_ALL(COMPARE, ne, Ne)
FOR_ALL(COMPARE, lt, Lt)
FOR_ALL(COMPARE, le, Le)
FOR_ALL(COMPARE, gt, Gt)
FOR_ALL(COMPARE, ge, Ge)
FOR_ALL(COMPARE, logical_and, LogicalAnd)
FOR_ALL(COMPARE, logical_or, LogicalOr)
FOR_ALL(COMPARE, logical_xor, LogicalXor)
