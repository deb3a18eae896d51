// y = a * x + y: the example of the crate `gpu-runtime`, with plain arguments instead of a struct.
#include "layout.cuh"

extern "C" __global__ void LAUNCH_BOUNDS saxpy(uint64_t n, float a, const float* x, float* y) {
    for (uint64_t i = grid_thread(); i < n; i += grid_threads()) y[i] = a * x[i] + y[i];
}
