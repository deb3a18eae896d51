// Convolutions of halves, and the gradients of their inputs, on tensor cores with sums in float: see
// convolution.cuh.
//
// What is summed goes through the positions of the kernel, and at each one through channels, which are
// met at the same place of their planes: a thread works out places once for all of them. So the weight
// must lie as [groups, rows, kernel, channels that are summed].
//
// Tiles of the weight are copied to shared memory as they lie. Elements of the right factor lie side
// by side along the columns, but begin anywhere: a thread loads them into registers, a step before they
// are stored.
#include "convolution.cuh"
#include "half_products.cuh"

// The columns and the depth of a tile.
constexpr int COLUMNS = 64;
constexpr int DEPTH = 32;

// The channels that are summed at all positions before the next ones are: what neighbouring positions
// share of them is then still in the multiprocessor's cache.
constexpr int BLOCK = 2 * DEPTH;

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

// A column of a tile: its part in the right factor, and its offset in a row of the result, negative if
// there is no such column.
struct Column {
    int32_t offset, at[3], to;
};

// What the threads of a block know of a tile together.
struct Places {
    Tap taps[TAPS];
    Column columns[COLUMNS];
};

// A thread's part in gathering tiles of the right factor: two neighbouring columns of some channels.
template <class T, Pass PASS>
struct Gather {
    using Tile = HalfTile<COLUMNS, false, DEPTH>;
    static constexpr int EACH = DEPTH / WARPS;
    // The lines whose chunks are moved apart, eight, begin with a thread's first one.
    static constexpr int CHUNKS_APART = 8;

    const Problem<PASS>& problem;
    const uint16_t* right;
    // The distance of channels, and their number.
    uint32_t plane;
    int channels;
    int line, pair;
    const Places& places;
    // Of each column the offset of the element in the first channel at the position of the kernel that
    // is summed, negative if none is there.
    int32_t from[2];
    // Whether all pairs of the warp lie side by side at that position; and whether they can at all.
    bool whole, even;
    PairLoader<EACH> pairs;

    __device__ Gather(const Problem<PASS>& problem, const Factors<T>& factors, const Places& places,
                      int thread)
        : problem(problem),
          right(reinterpret_cast<const uint16_t*>(factors.right)),
          line(thread / 32 * EACH),
          pair(thread % 32),
          places(places) {
        const Convolution& args = problem.args;
        plane = static_cast<uint32_t>(PASS == Pass::OUTPUT ? problem.inputs : problem.outputs);
        channels = static_cast<int>(PASS == Pass::OUTPUT ? args.in_channels : args.out_channels);
        even = plane % 2 == 0 && misalignment(right, PAIR_BYTES) == 0;
    }

    // Goes on to a position of the kernel.
    __device__ void move_to(const Tap& tap) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            const Column& column = places.columns[2 * pair + c];
            bool is_inside = true;
#pragma unroll
            for (int d = 0; d < 3; ++d) {
                const int64_t size =
                    PASS == Pass::INPUT ? problem.args.output[d] : problem.args.input[d];
                const uint32_t own = static_cast<uint32_t>(column.at[d] + tap.at[d]);
                is_inside &= own < static_cast<uint32_t>(size);
            }
            from[c] = is_inside ? column.offset + tap.offset : -1;
        }
        whole = are_whole(from) && even;
    }

    // Loads elements of the channels from `channel` on.
    __device__ void fetch(int channel) {
        const int first = channel + line;
        pairs.fetch(right, first * plane, from, whole, plane, channels - first);
    }

    __device__ void put(uint32_t tile) const {
        static_assert(EACH == CHUNKS_APART);
        const uint32_t own = tile + pair_place<Tile>(line, pair);
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
            // The places of all lines are found from one: see HalfLines::place.
            const uint32_t place = (own ^ e * CHUNK_BYTES) + e * COLUMNS * 2;
            store_pair(place, pairs.pair(e));
        }
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
    // Outputs of few tiles are summed in parts, but there are many larger tiles where they are used.
    static constexpr bool HAS_PARTS = PASS == Pass::OUTPUT && ROWS == 64;

    const Problem<PASS>& problem;
    const Factors<T>& factors;
    const int row, col, part;
    const uint32_t shared;
    Places& places;
    const int thread = threadIdx.x;

    __device__ void load_columns() const {
        if (thread >= COLUMNS) return;
        const int64_t own = col + thread;
        const bool exists = own < problem.columns;
        const Part part = problem.column(exists ? own : 0);
        Column& column = places.columns[thread];
        column.offset = static_cast<int32_t>(part.offset);
#pragma unroll
        for (int d = 0; d < 3; ++d) column.at[d] = exists ? part.at[d] : NOWHERE;
        column.to = exists ? static_cast<int32_t>(problem.result(own)) : -1;
    }

    // Works out the positions from `first` on. All threads call it together.
    __device__ void load_taps(int first) const {
        // Before they are written, all must have read the ones before.
        __syncthreads();
        if (first + thread < problem.weights) {
            const Term term = problem.term(first + thread);
            Tap& tap = places.taps[thread];
            tap.number = static_cast<int32_t>(term.left);
            tap.offset = static_cast<int32_t>(term.right.offset);
#pragma unroll
            for (int d = 0; d < 3; ++d) tap.at[d] = term.right.at[d];
        }
        __syncthreads();
    }

    __device__ void run() const {
        load_columns();
        Gather<T, PASS> right(problem, factors, places, thread);
        const int channels = right.channels;
        const int64_t line = volume(problem.args.kernel) * channels;
        HalfLoader<T, ROWS, true, DEPTH> left({factors.left, problem.args.rows, channels, line, 1},
                                              row, thread);
        left.in_chunks &= channels % CHUNK == 0;
        const T* const first = left.from;
        Product product(thread);
        const int taps_met = static_cast<int>(problem.weights);
        // The channels of this part.
        const int each = channels_of_part(channels), from = part * each;
        const int to = from + each < channels ? from + each : channels;
        const int steps = from < to ? taps_met * ((to - from + DEPTH - 1) / DEPTH) : 0;
        int tap = -1, channel = from + BLOCK, slot = 0;
        // Begins to load the tiles of a step, the next one each time.
        const auto fetch = [&](int step) {
            if (step < steps) {
                if (channel >= to || channel % BLOCK == 0) {
                    channel = (channel - 1) / BLOCK * BLOCK;
                    if (++tap == taps_met) {
                        tap = 0;
                        channel += BLOCK;
                    }
                    if (tap % TAPS == 0 && (channel == from || taps_met > TAPS)) load_taps(tap);
                    const Tap& own = places.taps[tap % TAPS];
                    right.move_to(own);
                    left.from = first + own.number * channels + channel;
                }
                left.fetch(shared + slot * Left::BYTES, channels - channel);
                right.fetch(channel);
                channel += DEPTH;
            }
            end_group();
            slot = slot + 1 < LEFT_STAGES ? slot + 1 : 0;
        };
        fetch(0);
        // A step stores the right factor of the next one; the first one multiplies nothing.
#pragma unroll 1
        for (int step = -1; step < steps; ++step) {
            wait_for_groups<LEFT_STAGES - 2>();
            // The tiles of this step have come, and nobody reads those of the one before any more.
            __syncthreads();
            right.put(shared + RIGHT_FROM + (step + 1) % RIGHT_STAGES * Right::BYTES);
            fetch(step + 2);
            if (step < 0) continue;
            // What is loaded is two steps ahead, so what is multiplied is written to next.
            static_assert(LEFT_STAGES == 3);
            product.template add<DEPTH>(shared + slot * Left::BYTES,
                                        shared + RIGHT_FROM + step % RIGHT_STAGES * Right::BYTES);
        }
        if (HAS_PARTS && problem.args.parts > 1) {
            store_part(product);
        } else {
            store(product);
        }
    }

    // The channels that are summed in a part of an output.
    __device__ int channels_of_part(int channels) const {
        if (!HAS_PARTS) return channels;
        const int blocks = (channels + BLOCK - 1) / BLOCK;
        const auto parts = static_cast<int>(problem.args.parts);
        return (blocks + parts - 1) / parts * BLOCK;
    }

    // Stores a part of an output, which is added to the others later, and rounded then. The first one
    // has the bias.
    __device__ void store_part(const Product& product) const {
        const Convolution& args = problem.args;
        const int64_t all = args.batch * args.groups * args.rows * problem.outputs;
        const int64_t first = factors.result - static_cast<T*>(args.y);
        float* const to = static_cast<float*>(args.y) + part * all + first;
        product.for_pairs([&](int r, int c, float x, float y) {
            if (row + r >= args.rows) return;
            const bool has_bias = factors.bias != nullptr && part == 0;
            const float bias = has_bias ? load<T>(factors.bias[row + r]) : 0;
            float* const line = to + (row + r) * problem.outputs;
            const int at = places.columns[c].to, second = places.columns[c + 1].to;
            if (at >= 0) line[at] = x + bias;
            if (second >= 0) line[second] = y + bias;
        });
        // Before the next tile comes, all must have read.
        __syncthreads();
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
        const int at = places.columns[2 * pair].to, second = places.columns[2 * pair + 1].to;
        const int64_t stride = problem.row();
        uint16_t* const to = reinterpret_cast<uint16_t*>(factors.result) + row * stride;
        const bool is_whole = second == at + 1 && stride % 2 == 0 &&
                              misalignment(to + at, PAIR_BYTES) == 0;
#pragma unroll 4
        for (int r = thread / 32; r < ROWS && row + r < problem.args.rows; r += WARPS) {
            const uint32_t word = load_pair(shared + pair_place<Result>(r, pair));
            uint16_t* const target = to + r * stride;
            if (is_whole) {
                *reinterpret_cast<uint32_t*>(target + at) = word;
            } else {
                if (at >= 0) target[at] = static_cast<uint16_t>(word);
                if (second >= 0) target[second] = static_cast<uint16_t>(word >> 16);
            }
        }
        // Before the next tile comes, all must have read.
        __syncthreads();
    }
};

// The groups and their phases, or parts, one after the other, in tiles, whose columns are counted first.
template <class T, Pass PASS, int ROWS>
__device__ void convolve_halves(const Convolution& args) {
    using Tile = TileConvolution<T, PASS, ROWS>;
    __shared__ alignas(128) uint8_t stages[Tile::BYTES];
    __shared__ Places places;
    const auto tiles = [](int64_t size, int tile) {
        return static_cast<uint32_t>((size + tile - 1) / tile);
    };
    const uint32_t across = tiles(args.columns, COLUMNS), down = tiles(args.rows, ROWS);
    const auto parts = static_cast<uint32_t>(args.parts);
    const uint32_t jobs = static_cast<uint32_t>(args.groups) * parts;
    uint32_t tile = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    for (; tile < jobs * down * across; tile += gridDim.x * gridDim.y * gridDim.z) {
        const uint32_t line = tile / across, job = line / down;
        const int row = static_cast<int>(line % down) * ROWS;
        const int col = static_cast<int>(tile % across) * COLUMNS;
        const auto number = static_cast<int>(job % parts);
        const Problem<PASS> problem(args, number);
        // The other phases may have fewer columns.
        if (col >= problem.columns) continue;
        const Factors<T> own = factors<T, PASS>(problem, job / parts);
        const int part = Tile::HAS_PARTS ? number : 0;
        Tile{problem, own, row, col, part, shared_address(stages), places}.run();
    }
}

// The blocks that a multiprocessor must have registers for hide each other's waits.
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
