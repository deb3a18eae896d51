// Elementwise kernels over strided tensors given by value, in several types.
#include <cuda_fp16.h>

struct Strided {
    const float* in;
    float* out;
    long long count;
    int dims;
    int sizes[8];
    long long in_strides[8];
    long long out_strides[8];
};

extern "C" __global__ void copy_strided(Strided t) {
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < t.count; i += step) {
        long long rest = i, from = 0, to = 0;
        for (int d = t.dims - 1; d >= 0; --d) {
            long long index = rest % t.sizes[d];
            rest /= t.sizes[d];
            from += index * t.in_strides[d];
            to += index * t.out_strides[d];
        }
        t.out[to] = t.in[from];
    }
}

extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void half_axpy(int n, float a, const __half* x, __half* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __float2half_rn(a * __half2float(x[i]) + __half2float(y[i]));
}

extern "C" __global__ void half2_fma(int n, const __half2* x, __half2* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hfma2(x[i], x[i], y[i]);
}

extern "C" __global__ void vectors(int n, const float4* x, float4* y, const uchar4* b, double2* d) {
    int i = threadIdx.x;
    if (i >= n) return;
    float4 v = x[i];
    y[i] = make_float4(v.w, v.z, v.y, v.x);
    uchar4 c = b[i];
    d[i] = make_double2(c.x + 256.0 * c.y, c.z - (double)c.w);
}

// Philox 4x32-10.
extern "C" __global__ void philox(unsigned long long seed, unsigned long long offset, uint4* out) {
    unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    unsigned c0 = i, c1 = i >> 32, c2 = offset, c3 = offset >> 32, k0 = seed, k1 = seed >> 32;
    for (int round = 0; round < 10; ++round) {
        unsigned long long a = 0xD2511F53ull * c0, b = 0xCD9E8D57ull * c2;
        unsigned h0 = a >> 32, l0 = a, h1 = __umulhi(0xCD9E8D57u, c2), l1 = b;
        c0 = h1 ^ c1 ^ k0;
        c1 = l1;
        c2 = h0 ^ c3 ^ k1;
        c3 = l0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[i] = make_uint4(c0, c1, c2, c3);
}

extern "C" __global__ void wide_division(int n, const unsigned long long* x, unsigned long long* y) {
    int i = threadIdx.x;
    if (i >= n) return;
    unsigned __int128 a = ((unsigned __int128)x[3 * i] << 64) | x[3 * i + 1];
    unsigned __int128 q = a / x[3 * i + 2];
    y[2 * i] = (unsigned long long)q;
    y[2 * i + 1] = (unsigned long long)(q >> 64);
}
