// with: several_files.part.cu
// flags: -rdc=true
// A kernel calls functions and reads variables of another file (`-rdc=true`).
#include "../check.h"
#include <cooperative_groups.h>
extern __device__ int add_table(int value, int index);
extern __device__ int table[4];
extern __constant__ int scale;
extern __managed__ int calls;
int launch_other(int *values);

// Each file has its own.
__device__ static int offset = 100;
template <class T> __device__ __noinline__ T twice(T value) { return value + value; }

__global__ void use(int *values) {
    int index = threadIdx.x;
    values[index] = add_table(twice(index), index) + table[3] * scale + offset;
    atomicAdd(&calls, 1);
    cooperative_groups::this_grid().sync();
    values[index] += calls;
}

int main() {
    int *values, host[4], four = 7;
    OK(cudaMalloc(&values, sizeof host));
    OK(cudaMemcpyToSymbol(table, &four, sizeof four, 3 * sizeof four));
    void *arguments[] = {&values};
    OK(cudaLaunchCooperativeKernel(use, 1, 4, arguments));
    OK(cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost));
    // twice(i) + table[i] + 1000 of the other file's offset, and table[3] * 10 + 100 + 4 calls.
    for (int i = 0; i < 4; i++) CHECK(host[i] == 2 * i + (i < 3 ? i + 1 : 7) + 1000 + 70 + 100 + 4);
    CHECK(calls == 4);
    CHECK(launch_other(values) == 1001);
    OK(cudaFree(values));
    return ok();
}
