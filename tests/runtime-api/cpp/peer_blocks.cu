// Blocks of memory are copied between devices.
#include "../check.h"
int main() {
    int count;
    OK(cudaGetDeviceCount(&count));
    cudaExtent extent = make_cudaExtent(16, 3, 2);
    cudaPitchedPtr a, b;
    OK(cudaMalloc3D(&a, extent));
    OK(cudaMemset3D(a, 5, extent));
    OK(cudaDeviceSynchronize());
    OK(cudaSetDevice(count - 1));
    OK(cudaMalloc3D(&b, extent));
    OK(cudaMemset3D(b, 0, extent));
    cudaMemcpy3DPeerParms copy = {};
    copy.srcPtr = a;
    copy.srcDevice = 0;
    copy.dstPtr = b;
    copy.dstDevice = count - 1;
    copy.extent = make_cudaExtent(8, 2, 2);
    OK(cudaMemcpy3DPeer(&copy));
    unsigned char bytes[2][3][16];
    cudaMemcpy3DParms back = {};
    back.srcPtr = b;
    back.dstPtr = make_cudaPitchedPtr(bytes, 16, 16, 3);
    back.extent = extent;
    back.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&back));
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 3; y++)
            for (int x = 0; x < 16; x++) CHECK(bytes[z][y][x] == (x < 8 && y < 2 ? 5 : 0));
    OK(cudaFree(b.ptr));
    OK(cudaSetDevice(0));
    OK(cudaFree(a.ptr));
    return ok();
}
