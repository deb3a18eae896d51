// The ten dtypes: how each lies in memory, what arithmetic sees of it, and how values go from one
// to another.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cstdint>
#include <type_traits>

// Named as in the entries, so that one word of a table gives both an entry's name and its type.
using f16 = __half;
using bf16 = __nv_bfloat16;
using f32 = float;
using f64 = double;
using i64 = int64_t;
using i32 = int32_t;
using i16 = int16_t;
using i8 = int8_t;
using u8 = uint8_t;

// In memory a bool is a byte. It is never loaded as a C++ bool, which the compiler may assume to
// hold 0 or 1 only.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <class T>
constexpr bool IS_HALF = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

template <class T>
constexpr bool IS_FLOAT = IS_HALF<T> || std::is_floating_point_v<T>;

template <class T>
constexpr bool IS_NARROW_INTEGER =
    std::is_same_v<T, i16> || std::is_same_v<T, i8> || std::is_same_v<T, u8>;

// What arithmetic works on: halves become floats, and are rounded once, when the result is stored;
// integers of one or two bytes become i32, and are cut to their low bytes.
template <class T>
using Value = std::conditional_t<IS_HALF<T>, float, std::conditional_t<IS_NARROW_INTEGER<T>, i32, T>>;

template <class T>
__device__ Value<T> load(const Stored<T>& element) {
    if constexpr (std::is_same_v<T, f16>) {
        return __half2float(element);
    } else if constexpr (std::is_same_v<T, bf16>) {
        return __bfloat162float(element);
    } else if constexpr (std::is_same_v<T, bool>) {
        return element != 0;
    } else {
        return element;
    }
}

// From a value of any dtype to what is stored of dtype To, with one rounding at most. Floats become
// integers by truncation; i64 saturates and takes NaN as 0, smaller ones are the low bytes of that,
// bool is "not zero".
template <class To, class V>
__device__ Stored<To> convert(V value) {
    if constexpr (std::is_same_v<To, f16>) {
        if constexpr (std::is_same_v<V, f64>) {
            return __double2half(value);
        } else {
            return __float2half_rn(static_cast<float>(value));
        }
    } else if constexpr (std::is_same_v<To, bf16>) {
        return __float2bfloat16_rn(static_cast<float>(value));
    } else if constexpr (std::is_same_v<To, bool>) {
        return value != 0;
    } else if constexpr (std::is_integral_v<To> && sizeof(To) < sizeof(i64)) {
        return static_cast<To>(convert<i64>(value));
    } else if constexpr (std::is_same_v<To, i64> && std::is_floating_point_v<V>) {
        // GPUs saturate, but make the least i64 of NaN.
        return value == value ? static_cast<i64>(value) : 0;
    } else {
        return static_cast<To>(value);
    }
}
