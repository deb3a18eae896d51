// The gradients of attention of halves on tensor cores, with sums in float. A block of threads owns 64
// rows, queries or keys, and goes through tiles of the others; a warp keeps the scores of its rows in
// registers, and uses their shares and slopes from there as factors of the next products.
#include "head_tiles.cuh"
#include "score_fragments.cuh"

// The rows of a block.
constexpr int OWN = 64;

// How many pairs of tiles of the others are in shared memory. The block's own rows come through them
// first.
constexpr int STAGES = 2;

// What is known of each query: the logarithm of its sum, as an exponent of two, and `delta`.
template <int LINES>
struct Statistics {
    float log_sum[LINES], delta[LINES];
};

// The gradient of a warp's queries; with OF_KEYS, those of its keys and values.
template <class T, int WIDTH, bool OF_KEYS>
struct Gradient {
    static constexpr int STEPS = WIDTH / STEP;
    // How many of the others are scored at a time, as registers allow; for two wide gradients they do
    // if the values stay in shared memory, where they leave room for smaller tiles.
    static constexpr int AT_ONCE = WIDTH == 64 ? 32 : 16;
    static constexpr bool KEEPS_SECOND = WIDTH == 64 || !OF_KEYS;
    static constexpr int PIECES = AT_ONCE / 8;
    // The lines of a tile of the others.
    static constexpr int LINES = KEEPS_SECOND ? 4096 / WIDTH : AT_ONCE;
    using Tile = HalfLines<LINES, WIDTH>;
    using OwnTile = HalfLines<OWN, WIDTH>;
    using Scores = float[PIECES][4];

    FragmentHead<T, OF_KEYS> head;
    // The own rows of queries and gradients, or of keys and values.
    Fragment first[STEPS], second[KEEPS_SECOND ? STEPS : 1];
    uint32_t second_tile;
    // The gradient of queries or keys, and that of values.
    float of_first[WIDTH / 8][4], of_second[OF_KEYS ? WIDTH / 8 : 1][4];
    // Where the own rows are queries.
    float log_sum[2], delta[2];
    int row;

    __device__ Gradient(const Attention& args, int64_t number, int row, int lane)
        : head(args, number, lane), of_first{}, of_second{}, row(row) {}

    // The gradients of the own rows from the tiles of the others, from number `col` on.
    __device__ void add(uint32_t tiles, const Statistics<LINES>& known, int col) {
#pragma unroll 1
        for (int line = 0; line < LINES; line += AT_ONCE) {
            // Before there are products, which take the registers.
            const bool drops = head.args.keep < 1;
            const uint32_t kept = drops ? head.template kept<PIECES>(row, col + line) : ~0u;
            Scores shares = {}, slopes = {};
            multiply(shares, tiles, line, [&](int step) { return first[step]; });
            multiply(slopes, tiles + Tile::BYTES, line, [&](int step) {
                if constexpr (KEEPS_SECOND) {
                    return second[step];
                } else {
                    const int own = threadIdx.x / 32 * 16;
                    return OwnTile::template fragment<true, true>(second_tile, own, step * STEP,
                                                                  head.lane);
                }
            });
            differentiate(shares, slopes, known, line, col + line, kept);
            add_products_of(of_first, slopes, tiles, line);
            if constexpr (OF_KEYS) add_products_of(of_second, shares, tiles + Tile::BYTES, line);
        }
    }

private:
    // The products of the own rows and those of a tile from `line` on.
    template <class Own>
    __device__ void multiply(Scores& products, uint32_t tile, int line, Own own_at) const {
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            const Fragment own = own_at(step);
#pragma unroll
            for (int piece = 0; piece < PIECES; piece += 2) {
                const auto [w] = Tile::template fragment<false, true>(
                    tile + line * WIDTH * 2, piece * 8, step * STEP, head.lane);
                add_products<T>(products[piece], own, w[0], w[1]);
                add_products<T>(products[piece + 1], own, w[2], w[3]);
            }
        }
    }

    // Makes of products the shares of values, less what is dropped, and the gradients of the products
    // of queries and keys, both without the factors that all of them have.
    __device__ void differentiate(Scores& shares, Scores& slopes, const Statistics<LINES>& known,
                                  int line, int col, uint32_t kept) const {
        const float unit = head.mask(shares, row, col);
        const bool drops = head.args.keep < 1;
        if (drops) {
            const float factor = static_cast<float>(1 / head.args.keep);
#pragma unroll
            for (int e = 0; e < PIECES * 4; ++e)
                slopes[e / 4][e % 4] = kept >> e & 1 ? slopes[e / 4][e % 4] * factor : 0;
        }
#pragma unroll
        for (int e = 0; e < PIECES * 4; ++e) {
            float& share = shares[e / 4][e % 4];
            float& slope = slopes[e / 4][e % 4];
            const int own = line + column_of(head.lane, e), half = e % 4 / 2;
            share = power_of_two(fmaf(share, unit, -(OF_KEYS ? known.log_sum[own] : log_sum[half])));
            slope = share * (slope - (OF_KEYS ? known.delta[own] : delta[half]));
        }
        if (OF_KEYS && drops) {
#pragma unroll
            for (int e = 0; e < PIECES * 4; ++e)
                if (!(kept >> e & 1)) shares[e / 4][e % 4] = 0;
        }
    }

    // Adds the products of scores and the lines that they are of.
    __device__ void add_products_of(float (&sums)[WIDTH / 8][4], const Scores& scores,
                                    uint32_t tile, int line) const {
#pragma unroll
        for (int piece = 0; piece < PIECES; piece += 2) {
            const Fragment left = left_factor<T>(scores[piece], scores[piece + 1]);
#pragma unroll
            for (int step = 0; step < STEPS; ++step) {
                const auto [w] = Tile::template fragment<false, false>(
                    tile + line * WIDTH * 2, piece * 8, step * STEP, head.lane);
                add_products<T>(sums[2 * step], left, w[0], w[1]);
                add_products<T>(sums[2 * step + 1], left, w[2], w[3]);
            }
        }
    }
};

// A block's shared memory.
template <class G>
struct Memory {
    static constexpr int PAIRS = STAGES * 2 * G::Tile::BYTES;
    static constexpr int OWN_PAIR = 2 * G::OwnTile::BYTES;
    // Rows that stay have a place of their own, behind the tiles.
    static constexpr int OWN_BYTES = G::KEEPS_SECOND ? 0 : G::OwnTile::BYTES;
    static_assert(OWN_PAIR <= PAIRS + OWN_BYTES);
    alignas(256) uint8_t tiles[PAIRS + OWN_BYTES];
    Statistics<G::LINES> known[STAGES];
};

template <class G>
__device__ Memory<G>& memory() {
    __shared__ Memory<G> memory;
    return memory;
}

// The rows of a pair, queries and gradients or keys and values, as left factors of a warp.
template <class G, class T>
__device__ void load_pair(G& gradient, const HeadRows<T>& first_rows,
                          const HeadRows<T>& second_rows, int row) {
    constexpr int WIDTH = G::OwnTile::CHUNKS * CHUNK;
    const uint32_t shared = shared_address(memory<G>().tiles);
    const int thread = threadIdx.x, line = thread / 32 * 16;
    gradient.second_tile = shared + (G::KEEPS_SECOND ? G::OwnTile::BYTES : Memory<G>::PAIRS);
    fetch_rows<WIDTH, OWN>(shared, first_rows, row, thread);
    fetch_rows<WIDTH, OWN>(gradient.second_tile, second_rows, row, thread);
    end_group();
    wait_for_groups<0>();
    __syncthreads();
    load_left<WIDTH, OWN>(gradient.first, shared, line, thread % 32);
    if constexpr (G::KEEPS_SECOND)
        load_left<WIDTH, OWN>(gradient.second, gradient.second_tile, line, thread % 32);
    // Others come to the same place.
    __syncthreads();
}

// Goes through tiles of the others, of rows from `begin` up to `end`.
template <class T, int WIDTH, bool OF_KEYS>
__device__ void go_through(Gradient<T, WIDTH, OF_KEYS>& gradient, const HeadRows<T>& first_rows,
                           const HeadRows<T>& second_rows, int begin, int end) {
    using G = Gradient<T, WIDTH, OF_KEYS>;
    constexpr int LINES = G::LINES, TILE_BYTES = G::Tile::BYTES;
    Memory<G>& memory = ::memory<G>();
    const uint32_t shared = shared_address(memory.tiles);
    const int thread = threadIdx.x;
    const Attention& args = gradient.head.args;
    RowLoader<T, WIDTH, LINES> first(rows_from(first_rows, begin), 0, thread);
    RowLoader<T, WIDTH, LINES> second(rows_from(second_rows, begin), 0, thread);
    auto fetch = [&](int stage, int col) {
        first.fetch(shared + stage * 2 * TILE_BYTES, end - col);
        second.fetch(shared + stage * 2 * TILE_BYTES + TILE_BYTES, end - col);
        end_group();
    };
    // What is known of queries goes to a thread for each number.
    const bool of_sums = thread < LINES;
    auto load = [&](int col) {
        const int query = col + thread % LINES;
        if (!OF_KEYS || thread >= 2 * LINES || query >= end) return of_sums ? INFINITY : 0;
        const void* const numbers = of_sums ? args.log_sum : args.delta;
        const float number = static_cast<const float*>(numbers)[gradient.head.place_of(query)];
        return of_sums ? number * LOG2_E : number;
    };
    auto keep = [&](int stage, float number) {
        Statistics<LINES>& known = memory.known[stage];
        if (OF_KEYS && thread < 2 * LINES)
            (of_sums ? known.log_sum : known.delta)[thread % LINES] = number;
    };
    fetch(0, begin);
    keep(0, load(begin));
    int stage = 0;
#pragma unroll 1
    for (int col = begin; col < end; col += LINES) {
        wait_for_groups<0>();
        __syncthreads();
        fetch(stage ^ 1, col + LINES);
        const float number = load(col + LINES);
        gradient.add(shared + stage * 2 * TILE_BYTES, memory.known[stage], col);
        stage ^= 1;
        keep(stage, number);
    }
    // Nobody reads the last tiles any more when others come in their place.
    __syncthreads();
}

// The sums of the products of results and their gradients, of the two rows that a lane has.
template <class T, int STEPS>
__device__ void multiply_rows(float (&sums)[2], const Fragment (&a)[STEPS],
                              const Fragment (&b)[STEPS]) {
    sums[0] = sums[1] = 0;
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
#pragma unroll
        for (int w = 0; w < 4; ++w) {
            const auto [x, y] = reinterpret_cast<const Pack<T, 2>&>(a[step].words[w]).elements;
            const auto [u, v] = reinterpret_cast<const Pack<T, 2>&>(b[step].words[w]).elements;
            sums[w % 2] += load<T>(x) * load<T>(u) + load<T>(y) * load<T>(v);
        }
    }
#pragma unroll
    for (float& sum : sums) {
        sum += exchange(sum, 1);
        sum += exchange(sum, 2);
    }
}

// The gradient of the queries, and `delta`, which that of keys and values needs.
template <class T, int WIDTH>
__device__ void backward_queries(const Attention& args, int64_t job) {
    using G = Gradient<T, WIDTH, false>;
    const int thread = threadIdx.x, lane = thread % 32, line = thread / 32 * 16;
    const int64_t down = (args.queries + OWN - 1) / OWN;
    // If queries see no later keys, the last ones have the most to do, and so begin.
    const int first = static_cast<int>(down - 1 - job % down) * OWN, row = first + line;
    G gradient(args, job / down, row, lane);
    const QueryHead<T>& head = gradient.head;
    const HeadRows<T> out(static_cast<const T*>(args.out) + head.row_of(0) * args.columns,
                          args.heads * args.columns, args.queries, args.columns);
    // Results come to where queries are later.
    load_pair(gradient, out, head.grad(), first);
    multiply_rows<T>(gradient.delta, gradient.first, gradient.second);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int query = row + half * 8 + lane / 4;
        const bool inside = query < args.queries;
        const int64_t place = head.place_of(query);
        gradient.log_sum[half] =
            inside ? static_cast<const float*>(args.log_sum)[place] * LOG2_E : INFINITY;
        if (inside && lane % 4 == 0) static_cast<float*>(args.delta)[place] = gradient.delta[half];
    }
    if (args.dq == nullptr) return;
    load_pair(gradient, head.q(), head.grad(), first);
    if (args.scale < 0) negate(gradient.first);
    const int seen = first + OWN;
    const int end = args.causal && seen < args.keys ? seen : static_cast<int>(args.keys);
    go_through(gradient, head.k(), head.v(), 0, end);
    const float scale = static_cast<float>(args.scale);
    store_rows(static_cast<T*>(args.dq) + head.row_of(row) * args.depth, gradient.of_first,
               {scale, scale}, args.heads * args.depth, args.queries - row,
               static_cast<int>(args.depth), memory<G>().tiles + line * WIDTH * 2, lane);
    __syncthreads();
}

// The gradients of keys and values, which all heads that share them add to.
template <class T, int WIDTH>
__device__ void backward_keys(const Attention& args, int64_t job) {
    using G = Gradient<T, WIDTH, true>;
    const int thread = threadIdx.x, lane = thread % 32, line = thread / 32 * 16;
    const int64_t down = (args.keys + OWN - 1) / OWN, group = args.heads / args.kv_heads;
    const int first = static_cast<int>(job % down) * OWN, row = first + line;
    G gradient(args, job / down * group, row, lane);
    load_pair(gradient, gradient.head.k(), gradient.head.v(), first);
    if (args.scale < 0) negate(gradient.first);
    const int queries = static_cast<int>(args.queries);
    // Queries before the first key do not see it.
    const int begin = args.causal ? first : 0;
#pragma unroll 1
    for (int64_t member = 0; member < group && begin < queries; ++member) {
        const QueryHead<T>& head = gradient.head;
        go_through(gradient, head.q(), head.grad(), begin, queries);
        ++gradient.head.head;
    }
    const int64_t batch = gradient.head.batch, kv_head = job / down % args.kv_heads;
    const int64_t place = (batch * args.keys + row) * args.kv_heads + kv_head;
    const float scale = static_cast<float>(args.scale);
    const float share = static_cast<float>(1 / args.keep);
    auto store = [&](void* to, const auto& sums, float factor, int64_t columns) {
        if (to == nullptr) return;
        store_rows(static_cast<T*>(to) + place * columns, sums, {factor, factor},
                   args.kv_heads * columns, args.keys - row, static_cast<int>(columns),
                   memory<G>().tiles + line * WIDTH * 2, lane);
        __syncwarp();
    };
    store(args.dk, gradient.of_first, scale, args.depth);
    store(args.dv, gradient.of_second, share, args.columns);
    __syncthreads();
}

// So many blocks on a multiprocessor as there are registers for.
#define ATTENTION_HALVES(name, function, BLOCKS, WIDTH, T)                                   \
    extern "C" __global__ void __launch_bounds__(HALF_THREADS, BLOCKS)                       \
        name##_##T(Attention args) {                                                         \
        for (int64_t job = blockIdx.x; job < args.jobs; job += gridDim.x)                    \
            function<T, WIDTH>(args, job);                                                   \
    }

ATTENTION_HALVES(attention_halves_backward_queries_64, backward_queries, 3, 64, f16)
ATTENTION_HALVES(attention_halves_backward_queries_64, backward_queries, 3, 64, bf16)
ATTENTION_HALVES(attention_halves_backward_queries_128, backward_queries, 2, 128, f16)
ATTENTION_HALVES(attention_halves_backward_queries_128, backward_queries, 2, 128, bf16)
ATTENTION_HALVES(attention_halves_backward_keys_64, backward_keys, 2, 64, f16)
ATTENTION_HALVES(attention_halves_backward_keys_64, backward_keys, 2, 64, bf16)
ATTENTION_HALVES(attention_halves_backward_keys_128, backward_keys, 2, 128, f16)
ATTENTION_HALVES(attention_halves_backward_keys_128, backward_keys, 2, 128, bf16)
