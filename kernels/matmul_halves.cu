// c = a b for batches of matrices of halves, on tensor cores, with sums in float.
//
// Blocks of four warps compute tiles of c, a quarter each. Three tiles of each factor are in shared
// memory: while one is multiplied, the others are on their way.
#include "half_products.cuh"

constexpr int STAGES = 3;

// The depth of a tile, two steps of a tensor core.
constexpr int DEPTH = 32;

// Rows of tiles that neighbouring blocks go down before they go on to the next column, so that the
// blocks that run together read few parts of both factors.
constexpr int64_t GROUP = 8;

// The tile of SIZE x SIZE elements of c whose first element is (row, col). DEEP factors lie along
// the depth.
template <class T, int SIZE, bool A_DEEP, bool B_DEEP>
struct TileProduct {
    using A = HalfTile<SIZE, A_DEEP, DEPTH>;
    using B = HalfTile<SIZE, B_DEEP, DEPTH>;
    using Product = HalfProduct<T, A, B, SIZE, SIZE>;
    static constexpr int STAGE_BYTES = A::BYTES + B::BYTES;

    Product product;
    // One step is multiplied while the other is loaded.
    typename Product::StepFactors factors[2];

    __device__ TileProduct(int thread) : product(thread) {}

    // Loads the factors of one step in a stage.
    __device__ void load(int slot, uint32_t stage, int step) {
        product.load(factors[slot], stage, stage + A::BYTES, step * STEP);
    }

    __device__ void multiply(int slot) { product.multiply(factors[slot]); }

    // Adds up the products of all tiles along the depth.
    __device__ void run(uint32_t shared, HalfLoader<T, SIZE, A_DEEP, DEPTH>& left,
                        HalfLoader<T, SIZE, B_DEEP, DEPTH>& right, int64_t depth) {
        int64_t left_to_fetch = depth;
        auto stage = [&](int index) { return shared + index * STAGE_BYTES; };
        auto fetch = [&](int index) {
            left.fetch(stage(index), left_to_fetch);
            right.fetch(stage(index) + A::BYTES, left_to_fetch);
            left_to_fetch -= DEPTH;
            end_group();
        };
        auto next = [](int index) { return index + 1 < STAGES ? index + 1 : 0; };
#pragma unroll 1
        for (int index = 0; index < STAGES - 1; ++index) fetch(index);
        wait_for_groups<STAGES - 2>();
        __syncthreads();
        const int64_t tiles = (depth + DEPTH - 1) / DEPTH;
        if (tiles > 0) load(0, stage(0), 0);
        int reads = 0, writes = STAGES - 1;
#pragma unroll 1
        for (int64_t tile = 0; tile < tiles; ++tile) {
            fetch(writes);
            load(1, stage(reads), 1);
            multiply(0);
            reads = next(reads);
            writes = next(writes);
            // The next tile has come, and nobody reads the one before any more.
            wait_for_groups<STAGES - 2>();
            __syncthreads();
            if (tile + 1 < tiles) load(0, stage(reads), 0);
            multiply(1);
        }
    }

    // Stores what lies inside c.
    template <class Out>
    __device__ void store(Out* c, int64_t rows, int64_t cols, int64_t row, int64_t col) const {
        product.for_pairs([&](int r, int s, float x, float y) {
            if (row + r >= rows) return;
            const int64_t first = (row + r) * cols + col + s;
            store_sums(c + first, cols - col - s, cols % 2 == 0, x, y);
        });
    }
};

// All tiles of one product.
template <class T, int SIZE, bool A_DEEP, bool B_DEEP>
__device__ void multiply_halves(const Matmul& args, int64_t product, const View<T>& a,
                                const View<T>& b) {
    using Product = TileProduct<T, SIZE, A_DEEP, B_DEEP>;
    __shared__ alignas(128) uint8_t stages[STAGES * Product::STAGE_BYTES];
    const int thread = threadIdx.x;
    const int64_t rows = (a.size + SIZE - 1) / SIZE, cols = (b.size + SIZE - 1) / SIZE;
    const int64_t blocks = static_cast<int64_t>(gridDim.x) * gridDim.y;
    int64_t tile = static_cast<int64_t>(blockIdx.y) * gridDim.x + blockIdx.x;
    for (; tile < rows * cols; tile += blocks) {
        const int64_t group = tile / (GROUP * cols) * GROUP, place = tile % (GROUP * cols);
        const int64_t height = rows - group < GROUP ? rows - group : GROUP;
        const int64_t row = (group + place % height) * SIZE, col = place / height * SIZE;
        HalfLoader<T, SIZE, A_DEEP, DEPTH> left(a, row, thread);
        HalfLoader<T, SIZE, B_DEEP, DEPTH> right(b, col, thread);
        Product sums(thread);
        sums.run(shared_address(stages), left, right, a.depth);
        const int64_t origin = product * a.size * b.size;
        // Parts of the depth are added up later, and rounded once.
        if (args.parts > 1) {
            sums.store(static_cast<float*>(args.c) + origin, a.size, b.size, row, col);
        } else {
            sums.store(static_cast<T*>(args.c) + origin, a.size, b.size, row, col);
        }
        // Nobody reads the last tiles any more when the next ones come.
        __syncthreads();
    }
}

// Two blocks on a multiprocessor hide each other's waits.
#define MATMUL_HALVES(name, SIZE, A_DEEP, B_DEEP, T)                                         \
    extern "C" __global__ void __launch_bounds__(HALF_THREADS, 2) name##_##T(Matmul args) {  \
        for_products<T>(args, [&](int64_t product, const View<T>& a, const View<T>& b) {     \
            multiply_halves<T, SIZE, A_DEEP, B_DEEP>(args, product, a, b);                   \
        });                                                                                  \
    }
// Named as BLAS does: `n` is a matrix in rows, `t` one in columns. The rows of a, and the columns of
// b, lie along the depth.
#define FOR_LAYOUTS(name, SIZE, T)                   \
    MATMUL_HALVES(name##_nn, SIZE, true, false, T)   \
    MATMUL_HALVES(name##_nt, SIZE, true, true, T)    \
    MATMUL_HALVES(name##_tn, SIZE, false, false, T)  \
    MATMUL_HALVES(name##_tt, SIZE, false, true, T)

FOR_LAYOUTS(matmul_halves, 64, f16)
FOR_LAYOUTS(matmul_halves, 64, bf16)
FOR_LAYOUTS(matmul_halves_large, 128, f16)
FOR_LAYOUTS(matmul_halves_large, 128, bf16)
