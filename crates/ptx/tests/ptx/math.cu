// The mathematical functions, which nvcc writes out as PTX.
#define UNARY(name, type, expression)                                        \
    extern "C" __global__ void name(int n, const type* in, type* out) {      \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                       \
        if (i >= n) return;                                                  \
        type x = in[i];                                                      \
        out[i] = expression;                                                 \
    }

UNARY(exp_f32, float, expf(x))
UNARY(log_f32, float, logf(x))
UNARY(sin_f32, float, sinf(x))
UNARY(cos_f32, float, cosf(x))
UNARY(tanh_f32, float, tanhf(x))
UNARY(erf_f32, float, erff(x))
UNARY(pow_f32, float, powf(x, 1.7f))
UNARY(log1p_f32, float, log1pf(x))
UNARY(expm1_f32, float, expm1f(x))
UNARY(cbrt_f32, float, cbrtf(x))
UNARY(rsqrt_f32, float, rsqrtf(x))
UNARY(exp_f64, double, exp(x))
UNARY(log_f64, double, log(x))
UNARY(sin_f64, double, sin(x))
UNARY(cos_f64, double, cos(x))
UNARY(tanh_f64, double, tanh(x))
UNARY(erf_f64, double, erf(x))
UNARY(pow_f64, double, pow(x, 1.7))
UNARY(log1p_f64, double, log1p(x))
UNARY(expm1_f64, double, expm1(x))
UNARY(cbrt_f64, double, cbrt(x))
UNARY(rsqrt_f64, double, rsqrt(x))
UNARY(lgamma_f64, double, lgamma(x))
