// c = a b for batches of matrices. Tiles of both operands pass through shared memory; each thread keeps its sums in registers.
#include "arithmetic.cuh"
#include "layout.cuh"
#include "tables.cuh"

// Blocks are SIDE x SIDE threads, and tiles SIDE deep.
constexpr int SIDE = 16;
constexpr int THREADS = SIDE * SIDE;

// In large matrices a thread computes 4 x 4 elements, and so uses what it loads four times; in small ones that leaves too few blocks.
constexpr int FEW = 1;
constexpr int MANY = 4;

// What a block sees of a matrix at one time: SIDE rows along the summed dimension.
// One element of padding keeps threads that go down a column in different banks of shared memory.
template <class T, int SIZE>
using Tile = Value<T>[SIDE][SIZE + 1];

// A matrix whose element (i, d), d counting along the dimension that is summed over, lies at i * stride + d * depth_stride.
template <class T>
struct View {
    const T* data;
    int64_t size, depth, stride, depth_stride;

    // Elements outside the matrix are zeros, which only meet the zeros outside the other one, or sums that are not stored.
    __device__ Value<T> at(int64_t i, int64_t d) const {
        return i < size && d < depth ? load<T>(data[i * stride + d * depth_stride]) : Value<T>{0};
    }
};

// Copies the part of a matrix from (first, deep) on; neighbouring threads read what lies side by side.
template <class T, int SIZE>
__device__ void stage(Tile<T, SIZE>& tile, const View<T>& view, int64_t first, int64_t deep, int thread) {
#pragma unroll
    for (int element = thread; element < SIZE * SIDE; element += THREADS) {
        const int i = view.stride == 1 ? element % SIZE : element / SIDE;
        const int d = view.stride == 1 ? element / SIZE : element % SIDE;
        tile[d][i] = view.at(first + i, deep + d);
    }
}

// The part of c whose first element is (row, col). Each thread has EACH x EACH elements of it, SIDE apart.
template <class T, int EACH>
__device__ void multiply_tile(T* c, const View<T>& a, const View<T>& b, int64_t row, int64_t col) {
    constexpr int SIZE = SIDE * EACH;
    __shared__ Tile<T, SIZE> a_tile;
    __shared__ Tile<T, SIZE> b_tile;
    const int x = threadIdx.x;
    const int y = threadIdx.y;
    Value<T> sums[EACH][EACH] = {};
#pragma unroll 1
    for (int64_t deep = 0; deep < a.depth; deep += SIDE) {
        stage<T, SIZE>(a_tile, a, row, deep, y * SIDE + x);
        stage<T, SIZE>(b_tile, b, col, deep, y * SIDE + x);
        __syncthreads();
#pragma unroll 4
        for (int d = 0; d < SIDE; ++d) {
            for (int i = 0; i < EACH; ++i) {
                for (int j = 0; j < EACH; ++j) {
                    const Value<T> product = times(a_tile[d][y + i * SIDE], b_tile[d][x + j * SIDE]);
                    sums[i][j] = plus(sums[i][j], product);
                }
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < EACH; ++i) {
        for (int j = 0; j < EACH; ++j) {
            const int64_t r = row + y + i * SIDE;
            const int64_t s = col + x + j * SIDE;
            if (r < a.size && s < b.size) c[r * b.size + s] = convert<T>(sums[i][j]);
        }
    }
}

template <class T, int EACH>
__device__ void multiply(const Matmul& args) {
    constexpr int64_t SIZE = SIDE * EACH;
    for (int64_t batch = blockIdx.z; batch < args.batches; batch += gridDim.z) {
        View<T> a = {static_cast<const T*>(args.a), args.m, args.k, args.a_row, args.a_col};
        View<T> b = {static_cast<const T*>(args.b), args.n, args.k, args.b_col, args.b_row};
        walk(batch, args.batches, args.batch_dims, args.batch_sizes, [&](int32_t d, int64_t coordinate) {
            a.data += coordinate * args.a_batch[d];
            b.data += coordinate * args.b_batch[d];
        });
        T* const c = static_cast<T*>(args.c) + batch * args.m * args.n;
        for (int64_t row = blockIdx.y * SIZE; row < args.m; row += gridDim.y * SIZE) {
            for (int64_t col = blockIdx.x * SIZE; col < args.n; col += gridDim.x * SIZE) {
                multiply_tile<T, EACH>(c, a, b, row, col);
            }
        }
    }
}

// The grid may be cut for the small tiles: with large ones its last blocks find nothing to do.
template <class T>
__device__ void matmul(const Matmul& args) {
    if (args.m >= SIDE * MANY && args.n >= SIDE * MANY) {
        multiply<T, MANY>(args);
    } else {
        multiply<T, FEW>(args);
    }
}

#define MATMUL(name, function, T)                                                       \
    extern "C" __global__ void __launch_bounds__(THREADS) name##_##T(Matmul args) {     \
        function<T>(args);                                                              \
    }

FOR_SIGNED(MATMUL, matmul, matmul)
