// Each instance of a template is a kernel of its own.
#include "../check.h"
template <typename T, int Factor> __global__ void scale(T *p) { p[threadIdx.x] *= Factor; }
template <typename T, int Factor> void check() {
    T *p, values[16];
    for (int i = 0; i < 16; i++) values[i] = T(i);
    OK(cudaMalloc(&p, sizeof values));
    OK(cudaMemcpy(p, values, sizeof values, cudaMemcpyHostToDevice));
    scale<T, Factor><<<1, 16>>>(p);
    OK(cudaMemcpy(values, p, sizeof values, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 16; i++) CHECK(values[i] == T(i * Factor));
    OK(cudaFree(p));
}
int main() {
    check<int, 2>();
    check<int, 3>();
    check<double, 2>();
    check<float, 5>();
    check<long long, 7>();
    return ok();
}
