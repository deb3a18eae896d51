// Atomic operations on global and shared memory.
#include <cuda_fp16.h>

extern "C" __global__ void counters(unsigned* u, int* s, unsigned long long* w, float* f, double* d, __half* h) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&u[0], 1u);
    atomicMax(&u[1], t);
    atomicMin(&u[2], t);
    atomicAnd(&u[3], ~(1u << (t & 31)));
    atomicOr(&u[4], 1u << (t & 31));
    atomicXor(&u[5], t);
    atomicInc(&u[6], 9u);
    atomicDec(&u[7], 9u);
    atomicMax(&s[0], -(int)t);
    atomicMin(&s[1], -(int)t);
    atomicAdd(&w[0], 1ull << 32);
    atomicMax(&w[1], (unsigned long long)t << 40);
    atomicAdd(&f[0], 0.5f);
    atomicAdd(&d[0], 0.25);
    atomicAdd(&h[0], __float2half(1.0f));
    atomicAdd((__half2*)&h[2], __floats2half2_rn(1.0f, 2.0f));
    atomicExch(&u[8], 5u);
    atomicAdd(&u[9], atomicAdd(&u[10], 1u));
}

extern "C" __global__ void cas_product(double* d, const double* factors) {
    unsigned long long* place = (unsigned long long*)d;
    unsigned long long old = *place, assumed;
    do {
        assumed = old;
        double product = __longlong_as_double(assumed) * factors[threadIdx.x];
        old = atomicCAS(place, assumed, __double_as_longlong(product));
    } while (assumed != old);
}

extern "C" __global__ void histogram(int n, const unsigned char* in, unsigned* out) {
    __shared__ unsigned bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i]], 1u);
    __syncthreads();
    atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

// Through a pointer of which the compiler does not know where it points.
extern "C" __global__ void generic_pointer(int* out, int use_shared) {
    __shared__ int counter;
    if (threadIdx.x == 0) counter = 0;
    __syncthreads();
    int* place = use_shared ? &counter : out;
    atomicAdd(place, (int)threadIdx.x);
    __syncthreads();
    if (use_shared && threadIdx.x == 0) out[1] = counter;
}
