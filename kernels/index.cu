// Reading, writing and adding at positions that a tensor of indices gives. An index out of range
// stops the kernel with an assertion.
#include <cassert>

#include "arithmetic.cuh"
#include "dtype.cuh"
#include "layout.cuh"
#include "tables.cuh"

// Stops the kernel unless the index names one of `size` elements. Not a template, so that one text
// of the assertion does.
__device__ inline int64_t checked(int64_t index, int64_t size) {
    assert(index >= 0 && index < size);
    return index;
}

// The threads of a block that go along a row of `length` elements together: a power of two.
__device__ inline uint32_t lanes_of(int64_t length) {
    const uint32_t most = 1u << (31 - __clz(blockDim.x));
    return length >= most ? most : length <= 1 ? 1 : 1u << (32 - __clz(static_cast<int>(length) - 1));
}

// Calls visit(o, c, lane, lanes) for the rows [outer, count] of `length` elements, which the lanes
// share. Nothing is divided by a number that is not a power of two.
template <class Visit>
__device__ void for_each_row(const Index& args, int64_t length, Visit visit) {
    const uint32_t lanes = lanes_of(length);
    const uint32_t shift = __ffs(lanes) - 1;
    const int64_t groups = blockDim.x >> shift;
    const int64_t group = threadIdx.x >> shift;
    const int64_t lane = threadIdx.x & (lanes - 1);
    // Threads beyond the last whole group.
    if (group >= groups) return;
    for (int64_t o = static_cast<int64_t>(blockIdx.y) * blockDim.y + threadIdx.y; o < args.outer;
         o += static_cast<int64_t>(gridDim.y) * blockDim.y) {
        for (int64_t c = blockIdx.x * groups + group; c < args.count; c += gridDim.x * groups)
            visit(o, c, lane, lanes);
    }
}

// Calls visit(position, element) for every position of [outer, count, inner], with the element of
// [outer, size, inner] that it chooses. The index tensor is [outer, count, inner] itself, or just
// [count].
template <bool FULL, class Visit>
__device__ void for_each_choice(const Index& args, Visit visit) {
    const int64_t inner = args.inner;
    for_each_row(args, inner, [&](int64_t o, int64_t c, int64_t lane, uint32_t lanes) {
        const int64_t row = (o * args.count + c) * inner;
        const int64_t first = o * args.size * inner;
        if constexpr (FULL) {
            for (int64_t n = lane; n < inner; n += lanes)
                visit(row + n, first + checked(args.index[row + n], args.size) * inner + n);
        } else {
            const int64_t chosen = first + checked(args.index[c], args.size) * inner;
            for (int64_t n = lane; n < inner; n += lanes) visit(row + n, chosen + n);
        }
    });
}

// Stores a value where other threads may store theirs: several positions may choose one element. A
// strong store is no race with another, and leaves one of the values.
template <class T>
__device__ void put(T& place, T value) {
    static_cast<volatile T&>(place) = value;
}

__device__ inline void put(uint4& place, uint4 value) {
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(
                     __cvta_generic_to_global(&place)),
                 "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)
                 : "memory");
}

// Copies whole rows between a dense tensor and the rows of another that the indices choose, in units
// of U.
template <class U, bool WRITES>
__device__ void copy_rows(const Index& args, int64_t units) {
    U* const out = static_cast<U*>(args.out);
    const U* const source = static_cast<const U*>(args.source);
    for_each_row(args, units, [&](int64_t o, int64_t c, int64_t lane, uint32_t lanes) {
        const int64_t row = (o * args.count + c) * units;
        const int64_t chosen = (o * args.size + checked(args.index[c], args.size)) * units;
        for (int64_t n = lane; n < units; n += lanes) {
            if constexpr (WRITES) {
                put(out[chosen + n], source[row + n]);
            } else {
                out[row + n] = source[chosen + n];
            }
        }
    });
}

// In the widest units that rows and addresses are multiples of.
template <class T, bool WRITES>
__device__ void copy_slices(const Index& args) {
    const int64_t bytes = args.inner * sizeof(T);
    const uint64_t all =
        reinterpret_cast<uint64_t>(args.out) | reinterpret_cast<uint64_t>(args.source) | bytes;
    if (all % sizeof(uint4) == 0) {
        copy_rows<uint4, WRITES>(args, bytes / sizeof(uint4));
    } else {
        copy_rows<T, WRITES>(args, args.inner);
    }
}

// Adds by comparing and swapping, for types that have no atomic addition before sm_90, or none.
// Bytes lie in words of two, which every allocation consists of.
template <class T>
__device__ void add_by_swapping(Stored<T>* address, Stored<T> value) {
    const uint64_t place = reinterpret_cast<uint64_t>(address);
    unsigned short* const word = reinterpret_cast<unsigned short*>(place & ~uint64_t{1});
    const int shift = sizeof(T) == 1 ? 8 * (place & 1) : 0;
    const unsigned mask = sizeof(T) == 1 ? 0xFFu << shift : 0xFFFFu;
    // A wrong guess costs one more turn, and what is there is never read but atomically.
    unsigned short seen = 0, before;
    do {
        before = seen;
        Stored<T> element, sum;
        if constexpr (sizeof(T) == 1) {
            element = static_cast<Stored<T>>(before >> shift);
            // The sum of truth values is "or".
            sum = std::is_same_v<T, bool> ? (element | value) != 0 : element + value;
        } else {
            memcpy(&element, &before, sizeof(element));
            sum = convert<T>(load<T>(element) + load<T>(value));
        }
        unsigned short bits = 0;
        memcpy(&bits, &sum, sizeof(sum));
        const unsigned after = (before & ~mask) | (static_cast<unsigned>(bits) << shift & mask);
        seen = atomicCAS(word, before, static_cast<unsigned short>(after));
    } while (seen != before);
}

template <class T>
__device__ void atomic_add(Stored<T>* address, Stored<T> value) {
    if constexpr (std::is_same_v<T, i64>) {
        atomicAdd(reinterpret_cast<unsigned long long*>(address),
                  static_cast<unsigned long long>(value));
    } else if constexpr (sizeof(T) == 1 || std::is_same_v<T, i16> || std::is_same_v<T, bf16>) {
        add_by_swapping<T>(address, value);
    } else {
        atomicAdd(address, value);
    }
}

// Stores a function of the element and a value by comparing and swapping, for words that have no
// other atomic operation for it.
template <class Op, class T>
__device__ void fold_by_swapping(T* address, T value) {
    using Word = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
    Word* const place = reinterpret_cast<Word*>(address);
    // A wrong guess costs one more turn, and what is there is never read but atomically.
    Word seen = 0, before;
    do {
        before = seen;
        T element;
        memcpy(&element, &before, sizeof(element));
        const T folded = Op::join(element, value);
        Word after;
        memcpy(&after, &folded, sizeof(after));
        seen = atomicCAS(place, before, after);
    } while (seen != before);
}

struct Product {
    template <class V>
    __device__ static V join(V a, V b) {
        return times(a, b);
    }
};

struct Larger {
    template <class V>
    __device__ static V join(V a, V b) {
        return larger(a, b);
    }
};

struct Smaller {
    template <class V>
    __device__ static V join(V a, V b) {
        return smaller(a, b);
    }
};

template <class T>
__device__ void gather(const Index& args) {
    T* const out = static_cast<T*>(args.out);
    const T* const source = static_cast<const T*>(args.source);
    for_each_choice<true>(
        args, [&](int64_t position, int64_t element) { out[position] = source[element]; });
}

// Where several positions choose one element, it is not fixed which of them is left.
template <class T>
__device__ void scatter(const Index& args) {
    T* const out = static_cast<T*>(args.out);
    const T* const source = static_cast<const T*>(args.source);
    for_each_choice<true>(
        args, [&](int64_t position, int64_t element) { put(out[element], source[position]); });
}

// Several positions may choose one element; the order of the additions, and so a float's last bits,
// is not fixed.
template <class T, bool FULL>
__device__ void add(const Index& args) {
    Stored<T>* const out = static_cast<Stored<T>*>(args.out);
    const Stored<T>* const source = static_cast<const Stored<T>*>(args.source);
    for_each_choice<FULL>(args, [&](int64_t position, int64_t element) {
        atomic_add<T>(&out[element], source[position]);
    });
}

// The same for other functions than sums.
template <class T, class Op>
__device__ void fold(const Index& args) {
    T* const out = static_cast<T*>(args.out);
    const T* const source = static_cast<const T*>(args.source);
    for_each_choice<true>(args, [&](int64_t position, int64_t element) {
        fold_by_swapping<Op>(&out[element], source[position]);
    });
}

constexpr bool ELEMENTS = true;
constexpr bool SLICES = false;
constexpr bool READS = false;
constexpr bool WRITES = true;

#define MOVE(name, function, T) \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Index args) { function<T>(args); }
#define COPY(name, DIRECTION, T)                                        \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Index args) {   \
        copy_slices<T, DIRECTION>(args);                                \
    }
#define ADD(name, CHOICE, T) \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Index args) { add<T, CHOICE>(args); }

#define FOLD(name, Op, T) \
    extern "C" __global__ void LAUNCH_BOUNDS name##_##T(Index args) { fold<T, Op>(args); }
#define FOR_WORDS(ENTRY, name, Op) ENTRY(name, Op, f64) ENTRY(name, Op, f32) ENTRY(name, Op, i64)

FOR_SIZES(MOVE, gather, gather)
FOR_SIZES(MOVE, scatter, scatter)
FOR_SIZES(COPY, index_select, READS)
FOR_SIZES(COPY, index_copy, WRITES)
FOR_ALL(ADD, scatter_add, ELEMENTS)
FOR_ALL(ADD, index_add, SLICES)
FOR_WORDS(FOLD, scatter_prod, Product)
FOR_WORDS(FOLD, scatter_amax, Larger)
FOR_WORDS(FOLD, scatter_amin, Smaller)
