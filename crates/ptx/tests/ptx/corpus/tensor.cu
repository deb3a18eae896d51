// Tensor cores by way of mma.h, and copies and barriers of CUDA's primitives.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline_primitives.h>
#include <mma.h>
namespace cg = cooperative_groups;
namespace wmma = nvcuda::wmma;

// Twice the product of a matrix in rows and one in columns.
extern "C" __global__ void halves(const __half* a, const __half* b, float* c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::fill_fragment(sums, 0.0f);
    wmma::load_matrix_sync(left, a, 16);
    wmma::load_matrix_sync(right, b, 16);
    wmma::mma_sync(sums, left, right, sums);
    for (int i = 0; i < sums.num_elements; ++i) sums.x[i] *= 2.0f;
    wmma::store_matrix_sync(c, sums, 16, wmma::mem_row_major);
}

// Sums of halves, of a flat matrix, by way of shared memory.
extern "C" __global__ void flat_halves(const __half* a, const __half* b, __half* c) {
    __shared__ __align__(32) __half rows[8 * 16];
    for (int i = threadIdx.x; i < 8 * 16; i += 32) rows[i] = a[i];
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 8, 32, 16, __half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 8, 32, 16, __half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 8, 32, 16, __half> sums;
    wmma::fill_fragment(sums, __float2half(1.0f));
    wmma::load_matrix_sync(left, rows, 16);
    wmma::load_matrix_sync(right, b, 32);
    wmma::mma_sync(sums, left, right, sums);
    wmma::store_matrix_sync(c, sums, 8, wmma::mem_col_major);
}

extern "C" __global__ void bytes(const signed char* a, const signed char* b, int* c) {
    wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::col_major> left;
    wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 32, 8, 16, int> sums;
    wmma::load_matrix_sync(left, a, 32);
    wmma::load_matrix_sync(right, b, 16);
    wmma::load_matrix_sync(sums, c, 8, wmma::mem_row_major);
    wmma::mma_sync(sums, left, right, sums, true);
    wmma::store_matrix_sync(c, sums, 8, wmma::mem_row_major);
}

// Each thread reads what the one at the other end of the block copied, four times in two buffers.
extern "C" __global__ void pipeline(const int4* in, int4* out) {
    __shared__ int4 buffers[2][64];
    int t = threadIdx.x;
    for (int stage = 0; stage < 2; ++stage) {
        __pipeline_memcpy_async(&buffers[stage][t], &in[64 * stage + t], 16);
        __pipeline_commit();
    }
    for (int step = 0; step < 4; ++step) {
        __pipeline_wait_prior(1);
        __syncthreads();
        out[64 * step + t] = buffers[step % 2][63 - t];
        __syncthreads();
        if (step < 2) {
            // Of the last piece only half is there.
            __pipeline_memcpy_async(&buffers[step][t], &in[64 * (step + 2) + t], 16, 8 * step);
        }
        __pipeline_commit();
    }
}

extern "C" __global__ void barriers(const int* in, int* out) {
    __shared__ __mbarrier_t barrier;
    __shared__ int values[64];
    int t = threadIdx.x, sum = 0;
    if (t == 0) __mbarrier_init(&barrier, 64);
    __syncthreads();
    for (int round = 0; round < 3; ++round) {
        values[t] = in[t] + round;
        __mbarrier_token_t token = __mbarrier_arrive(&barrier);
        while (!__mbarrier_test_wait(&barrier, token)) {}
        sum += values[63 - t];
        token = __mbarrier_arrive(&barrier);
        while (!__mbarrier_test_wait(&barrier, token)) {}
    }
    __syncthreads();
    if (t == 0) __mbarrier_inval(&barrier);
    out[t] = sum;
}

extern "C" __global__ void group_copy(const int* in, int* out) {
    __shared__ int values[64];
    cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, values, in, sizeof(int) * 64);
    cg::wait(block);
    out[threadIdx.x] = values[63 - threadIdx.x];
}
