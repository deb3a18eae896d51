// Elements in units that one instruction loads or stores.
#pragma once

#include <cstdint>

#include "dtype.cuh"

// `COUNT` elements side by side, aligned to their size together: a power of two, and at most 16
// bytes.
template <class T, int COUNT>
struct alignas(sizeof(Stored<T>) * COUNT) Pack {
    Stored<T> elements[COUNT];
};

constexpr int VECTOR_BYTES = 16;

// The elements that are loaded together: 16 bytes, the widest load that there is, but no more than
// eight of one byte, which are too few to be worth the longer code.
template <class T>
constexpr int PER_VECTOR = sizeof(Stored<T>) == 1 ? 8 : VECTOR_BYTES / sizeof(Stored<T>);

template <class T>
using Vector = Pack<T, PER_VECTOR<T>>;

template <class P, class E>
__device__ P load_pack(const E* first) {
    return *reinterpret_cast<const P*>(first);
}

// The bytes by which an address lies beyond the last multiple of `bytes`, a power of two.
__device__ inline int misalignment(const void* address, int bytes) {
    return static_cast<int>(reinterpret_cast<uintptr_t>(address) & (bytes - 1));
}

// The fold of of(k) for the elements of a unit, by pairs.
template <int WIDTH, class Merge, class Of>
__device__ auto fold_unit(Merge merge, Of of) {
    decltype(of(0)) states[WIDTH];
#pragma unroll
    for (int k = 0; k < WIDTH; ++k) states[k] = of(k);
#pragma unroll
    for (int apart = 1; apart < WIDTH; apart *= 2) {
#pragma unroll
        for (int k = 0; k < WIDTH; k += 2 * apart)
            states[k] = merge(states[k], states[k + apart]);
    }
    return states[0];
}
