// Fills take the lowest byte of their value, now or in a stream.
#include "../check.h"
int main() {
    unsigned char *p, bytes[100];
    OK(cudaMalloc(&p, 100));
    OK(cudaMemset(p, 0x1ff, 100));
    OK(cudaMemcpy(bytes, p, 100, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 100; i++) CHECK(bytes[i] == 0xff);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaMemsetAsync(p + 10, 3, 20, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(bytes, p, 100, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 100; i++) CHECK(bytes[i] == (i >= 10 && i < 30 ? 3 : 0xff));
    OK(cudaMemset(NULL, 0, 0));
    IS(cudaErrorInvalidValue, cudaMemset(p, 0, 1 << 20));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(p));
    return ok();
}
