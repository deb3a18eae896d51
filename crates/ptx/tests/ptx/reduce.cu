// Reductions over blocks and warps, and a tiled product of matrices.

extern "C" __global__ void block_sum(const float* in, float* out) {
    extern __shared__ float partial[];
    int t = threadIdx.x;
    partial[t] = in[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int width = blockDim.x / 2; width > 0; width /= 2) {
        if (t < width) partial[t] += partial[t + width];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = partial[0];
}

extern "C" __global__ void warp_sum(const float* in, float* out) {
    float v = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffffu, v, offset);
    if ((threadIdx.x & 31) == 0) atomicAdd(out, v);
}

extern "C" __global__ void matmul(int n, const float* a, const float* b, float* c) {
    __shared__ float left[16][16], right[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int tile = 0; tile < n; tile += 16) {
        left[threadIdx.y][threadIdx.x] = row < n && tile + threadIdx.x < n ? a[row * n + tile + threadIdx.x] : 0;
        right[threadIdx.y][threadIdx.x] = column < n && tile + threadIdx.y < n ? b[(tile + threadIdx.y) * n + column] : 0;
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}

extern "C" __global__ void barrier_reductions(const int* in, int* out) {
    int v = in[threadIdx.x];
    int count = __syncthreads_count(v > 0);
    int all = __syncthreads_and(v > 0);
    int any = __syncthreads_or(v > 0);
    out[threadIdx.x] = count * 4 + (all != 0) * 2 + (any != 0);
}

// Half of the threads leave before the barrier, which the others must not wait for.
extern "C" __global__ void early_exit(int* out) {
    __shared__ int value;
    if (threadIdx.x >= 32) return;
    if (threadIdx.x == 0) value = 41;
    __syncthreads();
    out[threadIdx.x] = value + 1;
}

// Producer and consumer warps meet at two named barriers.
extern "C" __global__ void named_barriers(int* out) {
    __shared__ int slot[32];
    int lane = threadIdx.x & 31;
    if (threadIdx.x < 32) {
        for (int round = 0; round < 4; ++round) {
            slot[lane] = round * 100 + lane;
            asm volatile("bar.sync 1, 64;" ::: "memory");
            asm volatile("bar.sync 2, 64;" ::: "memory");
        }
    } else {
        int sum = 0;
        for (int round = 0; round < 4; ++round) {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            sum += slot[31 - lane];
            asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
        out[lane] = sum;
    }
}
