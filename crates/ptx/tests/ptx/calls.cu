// Functions: structures by value, barriers inside, recursion, tables of jumps, pointers into local memory.

struct Pair {
    double a;
    int b[3];
};

__device__ __noinline__ Pair swap(Pair p, int k) {
    Pair r;
    r.a = p.b[0] + k;
    r.b[0] = (int)p.a;
    r.b[1] = p.b[2];
    r.b[2] = p.b[1];
    return r;
}

extern "C" __global__ void by_value(int* out) {
    Pair p = {threadIdx.x * 2.0, {(int)threadIdx.x, 7, 9}};
    Pair q = swap(swap(p, 1), 2);
    out[threadIdx.x] = (int)q.a * 10000 + q.b[0] * 100 + q.b[1] + q.b[2];
}

__device__ __noinline__ int exchange(int* slots, int v, int round) {
    slots[threadIdx.x] = v;
    __syncthreads();
    int other = slots[(threadIdx.x + round) % blockDim.x];
    __syncthreads();
    if (other < 0) return 0;
    return other;
}

__device__ __noinline__ int twice(int* slots, int v) {
    int first = exchange(slots, v, 1);
    return exchange(slots, first, 2) + 1;
}

extern "C" __global__ void barrier_in_function(int* out) {
    __shared__ int slots[64];
    int v = threadIdx.x;
    for (int i = 0; i < 3; ++i) v = twice(slots, v);
    out[threadIdx.x] = v;
}

__device__ __noinline__ unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__device__ __noinline__ unsigned endless(volatile unsigned* p, unsigned n) { return p[0] ? endless(p, n + 1) + p[n & 1] : n; }

extern "C" __global__ void recursive(unsigned* out) { out[threadIdx.x] = fibonacci(threadIdx.x); }

extern "C" __global__ void overflow(unsigned* out) { out[2] = endless(out, 0); }

extern "C" __global__ void switches(const int* in, int* out) {
    int v = in[threadIdx.x], r = v;
    switch (v) {
        case 0: r = 5; break;
        case 1: r = out[0] + 3; break;
        case 2: r = v * v * v; break;
        case 3: r = -v; break;
        case 4: out[40] = 1; r = 17; break;
        case 5: r ^= 0x55; break;
        case 6: out[41] = 2; r = 18; break;
        case 7: r = 1 << v; break;
    }
    out[threadIdx.x] = r;
}

extern "C" __global__ void local_array(const int* in, int* out) {
    int values[16];
    for (int i = 0; i < 16; ++i) values[i] = in[i] * (threadIdx.x + 1);
    int at = in[threadIdx.x & 15] & 15;
    int* place = &values[at];
    *place += 1000;
    int sum = 0;
    for (int i = 0; i < 16; ++i) sum += values[(i + at) & 15] * (i + 1);
    out[threadIdx.x] = sum;
}
