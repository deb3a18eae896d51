// What `several_files.cu` uses: functions, variables and a kernel of a second file.
#include "../check.h"
__device__ int table[4] = {1, 2, 3, 4};
__constant__ int scale = 10;
__managed__ int calls;
__device__ static int offset = 1000;
template <class T> __device__ __noinline__ T twice(T value) { return value + value; }

__device__ int add_table(int value, int index) { return value + table[index] + offset; }

__global__ void other(int *values) { *values = offset + twice(0) + 1; }

int launch_other(int *values) {
    int value;
    other<<<1, 1>>>(values);
    OK(cudaMemcpy(&value, values, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}
