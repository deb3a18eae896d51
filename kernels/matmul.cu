// c = a b for batches of matrices. Tiles of both operands pass through shared memory; each thread
// keeps its sums in registers.
#include "arithmetic.cuh"
#include "layout.cuh"
#include "tables.cuh"

// Blocks are SIDE x SIDE threads, and tiles SIDE deep.
constexpr int SIDE = 16;
constexpr int THREADS = SIDE * SIDE;

// In large matrices a thread computes 4 x 4 elements, and so uses four times what it reads from
// shared memory. In small ones that would leave too few blocks.
constexpr int FEW = 1;
constexpr int MANY = 4;

// What a block sees of a matrix at one time: SIDE rows along the summed dimension. The padding
// keeps threads that go down a column in different banks of shared memory, and rows aligned for
// wide reads.
template <class T, int EACH>
struct alignas(16) Tile {
    static constexpr int SIZE = SIDE * EACH;
    Value<T> rows[SIDE][SIZE + 4];
};

// A matrix whose element (i, d), d counting along the dimension that is summed over, lies at i *
// stride + d * depth_stride.
template <class T>
struct View {
    const T* data;
    int64_t size, depth, stride, depth_stride;
};

// A thread's part in copying a strip of a matrix to tiles, one after the other in the direction of
// depth.
template <class T, int EACH>
struct Loader {
    static constexpr int SIZE = SIDE * EACH;

    // The first element that this thread copies, the distance to its next ones, and that from tile
    // to tile.
    const T* element;
    int64_t step, advance;
    // The same in rows and columns of the tile, and how far the matrix still reaches.
    int i, d, i_step, d_step;
    int64_t i_left, d_left;
    Value<T> values[EACH];

    // Neighbouring threads read what lies side by side.
    __device__ Loader(const View<T>& view, int64_t first, int thread) {
        const bool along_i = view.stride == 1;
        i = along_i ? thread % SIZE : thread / SIDE;
        d = along_i ? thread / SIZE : thread % SIDE;
        i_step = along_i ? 0 : SIDE;
        d_step = along_i ? THREADS / SIZE : 0;
        i_left = view.size - first - i;
        d_left = view.depth - d;
        element = view.data + (first + i) * view.stride + d * view.depth_stride;
        step = i_step * view.stride + d_step * view.depth_stride;
        advance = SIDE * view.depth_stride;
    }

    // Elements outside the matrix are zeros, which only meet the zeros outside the other one, or
    // sums that are not stored.
    __device__ void fetch() {
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const bool inside = e * i_step < i_left && e * d_step < d_left;
            values[e] = inside ? load<T>(element[e * step]) : Value<T>{0};
        }
        element += advance;
        d_left -= SIDE;
    }

    __device__ void put(Tile<T, EACH>& tile) const {
#pragma unroll
        for (int e = 0; e < EACH; ++e) tile.rows[d + e * d_step][i + e * i_step] = values[e];
    }
};

// The part of c whose first element is (row, col).
template <class T, int EACH>
__device__ void multiply_tile(T* c, const View<T>& a, const View<T>& b, int64_t row, int64_t col) {
    __shared__ Tile<T, EACH> a_tile;
    __shared__ Tile<T, EACH> b_tile;
    const int x = threadIdx.x * EACH;
    const int y = threadIdx.y * EACH;
    const int thread = threadIdx.y * SIDE + threadIdx.x;
    Loader<T, EACH> a_loader(a, row, thread);
    Loader<T, EACH> b_loader(b, col, thread);
    Value<T> sums[EACH][EACH] = {};
    a_loader.fetch();
    b_loader.fetch();
#pragma unroll 1
    for (int64_t deep = 0; deep < a.depth; deep += SIDE) {
        a_loader.put(a_tile);
        b_loader.put(b_tile);
        __syncthreads();
        // The next tiles are on their way while these are worked on; after the last ones, nothing
        // is left to fetch.
        a_loader.fetch();
        b_loader.fetch();
#pragma unroll 4
        for (int d = 0; d < SIDE; ++d) {
            for (int i = 0; i < EACH; ++i) {
                for (int j = 0; j < EACH; ++j) {
                    sums[i][j] =
                        plus(sums[i][j], times(a_tile.rows[d][y + i], b_tile.rows[d][x + j]));
                }
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < EACH; ++i) {
        for (int j = 0; j < EACH; ++j) {
            const int64_t r = row + y + i;
            const int64_t s = col + x + j;
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
        walk(batch, args.batch_dims, args.batch_sizes, [&](int32_t d, int64_t coordinate) {
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

#define MATMUL(name, function, T)                                                   \
    extern "C" __global__ void __launch_bounds__(THREADS) name##_##T(Matmul args) { \
        function<T>(args);                                                          \
    }

FOR_NUMBERS(MATMUL, matmul, matmul)
