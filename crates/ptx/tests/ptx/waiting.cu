// Threads and blocks that wait for each other in loops.

extern "C" __global__ void lock(int* mutex, int* counter) {
    bool done = false;
    while (!done) {
        if (atomicCAS(mutex, 0, 1) == 0) {
            *(volatile int*)counter += 1;
            __threadfence();
            atomicExch(mutex, 0);
            done = true;
        }
    }
}

extern "C" __global__ void flag(volatile int* ready, int* out) {
    if (threadIdx.x == 0) {
        while (*ready == 0) {}
        out[0] = 1;
    } else if (threadIdx.x == blockDim.x - 1) {
        __threadfence();
        *ready = 1;
    }
}

__device__ __noinline__ int look(volatile int* place) { return *place; }

extern "C" __global__ void flag_by_call(int* ready, int* out) {
    if (threadIdx.x == 0) {
        while (look(ready) == 0) {}
        out[0] = 1;
    } else if (threadIdx.x == blockDim.x - 1) {
        *(volatile int*)ready = 1;
    }
}

// A barrier over the whole grid.
extern "C" __global__ void grid_barrier(int* arrived, int* values, int* out) {
    if (threadIdx.x == 0) {
        values[blockIdx.x] = blockIdx.x + 1;
        __threadfence();
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < (int)gridDim.x) __nanosleep(100);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < (int)gridDim.x; ++i) sum += ((volatile int*)values)[i];
        out[blockIdx.x] = sum;
    }
}

extern "C" __global__ void forever(volatile int* never) {
    while (*never == 0) {}
}

extern "C" __global__ void forever_quietly(int* out) {
    unsigned x = threadIdx.x + 1;
    while (x) x = x * 1664525u + 1013904222u | 1u;
    out[0] = x;
}

// A warp that waits together, for a thread of its own block or of another.
extern "C" __global__ void warp_spins(volatile int* ready, int* out) {
    if (blockIdx.x == 0 && threadIdx.x < 32) {
        while (*ready == 0) __syncwarp();
        out[threadIdx.x] = 1;
    } else if (blockIdx.x == gridDim.x - 1 && threadIdx.x == blockDim.x - 1) {
        *ready = 1;
    }
}

extern "C" __global__ void warp_forever(int* out) {
    while (__any_sync(0xffffffffu, out[0] == 0)) {}
}
