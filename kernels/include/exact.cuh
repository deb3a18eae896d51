// Steps in f64 that every machine repeats to the bit, so that the CPU's kernels can give the same
// numbers as these. Written as * and +, nvcc would fuse them into one rounding where it can; the
// intrinsics are never fused.
#pragma once

#include "dtype.cuh"

namespace exact {

__device__ inline double add(double a, double b) { return __dadd_rn(a, b); }

__device__ inline double mul(double a, double b) { return __dmul_rn(a, b); }

// c[0] + z * (c[1] + z * (c[2] + ...)), from the innermost outwards.
template <int N>
__device__ double polynomial(double z, const double (&c)[N]) {
    double sum = c[N - 1];
#pragma unroll
    for (int n = N - 2; n >= 0; --n) sum = add(mul(sum, z), c[n]);
    return sum;
}

// The natural logarithm for normal u > 0, to about one unit in the last place. u = 2^e * m with m
// between sqrt(1/2) and sqrt(2); ln m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172.
__device__ inline double log(double u) {
    constexpr double SQRT_2 = 1.4142135623730951;
    constexpr double LN_2 = 0.6931471805599453;
    constexpr uint64_t FRACTION = (1ull << 52) - 1;
    constexpr uint64_t EXPONENT_OF_1 = 1023ull << 52;
    const uint64_t bits = __double_as_longlong(u);
    int e = static_cast<int>(bits >> 52) - 1023;
    double m = __longlong_as_double((bits & FRACTION) | EXPONENT_OF_1);
    if (m > SQRT_2) {
        m = mul(m, 0.5);
        ++e;
    }
    const double s = __ddiv_rn(add(m, -1.0), add(m, 1.0));
    constexpr double SERIES[] = {2.0,        2.0 / 3.0,  2.0 / 5.0,  2.0 / 7.0,
                                 2.0 / 9.0,  2.0 / 11.0, 2.0 / 13.0, 2.0 / 15.0,
                                 2.0 / 17.0, 2.0 / 19.0, 2.0 / 21.0};
    return add(mul(e, LN_2), mul(s, polynomial(mul(s, s), SERIES)));
}

// The cosine and the sine of an angle.
struct CosSin {
    double cos, sin;
};

// Those of 2 pi u for 0 <= u < 1. The angle is taken from the nearest quarter turn, which is exact,
// and lies within pi / 4.
__device__ inline CosSin cos_sin_turns(double u) {
    constexpr double HALF_PI = 1.5707963267948966;
    const double quarters = mul(u, 4.0);
    const int nearest = static_cast<int>(add(quarters, 0.5));
    const double x = mul(add(quarters, -nearest), HALF_PI);
    const double z = mul(x, x);
    constexpr double COS[] = {1.0,
                              -1.0 / 2.0,
                              1.0 / 24.0,
                              -1.0 / 720.0,
                              1.0 / 40320.0,
                              -1.0 / 3628800.0,
                              1.0 / 479001600.0,
                              -1.0 / 87178291200.0,
                              1.0 / 20922789888000.0};
    constexpr double SIN[] = {1.0,
                              -1.0 / 6.0,
                              1.0 / 120.0,
                              -1.0 / 5040.0,
                              1.0 / 362880.0,
                              -1.0 / 39916800.0,
                              1.0 / 6227020800.0,
                              -1.0 / 1307674368000.0,
                              1.0 / 355687428096000.0};
    const double sin = mul(x, polynomial(z, SIN)), cos = polynomial(z, COS);
    const double even = nearest & 1 ? sin : cos, odd = nearest & 1 ? cos : sin;
    // A quarter turn on, the cosine is -sin and the sine cos; two, -cos and -sin; three, sin and
    // -cos.
    return {nearest == 1 || nearest == 2 ? -even : even,
            nearest == 2 || nearest == 3 ? -odd : odd};
}

}  // namespace exact

// An f64 result as T. Halves are rounded from f32, as everywhere.
template <class T>
__device__ T round_to(double value) {
    if constexpr (std::is_same_v<T, f64>) {
        return value;
    } else {
        return convert<T>(static_cast<float>(value));
    }
}
