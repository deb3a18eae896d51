// Variables of device code are reached by their names, in parts and in streams.
#include "../check.h"
__device__ int counter = 5;
__device__ float table[8];
__constant__ int factors[4];
__global__ void use(int *out) { *out = counter + factors[2] + (int)table[3]; counter++; }
int main() {
    int *out, value, four[] = {1, 2, 30, 4};
    float row[8] = {0, 1, 2, 300};
    size_t size;
    void *address;
    OK(cudaGetSymbolSize(&size, table));
    CHECK(size == sizeof row);
    OK(cudaGetSymbolAddress(&address, counter));
    OK(cudaMemcpy(&value, address, sizeof value, cudaMemcpyDeviceToHost));
    CHECK(value == 5);
    OK(cudaMemcpyToSymbol(factors, four, sizeof four));
    OK(cudaMemcpyToSymbol(table, row + 3, sizeof(float), 3 * sizeof(float)));
    OK(cudaMalloc(&out, sizeof *out));
    use<<<1, 1>>>(out);
    OK(cudaMemcpy(&value, out, sizeof value, cudaMemcpyDeviceToHost));
    CHECK(value == 335);
    OK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    CHECK(value == 6);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaMemcpyToSymbolAsync(counter, &four[3], sizeof(int), 0, cudaMemcpyHostToDevice, stream));
    OK(cudaMemcpyFromSymbolAsync(&value, counter, sizeof value, 0, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(value == 4);
    IS(cudaErrorInvalidValue, cudaMemcpyToSymbol(counter, four, 2 * sizeof(int)));
    IS(cudaErrorInvalidSymbol, cudaMemcpyToSymbol(value, four, sizeof(int)));
    IS(cudaErrorInvalidMemcpyDirection,
       cudaMemcpyToSymbol(counter, four, sizeof(int), 0, cudaMemcpyDeviceToHost));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(out));
    return ok();
}
