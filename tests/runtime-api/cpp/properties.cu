// The properties of a device are its attributes.
#include "../check.h"
int main() {
    int count;
    OK(cudaGetDeviceCount(&count));
    for (int d = 0; d < count; d++) {
        cudaDeviceProp p;
        memset(&p, 0xee, sizeof p);
        OK(cudaGetDeviceProperties(&p, d));
        CHECK(strlen(p.name) > 0 && strlen(p.name) < sizeof p.name);
        struct { int attribute, value; } pairs[] = {
            {cudaDevAttrComputeCapabilityMajor, p.major},
            {cudaDevAttrComputeCapabilityMinor, p.minor},
            {cudaDevAttrMultiProcessorCount, p.multiProcessorCount},
            {cudaDevAttrMaxThreadsPerBlock, p.maxThreadsPerBlock},
            {cudaDevAttrMaxBlockDimZ, p.maxThreadsDim[2]},
            {cudaDevAttrMaxGridDimX, p.maxGridSize[0]},
            {cudaDevAttrWarpSize, p.warpSize},
            {cudaDevAttrMaxSharedMemoryPerBlock, (int)p.sharedMemPerBlock},
            {cudaDevAttrMaxSharedMemoryPerBlockOptin, (int)p.sharedMemPerBlockOptin},
            {cudaDevAttrMaxRegistersPerBlock, p.regsPerBlock},
            {cudaDevAttrL2CacheSize, p.l2CacheSize},
            {cudaDevAttrUnifiedAddressing, p.unifiedAddressing},
            {cudaDevAttrMemoryPoolsSupported, p.memoryPoolsSupported},
            {cudaDevAttrCooperativeLaunch, p.cooperativeLaunch},
            {cudaDevAttrMaxThreadsPerMultiProcessor, p.maxThreadsPerMultiProcessor},
            {cudaDevAttrPciBusId, p.pciBusID},
        };
        for (auto pair : pairs) {
            int value = -1;
            OK(cudaDeviceGetAttribute(&value, (cudaDeviceAttr)pair.attribute, d));
            CHECK(value == pair.value);
        }
        size_t free, total;
        OK(cudaSetDevice(d));
        OK(cudaMemGetInfo(&free, &total));
        CHECK(p.totalGlobalMem == total);
        char id[32];
        int same = -1;
        OK(cudaDeviceGetPCIBusId(id, sizeof id, d));
        OK(cudaDeviceGetByPCIBusId(&same, id));
        CHECK(same == d);
        int chosen = -1;
        OK(cudaChooseDevice(&chosen, &p));
        CHECK(chosen == 0);
    }
    cudaDeviceProp p;
    int value;
    IS(cudaErrorInvalidDevice, cudaGetDeviceProperties(&p, count));
    IS(cudaErrorInvalidDevice, cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, count));
    return ok();
}
