// The order of the elements of dense rows: where each place of a sorted row has its element from. An
// element becomes a key, an unsigned number in whose order it is sorted, and with its place in the row
// an item. No two items are equal, so that any network sorts them stably. Blocks sort chunks of rows
// in shared memory (Batcher 1968); if a row has several, further launches merge two runs into one.
#include "layout.cuh"
#include "sort_keys.cuh"

constexpr int THREADS = 256;
// The items that a block sorts at a time, of one row or of several.
constexpr int CHUNK = 2048;

// Keys of 32 bits share a word with the place.
struct PackedItem {
    uint64_t word;
    __device__ static PackedItem of(uint32_t key, int64_t place) {
        return {static_cast<uint64_t>(key) << 32 | static_cast<uint32_t>(place)};
    }
    __device__ static PackedItem greatest() { return {UINT64_MAX}; }
    __device__ int64_t place() const { return static_cast<uint32_t>(word); }
    __device__ bool operator<(const PackedItem& other) const { return word < other.word; }
};

struct WideItem {
    uint64_t key;
    uint64_t index;
    __device__ static WideItem of(uint64_t key, int64_t place) {
        return {key, static_cast<uint64_t>(place)};
    }
    __device__ static WideItem greatest() { return {UINT64_MAX, UINT64_MAX}; }
    __device__ int64_t place() const { return static_cast<int64_t>(index); }
    __device__ bool operator<(const WideItem& other) const {
        return key < other.key || (key == other.key && index < other.index);
    }
};

template <class T>
using Item = std::conditional_t<sizeof(T) == 4, PackedItem, WideItem>;

__device__ inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// Sorts each `width` items (a power of two) of the first `total` of shared memory.
template <class I>
__device__ void sort_shared(I* items, int width, int total) {
    for (int run = 2; run <= width; run *= 2) {
        for (int distance = run / 2; distance > 0; distance /= 2) {
            __syncthreads();
            for (int pair = threadIdx.x; pair < total / 2; pair += blockDim.x) {
                const int low = 2 * pair - (pair & (distance - 1));
                const int high = low + distance;
                const I a = items[low], b = items[high];
                const bool rises = (low & (width - 1) & run) == 0;
                if ((b < a) == rises) {
                    items[low] = b;
                    items[high] = a;
                }
            }
        }
    }
    __syncthreads();
}

// The first launch: blocks sort chunks of rows, or several short rows at a time. What is wanted is
// written at once if a row is one chunk, else the smallest items of each go to `to`.
template <class T>
__device__ void sort_chunks(const Sort& args) {
    using I = Item<T>;
    __shared__ I items[CHUNK];
    const int64_t end = args.first + args.count;
    const int64_t chunks = (args.size + CHUNK - 1) / CHUNK;
    int width = 1;
    while (width < args.size && width < CHUNK) width *= 2;
    const int64_t units = args.rows * chunks, together = CHUNK / width;
    const int64_t kept = least(CHUNK, end);
    for (int64_t first = blockIdx.x * together; first < units; first += gridDim.x * together) {
        const int total = static_cast<int>(least(together, units - first)) * width;
        for (int slot = threadIdx.x; slot < total; slot += blockDim.x) {
            const int64_t unit = first + slot / width, row = unit / chunks;
            const int64_t place = (unit - row * chunks) * CHUNK + slot % width;
            I item = I::greatest();
            if (place < args.size) {
                const Key<T> key = key_of(static_cast<const T*>(args.in)[row * args.size + place]);
                item = I::of(args.descending ? ~key : key, place);
            }
            items[slot] = item;
        }
        sort_shared(items, width, total);
        for (int slot = threadIdx.x; slot < total; slot += blockDim.x) {
            const int64_t unit = first + slot / width, row = unit / chunks;
            const int64_t chunk = unit - row * chunks, rank = slot % width;
            if (chunks == 1) {
                if (rank >= args.first && rank < end)
                    args.out[row * args.count + rank - args.first] = items[slot].place();
            } else if (rank < least(kept, args.size - chunk * CHUNK)) {
                static_cast<I*>(args.to)[row * args.width + chunk * kept + rank] = items[slot];
            }
        }
        // Before the next turn writes, all must have read.
        __syncthreads();
    }
}

// A further launch: an item of a run of `run` elements, of which the smallest were kept, goes to its
// own rank plus the number of smaller items in the run beside it.
template <class T>
__device__ void merge_runs(const Sort& args) {
    using I = Item<T>;
    const int64_t end = args.first + args.count, run = args.run;
    const int64_t runs = (args.size + run - 1) / run;
    const int64_t kept = least(run, end), merged = least(2 * run, end);
    // The items of a run; the last one has what is left.
    const auto length = [&](int64_t r) { return least(kept, args.size - r * run); };
    const int64_t filled = (runs - 1) * kept + length(runs - 1);
    for (int64_t job = grid_thread(); job < args.rows * filled; job += grid_threads()) {
        const int64_t row = job / filled, at = job - row * filled;
        const int64_t own = at / kept, beside = own ^ 1;
        const I* const items = static_cast<const I*>(args.from) + row * args.width;
        const I item = items[at];
        int64_t rank = at - own * kept;
        if (beside < runs) {
            int64_t low = 0, high = length(beside);
            while (low < high) {
                const int64_t middle = (low + high) / 2;
                if (items[beside * kept + middle] < item) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            rank += low;
        }
        if (rank >= merged) continue;
        if (runs > 2) {
            static_cast<I*>(args.to)[row * args.width + own / 2 * merged + rank] = item;
        } else if (rank >= args.first) {
            args.out[row * args.count + rank - args.first] = item.place();
        }
    }
}

template <class T>
__device__ void argsort(const Sort& args) {
    if (args.run == 0) {
        sort_chunks<T>(args);
    } else {
        merge_runs<T>(args);
    }
}

#define ARGSORT(T)                                                                   \
    extern "C" __global__ void __launch_bounds__(THREADS) argsort_##T(Sort args) { \
        argsort<T>(args);                                                            \
    }

ARGSORT(f64)
ARGSORT(f32)
ARGSORT(i64)
ARGSORT(i32)
