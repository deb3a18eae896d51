// Convolutions of halves, and the gradients of their inputs, on tensor cores with sums in float: see
// convolution.cuh.
//
// What is summed goes through the positions of the kernel, and at each one through all channels, which
// are met at the same place of their planes: a thread works out places once for each position. So the
// weight must lie as [groups, rows, kernel, channels that are summed].
//
// Tiles of the weight are copied to shared memory as they lie. Elements of the right factor lie side
// by side along the columns, but begin anywhere: a thread loads them one by one into registers, a step
// before they are stored.
#include "convolution.cuh"
#include "half_products.cuh"
#include "vector.cuh"

// The columns and the depth of a tile.
constexpr int COLUMNS = 64;
constexpr int DEPTH = 32;

// The tiles of each factor that are in shared memory.
constexpr int LEFT_STAGES = 3;
constexpr int RIGHT_STAGES = 2;

constexpr int WARPS = HALF_THREADS / 32;

// A position of the kernel: its number in the weight, and its part in the right factor.
struct Tap {
    int32_t number, offset, at[3];
};

// The positions that the threads of a block work out at a time, one each.
constexpr int TAPS = HALF_THREADS;

// A thread's part in gathering tiles of the right factor: two neighbouring columns of some channels.
template <class T, Pass PASS>
struct Gather {
    using Tile = HalfTile<COLUMNS, false, DEPTH>;
    static constexpr int EACH = DEPTH / WARPS;

    const Problem<PASS>& problem;
    const T* right;
    // The distance of channels, and their number.
    int64_t plane;
    int channels;
    int line, pair;
    // Of each column its place in a sample, and at the position of the kernel that is summed the
    // offset of the element in the first channel, negative if none is there.
    int32_t offset[2], at[2][3], from[2];
    uint16_t halves[EACH][2];

    __device__ Gather(const Problem<PASS>& problem, const Factors<T>& factors, int64_t col,
                      int thread)
        : problem(problem), right(factors.right), line(thread / 32 * EACH), pair(thread % 32) {
        plane = PASS == Pass::OUTPUT ? problem.inputs : problem.outputs;
        const int64_t all = PASS == Pass::OUTPUT ? problem.args.in_channels : problem.args.out_channels;
        channels = static_cast<int>(all);
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            const int64_t own = col + 2 * pair + c;
            const Part part = problem.column(own < problem.columns ? own : 0);
            offset[c] = static_cast<int32_t>(part.offset);
#pragma unroll
            for (int d = 0; d < 3; ++d) at[c][d] = part.at[d];
            if (own >= problem.columns) at[c][0] = NOWHERE;
        }
    }

    // Goes on to a position of the kernel.
    __device__ void move_to(const Tap& tap) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            bool is_inside = true;
#pragma unroll
            for (int d = 0; d < 3; ++d) {
                const int64_t size =
                    PASS == Pass::INPUT ? problem.args.output[d] : problem.args.input[d];
                const uint32_t own = static_cast<uint32_t>(at[c][d] + tap.at[d]);
                is_inside &= own < static_cast<uint32_t>(size);
            }
            from[c] = is_inside ? offset[c] + tap.offset : -1;
        }
    }

    // Loads elements of the channels from `channel` on.
    __device__ void fetch(int channel) {
        const int first = channel + line;
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            const int count = from[c] < 0 ? 0 : channels - first;
            const uint16_t* const own =
                reinterpret_cast<const uint16_t*>(right) + from[c] + first * plane;
#pragma unroll
            for (int e = 0; e < EACH; ++e) halves[e][c] = e < count ? own[e * plane] : 0;
        }
    }

    __device__ void put(uint32_t tile) const {
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            store_pair(tile + pair_place<Tile>(line + e, pair), halves[e][0] | halves[e][1] << 16);
    }
};

// The part of a group's result whose first element is (row, col).
template <class T, Pass PASS, int ROWS>
struct TileConvolution {
    using Left = HalfTile<ROWS, true, DEPTH>;
    using Right = typename Gather<T, PASS>::Tile;
    using Product = HalfProduct<T, Left, Right, ROWS, COLUMNS>;
    using Result = HalfLines<ROWS, COLUMNS>;
    static constexpr int RIGHT_FROM = LEFT_STAGES * Left::BYTES;
    static constexpr int BYTES = RIGHT_FROM + RIGHT_STAGES * Right::BYTES;
    static_assert(BYTES >= Result::BYTES);

    const Problem<PASS>& problem;
    const Factors<T>& factors;
    const int64_t row, col;
    const uint32_t shared;
    Tap* const taps;
    const int thread = threadIdx.x;

    // Works out the positions from `first` on. All threads call it together.
    __device__ void load_taps(int first) const {
        // Before they are written, all must have read the ones before.
        __syncthreads();
        if (first + thread < problem.weights) {
            const Term term = problem.term(first + thread);
            Tap& tap = taps[thread];
            tap.number = static_cast<int32_t>(term.left);
            tap.offset = static_cast<int32_t>(term.right.offset);
#pragma unroll
            for (int d = 0; d < 3; ++d) tap.at[d] = term.right.at[d];
        }
        __syncthreads();
    }

    __device__ void run() const {
        Gather<T, PASS> right(problem, factors, col, thread);
        const int channels = right.channels;
        const int64_t line = volume(problem.args.kernel) * channels;
        HalfLoader<T, ROWS, true, DEPTH> left({factors.left, problem.args.rows, channels, line, 1},
                                              row, thread);
        left.in_chunks &= channels % CHUNK == 0;
        const T* const first = left.from;
        Product product(thread);
        const int taps_met = static_cast<int>(problem.weights);
        int tap = -1, channel = channels, reads = 0, writes = 0;
        // Begins to load the next tiles, if there are any.
        const auto fetch = [&] {
            if (channel >= channels && tap < taps_met) {
                channel = 0;
                ++tap;
                if (tap < taps_met) {
                    if (tap % TAPS == 0) load_taps(tap);
                    const Tap& own = taps[tap % TAPS];
                    right.move_to(own);
                    left.from = first + static_cast<int64_t>(own.number) * channels;
                }
            }
            if (tap < taps_met) {
                left.fetch(shared + writes * Left::BYTES, channels - channel);
                right.fetch(channel);
                channel += DEPTH;
            }
            end_group();
            writes = writes + 1 < LEFT_STAGES ? writes + 1 : 0;
        };
        fetch();
        const int steps = taps_met * ((channels + DEPTH - 1) / DEPTH);
        // A step stores the right factor of the next one; the first one multiplies nothing.
#pragma unroll 1
        for (int step = -1; step < steps; ++step) {
            wait_for_groups<LEFT_STAGES - 2>();
            // The tiles of this step have come, and nobody reads those of the one before any more.
            __syncthreads();
            right.put(shared + RIGHT_FROM + (step + 1) % RIGHT_STAGES * Right::BYTES);
            fetch();
            if (step < 0) continue;
            product.template add<DEPTH>(shared + reads * Left::BYTES,
                                        shared + RIGHT_FROM + step % RIGHT_STAGES * Right::BYTES);
            reads = reads + 1 < LEFT_STAGES ? reads + 1 : 0;
        }
        store(product);
    }

    // Stores the result, which goes through shared memory, so that a warp stores a row.
    __device__ void store(const Product& product) const {
        __syncthreads();
        product.for_pairs([&](int r, int c, float x, float y) {
            const bool has_bias = factors.bias != nullptr && row + r < problem.args.rows;
            const float bias = has_bias ? load<T>(factors.bias[row + r]) : 0;
            store_pair(shared + pair_place<Result>(r, c / 2), pack_halves<T>(x + bias, y + bias));
        });
        __syncthreads();
        const int pair = thread % 32;
        const int64_t own = col + 2 * pair, stride = problem.row();
        if (own < problem.columns) {
            const int64_t at = problem.result(own);
            const bool has_second = own + 1 < problem.columns;
            const int64_t second = has_second ? problem.result(own + 1) : at;
            T* const to = factors.result + row * stride;
            const bool is_whole = second == at + 1 && stride % 2 == 0 &&
                                  misalignment(to + at, PAIR_BYTES) == 0;
#pragma unroll 4
            for (int r = thread / 32; r < ROWS && row + r < problem.args.rows; r += WARPS) {
                const uint32_t word = load_pair(shared + pair_place<Result>(r, pair));
                const Pack<uint16_t, 2> halves{{static_cast<uint16_t>(word),
                                                static_cast<uint16_t>(word >> 16)}};
                uint16_t* const target = reinterpret_cast<uint16_t*>(to + r * stride);
                if (is_whole) {
                    *reinterpret_cast<Pack<uint16_t, 2>*>(target + at) = halves;
                } else {
                    target[at] = halves.elements[0];
                    if (has_second) target[second] = halves.elements[1];
                }
            }
        }
        // Before the next tile comes, all must have read.
        __syncthreads();
    }
};

template <class T, Pass PASS, int ROWS>
__device__ void convolve_halves(const Convolution& args) {
    using Tile = TileConvolution<T, PASS, ROWS>;
    __shared__ alignas(128) uint8_t stages[Tile::BYTES];
    __shared__ Tap taps[TAPS];
    for (int64_t job = blockIdx.z; job < args.groups * args.parts; job += gridDim.z) {
        const Problem<PASS> problem(args, job % args.parts);
        const Factors<T> own = factors<T, PASS>(problem, job / args.parts);
        for (int64_t row = blockIdx.y * ROWS; row < args.rows; row += gridDim.y * ROWS) {
            for (int64_t col = blockIdx.x * COLUMNS; col < problem.columns;
                 col += gridDim.x * COLUMNS)
                Tile{problem, own, row, col, shared_address(stages), taps}.run();
        }
    }
}

#define CONVOLUTION(name, PASS, ROWS, T)                                                 \
    extern "C" __global__ void __launch_bounds__(HALF_THREADS, ROWS == 64 ? 4 : 3)       \
        name##_##T(Convolution args) {                                                   \
        convolve_halves<T, Pass::PASS, ROWS>(args);                                      \
    }
CONVOLUTION(conv_output_halves, OUTPUT, 64, f16)
CONVOLUTION(conv_output_halves, OUTPUT, 64, bf16)
CONVOLUTION(conv_output_halves_large, OUTPUT, 128, f16)
CONVOLUTION(conv_output_halves_large, OUTPUT, 128, bf16)
CONVOLUTION(conv_input_halves, INPUT, 64, f16)
CONVOLUTION(conv_input_halves, INPUT, 64, bf16)
CONVOLUTION(conv_input_halves_large, INPUT, 128, f16)
CONVOLUTION(conv_input_halves_large, INPUT, 128, bf16)
