// The order of the elements of long rows, digit by digit from the lowest one, each pass stable. A pass
// counts the digits of each part of a row, adds the counts up, and moves each element behind those of
// lower digits and those of its digit before it (D. Merrill, A. Grimshaw, "High performance and scalable
// radix sorting", 2011). With the same counts, from the highest digit on, the element at a rank is found
// without sorting. See radix.cuh for the launches of each.
#include "radix.cuh"

#include "block_reduce.cuh"
#include "sort_keys.cuh"

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / WARP;
// A thread has a digit of its own where digits are added up.
constexpr int DIGITS = 256;
static_assert(DIGITS == THREADS);
constexpr uint32_t ALL_LANES = 0xFFFFFFFF;

// The elements of a thread that are moved at a time: as many as the registers of four blocks on a
// multiprocessor hold.
template <class T>
constexpr int EACH = sizeof(T) == 4 ? 12 : 8;

// The numbers that a thread reads at a time where it only adds up.
constexpr int AT_A_TIME = 8;

// The elements [from, to) of a row, of which it has no more than 2^31.
struct Part {
    uint32_t row, index, from, to;
    __device__ Part(const Radix& args, int64_t job)
        : row(job / static_cast<uint32_t>(args.parts)),
          index(job - row * static_cast<uint32_t>(args.parts)),
          from(index * static_cast<uint32_t>(args.part)),
          to(min(from + static_cast<uint32_t>(args.part), static_cast<uint32_t>(args.size))) {}
};

template <class K>
__device__ uint32_t digit_of(const Radix& args, K key) {
    return static_cast<uint32_t>(key >> args.shift) % DIGITS;
}

// The key of an element of the first pass; `chosen` is the one that makes classes.
template <class T>
__device__ Key<T> first_key(const Radix& args, T element, Key<T> chosen) {
    Key<T> key = key_of(element);
    if (args.descending) key = ~key;
    return args.classes ? static_cast<Key<T>>((key >= chosen) + (key > chosen)) : key;
}

// The sum of what the lanes of the warp up to this one have.
__device__ inline uint32_t sum_upto(uint32_t own) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int distance = 1; distance < WARP; distance *= 2) {
        const uint32_t earlier = __shfl_up_sync(ALL_LANES, own, distance);
        if (lane >= distance) own += earlier;
    }
    return own;
}

// The sum of what the threads of the block before this one have.
__device__ inline uint32_t sum_before(uint32_t own) {
    __shared__ uint32_t totals[WARPS];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const uint32_t upto = sum_upto(own);
    // What the call before has left must have been read.
    __syncthreads();
    if (lane == WARP - 1) totals[warp] = upto;
    __syncthreads();
    uint32_t before = upto - own;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) before += w < warp ? totals[w] : 0;
    return before;
}

// The key that is looked for in a row, as far as it is known, and its rank among those that have the
// known bits: the digit that the pass before has counted becomes known.
__device__ inline RadixSelected choose_digit(const Radix& args, int64_t row) {
    __shared__ RadixSelected next;
    if (args.known == 0) return {0, static_cast<uint64_t>(args.first + args.count - 1)};
    const RadixSelected last = args.from_selected[row];
    const uint32_t own = args.totals[row * DIGITS + threadIdx.x], before = sum_before(own);
    if (before <= last.rank && last.rank - before < own) {
        const int shift = __ffsll(args.known) - 1;
        next = {last.key | static_cast<uint64_t>(threadIdx.x) << shift, last.rank - before};
    }
    __syncthreads();
    return next;
}

// A block counts the digits of a part; each warp for itself, so that few threads meet.
template <class T>
__device__ void count_digits(const Radix& args) {
    __shared__ uint32_t counts[WARPS][DIGITS];
    const int warp = threadIdx.x / WARP;
    const Key<T> known = static_cast<Key<T>>(args.classes ? 0 : args.known);
    const bool selects = args.to_selected != nullptr;
    for (int64_t job = blockIdx.x; job < args.jobs; job += gridDim.x) {
        const Part part(args, job);
        const RadixSelected state = selects ? choose_digit(args, part.row) : RadixSelected{};
        const Key<T> chosen = static_cast<Key<T>>(state.key);
        if (selects && part.index == 0 && threadIdx.x == 0) args.to_selected[part.row] = state;
#pragma unroll
        for (int w = 0; w < WARPS; ++w) counts[w][threadIdx.x] = 0;
        __syncthreads();
        const int64_t row = static_cast<int64_t>(part.row) * args.size;
        const T* const in = static_cast<const T*>(args.in) + row;
        const Key<T>* const from = static_cast<const Key<T>*>(args.from_keys) + row;
        for (uint32_t first = part.from; first < part.to; first += AT_A_TIME * THREADS) {
            const uint32_t mine = first + threadIdx.x;
            const int left = static_cast<int>(part.to - mine);
            Key<T> keys[AT_A_TIME];
            if (args.in != nullptr) {
                T elements[AT_A_TIME];
#pragma unroll
                for (int e = 0; e < AT_A_TIME; ++e)
                    elements[e] = e * THREADS < left ? in[mine + e * THREADS] : T{0};
#pragma unroll
                for (int e = 0; e < AT_A_TIME; ++e) keys[e] = first_key(args, elements[e], chosen);
            } else {
#pragma unroll
                for (int e = 0; e < AT_A_TIME; ++e)
                    keys[e] = e * THREADS < left ? from[mine + e * THREADS] : 0;
            }
#pragma unroll
            for (int e = 0; e < AT_A_TIME; ++e) {
                if (e * THREADS < left && ((keys[e] ^ chosen) & known) == 0)
                    atomicAdd(&counts[warp][digit_of(args, keys[e])], 1);
            }
        }
        __syncthreads();
        uint32_t sum = 0;
#pragma unroll
        for (int w = 0; w < WARPS; ++w) sum += counts[w][threadIdx.x];
        const int64_t digit = static_cast<int64_t>(part.row) * DIGITS + threadIdx.x;
        args.counts[digit * args.parts + part.index] = sum;
    }
}

// A warp for each digit of each row: a count becomes the sum of those of the parts before.
__device__ inline void scan_counts(const Radix& args) {
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    for (int64_t job = blockIdx.x; job < args.jobs; job += gridDim.x) {
        const int64_t digit = job * WARPS + warp;
        uint32_t* const counts = args.counts + digit * args.parts;
        uint32_t sum = 0;
#pragma unroll 1
        for (int64_t first = lane; first - lane < args.parts; first += AT_A_TIME * WARP) {
            uint32_t own[AT_A_TIME];
#pragma unroll
            for (int e = 0; e < AT_A_TIME; ++e)
                own[e] = first + e * WARP < args.parts ? counts[first + e * WARP] : 0;
#pragma unroll
            for (int e = 0; e < AT_A_TIME; ++e) {
                const uint32_t upto = sum_upto(own[e]);
                if (first + e * WARP < args.parts) counts[first + e * WARP] = sum + upto - own[e];
                sum += __shfl_sync(ALL_LANES, upto, WARP - 1);
            }
        }
        if (lane == 0) args.totals[digit] = sum;
    }
}

// The lanes whose digit is that of this one.
__device__ inline uint32_t lanes_alike(uint32_t digit) {
    uint32_t alike = ALL_LANES;
#pragma unroll
    for (int bit = 1; bit < DIGITS; bit *= 2) {
        const bool is_set = digit & bit;
        const uint32_t differ = __ballot_sync(ALL_LANES, is_set) ^ (is_set ? ALL_LANES : 0);
        alike &= ~differ;
    }
    return alike;
}

// The keys and places of a tile, which a block puts in order before they are stored: so elements of one
// digit, which go side by side, are written by neighbours.
template <class T>
struct Tile {
    static constexpr int SIZE = THREADS * EACH<T>;
    Key<T> keys[SIZE];
    uint32_t places[SIZE];
    // First the digits of each warp so far, then the ranks in the tile at which its own begin.
    uint32_t counts[WARPS][DIGITS];
    // What a rank in the tile is added to, by digit.
    uint32_t bases[DIGITS];
};

// The keys of a thread's elements, of which it has the first at `at` of all rows, and `left` are there
// up to the end of the part. What is beyond comes last, whatever the digit, and is not stored.
template <class T>
__device__ void load_keys(const Radix& args, int64_t row, int64_t at, int left,
                          Key<T> (&keys)[EACH<T>]) {
    constexpr Key<T> LAST = ~Key<T>{0};
    if (args.in != nullptr) {
        const T* const in = static_cast<const T*>(args.in) + at;
        const Key<T> chosen = args.classes ? static_cast<Key<T>>(args.from_selected[row].key) : 0;
        T elements[EACH<T>];
#pragma unroll
        for (int e = 0; e < EACH<T>; ++e) elements[e] = e * WARP < left ? in[e * WARP] : T{0};
#pragma unroll
        for (int e = 0; e < EACH<T>; ++e)
            keys[e] = e * WARP < left ? first_key(args, elements[e], chosen) : LAST;
    } else {
        const Key<T>* const from = static_cast<const Key<T>*>(args.from_keys) + at;
#pragma unroll
        for (int e = 0; e < EACH<T>; ++e) keys[e] = e * WARP < left ? from[e * WARP] : LAST;
    }
}

// The ranks of a thread's elements among those of the warp that have the digit, two in a register.
// `counts` becomes the number of these, for each digit.
template <class T>
__device__ void rank_in_warp(const Radix& args, const Key<T> (&keys)[EACH<T>], uint32_t* counts,
                             uint32_t (&ranks)[EACH<T> / 2]) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int digit = lane; digit < DIGITS; digit += WARP) counts[digit] = 0;
    __syncwarp();
#pragma unroll
    for (int e = 0; e < EACH<T>; ++e) {
        const uint32_t digit = digit_of(args, keys[e]);
        const uint32_t alike = lanes_alike(digit), earlier = alike & ((1u << lane) - 1);
        const uint32_t before = counts[digit];
        __syncwarp();
        if (earlier == 0) counts[digit] = before + __popc(alike);
        const uint32_t rank = before + __popc(earlier);
        ranks[e / 2] = e % 2 == 0 ? rank : ranks[e / 2] | rank << 16;
        __syncwarp();
    }
}

// For its own digit, a thread turns the counts of the warps into the ranks in the tile where their
// elements begin, and moves `next`, the place in the row for the next element of the digit.
template <class T>
__device__ void rank_in_tile(uint32_t& next, Tile<T>& tile) {
    uint32_t total = 0;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) total += tile.counts[w][threadIdx.x];
    uint32_t start = sum_before(total);
    tile.bases[threadIdx.x] = next - start;
    next += total;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) {
        const uint32_t own = tile.counts[w][threadIdx.x];
        tile.counts[w][threadIdx.x] = start;
        start += own;
    }
}

// Sorts up to a tile of elements, from `first` on, into the tile. The elements of a warp lie side by
// side, and those of an `e` come before those of the next.
template <class T>
__device__ void sort_tile(const Radix& args, const Part& part, uint32_t first, uint32_t& next,
                          Tile<T>& tile) {
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    uint32_t* const counts = tile.counts[warp];
    const uint32_t mine = first + warp * WARP * EACH<T> + lane;
    const int left = static_cast<int>(part.to - mine);
    const int64_t at = static_cast<int64_t>(part.row) * args.size + mine;
    Key<T> keys[EACH<T>];
    uint32_t ranks[EACH<T> / 2], places[EACH<T>];
    load_keys<T>(args, part.row, at, left, keys);
    rank_in_warp<T>(args, keys, counts, ranks);
    __syncthreads();
    // Not before, where registers are short; the sums that follow hide the time this takes.
    const uint32_t* const from_places = args.from_places + at;
    if (args.in != nullptr) {
#pragma unroll
        for (int e = 0; e < EACH<T>; ++e) places[e] = mine + e * WARP;
    } else {
#pragma unroll
        for (int e = 0; e < EACH<T>; ++e) places[e] = e * WARP < left ? from_places[e * WARP] : 0;
    }
    rank_in_tile(next, tile);
    __syncthreads();
#pragma unroll
    for (int e = 0; e < EACH<T>; ++e) {
        const uint32_t own = ranks[e / 2] >> e % 2 * 16 & 0xFFFF;
        const uint32_t rank = own + counts[digit_of(args, keys[e])];
        tile.keys[rank] = keys[e];
        tile.places[rank] = places[e];
    }
    __syncthreads();
}

// Stores `count` elements of a sorted tile where the row has them in the order of this pass. Turns that
// are whole are apart, since branches would keep loads from being under way together.
template <class T>
__device__ void store_tile(const Radix& args, int64_t row, int count, const Tile<T>& tile) {
    constexpr int TURN = 4;
    Key<T>* const to_keys = static_cast<Key<T>*>(args.to_keys) + row * args.size;
    uint32_t* const to_places = args.to_places + row * args.size;
    int64_t* const out = args.out + row * args.count;
    const uint32_t first = static_cast<uint32_t>(args.first);
    const uint32_t wanted = static_cast<uint32_t>(args.count);
#pragma unroll 1
    for (int turn = 0; turn < EACH<T> / TURN; ++turn) {
        const int mine = turn * TURN * THREADS + threadIdx.x;
        Key<T> keys[TURN];
        uint32_t places[TURN], to[TURN];
#pragma unroll
        for (int e = 0; e < TURN; ++e) {
            const int rank = mine + e * THREADS;
            keys[e] = tile.keys[rank];
            places[e] = tile.places[rank];
            to[e] = tile.bases[digit_of(args, keys[e])] + rank;
        }
        if (args.out != nullptr) {
#pragma unroll
            for (int e = 0; e < TURN; ++e) {
                const bool is_wanted = mine + e * THREADS < count && to[e] - first < wanted;
                if (is_wanted) out[to[e] - first] = places[e];
            }
        } else if ((turn + 1) * TURN * THREADS <= count) {
#pragma unroll
            for (int e = 0; e < TURN; ++e) {
                to_keys[to[e]] = keys[e];
                to_places[to[e]] = places[e];
            }
        } else {
#pragma unroll
            for (int e = 0; e < TURN; ++e) {
                if (mine + e * THREADS >= count) continue;
                to_keys[to[e]] = keys[e];
                to_places[to[e]] = places[e];
            }
        }
    }
}

template <class T>
__device__ void scatter(const Radix& args) {
    __shared__ Tile<T> tile;
    for (int64_t job = blockIdx.x; job < args.jobs; job += gridDim.x) {
        const Part part(args, job);
        const int64_t digit = static_cast<int64_t>(part.row) * DIGITS + threadIdx.x;
        uint32_t next =
            sum_before(args.totals[digit]) + args.counts[digit * args.parts + part.index];
#pragma unroll 1
        for (uint32_t first = part.from; first < part.to; first += Tile<T>::SIZE) {
            sort_tile(args, part, first, next, tile);
            store_tile(args, part.row, part.to - first, tile);
        }
    }
}

#define RADIX(name, function)                                                    \
    extern "C" __global__ void __launch_bounds__(THREADS, 4) name(Radix args) { \
        function(args);                                                          \
    }

RADIX(radix_count_f64, count_digits<f64>)
RADIX(radix_count_f32, count_digits<f32>)
RADIX(radix_count_i64, count_digits<i64>)
RADIX(radix_count_i32, count_digits<i32>)
RADIX(radix_scatter_f64, scatter<f64>)
RADIX(radix_scatter_f32, scatter<f32>)
RADIX(radix_scatter_i64, scatter<i64>)
RADIX(radix_scatter_i32, scatter<i32>)
RADIX(radix_scan_i32, scan_counts)
