// The arguments of a launch may launch themselves.
#include "../check.h"
__global__ void add(int *p, int value) { *p += value; }
static int *p;
static int launched(int value) {
    add<<<1, 1>>>(p, value);
    return value;
}
int main() {
    int value = 0;
    OK(cudaMalloc(&p, sizeof *p));
    OK(cudaMemset(p, 0, sizeof *p));
    add<<<launched(1), launched(1)>>>(p, launched(10) + launched(100));
    OK(cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost));
    CHECK(value == 1 + 1 + 10 + 100 + 110);
    OK(cudaFree(p));
    return ok();
}
