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

    // The first channel of this thread, the distance of lines, and how many channels there are from
    // the first one on. A tensor has less than 2^31 elements.
    const uint16_t* data;
    uint32_t distance;
    int channels;
    uint32_t pairs[EACH];

    __device__ Lines(const T* first, int64_t plane, int64_t left, int line)
        : data(reinterpret_cast<const uint16_t*>(first) + line * plane),
          distance(static_cast<uint32_t>(LINE_STEP * plane)),
          channels(static_cast<int>(left < SIZE ? left : SIZE) - line) {}

    // Loads the elements at two places.
    __device__ void fetch(int32_t low, int32_t high) {
        const int lows = low < 0 ? 0 : channels, highs = high < 0 ? 0 : channels;
        uint32_t first = low, second = high;
#pragma unroll
        for (int e = 0; e < EACH; ++e, first += distance, second += distance) {
            const uint32_t x = e * LINE_STEP < lows ? data[first] : 0;
            const uint32_t y = e * LINE_STEP < highs ? data[second] : 0;
            pairs[e] = x | y << 16;
        }
    }

    // The same where the places lie side by side from an even one on.
    __device__ void fetch_whole(int32_t low) {
        const int count = low < 0 ? 0 : channels;
        uint32_t first = low;
#pragma unroll
        for (int e = 0; e < EACH; ++e, first += distance) {
            const bool exists = e * LINE_STEP < count;
            pairs[e] = exists ? *reinterpret_cast<const uint32_t*>(data + first) : 0;
        }
    }

    __device__ void put(uint32_t tile, int line, int pair) const {
        // Eight lines further the chunks are not moved, so all places are found from one.
        static_assert(LINE_STEP == 8);
        const uint32_t own = tile + pair_place<Tile>(line, pair);
#pragma unroll
        for (int e = 0; e < EACH; ++e) store_pair(own + e * LINE_STEP * DEPTH * 2, pairs[e]);
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
    __device__ void load_places(const Part& tap, int first, int to, int slot) const {
        const int own = first + thread;
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
    __device__ void run(Product& product, int row, int position, int channel, int from,
                        int to) const {
        const Part tap = problem.of_kernel(0, position);
        const int line = thread / Lines<T>::PAIRS_ACROSS, pair = thread % Lines<T>::PAIRS_ACROSS;
        const Convolution& args = problem.args;
        Lines<T> left(factors.left + row * problem.outputs, problem.outputs, args.rows - row, line);
        Lines<T> right(factors.right + channel * problem.inputs, problem.inputs,
                       args.in_channels - channel, line);
        // Whether pairs in the left factor can be loaded whole.
        const bool whole =
            problem.outputs % 2 == 0 && misalignment(args.y, PAIR_BYTES) == 0;
        const int steps = from < to ? (to - from + DEPTH - 1) / DEPTH : 0;
        constexpr int TURN = PLACES / DEPTH;
        // Step by step: works out places, loads elements, stores them, and multiplies. The first steps
        // do only what comes first.
#pragma unroll 1
        for (int step = -3; step < steps; ++step) {
            // All have stored what is multiplied now, and nobody reads what was before.
            __syncthreads();
            const int next = step + 1;
            if (next >= 0 && next < steps) {
                const uint32_t stage = shared + next % STAGES * STAGE_BYTES;
                left.put(stage, line, pair);
                right.put(stage + Tile::BYTES, line, pair);
            }
            const int ahead = step + 3;
            if (ahead % TURN == 0 && ahead < steps)
                load_places(tap, from + ahead * DEPTH, to, ahead / TURN % 2);
            const int fetched = step + 2;
            if (fetched >= 0 && fetched < steps) {
                const Place* const own = places[fetched / TURN % 2] + fetched % TURN * DEPTH;
                const Place low = own[2 * pair], high = own[2 * pair + 1];
                if (whole) {
                    left.fetch_whole(low.left);
                } else {
                    left.fetch(low.left, high.left);
                }
                right.fetch(low.right, high.right);
            }
            if (step < 0) continue;
            const uint32_t stage = shared + step % STAGES * STAGE_BYTES;
            product.template add<DEPTH>(stage, stage + Tile::BYTES);
        }
    }
};

// The groups and parts one after the other, in tiles, of a position of the kernel each.
template <class T>
__device__ void sum_weights(const Convolution& args) {
    using Gradient = TileGradient<T>;
    __shared__ alignas(128) uint8_t stages[STAGES * Gradient::STAGE_BYTES];
    __shared__ Place places[2][PLACES];
    const Problem<Pass::WEIGHT> problem(args, 0);
    const auto depth = static_cast<int>(problem.depth()), parts = static_cast<int>(args.parts);
    const int share = (depth + parts - 1) / parts;
    // Pairs are not cut.
    const int each = (share + DEPTH - 1) / DEPTH * DEPTH;
    const auto channels = static_cast<int>(args.in_channels);
    const int blocks = (channels + COLUMNS - 1) / COLUMNS;
    const int tiles = static_cast<int>(problem.weights) * blocks;
    for (int64_t job = blockIdx.z; job < args.groups * parts; job += gridDim.z) {
        const auto part = static_cast<int>(job % parts);
        const int from = part * each < depth ? part * each : depth;
        const int to = each < depth - from ? from + each : depth;
        const Factors<T> own = factors<T, Pass::WEIGHT>(problem, job / parts);
        const Gradient gradient{problem, own, shared_address(stages), places};
        for (int64_t first = blockIdx.y * ROWS; first < args.rows; first += gridDim.y * ROWS) {
            const auto row = static_cast<int>(first);
            for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
                const int position = tile / blocks, channel = tile % blocks * COLUMNS;
                typename Gradient::Product product(threadIdx.x);
                gradient.run(product, row, position, channel, from, to);
                product.for_pairs([&](int r, int c, float x, float y) {
                    if (row + r >= args.rows) return;
                    const int at = position * channels + channel + c;
                    if (channel + c < channels) put(problem, own, part, row + r, at, x);
                    if (channel + c + 1 < channels) put(problem, own, part, row + r, at + 1, y);
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
