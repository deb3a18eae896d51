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

// The regularized incomplete gamma functions; `incomplete_gamma.rs` of the crate `expression` has the
// same steps, and says where they are from.
constexpr double NAN_F64 = __builtin_nan(""), TWO_PI = 6.28318530717958647692;
constexpr double HALF_ULP = 1.1102230246251565e-16;
constexpr int MAX_TERMS = 2000;

// log(1 + u) - u, exact near 0.
__device__ __forceinline__ double log_less_linear(double u) {
    if (fabs(u) >= 0.5) return log(1.0 + u) - u;
    double power = u, sum = 0.0;
#pragma unroll 1
    for (int n = 2; n < MAX_TERMS; ++n) {
        power *= -u;
        const double term = power / n;
        sum += term;
        if (fabs(term) <= HALF_ULP * fabs(sum)) break;
    }
    return sum;
}

// x^a e^-x / gamma(a + 1), where a is not small.
__device__ __forceinline__ double large_gamma_factor(double a, double x) {
    const double z = 1.0 / (a * a);
    const double series = 1.0 / 1260.0 - z * (1.0 / 1680.0 - z / 1188.0);
    const double correction = (1.0 / 12.0 - z * (1.0 / 360.0 - z * series)) / a;
    const double ratio = x / a;
    const double exponent =
        ratio < 0.5 ? log(ratio) - ratio + 1.0 : log_less_linear(ratio - 1.0);
    return exp(a * exponent - correction) / sqrt(TWO_PI * a);
}

__device__ __forceinline__ double lower_gamma_series(double a, double x) {
    double term = 1.0, sum = 1.0;
#pragma unroll 1
    for (int n = 1; n < MAX_TERMS; ++n) {
        term *= x / (a + n);
        sum += term;
        if (term <= HALF_ULP * sum) break;
    }
    return sum;
}

__device__ __forceinline__ double or_tiny(double value) {
    return fabs(value) < 1e-300 ? 1e-300 : value;
}

__device__ __forceinline__ double upper_gamma_fraction(double a, double x) {
    double denominator = x + 1.0 - a, c = 1e300, d = 1.0 / or_tiny(denominator);
    double fraction = d;
#pragma unroll 1
    for (int n = 1; n < MAX_TERMS; ++n) {
        const double numerator = -n * (n - a);
        denominator += 2.0;
        d = 1.0 / or_tiny(numerator * d + denominator);
        c = or_tiny(denominator + numerator / c);
        const double change = c * d;
        fraction *= change;
        if (fabs(change - 1.0) <= 2.0 * HALF_ULP) break;
    }
    return a * fraction;
}

__device__ __forceinline__ double upper_gamma_series(double a, double x) {
    double power = 1.0, sum = 0.0;
#pragma unroll 1
    for (int n = 1; n < MAX_TERMS; ++n) {
        power *= -x / n;
        const double term = power / (a + n);
        sum += term;
        if (fabs(term) <= HALF_ULP * fabs(sum)) break;
    }
    return sum;
}

template <int N>
__device__ __forceinline__ double polynomial(double x, const double (&coefficients)[N]) {
    double sum = 0.0;
    for (const double coefficient : coefficients) sum = sum * x + coefficient;
    return sum;
}

__device__ __forceinline__ double uniform_expansion(double a, double x, bool is_upper) {
    // The highest power first.
    constexpr double FIRST[] = {-281.0 / 151559100.0, -571.0 / 261273600.0, 1.0 / 25515.0,
                                -139.0 / 777600.0,    1.0 / 2835.0,         1.0 / 864.0,
                                -2.0 / 135.0,         1.0 / 12.0,           -1.0 / 3.0};
    constexpr double SECOND[] = {1.0 / 4860.0, -77.0 / 77760.0, 1.0 / 378.0, -1.0 / 288.0,
                                 -1.0 / 540.0};
    constexpr double THIRD[] = {5.0 / 93312.0, 101.0 / 136080.0, -139.0 / 51840.0, 25.0 / 6048.0};
    const double distance = (x - a) / a;
    const double half_square = -log_less_linear(distance);
    const double eta = copysign(sqrt(2.0 * half_square), distance);
    const double series = polynomial(eta, FIRST) +
                          (polynomial(eta, SECOND) + polynomial(eta, THIRD) / a) / a;
    const double rest = series * exp(-a * half_square) / sqrt(TWO_PI * a);
    const double angle = eta * sqrt(a / 2.0);
    return 0.5 * erfc(is_upper ? angle : -angle) + (is_upper ? rest : -rest);
}

__device__ __forceinline__ double incomplete_gamma(double a, double x, bool is_upper) {
    if (!(a >= 0.0 && x >= 0.0) || (a == 0.0 && x == 0.0) || (isinf(a) && isinf(x))) return NAN_F64;
    if (a == 0.0 || isinf(x)) return is_upper ? 0.0 : 1.0;
    if (x == 0.0 || isinf(a)) return is_upper ? 1.0 : 0.0;
    if (a > 2000.0 && fabs(x - a) < 0.06 * a) return uniform_expansion(a, x, is_upper);
    const bool is_lower_small = x > 1.1 ? x < a : x > 0.5 ? x * 1.1 < a : -0.4 / log(x) < a;
    // Each function that is called at one place only is there once.
    const double exponent = a < 20.0 ? a * log(x) - lgamma(a + 1.0) : 0.0;
    double found;
    if (!is_lower_small && x <= 1.1) {
        found = -expm1(exponent) - exp(exponent) * a * upper_gamma_series(a, x);
    } else {
        found = is_lower_small ? lower_gamma_series(a, x) : upper_gamma_fraction(a, x);
        found *= a < 20.0 ? exp(exponent - x) : large_gamma_factor(a, x);
    }
    return is_lower_small == is_upper ? 1.0 - found : found;
}

}  // namespace

// In single precision the factor would lose its digits.
FUNCTION float igamma_f32(float a, float x) { return incomplete_gamma(a, x, false); }
FUNCTION double igamma_f64(double a, double x) { return incomplete_gamma(a, x, false); }
FUNCTION float igammac_f32(float a, float x) { return incomplete_gamma(a, x, true); }
FUNCTION double igammac_f64(double a, double x) { return incomplete_gamma(a, x, true); }

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
