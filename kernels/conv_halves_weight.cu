// Gradients of the weights of convolutions of halves, on tensor cores with sums in float: see
// convolution.cuh.
//
// What is summed goes through the outputs of all samples, which lie side by side in both factors, but
// begin anywhere in the right one: a thread loads them into registers, a step before they are stored.
// The columns of a tile are channels at one position of the kernel, so that their elements lie at the
// same places of their planes, which are worked out once for all. So the channels of the result lie
// side by side: [groups, rows, kernel, channels of the input].
#include "convolution.cuh"
#include "half_products.cuh"

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

// A tile: its group and part, its first row, its position of the kernel, as a number and as a part of the
// places that it meets, and its first channel.
struct Tile {
    int group, part, row, position, channel;
    Part tap;
};

// What the threads of a block know together, in shared memory, since registers are few: the tile, and
// the places of outputs that are loaded now and next.
struct Known {
    Tile tile;
    Place places[2][PLACES];
};

// A thread's part in loading tiles of a factor: two neighbouring outputs of some channels.
template <class T>
struct Lines {
    static constexpr int SIZE = ROWS;
    static_assert(ROWS == COLUMNS);
    using Shape = HalfTile<SIZE, true, DEPTH>;
    static constexpr int PAIRS_ACROSS = DEPTH / 2;
    static constexpr int LINE_STEP = HALF_THREADS / PAIRS_ACROSS;
    static constexpr int EACH = SIZE / LINE_STEP;

    // The tensor, this thread's first channel in it, the distance of lines, and how many lines there
    // are from the first one on.
    const uint16_t* data;
    uint32_t start, distance;
    int count;
    // Whether pairs can lie side by side at multiples of their size.
    bool even;
    PairLoader<EACH> pairs;

    __device__ Lines(const T* tensor, int first, int64_t channels, int64_t plane, int line)
        : data(reinterpret_cast<const uint16_t*>(tensor)),
          start(static_cast<uint32_t>((first + line) * plane)),
          distance(static_cast<uint32_t>(LINE_STEP * plane)),
          even(plane % 2 == 0 && misalignment(tensor, PAIR_BYTES) == 0) {
        const int64_t left = channels - first;
        const int lines = static_cast<int>(left < SIZE ? left : SIZE) - line;
        count = (lines + LINE_STEP - 1) / LINE_STEP;
    }

    // Loads the elements at two places.
    __device__ void fetch(const int32_t (&places)[2]) {
        pairs.fetch(data, start, places, are_whole(places) && even, distance, count);
    }

    __device__ void put(uint32_t tile, int line, int pair) const {
        // Eight lines further the chunks are not moved, so all places are found from one.
        static_assert(LINE_STEP == 8);
        const uint32_t own = tile + pair_place<Shape>(line, pair);
#pragma unroll
        for (int e = 0; e < EACH; ++e)
            store_pair(own + e * LINE_STEP * DEPTH * 2, pairs.pair(e));
    }
};

// The tiles that a block computes, one after the other.
template <class T>
struct TileGradients {
    using Shape = typename Lines<T>::Shape;
    using Product = HalfProduct<T, Shape, Shape, ROWS, COLUMNS>;
    static constexpr int STAGE_BYTES = 2 * Shape::BYTES;

    const Problem<Pass::WEIGHT>& problem;
    const uint32_t shared;
    Known& known;
    const int thread = threadIdx.x;

    // Goes on to the tile of a number. The channels of a position come first, then positions, rows,
    // parts and groups. All threads call it together.
    __device__ void move_to(uint32_t number) const {
        const Convolution& args = problem.args;
        // Before it is written, all must have read the one before.
        __syncthreads();
        if (thread == 0) {
            Tile& tile = known.tile;
            const auto next = [&](int64_t size) {
                const auto own = static_cast<uint32_t>(size), rest = number / own;
                const auto index = static_cast<int>(number - rest * own);
                number = rest;
                return index;
            };
            tile.channel = next((args.in_channels + COLUMNS - 1) / COLUMNS) * COLUMNS;
            tile.position = next(problem.weights);
            tile.row = next((args.rows + ROWS - 1) / ROWS) * ROWS;
            tile.part = next(args.parts);
            tile.group = static_cast<int>(number);
            tile.tap = problem.of_kernel(0, tile.position);
        }
        __syncthreads();
    }

    // Works out the places of the outputs from `first` on, as they meet the position of the kernel.
    __device__ void load_places(int first, int to, int slot) const {
        const int own = first + thread;
        Place place{-1, -1};
        if (own < to) {
            const Term term = problem.term(own);
            place.left = static_cast<int32_t>(term.left);
            place.right = static_cast<int32_t>(problem.place(known.tile.tap, term.right));
        }
        known.places[slot][thread] = place;
    }

    // Adds up the products of the outputs from `from` to `to`.
    __device__ void add(Product& product, int from, int to) const {
        const Convolution& args = problem.args;
        const Tile& tile = known.tile;
        const Factors<T> own = factors<T, Pass::WEIGHT>(problem, tile.group);
        const int line = thread / Lines<T>::PAIRS_ACROSS, pair = thread % Lines<T>::PAIRS_ACROSS;
        Lines<T> left(own.left, tile.row, args.rows, problem.outputs, line);
        Lines<T> right(own.right, tile.channel, args.in_channels, problem.inputs, line);
        const int steps = from < to ? (to - from + DEPTH - 1) / DEPTH : 0;
        constexpr int TURN = PLACES / DEPTH;
        // Step by step: works out places, loads elements, stores them, and multiplies. The first steps
        // do only what comes first.
#pragma unroll 1
        for (int step = -3; step < steps; ++step) {
            // All have stored what is multiplied now, and nobody reads what was before.
            __syncthreads();
            const int next = step + 1, fetched = step + 2, ahead = step + 3;
            if (next >= 0 && next < steps) {
                const uint32_t stage = shared + next % STAGES * STAGE_BYTES;
                left.put(stage, line, pair);
                right.put(stage + Shape::BYTES, line, pair);
            }
            if (ahead % TURN == 0 && ahead < steps)
                load_places(from + ahead * DEPTH, to, ahead / TURN % 2);
            if (fetched >= 0 && fetched < steps) {
                const Place* const first = known.places[fetched / TURN % 2] + fetched % TURN * DEPTH;
                const Place low = first[2 * pair], high = first[2 * pair + 1];
                left.fetch({low.left, high.left});
                right.fetch({low.right, high.right});
            }
            if (step < 0) continue;
            const uint32_t stage = shared + step % STAGES * STAGE_BYTES;
            product.template add<DEPTH>(stage, stage + Shape::BYTES);
        }
    }

    // Stores the tile. Parts are added up later, and rounded once.
    __device__ void store(const Product& product) const {
        const Convolution& args = problem.args;
        const Tile& tile = known.tile;
        const int64_t all = args.groups * args.rows * args.columns;
        const int64_t first = (tile.group * args.rows + tile.row) * args.columns +
                              tile.position * args.in_channels + tile.channel;
        if (args.parts > 1) {
            store(product, static_cast<float*>(args.weight) + tile.part * all + first);
        } else {
            store(product, static_cast<T*>(args.weight) + first);
        }
    }

    template <class Out>
    __device__ void store(const Product& product, Out* first) const {
        const Convolution& args = problem.args;
        const auto rows = static_cast<int>(args.rows) - known.tile.row;
        const auto channels = static_cast<int>(args.in_channels) - known.tile.channel;
        const bool even = args.in_channels % 2 == 0;
        product.for_pairs([&](int row, int channel, float x, float y) {
            if (row >= rows) return;
            store_sums(first + row * args.columns + channel, channels - channel, even, x, y);
        });
    }
};

template <class T>
__device__ void sum_weights(const Convolution& args) {
    using Gradients = TileGradients<T>;
    __shared__ alignas(128) uint8_t stages[STAGES * Gradients::STAGE_BYTES];
    __shared__ Known known;
    const Problem<Pass::WEIGHT> problem(args, 0);
    const Gradients gradients{problem, shared_address(stages), known};
    const auto depth = static_cast<int>(problem.depth()), parts = static_cast<int>(args.parts);
    // Pairs are not cut.
    const int each = ((depth + parts - 1) / parts + DEPTH - 1) / DEPTH * DEPTH;
    const int64_t tiles = (args.rows + ROWS - 1) / ROWS * problem.weights *
                          ((args.in_channels + COLUMNS - 1) / COLUMNS);
    const auto all = static_cast<uint32_t>(tiles * args.groups * parts);
    uint32_t tile = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    for (; tile < all; tile += gridDim.x * gridDim.y * gridDim.z) {
        gradients.move_to(tile);
        const int part = known.tile.part, from = part * each < depth ? part * each : depth;
        typename Gradients::Product product(threadIdx.x);
        gradients.add(product, from, each < depth - from ? from + each : depth);
        gradients.store(product);
    }
}

#define WEIGHTS(name, T)                                                                         \
    extern "C" __global__ void __launch_bounds__(HALF_THREADS, 4) name##_##T(Convolution args) { \
        sum_weights<T>(args);                                                                    \
    }
WEIGHTS(conv_weight_halves, f16)
WEIGHTS(conv_weight_halves, bf16)
