// Memory in rows is copied and filled in two and three dimensions.
#include "../check.h"
__global__ void increment(char *p, size_t pitch, int width, int height) {
    int x = threadIdx.x, y = threadIdx.y;
    if (x < width && y < height) ((int *)(p + y * pitch))[x]++;
}
int main() {
    int in[5][7], out[5][7];
    for (int i = 0; i < 35; i++) in[0][i] = i;
    char *p;
    size_t pitch, width = 7 * sizeof(int);
    OK(cudaMallocPitch(&p, &pitch, width, 5));
    CHECK(pitch >= width && pitch % 32 == 0);
    OK(cudaMemcpy2D(p, pitch, in, width, width, 5, cudaMemcpyHostToDevice));
    increment<<<1, dim3(8, 8)>>>(p, pitch, 7, 5);
    OK(cudaMemcpy2D(out, width, p, pitch, width, 5, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 35; i++) CHECK(out[0][i] == i + 1);
    OK(cudaMemset2D(p, pitch, 1, 2 * sizeof(int), 3));
    OK(cudaMemcpy2D(out, width, p, pitch, width, 5, cudaMemcpyDefault));
    CHECK(out[2][1] == 0x01010101 && out[2][2] == 2 * 7 + 2 + 1 && out[3][0] == 22);
    IS(cudaErrorInvalidPitchValue, cudaMemcpy2D(out, 4, p, pitch, 8, 2, cudaMemcpyDeviceToHost));
    OK(cudaFree(p));

    cudaExtent extent = make_cudaExtent(6 * sizeof(int), 4, 3);
    cudaPitchedPtr block;
    OK(cudaMalloc3D(&block, extent));
    OK(cudaMemset3D(block, 0, extent));
    int source[3][4][6], target[3][4][6];
    for (int i = 0; i < 72; i++) source[0][0][i] = i, target[0][0][i] = -1;
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(source, 6 * sizeof(int), 6 * sizeof(int), 4);
    copy.dstPtr = block;
    copy.extent = make_cudaExtent(2 * sizeof(int), 2, 2);
    copy.srcPos = make_cudaPos(sizeof(int), 1, 1);
    copy.dstPos = make_cudaPos(2 * sizeof(int), 1, 0);
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    cudaMemcpy3DParms back = {};
    back.srcPtr = block;
    back.dstPtr = make_cudaPitchedPtr(target, 6 * sizeof(int), 6 * sizeof(int), 4);
    back.extent = extent;
    back.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&back));
    CHECK(target[0][1][2] == source[1][1][1] && target[1][2][3] == source[2][2][2]);
    CHECK(target[0][0][0] == 0 && target[2][3][5] == 0);
    OK(cudaFree(block.ptr));
    return ok();
}
