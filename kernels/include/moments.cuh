// Mean and squared distances of some elements, merged without a second pass over memory: B. P.
// Welford (1962), and for parts T. F. Chan, G. H. Golub, R. J. LeVeque (1979).
#pragma once

#include "block_reduce.cuh"
#include "vector.cuh"

// How many elements there are, their mean, and the sum of their squared distances from it.
template <class V>
struct Moments {
    V count, mean, squares;
};

template <class V>
__device__ Moments<V> exchange(Moments<V> moments, int distance) {
    return {exchange(moments.count, distance), exchange(moments.mean, distance),
            exchange(moments.squares, distance)};
}

template <class V>
__device__ Moments<V> merged_moments(const Moments<V>& a, const Moments<V>& b) {
    const V count = a.count + b.count;
    const V share = count == 0 ? V{0} : b.count / count;
    const V distance = b.mean - a.mean;
    return {count, a.mean + distance * share,
            a.squares + b.squares + distance * distance * (a.count * share)};
}

// The moments of the values of(k) of a unit, of which all are there.
template <class V, int WIDTH, class Of>
__device__ Moments<V> moments_of(Of of) {
    const auto sum = [](V a, V b) { return a + b; };
    const V mean = fold_unit<WIDTH>(sum, of) / WIDTH;
    const V squares = fold_unit<WIDTH>(sum, [&](int k) {
        const V distance = of(k) - mean;
        return distance * distance;
    });
    return {WIDTH, mean, squares};
}
