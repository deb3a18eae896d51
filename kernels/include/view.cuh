// The factors of products of matrices, as they lie in memory.
#pragma once

#include "abi.cuh"
#include "layout.cuh"

// A matrix whose element (i, d), d counting along the dimension that is summed over, lies at i *
// stride + d * depth_stride.
template <class T>
struct View {
    const T* data;
    int64_t size, depth, stride, depth_stride;
};

// The batches one after the other: calls multiply(product, a, b) for each. The depth may be cut into
// parts, each of which is multiplied as if it were another batch: their products are to be added
// up. Parts begin at multiples of 16 bytes where matrices do, so the last ones may be empty.
template <class T, class Multiply>
__device__ void for_products(const Matmul& args, Multiply multiply) {
    constexpr int64_t TOGETHER = 8;
    const int64_t products = args.batches * args.parts;
    const int64_t share = (args.k + args.parts - 1) / args.parts;
    const int64_t depth = (share + TOGETHER - 1) / TOGETHER * TOGETHER;
    for (int64_t product = blockIdx.z; product < products; product += gridDim.z) {
        const int64_t batch = product / args.parts, from = product % args.parts * depth;
        const int64_t left = args.k - from < depth ? args.k - from : depth;
        View<T> a = {static_cast<const T*>(args.a), args.m, left, args.a_row, args.a_col};
        View<T> b = {static_cast<const T*>(args.b), args.n, left, args.b_col, args.b_row};
        walk(batch, args.batch_dims, args.batch_sizes, [&](int32_t d, int64_t coordinate) {
            a.data += coordinate * args.a_batch[d];
            b.data += coordinate * args.b_batch[d];
        });
        a.data += from * a.depth_stride;
        b.data += from * b.depth_stride;
        multiply(product, a, b);
    }
}
