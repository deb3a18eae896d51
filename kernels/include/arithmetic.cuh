// Arithmetic with the same rules for every dtype: integers wrap, NaN wins, integer division by zero
// gives zero.
#pragma once

#include <type_traits>

#include "dtype.cuh"

// The type in which sums and products of T are formed: integers overflow, which is defined for
// unsigned numbers only. A bool is promoted to int and cut when converted back, which makes + "or"
// and * "and".
template <class T>
using Ring = std::conditional_t<std::is_same_v<T, i64>, uint64_t,
                                std::conditional_t<std::is_same_v<T, i32>, uint32_t, T>>;

template <class T>
__device__ T plus(T a, T b) {
    return static_cast<T>(static_cast<Ring<T>>(a) + static_cast<Ring<T>>(b));
}

template <class T>
__device__ T minus(T a, T b) {
    return static_cast<T>(static_cast<Ring<T>>(a) - static_cast<Ring<T>>(b));
}

template <class T>
__device__ T times(T a, T b) {
    return static_cast<T>(static_cast<Ring<T>>(a) * static_cast<Ring<T>>(b));
}

template <class T>
__device__ bool negative(T a) {
    if constexpr (std::is_unsigned_v<T>) {
        return false;
    } else {
        return a < 0;
    }
}

// With a NaN on either side the result is NaN: `a` if it is one, else the comparison fails and it
// is `b`.
template <class T>
__device__ T larger(T a, T b) {
    return a > b || a != a ? a : b;
}

template <class T>
__device__ T smaller(T a, T b) {
    return a < b || a != a ? a : b;
}
