// Functions of single values that are no instructions, for kernels that are printed from
// expressions: `{primitive}_{type}` for the primitives of the crate `expression`. They are compiled
// to functions, and the printer puts their bodies where they are used.
#include <cstdint>

#define FUNCTION extern "C" __device__ __noinline__ __attribute__((used))

// One line for each function that CUDA has under the same name in both precisions.
#define UNARY(name)                                                            \
    FUNCTION float name##_f32(float x) { return ::name##f(x); }                \
    FUNCTION double name##_f64(double x) { return ::name(x); }
#define BINARY(name)                                                           \
    FUNCTION float name##_f32(float a, float b) { return ::name##f(a, b); }    \
    FUNCTION double name##_f64(double a, double b) { return ::name(a, b); }

UNARY(exp)
UNARY(exp2)
UNARY(expm1)
UNARY(log)
UNARY(log2)
UNARY(log10)
UNARY(log1p)
UNARY(sin)
UNARY(cos)
UNARY(tan)
UNARY(asin)
UNARY(acos)
UNARY(atan)
UNARY(sinh)
UNARY(cosh)
UNARY(tanh)
UNARY(asinh)
UNARY(acosh)
UNARY(atanh)
UNARY(erf)
UNARY(erfc)
UNARY(erfinv)
UNARY(lgamma)
BINARY(fmod)
BINARY(pow)
BINARY(atan2)
BINARY(hypot)
BINARY(nextafter)

// Far below zero exp overflows to infinity, whose reciprocal is the right limit.
FUNCTION float sigmoid_f32(float x) { return 1.0f / (1.0f + expf(-x)); }
FUNCTION double sigmoid_f64(double x) { return 1.0 / (1.0 + exp(-x)); }

namespace {

// The derivative of lgamma: by its recurrence up to where the asymptotic series holds, and by its
// reflection from the negative side (Abramowitz and Stegun, 6.3.5, 6.3.7, 6.3.18).
__device__ __forceinline__ double digamma(double x) {
    constexpr double PI = 3.14159265358979323846;
    // B(2k) / 2k, the last one first.
    constexpr double SERIES[] = {1.0 / 12,  -691.0 / 32760, 1.0 / 132, -1.0 / 240,
                                 1.0 / 252, -1.0 / 120,     1.0 / 12};
    constexpr double ASYMPTOTIC = 12.0;
    if (x == 0.0) return copysign(__longlong_as_double(0x7FF0000000000000), -x);
    double sum = 0.0;
    if (x < 0.0) {
        // The fraction first: PI * x would lose what the tangent lives on. At the poles it is zero.
        const double fraction = x - trunc(x);
        if (fraction == 0.0) return __longlong_as_double(0x7FF8000000000000);
        sum = -PI / tan(PI * fraction);
        x = 1.0 - x;
    }
#pragma unroll 1
    while (x < ASYMPTOTIC) {
        sum -= 1.0 / x;
        x += 1.0;
    }
    const double z = 1.0 / (x * x);
    double series = 0.0;
    for (const double coefficient : SERIES) series = series * z + coefficient;
    return sum + (log(x) - 0.5 / x - series * z);
}

// Python's //, step by step in one precision: the quotient of the multiple below a, which differs
// from the quotient rounded down where that rounds up to a whole number.
template <class T>
__device__ __forceinline__ T floor_div(T a, T b) {
    if (b == 0) return a / b;
    const T rest = fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return copysign(T{0}, a / b);
    const T whole = floor(quotient);
    return quotient - whole > T{0.5} ? whole + 1 : whole;
}

// Python's %. (C has another `remainder`.)
template <class T>
__device__ __forceinline__ T floored_remainder(T a, T b) {
    const T rest = fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// By squaring, in unsigned numbers, which wrap around. To a negative power only 1 and -1 are not 0.
template <class Signed, class Unsigned>
__device__ __forceinline__ Signed power(Signed base, Signed exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? ((exponent & 1) ? -1 : 1) : 0;
    Unsigned square = base, product = 1;
#pragma unroll 1
    for (Unsigned rest = exponent; rest != 0; rest >>= 1) {
        if (rest & 1) product *= square;
        square *= square;
    }
    return product;
}

// Euclid's algorithm on magnitudes. The magnitude of the least number is that number again.
template <class Signed, class Unsigned>
__device__ __forceinline__ Signed common_divisor(Signed a, Signed b) {
    Unsigned x = a < 0 ? Unsigned{0} - a : a, y = b < 0 ? Unsigned{0} - b : b;
#pragma unroll 1
    while (y != 0) {
        const Unsigned rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}

}  // namespace

// The recurrence and the reflection cancel digits, which are there in double precision.
FUNCTION float digamma_f32(float x) { return digamma(static_cast<double>(x)); }
FUNCTION double digamma_f64(double x) { return digamma(x); }
FUNCTION float floor_div_f32(float a, float b) { return floor_div(a, b); }
FUNCTION double floor_div_f64(double a, double b) { return floor_div(a, b); }
FUNCTION float remainder_f32(float a, float b) { return floored_remainder(a, b); }
FUNCTION double remainder_f64(double a, double b) { return floored_remainder(a, b); }
FUNCTION int32_t pow_i32(int32_t a, int32_t b) { return power<int32_t, uint32_t>(a, b); }
FUNCTION int64_t pow_i64(int64_t a, int64_t b) { return power<int64_t, uint64_t>(a, b); }
FUNCTION int32_t gcd_i32(int32_t a, int32_t b) { return common_divisor<int32_t, uint32_t>(a, b); }
FUNCTION int64_t gcd_i64(int64_t a, int64_t b) { return common_divisor<int64_t, uint64_t>(a, b); }
