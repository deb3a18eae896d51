// Kernels that touch memory which they may not touch, or which nobody wrote. Buffers are of ints.

__device__ int table[4] = {1, 2, 3, 4};
__constant__ int fixed[4] = {5, 6, 7, 8};

extern "C" __global__ void write_at(int* out, long long index) { out[index + threadIdx.x] = threadIdx.x; }

extern "C" __global__ void read_at(int* out, const int* in, long long index) { out[0] = in[index + threadIdx.x]; }

extern "C" __global__ void read_double(double* out, const char* in, long long offset) {
    *out = *(const double*)(in + offset);
}

extern "C" __global__ void read_vector(float4* out, const char* in, long long offset) {
    *out = *(const float4*)(in + offset);
}

extern "C" __global__ void add_at(int* out, long long index) { atomicAdd(&out[index], 1); }

extern "C" __global__ void table_at(int* out, long long index) { table[index] = out[0]; }

extern "C" __global__ void fixed_at(int* out, const int*, long long index) { out[0] = fixed[index]; }

extern "C" __global__ void shared_at(int* out, long long index) {
    __shared__ int values[64];
    values[threadIdx.x] = 1;
    __syncthreads();
    ((volatile int*)values)[index + threadIdx.x] = 2;
    out[threadIdx.x] = values[threadIdx.x];
}

extern "C" __global__ void local_at(int* out, long long index) {
    volatile int values[8];
    for (int i = 0; i < 8; ++i) values[i] = i;
    values[index + threadIdx.x] = 5;
    out[threadIdx.x] = values[out[threadIdx.x] & 7];
}

extern "C" __global__ void shared_unwritten(int* out) {
    __shared__ int values[64];
    if (threadIdx.x != 9) values[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = values[threadIdx.x];
}

extern "C" __global__ void dynamic_unwritten(int* out) {
    extern __shared__ int more[];
    out[threadIdx.x] = more[threadIdx.x];
}

extern "C" __global__ void local_unwritten(int* out, long long count) {
    volatile int values[16];
    for (int i = 0; i < count; ++i) values[i] = i;
    out[threadIdx.x] = values[threadIdx.x];
}
