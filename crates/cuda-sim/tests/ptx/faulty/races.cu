// Kernels whose threads race: what orders them is missing.

__device__ inline int mine() { return blockIdx.x * blockDim.x + threadIdx.x; }

extern "C" __global__ void no_sync(int* out) {
    __shared__ int values[64];
    values[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = values[63 - threadIdx.x];
}

extern "C" __global__ void reduce_without_sync(int* out) {
    __shared__ int values[128];
    values[threadIdx.x] = threadIdx.x;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2)
        if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
    if (threadIdx.x == 0) *out = values[0];
}

extern "C" __global__ void tile_without_second_sync(int* out) {
    __shared__ int tile[64];
    int sum = 0;
    for (int round = 0; round < 3; ++round) {
        tile[threadIdx.x] = round + threadIdx.x;
        __syncthreads();
        sum += tile[(threadIdx.x + 33) % 64];
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void warp_without_sync(int* out) {
    __shared__ int values[32];
    values[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = values[threadIdx.x ^ 1];
}

extern "C" __global__ void shuffle_is_no_barrier(int* out) {
    __shared__ int values[32];
    values[threadIdx.x] = threadIdx.x;
    int other = __shfl_xor_sync(~0u, threadIdx.x, 1);
    out[threadIdx.x] = values[other];
}

extern "C" __global__ void mask_too_small(int* out) {
    __shared__ int values[32];
    values[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 16)
        __syncwarp(0x0000ffff);
    else
        __syncwarp(0xffff0000);
    out[threadIdx.x] = values[31 - threadIdx.x];
}

extern "C" __global__ void sum_read_too_early(int* out) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, 1);
    out[threadIdx.x] = sum;
}

extern "C" __global__ void barrier_of_others(int* out) {
    __shared__ int values[96];
    values[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 64) {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[threadIdx.x] = values[threadIdx.x + 32];
    }
}

extern "C" __global__ void arrives_and_reads(int* out) {
    __shared__ int values[64];
    values[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 32) {
        asm volatile("bar.arrive 1, 64;" ::: "memory");
        out[threadIdx.x] = values[threadIdx.x + 32];
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
    }
}

extern "C" __global__ void all_write_shared(int* out) {
    __shared__ int value;
    value = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = value;
}

extern "C" __global__ void neighbours(int* out) {
    out[mine()] = mine();
    if (blockIdx.x > 0) out[mine()] += out[mine() - blockDim.x];
}

extern "C" __global__ void global_without_sync(int* out) {
    out[threadIdx.x] = threadIdx.x;
    out[threadIdx.x + 64] = out[63 - threadIdx.x];
}

extern "C" __global__ void blocks_write(int* out) {
    if (threadIdx.x == 0) out[0] = blockIdx.x;
}

extern "C" __global__ void counts_without_atomics(int* out) {
    if (threadIdx.x == 3) out[0] += 1;
}

extern "C" __global__ void stencil_in_place(int* out) {
    int i = mine();
    int left = i > 0 ? out[i - 1] : 0;
    out[i] = left + out[i];
}

extern "C" __global__ void flag_without_fence(int* data, int* flag) {
    if (blockIdx.x == 0) {
        data[0] = 42;
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        data[1] = data[0];
    }
}

extern "C" __global__ void lock_without_release(int* sum, int* lock) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    *sum += blockIdx.x + 1;
    *lock = 0;
}

extern "C" __global__ void lock_without_fence(int* sum, int* lock) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    *sum += blockIdx.x + 1;
    atomicExch(lock, 0);
}

extern "C" __global__ void last_block_without_fence(int* partial, unsigned* ticket) {
    partial[blockIdx.x] = blockIdx.x;
    unsigned place = atomicInc(ticket, gridDim.x);
    if (place == gridDim.x - 1) {
        int sum = 0;
        for (int i = 0; i < gridDim.x; ++i) sum += partial[i];
        partial[gridDim.x] = sum;
    }
}

extern "C" __global__ void plain_beside_atomic(int* out) {
    if (blockIdx.x == 0)
        atomicAdd(out, 1);
    else
        out[1] = *out;
}

extern "C" __global__ void leaves_before_barrier(int* out, long long n) {
    if (threadIdx.x >= n) return;
    __syncthreads();
    out[threadIdx.x] = 1;
}

extern "C" __global__ void counts_differ(int* out) {
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    else
        asm volatile("bar.sync 1, 96;" ::: "memory");
    out[threadIdx.x] = 1;
}

extern "C" __global__ void odd_count(int* out, int count) {
    asm volatile("bar.sync 1, %0;" ::"r"(count) : "memory");
    out[threadIdx.x] = 1;
}

extern "C" __global__ void half_waits() {
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    else
        asm volatile("bar.sync 2, 64;" ::: "memory");
}

extern "C" __global__ void shuffles_from_nobody(int* out) {
    if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0x0000ffff, threadIdx.x, 20);
}
