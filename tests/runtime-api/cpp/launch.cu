// A kernel is launched by <<<>>> and by cudaLaunchKernel, with the same result.
#include "../check.h"
__global__ void add(const float *a, const float *b, float *sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] = a[i] + b[i];
}
int main() {
    const int n = 1000;
    float a[n], b[n], sums[2][n], *da, *db, *dsum;
    for (int i = 0; i < n; i++) a[i] = i, b[i] = 2 * i;
    OK(cudaMalloc(&da, sizeof a));
    OK(cudaMalloc(&db, sizeof b));
    OK(cudaMalloc(&dsum, sizeof a));
    OK(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice));
    add<<<(n + 127) / 128, 128>>>(da, db, dsum, n);
    OK(cudaGetLastError());
    OK(cudaMemcpy(sums[0], dsum, sizeof a, cudaMemcpyDeviceToHost));
    int count = n;
    void *arguments[] = {&da, &db, &dsum, &count};
    OK(cudaMemset(dsum, 0, sizeof a));
    OK(cudaLaunchKernel((const void *)add, dim3(8), dim3(128), arguments, 0, 0));
    OK(cudaMemcpy(sums[1], dsum, sizeof a, cudaMemcpyDefault));
    for (int i = 0; i < n; i++) CHECK(sums[0][i] == 3 * i && sums[1][i] == 3 * i);
    OK(cudaFree(da));
    OK(cudaFree(db));
    OK(cudaFree(dsum));
    return ok();
}
