// Conversions between number types, in every rounding and with every clamp that CUDA has.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" __global__ void float_to_integers(const float* in, long long* out) {
    float x = in[threadIdx.x];
    long long* own = out + 12 * threadIdx.x;
    own[0] = __float2int_rn(x);
    own[1] = __float2int_rz(x);
    own[2] = __float2int_rd(x);
    own[3] = __float2int_ru(x);
    own[4] = __float2uint_rn(x);
    own[5] = __float2uint_rz(x);
    own[6] = __float2ll_rd(x);
    own[7] = __float2ll_ru(x);
    own[8] = (long long)__float2ull_rn(x);
    own[9] = (long long)__float2ull_rz(x);
    own[10] = (signed char)x;
    own[11] = (unsigned short)x;
}

extern "C" __global__ void double_to_numbers(const double* in, long long* out) {
    double x = in[threadIdx.x];
    long long* own = out + 10 * threadIdx.x;
    own[0] = __double2int_rn(x);
    own[1] = __double2int_rd(x);
    own[2] = __double2uint_ru(x);
    own[3] = __double2ll_rz(x);
    own[4] = (long long)__double2ull_rn(x);
    own[5] = __float_as_int(__double2float_rn(x));
    own[6] = __float_as_int(__double2float_rz(x));
    own[7] = __float_as_int(__double2float_rd(x));
    own[8] = __float_as_int(__double2float_ru(x));
    own[9] = __half_as_short(__double2half(x));
}

extern "C" __global__ void integers_to_floats(const long long* in, double* out) {
    long long x = in[threadIdx.x];
    double* own = out + 14 * threadIdx.x;
    own[0] = __int2float_rn((int)x);
    own[1] = __int2float_rz((int)x);
    own[2] = __int2float_rd((int)x);
    own[3] = __uint2float_ru((unsigned)x);
    own[4] = __ll2float_rn(x);
    own[5] = __ll2float_rd(x);
    own[6] = __ull2float_rz((unsigned long long)x);
    own[7] = __ll2double_rn(x);
    own[8] = __ll2double_ru(x);
    own[9] = __ull2double_rd((unsigned long long)x);
    own[10] = (float)(short)x;
    own[11] = (double)(unsigned char)x;
    own[12] = __half2float(__int2half_rn((int)x));
    own[13] = __half2float(__ushort2half_rd((unsigned short)x));
}

// Between integers of all widths, the way casts write them.
extern "C" __global__ void between_integers(const long long* in, long long* out) {
    long long x = in[threadIdx.x];
    long long* own = out + 6 * threadIdx.x;
    own[0] = (signed char)x;
    own[1] = (unsigned char)x;
    own[2] = (short)x;
    own[3] = (unsigned short)x;
    own[4] = (int)x;
    own[5] = (unsigned)x;
}

extern "C" __global__ void saturated(const float* in, float* out) {
    float x = in[threadIdx.x];
    float* own = out + 6 * threadIdx.x;
    own[0] = __saturatef(x);
    own[1] = __saturatef(x * 2.0f);
    own[2] = __half2float(__hadd_sat(__float2half(x), __float2half(0.25f)));
    int clamped;
    asm("cvt.sat.s8.s32 %0, %1;" : "=r"(clamped) : "r"(__float2int_rn(x)));
    own[3] = clamped;
    asm("cvt.sat.u8.s32 %0, %1;" : "=r"(clamped) : "r"(__float2int_rn(x)));
    own[4] = clamped;
    unsigned short narrow;
    asm("cvt.sat.u16.s64 %0, %1;" : "=h"(narrow) : "l"(__float2ll_rn(x) * 1000));
    own[5] = narrow;
}

extern "C" __global__ void whole_numbers(const double* in, double* out) {
    double x = in[threadIdx.x];
    double* own = out + 8 * threadIdx.x;
    own[0] = floor(x);
    own[1] = ceil(x);
    own[2] = trunc(x);
    own[3] = rint(x);
    own[4] = floorf((float)x);
    own[5] = rintf((float)x);
    own[6] = __half2float(hfloor(__double2half(x)));
    own[7] = __half2float(hrint(__double2half(x)));
}

extern "C" __global__ void halves(const float* in, unsigned short* out) {
    float x = in[threadIdx.x];
    unsigned short* own = out + 10 * threadIdx.x;
    own[0] = __half_as_ushort(__float2half_rn(x));
    own[1] = __half_as_ushort(__float2half_rz(x));
    own[2] = __half_as_ushort(__float2half_rd(x));
    own[3] = __half_as_ushort(__float2half_ru(x));
    own[4] = __bfloat16_as_ushort(__float2bfloat16_rn(x));
    own[5] = __bfloat16_as_ushort(__float2bfloat16_rz(x));
    __half2 pair = __floats2half2_rn(x, -x);
    own[6] = __half_as_ushort(__low2half(pair));
    own[7] = __half_as_ushort(__high2half(pair));
    __nv_bfloat162 wide = __floats2bfloat162_rn(x, 2.0f * x);
    own[8] = __bfloat16_as_ushort(__low2bfloat16(wide));
    own[9] = __bfloat16_as_ushort(__high2bfloat16(wide));
}

extern "C" __global__ void halves_to_integers(const unsigned short* in, long long* out) {
    __half x = __ushort_as_half(in[threadIdx.x]);
    __nv_bfloat16 y = __ushort_as_bfloat16(in[threadIdx.x]);
    long long* own = out + 7 * threadIdx.x;
    own[0] = __half2int_rn(x);
    own[1] = __half2int_rd(x);
    own[2] = __half2uint_ru(x);
    own[3] = __half2ll_rz(x);
    own[4] = __half2short_rn(x);
    own[5] = __bfloat162int_rz(y);
    own[6] = __bfloat162ll_rd(y);
}

// 8-bit numbers: instructions from compute_89 on, integer arithmetic before.
extern "C" __global__ void to_bytes(const float* in, unsigned char* out) {
    float x = in[threadIdx.x];
    unsigned char* own = out + 6 * threadIdx.x;
    own[0] = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
    own[1] = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
    __nv_fp8x2_storage_t pair = __nv_cvt_float2_to_fp8x2(make_float2(x, -x), __NV_SATFINITE, __NV_E4M3);
    own[2] = (unsigned char)pair;
    own[3] = (unsigned char)(pair >> 8);
    __half2 halves = __floats2half2_rn(x, x * 0.5f);
    pair = __nv_cvt_halfraw2_to_fp8x2(halves, __NV_SATFINITE, __NV_E5M2);
    own[4] = (unsigned char)pair;
    own[5] = (unsigned char)(pair >> 8);
}

extern "C" __global__ void from_bytes(const unsigned char* in, float* out) {
    unsigned char byte = in[threadIdx.x];
    float* own = out + 4 * threadIdx.x;
    own[0] = __half2float(__nv_cvt_fp8_to_halfraw(byte, __NV_E4M3));
    own[1] = __half2float(__nv_cvt_fp8_to_halfraw(byte, __NV_E5M2));
    __nv_fp8_e4m3 a;
    a.__x = byte;
    own[2] = float(a) + 1.0f;
    __half2 pair = __nv_cvt_fp8x2_to_halfraw2((__nv_fp8x2_storage_t)(byte | 0x3800), __NV_E4M3);
    own[3] = __high2float(pair);
}
