// out = op(a, b), where all three have one dtype.
#include "arithmetic.cuh"
#include "elementwise.cuh"
#include "tables.cuh"

struct Add {
    template <class T>
    __device__ T operator()(T a, T b) const {
        return plus(a, b);
    }
};

struct Sub {
    template <class T>
    __device__ T operator()(T a, T b) const {
        return minus(a, b);
    }
};

struct Mul {
    template <class T>
    __device__ T operator()(T a, T b) const {
        return times(a, b);
    }
};

struct Div {
    template <class T>
    __device__ T operator()(T a, T b) const {
        return a / b;
    }
};

struct Pow : Heavy {
    template <class T>
    __device__ T operator()(T base, T exponent) const {
        if constexpr (std::is_floating_point_v<T>) {
            return pow(base, exponent);
        } else {
            return exponent < 0 ? reciprocal_power(base, exponent) : power(base, exponent);
        }
    }

    __device__ static i64 power(i64 base, i64 exponent) {
        i64 result = 1;
        for (i64 square = base; exponent != 0; exponent >>= 1, square = times(square, square)) {
            if (exponent & 1) result = times(result, square);
        }
        return result;
    }

    // 1 / base^n is a whole number for 1 and -1 only; truncation makes the rest 0, and so is what 0
    // would divide.
    __device__ static i64 reciprocal_power(i64 base, i64 exponent) {
        if (base == 1) return 1;
        if (base == -1) return exponent & 1 ? -1 : 1;
        return 0;
    }
};

struct Maximum {
    template <class T>
    __device__ T operator()(T a, T b) const {
        return larger(a, b);
    }
};

struct Minimum {
    template <class T>
    __device__ T operator()(T a, T b) const {
        return smaller(a, b);
    }
};

// The remainder has the sign of the divisor, as in Python.
struct Remainder : Heavy {
    template <class T>
    __device__ T operator()(T a, T b) const {
        if constexpr (std::is_floating_point_v<T>) {
            const T truncated = fmod(a, b);
            return rounds_up(truncated, b) ? truncated + b : truncated;
        } else {
            if (b == 0 || overflows(b)) return 0;
            const T truncated = a % b;
            return rounds_up(truncated, b) ? truncated + b : truncated;
        }
    }

    // Whether the quotient that left `truncated` was cut upwards, towards zero.
    template <class T>
    __device__ static bool rounds_up(T truncated, T b) {
        return truncated != 0 && negative(truncated) != negative(b);
    }

    // The quotient of the least i64 and -1 is not an i64; any other number divided by -1 leaves
    // nothing either.
    template <class T>
    __device__ static bool overflows(T b) {
        return std::is_signed_v<T> && b == static_cast<T>(-1);
    }
};

// The quotient rounded down, such that a = b * floor_divide(a, b) + remainder(a, b).
struct FloorDivide : Heavy {
    template <class T>
    __device__ T operator()(T a, T b) const {
        if constexpr (std::is_floating_point_v<T>) {
            return of_floats(a, b);
        } else {
            if (b == 0) return 0;
            if (Remainder::overflows(b)) return minus(T{0}, a);
            return a / b - Remainder::rounds_up<T>(a % b, b);
        }
    }

    // floor(a / b) is one too large where the division rounds up to a whole number. Less its
    // remainder, `a` is a multiple of b up to rounding, so the nearest whole number is the
    // quotient.
    template <class T>
    __device__ static T of_floats(T a, T b) {
        if (b == 0) return a / b;
        const T truncated = fmod(a, b);
        const T quotient = rint((a - truncated) / b) - Remainder::rounds_up(truncated, b);
        return quotient != 0 ? quotient : copysign(T{0}, a / b);
    }
};

// The gradient of relu at x: `grad` where x was positive or NaN.
struct ReluBackward {
    template <class T>
    __device__ T operator()(T grad, T x) const {
        return x <= 0 ? T{0} : grad;
    }
};

#define BINARY(name, Op, T)                                                    \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Elementwise<3> args) { \
        map<T, T, T>(args, Op{});                                              \
    }

FOR_ALL(BINARY, add, Add)
FOR_NUMBERS(BINARY, sub, Sub)
FOR_ALL(BINARY, mul, Mul)
FOR_FLOATS(BINARY, div, Div)
FOR_SIGNED(BINARY, pow, Pow)
FOR_ALL(BINARY, maximum, Maximum)
FOR_ALL(BINARY, minimum, Minimum)
FOR_NUMBERS(BINARY, remainder, Remainder)
FOR_NUMBERS(BINARY, floor_divide, FloorDivide)
FOR_FLOATS(BINARY, relu_backward, ReluBackward)
