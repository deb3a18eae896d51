// out[i] = start + i * step.
#include "dtype.cuh"
#include "exact.cuh"
#include "layout.cuh"
#include "tables.cuh"

template <class T>
__device__ T arange_at(const Range& args, int64_t i) {
    if constexpr (std::is_integral_v<T>) {
        const uint64_t distance = static_cast<uint64_t>(i) * static_cast<uint64_t>(args.istep);
        return static_cast<T>(static_cast<uint64_t>(args.istart) + distance);
    } else {
        return round_to<T>(exact::add(args.start, exact::mul(static_cast<double>(i), args.step)));
    }
}

template <class T>
__device__ void arange(const Range& args) {
    T* const out = static_cast<T*>(args.out);
#pragma unroll 1
    for (int64_t i = grid_thread(); i < args.numel; i += grid_threads())
        out[i] = arange_at<T>(args, i);
}

#define RANGE(name, function, T) \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Range args) { function<T>(args); }

FOR_NUMBERS(RANGE, arange, arange)
