// Devices copy to each other, and reach each other's memory where that was enabled.
#include "../check.h"
__global__ void copy(const int *from, int *to) { *to = *from; }
int main() {
    int count;
    OK(cudaGetDeviceCount(&count));
    int *a, *b, value = 77;
    OK(cudaMalloc(&a, sizeof *a));
    OK(cudaMemcpy(a, &value, sizeof value, cudaMemcpyHostToDevice));
    int last = count - 1, can = 0;
    OK(cudaSetDevice(last));
    OK(cudaMalloc(&b, sizeof *b));
    OK(cudaMemset(b, 0, sizeof *b));
    OK(cudaMemcpyPeer(b, last, a, 0, sizeof *a));
    OK(cudaMemcpy(&value, b, sizeof value, cudaMemcpyDeviceToHost));
    CHECK(value == 77);
    if (count > 1) {
        OK(cudaDeviceCanAccessPeer(&can, last, 0));
        CHECK(can == 1);
        OK(cudaMemset(b, 0, sizeof *b));
        OK(cudaMemcpy(b, a, sizeof *b, cudaMemcpyDefault));
        OK(cudaMemcpy(&value, b, sizeof value, cudaMemcpyDefault));
        CHECK(value == 77);
        OK(cudaDeviceEnablePeerAccess(0, 0));
        IS(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(0, 0));
        OK(cudaMemset(b, 0, sizeof *b));
        copy<<<1, 1>>>(a, b);
        OK(cudaMemcpy(&value, b, sizeof value, cudaMemcpyDeviceToHost));
        CHECK(value == 77);
        OK(cudaDeviceDisablePeerAccess(0));
        IS(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(0));
        int rank;
        OK(cudaDeviceGetP2PAttribute(&rank, cudaDevP2PAttrAccessSupported, 0, last));
        CHECK(rank == 1);
    }
    OK(cudaFree(b));
    OK(cudaSetDevice(0));
    OK(cudaFree(a));
    return ok();
}
