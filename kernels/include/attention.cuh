// Attention: what a launch passes, and where that lies in memory and in the sequence of random words.
// Kernels differ in how a block's threads share the scores, not in this.
#pragma once

#include "abi.cuh"
#include "dtype.cuh"
#include "philox.cuh"

// What a launch passes; the crate `tensor` mirrors it. Rows of q, k, v and grad (the gradient of the
// results) are dense, and lie by their strides of batch, head and position. Results and gradients are
// dense, as [batch, position, head, element], and what is of one query each (`log_sum`, the logarithm
// of the sum of its exponentials, and `delta`, the product of its result and that one's gradient) as
// [batch, head, query]. A gradient may be null.
//
// The elements of a mask are bytes that say which scores count (`mask_kind` 1), or are added to the
// scores, as these are computed (2). A share stays with the probability `keep`, by the word of element
// [batch, head, query, key] of an array whose number of keys is rounded up to whole blocks; with a
// `state`, as in Random.
struct Attention {
    void* out;
    void* log_sum;
    void* delta;
    void* dq;
    void* dk;
    void* dv;
    const void* q;
    const void* k;
    const void* v;
    const void* grad;
    const void* mask;
    const uint64_t* state;
    uint64_t seed, offset;
    int64_t batch, heads, kv_heads, queries, keys, depth, columns;
    // The number of blocks of results, each of up to as many rows and columns as a tile has.
    int64_t jobs;
    int64_t q_strides[3], k_strides[3], v_strides[3], grad_strides[3];
    int64_t mask_strides[4];
    double scale, keep;
    int32_t causal, mask_kind;
};

static_assert(sizeof(Attention) == 328 && offsetof(Attention, seed) == 96 &&
              offsetof(Attention, q_strides) == 176 && offsetof(Attention, scale) == 304);

// Rows of a head, `stride` apart.
template <class T>
struct HeadRows {
    const T* data;
    int64_t stride, rows, columns;

    __device__ HeadRows(const T* data, int64_t stride, int64_t rows, int64_t columns)
        : data(data), stride(stride), rows(rows), columns(columns) {}

    __device__ HeadRows(const void* first, const int64_t (&strides)[3], int64_t batch, int64_t head,
                        int64_t rows, int64_t columns)
        : data(static_cast<const T*>(first) + batch * strides[0] + head * strides[1]),
          stride(strides[2]), rows(rows), columns(columns) {}
};

// A head of queries, of the elements T.
template <class T>
struct QueryHead {
    const Attention& args;
    int64_t batch, head, kv_head;

    __device__ QueryHead(const Attention& args, int64_t number)
        : args(args), batch(number / args.heads), head(number % args.heads),
          kv_head(head / (args.heads / args.kv_heads)) {}

    __device__ HeadRows<T> q() const {
        return {args.q, args.q_strides, batch, head, args.queries, args.depth};
    }
    __device__ HeadRows<T> k() const {
        return {args.k, args.k_strides, batch, kv_head, args.keys, args.depth};
    }
    __device__ HeadRows<T> v() const {
        return {args.v, args.v_strides, batch, kv_head, args.keys, args.columns};
    }
    __device__ HeadRows<T> grad() const {
        return {args.grad, args.grad_strides, batch, head, args.queries, args.columns};
    }

    // The place of a query in what has one number for each.
    __device__ int64_t place_of(int64_t query) const {
        return (batch * args.heads + head) * args.queries + query;
    }

    // The row of a query in results or their like.
    __device__ int64_t row_of(int64_t query) const {
        return (batch * args.queries + query) * args.heads + head;
    }

    __device__ int64_t mask_place(int64_t query, int64_t key) const {
        return batch * args.mask_strides[0] + head * args.mask_strides[1] +
               query * args.mask_strides[2] + key * args.mask_strides[3];
    }

    // Whether a score counts: that of a query that is there, and sees the key.
    __device__ bool sees(int64_t query, int64_t key) const {
        bool counts = query < args.queries && key < args.keys && !(args.causal && key > query);
        if (counts && args.mask_kind == 1)
            counts = static_cast<const uint8_t*>(args.mask)[mask_place(query, key)] != 0;
        return counts;
    }

    // The random words of a query's shares in the four keys that one is of.
    __device__ Words words(int64_t query, int64_t key) const {
        const bool in_memory = args.state != nullptr;
        const uint64_t seed = in_memory ? args.state[0] : args.seed;
        const uint64_t offset = args.offset + (in_memory ? args.state[1] : 0);
        const int64_t blocks = (args.keys + 3) / 4;
        return philox(seed, place_of(query) * blocks + key / 4, offset);
    }
};
