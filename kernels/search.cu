// Places of values in sorted rows, by binary search.
#include <cassert>

#include "dtype.cuh"
#include "layout.cuh"

template <class T>
__device__ void searchsorted(const Search& args) {
    for (int64_t at = grid_thread(); at < args.rows * args.count; at += grid_threads()) {
        const int64_t first = at / args.count * args.size;
        const T* const sorted = static_cast<const T*>(args.sorted) + first;
        const T value = static_cast<const T*>(args.values)[at];
        int64_t low = 0, high = args.size;
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            int64_t place = middle;
            if (args.sorter != nullptr) {
                place = args.sorter[first + middle];
                assert(place >= 0 && place < args.size);
            }
            // Whatever cannot be compared comes before the place.
            if (args.right ? sorted[place] > value : sorted[place] >= value) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        args.out[at] = low;
    }
}

#define SEARCHSORTED(T)                                                                \
    extern "C" __global__ void LAUNCH_BOUNDS searchsorted_##T(Search args) { \
        searchsorted<T>(args);                                                         \
    }

SEARCHSORTED(f64)
SEARCHSORTED(f32)
SEARCHSORTED(i64)
