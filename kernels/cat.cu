// Arrays beside each other in one launch, as `cat` joins them. Nothing but bytes is moved, so one
// kernel does for all dtypes.
#include "abi.cuh"

// The loads that a thread has under way.
constexpr int IN_FLIGHT = 4;

// The array that this block copies: the last one whose first block is not after it.
__device__ int part_of_block(const Cat& args) {
    const int block = static_cast<int>(blockIdx.x);
    int part = 0;
#pragma unroll 1
    for (int step = MAX_PARTS / 2; step > 0; step /= 2) {
        const int next = part + step;
        if (next < args.count && args.first_blocks[next] <= block) part = next;
    }
    return part;
}

// Where unit i of an array goes, in units from its first place.
template <bool IS_ROW>
__device__ int64_t place(int64_t i, int64_t width, int64_t row_units) {
    if constexpr (IS_ROW) return i;
    const bool is_small = static_cast<uint64_t>(i | width) >> 32 == 0;
    const int64_t row = is_small ? static_cast<uint32_t>(i) / static_cast<uint32_t>(width) : i / width;
    return row * row_units + (i - row * width);
}

// Copies an array in units of U, `IN_FLIGHT` of a thread at a time.
template <class U, bool IS_ROW>
__device__ void copy_part(const Cat& args, int part) {
    constexpr int64_t SIZE = sizeof(U);
    const int first_block = args.first_blocks[part];
    const int64_t width = args.widths[part] / SIZE;
    const int64_t row_units = args.row_bytes / SIZE, units = args.rows * width;
    U* const to = static_cast<U*>(args.out) + args.starts[part] / SIZE;
    const U* const from = static_cast<const U*>(args.parts[part]);
    const int64_t threads =
        static_cast<int64_t>(args.first_blocks[part + 1] - first_block) * blockDim.x;
    int64_t i = static_cast<int64_t>(blockIdx.x - first_block) * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (; i + (IN_FLIGHT - 1) * threads < units; i += IN_FLIGHT * threads) {
        U held[IN_FLIGHT];
#pragma unroll
        for (int k = 0; k < IN_FLIGHT; ++k) held[k] = from[i + k * threads];
#pragma unroll
        for (int k = 0; k < IN_FLIGHT; ++k)
            to[place<IS_ROW>(i + k * threads, width, row_units)] = held[k];
    }
#pragma unroll 1
    for (; i < units; i += threads) to[place<IS_ROW>(i, width, row_units)] = from[i];
}

template <class U>
__device__ void copy_in_units(const Cat& args) {
    const int part = part_of_block(args);
    if (args.rows == 1) {
        copy_part<U, true>(args, part);
    } else {
        copy_part<U, false>(args, part);
    }
}

extern "C" __global__ void LAUNCH_BOUNDS cat_u8(Cat args) {
    switch (args.unit) {
        case 16: return copy_in_units<uint4>(args);
        case 8: return copy_in_units<uint64_t>(args);
        case 4: return copy_in_units<uint32_t>(args);
        case 2: return copy_in_units<uint16_t>(args);
        default: return copy_in_units<uint8_t>(args);
    }
}
