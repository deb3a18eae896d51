// Keys: unsigned numbers, in whose order elements are sorted.
#pragma once

#include "dtype.cuh"

template <class T>
using Key = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// Negative floats come in the reverse order of their bits, and before the others. Both zeros have one
// key, and all NaN the greatest.
template <class T>
__device__ Key<T> key_of(T value) {
    constexpr Key<T> SIGN = Key<T>{1} << (8 * sizeof(T) - 1);
    Key<T> bits;
    memcpy(&bits, &value, sizeof(bits));
    if constexpr (IS_FLOAT<T>) {
        // No early return: a branch would keep loads that follow from being under way.
        Key<T> key = bits & SIGN ? ~bits : bits | SIGN;
        key = value == 0 ? SIGN : key;
        return value != value ? ~Key<T>{0} : key;
    } else {
        return bits ^ SIGN;
    }
}
