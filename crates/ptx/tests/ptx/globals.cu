// Variables of the module: tables, counters, pointers to others.

__constant__ float table[4] = {1, 2, 3, 4};
__device__ int counter = 40;
__device__ int plain[3];
__device__ int* pointer = &plain[1];
__device__ const char* const names[2] = {"first", "second"};
__constant__ short matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};

extern "C" __global__ void variables(float* out, int n) {
    int t = threadIdx.x;
    out[t] = table[t & 3] + matrix[t & 1][t % 3];
    if (t == 0) {
        counter += 2;
        *pointer = n;
        out[32] = plain[1];
        out[33] = counter;
        out[34] = names[1][0];
        out[35] = names[n & 1][1];
    }
}
