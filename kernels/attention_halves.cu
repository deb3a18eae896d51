// Attention of halves on tensor cores, with sums in float: the loop of attention.cu, in which a warp
// keeps the scores of its queries in registers, and uses their shares from there as a factor of the
// next product.
#include "head_tiles.cuh"
#include "score_fragments.cuh"

// The keys of a tile.
constexpr int KEYS = 64;

// What a block of threads computes for heads of up to WIDTH elements.
template <int WIDTH>
struct Shape {
    // A warp has so many times 16 queries: more for each read of keys and values, as registers allow.
    static constexpr int PARTS = WIDTH == 64 ? 2 : 1;
    static constexpr int QUERIES = HALF_THREADS / 32 * 16 * PARTS;
    // Tiles of keys and of values, by turns, in shared memory; the queries come through it first.
    static constexpr int STAGES = WIDTH == 64 ? 4 : 3;
    static constexpr int QUERY_STAGES = QUERIES / KEYS;
    static constexpr int TILE_BYTES = HalfLines<KEYS, WIDTH>::BYTES;
};

// Tiles of keys and of values, by turns, on their way into a ring of stages.
template <class T, int WIDTH>
struct KeyValueRing {
    static constexpr int STAGES = Shape<WIDTH>::STAGES;
    static constexpr bool KEYS_BEHIND_KEYS = (STAGES - 1) % 2 == 0;
    RowLoader<T, WIDTH, KEYS> keys, values;
    uint32_t shared;
    int reads, writes;
    // The keys to come.
    int left;

    __device__ KeyValueRing(const QueryHead<T>& head, int end, uint32_t shared, int thread)
        : keys(rows_from(head.k(), 0), 0, thread), values(rows_from(head.v(), 0), 0, thread),
          shared(shared), reads(0), writes(0), left(end) {}

    __device__ uint32_t stage(int index) const { return shared + index * Shape<WIDTH>::TILE_BYTES; }

    static __device__ int after(int index) { return index + 1 < STAGES ? index + 1 : 0; }

    // Begins to copy the tile that comes next.
    __device__ void fetch(bool of_keys) {
        if (of_keys) {
            keys.fetch(stage(writes), left);
        } else {
            values.fetch(stage(writes), left);
            left -= KEYS;
        }
        end_group();
        writes = after(writes);
    }

    // The next tile to read, of keys or values; the one before gives its place to another.
    __device__ uint32_t next(bool of_keys) {
        wait_for_groups<STAGES - 2>();
        __syncthreads();
        fetch(of_keys == KEYS_BEHIND_KEYS);
        const uint32_t tile = stage(reads);
        reads = after(reads);
        return tile;
    }
};

// A warp's queries.
template <class T, int WIDTH>
struct Queries {
    static constexpr int PARTS = Shape<WIDTH>::PARTS;
    static constexpr int STEPS = WIDTH / STEP;
    static constexpr int PIECES = KEYS / 8;

    Fragment q[PARTS][STEPS];
    float results[PARTS][WIDTH / 8][4];
    // Of each of the two rows that a lane has, the largest exponent, and its own part of the sum.
    float largest[PARTS][2], sum[PARTS][2];
    int lane;

    __device__ Queries(int lane) : results{}, sum{}, lane(lane) {
#pragma unroll
        for (auto& of_part : largest) of_part[0] = of_part[1] = -INFINITY;
    }

    __device__ void load(uint32_t tile, int line, bool is_negative) {
#pragma unroll
        for (int part = 0; part < PARTS; ++part) {
            load_left<WIDTH, Shape<WIDTH>::QUERIES>(q[part], tile, line + part * 16, lane);
            if (is_negative) negate(q[part]);
        }
    }

    // The products of queries and keys.
    __device__ void multiply(float (&products)[PARTS][PIECES][4], uint32_t tile) const {
        using Tile = HalfLines<KEYS, WIDTH>;
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
#pragma unroll
            for (int piece = 0; piece < PIECES; piece += 2) {
                const auto [w] =
                    Tile::template fragment<false, true>(tile, piece * 8, step * STEP, lane);
#pragma unroll
                for (int part = 0; part < PARTS; ++part) {
                    add_products<T>(products[part][piece], q[part][step], w[0], w[1]);
                    add_products<T>(products[part][piece + 1], q[part][step], w[2], w[3]);
                }
            }
        }
    }

    // Makes shares, in parts of the largest one so far, of the products of one part, that are still to
    // be multiplied by `unit` to be exponents.
    __device__ void share(float (&products)[PIECES][4], int part, float unit) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float top = -INFINITY;
#pragma unroll
            for (const auto& piece : products)
                top = fmaxf(top, fmaxf(piece[2 * half], piece[2 * half + 1]));
            top = fmaxf(top, exchange(top, 1));
            top = fmaxf(top, exchange(top, 2));
            top = fmaxf(largest[part][half], top * unit);
            const float base = top == -INFINITY ? 0 : top;
            const float factor = power_of_two(largest[part][half] - base);
            float total = 0;
#pragma unroll
            for (auto& piece : products) {
#pragma unroll
                for (int e = 2 * half; e < 2 * half + 2; ++e) {
                    piece[e] = power_of_two(fmaf(piece[e], unit, -base));
                    total += piece[e];
                }
            }
            sum[part][half] = sum[part][half] * factor + total;
            largest[part][half] = top;
#pragma unroll
            for (auto& piece : results[part]) {
                piece[2 * half] *= factor;
                piece[2 * half + 1] *= factor;
            }
        }
    }

    // Adds the products of shares and values.
    __device__ void add(const float (&shares)[PARTS][PIECES][4], uint32_t tile) {
        using Tile = HalfLines<KEYS, WIDTH>;
#pragma unroll
        for (int piece = 0; piece < PIECES; piece += 2) {
            Fragment left[PARTS];
#pragma unroll
            for (int part = 0; part < PARTS; ++part)
                left[part] = left_factor<T>(shares[part][piece], shares[part][piece + 1]);
#pragma unroll
            for (int step = 0; step < STEPS; ++step) {
                const auto [w] =
                    Tile::template fragment<false, false>(tile, piece * 8, step * STEP, lane);
#pragma unroll
                for (int part = 0; part < PARTS; ++part) {
                    add_products<T>(results[part][2 * step], left[part], w[0], w[1]);
                    add_products<T>(results[part][2 * step + 1], left[part], w[2], w[3]);
                }
            }
        }
    }

    // Stores results of the queries from `row` on, and the logarithms of their sums.
    __device__ void store(const QueryHead<T>& head, int row, uint8_t* tile) const {
        const Attention& args = head.args;
#pragma unroll
        for (int part = 0; part < PARTS; ++part) {
            const int first = row + part * 16;
            float factors[2];
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                float total = sum[part][half];
                total += exchange(total, 1);
                total += exchange(total, 2);
                factors[half] = total == 0 ? 0 : 1 / (total * static_cast<float>(args.keep));
                const int query = first + half * 8 + lane / 4;
                if (lane % 4 != 0 || query >= args.queries) continue;
                static_cast<float*>(args.log_sum)[head.place_of(query)] =
                    total == 0 ? INFINITY : (largest[part][half] + log2f(total)) * LN_2;
            }
            store_rows(static_cast<T*>(args.out) + head.row_of(first) * args.columns, results[part],
                       factors, args.heads * args.columns, args.queries - first,
                       static_cast<int>(args.columns), tile + part * 16 * WIDTH * 2, lane);
        }
    }
};

template <class T, int WIDTH>
__device__ void forward(const Attention& args, int64_t job) {
    using S = Shape<WIDTH>;
    constexpr int PIECES = KEYS / 8;
    __shared__ alignas(256) uint8_t memory[S::STAGES * S::TILE_BYTES];
    const int thread = threadIdx.x, lane = thread % 32, line = thread / 32 * 16 * S::PARTS;
    const int64_t down = (args.queries + S::QUERIES - 1) / S::QUERIES;
    // If queries see no later keys, the last ones have the most to do, and so begin.
    const int row = static_cast<int>(down - 1 - job % down) * S::QUERIES;
    const FragmentHead<T, false> head(args, job / down, lane);
    const int seen = row + S::QUERIES;
    const int end = args.causal && seen < args.keys ? seen : static_cast<int>(args.keys);
    KeyValueRing<T, WIDTH> ring(head, end, shared_address(memory), thread);
    const uint32_t own = ring.stage(S::STAGES - S::QUERY_STAGES);
    fetch_rows<WIDTH, S::QUERIES>(own, head.q(), row, thread);
    end_group();
#pragma unroll
    for (int tile = 0; tile < S::STAGES - S::QUERY_STAGES; ++tile) ring.fetch(tile % 2 == 0);
    wait_for_groups<S::STAGES - S::QUERY_STAGES>();
    __syncthreads();
    Queries<T, WIDTH> queries(lane);
    queries.load(own, line, args.scale < 0);
    __syncthreads();
#pragma unroll
    for (int tile = S::STAGES - S::QUERY_STAGES; tile < S::STAGES - 1; ++tile)
        ring.fetch(tile % 2 == 0);
#pragma unroll 1
    for (int key = 0; key < end; key += KEYS) {
        float shares[S::PARTS][PIECES][4] = {};
        queries.multiply(shares, ring.next(true));
#pragma unroll
        for (int part = 0; part < S::PARTS; ++part) {
            const int first = row + line + part * 16;
            queries.share(shares[part], part, head.mask(shares[part], first, key));
            if (args.keep >= 1) continue;
            const uint32_t kept = head.template kept<PIECES>(first, key);
#pragma unroll
            for (int e = 0; e < PIECES * 4; ++e)
                if (!(kept >> e & 1)) shares[part][e / 4][e % 4] = 0;
        }
        queries.add(shares, ring.next(false));
    }
    // Nobody reads the last tiles any more when results come in their place, nor those when the next
    // tiles do.
    __syncthreads();
    queries.store(head, row + line, memory + line * WIDTH * 2);
    __syncthreads();
}

#define ATTENTION_HALVES(name, WIDTH, T)                                                       \
    extern "C" __global__ void __launch_bounds__(HALF_THREADS, 2) name##_##T(Attention args) { \
        for (int64_t job = blockIdx.x; job < args.jobs; job += gridDim.x)                      \
            forward<T, WIDTH>(args, job);                                                      \
    }

ATTENTION_HALVES(attention_halves_64, 64, f16)
ATTENTION_HALVES(attention_halves_64, 64, bf16)
ATTENTION_HALVES(attention_halves_128, 128, f16)
ATTENTION_HALVES(attention_halves_128, 128, bf16)
