// What the programs share: checks that end the program with the place that failed.
#pragma once
#ifdef __CUDACC__
#include <cuda_runtime.h>
#else
#include <cuda_runtime_api.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);              \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

#define IS(expected, call)                                                               \
    do {                                                                                 \
        cudaError_t answer_ = (call);                                                    \
        if (answer_ != (expected)) {                                                     \
            fprintf(stderr, "%s:%d: %s is %s\n", __FILE__, __LINE__, #call,              \
                    cudaGetErrorName(answer_));                                          \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

#define OK(call) IS(cudaSuccess, call)

static inline int ok(void) {
    puts("ok");
    return 0;
}
