// Kernels that look like those which are wrong, and are right.

__device__ inline int mine() { return blockIdx.x * blockDim.x + threadIdx.x; }

__constant__ int fixed[64] = {1, 2, 3};
__device__ int scratch[64];

struct Padded { double d; int i; };
struct Pair { int a, b; };

extern "C" __global__ void tree_reduce(int* out) {
    __shared__ int values[128];
    values[threadIdx.x] = threadIdx.x;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = values[0];
}

extern "C" __global__ void double_buffer(int* out) {
    __shared__ int tiles[2][64];
    int sum = 0;
    for (int round = 0; round < 5; ++round) {
        tiles[round % 2][threadIdx.x] = round + threadIdx.x;
        __syncthreads();
        sum += tiles[round % 2][(threadIdx.x + 33) % 64];
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void single_tile(int* out) {
    __shared__ int tile[64];
    int sum = 0;
    for (int round = 0; round < 3; ++round) {
        tile[threadIdx.x] = round + threadIdx.x;
        __syncthreads();
        sum += tile[(threadIdx.x + 33) % 64];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void warp_synchronous(int* out) {
    __shared__ int values[64];
    int base = threadIdx.x & 32, lane = threadIdx.x & 31;
    values[threadIdx.x] = lane;
    __syncwarp();
    for (int half = 16; half > 0; half /= 2) {
        int other = lane < half ? values[base + lane + half] : 0;
        __syncwarp();
        if (lane < half) values[base + lane] += other;
        __syncwarp();
    }
    if (lane == 0) out[base] = values[base];
}

extern "C" __global__ void half_warps(int* out) {
    __shared__ int values[32];
    values[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 16) {
        __syncwarp(0x0000ffff);
        out[threadIdx.x] = values[15 - threadIdx.x];
    } else {
        __syncwarp(0xffff0000);
        out[threadIdx.x] = values[47 - threadIdx.x];
    }
}

extern "C" __global__ void shuffle_reduce(int* out) {
    int value = threadIdx.x;
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(out, value);
}

extern "C" __global__ void histogram(int* out) {
    __shared__ int bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[threadIdx.x * 7 % 16], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

extern "C" __global__ void atomic_sum(int* out) { atomicAdd(out, mine()); }

extern "C" __global__ void maximum(float* out) {
    int* place = (int*)out;
    int old = atomicAdd(place, 0);
    while (__int_as_float(old) < mine()) {
        int seen = atomicCAS(place, old, __float_as_int(float(mine())));
        if (seen == old) break;
        old = seen;
    }
}

extern "C" __global__ void flag_with_fence(int* data, int* flag) {
    if (blockIdx.x == 0) {
        data[0] = 42;
        __threadfence();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        data[blockIdx.x] = data[0];
    }
}

extern "C" __global__ void volatile_flag(int* data, volatile int* flag) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) *flag = 1;
    } else {
        if (threadIdx.x == 0) while (*flag == 0) {}
        __syncthreads();
        __threadfence();
        data[64 * blockIdx.x + threadIdx.x] = data[63 - threadIdx.x];
    }
}

extern "C" __global__ void acquire_release(int* data, int* flag) {
    if (blockIdx.x == 0) {
        data[0] = 42;
        asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
    } else {
        int seen = 0;
        while (seen == 0) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        data[blockIdx.x] = data[0];
    }
}

extern "C" __global__ void spin_lock(int* sum, int* lock) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *sum += blockIdx.x + 1;
    __threadfence();
    atomicExch(lock, 0);
}

extern "C" __global__ void last_block(int* partial, unsigned* ticket) {
    __shared__ bool last;
    __shared__ int values[64];
    values[threadIdx.x] = mine();
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < 64; ++i) sum += values[i];
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(ticket, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) partial[gridDim.x + threadIdx.x] = partial[threadIdx.x];
}

extern "C" __global__ void grid_barrier(int* data, unsigned* arrived) {
    data[mine()] = mine();
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
    int n = gridDim.x * blockDim.x;
    data[n + mine()] = data[n - 1 - mine()];
}

extern "C" __global__ void same_value(int* out) { out[0] = 1; }

extern "C" __global__ void broadcast(int* out) {
    __shared__ int value;
    if (threadIdx.x == 0) value = 7;
    __syncthreads();
    out[mine()] = value;
}

extern "C" __global__ void bytes(unsigned char* out) { out[mine()] = mine(); }

extern "C" __global__ void shorts(unsigned short* out) { out[mine()] = mine(); }

extern "C" __global__ void shared_bytes(int* out) {
    __shared__ unsigned char values[64];
    values[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = values[63 - threadIdx.x];
}

extern "C" __global__ void padding(Padded* out) {
    out[mine()].d = 1;
    out[mine()].i = 2;
    Padded copy = out[mine()];
    out[blockDim.x * gridDim.x + mine()] = copy;
}

extern "C" __global__ void three_of_four(float4* out) {
    float* place = (float*)&out[mine()];
    place[0] = 1, place[1] = 2, place[2] = 3;
    float4 copy;
    asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(copy.x), "=f"(copy.y), "=f"(copy.z), "=f"(copy.w)
                 : "l"(&out[mine()]) : "memory");
    out[blockDim.x * gridDim.x + mine()] = copy;
}

extern "C" __global__ void scan(int* out) {
    __shared__ int values[2][64];
    int from = 0;
    values[0][threadIdx.x] = threadIdx.x;
    __syncthreads();
    for (int offset = 1; offset < 64; offset *= 2) {
        int left = threadIdx.x >= offset ? values[from][threadIdx.x - offset] : 0;
        values[1 - from][threadIdx.x] = values[from][threadIdx.x] + left;
        from = 1 - from;
        __syncthreads();
    }
    out[threadIdx.x] = values[from][threadIdx.x];
}

extern "C" __global__ void producer_and_consumer(int* out) {
    __shared__ int values[32];
    if (threadIdx.x < 32) {
        values[threadIdx.x] = threadIdx.x;
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[threadIdx.x] = values[63 - threadIdx.x];
    }
}

extern "C" __global__ void grid_stride(int* out, long long n) {
    for (int i = mine(); i < n; i += gridDim.x * blockDim.x) out[i] = 2 * i;
}

extern "C" __global__ void local_array(int* out) {
    volatile int values[16];
    for (int i = 0; i < 16; ++i) values[i] = i;
    out[mine()] = values[threadIdx.x % 16];
}

__device__ __noinline__ Pair swapped(Pair pair, int depth) {
    if (depth > 0) return swapped(Pair{pair.b, pair.a}, depth - 1);
    return pair;
}

extern "C" __global__ void calls(int* out) {
    Pair pair = swapped(Pair{mine(), 1}, threadIdx.x % 3);
    out[mine()] = pair.a + pair.b;
}

extern "C" __global__ void constants(int* out) { out[mine()] = fixed[threadIdx.x]; }

extern "C" __global__ void variables(int* out) {
    scratch[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = scratch[63 - threadIdx.x];
}

extern "C" __global__ void carved(int* out) {
    extern __shared__ int memory[];
    int* ints = memory;
    float* floats = (float*)(memory + 64);
    ints[threadIdx.x] = threadIdx.x;
    floats[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = ints[63 - threadIdx.x] + int(floats[(threadIdx.x + 1) % 64]);
}

extern "C" __global__ void transpose(int* out) {
    __shared__ int tile[8][9];
    int x = threadIdx.x % 8, y = threadIdx.x / 8;
    tile[y][x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[x][y];
}

extern "C" __global__ void in_place(int* data) { data[mine()] = data[mine()] * 2 + 1; }

extern "C" __global__ void read_first(int* out, const int* in, long long count) {
    if (mine() < count) out[mine()] = in[mine()];
}

extern "C" __global__ void ballots(int* out) {
    unsigned even = __ballot_sync(~0u, threadIdx.x % 2 == 0);
    out[threadIdx.x] = __popc(even) + __any_sync(~0u, threadIdx.x == 3);
}

extern "C" __global__ void whole_warps_leave(int* out) {
    if (threadIdx.x >= 32) return;
    __shared__ int values[32];
    values[threadIdx.x] = threadIdx.x;
    __syncwarp();
    out[threadIdx.x] = values[31 - threadIdx.x];
}

extern "C" __global__ void vectors(int4* out) {
    out[mine()] = make_int4(1, 2, 3, 4);
    int4 back = out[mine()];
    ((int*)out)[4 * mine()] = back.w;
}

extern "C" __global__ void shared_atomic_flag(int* out) {
    __shared__ int ready, value;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        value = 9;
        __threadfence_block();
        atomicExch(&ready, 1);
    } else if (threadIdx.x == 32) {
        while (atomicAdd(&ready, 0) == 0) {}
        out[0] = value;
    }
}
