// A library of device code is loaded, and its kernel launched.
#include "library.h"
static const char source[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".visible .entry add(.param .u64 p, .param .u32 n) {\n"
                             ".reg .u64 %rd<3>; .reg .u32 %r<4>;\n"
                             "ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];\n"
                             "ld.global.u32 %r2, [%rd1]; add.u32 %r3, %r2, %r1;\n"
                             "st.global.u32 [%rd1], %r3; ret; }\n";
int main(void) {
    FUNCTION(cudaLibraryLoadData);
    FUNCTION(cudaLibraryGetKernel);
    FUNCTION(cudaLibraryUnload);
    FUNCTION(cudaLaunchKernel);
    FUNCTION(cudaMalloc);
    FUNCTION(cudaMemcpy);
    FUNCTION(cudaFree);
    cudaLibrary_t code;
    cudaKernel_t kernel;
    void *p;
    int value = 40, two = 2;
    OK(my_cudaLibraryLoadData(&code, source, NULL, NULL, 0, NULL, NULL, 0));
    OK(my_cudaLibraryGetKernel(&kernel, code, "add"));
    OK(my_cudaMalloc(&p, sizeof value));
    OK(my_cudaMemcpy(p, &value, sizeof value, cudaMemcpyHostToDevice));
    void *arguments[] = {&p, &two};
    dim3 one = {1, 1, 1};
    OK(my_cudaLaunchKernel((const void *)kernel, one, one, arguments, 0, 0));
    OK(my_cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost));
    CHECK(value == 42);
    OK(my_cudaFree(p));
    OK(my_cudaLibraryUnload(code));
    return ok();
}
