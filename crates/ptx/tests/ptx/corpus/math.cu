// Floating-point instructions and the mathematical functions that compile to long code.

extern "C" __global__ void rounded_sums(const float* a, const float* b, const float* c, float* out) {
    float x = a[threadIdx.x], y = b[threadIdx.x], z = c[threadIdx.x];
    float* own = out + 16 * threadIdx.x;
    own[0] = __fadd_rn(x, y);
    own[1] = __fadd_rz(x, y);
    own[2] = __fadd_rd(x, y);
    own[3] = __fadd_ru(x, y);
    own[4] = __fmul_rz(x, y);
    own[5] = __fmul_ru(x, y);
    own[6] = __fmaf_rn(x, y, z);
    own[7] = __fmaf_rz(x, y, z);
    own[8] = __fmaf_rd(x, y, z);
    own[9] = __fmaf_ru(x, y, z);
    own[10] = __fdiv_rn(x, y);
    own[11] = __fdiv_rz(x, y);
    own[12] = __fsqrt_rn(x);
    own[13] = __fsqrt_ru(x);
    own[14] = __frcp_rd(x);
    own[15] = __fsub_rd(x, y);
}

extern "C" __global__ void rounded_doubles(const double* a, const double* b, const double* c, double* out) {
    double x = a[threadIdx.x], y = b[threadIdx.x], z = c[threadIdx.x];
    double* own = out + 8 * threadIdx.x;
    own[0] = __dadd_rz(x, y);
    own[1] = __dmul_rd(x, y);
    own[2] = __fma_ru(x, y, z);
    own[3] = __fma_rn(x, y, z);
    own[4] = __ddiv_rn(x, y);
    own[5] = __ddiv_ru(x, y);
    own[6] = __dsqrt_rz(x);
    own[7] = __drcp_rn(x);
}

extern "C" __global__ void kinds(const double* in, unsigned* out) {
    double x = in[threadIdx.x];
    float y = (float)x;
    unsigned bits = 0, p;
#define TESTED(kind, type, constraint, value, place)                                                       \
    asm("{ .reg .pred q; testp." kind "." type " q, %1; selp.u32 %0, 1, 0, q; }" : "=r"(p) : constraint(value)); \
    bits |= p << place;
    TESTED("finite", "f32", "f", y, 0)
    TESTED("infinite", "f32", "f", y, 1)
    TESTED("number", "f32", "f", y, 2)
    TESTED("notanumber", "f64", "d", x, 3)
    TESTED("normal", "f64", "d", x, 4)
    TESTED("subnormal", "f64", "d", x, 5)
    bits |= isfinite(x) << 6;
    bits |= isnan(y) << 7;
    bits |= (signbit(x) != 0) << 8;
    out[threadIdx.x] = bits;
}

extern "C" __global__ void signs(const double* a, const double* b, double* out) {
    double x = a[threadIdx.x], y = b[threadIdx.x];
    double* own = out + 8 * threadIdx.x;
    own[0] = copysign(x, y);
    own[1] = copysignf((float)x, (float)y);
    own[2] = fabs(x);
    own[3] = fmin(x, y);
    own[4] = fmaxf((float)x, (float)y);
    own[5] = fdim(x, y);
    own[6] = x < y ? -x : y;
    own[7] = fmod(x, y);
}

extern "C" __global__ void approximations(const float* in, float* out) {
    float x = in[threadIdx.x];
    float* own = out + 12 * threadIdx.x;
    own[0] = __sinf(x);
    own[1] = __cosf(x);
    own[2] = __expf(x);
    own[3] = __logf(x);
    own[4] = __log2f(x);
    own[5] = __powf(x, 1.5f);
    own[6] = __fdividef(1.0f, x);
    own[7] = __frsqrt_rn(x);
    own[8] = exp2f(x);
    own[9] = __tanf(x);
    asm("tanh.approx.f32 %0, %1;" : "=f"(own[10]) : "f"(x));
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(own[11]) : "f"(x));
}

extern "C" __global__ void half_approximations(const unsigned* in, unsigned* out) {
    unsigned x = in[threadIdx.x];
    unsigned short low = 0;
    unsigned* own = out + 3 * threadIdx.x;
    asm("ex2.approx.f16 %0, %1;" : "=h"(low) : "h"((unsigned short)x));
    own[0] = low;
    asm("tanh.approx.f16x2 %0, %1;" : "=r"(own[1]) : "r"(x));
    asm("ex2.approx.f16x2 %0, %1;" : "=r"(own[2]) : "r"(x));
}

#define MATH(name, type, expression)                                  \
    extern "C" __global__ void name(const type* in, type* out) {      \
        type x = in[threadIdx.x];                                     \
        out[threadIdx.x] = expression;                                \
    }

MATH(power, double, pow(x, 2.5) + pow(1.1, x))
MATH(trigonometry, double, sin(x) * 2 + cos(x) + tan(x))
MATH(exponentials, double, exp(x) - expm1(x * 0.5) + exp2(x) + exp10(-x))
MATH(logarithms, double, log(x) + log2(x) + log10(x) + log1p(x))
MATH(inverses, double, atan(x) + asinh(x) + hypot(x, 3.0))
MATH(single_precision, float, sinf(x) + erff(x) + tanhf(x) + powf(x, 0.3f) + atan2f(x, 2.0f))
MATH(single_special, float, lgammaf(x) + cbrtf(x) + normcdff(x) + fmodf(x, 0.7f) + ldexpf(x, 3))
