// Atomic operations of every width, scope and space, with and without their results.
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void scopes(unsigned* u, unsigned long long* w) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd_block(&u[blockIdx.x], 1u);
    atomicAdd_system(&u[2], t);
    atomicMax_block(&u[3], 0u);
    atomicOr_system(&u[4], 1u << (t & 31));
    atomicAnd_block(&u[5 + blockIdx.x], ~(1u << (t & 31)));
    atomicAdd_system(&w[0], (unsigned long long)t << 30);
    atomicMin_system(&w[1], (unsigned long long)t + 5);
    atomicXor_system(&w[2], 1ull << (t & 63));
}

extern "C" __global__ void wide(long long* s, unsigned long long* w) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicMax(&s[0], -(long long)t - 1);
    atomicMin(&s[1], -((long long)t << 33));
    atomicAnd(&w[0], ~(1ull << (t & 63)));
    atomicOr(&w[1], 1ull << (t & 63));
    unsigned long long old = atomicAdd(&w[2], 1ull);
    atomicExch(&w[3], old | 1ull << 63);
    atomicCAS(&w[4], (unsigned long long)t, t + 1ull);
}

extern "C" __global__ void floats(float* f, double* d, __half* h, __nv_bfloat16* b, float* results) {
    unsigned t = threadIdx.x;
    results[t] = atomicAdd(&f[0], 1.0f);
    atomicAdd(&f[1], -0.5f);
    atomicExch(&f[2], 2.5f);
    atomicAdd(&d[0], 0.125);
    atomicAdd(&h[1], __float2half(0.5f));
    atomicAdd((__half2*)&h[2], __floats2half2_rn(1.0f, -1.0f));
    atomicAdd(&b[1], __float2bfloat16(0.5f));
    atomicAdd((__nv_bfloat162*)&b[2], __floats2bfloat162_rn(2.0f, 1.0f));
}

extern "C" __global__ void in_shared(unsigned* out, float* fout) {
    __shared__ unsigned u[8];
    __shared__ unsigned long long w;
    __shared__ float f;
    __shared__ double d;
    __shared__ __half2 h;
    if (threadIdx.x == 0) {
        for (int i = 0; i < 8; ++i) u[i] = i == 2 ? ~0u : 0;
        w = 0;
        f = 0;
        d = 0;
        h = __floats2half2_rn(0, 0);
    }
    __syncthreads();
    unsigned t = threadIdx.x;
    atomicAdd(&u[0], t);
    atomicMax((int*)&u[1], (int)t - 10);
    atomicMin(&u[2], t + 3);
    atomicInc(&u[3], 6);
    atomicDec(&u[4], 6);
    atomicCAS(&u[5], t, t + 1);
    atomicSub(&u[6], 1);
    atomicExch(&u[7], 99);
    atomicAdd(&w, 1ull << 20);
    atomicAdd(&f, 0.25f);
    atomicAdd(&d, 1.5);
    atomicAdd(&h, __floats2half2_rn(1.0f, 2.0f));
    __syncthreads();
    if (t < 8) out[t] = u[t];
    if (t == 8) out[8] = (unsigned)(w >> 20);
    if (t == 9) fout[0] = f, fout[1] = (float)d, fout[2] = __low2float(h), fout[3] = __high2float(h);
}

__device__ __noinline__ void count(unsigned* at, float* sum) {
    atomicAdd(at, 2u);
    atomicAdd(sum, 0.5f);
    atomicMax(at + 1, threadIdx.x);
}

extern "C" __global__ void generic(unsigned* u, float* f) {
    __shared__ unsigned own[2];
    __shared__ float sum;
    if (threadIdx.x == 0) own[0] = own[1] = 0, sum = 0;
    __syncthreads();
    count(threadIdx.x & 1 ? own : u, threadIdx.x & 2 ? &sum : f);
    __syncthreads();
    if (threadIdx.x == 0) u[2] = own[0], u[3] = own[1], f[1] = sum;
}

extern "C" __global__ void short_cas(unsigned short* s) {
    unsigned short assumed, old = s[threadIdx.x & 1];
    do {
        assumed = old;
        old = atomicCAS(&s[threadIdx.x & 1], assumed, (unsigned short)(assumed + 3));
    } while (assumed != old);
}

// The orders of the C++ memory model.
extern "C" __global__ void orders(int* data, int* ready, int* out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(*ready);
    cuda::atomic_ref<int, cuda::thread_scope_block> local(out[1]);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        data[0] = 41;
        flag.store(1, cuda::memory_order_release);
    }
    if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (flag.load(cuda::memory_order_acquire) == 0) {}
        out[0] = data[0] + 1;
    }
    local.fetch_add(1, cuda::memory_order_relaxed);
    local.fetch_max(3, cuda::memory_order_acq_rel);
    int expected = 1000;
    flag.compare_exchange_strong(expected, 7, cuda::memory_order_seq_cst);
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_system);
    cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_block);
}

extern "C" __global__ void vectors(float* f) {
#if __CUDA_ARCH__ >= 900
    atomicAdd((float2*)f, make_float2(1.0f, 2.0f));
    atomicAdd((float4*)(f + 4), make_float4(1.0f, 2.0f, 3.0f, 4.0f));
#else
    for (int i = 0; i < 2; ++i) atomicAdd(f + i, i + 1.0f);
    for (int i = 0; i < 4; ++i) atomicAdd(f + 4 + i, i + 1.0f);
#endif
}

// Reductions as assembler, which is how libraries write those that CUDA has no function for.
extern "C" __global__ void reductions(unsigned* u, unsigned short* h) {
    unsigned t = threadIdx.x;
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(u), "r"(t) : "memory");
    asm volatile("red.global.max.s32 [%0], %1;" ::"l"(u + 1), "r"((int)t - 40) : "memory");
    asm volatile("red.release.sys.global.or.b32 [%0], %1;" ::"l"(u + 2), "r"(1u << (t & 31)) : "memory");
    asm volatile("red.global.add.noftz.f16 [%0], %1;" ::"l"(h), "h"((unsigned short)0x3c00) : "memory");
    asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(h + 2), "r"(0x40003c00) : "memory");
    unsigned old;
    asm volatile("atom.acquire.cta.global.inc.u32 %0, [%1], %2;" : "=r"(old) : "l"(u + 3), "r"(9) : "memory");
    asm volatile("atom.global.gpu.exch.b32 %0, [%1], %2;" : "=r"(old) : "l"(u + 4), "r"(77) : "memory");
}
