// Copies from and to page-locked memory go on in several streams.
#include "../check.h"
__global__ void work(float *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = p[i] * 2 + 1;
}
int main() {
    const int streams = 4, n = 1 << 14;
    float *host, *device;
    cudaStream_t s[streams];
    OK(cudaMallocHost(&host, streams * n * sizeof(float)));
    OK(cudaMalloc(&device, streams * n * sizeof(float)));
    for (int i = 0; i < streams * n; i++) host[i] = i;
    for (int k = 0; k < streams; k++) {
        OK(cudaStreamCreateWithFlags(&s[k], cudaStreamNonBlocking));
        float *h = host + k * n, *d = device + k * n;
        OK(cudaMemcpyAsync(d, h, n * sizeof(float), cudaMemcpyHostToDevice, s[k]));
        work<<<n / 256, 256, 0, s[k]>>>(d, n);
        OK(cudaMemcpyAsync(h, d, n * sizeof(float), cudaMemcpyDeviceToHost, s[k]));
    }
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < streams * n; i++) CHECK(host[i] == 2.0f * i + 1);
    for (int k = 0; k < streams; k++) OK(cudaStreamDestroy(s[k]));
    OK(cudaFreeHost(host));
    OK(cudaFree(device));
    return ok();
}
