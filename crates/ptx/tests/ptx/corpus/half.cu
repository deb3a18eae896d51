// Arithmetic of 16-bit floating-point numbers, alone and in pairs.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#if __CUDA_ARCH__ >= 800
#define SINCE_80(newer, older) newer
#else
#define SINCE_80(newer, older) older
#endif

extern "C" __global__ void half_arithmetic(const __half* a, const __half* b, const __half* c, __half* out) {
    int t = threadIdx.x;
    __half x = a[t], y = b[t], z = c[t];
    __half* own = out + 12 * t;
    own[0] = __hadd(x, y);
    own[1] = __hsub(x, y);
    own[2] = __hmul(x, y);
    own[3] = __hfma(x, y, z);
    own[4] = __hneg(x);
    own[5] = __habs(x);
    own[6] = __hadd_sat(x, y);
    own[7] = __hmul_sat(x, y);
    own[8] = __hfma_sat(x, y, z);
    own[9] = __hmin(x, y);
    own[10] = __hmax(x, y);
    own[11] = __hdiv(x, y);
}

extern "C" __global__ void half_pairs(const __half2* a, const __half2* b, const __half2* c, __half2* out) {
    int t = threadIdx.x;
    __half2 x = a[t], y = b[t], z = c[t];
    __half2* own = out + 10 * t;
    own[0] = __hadd2(x, y);
    own[1] = __hsub2(x, y);
    own[2] = __hmul2(x, y);
    own[3] = __hfma2(x, y, z);
    own[4] = __hneg2(x);
    own[5] = __habs2(x);
    own[6] = __hmin2(x, y);
    own[7] = __hmax2(x, y);
    own[8] = __lowhigh2highlow(x);
    own[9] = __hadd2_sat(x, y);
}

// What came with compute_80: NaN-propagating minimum and maximum, and rectified fused products.
extern "C" __global__ void half_nan_min_max(const __half* a, const __half* b, const __half* c, __half* out) {
    int t = threadIdx.x;
    __half x = a[t], y = b[t], z = c[t];
    __half* own = out + 3 * t;
    __half nan = __ushort_as_half(0x7fff), zero = __ushort_as_half(0);
    bool any_nan = __hisnan(x) || __hisnan(y);
    __half product = __hfma(x, y, z);
    own[0] = SINCE_80(__hmin_nan(x, y), any_nan ? nan : __hmin(x, y));
    own[1] = SINCE_80(__hmax_nan(x, y), any_nan ? nan : __hmax(x, y));
    own[2] = SINCE_80(__hfma_relu(x, y, z), __hisnan(product) ? nan : __hmax(product, zero));
}

extern "C" __global__ void half_comparisons(const __half* a, const __half* b, unsigned* out) {
    int t = threadIdx.x;
    __half x = a[t], y = b[t];
    unsigned bits = 0;
    bits |= __heq(x, y) << 0;
    bits |= __hne(x, y) << 1;
    bits |= __hlt(x, y) << 2;
    bits |= __hle(x, y) << 3;
    bits |= __hgt(x, y) << 4;
    bits |= __hge(x, y) << 5;
    bits |= __hequ(x, y) << 6;
    bits |= __hneu(x, y) << 7;
    bits |= __hltu(x, y) << 8;
    bits |= __hgeu(x, y) << 9;
    bits |= __hisnan(x) << 10;
    bits |= (__hisinf(x) != 0) << 11;
    __half2 p = __halves2half2(x, y), q = __halves2half2(y, y);
    bits |= __hbeq2(p, q) << 12;
    bits |= __hblt2(p, q) << 13;
    bits |= __hbneu2(p, q) << 14;
    out[2 * t] = bits;
    out[2 * t + 1] = __hlt2_mask(p, q);
}

extern "C" __global__ void half_functions(const __half* a, float* out) {
    int t = threadIdx.x;
    __half x = a[t];
    float* own = out + 10 * t;
    own[0] = __half2float(hexp2(x));
    own[1] = __half2float(hlog2(x));
    own[2] = __half2float(hsqrt(x));
    own[3] = __half2float(hrsqrt(x));
    own[4] = __half2float(hrcp(x));
    own[5] = __half2float(hsin(x));
    own[6] = __half2float(hcos(x));
    own[7] = __half2float(hexp(x));
    own[8] = __half2float(hlog(x));
    own[9] = __half2float(htanh_approx(x));
}

// Products and sums of bf16 in one step, by way of f64 where there is no instruction.
__device__ __nv_bfloat16 fused(__nv_bfloat16 x, __nv_bfloat16 y, __nv_bfloat16 z) {
    return SINCE_80(__hfma(x, y, z), __double2bfloat16(fma((double)__bfloat162float(x), (double)__bfloat162float(y),
                                                           (double)__bfloat162float(z))));
}

__device__ __nv_bfloat162 fused2(__nv_bfloat162 x, __nv_bfloat162 y, __nv_bfloat162 z) {
    return SINCE_80(__hfma2(x, y, z), __halves2bfloat162(fused(__low2bfloat16(x), __low2bfloat16(y), __low2bfloat16(z)),
                                                         fused(__high2bfloat16(x), __high2bfloat16(y), __high2bfloat16(z))));
}

extern "C" __global__ void bfloat_arithmetic(const __nv_bfloat16* a, const __nv_bfloat16* b, const __nv_bfloat16* c,
                                             __nv_bfloat16* out) {
    int t = threadIdx.x;
    __nv_bfloat16 x = a[t], y = b[t], z = c[t];
    __nv_bfloat16* own = out + 8 * t;
    own[0] = __hadd(x, y);
    own[1] = __hsub(x, y);
    own[2] = __hmul(x, y);
    own[3] = fused(x, y, z);
    own[4] = __hneg(x);
    own[5] = __habs(x);
    own[6] = __hmin(x, y);
    own[7] = __hmax(x, y);
}

extern "C" __global__ void bfloat_pairs(const __nv_bfloat162* a, const __nv_bfloat162* b, const __nv_bfloat162* c,
                                        __nv_bfloat162* out) {
    int t = threadIdx.x;
    __nv_bfloat162 x = a[t], y = b[t], z = c[t];
    __nv_bfloat162* own = out + 6 * t;
    own[0] = __hadd2(x, y);
    own[1] = __hmul2(x, y);
    own[2] = fused2(x, y, z);
    own[3] = __hmin2(x, y);
    own[4] = __hmax2(x, y);
    own[5] = __hsub2(x, y);
}

extern "C" __global__ void bfloat_comparisons(const __nv_bfloat16* a, const __nv_bfloat16* b, unsigned* out) {
    int t = threadIdx.x;
    __nv_bfloat16 x = a[t], y = b[t];
    unsigned bits = 0;
    bits |= __heq(x, y) << 0;
    bits |= __hlt(x, y) << 1;
    bits |= __hge(x, y) << 2;
    bits |= __hneu(x, y) << 3;
    bits |= __hisnan(x) << 4;
    bits |= __hbgt2(__halves2bfloat162(x, y), __halves2bfloat162(y, x)) << 5;
    out[t] = bits;
}
