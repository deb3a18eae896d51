// The management library tells the devices that the runtime has.
#include "library.h"

typedef int Result;
typedef void *Device;
typedef struct { unsigned long long total, free, used; } Memory;

#define NVML(type, name, ...)                                                            \
    type (*name)(__VA_ARGS__) = (type (*)(__VA_ARGS__))dlsym(management, #name);         \
    CHECK(name != NULL)

int main(void) {
    void *management = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    CHECK(management != NULL);
    NVML(Result, nvmlInit_v2, void);
    NVML(Result, nvmlShutdown, void);
    NVML(const char *, nvmlErrorString, Result);
    NVML(Result, nvmlDeviceGetCount_v2, unsigned *);
    NVML(Result, nvmlDeviceGetHandleByIndex_v2, unsigned, Device *);
    NVML(Result, nvmlDeviceGetHandleByUUID, const char *, Device *);
    NVML(Result, nvmlDeviceGetName, Device, char *, unsigned);
    NVML(Result, nvmlDeviceGetUUID, Device, char *, unsigned);
    NVML(Result, nvmlDeviceGetMemoryInfo, Device, Memory *);
    NVML(Result, nvmlDeviceGetIndex, Device, unsigned *);
    NVML(Result, nvmlSystemGetDriverVersion, char *, unsigned);
    NVML(Result, nvmlDeviceGetTemperature, Device, int, unsigned *);
    FUNCTION(cudaGetDeviceCount);
    FUNCTION(cudaMalloc);
    FUNCTION(cudaFree);
    unsigned count, index;
    int same;
    Device device, found;
    char text[96], uuid[96];
    CHECK(nvmlDeviceGetCount_v2(&count) == 1);
    CHECK(nvmlInit_v2() == 0);
    CHECK(nvmlDeviceGetCount_v2(&count) == 0);
    OK(my_cudaGetDeviceCount(&same));
    CHECK((int)count == same);
    for (unsigned i = 0; i < count; i++) {
        CHECK(nvmlDeviceGetHandleByIndex_v2(i, &device) == 0);
        CHECK(nvmlDeviceGetIndex(device, &index) == 0 && index == i);
        CHECK(nvmlDeviceGetName(device, text, sizeof text) == 0 && strlen(text) > 0);
        CHECK(nvmlDeviceGetName(device, text, 2) == 7);
        CHECK(nvmlDeviceGetUUID(device, uuid, sizeof uuid) == 0);
        CHECK(strlen(uuid) == 40 && !strncmp(uuid, "GPU-", 4));
        CHECK(nvmlDeviceGetHandleByUUID(uuid, &found) == 0 && found == device);
    }
    CHECK(nvmlDeviceGetHandleByIndex_v2(count, &device) == 2);
    CHECK(nvmlDeviceGetHandleByIndex_v2(0, &device) == 0);
    Memory before, after;
    void *p;
    CHECK(nvmlDeviceGetMemoryInfo(device, &before) == 0 && before.total >= before.free);
    OK(my_cudaMalloc(&p, 64 << 20));
    CHECK(nvmlDeviceGetMemoryInfo(device, &after) == 0);
    CHECK(after.total == before.total && after.used >= before.used + (64 << 20));
    OK(my_cudaFree(p));
    CHECK(nvmlSystemGetDriverVersion(text, sizeof text) == 0 && strchr(text, '.'));
    CHECK(nvmlDeviceGetTemperature(device, 0, &index) == 3);
    CHECK(!strcmp(nvmlErrorString(3), "Not supported"));
    CHECK(nvmlShutdown() == 0 && nvmlShutdown() == 1);
    return ok();
}
