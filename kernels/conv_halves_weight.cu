// Gradients of the weights of convolutions of halves, on tensor cores with sums in float: see
// convolution.cuh.
//
// What is summed goes through the outputs of all samples, which lie side by side in both factors, but
// begin anywhere in the right one: a thread loads elements one by one into registers, a step before
// they are stored. The columns of a tile are channels at one position of the kernel, so that their
// elements lie at the same places of their planes, which are worked out once for all. So the channels
// of the result lie side by side: [groups, rows, kernel, channels of the input].
#include "convolution.cuh"
#include "half_products.cuh"
#include "vector.cuh"

// The rows, columns and depth of a tile.
constexpr int ROWS = 64;
constexpr int COLUMNS = 64;
constexpr int DEPTH = 32;

// The tiles of each factor that are in shared memory.
constexpr int STAGES = 2;

// The offsets of an output in the factors' first channels, negative where there is nothing.
struct alignas(8) Place {
    int32_t left, right;
};

// The outputs whose places the threads of a block work out at a time, one each.
constexpr int PLACES = HALF_THREADS;

// A thread's part in loading tiles of a factor: two neighbouring outputs of some channels.
template <class T>
struct Lines {
    static constexpr int SIZE = ROWS;
    static_assert(ROWS == COLUMNS);
    using Tile = HalfTile<SIZE, true, DEPTH>;
    static constexpr int PAIRS_ACROSS = DEPTH / 2;
    static constexpr int LINE_STEP = HALF_THREADS / PAIRS_ACROSS;
    static constexpr int EACH = SIZE / LINE_STEP;

    // The first channel of this thread, the distance of channels, and how many there are from it on.
    const uint16_t* data;
    int64_t plane;
    int channels;
    uint32_t pairs[EACH];

    __device__ Lines(const T* first, int64_t plane, int64_t left, int line)
        : data(reinterpret_cast<const uint16_t*>(first) + line * plane),
          plane(plane),
          channels(static_cast<int>(left < SIZE ? left : SIZE) - line) {}

    // Loads the elements at two places, which lie side by side at an even one if WHOLE.
    template <bool WHOLE>
    __device__ void fetch(int32_t low, int32_t high) {
        const uint16_t *const first = data + low, *const second = data + high;
        const int lows = low < 0 ? 0 : channels, highs = high < 0 ? 0 : channels;
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            const int64_t own = e * LINE_STEP * plane;
            if constexpr (WHOLE) {
                const auto* const both = reinterpret_cast<const uint32_t*>(first + own);
                pairs[e] = e * LINE_STEP < lows ? *both : 0;
            } else {
                const uint32_t x = e * LINE_STEP < lows ? first[own] : 0;
                const uint32_t y = e * LINE_STEP < highs ? second[own] : 0;
                pairs[e] = x | y << 16;
            }
        }
    }

    __device__ void put(uint32_t tile, int line, int pair) const {
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            store_pair(tile + pair_place<Tile>(line + e * LINE_STEP, pair), pairs[e]);
    }
};

// Tiles of a group's part of the gradient.
template <class T>
struct TileGradient {
    using Tile = typename Lines<T>::Tile;
    using Product = HalfProduct<T, Tile, Tile, ROWS, COLUMNS>;
    static constexpr int STAGE_BYTES = 2 * Tile::BYTES;

    const Problem<Pass::WEIGHT>& problem;
    const Factors<T>& factors;
    const uint32_t shared;
    Place (&places)[2][PLACES];
    const int thread = threadIdx.x;

    // Works out the places of the outputs from `first` on, as they meet a position of the kernel.
    __device__ void load_places(const Part& tap, int64_t first, int64_t to, int slot) const {
        const int64_t own = first + thread;
        Place place{-1, -1};
        if (own < to) {
            const Term term = problem.term(own);
            place.left = static_cast<int32_t>(term.left);
            place.right = static_cast<int32_t>(problem.place(tap, term.right));
        }
        places[slot][thread] = place;
    }

    // The sums over the outputs from `from` to `to` of the rows from `row` on, and the channels from
    // `channel` on at a position of the kernel.
    __device__ void run(Product& product, int64_t row, int64_t position, int64_t channel,
                        int64_t from, int64_t to) const {
        const Part tap = problem.of_kernel(0, position);
        const int line = thread / Lines<T>::PAIRS_ACROSS, pair = thread % Lines<T>::PAIRS_ACROSS;
        const Convolution& args = problem.args;
        Lines<T> left(factors.left + row * problem.outputs, problem.outputs, args.rows - row, line);
        Lines<T> right(factors.right + channel * problem.inputs, problem.inputs,
                       args.in_channels - channel, line);
        // Whether pairs in the left factor can be loaded whole.
        const bool whole =
            problem.outputs % 2 == 0 && misalignment(args.y, PAIR_BYTES) == 0;
        const int64_t steps = from < to ? (to - from + DEPTH - 1) / DEPTH : 0;
        constexpr int TURN = PLACES / DEPTH;
        // Step by step: works out places, loads elements, stores them, and multiplies. The first steps
        // do only what comes first.
#pragma unroll 1
        for (int64_t step = -3; step < steps; ++step) {
            // All have stored what is multiplied now, and nobody reads what was before.
            __syncthreads();
            const int next = static_cast<int>(step + 1);
            if (next >= 0 && next < steps) {
                const uint32_t stage = shared + next % STAGES * STAGE_BYTES;
                left.put(stage, line, pair);
                right.put(stage + Tile::BYTES, line, pair);
            }
            const int64_t ahead = step + 3;
            if (ahead % TURN == 0 && ahead < steps)
                load_places(tap, from + ahead * DEPTH, to, static_cast<int>(ahead / TURN % 2));
            const int64_t fetched = step + 2;
            if (fetched >= 0 && fetched < steps) {
                const Place* const own = places[fetched / TURN % 2] + fetched % TURN * DEPTH;
                const Place low = own[2 * pair], high = own[2 * pair + 1];
                if (whole) {
                    left.template fetch<true>(low.left, high.left);
                } else {
                    left.template fetch<false>(low.left, high.left);
                }
                right.template fetch<false>(low.right, high.right);
            }
            if (step < 0) continue;
            const uint32_t stage = shared + static_cast<int>(step) % STAGES * STAGE_BYTES;
            product.template add<DEPTH>(stage, stage + Tile::BYTES);
        }
    }
};

// The groups and parts one after the other, in tiles of a position of the kernel each.
template <class T>
__device__ void sum_weights(const Convolution& args) {
    using Gradient = TileGradient<T>;
    __shared__ alignas(128) uint8_t stages[STAGES * Gradient::STAGE_BYTES];
    __shared__ Place places[2][PLACES];
    const Problem<Pass::WEIGHT> problem(args, 0);
    const int64_t depth = problem.depth();
    const int64_t share = (depth + args.parts - 1) / args.parts;
    // Pairs are not cut.
    const int64_t each = (share + DEPTH - 1) / DEPTH * DEPTH;
    const int64_t blocks = (args.in_channels + COLUMNS - 1) / COLUMNS;
    for (int64_t job = blockIdx.z; job < args.groups * args.parts; job += gridDim.z) {
        const int64_t part = job % args.parts, from = part * each;
        const int64_t to = from + each < depth ? from + each : depth;
        const Factors<T> own = factors<T, Pass::WEIGHT>(problem, job / args.parts);
        const Gradient gradient{problem, own, shared_address(stages), places};
        for (int64_t row = blockIdx.y * ROWS; row < args.rows; row += gridDim.y * ROWS) {
            for (int64_t tile = blockIdx.x; tile < problem.weights * blocks; tile += gridDim.x) {
                const int64_t position = tile / blocks, channel = tile % blocks * COLUMNS;
                typename Gradient::Product product(threadIdx.x);
                gradient.run(product, row, position, channel, from, to);
                product.for_pairs([&](int r, int c, float x, float y) {
                    if (row + r >= args.rows) return;
                    const int64_t at = position * args.in_channels + channel + c;
                    if (channel + c < args.in_channels) put(problem, own, part, row + r, at, x);
                    if (channel + c + 1 < args.in_channels)
                        put(problem, own, part, row + r, at + 1, y);
                });
            }
        }
    }
}

#define WEIGHTS(name, T)                                                                         \
    extern "C" __global__ void __launch_bounds__(HALF_THREADS, 4) name##_##T(Convolution args) { \
        sum_weights<T>(args);                                                                    \
    }
WEIGHTS(conv_weight_halves, f16)
WEIGHTS(conv_weight_halves, bf16)
