// A program loads device code itself, and launches its kernels.
#include "../check.h"
static const char *source = ".version 7.0\n.target sm_70\n.address_size 64\n"
                            ".global .u32 answer = 41;\n"
                            ".visible .entry put(.param .u64 p) {\n"
                            ".reg .u64 %rd<3>; .reg .u32 %r<3>;\n"
                            "ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd2, %rd1;\n"
                            "ld.global.u32 %r1, [answer]; add.u32 %r2, %r1, 1;\n"
                            "st.global.u32 [%rd2], %r2; ret; }\n";
__global__ void own(int *p) { *p = 1; }
int main() {
    cudaLibrary_t library;
    cudaKernel_t kernel, listed;
    unsigned count;
    int *p, value;
    OK(cudaMalloc(&p, sizeof *p));
    OK(cudaLibraryLoadData(&library, source, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&kernel, library, "put"));
    OK(cudaLibraryGetKernelCount(&count, library));
    CHECK(count == 1);
    OK(cudaLibraryEnumerateKernels(&listed, 1, library));
    CHECK(listed == kernel);
    void *arguments[] = {&p};
    OK(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(1), arguments, 0, 0));
    OK(cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost));
    CHECK(value == 42);
    void *answer;
    size_t size;
    OK(cudaLibraryGetGlobal(&answer, &size, library, "answer"));
    OK(cudaMemcpy(&value, answer, sizeof value, cudaMemcpyDeviceToHost));
    CHECK(value == 41 && size == 4);
    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, (const void *)kernel));
    IS(cudaErrorSymbolNotFound, cudaLibraryGetKernel(&kernel, library, "none"));
    OK(cudaGetKernel(&kernel, own));
    OK(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(1), arguments, 0, 0));
    OK(cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost));
    CHECK(value == 1);
    OK(cudaLibraryUnload(library));
    OK(cudaFree(p));
    return ok();
}
