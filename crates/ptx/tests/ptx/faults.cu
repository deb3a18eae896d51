// Kernels that fail, each in its own way, and one that prints.
#include <cassert>
#include <cstdio>

extern "C" __global__ void asserts(int limit) { assert(threadIdx.x < limit); }

extern "C" __global__ void traps(int which) {
    if (threadIdx.x == which) __trap();
}

extern "C" __global__ void store(int* place, int index) { place[index] = 1; }

extern "C" __global__ void load_wide(const char* place, double* out) { *out = *(const double*)place; }

extern "C" __global__ void add(float* place) { atomicAdd(place, 1.0f); }

extern "C" __global__ void shared_store(int index) {
    __shared__ int values[32];
    ((volatile int*)values)[index] = 1;
}

extern "C" __global__ void local_store(int index, int* out) {
    volatile int values[8];
    for (int i = 0; i < 8; ++i) values[i] = i;
    values[index] = 5;
    out[0] = values[out[1]];
}

extern "C" __global__ void deadlock() {
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;");
    else
        asm volatile("bar.sync 2, 64;");
}

extern "C" __global__ void prints(const char* name, double value) {
    if (threadIdx.x == 1) printf("thread %d of %u: %s = %.3f %c %%\n", threadIdx.x, blockDim.x, name, value, 'x');
}

extern "C" __global__ void prints_literal() { printf("%s %lld\n", "literal", -5ll); }
