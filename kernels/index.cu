// Reading and adding at positions that a tensor of indices gives. An index out of range stops the
// kernel with an assertion.
#include <cassert>

#include "dtype.cuh"
#include "layout.cuh"
#include "tables.cuh"

// Stops the kernel unless the index names one of `size` elements. Not a template, so that one text
// of the assertion does.
__device__ inline int64_t checked(int64_t index, int64_t size) {
    assert(index >= 0 && index < size);
    return index;
}

// Visits every position [outer, count, inner] with its linear index and the element along `size`
// that it chooses. The index tensor is [outer, count, inner] itself, or just [count].
template <bool FULL, class Visit>
__device__ void for_each_choice(const Index& args, Visit visit) {
    const uint64_t count = args.count;
    const uint64_t inner = args.inner;
    const uint64_t total = args.outer * count * inner;
#pragma unroll 1
    for (uint64_t i = grid_thread(); i < total; i += grid_threads()) {
        const uint64_t row = i / inner;
        const uint64_t o = row / count;
        const int64_t chosen = checked(args.index[FULL ? i : row - o * count], args.size);
        visit(i, (o * args.size + chosen) * inner + (i - row * inner));
    }
}

template <class T>
__device__ void atomic_add(T* address, T value) {
    if constexpr (std::is_same_v<T, i64>) {
        atomicAdd(reinterpret_cast<unsigned long long*>(address),
                  static_cast<unsigned long long>(value));
    } else {
        atomicAdd(address, value);
    }
}

template <class T, bool FULL>
__device__ void read(const Index& args) {
    Stored<T>* const out = static_cast<Stored<T>*>(args.out);
    const Stored<T>* const source = static_cast<const Stored<T>*>(args.source);
    for_each_choice<FULL>(
        args, [&](uint64_t position, uint64_t element) { out[position] = source[element]; });
}

// Several positions may choose one element; the order of the additions, and so a float's last bits,
// is not fixed.
template <class T, bool FULL>
__device__ void add(const Index& args) {
    T* const out = static_cast<T*>(args.out);
    const T* const source = static_cast<const T*>(args.source);
    for_each_choice<FULL>(args, [&](uint64_t position, uint64_t element) {
        atomic_add(&out[element], source[position]);
    });
}

constexpr bool ELEMENTS = true;
constexpr bool SLICES = false;

#define READ(name, CHOICE, T) \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Index args) { read<T, CHOICE>(args); }
#define ADD(name, CHOICE, T) \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Index args) { add<T, CHOICE>(args); }

FOR_ALL(READ, gather, ELEMENTS)
FOR_ALL(READ, index_select, SLICES)
FOR_SIGNED(ADD, scatter_add, ELEMENTS)
FOR_SIGNED(ADD, index_add, SLICES)
