// Structures are handed to kernels by value.
#include "../check.h"
struct Matrix { float rows[16][16]; int scale; };
__global__ void sum(Matrix m, float *out) {
    float total = 0;
    for (int i = 0; i < 256; i++) total += m.rows[i / 16][i % 16];
    *out = total * m.scale;
}
int main() {
    Matrix m;
    for (int i = 0; i < 256; i++) m.rows[i / 16][i % 16] = 1;
    m.scale = 3;
    float *p, value;
    OK(cudaMalloc(&p, sizeof *p));
    sum<<<1, 1>>>(m, p);
    OK(cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost));
    CHECK(value == 768);
    OK(cudaFree(p));
    return ok();
}
